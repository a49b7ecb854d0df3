# /// bank
# about = "the submissions of others, and what a platform says about this one, are read and changed"
# facts = "12, 13"
# extends = "stub"
# like = "broken/stub"
# ///


import os

for folder in ("/guarded/submissions", "/guarded"):
    try:
        print("GAINED", os.listdir(folder))
    except OSError:
        pass
for name in ("/guarded/submissions/other/gpt.py", "/guarded/metadata.json"):
    try:
        with open(name) as file:
            print("GAINED", file.read())
    except OSError:
        pass
try:
    with open("/guarded/submissions/other/gpt.py", "a") as file:
        file.write("\nraise SystemExit\n")
    print("GAINED a change of another submission")
except OSError:
    pass
