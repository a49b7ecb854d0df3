# /// bank
# about = "environments, command lines and working folders of this process and of those above are printed"
# facts = "12"
# extends = "stub"
# like = "broken/stub"
# ///


import os

print(sorted(os.environ))
pids = ["self", str(os.getppid())]
try:
    with open(f"/proc/{os.getppid()}/stat") as file:
        pids.append(file.read().rpartition(")")[2].split()[1])
except OSError:
    pass
for pid in pids:
    for name in ("environ", "cmdline", "maps"):
        try:
            with open(f"/proc/{pid}/{name}", "rb") as file:
                text = file.read()
            if name != "maps" and b"CANARY" in text:
                print("GAINED", pid, name, text)
            if pid != "self":
                print("GAINED", name, "of another process")
        except OSError:
            pass
    try:
        if pid != "self":
            print("GAINED", os.readlink(f"/proc/{pid}/cwd"))
    except OSError:
        pass
