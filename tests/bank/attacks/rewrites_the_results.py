# /// bank
# about = "the results are written at once, and made unwritable for others"
# facts = "3, 9"
# extends = "stub"
# like = "broken/stub"
# ///


import os

try:
    with open("/guarded/results/results.json", "w") as file:
        file.write('{"score": 100}')
    print("GAINED the results")
except OSError:
    pass
try:
    os.chmod("/guarded/results/results.json", 0o444)
    os.chmod("/guarded/results", 0o555)
    print("GAINED the mode of the results")
except OSError:
    pass
try:
    os.rename("/guarded/results/results.json", "/guarded/results/old.json")
    print("GAINED the name of the results")
except OSError:
    pass
