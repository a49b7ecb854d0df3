# /// bank
# about = "the process stops itself, and threads of it would go on"
# facts = "18"
# extends = "reference"
# like = "broken/loop_at_import"
# ///


import os
import signal

os.kill(os.getpid(), signal.SIGSTOP)
