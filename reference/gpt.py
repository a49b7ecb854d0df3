"""Assemble the GPT: multi-head attention, the MLP, the block and the full model.

Replace each `raise NotImplementedError()` with your own code. Each docstring gives the input, the output and the
computation. Keep the names, the argument order and the first line of each `__init__`. You may add functions and
classes of your own. Run `make grade` to see what works so far.

Sizes, and their values in this course:

    B       sequences in a batch
    T       tokens in a sequence, from 1 to T_max
    V       vocabulary size (characters)         65
    T_max   maximum context length               64
    d       width of the residual stream         128
    H       heads per block                      4
    d_head  width of one head, d / H             32
    L       blocks                               4

With these sizes the model has exactly 816,640 parameters. Your code must also work for other sizes, so take every size
from the arguments or from a tensor's shape. A shape such as (B, T, d) lists a tensor's axes in order. Vectors are rows:
a linear map with matrix W takes x to x W.
"""

import math

import torch
from torch import nn
from torch.nn import functional as F

from head import Head


class MultiHeadAttention(nn.Module):
    """Run H heads in parallel, concatenate their outputs and project back to the residual stream.

        MHA(X) = [ head_1(X) | head_2(X) | ... | head_H(X) ] W_O + b_O

    Each head is a `Head` with its own weights and d_head = d / H. The bars mean concatenation along the last axis:
    H outputs of width d_head give width d. W_O has shape (d, d), and b_O is a bias of shape (d,).

    In: X of shape (B, T, d), with T <= T_max. Out: a tensor of shape (B, T, d).
    d must be a multiple of H; raise an error otherwise (an `assert` will do).

    Suggested names: `self.heads`, and `self.proj` for the output projection.
    """

    def __init__(self, d, H, T_max):
        super().__init__()
        ### BEGIN SOLUTION
        assert d % H == 0, f"d={d} is not a multiple of H={H}"
        self.heads = nn.ModuleList(Head(d, d // H, T_max) for _ in range(H))
        self.proj = nn.Linear(d, d)
        ### END SOLUTION

    def forward(self, x):
        ### BEGIN SOLUTION
        y = torch.cat([head(x) for head in self.heads], dim=-1)  # (B, T, H * d_head) = (B, T, d)
        return self.proj(y)  # (B, T, d)
        ### END SOLUTION


class MLP(nn.Module):
    """Apply an up-projection, a GELU and a down-projection at each position.

        MLP(x) = GELU(x W_up + b_up) W_down + b_down

    W_up has shape (d, 4d), W_down has shape (4d, d), and both projections have a bias. Use the exact GELU, PyTorch's
    default. The MLP is position-wise: only attention moves information between positions.

    In: x of shape (B, T, d). Out: a tensor of shape (B, T, d).

    Suggested names: `self.up` and `self.down`.
    """

    def __init__(self, d):
        super().__init__()
        ### BEGIN SOLUTION
        self.up = nn.Linear(d, 4 * d)
        self.down = nn.Linear(4 * d, d)
        ### END SOLUTION

    def forward(self, x):
        ### BEGIN SOLUTION
        hidden = F.gelu(self.up(x))  # (B, T, 4d)
        return self.down(hidden)  # (B, T, d)
        ### END SOLUTION


class Block(nn.Module):
    """Apply attention, then the MLP, each to the normalised residual stream, and add each output to the stream.

        Y = X + MHA(LN1(X))
        Z = Y + MLP(LN2(Y))

    LN1 and LN2 are two separate LayerNorms over the last axis, each with its own gain and bias (`nn.LayerNorm`). This
    order is called pre-norm: it normalises the input of each sublayer, but not the residual stream.

    In: X of shape (B, T, d), with T <= T_max. Out: Z of shape (B, T, d).

    Suggested names: `self.ln1`, `self.attn`, `self.ln2`, `self.mlp`.
    """

    def __init__(self, d, H, T_max):
        super().__init__()
        ### BEGIN SOLUTION
        self.ln1 = nn.LayerNorm(d)
        self.attn = MultiHeadAttention(d, H, T_max)
        self.ln2 = nn.LayerNorm(d)
        self.mlp = MLP(d)
        ### END SOLUTION

    def forward(self, x):
        ### BEGIN SOLUTION
        x = x + self.attn(self.ln1(x))  # (B, T, d)
        x = x + self.mlp(self.ln2(x))  # (B, T, d)
        return x
        ### END SOLUTION


class GPT(nn.Module):
    """Map token ids to logits for the next token at every position.

        X_0    = token embedding of each token + position embedding of each position 0, 1, ..., T - 1
        X_l    = Block_l(X_(l-1))                for l = 1, ..., L
        logits = LN_f(X_L) W_U

    The token embedding has shape (V, d), the position embedding (T_max, d). LN_f is one more LayerNorm, with gain and
    bias. The unembedding W_U has shape (d, V) and no bias.

    Residual scaling: after building the L blocks, multiply the weights (not the biases) of the two projections in each
    block that add to the residual stream (attention's output projection and the MLP's down-projection) by 1 / sqrt(2L).
    The stream is a sum of 2L such terms, and their variances add up. Do it here: a Block doesn't know L.

    Suggested names: `self.tok_emb`, `self.pos_emb`, `self.blocks`, `self.ln_f`, `self.lm_head`.

    Going further (optional): with `tie_weights=True`, the unembedding and the token embedding share one parameter
    (808,320 in total at the course's sizes). A good initialisation for an embedding can be far too large for an
    unembedding: choose one that keeps the initial loss between 4.15 and 4.45.
    """

    def __init__(self, V, T_max, d, H, L, tie_weights=False):
        super().__init__()
        ### BEGIN SOLUTION
        self.T_max = T_max
        self.tok_emb = nn.Embedding(V, d)
        self.pos_emb = nn.Embedding(T_max, d)
        self.blocks = nn.ModuleList(Block(d, H, T_max) for _ in range(L))
        self.ln_f = nn.LayerNorm(d)
        self.lm_head = nn.Linear(d, V, bias=False)

        # The 2L terms added to the residual stream would otherwise make its variance grow like 2L.
        with torch.no_grad():
            for block in self.blocks:
                block.attn.proj.weight.mul_(1 / math.sqrt(2 * L))  # (d, d)
                block.mlp.down.weight.mul_(1 / math.sqrt(2 * L))  # (d, 4d)

        if tie_weights:
            self.lm_head.weight = self.tok_emb.weight  # (V, d), one parameter with two names
            # With nn.Embedding's default N(0, 1), logits would be about sqrt(d) = 11, and far larger for the current
            # token, whose embedding is in the stream: an initial loss of about 87. A std of 0.02 gives about
            # ln V + d * 0.02**2 / 2 = 4.20.
            nn.init.normal_(self.tok_emb.weight, std=0.02)
            # At N(0, 1), the position embeddings would drown out the token embeddings.
            nn.init.normal_(self.pos_emb.weight, std=0.02)
        ### END SOLUTION

    def forward(self, idx, targets=None):
        """Return the logits for the next token at every position, and the loss if targets are given.

        In: idx, integers of shape (B, T) from 0 to V - 1, with 1 <= T <= T_max. A longer idx is an error: use an
        `assert` whose message gives both T and T_max.
        targets (optional): integers of shape (B, T), the true next token at each position.

        Out without targets: logits of shape (B, T, V), before the softmax.
        Out with targets: the pair (logits, loss). The logits keep the shape (B, T, V). The loss is a scalar, the mean
        of F.cross_entropy over all B * T positions.
        """
        ### BEGIN SOLUTION
        T = idx.shape[1]
        assert T <= self.T_max, f"T={T} exceeds the maximum context length T_max={self.T_max}"
        positions = torch.arange(T, device=idx.device)  # (T,)
        x = self.tok_emb(idx) + self.pos_emb(positions)  # (B, T, d) + (T, d) -> (B, T, d)
        for block in self.blocks:
            x = block(x)  # (B, T, d)
        logits = self.lm_head(self.ln_f(x))  # (B, T, V)
        if targets is None:
            return logits
        # cross_entropy expects the classes on axis 1, so flatten batch and time into one axis.
        loss = F.cross_entropy(logits.flatten(0, 1), targets.flatten())  # (B * T, V), (B * T,) -> ()
        return logits, loss
        ### END SOLUTION

    @torch.no_grad()
    def generate(self, idx, max_new_tokens):
        """Append max_new_tokens sampled tokens to each sequence, one at a time.

        In: idx, integers of shape (B, T), with T >= 1; T may exceed T_max.
        Out: integers of shape (B, T + max_new_tokens). The first T columns are idx, unchanged.

        For each new token, crop the context (prompt and new tokens) to the last T_max tokens and run the model on it.
        Keep only the logits at the last position, apply a softmax, and sample one token per sequence with
        torch.multinomial. Append the sampled tokens to the full sequence, not to the cropped context, and repeat.

        Think first: why is cropping necessary? Which parts of this model limit T to T_max, and what happens at the
        first token beyond it?
        """
        ### BEGIN SOLUTION
        for _ in range(max_new_tokens):
            context = idx[:, -self.T_max :]  # (B, min(T, T_max))
            logits = self(context)[:, -1, :]  # (B, V), last position only
            probs = F.softmax(logits, dim=-1)  # (B, V)
            idx_next = torch.multinomial(probs, num_samples=1)  # (B, 1)
            idx = torch.cat([idx, idx_next], dim=1)  # (B, T + 1)
        return idx
        ### END SOLUTION


@torch.no_grad()
def shape_table(model, idx):
    """Run one forward pass through a GPT and return the shape after each stage.

    In: model, a GPT, and idx, integers of shape (B, T) with T <= T_max.
    Out: a list of L + 3 pairs (stage, shape) in the order of the computation: "embeddings", then "block 1" to
    "block L", "final LayerNorm", "logits". A shape is a tuple of ints, such as (2, 64, 128).

    Take the shapes from a real forward pass through the parts of the model, not from the sizes you expect.
    """
    ### BEGIN SOLUTION
    positions = torch.arange(idx.shape[1], device=idx.device)  # (T,)
    x = model.tok_emb(idx) + model.pos_emb(positions)  # (B, T, d)
    table = [("embeddings", tuple(x.shape))]
    for number, block in enumerate(model.blocks, start=1):
        x = block(x)  # (B, T, d)
        table.append((f"block {number}", tuple(x.shape)))
    x = model.ln_f(x)  # (B, T, d)
    table.append(("final LayerNorm", tuple(x.shape)))
    x = model.lm_head(x)  # (B, T, V)
    table.append(("logits", tuple(x.shape)))
    return table
    ### END SOLUTION


# Going further: everything below is optional.


class BatchedMultiHeadAttention(nn.Module):
    """Compute the same function as MultiHeadAttention, with all heads in one tensor of shape (B, H, T, d_head).

    In: X of shape (B, T, d), with T <= T_max. Out: a tensor of shape (B, T, d). Don't loop over the heads.
    d must be a multiple of H.

    These names are fixed, so that the weights of a MultiHeadAttention can be copied in and the outputs compared:

        self.query, self.key, self.value   nn.Linear(d, d, bias=False)
        self.proj                          nn.Linear(d, d), as in MultiHeadAttention

    `query.weight` has shape (d, d). Its first d_head rows are the query weights of head 1, the next d_head rows those
    of head 2, and so on; likewise for `key` and `value`.
    """

    def __init__(self, d, H, T_max):
        super().__init__()
        ### BEGIN SOLUTION
        assert d % H == 0, f"d={d} is not a multiple of H={H}"
        self.H = H
        self.query = nn.Linear(d, d, bias=False)
        self.key = nn.Linear(d, d, bias=False)
        self.value = nn.Linear(d, d, bias=False)
        self.proj = nn.Linear(d, d)
        mask = torch.tril(torch.ones(T_max, T_max, dtype=torch.bool))  # (T_max, T_max)
        self.register_buffer("mask", mask, persistent=False)
        ### END SOLUTION

    def forward(self, x):
        ### BEGIN SOLUTION
        B, T, d = x.shape
        d_head = d // self.H
        # Split heads; H moves to axis 1, so that matmul treats it as a batch axis.
        q = self.query(x).view(B, T, self.H, d_head).transpose(1, 2)  # (B, H, T, d_head)
        k = self.key(x).view(B, T, self.H, d_head).transpose(1, 2)  # (B, H, T, d_head)
        v = self.value(x).view(B, T, self.H, d_head).transpose(1, 2)  # (B, H, T, d_head)
        scores = q @ k.transpose(2, 3) / math.sqrt(d_head)  # (B, H, T, T)
        scores = scores.masked_fill(~self.mask[:T, :T], float("-inf"))  # (B, H, T, T)
        weights = F.softmax(scores, dim=-1)  # (B, H, T, T), each row sums to 1
        y = (weights @ v).transpose(1, 2).reshape(B, T, d)  # merge heads: (B, T, H, d_head) -> (B, T, d)
        return self.proj(y)  # (B, T, d)
        ### END SOLUTION


@torch.no_grad()
def qk_ov(mha):
    """Return the QK and OV matrices of each head.

    In: mha, an instance of your MultiHeadAttention.
    Out: a list of H pairs (QK, OV) in the order of the heads, each a tensor of shape (d, d):

        QK = W_Q W_K^T    x QK y^T is the attention score of query token x for key token y, before scaling
        OV = W_V W_O      x OV is the contribution of token x to the output at a position that attends only to x

    Vectors are rows, so W_Q, W_K and W_V have shape (d, d_head). nn.Linear stores the transpose: W_Q is
    `query.weight.T`. W_O has shape (d_head, d): the d_head rows of the output projection `proj.weight.T` that multiply
    this head's output.

    Check that no product has rank above d / H (torch.linalg.matrix_rank), although each is d x d. Why is that?
    """
    ### BEGIN SOLUTION
    products = []
    d_head = mha.heads[0].query.weight.shape[0]
    W_Os = mha.proj.weight.T.split(d_head)  # H matrices (d_head, d)
    for head, W_O in zip(mha.heads, W_Os, strict=True):
        W_Q = head.query.weight.T  # (d, d_head)
        W_K = head.key.weight.T  # (d, d_head)
        W_V = head.value.weight.T  # (d, d_head)
        products.append((W_Q @ W_K.T, W_V @ W_O))  # (d, d) and (d, d)
    return products
    ### END SOLUTION
