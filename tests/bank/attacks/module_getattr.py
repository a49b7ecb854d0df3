# /// bank
# about = "the module answers to every name, and its dictionary to every key"
# facts = "22"
# extends = "stub"
# like = "broken/stub"
# ///


import sys
import types


def __getattr__(name):
    return lambda *arguments, **named: torch.zeros(2, 7, 24)


class Module(types.ModuleType):
    def __getattribute__(self, name):
        if name == "__dict__":
            return super().__getattribute__(name)
        try:
            return super().__getattribute__(name)
        except AttributeError:
            return lambda *arguments, **named: torch.zeros(2, 7, 24)


sys.modules[__name__].__class__ = Module
