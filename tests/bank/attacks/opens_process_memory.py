# /// bank
# about = "memory and descriptors of the processes above are opened through /proc"
# facts = "16"
# extends = "reference"
# like = "reference"
# ///


import os

parent = os.getppid()
for name in ("mem", "maps", "fd", "environ", "root", "task"):
    path = f"/proc/{parent}/{name}"
    try:
        if name in ("fd", "root", "task"):
            print("GAINED", name, len(os.listdir(path)))
        else:
            with open(path, "rb") as file:
                if name == "mem":
                    file.seek(id(None))
                print("GAINED", name, len(file.read(8)))
    except OSError:
        pass
for descriptor in range(64):
    try:
        os.close(os.open(f"/proc/{parent}/fd/{descriptor}", os.O_RDWR))
        print("GAINED descriptor", descriptor)
    except OSError:
        pass
