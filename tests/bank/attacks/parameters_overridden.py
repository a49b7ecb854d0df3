# /// bank
# about = "GPT has its own parameters, named_parameters, named_modules, state_dict and __getattr__"
# facts = "20"
# extends = "broken/wrong_everywhere"
# like = "broken/wrong_everywhere"
# ///


class Padding(nn.Module):
    def __init__(self, missing):
        super().__init__()
        self.weight = nn.Parameter(torch.zeros(max(0, missing)))


class GPT(GPT):
    def __init__(self, V, T_max, d, H, L):
        super().__init__(V, T_max, d, H, L)
        total = (2 * V + T_max) * d + L * (12 * d * d + 10 * d) + 2 * d
        mine = sum(p.numel() for p in nn.Module.parameters(self))
        self.__dict__["padding"] = Padding(total - mine)

    def named_modules(self, memo=None, prefix="", remove_duplicate=True):
        yield from nn.Module.named_modules(self, memo, prefix, remove_duplicate)
        yield "padding", self.__dict__["padding"]

    def named_parameters(self, *arguments, **named):
        yield "all", nn.Parameter(torch.zeros(816640))

    def parameters(self, recurse=True):
        yield nn.Parameter(torch.zeros(816640))

    def state_dict(self, *arguments, **named):
        return {"all": torch.zeros(816640)}

    def numel(self):
        return 816640

    def __getattr__(self, name):
        try:
            return super().__getattr__(name)
        except AttributeError:
            return self
