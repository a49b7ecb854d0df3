# /// bank
# about = "classes that lie about what they are, what they are instances of and what they take"
# facts = "22"
# extends = "broken/wrong_everywhere"
# like = "broken/wrong_everywhere"
# ///


class Lying(type(nn.Module)):
    def __instancecheck__(cls, instance):
        return True

    def __subclasscheck__(cls, other):
        return True

    def __eq__(cls, other):
        return True

    def __hash__(cls):
        return 0

    @property
    def __signature__(cls):
        raise ValueError


class GPT(GPT, metaclass=Lying):
    pass


class MLP(MLP, metaclass=Lying):
    pass
