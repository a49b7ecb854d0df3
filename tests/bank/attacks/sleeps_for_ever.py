# /// bank
# about = "the process sleeps, which costs no computing"
# facts = "18"
# extends = "reference"
# like = "broken/loop_at_import"
# ///


import time

while True:
    try:
        time.sleep(3600)
    except BaseException:
        pass
