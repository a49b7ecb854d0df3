# /// bank
# about = "many files and one large one are written"
# facts = "18"
# extends = "reference"
# like = "reference"
# ///


import os

for number in range(100):
    try:
        with open(f"{number}.bin", "wb") as file:
            file.write(b"\0" * (1 << 20))
    except OSError:
        break
try:
    with open("large.bin", "wb") as file:
        for _ in range(8):
            file.write(b"\0" * (1 << 20))
    print("GAINED a large file")
except OSError:
    pass
os.makedirs("/".join(["deep"] * 200), exist_ok=True)
for number in range(2000):
    try:
        os.mknod(f"n{number}")
    except OSError:
        break
