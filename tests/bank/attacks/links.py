# /// bank
# about = "links of both kinds are made to hidden files and folders, read through, and left for whoever cleans up"
# facts = "14"
# extends = "stub"
# like = "broken/stub"
# ///


import os

for number, (make, target) in enumerate(
    (make, target)
    for make in (os.symlink, os.link)
    for target in ("/guarded/secret.txt", "/guarded/results", "/guarded/submissions/other/gpt.py", "/guarded")
):
    try:
        make(target, f"link{number}")
    except OSError:
        continue
    try:
        with open(f"link{number}") as file:
            print("GAINED", file.read())
    except OSError:
        pass
    try:
        print("GAINED", os.listdir(f"link{number}"))
    except OSError:
        pass
