"""Honest code does not notice any layer."""

from __future__ import annotations

import pytest

from autograder.sandbox.errors import Raised
from tests.confine.kit import Hand, needs_landlock, needs_seccomp, run

HONEST = """
import dataclasses, math, random, typing
import torch
import torch.nn.functional as F
from torch import nn

optimizer = torch.optim.AdamW([nn.Parameter(torch.ones(2))])

def optimizes():
    with torch.enable_grad():
        weight = nn.Parameter(torch.ones(2))
        one = torch.optim.AdamW([weight], lr=0.1)
        weight.sum().backward()
        one.step()
    return bool((weight < 1).all())

def absent(name):
    try:
        __import__(name)
    except ImportError as error:
        return str(error)

def no_file():
    try:
        open("input.txt")
    except FileNotFoundError as error:
        return str(error)

def threads():
    torch.set_num_threads(2)
    x = torch.ones(700, 700)
    done = []
    thread = threading.Thread(target=lambda: done.append(1))
    thread.start()
    thread.join()
    return torch.get_num_threads(), float((x @ x)[0, 0]), done

def computes():
    x = torch.randn(2, 3, 8)
    F.scaled_dot_product_attention(x, x, x, is_causal=True)
    nn.TransformerEncoderLayer(8, 2, batch_first=True)(x)
    return torch.cuda.is_available(), torch.linalg.qr(x)[0].shape, torch.fft.fft(x).shape

def lazy():
    import collections.abc, csv, decimal, difflib, fractions, hashlib, html.parser, sqlite3, ssl, statistics, unittest
    from torch.utils.data import DataLoader, TensorDataset
    from torch.utils.checkpoint import checkpoint
    return len(list(DataLoader(TensorDataset(torch.ones(4, 2)), batch_size=2)))
"""

AS_OTHERS = [(), ("uid",), ("landlock",)]


@pytest.mark.parametrize("without", AS_OTHERS, ids=lambda without: "without " + "".join(without))
def test_honest_code_does_not_notice(hand_in: Hand, without: tuple[str, ...]) -> None:
    student = hand_in(HONEST, without)
    assert run(student, "optimizes")
    assert student.troubles == []
    assert run(student, "absent", "no_such_library") == "No module named 'no_such_library'"
    if "no_open" in student.held:  # what cannot be opened is absent, which code is prepared for
        assert run(student, "absent", "hypothesis") == "No module named 'hypothesis'"
    assert run(student, "no_file") == "[Errno 2] No such file or directory: 'input.txt'"
    assert run(student, "threads") == (2, 700.0, [1])
    assert run(student, "computes") == (False, (2, 3, 3), (2, 3, 8))
    assert run(student, "lazy") == 2


@needs_landlock
def test_files_can_be_kept_in_the_scratch_folder(hand_in: Hand) -> None:
    student = hand_in("""
        import tempfile, pathlib
        import torch
        def run():
            torch.save({"x": torch.ones(2)}, "model.pt")
            os.mkdir("folder")
            os.rename("model.pt", "folder/model.pt")
            with tempfile.TemporaryDirectory() as folder:
                pathlib.Path(folder, "log.txt").write_text("x")
            pathlib.Path.home().joinpath("note").write_text("x")
            return torch.load("folder/model.pt")["x"], sorted(os.listdir("."))
    """)
    loaded, names = run(student, "run")
    assert loaded.tolist() == [1.0, 1.0]
    assert names == ["folder", "note"]


@needs_seccomp
def test_what_starts_processes_says_that_it_may_not(hand_in: Hand) -> None:
    student = hand_in("import subprocess\ndef run(): subprocess.run(['nvidia-smi'])")
    with pytest.raises(Raised, match="PermissionError"):
        run(student, "run")
