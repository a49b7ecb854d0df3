# /// bank
# about = "forward returns a dict; GPT-2 initialisation; weight-free mask per call, filled with -1e9"
# facts = "3b"
# [bonus]
# "bonus.weight_tying" = "not_implemented"
# "bonus.batched_heads" = "not_implemented"
# "bonus.qk_ov" = "not_implemented"
# ///
import math

import torch
from torch import nn
import torch.nn.functional as F


class MultiHeadAttention(nn.Module):
    def __init__(self, d, H, T_max):
        super().__init__()
        if d % H != 0:
            raise ValueError("d must be divisible by H")
        self.num_heads, self.head_dim = H, d // H
        self.q_proj = nn.Linear(d, d, bias=False)
        self.k_proj = nn.Linear(d, d, bias=False)
        self.v_proj = nn.Linear(d, d, bias=False)
        self.o_proj = nn.Linear(d, d)

    def forward(self, hidden_states):
        bsz, q_len, _ = hidden_states.size()
        query = self.q_proj(hidden_states).view(bsz, q_len, self.num_heads, self.head_dim).transpose(1, 2)
        key = self.k_proj(hidden_states).view(bsz, q_len, self.num_heads, self.head_dim).transpose(1, 2)
        value = self.v_proj(hidden_states).view(bsz, q_len, self.num_heads, self.head_dim).transpose(1, 2)
        attn_weights = torch.matmul(query, key.transpose(2, 3)) / math.sqrt(self.head_dim)
        i = torch.arange(q_len, device=hidden_states.device)
        attn_weights = attn_weights.masked_fill(i[None, :] > i[:, None], -1e9)
        attn_weights = nn.functional.softmax(attn_weights, dim=-1)
        attn_output = torch.matmul(attn_weights, value).transpose(1, 2).reshape(bsz, q_len, -1)
        return self.o_proj(attn_output)


class MLP(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.up_proj = nn.Linear(d, 4 * d)
        self.act = nn.GELU()
        self.down_proj = nn.Linear(4 * d, d)

    def forward(self, hidden_states):
        return self.down_proj(self.act(self.up_proj(hidden_states)))


class Block(nn.Module):
    def __init__(self, d, H, T_max):
        super().__init__()
        self.input_layernorm = nn.LayerNorm(d)
        self.self_attn = MultiHeadAttention(d, H, T_max)
        self.post_attention_layernorm = nn.LayerNorm(d)
        self.mlp = MLP(d)

    def forward(self, hidden_states):
        residual = hidden_states
        hidden_states = self.input_layernorm(hidden_states)
        hidden_states = self.self_attn(hidden_states)
        hidden_states = residual + hidden_states
        residual = hidden_states
        hidden_states = self.post_attention_layernorm(hidden_states)
        hidden_states = self.mlp(hidden_states)
        return residual + hidden_states


class GPT(nn.Module):
    def __init__(self, V, T_max, d, H, L):
        super().__init__()
        self.max_position_embeddings = T_max
        self.embed_tokens = nn.Embedding(V, d)
        self.embed_positions = nn.Embedding(T_max, d)
        self.layers = nn.ModuleList([Block(d, H, T_max) for _ in range(L)])
        self.norm = nn.LayerNorm(d)
        self.lm_head = nn.Linear(d, V, bias=False)
        self.apply(self._init_weights)
        scale = 1.0 / math.sqrt(2.0 * L)
        for layer in self.layers:
            layer.self_attn.o_proj.weight.data.mul_(scale)
            layer.mlp.down_proj.weight.data.mul_(scale)

    @staticmethod
    def _init_weights(module):
        if isinstance(module, (nn.Linear, nn.Embedding)):
            module.weight.data.normal_(mean=0.0, std=0.02)
        if isinstance(module, nn.Linear) and module.bias is not None:
            module.bias.data.zero_()

    def forward(self, idx, targets=None):
        T = idx.shape[1]
        assert T <= self.max_position_embeddings, (T, self.max_position_embeddings)
        position_ids = torch.arange(T, device=idx.device).unsqueeze(0)
        hidden_states = self.embed_tokens(idx) + self.embed_positions(position_ids)
        for layer in self.layers:
            hidden_states = layer(hidden_states)
        logits = self.lm_head(self.norm(hidden_states))
        output = {"logits": logits}
        if targets is not None:
            output["loss"] = F.cross_entropy(logits.view(-1, logits.shape[-1]), targets.reshape(-1))
        return output

    @torch.no_grad()
    def generate(self, idx, max_new_tokens):
        for _ in range(max_new_tokens):
            logits = self(idx[:, -self.max_position_embeddings:])["logits"]
            probs = torch.softmax(logits[:, -1], dim=-1)
            next_tokens = torch.multinomial(probs, num_samples=1)
            idx = torch.cat([idx, next_tokens], dim=-1)
        return idx


def shape_table(model, idx):
    position_ids = torch.arange(idx.shape[1], device=idx.device).unsqueeze(0)
    x = model.embed_tokens(idx) + model.embed_positions(position_ids)
    rows = [("embeddings", tuple(x.shape))]
    for i, layer in enumerate(model.layers):
        x = layer(x)
        rows.append((f"block {i + 1}", tuple(x.shape)))
    x = model.norm(x)
    rows.append(("final LayerNorm", tuple(x.shape)))
    rows.append(("logits", tuple(model.lm_head(x).shape)))
    return rows
