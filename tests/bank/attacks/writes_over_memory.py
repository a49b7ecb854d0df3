# /// bank
# about = "ctypes writes into the interpreter's own objects until it dies"
# facts = "23"
# extends = "reference"
# like = "attacks/exits_in_the_middle"
# ///


import ctypes


class MLP(MLP):
    def forward(self, x):
        ctypes.memset(id(type(x)), 0xFF, 4096)
        return super().forward(x)
