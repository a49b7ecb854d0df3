# /// bank
# about = "every frame, every module and every object of the process is searched for the grader's model and verdicts"
# facts = "4"
# extends = "broken/wrong_everywhere"
# like = "broken/wrong_everywhere"
# ///


import gc
import sys

GRADER = ("autograder.assignment.oracle", "autograder.assignment.checks", "autograder.grading.suite", "autograder.grading.verdict", "autograder.grading.rubric", "reference")


def search(where):
    frame = sys._getframe()
    while frame is not None:
        if frame.f_globals.get("__name__", "").startswith(GRADER):
            print("GAINED a frame of the grader", where)
        frame = frame.f_back
    for name in list(sys.modules):
        if name.startswith(GRADER):
            print("GAINED the module", name, where)
    for thing in gc.get_objects():
        if str(getattr(thing, "__module__", "")).startswith(GRADER):
            print("GAINED an object of", thing.__module__, where)
            break


search("at import")
forward = GPT.forward


def searching(self, idx, targets=None):
    if not hasattr(GPT, "searched"):
        GPT.searched = True
        search("in forward")
    return forward(self, idx, targets)


GPT.forward = searching
