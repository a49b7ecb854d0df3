# 第五步：组装 GPT
# /// bank
# about = "UTF-8 with a byte order mark, comments and a message in Chinese"
# facts = "3b"
# [bonus]
# "bonus.weight_tying" = "not_implemented"
# "bonus.batched_heads" = "not_implemented"
# "bonus.qk_ov" = "not_implemented"
# ///
import torch
import torch.nn as nn
import torch.nn.functional as F
from head import Head


class MultiHeadAttention(nn.Module):
    # 多头注意力：H 个头并行，拼接后再线性混合
    def __init__(self, d, H, T_max):
        super().__init__()
        self.heads = nn.ModuleList([Head(d, d // H, T_max) for _ in range(H)])  # 每个头的宽度是 d // H
        self.proj = nn.Linear(d, d)  # 输出投影

    def forward(self, x):
        # 在最后一维拼接
        return self.proj(torch.cat([head(x) for head in self.heads], dim=-1))


class MLP(nn.Module):
    # 逐位置的前馈网络，隐藏层宽度 4d
    def __init__(self, d):
        super().__init__()
        self.up = nn.Linear(d, 4 * d)
        self.down = nn.Linear(4 * d, d)

    def forward(self, x):
        return self.down(F.gelu(self.up(x)))


class Block(nn.Module):
    # pre-norm 残差块：x = x + 子层(LN(x))
    def __init__(self, d, H, T_max):
        super().__init__()
        self.ln1 = nn.LayerNorm(d)
        self.attn = MultiHeadAttention(d, H, T_max)
        self.ln2 = nn.LayerNorm(d)
        self.mlp = MLP(d)

    def forward(self, x):
        x = x + self.attn(self.ln1(x))
        x = x + self.mlp(self.ln2(x))
        return x


class GPT(nn.Module):
    # 完整模型
    def __init__(self, V, T_max, d, H, L):
        super().__init__()
        self.T_max = T_max
        self.tok_emb = nn.Embedding(V, d)
        self.pos_emb = nn.Embedding(T_max, d)
        self.blocks = nn.ModuleList([Block(d, H, T_max) for _ in range(L)])
        self.ln_f = nn.LayerNorm(d)
        self.lm_head = nn.Linear(d, V, bias=False)
        # 残差投影按 1/sqrt(2L) 缩放（GPT-2）
        for block in self.blocks:
            block.attn.proj.weight.data /= (2 * L) ** 0.5
            block.mlp.down.weight.data /= (2 * L) ** 0.5

    def forward(self, idx, targets=None):
        B, T = idx.shape
        assert T <= self.T_max, f"序列太长： {T} > {self.T_max}"
        x = self.tok_emb(idx) + self.pos_emb(torch.arange(T, device=idx.device))
        for block in self.blocks:
            x = block(x)
        logits = self.lm_head(self.ln_f(x))
        if targets is None:
            return logits
        loss = F.cross_entropy(logits.view(B * T, -1), targets.reshape(B * T))
        return logits, loss

    @torch.no_grad()
    def generate(self, idx, max_new_tokens):
        # 每一步只看最后 T_max 个 token
        for _ in range(max_new_tokens):
            logits = self(idx[:, -self.T_max:])
            probs = F.softmax(logits[:, -1, :], dim=-1)
            new = torch.multinomial(probs, num_samples=1)
            idx = torch.cat([idx, new], dim=1)
        return idx


def shape_table(model, idx):
    table = []
    x = model.tok_emb(idx) + model.pos_emb(torch.arange(idx.shape[1]))
    table.append(("embeddings", tuple(x.shape)))
    for i, block in enumerate(model.blocks):
        x = block(x)
        table.append((f"block {i + 1}", tuple(x.shape)))
    x = model.ln_f(x)
    table.append(("final LayerNorm", tuple(x.shape)))
    x = model.lm_head(x)
    table.append(("logits", tuple(x.shape)))
    return table
