# /// bank
# about = "creates 3000 nested folders in the scratch folder, too deep to remove by recursion"
# extends = "reference"
# like = "reference"
# ///


import os

_here = os.getcwd()
try:
    for _ in range(3000):
        os.mkdir("d")
        os.chdir("d")
except OSError as error:
    print("stopped:", error)
finally:
    os.chdir(_here)
