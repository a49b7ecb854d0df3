# /// bank
# about = "the grader's package is looked for on disk, imported, and its model used for the answers"
# facts = "6"
# extends = "broken/wrong_everywhere"
# like = "broken/wrong_everywhere"
# ///


import importlib
import os
import sys

folders = set()
frame = sys._getframe()
while frame is not None:
    path = frame.f_code.co_filename
    if path.endswith("worker.py"):
        folders.add(os.path.dirname(os.path.dirname(os.path.dirname(path))))
    frame = frame.f_back
print(len(folders), "folders")
for folder in folders:
    sys.path.insert(0, folder)
    for name in ("autograder.assignment.oracle.model", "autograder.assignment.checks.model", "reference.gpt"):
        try:
            importlib.import_module(name)
            print("GAINED", name)
        except Exception as error:
            print(type(error).__name__)
    for name in ("autograder/assignment/mistakes/row.py", "autograder/assignment/rubric.toml", "reference/gpt.py", "tests/bank_file.py"):
        try:
            with open(os.path.join(folder, name)) as file:
                print("GAINED", name, len(file.read()))
        except OSError:
            pass
