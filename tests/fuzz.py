"""Grade submissions that nobody would make: random bytes, damaged sources, damaged zip files, workers that lie. No
failure may be the grader's fault.

    python -m tests.fuzz --count 2000 [--seed N] [--start I] [--kind lies]

A case depends only on the seed, its number and the requested kind, so ``--count 1`` repeats a single case.
"""

from __future__ import annotations

import argparse
import io
import random
import secrets
import sys
import tempfile
import zipfile
from collections import Counter
from pathlib import Path

from autograder.assignment import ASSIGNMENT
from autograder.grading import rubric, suite
from autograder.sandbox.isolation.confine import Limits
from autograder.sandbox.remote.client import Zygote
from autograder.submission.archive import BadSubmission
from autograder.submission.read import read_submission
from tests import bank_file, claims
from tests.reports import harmful

# Half a second is enough to recognise an infinite loop.
LIMITS = Limits(call_cpu=0.5, again_cpu=0.1, submission_cpu=3.0, wall_factor=4.0)
KINDS = ["noise", "text", "bytes", "lines", "tokens", "tokens", "folder", "claims", "lies", "zip", "members"]
ALL = 25  # one case in this many is graded completely, the others on one criterion
ODD = [
    "\0",
    "\ufeff",
    "\u2028",
    "\u202e",
    "\x0c",
    "\t",
    "\r",
    "(",
    ")",
    "'''",
    '"""',
    "\\",
    "#",
    "@",
    "é",
    "\U0001f642",
]
WORDS = ["0", "-1", "1e999", "None", "lambda", "yield", "await", "async", "class", "def", "return", "raise", "del"]
WORDS += ["global", "nonlocal", "import", "with", "match", "*", "**", ":=", "..."]


class Case:
    """One damaged submission."""

    def __init__(self, seed: int, number: int, kind: str = "") -> None:
        self.rng = random.Random(f"{seed}/{number}")
        self.kind = kind or self.rng.choice(KINDS)
        self.only = None if number % ALL == 0 else self.rng.choice([c.id for c in rubric.load(ASSIGNMENT).criteria])

    def write(self, folder: Path, sources: list[dict[str, bytes]]) -> Path:
        """Write the submission as a file or a folder; return its path."""
        rng, files = self.rng, dict(self.rng.choice(sources))
        target = folder / "gpt.py"
        match self.kind:
            case "noise":
                target.write_bytes(rng.randbytes(rng.randrange(2000)))
            case "text":
                text = "".join(chr(rng.randrange(1, 0x110000)) for _ in range(rng.randrange(500)))
                target.write_bytes(text.encode("utf-8", "surrogatepass"))
            case "bytes" | "lines" | "tokens":
                target.write_bytes(self.damaged(files["gpt.py"], sources))
            case "folder":
                for name, data in files.items():
                    (folder / name).write_bytes(self.damaged(data, sources) if rng.random() < 0.7 else data)
                return folder
            case "claims":
                operation = rng.choice(list(claims.OPERATIONS))
                self.only = rng.choice(claims.OPERATIONS[operation])
                target.write_bytes(sources[-1]["gpt.py"] + claims.lying(operation, rng.randrange(claims.COUNT)))
            case "lies":
                self.only = None
                lie = claims.lying_plausibly(rng.getrandbits(32), rng.randint(1, claims.MOST_LIES))
                for name, data in sources[-1].items():
                    (folder / name).write_bytes(data + lie if name == "gpt.py" else data)
                return folder
            case _:
                target = folder / "submission.zip"
                target.write_bytes(self.zipped(files, sources))
        return target

    def damaged(self, data: bytes, sources: list[dict[str, bytes]]) -> bytes:
        """Return ``data`` with a few bytes, lines or words changed, moved, doubled or taken from elsewhere."""
        rng = self.rng
        other = rng.choice(sources)["gpt.py"]
        for _ in range(rng.choice([1, 1, 2, 5, 30])):
            way = self.kind if self.kind in ("bytes", "lines") else rng.choice(["bytes", "lines", "tokens", "tokens"])
            unit = {"bytes": None, "lines": b"\n", "tokens": b" "}[way]
            if unit is None:
                place = rng.randrange(len(data) + 1)
                new = rng.choice([bytes([rng.randrange(256)]), b"", rng.choice(ODD).encode()])
                data = data[:place] + new + data[place + rng.randrange(3) :]
                continue
            parts, others = data.split(unit), other.split(unit)
            place = rng.randrange(len(parts))
            new = rng.choice([[], [rng.choice(others)], [rng.choice(parts)] * 2, [rng.choice(WORDS + ODD).encode()]])
            parts[place : place + rng.randrange(1, 4)] = new
            data = unit.join(parts)
        return data

    def zipped(self, files: dict[str, bytes], sources: list[dict[str, bytes]]) -> bytes:
        """Return a zip file with odd members, or a damaged one."""
        rng, buffer = self.rng, io.BytesIO()
        with zipfile.ZipFile(buffer, "w", rng.choice([zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED])) as archive:
            folder = rng.choice(["", "", "step-05/", "../", "/", "a/b/", "\u202e/", "C:\\"])
            for name, data in files.items():
                info = zipfile.ZipInfo(rng.choice([folder + name, folder + name, name.upper(), name + "\0", "x" * 300]))
                info.external_attr = rng.choice([0o644, 0o644, 0, 0o120777, 0o20666]) << 16
                archive.writestr(info, self.damaged(data, sources) if rng.random() < 0.3 else data)
        data = bytearray(buffer.getvalue())
        if self.kind == "zip":
            for _ in range(rng.choice([0, 1, 3, 20])):
                data[rng.randrange(len(data))] = rng.randrange(256)
            if rng.random() < 0.2:
                del data[rng.randrange(len(data)) :]
        return bytes(data)


def judged(case: Case, path: Path, zygote: Zygote, rows: rubric.Rubric) -> tuple[str, list[str]]:
    """Return how grading ``path`` ended, and any fault of the grader."""
    try:
        report = suite.grade(ASSIGNMENT, read_submission(path, ASSIGNMENT), zygote, rows, only=case.only)
    except BadSubmission as error:
        return "refused", [] if str(error).isprintable() else [f"a message of more than one line: {error!a}"]
    except Exception as error:  # any exception is a finding
        return "failed", [f"{type(error).__name__}: {error}"]
    wrong = [f"{check.id}: {check.message}" for check in report.checks if check.status == "error"]
    return "graded", [*wrong, *harmful(report)] + ([] if report.gradable else ["not gradable"])


def run(count: int, seed: int, start: int = 0, zygote: Zygote | None = None, kind: str = "") -> list[str]:
    """Return the faults found in ``count`` cases, each with the number of its case."""
    rows, faults, ends = rubric.load(ASSIGNMENT), [], Counter[str]()
    paths = bank_file.paths()
    sources = [bank_file.load(path).files for path in paths if not path.stem.startswith("loop_")]
    sources.append(bank_file.REFERENCE)
    own = zygote or Zygote(LIMITS)
    try:
        for number in range(start, start + count):
            case = Case(seed, number, kind)
            with tempfile.TemporaryDirectory(prefix="fuzz-") as folder:
                end, wrong = judged(case, case.write(Path(folder), sources), own, rows)
            ends[f"{case.kind} {end}"] += 1
            faults += [f"case {number} ({case.kind}, {case.only}): {fault}" for fault in wrong]
            if end == "failed" and zygote is None:  # the zygote may be gone
                own.close()
                own = Zygote(LIMITS)
    finally:
        if zygote is None:
            own.close()
    print(", ".join(f"{name}: {times}" for name, times in sorted(ends.items())))
    return faults


def main() -> None:
    parser = argparse.ArgumentParser(description="Grade damaged submissions")
    parser.add_argument("--count", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=secrets.randbelow(1 << 31))
    parser.add_argument("--start", type=int, default=0)
    parser.add_argument("--kind", choices=sorted(set(KINDS)), default="")
    options = parser.parse_args()
    print(f"--seed {options.seed}", flush=True)
    faults = run(options.count, options.seed, options.start, kind=options.kind)
    print("\n".join([*faults, f"{len(faults)} faults in {options.count} cases"]))
    sys.exit(bool(faults))


if __name__ == "__main__":
    main()
