# /// bank
# about = "fused qkv laid out head by head; the heads' outputs interleaved on the last axis; positions as parameter"
# facts = "3b"
# [bonus]
# "bonus.weight_tying" = "not_implemented"
# "bonus.batched_heads" = "not_implemented"
# "bonus.qk_ov" = "not_implemented"
# ///
import torch
import torch.nn as nn
import torch.nn.functional as F


class MultiHeadAttention(nn.Module):
    """query_key_value is ordered (H, 3, d_head); the outputs are stacked on the last axis."""

    def __init__(self, d, H, T_max):
        super().__init__()
        assert d % H == 0
        self.H = H
        self.query_key_value = nn.Linear(d, 3 * d, bias=False)
        self.dense = nn.Linear(d, d)
        causal = torch.zeros(T_max, T_max)
        causal[torch.triu(torch.ones(T_max, T_max), diagonal=1) == 1] = -1e4
        self.register_buffer("causal", causal)

    def forward(self, x):
        B, T, d = x.shape
        fused = self.query_key_value(x).view(B, T, self.H, 3 * (d // self.H))
        q, k, v = fused.chunk(3, dim=-1)                                    # (B, T, H, d_head)
        scores = torch.einsum("bthe,bshe->bhts", q, k) * (d // self.H) ** -0.5
        weights = torch.softmax(scores + self.causal[:T, :T], dim=-1)
        out = torch.einsum("bhts,bshe->bteh", weights, v)                   # (B, T, d_head, H)
        return self.dense(out.reshape(B, T, d))


class MLP(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.dense_h_to_4h = nn.Linear(d, 4 * d)
        self.dense_4h_to_h = nn.Linear(4 * d, d)

    def forward(self, x):
        return self.dense_4h_to_h(F.gelu(self.dense_h_to_4h(x)))


class Block(nn.Module):
    def __init__(self, d, H, T_max):
        super(Block, self).__init__()
        self.input_norm = nn.LayerNorm(d)
        self.attention = MultiHeadAttention(d, H, T_max)
        self.post_norm = nn.LayerNorm(d)
        self.mlp = MLP(d)

    def forward(self, x):
        x = x + self.attention(self.input_norm(x))
        x = x + self.mlp(self.post_norm(x))
        return x


class GPT(nn.Module):
    def __init__(self, V, T_max, d, H, L):
        super(GPT, self).__init__()
        self.T_max = T_max
        self.word_embeddings = nn.Embedding(V, d)
        self.position_embeddings = nn.Parameter(0.02 * torch.randn(T_max, d))
        self.layers = nn.Sequential(*(Block(d, H, T_max) for _ in range(L)))
        self.final_norm = nn.LayerNorm(d)
        self.embed_out = nn.Linear(d, V, bias=False)
        for block in self.layers:
            nn.init.xavier_normal_(block.attention.dense.weight, gain=(2 * L) ** -0.5)
            nn.init.xavier_normal_(block.mlp.dense_4h_to_h.weight, gain=(2 * L) ** -0.5)

    def forward(self, idx, targets=None):
        T = idx.size(-1)
        assert T <= self.T_max, f"sequence length {T} exceeds T_max {self.T_max}"
        x = self.word_embeddings(idx) + self.position_embeddings[:T]
        x = self.final_norm(self.layers(x))
        logits = self.embed_out(x)
        if targets is None:
            return logits
        return logits, F.cross_entropy(logits.permute(0, 2, 1), targets)

    @torch.no_grad()
    def generate(self, idx, max_new_tokens):
        B, T = idx.shape
        out = torch.empty(B, T + max_new_tokens, dtype=idx.dtype, device=idx.device)
        out[:, :T] = idx
        for t in range(T, T + max_new_tokens):
            logits = self(out[:, max(0, t - self.T_max):t])[:, -1]
            # Gumbel-max: the argmax of logits + noise is a sample from softmax(logits)
            noise = -torch.log(-torch.log(torch.rand_like(logits).clamp(1e-20, 1 - 1e-7)))
            out[:, t] = (logits + noise).argmax(dim=-1)
        return out


def shape_table(model, idx):
    x = model.word_embeddings(idx) + model.position_embeddings[:idx.size(-1)]
    table = [("embeddings", tuple(x.shape))]
    for i, block in enumerate(model.layers):
        x = block(x)
        table.append((f"block {i + 1}", tuple(x.shape)))
    x = model.final_norm(x)
    table.append(("final LayerNorm", tuple(x.shape)))
    table.append(("logits", tuple(model.embed_out(x).shape)))
    return table
