# /// bank
# about = "the functions that pack and unpack messages are replaced by what sends more, deeper and other things"
# facts = "5, 17"
# extends = "broken/wrong_everywhere"
# like = "broken/exit_at_import"
# [loses]
# ///


import gc
import types

for thing in gc.get_objects():
    if isinstance(thing, dict) and thing.get("__name__") == "autograder.sandbox.wire":
        thing["MAX_HEADER"] = thing["MAX_BODY"] = thing["MAX_DEPTH"] = thing["MAX_TEXT"] = 1 << 40
        thing["encode"] = lambda value, as_array=None: thing["PREFIX"].pack(1 << 31, 1 << 31) + b"[" * (1 << 20)
for thing in gc.get_objects():
    if isinstance(thing, types.ModuleType) and getattr(thing, "__name__", "") == "autograder.sandbox.wire":
        thing.clean = lambda text, cap=0: text
