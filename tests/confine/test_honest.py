"""Test that no layer affects honest code."""

from __future__ import annotations

import pytest

from autograder.sandbox.remote.errors import Raised
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
    torch.set_num_interop_threads(2)
    x = torch.ones(700, 700, requires_grad=True)
    with torch.enable_grad():
        (x @ x).sum().backward()
    futures = [torch.jit.fork(torch.mm, x, x), torch.jit.fork(torch.mm, x, x)]
    return torch.get_num_threads(), [float(torch.jit.wait(f)[0, 0]) for f in futures], float(x.grad[0, 0])

def asks_for_a_thread():
    try:
        threading.Thread(target=print).start()
    except RuntimeError as error:
        return str(error)
    return "started"

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
    assert student.failed_statements == []
    assert run(student, "absent", "no_such_library") == "No module named 'no_such_library'"
    if "no_open" in student.layers:  # a file that cannot be opened looks absent, which code can handle
        assert run(student, "absent", "hypothesis") == "No module named 'hypothesis'"
    assert run(student, "no_file") == "[Errno 2] No such file or directory: 'input.txt'"
    assert run(student, "asks_for_a_thread") == ("can't start new thread" if "seccomp" in student.layers else "started")
    assert run(student, "threads") == (2, [700.0, 700.0], 1400.0)
    assert run(student, "computes") == (False, (2, 3, 3), (2, 3, 8))
    assert run(student, "lazy") == 2


@needs_landlock
def test_files_can_be_kept_in_the_scratch_folder(hand_in: Hand) -> None:
    student = hand_in("""
        import tempfile, pathlib
        import numpy, torch
        def run():
            torch.save({"x": torch.ones(2)}, "saved.pt")
            os.rename("saved.pt", "model.pt")
            os.makedirs(os.getcwd(), exist_ok=True)
            with tempfile.NamedTemporaryFile() as file:
                file.write(b"x")
            with open("synced", "w") as file:
                os.fsync(file.fileno())
            os.sync()
            pathlib.Path.home().joinpath("note").write_text("x")
            numpy.arange(4).tofile("tokens.bin")
            read = numpy.memmap("tokens.bin", numpy.int64, "r").tolist()
            return torch.load("model.pt")["x"], read, sorted(os.listdir("."))
    """)
    loaded, read, names = run(student, "run")
    assert loaded.tolist() == [1.0, 1.0]
    assert read == [0, 1, 2, 3]
    assert names == ["model.pt", "note", "synced", "tokens.bin"]


@needs_seccomp
@pytest.mark.parametrize("code", ["os.mkdir('folder')", "tempfile.mkdtemp()", "pathlib.Path('a').mkdir()"])
def test_making_a_folder_says_that_it_may_not(hand_in: Hand, code: str) -> None:
    student = hand_in(f"import pathlib, tempfile\ndef run(): {code}")
    with pytest.raises(Raised, match="PermissionError"):
        run(student, "run")


@needs_seccomp
def test_what_starts_processes_says_that_it_may_not(hand_in: Hand) -> None:
    student = hand_in("import subprocess\ndef run(): subprocess.run(['nvidia-smi'])")
    with pytest.raises(Raised, match="PermissionError"):
        run(student, "run")
