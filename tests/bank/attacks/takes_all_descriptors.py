# /// bank
# about = "descriptors are opened until there are no more, and most are kept"
# facts = "18"
# extends = "reference"
# like = "reference"
# ///


import os

kept = []
try:
    while len(kept) < 5000:
        kept.append(os.open("/dev/null", os.O_RDONLY))
    print("GAINED", len(kept), "descriptors")
except OSError:
    pass
for descriptor in kept[-10:]:
    os.close(descriptor)
