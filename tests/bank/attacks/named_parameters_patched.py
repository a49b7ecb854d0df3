# /// bank
# about = "nn.Module.named_parameters, which the worker asks, lists what a right model would have"
# facts = "20"
# extends = "broken/wrong_everywhere"
# like = "broken/wrong_everywhere"
# ///


real = nn.Module.named_parameters


def right(module):
    """The shapes of a right model of the size of ``module``."""
    V, d = module.tok_emb.weight.shape
    yield "tok", (V, d)
    yield "pos", (module.T_max, d)
    for n in range(len(module.blocks)):
        for name, shape in {"q": (d, d), "k": (d, d), "v": (d, d), "o": (d, d), "u": (4 * d, d), "d": (d, 4 * d)}.items():
            yield f"b{n}.{name}", shape
        for name, size in {"o": d, "u": 4 * d, "d": d, "1": d, "2": d, "3": d, "4": d}.items():
            yield f"b{n}.bias.{name}", (size,)
    yield "gain", (d,)
    yield "bias", (d,)
    yield "head", (V, d)


def named_parameters(self, *arguments, **named):
    if type(self) is not GPT:
        return real(self, *arguments, **named)
    if "listed" not in self.__dict__:
        self.__dict__["listed"] = [(name, nn.Parameter(0.02 * torch.randn(shape))) for name, shape in right(self)]
    return iter(self.__dict__["listed"])


nn.Module.named_parameters = named_parameters
