# /// bank
# about = "the recursion limit is raised to a billion, and reached through C"
# facts = "23"
# extends = "reference"
# like = "attacks/exits_in_the_middle"
# ///


import sys

sys.setrecursionlimit(10**9)


class Endless:
    def __add__(self, other):
        return self + other


class MLP(MLP):
    def forward(self, x):
        return Endless() + x
