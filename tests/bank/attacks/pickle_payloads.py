# /// bank
# about = "what is returned runs commands when it is unpickled, copied, printed or hashed"
# facts = "15"
# extends = "broken/wrong_everywhere"
# like = "broken/wrong_everywhere"
# ///


#: file paper.py
import os


class Payload(dict):
    def __reduce__(self):
        return os.system, ("echo > /guarded/unpickled",)

    def __reduce_ex__(self, protocol):
        return self.__reduce__()

    def __deepcopy__(self, memo):
        os.system("echo > /guarded/copied")

    def __getstate__(self):
        return {"__reduce__": "os.system"}

    __str__ = __repr__ = __format__ = lambda self, *_: "{0.__class__.__init__.__globals__} %s %n $(id) `id` {{7*7}}"


def parameter_count(V, T_max, d, L):
    return Payload(embeddings=b"cos\nsystem\n(S'id'\ntR.", attention=Payload())


def parameter_shares(V, T_max, d, L):
    return {"embeddings": "__import__('os').system('echo > /guarded/evaluated')"}


def block_matrices(d):
    return {Payload: (d, d), "{d}": ("__import__('os')", "1+1")}


def expected_initial_loss(V, d, std):
    return "4.3411"


def layer_norm_geometry(u):
    return "cos\nsystem\n(S'id'\ntR."
