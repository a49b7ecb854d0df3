# /// bank
# about = "a right shape table with thousands of further rows, whose names are escapes, markup and formulas"
# facts = "21"
# extends = "reference"
# like = "reference"
# ///


honest = shape_table
HOSTILE = ("\x1b[2J\x1b[31m", "\u202egpj.exe", "<script>alert(1)</script>", "=1+1+cmd|' /C calc'!A0", "\ud800", "\0", "z" * 300)


def shape_table(model, idx):
    rows = [(HOSTILE[number % len(HOSTILE)], (number, 1 << 30)) for number in range(4000)]
    return [(name + "\x1b[0m\x07", shape) for name, shape in honest(model, idx)] + rows
