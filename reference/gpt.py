"""Assemble the GPT: many heads, the MLP, the block, and the model that holds them.

Wherever a body says `raise NotImplementedError()`, replace that line with your own code. The text in triple quotes says
what goes in, what comes out and what the code should do. The names and the order of the arguments are there already,
and so is the first line of each `__init__`: keep them. You may add functions and classes of your own.
`make grade` tells you how far you are.

Letters for sizes, and the course's choice:

    B       sequences in a batch
    T       tokens in a sequence, from 1 to T_max
    V       different tokens (characters)        65
    T_max   longest sequence the model can see   64
    d       width: numbers per token             128
    H       heads per block                      4
    d_head  width of one head, d / H             32
    L       blocks                               4

With these sizes the model has exactly 816,640 parameters. Your code has to work for other sizes too, so take every size
from the arguments or from a tensor's shape. A shape such as (B, T, d) names the axes of a tensor in order. Vectors are
rows: a linear map with matrix W takes x to x W.
"""

import math

import torch
from torch import nn
from torch.nn import functional as F

from head import Head


class MultiHeadAttention(nn.Module):
    """H heads side by side, then one linear map that mixes what they found.

        MHA(X) = [ head_1(X) | head_2(X) | ... | head_H(X) ] W_O + b_O

    Each head is a `Head` with its own weights and d_head = d / H. The bars mean: put the H results next to each other
    along the last axis, which gives width d again. W_O has shape (d, d), and b_O is a bias of length d.

    In: X of shape (B, T, d), with T <= T_max. Out: a tensor of shape (B, T, d).
    Expect d to be a multiple of H; anything else is an error (an `assert` will do).

    Suggested names: `self.heads` for the heads, `self.proj` for the output map.
    """

    def __init__(self, d, H, T_max):
        super().__init__()
        ### BEGIN SOLUTION
        assert d % H == 0, f"the width d={d} cannot be shared equally by H={H} heads"
        self.heads = nn.ModuleList(Head(d, d // H, T_max) for _ in range(H))
        self.proj = nn.Linear(d, d)
        ### END SOLUTION

    def forward(self, x):
        ### BEGIN SOLUTION
        side_by_side = torch.cat([head(x) for head in self.heads], dim=-1)  # (B, T, H * d_head) = (B, T, d)
        return self.proj(side_by_side)  # (B, T, d)
        ### END SOLUTION


class MLP(nn.Module):
    """Two linear maps with a GELU between them, applied to each token by itself.

        MLP(x) = GELU(x W_up + b_up) W_down + b_down

    W_up goes from width d to width 4d, W_down from 4d back to d, and both maps have a bias. GELU is the exact one,
    which is PyTorch's default. No token sees another here: in the whole model only attention lets them meet.

    In: x of shape (B, T, d). Out: a tensor of shape (B, T, d).

    Suggested names: `self.up` and `self.down` for the two maps.
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
    """Attention, then the MLP. Each reads a normalised copy of the stream and adds its result to the stream itself.

        Y = X + MHA(LN1(X))
        Z = Y + MLP(LN2(Y))

    X is what enters the block and Z is what leaves it. LN1 and LN2 are two different LayerNorms over the last axis,
    each with its own gain and bias (`nn.LayerNorm`). This order is called pre-norm: what is added to is never
    normalised.

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
    """The whole model: from token numbers to one score for every possible next token.

        X_0    = token embedding of each token + position embedding of each place 0, 1, ..., T - 1
        X_l    = Block_l(X_(l-1))                for l = 1, ..., L
        logits = LN_f(X_L) W_U

    The token embedding has one row of length d for each of the V tokens, the position embedding one for each of the
    T_max places. LN_f is one more LayerNorm, with gain and bias. The unembedding W_U goes from d to V and has no bias.

    Scale the start: once all L blocks are built, multiply the weight matrices (not the biases) of the two maps in each
    block that write into the stream (attention's output map and the MLP's map back to d) by 1 / sqrt(2L). There are
    2L such writes and their variances add up. This is done here, in GPT, because a Block cannot know L.

    Suggested names: `self.tok_emb`, `self.pos_emb`, `self.blocks`, `self.ln_f`, `self.lm_head`.

    Going further (optional): with `tie_weights=True` the unembedding and the token embedding are one and the same
    parameter (808,320 in total at the course's sizes). A matrix that starts well as an embedding may be far too large
    as an unembedding: choose its start so that the first loss is still between 4.15 and 4.45.
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

        # 2L independent writes of equal variance would make the stream's variance grow like 2L.
        with torch.no_grad():
            for block in self.blocks:
                block.attn.proj.weight.mul_(1 / math.sqrt(2 * L))  # (d, d)
                block.mlp.down.weight.mul_(1 / math.sqrt(2 * L))  # (d, 4d)

        if tie_weights:
            self.lm_head.weight = self.tok_emb.weight  # (V, d), one parameter under two names
            # nn.Embedding starts at N(0, 1). As an unembedding that gives logits of about sqrt(d) = 11, and a far
            # larger one to the token just read, whose embedding is in the stream: a first loss of about 87. With 0.02
            # it is near ln V + d * 0.02**2 / 2 = 4.20.
            nn.init.normal_(self.tok_emb.weight, std=0.02)
            # The two embeddings are added: with positions left at N(0, 1), the tokens would hardly be seen.
            nn.init.normal_(self.pos_emb.weight, std=0.02)
        ### END SOLUTION

    def forward(self, idx, targets=None):
        """Score the next token at every place.

        In: idx, integers of shape (B, T) from 0 to V - 1, with T from 1 to T_max. A longer idx is an error: stop with
        an `assert` whose message has both numbers, T and T_max.
        targets, if given: integers of shape (B, T), the token that really comes next at each place.

        Out without targets: logits of shape (B, T, V), before any softmax.
        Out with targets: the pair (logits, loss). The logits have the same shape as before. The loss is one number, the
        average of F.cross_entropy over all B * T places.
        """
        ### BEGIN SOLUTION
        T = idx.shape[1]
        assert T <= self.T_max, f"idx has T={T} tokens, but this model sees at most T_max={self.T_max}"
        places = torch.arange(T, device=idx.device)  # (T,)
        x = self.tok_emb(idx) + self.pos_emb(places)  # (B, T, d) + (T, d) -> (B, T, d)
        for block in self.blocks:
            x = block(x)  # (B, T, d)
        logits = self.lm_head(self.ln_f(x))  # (B, T, V)
        if targets is None:
            return logits
        # cross_entropy takes the classes on axis 1, so all places become rows of one long list.
        loss = F.cross_entropy(logits.flatten(0, 1), targets.flatten())  # (B * T, V) and (B * T,) -> one number
        return logits, loss
        ### END SOLUTION

    @torch.no_grad()
    def generate(self, idx, max_new_tokens):
        """Continue each sequence by max_new_tokens tokens, drawn at random one after the other.

        In: idx, integers of shape (B, T), where T is 1 or more and may be larger than T_max.
        Out: integers of shape (B, T + max_new_tokens). The first T columns are idx, unchanged.

        For each new token, run the model on what there is so far, old and new tokens alike, but on no more than the
        last T_max of them. Only the scores at the last place matter now: a softmax makes them probabilities, and
        torch.multinomial draws one token per sequence from these. Put the drawn tokens at the end of the whole
        sequence, not of the shortened one, and go on.

        Think first: why is the shortening needed? Which parts of this model have a size that T must not pass, and what
        happens at the first token beyond it?
        """
        ### BEGIN SOLUTION
        for _ in range(max_new_tokens):
            context = idx[:, -self.T_max :]  # (B, min(T, T_max))
            logits = self(context)[:, -1, :]  # (B, V), the last place only
            probabilities = F.softmax(logits, dim=-1)  # (B, V)
            drawn = torch.multinomial(probabilities, num_samples=1)  # (B, 1)
            idx = torch.cat([idx, drawn], dim=1)  # (B, T + 1)
        return idx
        ### END SOLUTION


@torch.no_grad()
def shape_table(model, idx):
    """Follow one batch through a GPT and write down the shape after each stage.

    In: model, a GPT, and idx, integers of shape (B, T) with T <= T_max.
    Out: a list of L + 3 pairs (stage, shape) in the order of the computation: "embeddings", then "block 1" to
    "block L", "final LayerNorm", "logits". A shape is a tuple of numbers, such as (2, 64, 128).

    Let the numbers come from a real pass through the parts of the model, not from what you expect.
    """
    ### BEGIN SOLUTION
    places = torch.arange(idx.shape[1], device=idx.device)  # (T,)
    x = model.tok_emb(idx) + model.pos_emb(places)  # (B, T, d)
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


# Going further: all that follows is optional.


class BatchedMultiHeadAttention(nn.Module):
    """The same function as MultiHeadAttention, with all heads computed at once in tensors of shape (B, H, T, d_head).

    In: X of shape (B, T, d), with T <= T_max. Out: a tensor of shape (B, T, d). No loop over the heads.
    Expect d to be a multiple of H.

    These names are fixed, so that the weights of a MultiHeadAttention can be copied in and the results compared:

        self.query, self.key, self.value   nn.Linear(d, d, bias=False)
        self.proj                          nn.Linear(d, d), as in MultiHeadAttention

    `query.weight` has shape (d, d). Its first d_head rows are the query weights of head 1, the next d_head rows those
    of head 2, and so on; likewise for `key` and `value`.
    """

    def __init__(self, d, H, T_max):
        super().__init__()
        ### BEGIN SOLUTION
        assert d % H == 0, f"the width d={d} cannot be shared equally by H={H} heads"
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
        # The heads move to axis 1, where matrix products treat them like one more batch axis.
        q = self.query(x).view(B, T, self.H, d_head).transpose(1, 2)  # (B, H, T, d_head)
        k = self.key(x).view(B, T, self.H, d_head).transpose(1, 2)  # (B, H, T, d_head)
        v = self.value(x).view(B, T, self.H, d_head).transpose(1, 2)  # (B, H, T, d_head)
        scores = q @ k.transpose(2, 3) / math.sqrt(d_head)  # (B, H, T, T)
        scores = scores.masked_fill(~self.mask[:T, :T], float("-inf"))  # (B, H, T, T)
        found = F.softmax(scores, dim=-1) @ v  # (B, H, T, d_head)
        side_by_side = found.transpose(1, 2).reshape(B, T, d)  # (B, T, d)
        return self.proj(side_by_side)  # (B, T, d)
        ### END SOLUTION


@torch.no_grad()
def qk_ov(mha):
    """For each head, the two (d, d) matrices that decide what it does.

    In: mha, one of your MultiHeadAttention objects.
    Out: a list of H pairs (QK, OV) in the order of the heads, each a tensor of shape (d, d):

        QK = W_Q W_K^T    where to look: x QK y^T is the score of a token x looking at a token y, before the scaling
        OV = W_V W_O      what to write: x OV is what a token x adds to the output of one that looks only at x

    Vectors are rows, so W_Q, W_K and W_V have shape (d, d_head). nn.Linear stores its matrix the other way round: W_Q
    is `query.weight.T`. W_O has shape (d_head, d): of the whole output matrix, `proj.weight.T`, it is only the d_head
    rows that this head's result meets.

    Check that no product has a rank above d / H (torch.linalg.matrix_rank), though each is d by d. Why not?
    """
    ### BEGIN SOLUTION
    products = []
    d_head = mha.heads[0].query.weight.shape[0]
    outputs = mha.proj.weight.T.split(d_head)  # H matrices (d_head, d)
    for head, W_O in zip(mha.heads, outputs, strict=True):
        W_Q = head.query.weight.T  # (d, d_head)
        W_K = head.key.weight.T  # (d, d_head)
        W_V = head.value.weight.T  # (d, d_head)
        products.append((W_Q @ W_K.T, W_V @ W_O))  # (d, d) and (d, d)
    return products
    ### END SOLUTION
