"""States in which students see a report: the reference with one or a few edits, or a submission of the bank.

Each names the place where the report has to send the student: a method or function, and a part of its line.
"""

# ruff: noqa: E501 (one state per line)

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from tests import bank_file
from tests.bank_file import BANK, REFERENCE, STUB

Edits = tuple[tuple[str, str], ...]
PROJECT = "y = torch.cat([head(x) for head in self.heads], dim=-1)  # (B, T, H * d_head) = (B, T, d)"
GELU = "hidden = F.gelu(self.up(x))  # (B, T, 4d)"
HEADS = "self.heads = nn.ModuleList(Head(d, d // H, T_max) for _ in range(H))"
ADD = "x = x + self.mlp(self.ln2(x))  # (B, T, d)"
CROP = "context = idx[:, -self.T_max :]  # (B, min(T, T_max))"
RETURN = "            return logits\n"
SOLUTIONS = (
    "        ### BEGIN SOLUTION\n",
    "        ### END SOLUTION\n",
    "    ### BEGIN SOLUTION\n",
    "    ### END SOLUTION\n",
)


@dataclass(frozen=True)
class State:
    """A submission, and the place that its report names first."""

    where: str  # the method or function; "" if the report names no first cause
    line: str = ""  # a part of the line shown
    edits: Edits = ()  # in the reference's gpt.py
    paper: Edits = ()  # in the reference's paper.py
    base: str = ""  # a file of the bank, or "stub"

    def write(self, folder: Path) -> Path:
        """Write the submission to ``folder`` and return it."""
        if self.base and self.base != "stub":
            return bank_file.load(BANK / f"{self.base}.py").write(folder)
        for name, edits in (("gpt.py", self.edits), ("paper.py", self.paper), ("verify.py", ())):
            text = (STUB if self.base else REFERENCE)[name].decode()
            for marker in SOLUTIONS:
                text = text.replace(marker, "")
            for old, new in edits:
                assert old in text, old
                text = text.replace(old, new, 1)
            (folder / name).write_text(text, "utf-8")
        return folder


def _bank(where: str, line: str, base: str) -> State:
    return State(where, line, base=base)


def _gpt(where: str, line: str, *edits: tuple[str, str]) -> State:
    return State(where, line, edits)


STATES = {
    # Exceptions.
    "d / H": _gpt("MultiHeadAttention.__init__", "d / H", (HEADS, HEADS.replace("//", "/"))),
    "heads in a tuple": _gpt("MultiHeadAttention.forward", "torch.cat", (PROJECT, "y = torch.cat(self.heads, dim=-1)")),
    "GPT(config)": _gpt(
        "GPT.__init__", "self, config", ("self, V, T_max, d, H, L, tie_weights=False", "self, config")
    ),
    "forward without self": _gpt("MLP.forward", "def forward(x)", ("def forward(self, x):\n        " + GELU, "def forward(x):\n        " + GELU)),
    "_init_": _gpt("MLP._init_", "_init_", ("def __init__(self, d):", "def _init_(self, d):")),
    "foward": _gpt("MLP.foward", "foward", ("def forward(self, x):\n        " + GELU, "def foward(self, x):\n        " + GELU)),
    "nn.linear": _gpt("MLP.__init__", "nn.linear", ("self.up = nn.Linear(d, 4 * d)", "self.up = nn.linear(d, 4 * d)")),
    "down without self": _gpt("MLP.forward", "down(hidden)", ("return self.down(hidden)", "return down(hidden)")),
    "up is local": _gpt("MLP.forward", "self.up", ("self.up = nn.Linear(d, 4 * d)", "up = nn.Linear(d, 4 * d)")),
    "no import of Head": _gpt("MultiHeadAttention.__init__", "Head(", ("from head import Head\n", "")),
    "config.n_embd": _gpt("GPT.__init__", "d.n_embd", ("nn.Embedding(V, d)", "nn.Embedding(V, d.n_embd)")),
    "breakpoint": _gpt("GPT.forward", "breakpoint", ("T = idx.shape[1]\n", "breakpoint()\n        T = idx.shape[1]\n")),
    "logits, _": _gpt("GPT.generate", "logits, _", ("logits = self(context)[:, -1, :]", "logits, _ = self(context)")),
    "block arguments": _gpt(
        "Block.__init__", "MultiHeadAttention(d, T_max, H)", ("MultiHeadAttention(d, H, T_max)", "MultiHeadAttention(d, T_max, H)")
    ),
    "GPT's block arguments": _gpt("GPT.__init__", "Block(d, T_max, H)", ("Block(d, H, T_max)", "Block(d, T_max, H)")),
    "embedding sizes": _gpt("GPT.forward", "tok_emb", ("nn.Embedding(V, d)", "nn.Embedding(d, V)")),
    "full width summed": _bank("MultiHeadAttention.__init__", "Head(d, d", "mistakes/attention_heads_full_size_error"),
    "view of scattered": _bank("MultiHeadAttention.forward", "view", "mistakes/attention_view_of_scattered"),
    "undefined name": _bank("MLP.forward", "", "mistakes/mlp_name_unknown"),
    "list called": _bank("MLP.forward", "", "mistakes/mlp_list_called"),
    "no super": _bank("MLP.__init__", "", "mistakes/mlp_super_init_missing"),
    "MLP(4 * d)": _gpt("Block.__init__", "MLP(4 * d)", ("self.mlp = MLP(d)", "self.mlp = MLP(4 * d)")),
    # Files that are only half Python.
    "merge marker": _bank("", "", "broken/public_conflict_markers_in_method"),
    "syntax error": _bank("", "self.attn(self.ln1(x)", "broken/syntax_error_in_block"),
    "loop at the top": _bank("", "while", "broken/loop_at_import"),
    # Values.
    "cat in time": _bank("MultiHeadAttention.forward", "torch.cat", "mistakes/attention_heads_concatenated_in_time"),
    "cat in time, rest stubs": State(
        "MultiHeadAttention.forward",
        "dim=1",
        (("        # YOUR CODE HERE\n        raise NotImplementedError()", "        self.heads = nn.ModuleList([Head(d, d // H, T_max) for _ in range(H)])\n        self.proj = nn.Linear(d, d)"),
         ("        # YOUR CODE HERE\n        raise NotImplementedError()", "        return self.proj(torch.cat([h(x) for h in self.heads], dim=1))")),
        base="stub",
    ),
    "ReLU": _gpt("MLP.forward", "F.relu", ("F.gelu", "F.relu")),
    "no activation": _bank("MLP.forward", "", "mistakes/mlp_no_activation"),
    "GELU last": _bank("MLP.forward", "gelu", "mistakes/mlp_activation_last"),
    "hidden width": _bank("MLP.__init__", "def __init__", "mistakes/mlp_width_2d"),
    "no projection": _bank("MultiHeadAttention.__init__", "", "mistakes/attention_projection_missing"),
    "softmax over queries": _bank("CausalHead.forward", "dim=1", "mistakes/attention_softmax_over_queries"),
    "mask without diagonal": _bank("Head.__init__", "tril(-1)", "mistakes/attention_mask_strict"),
    "mask of NaN": _bank("", "", "mistakes/attention_mask_nan"),
    "one norm": _bank("Block.__init__", "", "mistakes/block_norm_shared"),
    "post-norm": _bank("Block.forward", "", "mistakes/block_post_norm"),
    "parallel": _bank("Block.forward", "", "mistakes/block_parallel"),
    "MLP first": _bank("Block.forward", "", "mistakes/block_mlp_first"),
    "MLP replaces the stream": _gpt("Block.forward", "def forward", (ADD, "x = self.mlp(self.ln2(x))")),
    "RMSNorm": _bank("Block.__init__", "", "mistakes/norms_rms"),
    "no positions": _bank("GPT.__init__", "", "mistakes/gpt_no_positions"),
    "sinusoidal": _bank("", "", "mistakes/gpt_sinusoidal"),
    "blocks in a list": _bank("GPT.__init__", "Block(", "mistakes/stack_python_list"),
    "TransformerEncoderLayer": _bank("", "", "mistakes/block_transformer_encoder_layer_defaults"),
    "no residual scaling": _bank("GPT.__init__", "", "mistakes/scaling_missing"),
    "no crop": _gpt("GPT.generate", "self(context)", (CROP, "context = idx")),
    "first tokens kept": _bank("GPT.generate", "", "mistakes/generate_crops_first"),
    "argmax": _bank("GPT.generate", "argmax", "mistakes/generate_argmax"),
    "return logits, None": _gpt("GPT.generate", "", (RETURN, "            return logits, None\n")),
    "printed table": _bank("shape_table", "", "mistakes/shapes_printed"),
    "hard-coded table": _bank("shape_table", "", "mistakes/shapes_course_numbers"),
    # Paper.
    "no bias in the attention": State("parameter_count", "", paper=((" + d)", ")"),)),
    "numpy on a tensor": State(
        "layer_norm_geometry", "axis=0", paper=(("    d = u.shape[0]\n", "    u = u - u.mean(axis=0, keepdims=True, ddof=1)\n    d = u.shape[0]\n"),)
    ),
    "std is not squared": _bank("expected_initial_loss", "", "mistakes/paper_loss_std_not_squared"),
    # Several at once.
    "three mistakes": _gpt("MLP.forward", "F.relu", ("F.gelu", "F.relu"), (ADD, "x = self.mlp(self.ln2(x))"), (CROP, "context = idx")),
    "everything wrong": _bank("block_matrices", "", "broken/wrong_everywhere"),
    # Not finished.
    "nothing": State("", base="stub"),
    "attention left": _bank("", "", "broken/attention_stub"),
    "only generate left": _gpt("", "", ("        for _ in range(max_new_tokens):\n", "        raise NotImplementedError()\n        for _ in range(max_new_tokens):\n")),
    "stray raise": _gpt("", "", ("        return self.down(hidden)  # (B, T, d)\n", "        return self.down(hidden)\n        raise NotImplementedError()\n")),
    "everything right": State(""),
}  # fmt: skip
