"""Known mistakes: a name, the component, how the oracle computes it (``gpt.py``), and a sentence for the student.

``accepted`` mistakes are none: they cost nothing, and the sentence is a remark. Readable without torch.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Mistake:
    """One row. ``step`` and ``way`` are an entry of the oracle's ``how``; empty where the tensors alone show it."""

    name: str
    component: str
    step: str
    way: str
    sentence: str
    accepted: bool = False


MISTAKES: tuple[Mistake, ...] = (
    Mistake(
        "dropout_in_eval",
        "any",
        "",
        "",
        "Two passes with the same input differ in eval mode: is F.dropout called without training=self.training?",
    ),
    # attention: the scale
    Mistake(
        "scale_sqrt_d",
        "attention",
        "scale",
        "sqrt d",
        "Your scores are divided by sqrt(d), not by sqrt(d_head): each head's dot products have d_head terms.",
    ),
    Mistake(
        "scale_d_head",
        "attention",
        "scale",
        "d_head",
        "Your scores are divided by d_head, not by its square root.",
    ),
    Mistake(
        "scale_inverted",
        "attention",
        "scale",
        "times sqrt d_head",
        "Your scores are multiplied by sqrt(d_head); they should be divided by it.",
    ),
    Mistake(
        "scale_sqrt_T",
        "attention",
        "scale",
        "sqrt T",
        "Your scores are divided by the root of the sequence length T, not by sqrt(d_head).",
    ),
    Mistake("scale_missing", "attention", "scale", "none", "Your scores are not divided by sqrt(d_head)."),
    # attention: the mask
    Mistake("mask_missing", "attention", "mask", "none", "No mask is applied: every position reads from all others."),
    Mistake(
        "mask_after_softmax",
        "attention",
        "mask",
        "after",
        "The mask is applied after the softmax, so the rows no longer sum to 1; it belongs before.",
    ),
    Mistake(
        "mask_zero",
        "attention",
        "mask",
        "zero",
        "Masked scores are set to 0, which a softmax still gives weight; they should be -inf.",
    ),
    Mistake(
        "mask_weak",
        "attention",
        "mask",
        "-10",
        "Masked scores are set to -10, which a softmax still gives some weight; they should be -inf.",
    ),
    Mistake(
        "mask_upside_down",
        "attention",
        "mask",
        "upside down",
        "The triangle is upside down: each position reads from itself and from later ones.",
    ),
    Mistake(
        "mask_one_more",
        "attention",
        "mask",
        "one more",
        "The triangle keeps one diagonal too many: each position reads from the next one too.",
    ),
    Mistake(
        "scores_lost",
        "attention",
        "mask",
        "uniform",
        "Every position reads from all earlier ones alike, whatever the scores are: the mask drowns them.",
    ),
    # attention: softmax, values, heads, projection
    Mistake(
        "softmax_over_queries",
        "attention",
        "softmax",
        "queries",
        "The softmax runs over the positions that look, not over those looked at: it should be dim=-1.",
    ),
    Mistake(
        "softmax_over_heads", "attention", "softmax", "heads", "The softmax runs over the heads: it should be dim=-1."
    ),
    Mistake(
        "softmax_over_batch", "attention", "softmax", "batch", "The softmax runs over the batch: it should be dim=-1."
    ),
    Mistake(
        "value_is_key", "attention", "value", "k", "The values are made with the key's matrix, not with their own."
    ),
    Mistake("key_is_query", "attention", "key", "q", "The keys are made with the query's matrix, not with their own."),
    Mistake("value_is_query", "attention", "value", "q", "The values are made with the query's matrix, not their own."),
    Mistake(
        "heads_merged_wrongly",
        "attention",
        "merge",
        "without transpose",
        "The heads are merged without being transposed back, which mixes positions and heads.",
    ),
    Mistake(
        "heads_split_by_view",
        "attention",
        "split",
        "by view",
        "(B, T, d) is viewed as (B, H, T, d_head) at once, which mixes positions and heads: view, then transpose.",
    ),
    Mistake(
        "attention_over_batch",
        "attention",
        "over",
        "batch",
        "The attention runs over the rows of the batch: the first axis of x is B, the second is T.",
    ),
    Mistake(
        "attention_adds_input",
        "attention",
        "add",
        "input",
        "The input is added to the output; that sum is the block's, not the attention's.",
    ),
    Mistake("projection_unused", "attention", "project", "none", "The output projection is there, but not applied."),
    Mistake("projection_relu", "attention", "project", "relu", "A ReLU follows the output projection; nothing should."),
    Mistake(
        "heads_wrong_number",
        "attention",
        "",
        "",
        "The width d is not split into H heads: is it a fixed number, or d and H swapped?",
    ),
    Mistake("heads_shared", "attention", "", "", "All heads are the same Head object; each needs its own."),
    Mistake(
        "heads_share_keys_values", "attention", "", "", "The heads share a key or value matrix; each needs its own."
    ),
    Mistake(
        "heads_not_registered",
        "attention",
        "",
        "",
        "The heads are not among the parameters: a Python list hides them from nn.Module, nn.ModuleList does not.",
    ),
    Mistake(
        "heads_small",
        "attention",
        "",
        "",
        "Each head projects only its own slice of x, d_head wide; every head should read all d features.",
    ),
    Mistake("heads_full_size", "attention", "", "", "Each head has the full width d; it should have d // H."),
    Mistake("qkv_biases", "attention", "", "", "Query, key and value have biases; in this course they have none."),
    Mistake(
        "attention_proj_bias_missing", "attention", "", "", "The output projection has no bias; nn.Linear gives it one."
    ),
    # MLP
    Mistake("mlp_width", "mlp", "", "", "The MLP is not 4d wide inside."),
    Mistake("mlp_up_bias_missing", "mlp", "", "", "The first Linear has no bias; nn.Linear gives it one."),
    Mistake("mlp_down_bias_missing", "mlp", "", "", "The second Linear has no bias; nn.Linear gives it one."),
    Mistake("mlp_biases_missing", "mlp", "", "", "Neither Linear has a bias; nn.Linear gives each one."),
    Mistake(
        "mlp_adds_input",
        "mlp",
        "add",
        "input",
        "The input is added to the output; that sum is the block's, not the MLP's.",
    ),
    Mistake("mlp_relu", "mlp", "activation", "relu", "The activation is ReLU; it should be GELU."),
    Mistake("mlp_leaky_relu", "mlp", "activation", "leaky relu", "The activation is a leaky ReLU; it should be GELU."),
    Mistake("mlp_silu", "mlp", "activation", "silu", "The activation is SiLU; it should be GELU."),
    Mistake("mlp_tanh", "mlp", "activation", "tanh", "The activation is tanh; it should be GELU."),
    Mistake("mlp_sigmoid", "mlp", "activation", "sigmoid", "The activation is a sigmoid; it should be GELU."),
    Mistake(
        "mlp_linear",
        "mlp",
        "activation",
        "none",
        "There is no activation between the two Linears: together they are one.",
    ),
    Mistake(
        "mlp_activation_last", "mlp", "activation", "after", "GELU comes after the second Linear; it belongs between."
    ),
    Mistake("mlp_activation_twice", "mlp", "activation", "twice", "A GELU follows the second Linear too; none should."),
    Mistake(
        "mlp_gelu_sigmoid",
        "mlp",
        "activation",
        "gelu sigmoid",
        "The activation is x sigmoid(1.702 x), a rough form of GELU; F.gelu is exact.",
    ),
    Mistake(
        "mlp_gelu_tanh",
        "mlp",
        "activation",
        "gelu tanh",
        "Your GELU is the tanh form, as in GPT-2; F.gelu's default is exact. Both are accepted.",
        accepted=True,
    ),
    # block
    Mistake(
        "block_post_norm",
        "block",
        "block",
        "post-norm",
        "The norms come after the sums (post-norm); here they come first.",
    ),
    Mistake(
        "block_residual_of_normed",
        "block",
        "block",
        "residual around normed",
        "The sum starts from the normed stream; it should start from the stream itself.",
    ),
    Mistake(
        "block_parallel",
        "block",
        "block",
        "parallel",
        "Both sublayers read the block's input; the MLP should read the sum.",
    ),
    Mistake("block_mlp_first", "block", "block", "mlp first", "The MLP comes before the attention."),
    Mistake("block_no_norms", "block", "block", "no norms", "The LayerNorms are there, but not applied."),
    Mistake(
        "block_first_norm_missing",
        "block",
        "block",
        "first norm missing",
        "The attention reads the stream without a norm.",
    ),
    Mistake(
        "block_second_norm_missing", "block", "block", "second norm missing", "The MLP reads the stream without a norm."
    ),
    Mistake(
        "block_first_norm_twice",
        "block",
        "block",
        "first norm twice",
        "The first LayerNorm is used for both sublayers.",
    ),
    Mistake(
        "block_no_residual", "block", "block", "no residual", "Neither sublayer adds to the stream: both replace it."
    ),
    Mistake(
        "block_no_first_residual",
        "block",
        "block",
        "no first residual",
        "The attention replaces the stream, not adds to it.",
    ),
    Mistake(
        "block_no_second_residual",
        "block",
        "block",
        "no second residual",
        "The MLP replaces the stream, not adds to it.",
    ),
    Mistake(
        "block_second_from_input",
        "block",
        "block",
        "second from input",
        "The MLP's output is added to the block's input, so that the attention's own sum is lost.",
    ),
    # LayerNorm, wherever it is the student's own
    Mistake("norm_shared", "norm", "", "", "There is one LayerNorm where each of the two sublayers needs its own."),
    Mistake("norm_bias_missing", "norm", "", "", "The LayerNorms have a gain but no bias."),
    Mistake("norm_rms", "norm", "", "", "This is RMSNorm: the mean is not subtracted, and there is no bias."),
    Mistake("norm_without_affine", "norm", "", "", "The LayerNorms have neither gain nor bias."),
    Mistake(
        "norm_unbiased",
        "norm",
        "norm",
        "unbiased",
        "LayerNorm divides by the unbiased deviation (d - 1); it is the biased one.",
    ),
    Mistake(
        "norm_over_time",
        "norm",
        "norm",
        "over time",
        "LayerNorm runs over the positions; it should run over the d features.",
    ),
    Mistake(
        "norm_over_batch",
        "norm",
        "norm",
        "over batch",
        "LayerNorm runs over the rows of the batch; it should run over the d features.",
    ),
    Mistake(
        "norm_over_both",
        "norm",
        "norm",
        "over both",
        "LayerNorm runs over positions and features together; it should run over the d features of each position.",
    ),
    Mistake("norm_not_centred", "norm", "norm", "not centred", "LayerNorm does not subtract the mean."),
    Mistake(
        "norm_eps_1",
        "norm",
        "norm",
        "eps 1",
        "LayerNorm has eps=1: was True or another flag passed as its second argument?",
    ),
    Mistake("norm_eps_1e-3", "norm", "norm", "eps 1e-3", "LayerNorm has eps=1e-3; PyTorch's is 1e-5."),
    Mistake(
        "norm_eps_outside",
        "norm",
        "norm",
        "eps outside",
        "LayerNorm's eps stands outside the root; accepted.",
        accepted=True,
    ),
    Mistake(
        "norm_eps_1e-6",
        "norm",
        "norm",
        "eps 1e-6",
        "LayerNorm has eps=1e-6; PyTorch's is 1e-5. Accepted.",
        accepted=True,
    ),
    Mistake(
        "norm_eps_1e-12",
        "norm",
        "norm",
        "eps 1e-12",
        "LayerNorm has next to no eps; PyTorch's is 1e-5. Accepted.",
        accepted=True,
    ),
    # model
    Mistake("positions_missing", "model", "", "", "There is no table of positions."),
    Mistake("blocks_wrong_number", "model", "", "", "The number of blocks applied is not L: is it a fixed number?"),
    Mistake("head_bias", "model", "", "", "The unembedding has a bias; it is an nn.Linear(d, V, bias=False)."),
    Mistake("positions_unused", "model", "positions", "none", "The positions are not added to the token embeddings."),
    Mistake(
        "positions_by_row", "model", "positions", "by row", "Positions are looked up by row of the batch, not by place."
    ),
    Mistake("positions_by_token", "model", "positions", "by token", "Positions are looked up by token, not by place."),
    Mistake("positions_from_one", "model", "positions", "from one", "Positions start at 1; they should start at 0."),
    Mistake("positions_reversed", "model", "positions", "reversed", "Positions run backwards."),
    Mistake(
        "embedding_scaled",
        "model",
        "embedding",
        "times sqrt d",
        "Token embeddings are multiplied by sqrt(d); here they are not.",
    ),
    Mistake(
        "stack_from_embeddings",
        "model",
        "stack",
        "from the embeddings",
        "Every block is given the embeddings, so only the last block counts; each should get what the one before gave.",
    ),
    Mistake(
        "stack_extra_residual",
        "model",
        "stack",
        "extra residual",
        "GPT adds each block's input once more; the block does that.",
    ),
    Mistake("stack_last_missing", "model", "stack", "last block missing", "The last block is not applied."),
    Mistake(
        "final_norm_unused",
        "model",
        "final norm",
        "none",
        "The final LayerNorm is not applied, or its result is not used.",
    ),
    Mistake(
        "final_norm_first",
        "model",
        "final norm",
        "first",
        "The final LayerNorm comes before the blocks; it belongs after the last one.",
    ),
    Mistake(
        "logits_softmaxed",
        "model",
        "logits",
        "softmax",
        "forward returns probabilities; logits come before the softmax.",
    ),
)


def of(*components: str) -> tuple[Mistake, ...]:
    """The rows of these components."""
    return tuple(mistake for mistake in MISTAKES if mistake.component in components)


def named(name: str) -> Mistake:
    """The row of that name."""
    return next(mistake for mistake in MISTAKES if mistake.name == name)
