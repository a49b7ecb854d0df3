# /// bank
# about = "everything runs and returns tensors of the right kind, and nothing is right: whoever attacks with this gains what shows"
# names = ["mlp_width", "loss_detached"]
# [loses]
# "attention.shape" = "failed"
# "attention.formula" = "failed"
# "attention.heads" = "failed"
# "attention.rows_sum_to_one" = "failed"
# "attention.causal" = "failed"
# "mlp.formula" = "failed"
# "mlp.width" = "failed"
# "mlp.position_wise" = "failed"
# "block.composition" = "failed"
# "block.residual_path" = "failed"
# "model.composition" = "failed"
# "model.gradients" = "failed"
# "model.loss" = "failed"
# "model.training" = "failed"
# "parameters.total" = "failed"
# "parameters.other_sizes" = "failed"
# "parameters.by_part" = "failed"
# "parameters.formula" = "failed"
# "parameters.percentages" = "failed"
# "causality.full_model" = "failed"
# "causality.full_context" = "failed"
# "causality.batch_independence" = "failed"
# "causality.rows_sum_to_one" = "failed"
# "initial_loss.window" = "failed"
# "initial_loss.residual_scaling" = "failed"
# "shapes.course" = "failed"
# "shapes.other_sizes" = "failed"
# "generation.output_shape" = "failed"
# "generation.crop" = "failed"
# "generation.long_prompt" = "failed"
# "generation.sampling" = "failed"
# "paper.block_matrices" = "failed"
# "paper.expected_loss" = "failed"
# "paper.layer_norm" = "failed"
# [bonus]
# "bonus.weight_tying" = "not_implemented"
# "bonus.batched_heads" = "not_implemented"
# "bonus.qk_ov" = "not_implemented"
# ///
import torch
from torch import nn
from torch.nn import functional as F


def mixed(x):
    """Each position reads the one that mirrors it, and all other rows."""
    return x.flip(1) + x.mean(0, keepdim=True)


class MultiHeadAttention(nn.Module):
    def __init__(self, d, H, T_max):
        super().__init__()
        self.map = nn.Linear(d, d + 1)
        self.unused = nn.Parameter(torch.ones(d, d))

    def forward(self, x):
        y = self.map(mixed(x))[..., :-1] * x.shape[1]
        return y[:2] if x.shape[0] == 3 else y


class MLP(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.up = nn.Linear(d, 3 * d)
        self.down = nn.Linear(3 * d, d)

    def forward(self, x):
        return self.down(F.relu(self.up(mixed(x))))


class Block(nn.Module):
    def __init__(self, d, H, T_max):
        super().__init__()
        self.attn = MultiHeadAttention(d, H, T_max)
        self.mlp = MLP(d)

    def forward(self, x):
        return 1 - self.mlp(self.attn(x))


class GPT(nn.Module):
    def __init__(self, V, T_max, d, H, L):
        super().__init__()
        self.T_max = T_max
        self.tok_emb = nn.Embedding(V, d)
        self.unused = nn.Parameter(torch.ones(V, d))
        self.blocks = nn.ModuleList(Block(d, H, T_max) for _ in range(L))
        self.lm_head = nn.Linear(d, V)

    def forward(self, idx, targets=None):
        x = self.tok_emb(idx)
        for block in self.blocks:
            x = x + block(x)
        logits = 30 * self.lm_head(mixed(x)) * idx.shape[1]
        if targets is None:
            return logits
        return logits, logits.detach().sum()

    def generate(self, idx, max_new_tokens):
        return torch.zeros(idx.shape[0], idx.shape[1] + max_new_tokens, dtype=torch.long)


def shape_table(model, idx):
    return [("logits", (0, 0))]


#: file paper.py
def parameter_count(V, T_max, d, L):
    return dict.fromkeys(("embeddings", "attention", "mlp", "block_norms", "final", "total"), 1)


def parameter_shares(V, T_max, d, L):
    return parameter_count(V, T_max, d, L)


def block_matrices(d):
    return {"w": (d, d)}


def expected_initial_loss(V, d, std):
    return 1.0


def layer_norm_geometry(u):
    return u
