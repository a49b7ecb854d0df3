"""Tell Python code from other content by its first bytes, and check that text can be decoded. Nothing is parsed."""

from __future__ import annotations

import codecs
import contextlib
import io
import os
import re
import tokenize
from collections.abc import Iterable
from dataclasses import dataclass

from autograder.core.text import clean
from autograder.submission.archive import BadSubmission

# Only encodings that decode in linear time; some of Python's codecs do not.
ENCODINGS = {"utf-8", "utf-8-sig", "ascii", "iso8859-1", "iso8859-15", "cp1250", "cp1251", "cp1252"}
ARCHIVES = {".7z", ".bz2", ".gz", ".rar", ".tar", ".tbz2", ".tgz", ".txz", ".xz", ".zst"}
SHORTCUTS = {".desktop", ".lnk", ".url", ".webloc"}


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of file other than Python code, and how to submit the code instead."""

    name: str
    remedy: str
    start: re.Pattern[bytes]  # of the file, after blanks


def _make_kind(name: str, remedy: str, start: bytes) -> Kind:
    return Kind(name, remedy, re.compile(start, re.IGNORECASE | re.DOTALL))


ARCHIVE = _make_kind(
    "an archive of another kind than zip",
    "submit the files in it, or a zip file",
    rb"\x1f\x8b|7z\xbc\xaf|Rar!|BZh|\xfd7zXZ",
)
SHORTCUT = _make_kind("a shortcut", "submit the file that it points to", rb"L\0\0\0|\[InternetShortcut\]")
KINDS = (
    ARCHIVE,
    SHORTCUT,
    _make_kind("a notebook", "give it a name that ends in .ipynb", rb'\{(?=.*"(cells|worksheets)")(?=.*"cell_type")'),
    _make_kind("a Git LFS pointer", "submit the file itself, which git lfs pull fetches", rb"version https://git-lfs"),
    _make_kind("a web page", "submit the code itself, which GitHub offers as Download raw file", rb"<[!?a-z]"),
    _make_kind("RTF, a word processor's format", "save it as plain text", rb"\{\\rtf"),
    _make_kind("a PDF", "submit the code itself, as plain text", rb"%PDF"),
    _make_kind(
        "an Office document",
        "submit the code itself, as plain text",
        rb"\xd0\xcf\x11\xe0|PK\x03\x04.{26}(\[Content_Types\]|_rels/|docProps/|word/|mimetypeapp)",
    ),
    _make_kind("a zip file", "give it a name that ends in .zip", rb"PK\x03\x04"),
)


def identify(name: str, data: bytes) -> Kind | None:
    """Return the kind of a file that is not Python code, from its name or content."""
    suffix = os.path.splitext(name)[1].lower()
    if suffix in ARCHIVES or suffix in SHORTCUTS:
        return ARCHIVE if suffix in ARCHIVES else SHORTCUT
    text = data.removeprefix(codecs.BOM_UTF8).lstrip()
    return next((kind for kind in KINDS if kind.start.match(text)), None)


def check_kind(data: bytes, wanted: str) -> None:
    """Raise BadSubmission if a file is empty or of another kind than ``wanted``."""
    if not data.strip():
        raise BadSubmission("empty; save your work in it and submit it again")
    kind = identify("", data)
    if kind and kind.name != wanted:
        raise BadSubmission(f"{kind.name}, not {wanted}; {kind.remedy}")


def check_text(data: bytes) -> bytes:
    """Return ``data`` if it is non-empty text that can be Python code, else raise BadSubmission."""
    check_kind(data, "Python code")
    if data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        raise BadSubmission("saved as UTF-16; save it as UTF-8")
    if b"\0" in data:
        raise BadSubmission("contains NUL bytes, so it is not Python code; export or save it again")
    try:
        encoding, _ = tokenize.detect_encoding(io.BytesIO(data).readline)
        if codecs.lookup(encoding).name not in ENCODINGS:
            raise BadSubmission(f"declares the encoding {clean(encoding, 40)}; save it as UTF-8")
        data.decode(encoding)
    except (SyntaxError, UnicodeDecodeError):
        raise BadSubmission("cannot be decoded in its encoding; save it as UTF-8") from None
    return data


def decode(data: bytes) -> str:
    """Return code as text: in the encoding it declares if that is one of ENCODINGS, else as UTF-8 where possible.

    Other encodings are never used, since decoding some takes quadratic time.
    """
    encoding = "utf-8"
    with contextlib.suppress(SyntaxError):
        declared, _ = tokenize.detect_encoding(io.BytesIO(data).readline)
        if codecs.lookup(declared).name in ENCODINGS:
            encoding = declared
    return data.decode(encoding, "replace")


def split_lines(data: bytes) -> list[bytes]:
    """Return the lines without what editors and platforms change: blanks at the end, line ends, a byte order mark."""
    return [line.rstrip() for line in data.removeprefix(codecs.BOM_UTF8).rstrip().splitlines()]


def has_code(lines: Iterable[bytes]) -> bool:
    """Return whether any of the lines of a file is more than a comment."""
    return any(line and not line.lstrip().startswith(b"#") for line in lines)


def find_definitions(data: bytes, names: Iterable[str]) -> list[str]:
    """Return which of ``names`` the code appears to define."""
    defined = rb"^[ \t]*(?:(?:class|def)[ \t]+(\w+)|(\w+)[ \t]*=(?!=))"
    found = {name for match in re.finditer(defined, _join_lines(data), re.MULTILINE) for name in match.groups()}
    return [name for name in names if name.encode() in found]


def is_stub(data: bytes, names: Iterable[str]) -> bool:
    """Return whether the code defines all of ``names``, and none of them is implemented."""
    blocks = re.split(rb"^(?=(?:class|def)[ \t])", _join_lines(data), flags=re.MULTILINE)
    stubs = b"\n".join(
        block for block in blocks if re.search(rb"^[ \t]+raise NotImplementedError", block, re.MULTILINE)
    )
    missing = set(names) - set(find_definitions(stubs, names))
    return bool(stubs) and not missing


def has_import(data: bytes, module: str) -> bool:
    """Return whether the code appears to import ``module``."""
    name = re.escape(module.encode(errors="backslashreplace"))
    pattern = rb"^[ \t]*(?:from[ \t]+\.?%b\b|import\b[^#\n]*\b%b\b)" % (name, name)
    return re.search(pattern, _join_lines(data), re.MULTILINE) is not None


def mentions_all(data: bytes, names: Iterable[str]) -> bool:
    """Return whether all of ``names`` occur in the code, or may be imported with a star."""
    words = set(re.findall(rb"\w+", data))
    return re.search(rb"\bimport[ \t]*\*", data) is not None or all(name.encode() in words for name in names)


def _join_lines(data: bytes) -> bytes:
    return b"\n".join(data.splitlines())
