# /// bank
# about = "what the classes return is a Tensor subclass that answers every comparison itself"
# facts = "5"
# extends = "broken/wrong_everywhere"
# like = "broken/wrong_everywhere"
# ///


class Liar(torch.Tensor):
    @classmethod
    def __torch_function__(cls, function, types, args=(), kwargs=None):
        if function.__name__ in ("allclose", "equal", "isclose", "eq", "__eq__", "le", "lt"):
            return True
        if function.__name__ in ("sub", "__sub__", "rsub", "abs", "max"):
            return torch.zeros(())
        return super().__torch_function__(function, types, args, kwargs or {})

    def __eq__(self, other):
        return True

    def double(self):
        return torch.zeros_like(self)


def lying(cls):
    honest = cls.forward

    def forward(self, *arguments):
        out = honest(self, *arguments)
        return out.as_subclass(Liar) if isinstance(out, torch.Tensor) else (out[0].as_subclass(Liar), out[1])

    cls.forward = forward


for cls in (MultiHeadAttention, MLP, Block, GPT):
    lying(cls)
