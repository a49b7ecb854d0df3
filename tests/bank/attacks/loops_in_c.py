# /// bank
# about = "a loop inside a library that no exception can interrupt"
# facts = "18"
# extends = "reference"
# like = "broken/loop_at_import"
# ///


import itertools

sum(itertools.repeat(0))
