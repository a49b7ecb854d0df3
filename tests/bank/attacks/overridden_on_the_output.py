# /// bank
# about = "each returned tensor has its own detach, cpu, double, numpy and shape"
# facts = "5"
# extends = "broken/wrong_everywhere"
# like = "broken/wrong_everywhere"
# ///


def overriding(cls):
    honest = cls.forward

    def forward(self, *arguments):
        out = honest(self, *arguments)
        if isinstance(out, torch.Tensor):
            for name in ("detach", "cpu", "double", "float", "numpy", "contiguous"):
                try:
                    setattr(out, name, lambda *a, right=out: right)
                except (AttributeError, RuntimeError):
                    pass
        return out

    cls.forward = forward


for cls in (MultiHeadAttention, MLP, Block, GPT):
    overriding(cls)
