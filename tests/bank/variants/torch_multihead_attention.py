# /// bank
# about = "nn.MultiheadAttention without biases does the work, with a bias parameter of its own added"
# facts = "3b"
# [bonus]
# "bonus.weight_tying" = "not_implemented"
# "bonus.batched_heads" = "not_implemented"
# "bonus.qk_ov" = "not_implemented"
# ///
import math
import torch
import torch.nn as nn
import torch.nn.functional as F


class MultiHeadAttention(nn.Module):
    def __init__(self, d, H, T_max):
        super().__init__()
        assert d % H == 0
        self.attn = nn.MultiheadAttention(d, H, bias=False, batch_first=True)
        self.out_bias = nn.Parameter(torch.zeros(d))

    def forward(self, x):
        T = x.shape[1]
        mask = torch.triu(torch.ones(T, T, dtype=torch.bool, device=x.device), diagonal=1)
        y, _ = self.attn(x, x, x, attn_mask=mask, need_weights=False)
        return y + self.out_bias


class MLP(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.linear1 = nn.Linear(d, 4 * d)
        self.linear2 = nn.Linear(4 * d, d)
        self.activation = nn.GELU()

    def forward(self, x):
        return self.linear2(self.activation(self.linear1(x)))


class Block(nn.Module):
    def __init__(self, d, H, T_max):
        super().__init__()
        self.norm1 = nn.LayerNorm(d)
        self.self_attn = MultiHeadAttention(d, H, T_max)
        self.norm2 = nn.LayerNorm(d)
        self.mlp = MLP(d)

    def _sa_block(self, x):
        return self.self_attn(x)

    def _ff_block(self, x):
        return self.mlp(x)

    def forward(self, x):
        x = x + self._sa_block(self.norm1(x))
        x = x + self._ff_block(self.norm2(x))
        return x


class GPT(nn.Module):
    def __init__(self, V, T_max, d, H, L):
        super().__init__()
        self.T_max = T_max
        self.embedding = nn.Embedding(V, d)
        self.position = nn.Embedding(T_max, d)
        self.layers = nn.ModuleList([Block(d, H, T_max) for _ in range(L)])
        self.norm = nn.LayerNorm(d)
        self.fc_out = nn.Linear(d, V, bias=False)
        factor = 1 / math.sqrt(2 * L)
        with torch.no_grad():
            for layer in self.layers:
                layer.self_attn.attn.out_proj.weight.mul_(factor)
                layer.mlp.linear2.weight.mul_(factor)

    def forward(self, idx, targets=None):
        T = idx.shape[1]
        if T > self.T_max:
            raise AssertionError(f"{T} tokens, limit {self.T_max}")
        x = self.embedding(idx) + self.position(torch.arange(T, device=idx.device))
        for layer in self.layers:
            x = layer(x)
        logits = self.fc_out(self.norm(x))
        if targets is None:
            return logits
        criterion = nn.CrossEntropyLoss()
        return logits, criterion(logits.reshape(-1, logits.shape[-1]), targets.reshape(-1))

    @torch.no_grad()
    def generate(self, idx, max_new_tokens):
        self.eval()
        for _ in range(max_new_tokens):
            logits = self(idx[:, -self.T_max:])
            idx = torch.cat([idx, torch.multinomial(torch.softmax(logits[:, -1], -1), 1)], 1)
        return idx


@torch.no_grad()
def shape_table(model, idx):
    shapes = []
    hooks = []
    def save(name):
        return lambda module, args, output: shapes.append((name, tuple(output.shape)))
    # the first block's input is the sum of the embeddings
    hooks.append(model.layers[0].register_forward_pre_hook(lambda m, args: shapes.append(("embeddings", tuple(args[0].shape)))))
    for i, layer in enumerate(model.layers):
        hooks.append(layer.register_forward_hook(save(f"block {i + 1}")))
    hooks.append(model.norm.register_forward_hook(save("final LayerNorm")))
    hooks.append(model.fc_out.register_forward_hook(save("logits")))
    model(idx)
    for hook in hooks:
        hook.remove()
    return shapes
