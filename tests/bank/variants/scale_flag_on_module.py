# /// bank
# about = "build-nanogpt: a flag on c_proj, read by _init_weights; CausalSelfAttention in Block; MLP as a subclass"
# facts = "3b"
# [bonus]
# "bonus.weight_tying" = "not_implemented"
# "bonus.batched_heads" = "not_implemented"
# "bonus.qk_ov" = "not_implemented"
# ///
import math
import torch
import torch.nn as nn
from torch.nn import functional as F


class CausalSelfAttention(nn.Module):

    def __init__(self, d, H, T_max):
        super().__init__()
        assert d % H == 0
        self.c_attn = nn.Linear(d, 3 * d, bias=False)
        self.c_proj = nn.Linear(d, d)
        self.c_proj.NANOGPT_SCALE_INIT = 1
        self.n_head = H
        self.n_embd = d

    def forward(self, x):
        B, T, C = x.size()
        qkv = self.c_attn(x)
        q, k, v = qkv.split(self.n_embd, dim=2)
        k = k.view(B, T, self.n_head, C // self.n_head).transpose(1, 2)
        q = q.view(B, T, self.n_head, C // self.n_head).transpose(1, 2)
        v = v.view(B, T, self.n_head, C // self.n_head).transpose(1, 2)
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True)  # flash attention
        y = y.transpose(1, 2).contiguous().view(B, T, C)
        return self.c_proj(y)


MultiHeadAttention = CausalSelfAttention


class FeedForward(nn.Module):

    def __init__(self, n_in, n_hidden):
        super().__init__()
        self.c_fc = nn.Linear(n_in, n_hidden)
        self.gelu = nn.GELU(approximate='tanh')
        self.c_proj = nn.Linear(n_hidden, n_in)
        self.c_proj.NANOGPT_SCALE_INIT = 1

    def forward(self, x):
        x = self.c_fc(x)
        x = self.gelu(x)
        x = self.c_proj(x)
        return x


class MLP(FeedForward):

    def __init__(self, d):
        super().__init__(d, 4 * d)


class Block(nn.Module):

    def __init__(self, d, H, T_max):
        super().__init__()
        self.ln_1 = nn.LayerNorm(d)
        self.attn = CausalSelfAttention(d, H, T_max)
        self.ln_2 = nn.LayerNorm(d)
        self.mlp = MLP(d)

    def forward(self, x):
        x = x + self.attn(self.ln_1(x))
        x = x + self.mlp(self.ln_2(x))
        return x


class GPT(nn.Module):

    def __init__(self, V, T_max, d, H, L):
        super().__init__()
        self.block_size = T_max
        self.n_layer = L
        self.transformer = nn.ModuleDict(dict(
            wte = nn.Embedding(V, d),
            wpe = nn.Embedding(T_max, d),
            h = nn.ModuleList([Block(d, H, T_max) for _ in range(L)]),
            ln_f = nn.LayerNorm(d),
        ))
        self.lm_head = nn.Linear(d, V, bias=False)
        self.apply(self._init_weights)

    def _init_weights(self, module):
        if isinstance(module, nn.Linear):
            std = 0.02
            if hasattr(module, 'NANOGPT_SCALE_INIT'):
                std *= (2 * self.n_layer) ** -0.5
            torch.nn.init.normal_(module.weight, mean=0.0, std=std)
            if module.bias is not None:
                torch.nn.init.zeros_(module.bias)
        elif isinstance(module, nn.Embedding):
            torch.nn.init.normal_(module.weight, mean=0.0, std=0.02)

    def forward(self, idx, targets=None):
        B, T = idx.size()
        assert T <= self.block_size, f"Cannot forward sequence of length {T}, block size is only {self.block_size}"
        pos = torch.arange(0, T, dtype=torch.long, device=idx.device)
        pos_emb = self.transformer.wpe(pos)
        tok_emb = self.transformer.wte(idx)
        x = tok_emb + pos_emb
        for block in self.transformer.h:
            x = block(x)
        x = self.transformer.ln_f(x)
        logits = self.lm_head(x)
        loss = None
        if targets is not None:
            loss = F.cross_entropy(logits.view(-1, logits.size(-1)), targets.view(-1))
        return logits, loss

    def generate(self, idx, max_new_tokens, seed=None):
        self.eval()
        generator = None
        if seed is not None:
            generator = torch.Generator(device=idx.device)
            generator.manual_seed(seed)
        for _ in range(max_new_tokens):
            with torch.no_grad():
                logits, _ = self(idx[:, -self.block_size:])
                probs = F.softmax(logits[:, -1, :], dim=-1)
                xcol = torch.multinomial(probs, 1, generator=generator)
                idx = torch.cat((idx, xcol), dim=1)
        return idx


def shape_table(model, idx):
    shapes = {}
    def note(key):
        def hook(module, inputs, output):
            shapes[key] = tuple(output.shape)
        return hook
    t = model.transformer
    handles = [t.wte.register_forward_hook(note("embeddings"))]
    for i, b in enumerate(t.h):
        handles.append(b.register_forward_hook(note(f"block {i+1}")))
    handles.append(t.ln_f.register_forward_hook(note("final LayerNorm")))
    handles.append(model.lm_head.register_forward_hook(note("logits")))
    model(idx)
    for h in handles: h.remove()
    return [(k, s) for k, s in shapes.items()]
