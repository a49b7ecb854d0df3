# /// bank
# about = "the folder that the grader keeps its workers in is listed and emptied"
# facts = "13"
# extends = "reference"
# like = "reference"
# ///


import os

above = os.path.dirname(os.getcwd())
try:
    for name in os.listdir(above):
        print("GAINED the name", name)
except OSError:
    pass
try:
    os.unlink(os.path.join(above, "zygote.log"))
    print("GAINED the removal of a file")
except OSError:
    pass
try:
    os.makedirs(os.path.join(above, "left-by-a-submission"))
    print("GAINED a folder")
    os.rmdir(os.path.join(above, "left-by-a-submission"))
except OSError:
    pass
