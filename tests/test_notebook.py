"""Test that a notebook gets the same score as the same code in a file, and that only its definitions run."""

from __future__ import annotations

import json
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from autograder.assignment import ASSIGNMENT
from autograder.core.assignment import NOTEBOOK, Assignment
from autograder.grading.report import Report
from autograder.sandbox.loading import notebook_slice
from autograder.submission import notebook
from autograder.submission.archive import MAX_FILE, BadSubmission
from autograder.submission.notebook import BadNotebook
from autograder.submission.read import read_submission
from tests import bank_file, notebooks
from tests.bank_file import BANK, REFERENCE
from tests.notebooks import code, save
from tests.reports import lost

Grade = Callable[..., Report]

# Styles, mistakes and broken files of all kinds; none with code that runs on import, since such code is left out of a
# notebook.
SAME = [
    *("variants/nanogpt_style", "variants/lecture_style", "variants/einsum_parameters", "variants/generate_function"),
    *("variants/mingpt_subclass", "variants/own_head_q_and_kv", "variants/training_below_main_guard"),
    *("variants/jaxtyping_annotations", "variants/one_letter_names", "variants/all_optional_parts"),
    *("mistakes/mlp_relu", "mistakes/attention_scale_sqrt_d", "mistakes/block_post_norm", "mistakes/generate_argmax"),
    *("mistakes/gpt_global_n_layer", "mistakes/paper_formula_tied", "mistakes/scaling_missing"),
    *("broken/stub", "broken/attention_stub", "broken/syntax_error_in_block"),
]


@pytest.mark.parametrize("name", SAME)
def test_a_notebook_scores_what_the_same_code_scores_as_a_file(name: str, grade: Grade, tmp_path: Path) -> None:
    entry = bank_file.load(BANK / f"{name}.py")
    path = tmp_path / "step-05.ipynb"
    path.write_bytes(notebooks.of_files(entry.files))
    report = grade(path)
    told = "\n".join(f"{check.id}: {check.status}: {check.message}" for check in report.checks)
    assert lost(report) == entry.loses | {id: s for id, s in entry.bonus.items() if s != "passed"}, told
    classes = {"attention", "mlp", "block", "model"}
    named = {found.mistake for check in report.checks if check.criterion in classes for found in check.diagnosis}
    assert named == set(entry.names), told


NOISE = [
    "!pip install -q torch \\\n    numpy\n%matplotlib inline\nimport matplotlib.pyplot as plt",
    "%%bash\nrm -rf data; for i in 1 2 3; do echo $i; done",
    "from google.colab import files\nuploaded = files.upload()",
    "raise SystemExit",
    "text = open('input.txt').read()\nvocab_size = len(set(text))",
    "this is a sentence that was meant for a cell of text",
]
LATER = [
    "model = GPT(65, 64, 128, 4, 4)\noptimizer = torch.optim.AdamW(model.parameters())",
    "while True:\n    model.train()",
    "for step in range(10**9):\n    optimizer.step()",
    "plt.plot(losses)\nGPT?",
    "from autograder import check\ncheck('attention')",
]


def test_what_is_no_definition_is_left_out_and_said(grade: Grade, tmp_path: Path) -> None:
    mine = [cell["source"] for cell in json.loads(notebooks.of_files(REFERENCE))["cells"]]
    report = grade(save(tmp_path / "work.ipynb", *NOISE, *mine, *LATER))
    assert report.score == 100
    assert not report.output
    assert report.timing.cpu < 20
    (broken,), (left,) = report.warnings, report.notes
    assert broken.startswith("cell 6, line 1 is not valid Python: ")
    assert left.endswith("the first in cell 1, line 1: `!pip install -q torch \\`.")
    assert "13 other statements were not run" in left


def test_messages_name_the_cell_and_the_line_in_it(grade: Grade, tmp_path: Path) -> None:
    mine = [
        {"cell_type": "markdown", "source": "# mine", "metadata": {}},
        "import torch\nfrom torch import nn",
        "class MLP(nn.Module):\n    def __init__(self, d):\n        super().__init__()\n        self.up = up",
        "class Block(nn.Module):\n    def __init__(self, d, H, T_max)\n        super().__init__()",
        "class GPT(nn.Module):\n    def forward(self, idx):\n        raise NotImplementedError",
        "class MultiHeadAttention(missing.Module):\n    pass",
    ]
    report = grade(save(tmp_path / "work.ipynb", *mine))
    said = {check.id: check.message for check in report.checks}
    at = {check.id: check.location for check in report.checks if check.location}
    located = ("the cell that defines MLP", 4, "        self.up = up")
    assert (at["mlp.formula"].file, at["mlp.formula"].line, at["mlp.formula"].text) == located
    assert said["block.composition"].startswith("cell 4 is not valid Python: ")
    assert at["block.composition"].text == "    def __init__(self, d, H, T_max)"
    assert said["attention.shape"].startswith("cell 6 could not be imported: ")
    assert at["attention.shape"].line == 1
    assert said["paper.layer_norm"] == "the notebook does not define layer_norm_geometry."
    places = {entry.name: (entry.file, entry.line) for entry in report.not_implemented}
    assert places["GPT"] == ("cell 5", 3)
    assert places["shape_table"] == ("the notebook", 0)


def test_a_class_in_two_cells_and_an_import_below_are_named(grade: Grade, tmp_path: Path) -> None:
    first = "class GPT(nn.Module):\n    def __init__(self, V, T_max, d, H, L):\n        super().__init__()"
    rest = "    # the rest\n    def forward(self, idx, targets=None):\n        return idx"
    mine = ["class MLP(nn.Module):\n    pass", "from torch import nn", first, rest]
    report = grade(save(tmp_path / "work.ipynb", *mine))
    said = {check.id: check.message for check in report.checks}
    assert "name 'nn' is used before cell 2 defines it; move that cell up" in said["mlp.formula"]
    assert said["model.composition"].startswith("cell 4 is not valid Python: ")
    assert [check.location.line for check in report.checks if check.id == "model.composition" and check.location] == [2]
    assert "class GPT ends with cell 3; put all of it in one cell" in said["model.composition"]


# --- which statements count -------------------------------------------------------------------------------------------


def kept(*texts: str, wanted: tuple[str, ...] = ("GPT",)) -> list[str]:
    """Return the first lines of the statements of these cells that are executed."""
    found, _ = notebook_slice.parse_statements(texts)
    return [texts[s.cell - 1].split("\n")[s.line - 1] for s in notebook_slice.select_needed(found, wanted)]


@pytest.mark.parametrize(
    ("texts", "expected"),
    [
        (["d = 1", "e = 2", "class GPT: size = d"], ["d = 1", "class GPT: size = d"]),
        (["class GPT: a = 1", "class GPT: b = 2"], ["class GPT: b = 2"]),
        (["class GPT: a = 1", "class GPT(GPT): b = 2"], ["class GPT: a = 1", "class GPT(GPT): b = 2"]),
        (["class GPT: f = lambda: E()", "class E: pass"], ["class GPT: f = lambda: E()", "class E: pass"]),
        (["class GPT: pass", "def f(s): pass", "GPT.f = f"], ["class GPT: pass", "def f(s): pass", "GPT.f = f"]),
        (["class GPT: pass", "setattr(GPT, 'n', 3)"], ["class GPT: pass", "setattr(GPT, 'n', 3)"]),
        (["model = 1", "class GPT:\n    def run(s, model): return model"], ["class GPT:"]),
        (["loss = 1", "class GPT:\n    def run(s): return s.loss"], ["class GPT:"]),
        (["if True: d = 1\nelse: d = 2", "class GPT: size = d"], ["if True: d = 1", "class GPT: size = d"]),
        (["try: import a\nexcept ImportError: a = 1", "class GPT: n = a"], ["try: import a", "class GPT: n = a"]),
        (["d = 1", "d += 1", "class GPT: n = d"], ["d = 1", "d += 1", "class GPT: n = d"]),
        (["for d in range(9): pass", "class GPT: n = d"], ["class GPT: n = d"]),
        (["class Block: pass", "class GPT:\n    def f(s): eval('Block')"], ["class Block: pass", "class GPT:"]),
        (["from math import *", "import os", "class GPT: pass"], ["from math import *", "class GPT: pass"]),
        (["V, d = 65, 128", "class GPT: n = d"], ["V, d = 65, 128", "class GPT: n = d"]),
    ],
)  # fmt: skip
def test_what_the_wanted_names_use_is_kept(texts: list[str], expected: list[str]) -> None:
    assert kept(*texts) == expected


def test_an_indented_cell_runs_as_in_jupyter() -> None:
    assert kept("  class GPT:\n    a = 1\n\n  GPT.b = 2") == ["  class GPT:", "  GPT.b = 2"]


@pytest.mark.parametrize("last", ["class Block:\n    def forward(self): pass", "x = 1"])
def test_an_indented_method_goes_on_with_an_open_class_only(last: str) -> None:
    found, _ = notebook_slice.parse_statements([last, "    def forward(self): return 1"])
    assert not [statement for statement in found if isinstance(statement.node, SyntaxError)]


@pytest.mark.parametrize(
    ("text", "expected", "commands"),
    [
        ("x = 1", "x = 1", []),
        ("%matplotlib inline\nx = 1", "pass\nx = 1", [1]),
        ("!pip install a \\\n  b\nx = 1", "pass\n\nx = 1", [1]),
        ("files = !ls\nx = 1", "pass\nx = 1", [1]),
        ("if a:\n    %time f()\nx = 1", "if a:\n    pass\nx = 1", [2]),
        ("x = (5\n% 3)\n!ls", "x = (5\n% 3)\npass", [3]),
        ("s = '''\n%d of\n'''\n%ls", "s = '''\n%d of\n'''\npass", [4]),
        ("GPT?\nx = 1", "pass\nx = 1", [1]),
        ("%%time\nx = 1", "\nx = 1", [1]),
        ("%%writefile gpt.py\nx = 1", "\nx = 1", [1]),
        ("%%bash\nx = 1", "", [1]),
        ("%ls\ndef f(:\n    pass", "pass\ndef f(:\n    pass", [1]),
    ],
)
def test_what_only_a_notebook_understands_is_taken_out_and_lines_stay_where_they_are(
    text: str, expected: str, commands: list[int]
) -> None:
    assert notebook_slice.remove_commands(text) == (expected, commands)


# --- reading ----------------------------------------------------------------------------------------------------------


def test_old_formats_and_cells_without_ids_are_read(tmp_path: Path) -> None:
    new = {"cells": [{"cell_type": "code", "source": ["x = 1\n", "y = 2"]}]}
    old = {"worksheets": [{"cells": [{"cell_type": "code", "input": "x = 1\ny = 2", "language": "python"}]}]}
    for content in (new, old | {"nbformat": 3}, old | {"nbformat": 2}, new | {"nbformat": 99}):
        assert notebook.read(json.dumps(content).encode()) == ["x = 1\ny = 2"]


def test_what_is_kept_of_a_notebook_depends_on_its_code_alone(tmp_path: Path) -> None:
    plain = save(tmp_path / "a.ipynb", "class GPT: pass")
    image = {"output_type": "display_data", "data": {"image/png": "A" * (3 << 20)}, "metadata": {}}
    full = save(tmp_path / "b.ipynb", code("class GPT: pass\n", outputs=[image], id="x", execution_count=10**30))
    assert full.stat().st_size > MAX_FILE
    one, other = read_submission(plain, ASSIGNMENT), read_submission(full, ASSIGNMENT)
    assert one.files[NOTEBOOK] == other.files[NOTEBOOK]
    assert (one.sha256, one.format, one.names) == (other.sha256, "notebook", (NOTEBOOK,))
    (tmp_path / NOTEBOOK).write_bytes(one.files[NOTEBOOK])
    assert read_submission(tmp_path / NOTEBOOK, ASSIGNMENT).sha256 == one.sha256


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (b"", "not a valid notebook"),
        (b'{"cells": [\n{"cell_type": "code",,', "(line 2 of the file)"),
        (b"[" * 100_000, "nested too deeply"),
        (b"[1]", "no cells in it"),
        (b'{"cells": {}}', "no cells in it"),
        (b"\xff\xfe\x00{", "not a valid notebook"),
        (json.dumps({"cells": [{}] * (notebook.MAX_CELLS + 1)}).encode(), "at most 5000"),
        ('{"cells": [{"cell_type": "code", "source": "%s"}]}'.replace("%s", "é" * (1 << 20)).encode(), "1 MB of code"),
        (b'{"cells": [' + b"[]," * 300_000 + b"[]]}", "too many JSON values"),
        (b'{"cells": [' + b'"ab",' * 2_000_001 + b"0]}", "too many JSON values"),
    ],
)
def test_what_is_no_notebook_is_refused_in_words(data: bytes, said: str) -> None:
    with pytest.raises(BadNotebook) as error:
        notebook.read(data)
    assert said in str(error.value)
    assert "; " in str(error.value)


def test_large_outputs_are_left_behind() -> None:
    points = {"x": list(range(500_000)), "text": "," * 100_000, "image": "x" * (4 << 20)}
    cell = {"cell_type": "code", "source": "x = 1", "outputs": [{"data": points}]}
    assert notebook.read(json.dumps({"cells": [cell]}).encode()) == ["x = 1"]


def test_odd_cells_are_read_as_far_as_they_go() -> None:
    odd: list[Any] = [None, 3, {"cell_type": "code"}, {"cell_type": "code", "source": 7}, code("a\ud800\0\r\nb")]
    assert notebook.read(json.dumps({"cells": odd}).encode()) == ["", "", "", "", "a?\ufffd\nb"]


# --- which file is the submission -------------------------------------------------------------------------------------

WORK = "class GPT:\n    n = 1"
OTHER = "class GPT:\n    n = 2"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a folder with gpt.py, paper.py and a notebook, as handed out."""
    given = tmp_path / "given"
    given.mkdir()
    stub = "class GPT:\n    raise NotImplementedError"
    (given / "gpt.py").write_text(stub)
    (given / "paper.py").write_text("def layer_norm_geometry(u):\n    raise NotImplementedError")
    save(given / NOTEBOOK, stub)
    monkeypatch.setattr(Assignment, "stubs", property(lambda _: given))
    work = tmp_path / "work"
    work.mkdir()
    for name in ("gpt.py", "paper.py"):
        (work / name).write_text((given / name).read_text() + " \n")
    (work / "step-05.ipynb").write_text((given / NOTEBOOK).read_text())
    return work


def test_what_was_edited_is_the_submission(folder: Path) -> None:
    assert read_submission(folder, ASSIGNMENT).names == ("gpt.py", "paper.py")  # nothing was
    save(folder / "step-05.ipynb", "print(1)", "class GPT:\n    raise NotImplementedError", "x = 2")
    assert read_submission(folder, ASSIGNMENT).names == ("gpt.py", "paper.py")  # none of the assignment's names
    save(folder / "step-05.ipynb", WORK)
    assert read_submission(folder, ASSIGNMENT).names == (NOTEBOOK,)
    (folder / "helper.py").write_text("x = 1")
    (folder / "paper.py").write_text("x = 1")
    assert read_submission(folder, ASSIGNMENT).names == ("helper.py", NOTEBOOK, "paper.py")
    (folder / "gpt.py").write_text(" \n")
    assert NOTEBOOK in read_submission(folder, ASSIGNMENT).names
    (folder / "gpt.py").write_text(WORK)
    with pytest.raises(
        BadSubmission, match=r"2 candidates for the file to grade \(.*gpt.py, .*step-05.ipynb\); keep one"
    ):
        read_submission(folder, ASSIGNMENT)


def test_notebooks_for_trying_things_out_and_copies_are_no_candidates(folder: Path) -> None:
    save(folder / "train.ipynb", "from gpt import GPT", "model = GPT()")
    (folder / "gpt.py").write_text(WORK)
    assert read_submission(folder, ASSIGNMENT).names == ("gpt.py", "paper.py")
    (folder / "gpt.py").unlink()
    save(folder / "step-05.ipynb", WORK)
    save(folder / "step-05-Copy1.ipynb", WORK, metadata={"copied": True})
    assert read_submission(folder, ASSIGNMENT).names == (NOTEBOOK,)
    save(folder / "step-05-Copy2.ipynb", OTHER)
    with pytest.raises(BadSubmission, match="2 candidates"):
        read_submission(folder, ASSIGNMENT)


def test_a_notebook_that_cannot_be_read_counts_where_there_is_nothing_else(folder: Path) -> None:
    (folder / "step-05.ipynb").write_text("{")
    with pytest.raises(BadSubmission, match=r"step-05.ipynb: not a valid notebook"):
        read_submission(folder, ASSIGNMENT)
    (folder / "gpt.py").write_text(WORK)
    assert read_submission(folder, ASSIGNMENT).names == ("gpt.py", "paper.py")


def test_a_notebook_in_a_zip_file_is_the_same_submission(folder: Path) -> None:
    path = save(folder.parent / "x.ipynb", WORK)
    with zipfile.ZipFile(folder.parent / "x.zip", "w") as archive:
        archive.write(path, "step/x.ipynb")
    assert read_submission(folder.parent / "x.zip", ASSIGNMENT).sha256 == read_submission(path, ASSIGNMENT).sha256
