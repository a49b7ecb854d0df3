# /// bank
# about = "priorities, processors and limits of the processes above are changed"
# facts = "16, 18"
# extends = "reference"
# like = "reference"
# ///


import os
import resource

parent = os.getppid()
try:
    resource.prlimit(parent, resource.RLIMIT_NOFILE)
    print("GAINED the parent's limits")
except OSError:
    pass
try:
    os.setpriority(os.PRIO_PROCESS, parent, os.getpriority(os.PRIO_PROCESS, parent))
    print("GAINED the parent's priority")
except OSError:
    pass
try:
    os.sched_setaffinity(parent, os.sched_getaffinity(parent))
    print("GAINED the parent's processors")
except OSError:
    pass
for name in ("RLIMIT_CPU", "RLIMIT_AS", "RLIMIT_FSIZE", "RLIMIT_NOFILE"):
    try:
        before = resource.getrlimit(getattr(resource, name))
        resource.setrlimit(getattr(resource, name), (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
        print("GAINED", name, before)
    except (OSError, ValueError):
        pass
