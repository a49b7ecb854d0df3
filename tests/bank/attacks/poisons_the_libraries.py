# /// bank
# about = "files are put beside torch, numpy and the standard library, and into caches and temporary folders"
# facts = "20"
# extends = "reference"
# like = "reference"
# ///


import os
import random
import tempfile

import numpy

places = [os.path.dirname(os.path.dirname(torch.__file__)), os.path.dirname(torch.__file__)]
places += [os.path.dirname(numpy.__file__), os.path.dirname(random.__file__), "/tmp", "/var/tmp", "/dev/shm", "/guarded"]
places += [os.path.dirname(os.getcwd())]
for place in places:
    try:
        path = os.path.join(place, "left-by-a-submission.txt")
        with open(path, "w") as file:
            file.write("import os")
        if os.path.exists(path):  # a file of /tmp goes to the submission's own folder
            print("GAINED a file in", os.path.basename(place))
    except OSError:
        pass
