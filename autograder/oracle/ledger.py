"""Parameter arithmetic: how many there are, by part, and what a difference could mean. Exact integers, no torch."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from autograder.assignment import Dims

PARTS = ("embeddings", "attention", "mlp", "block_norms", "final")


def parts(V: int, T_max: int, d: int, L: int) -> dict[str, int]:
    """Parameters of the untied model by part, in the order of PARTS; H does not matter."""
    return {
        "embeddings": (V + T_max) * d,
        "attention": L * (4 * d * d + d),  # q, k, v without bias; the output projection with one
        "mlp": L * (8 * d * d + 5 * d),  # up and down, with biases 4d and d
        "block_norms": L * 4 * d,  # two LayerNorms, gain and bias each
        "final": 2 * d + V * d,  # last LayerNorm, unembedding without bias
    }


def total(dims: Dims) -> int:
    """All parameters of the untied model."""
    return sum(parts(dims.V, dims.T_max, dims.d, dims.L).values())


def rule_of_thumb(dims: Dims) -> tuple[int, int, int]:
    """12 L d^2, what the blocks hold, and the biases and norms that make the difference (10 d L)."""
    counted = parts(dims.V, dims.T_max, dims.d, dims.L)
    blocks = counted["attention"] + counted["mlp"] + counted["block_norms"]
    rule = 12 * dims.L * dims.d**2
    return rule, blocks, blocks - rule


@dataclass(frozen=True, slots=True)
class Cause:
    """A known reason for a wrong count: its name, its term in the handout's letters, and a sentence.

    ``part`` is the one of PARTS, inside the blocks, that then has another count; empty where none has.
    """

    name: str
    term: str
    delta: Callable[[Dims], int]
    sentence: str
    part: str = ""


# Deltas collide (-512 is dL for two different biases), so a cause counts only if it fits at every size seen, and all
# that still fit are shown. Measured on student models; the letters are those of the handout.
CAUSES: tuple[Cause, ...] = (
    Cause("head_bias", "+V", lambda n: n.V, "the unembedding has a bias; it is an nn.Linear(d, V, bias=False)"),
    Cause(
        "attention_proj_bias_missing",
        "-dL",
        lambda n: -n.d * n.L,
        "the output projection of the attention has no bias",
        "attention",
    ),
    Cause("mlp_down_bias_missing", "-dL", lambda n: -n.d * n.L, "the second Linear of the MLP has no bias", "mlp"),
    Cause("mlp_up_bias_missing", "-4dL", lambda n: -4 * n.d * n.L, "the first Linear of the MLP has no bias", "mlp"),
    Cause("mlp_biases_missing", "-5dL", lambda n: -5 * n.d * n.L, "neither Linear of the MLP has a bias", "mlp"),
    Cause(
        "qkv_biases",
        "+3dL",
        lambda n: 3 * n.d * n.L,
        "query, key and value have biases (nn.MultiheadAttention has them too); in this course they have none",
        "attention",
    ),
    Cause("block_norms_missing", "-4dL", lambda n: -4 * n.d * n.L, "the blocks have no LayerNorms", "block_norms"),
    Cause(
        "one_norm_per_block",
        "-2dL",
        lambda n: -2 * n.d * n.L,
        "each block has, or shares, one LayerNorm where it needs two",
        "block_norms",
    ),
    Cause(
        "norm_biases_missing",
        "-(2L+1)d",
        lambda n: -(2 * n.L + 1) * n.d,
        "the LayerNorms have a gain but no bias",
        "block_norms",
    ),
    Cause(
        "norms_without_affine",
        "-(4L+2)d",
        lambda n: -(4 * n.L + 2) * n.d,
        "the LayerNorms have neither gain nor bias",
        "block_norms",
    ),
    Cause("final_norm_missing", "-2d", lambda n: -2 * n.d, "the final LayerNorm is missing"),
    Cause("positions_missing", "-T_max d", lambda n: -n.T_max * n.d, "there is no table of positions"),
    Cause("position_row_missing", "-d", lambda n: -n.d, "the table of positions has one row too few"),
    Cause(
        "embedding_missing",
        "-Vd",
        lambda n: -n.V * n.d,
        "one of the two V x d matrices is missing, or the token embedding and the unembedding are the same one",
    ),
    Cause(
        "heads_shared",
        "-3d(d - d/H)L",
        lambda n: -3 * n.d * (n.d - n.d // n.H) * n.L,
        "all heads of a block are the same Head object; each needs its own",
        "attention",
    ),
    Cause(
        "heads_small",
        "-3d(d - d/H)L",
        lambda n: -3 * n.d * (n.d - n.d // n.H) * n.L,
        "each head's matrices are d_head x d_head; they should take all d features, d x d_head",
        "attention",
    ),
    Cause(
        "heads_not_registered",
        "-3d^2 L",
        lambda n: -3 * n.d * n.d * n.L,
        "the heads are not among the parameters: a Python list hides them from nn.Module, nn.ModuleList does not",
        "attention",
    ),
    Cause(
        "heads_full_size",
        "+(3d^2 + d^2)(H-1)L",
        lambda n: 4 * n.d * n.d * (n.H - 1) * n.L,
        "each head has the full width d instead of d // H",
        "attention",
    ),
    Cause(
        "mlp_width_2d",
        "-(4d^2 + 2d)L",
        lambda n: -(4 * n.d**2 + 2 * n.d) * n.L,
        "the MLP is 2d wide inside instead of 4d",
        "mlp",
    ),
    Cause(
        "mlp_width_d",
        "-(6d^2 + 3d)L",
        lambda n: -(6 * n.d**2 + 3 * n.d) * n.L,
        "the MLP is d wide inside instead of 4d",
        "mlp",
    ),
    Cause(
        "mlp_shared",
        "-(8d^2 + 5d)(L-1)",
        lambda n: -(8 * n.d**2 + 5 * n.d) * (n.L - 1),
        "all blocks share one MLP object",
    ),
    Cause(
        "blocks_shared",
        "-(12d^2 + 10d)(L-1)",
        lambda n: -(12 * n.d**2 + 10 * n.d) * (n.L - 1),
        "all blocks are the same Block object; each needs its own",
    ),
    Cause(
        "blocks_not_registered",
        "-(12d^2 + 10d)L",
        lambda n: -(12 * n.d**2 + 10 * n.d) * n.L,
        "the blocks are not among the parameters: a Python list hides them from nn.Module, nn.ModuleList does not",
    ),
    Cause("block_too_few", "-(12d^2 + 10d)", lambda n: -(12 * n.d**2 + 10 * n.d), "there is one block too few"),
    Cause("block_too_many", "+(12d^2 + 10d)", lambda n: 12 * n.d**2 + 10 * n.d, "there is one block too many"),
)


def explain(counts: Sequence[tuple[Dims, int]]) -> list[Cause]:
    """The causes that give exactly the counted totals at every one of ``counts``."""
    return [cause for cause in CAUSES if all(count - total(dims) == cause.delta(dims) for dims, count in counts)]
