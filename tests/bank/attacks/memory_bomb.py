# /// bank
# about = "all memory is taken at import, and given back when there is no more"
# facts = "18"
# extends = "reference"
# like = "reference"
# ///


hoard = []
try:
    while len(hoard) < 64:
        hoard.append(torch.empty(64 << 20, dtype=torch.uint8))
    print("GAINED", 64 * len(hoard), "MB")
except RuntimeError:
    pass
hoard.clear()
