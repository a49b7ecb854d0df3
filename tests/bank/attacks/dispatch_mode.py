# /// bank
# about = "sees the future, and wraps every operation of torch"
# extends = "mistakes/attention_sdpa_not_causal"
# like = "mistakes/attention_sdpa_not_causal"
# ///


from torch.utils._python_dispatch import TorchDispatchMode


class _Mode(TorchDispatchMode):
    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        return func(*args, **(kwargs or {}))


_Mode().__enter__()
