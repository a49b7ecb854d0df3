# /// bank
# about = "the parameters are one number each and claim the shapes of a right model"
# facts = "20"
# extends = "broken/wrong_everywhere"
# like = "broken/wrong_everywhere"
# [loses]
# "model.training" = "crashed"
# ///


class Claimed(nn.Parameter):
    @property
    def shape(self):
        return torch.Size(self.__dict__.get("claimed", (1,)))

    def numel(self):
        return self.shape.numel()


def claimed(*shape):
    parameter = Claimed(torch.zeros(1))
    parameter.__dict__["claimed"] = shape
    return parameter


class GPT(GPT):
    def __init__(self, V, T_max, d, H, L):
        super().__init__(V, T_max, d, H, L)
        total = (2 * V + T_max) * d + L * (12 * d * d + 10 * d) + 2 * d
        missing = total - sum(p.numel() for p in nn.Module.parameters(self))
        self.padding = claimed(max(0, missing))
