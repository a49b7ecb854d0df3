# /// bank
# about = "each answer is another kind of tensor: NaN, infinite, meta, sparse, complex, expanded, nested, quantized"
# facts = "19"
# extends = "broken/wrong_everywhere"
# like = "broken/wrong_everywhere"
# names = ["mlp_width", "mask_all_nan"]
# [loses]
# "model.loss" = "crashed"
# ///


KINDS = [
    lambda x: x * float("nan"),
    lambda x: x.new_full(x.shape, float("inf")),
    lambda x: x.to("meta"),
    lambda x: x.to_sparse(),
    lambda x: x.to(torch.complex64),
    lambda x: x.new_zeros(1).expand(1 << 20, 1 << 14),
    lambda x: torch.nested.nested_tensor([x[0], x[0]]),
    lambda x: torch.quantize_per_tensor(x.detach().float(), 0.1, 0, torch.qint8),
    lambda x: x.bfloat16(),
    lambda x: x.bool(),
    lambda x: x.new_zeros(()),
    lambda x: x.new_zeros(0),
    lambda x: x.new_zeros([1] * 40),
    lambda x: nn.Parameter(x.detach()),
    lambda x: x.conj().to(torch.complex128).imag,
    lambda x: torch.zeros_like(x).fill_(-0.0).neg_(),
]
count = 0


def odd(cls):
    honest = cls.forward

    def forward(self, x, *targets):
        global count
        count += 1
        y = honest(self, x, *targets)
        if isinstance(y, tuple):
            return KINDS[count % len(KINDS)](y[0]), y[1]
        return KINDS[count % len(KINDS)](y)

    cls.forward = forward


for cls in (MultiHeadAttention, MLP, GPT):
    odd(cls)
