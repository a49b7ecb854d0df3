# /// bank
# about = "every signal that can be ignored is ignored, in a loop that never ends"
# facts = "18"
# extends = "reference"
# like = "broken/loop_at_import"
# ///


import signal

for number in signal.valid_signals():
    try:
        signal.signal(number, signal.SIG_IGN)
    except (OSError, ValueError):
        pass
signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())
while True:
    try:
        while True:
            pass
    except BaseException:
        pass
