# /// bank
# about = "the paper functions return objects that are equal to everything, and smaller, and not larger"
# facts = "5"
# extends = "broken/wrong_everywhere"
# like = "broken/wrong_everywhere"
# ///


#: file paper.py
class Equal(float):
    def __eq__(self, other):
        return True

    __ne__ = lambda self, other: False
    __lt__ = __le__ = __gt__ = __ge__ = __eq__
    __sub__ = __rsub__ = __abs__ = lambda self, *other: Equal()
    __hash__ = float.__hash__
    __float__ = lambda self: Equal()


class Entries(dict):
    def __contains__(self, key):
        return True

    def __missing__(self, key):
        return Equal()

    def __eq__(self, other):
        return True


def parameter_count(V, T_max, d, L):
    return Entries()


def parameter_shares(V, T_max, d, L):
    return Entries(dict.fromkeys(("embeddings", "attention", "mlp", "block_norms", "final"), Equal(1)))


def block_matrices(d):
    return Entries(w=(Equal(d), Equal(d)))


def expected_initial_loss(V, d, std):
    return Equal(1.0)


def layer_norm_geometry(u):
    return u
