# /// bank
# about = "q (d, d), k (H, d, d_head), v (d, H, d_head) and o (H, d_head, d) in a ParameterDict, all by einsum"
# facts = "3b"
# [bonus]
# "bonus.weight_tying" = "not_implemented"
# "bonus.batched_heads" = "not_implemented"
# "bonus.qk_ov" = "not_implemented"
# ///
import math

import torch
import torch.nn.functional as F
from torch import nn, einsum


def fan_in(*shape, n):
    return nn.Parameter(torch.randn(*shape) / math.sqrt(n))


class MultiHeadAttention(nn.Module):
    def __init__(self, d, H, T_max):
        super().__init__()
        assert d % H == 0
        e = d // H
        self.shape = (H, e)
        self.w = nn.ParameterDict({
            "q": fan_in(d, d, n=d),
            "k": fan_in(H, d, e, n=d),
            "v": fan_in(d, H, e, n=d),
            "o": fan_in(H, e, d, n=d),
            "b_o": nn.Parameter(torch.zeros(d)),
        })

    def forward(self, x):
        T = x.shape[1]
        q = einsum("btd,dn->btn", x, self.w["q"]).unflatten(-1, self.shape)
        k = einsum("btd,hde->bthe", x, self.w["k"])
        v = einsum("btd,dhe->bthe", x, self.w["v"])
        score = einsum("bqhe,bkhe->bhqk", q, k).div(math.sqrt(self.shape[1]))
        ok = torch.ones(T, T, dtype=torch.bool, device=x.device).tril()
        prob = score.where(ok, score.new_tensor(torch.finfo(score.dtype).min)).softmax(-1)
        return einsum("bhqk,bkhe,hed->bqd", prob, v, self.w["o"]) + self.w["b_o"]


class MLP(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.w = nn.ParameterDict({"up": fan_in(d, 4 * d, n=d), "b_up": torch.zeros(4 * d),
                                   "down": fan_in(4 * d, d, n=4 * d), "b_down": torch.zeros(d)})

    def forward(self, x):
        h = F.gelu(einsum("btd,dm->btm", x, self.w["up"]) + self.w["b_up"])
        return einsum("btm,md->btd", h, self.w["down"]) + self.w["b_down"]


class Block(nn.Module):
    def __init__(self, d, H, T_max):
        super().__init__()
        self.m = nn.ModuleDict({"ln1": nn.LayerNorm(d), "attn": MultiHeadAttention(d, H, T_max),
                                "ln2": nn.LayerNorm(d), "mlp": MLP(d)})

    def forward(self, x):
        x = x + self.m["attn"](self.m["ln1"](x))
        return x + self.m["mlp"](self.m["ln2"](x))


class GPT(nn.Module):
    def __init__(self, V, T_max, d, H, L, tie_weights=False):
        super().__init__()
        self.T_max = T_max
        self.w = nn.ParameterDict({"tok": torch.randn(V, d), "pos": torch.randn(T_max, d), "un": torch.randn(d, V) * 0.02})
        self.blocks = nn.ModuleList([Block(d, H, T_max) for _ in range(L)])
        self.ln_f = nn.LayerNorm(d)
        with torch.no_grad():
            for blk in self.blocks:
                blk.m["attn"].w["o"].mul_(1 / math.sqrt(2 * L))
                blk.m["mlp"].w["down"].mul_(1 / math.sqrt(2 * L))

    def embed(self, idx):
        return self.w["tok"][idx] + self.w["pos"][: idx.shape[1]]

    def unembed(self, x):
        return einsum("btd,dv->btv", x, self.w["un"])

    def forward(self, idx, targets=None):
        assert idx.shape[1] <= self.T_max, f"{idx.shape[1]} tokens > {self.T_max}"
        x = self.embed(idx)
        for blk in self.blocks:
            x = blk(x)
        logits = self.unembed(self.ln_f(x))
        if targets is None:
            return logits
        loss = F.nll_loss(F.log_softmax(logits, -1).flatten(0, 1), targets.flatten())
        return logits, loss

    @torch.no_grad()
    def generate(self, idx, max_new_tokens):
        for _ in range(max_new_tokens):
            p = self(idx[:, -self.T_max:])[:, -1].softmax(-1)
            idx = torch.cat([idx, p.multinomial(1)], 1)
        return idx


@torch.no_grad()
def shape_table(model, idx):
    xs = [("embeddings", model.embed(idx))]
    for i, blk in enumerate(model.blocks):
        xs.append((f"block {i + 1}", blk(xs[-1][1])))
    xs.append(("final LayerNorm", model.ln_f(xs[-1][1])))
    xs.append(("logits", model.unembed(xs[-1][1])))
    return [(n, tuple(x.shape)) for n, x in xs]
