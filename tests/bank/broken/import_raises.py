# /// bank
# about = "gpt.py reads a file that is not there when it is imported"
# extends = "reference"
# ///


with open("shakespeare_step04.txt") as f:
    text = f.read()
chars = sorted(set(text))
stoi = {c: i for i, c in enumerate(chars)}
