# /// bank
# about = "queries and keys by head, values fused, heads concatenated from the last to the first"
# facts = "3b"
# [bonus]
# "bonus.weight_tying" = "not_implemented"
# "bonus.batched_heads" = "not_implemented"
# "bonus.qk_ov" = "not_implemented"
# ///
import torch
import torch.nn as nn
import torch.nn.functional as F
from math import sqrt


class MultiHeadAttention(nn.Module):
    def __init__(self, d, H, T_max):
        super().__init__()
        assert d % H == 0
        d_head = d // H
        self.H = H
        self.d_head = d_head
        self.queries = nn.ModuleList([nn.Linear(d, d_head, bias=False) for i in range(H)])
        self.keys = nn.ModuleList([nn.Linear(d, d_head, bias=False) for i in range(H)])
        self.values = nn.Linear(d, d, bias=False)
        self.proj = nn.Linear(d, d)

    def forward(self, x):
        B, T, d = x.shape
        mask = torch.ones(T, T, device=x.device).tril()
        v_all = self.values(x).view(B, T, self.H, self.d_head)
        out = []
        for i in range(self.H):
            q = self.queries[i](x)
            k = self.keys[i](x)
            att = torch.matmul(q, k.transpose(1, 2)) / sqrt(self.d_head)
            att[:, mask == 0] = float("-inf")
            att = torch.softmax(att, 2)
            out.insert(0, torch.matmul(att, v_all[:, :, i]))
        return self.proj(torch.cat(out, 2))


class MLP(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.up = nn.Linear(d, 4 * d)
        self.down = nn.Linear(4 * d, d)

    def forward(self, x):
        x = self.up(x)
        x = F.gelu(x)
        return self.down(x)


class Block(nn.Module):
    def __init__(self, d, H, T_max):
        super().__init__()
        self.ln1 = nn.LayerNorm(d)
        self.attn = MultiHeadAttention(d, H, T_max)
        self.ln2 = nn.LayerNorm(d)
        self.mlp = MLP(d)

    def forward(self, x):
        attention_result = self.attn(self.ln1(x))
        x = x + attention_result
        mlp_result = self.mlp(self.ln2(x))
        x = x + mlp_result
        return x


class GPT(nn.Module):
    def __init__(self, V, T_max, d, H, L, tie_weights=False):
        super().__init__()
        self.V = V
        self.T_max = T_max
        self.d = d
        self.L = L
        self.tok_emb = nn.Embedding(V, d)
        self.pos_emb = nn.Embedding(T_max, d)
        blocks = []
        for l in range(L):
            block = Block(d, H, T_max)
            with torch.no_grad():
                block.attn.proj.weight[:] = block.attn.proj.weight / sqrt(2 * L)
                block.mlp.down.weight[:] = block.mlp.down.weight / sqrt(2 * L)
            blocks.append(block)
        self.blocks = nn.ModuleList(blocks)
        self.ln_f = nn.LayerNorm(d)
        self.lm_head = nn.Linear(d, V, bias=False)

    def forward(self, idx, targets=None):
        B = idx.shape[0]
        T = idx.shape[1]
        assert T <= self.T_max, "T is " + str(T) + " but T_max is only " + str(self.T_max)
        positions = torch.arange(0, T).to(idx.device)
        x = self.tok_emb(idx) + self.pos_emb(positions)
        for l in range(self.L):
            x = self.blocks[l](x)
        x = self.ln_f(x)
        logits = self.lm_head(x)
        if targets is None:
            return logits
        else:
            logits_flat = logits.reshape(B * T, self.V)
            targets_flat = targets.reshape(B * T)
            loss = F.cross_entropy(logits_flat, targets_flat)
            return logits, loss

    @torch.no_grad()
    def generate(self, idx, max_new_tokens):
        result = idx
        for n in range(max_new_tokens):
            if result.shape[1] > self.T_max:
                context = result[:, result.shape[1] - self.T_max:]
            else:
                context = result
            logits = self.forward(context)
            last = logits[:, -1, :]
            p = torch.softmax(last, 1)
            new = torch.multinomial(p, 1)
            result = torch.cat([result, new], 1)
        return result


@torch.no_grad()
def shape_table(model, idx):
    table = []
    x = model.tok_emb(idx) + model.pos_emb(torch.arange(idx.shape[1]).to(idx.device))
    table.append(("embeddings", tuple(x.shape)))
    for l in range(model.L):
        x = model.blocks[l](x)
        table.append(("block " + str(l + 1), tuple(x.shape)))
    x = model.ln_f(x)
    table.append(("final LayerNorm", tuple(x.shape)))
    x = model.lm_head(x)
    table.append(("logits", tuple(x.shape)))
    return table
