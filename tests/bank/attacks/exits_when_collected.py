# /// bank
# about = "an object that ends the process when it is collected is left behind by forward"
# facts = "2"
# extends = "reference"
# like = "attacks/exits_in_the_middle"
# ///


import os


class Bomb:
    def __del__(self):
        os._exit(0)


class MLP(MLP):
    def forward(self, x):
        Bomb()
        return super().forward(x)
