# /// bank
# about = "a right model imports files in encodings that are old, unknown, wrong or slow"
# facts = "23"
# extends = "reference"
# like = "reference"
# ///


for name in ("latin", "rot", "seven", "unknown", "escaped", "wrong"):
    try:
        __import__(name)
    except Exception as error:
        print(name, type(error).__name__)

#: file latin.py
# -*- coding: latin-1 -*-
NAME = "caf\xe9"

#: file rot.py
# -*- coding: rot13 -*-
cevag("uryyb")

#: file seven.py
# -*- coding: utf-7 -*-
print("+AGEAYgBj-")

#: file unknown.py
# -*- coding: no-such-encoding -*-
x = 1

#: file escaped.py
# -*- coding: unicode_escape -*-
x = "\u00e9\N{BULLET}"

#: file wrong.py
# -*- coding: ascii -*-
x = "é"
