# /// bank
# about = "exceptions whose text, type and line are computed by code that raises, loops or lies"
# facts = "21, 23"
# extends = "reference"
# like = "attacks/exits_in_the_middle"
# ///


class Meta(type):
    __module__ = property(lambda cls: 1 / 0)

    def __instancecheck__(cls, instance):
        raise SystemExit


class Error(BaseException, metaclass=Meta):
    def __str__(self):
        raise KeyboardInterrupt

    @property
    def __traceback__(self):
        raise SystemError

    @property
    def name(self):
        raise MemoryError


class MLP(MLP):
    def forward(self, x):
        raise Error
