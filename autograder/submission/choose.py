"""Choose the files to grade among those that a student submitted, or say what was found instead.

`grade` and `regrade` both decide here, so they give the same score or the same reason. Code that can be read
unambiguously is graded; anything else is refused in one line and never gets a zero.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from autograder.core.assignment import NOTEBOOK, Assignment
from autograder.submission import content, notebook
from autograder.submission.archive import (
    MAX_FILE,
    MAX_ZIP,
    BadSubmission,
    Entry,
    check_size,
    get_size_limit,
    is_litter,
    is_notebook,
    is_python,
    list_zip,
    make_printable,
)
from autograder.submission.notebook import BadNotebook

MAX_ENTRIES = 200_000  # of one submission
MAX_FILES = 50  # Python files beside each other
MAX_CANDIDATES = 10
MAX_SHOWN = 5  # names in a message
MAX_NESTED = 2  # zip files in each other


def choose_files(root: str, entries: Sequence[Entry], assignment: Assignment) -> dict[str, bytes]:
    """Return the files to grade of a folder or zip file, shown as ``root`` in messages. Raises BadSubmission."""
    return _Chooser(root, assignment).choose(entries)


def choose_single(root: str, entry: Entry, assignment: Assignment) -> dict[str, bytes]:
    """Return the files to grade of a file submitted on its own, which is in ``root``. Raises BadSubmission.

    A Python file may have any name, since platforms rename files.
    """
    chooser = _Chooser(root, assignment)
    if entry.suffix == ".zip":
        return _Chooser(chooser.show(entry), assignment).choose(chooser.list_zip(entry))
    if entry.suffix == ".py":
        return {assignment.contract.file: chooser.read_single(entry)}
    if entry.suffix == ".ipynb":
        return chooser.collect([entry], [])
    raise chooser.explain_kind(entry)


@dataclass(frozen=True, slots=True)
class _Other:
    """A file of another name: the required names that it defines, unless it is a stub, and its kind."""

    name: str
    definitions: list[str]
    kind: content.Kind | None


class _Chooser:
    """The rules, for one submission."""

    def __init__(self, root: str, assignment: Assignment) -> None:
        self._root, self._assignment, self._contract = root, assignment, assignment.contract
        self._main = assignment.contract.file
        self._given = {path.name for path in assignment.handed_out.glob("*.py")}
        self._zip_errors: list[BadSubmission] = []
        self._unzipped = 0  # bytes of the zip files opened so far

    def choose(self, entries: Sequence[Entry]) -> dict[str, bytes]:
        """Return the edited main file or notebook, and the files that belong to it."""
        if len(entries) > MAX_ENTRIES:
            raise self._make_error(f"more than {MAX_ENTRIES} files; submit only the code")
        entries = [entry for entry in entries if not is_litter(entry.name)]
        found: list[Entry] = []
        unedited: tuple[list[Entry], list[Entry]] | None = None
        for found in self._widen(sorted(entries, key=lambda entry: (len(entry.parts), entry.parts))):
            mains, notebooks = _select(found, self._main), [entry for entry in found if is_notebook(entry.name)]
            copies = self._find_work(mains, notebooks)
            if copies and self._has_code(copies[0]):
                return self.collect(copies, found)
            if unedited is None and (mains or notebooks):
                unedited = copies or (mains or notebooks)[:1], found
        others = self._read_others(found)
        elsewhere = {name for other in others for name in other.definitions}
        # Files from earlier steps may define a few of the names, too.
        if unedited and (2 * len(elsewhere) <= len(self._required) or self._uses_all(unedited[0][0])):
            return self.collect(*unedited)
        raise self._explain_absence(unedited[0][0] if unedited else None, found, others)

    def _widen(self, entries: list[Entry]) -> Iterator[list[Entry]]:
        """Yield the files at the top and one folder down, then those in all folders, then those in zip files too."""
        near = [entry for entry in entries if len(entry.parts) <= 2]
        yield near
        if len(near) < len(entries):
            yield entries
        if any(entry.suffix == ".zip" for entry in entries):
            yield self._open_zips(entries, MAX_NESTED)

    def _open_zips(self, entries: list[Entry], depth: int) -> list[Entry]:
        """Return the files, with the files in zip files in place of these."""
        found = []
        for entry in entries:
            if entry.suffix != ".zip" or depth == 0:
                found.append(entry)
                continue
            try:
                inside = [Entry((*entry.parts, *inner.parts), inner.read, inner.link) for inner in self.list_zip(entry)]
            except BadSubmission as error:
                self._zip_errors.append(error)
                found.append(entry)
            else:
                found += self._open_zips(inside, depth - 1)
        return found

    def list_zip(self, entry: Entry) -> list[Entry]:
        """List the files in a zip file, which is like a folder. Raises BadSubmission."""
        data = self._read(entry)
        self._unzipped += len(data)
        try:
            if self._unzipped > MAX_ZIP:
                raise BadSubmission(f"more than {MAX_ZIP >> 20} MB of zip files; submit only the code")
            content.check_kind(data, "a zip file")
            return [inner for inner in list_zip(data) if not is_litter(inner.name)]
        except BadSubmission as error:
            raise self._locate(entry, error) from None

    # --- the main file or notebook ------------------------------------------------------------------------------------

    def _find_work(self, mains: list[Entry], notebooks: list[Entry]) -> list[Entry]:
        """Return the one edited main file or notebook, with its copies. Raises BadSubmission if there are several.

        Unedited handed-out files and scratch notebooks do not count.
        """
        if len(mains) > MAX_CANDIDATES or len(notebooks) > MAX_CANDIDATES:
            raise self._make_candidates_error(mains or notebooks, self._main)
        work: dict[object, list[Entry]] = {}
        broken: list[BadSubmission] = []
        for entry in mains:
            if self._is_edited(self._main, data := self._read(entry)):
                work.setdefault(tuple(content.split_lines(data)), []).append(entry)
        stubs = self._assignment.stubs.glob("*.ipynb") if notebooks else ()
        given = [cell for path in stubs for cell in notebook.read(path.read_bytes())]
        for entry in notebooks:
            try:
                cells = self._read_cells(entry)
            except BadSubmission as error:
                broken.append(error)
                continue
            is_stub = content.is_stub(_join(cells), self._required)
            if notebook.has_work(cells, given, self._contract.names) and not is_stub:
                work.setdefault(notebook.write(cells), []).append(entry)
        if not work and broken:
            raise broken[0]
        candidates = list(work.values())
        candidates = [copies for copies in candidates if self._has_code(copies[0])] or candidates
        if len(candidates) > 1:
            raise self._make_candidates_error([copies[0] for copies in candidates], self._main)
        return candidates[0] if candidates else []

    def _has_code(self, entry: Entry) -> bool:
        """Return whether an edited main file or notebook contains more than comments."""
        return is_notebook(entry.name) or content.has_code(content.split_lines(self._read(entry)))

    def _is_edited(self, name: str, data: bytes) -> bool:
        """Return whether a file has content and is more than the handed-out file of that name, in any edition."""
        stub, lines = self._assignment.stubs / name, content.split_lines(data)
        if not lines or (stub.is_file() and lines == content.split_lines(stub.read_bytes())):
            return False
        return not content.is_stub(data, self._list_required(name))

    def _list_required(self, file: str) -> list[str]:
        return [
            entry.name for entry in self._contract.definitions if f"{entry.module}.py" == file and not entry.optional
        ]

    @property
    def _required(self) -> list[str]:
        return self._list_required(self._main)

    # --- the files that belong to it ----------------------------------------------------------------------------------

    def collect(self, copies: list[Entry], found: list[Entry]) -> dict[str, bytes]:
        """Return the main file or notebook, of which there may be copies, and the Python files that belong to it."""
        beside = [
            [entry for entry in found if entry.folder == copy.folder and is_python(entry.name)] for copy in copies
        ]
        largest = max(range(len(copies)), key=lambda number: len(beside[number]))
        main, others = copies[largest], [entry for entry in beside[largest] if entry not in copies]
        if len(others) >= MAX_FILES:
            raise self._make_error(
                f"{len(others) + 1} Python files, but at most {MAX_FILES} are allowed; remove the rest"
            )
        if is_notebook(main.name):
            cells = self._read_cells(main)
            files, code = {NOTEBOOK: notebook.write(cells)}, _join(cells)
        else:
            code = self._check_text(main)
            files = {self._main: code}
        helpers = {self._get_importable_name(entry.name, code): entry for entry in others}  # exact names come last
        importable = [name for name in helpers if name[:-3].isidentifier() and name not in self._contract.files]
        files |= {name: self._read(helpers[name]) for name in importable}
        folders = {copy.folder for copy in copies}
        for name in self._contract.files:
            named = [] if name == self._main else _select(found, name)
            near = [entry for entry in named if entry.folder in folders]
            # A notebook contains the definitions of all files, and another file must not hide them.
            if entry := self._find_copy(name, near or (named if self._main in files else []), self._main in files):
                files[name] = self._check_text(entry)
        for name in importable:
            try:
                self._check_text(helpers[name])
            except BadSubmission:
                if files[name].strip() and any(content.has_import(d, name[:-3]) for d in (code, *files.values())):
                    raise
        if NOTEBOOK in files and not self._has_definitions(code, files):
            raise self._explain_missing_definitions(main)
        return files

    def _get_importable_name(self, name: str, code: bytes) -> str:
        """Return the name by which Python imports a file; one of the assignment's files may be spelled in capitals."""
        stem = name[:-3]
        if name.lower() in self._contract.files:
            return name.lower()
        is_given = name.lower() in self._given and not content.has_import(code, stem)
        return name.lower() if is_given else f"{stem}.py"

    def _find_copy(self, name: str, entries: list[Entry], with_stub: bool) -> Entry | None:
        """Return the one edited file of that name, or else the stub if wanted. Raises BadSubmission for several."""
        written = [(entry, data) for entry in entries if (data := self._read(entry)).strip()]
        edited = {tuple(content.split_lines(data)): entry for entry, data in written if self._is_edited(name, data)}
        if len(edited) > 1:
            raise self._make_candidates_error(list(edited.values()), name)
        return next(iter([*edited.values(), *(entry for entry, _ in written if with_stub)]), None)

    def _has_definitions(self, code: bytes, files: Mapping[str, bytes]) -> bool:
        """Return whether a notebook defines any of the assignment's names, or imports them from a file beside it."""
        names = self._contract.names
        return bool(content.find_definitions(code, names)) or any(
            content.has_import(code, name[:-3]) and content.find_definitions(data, names)
            for name, data in files.items()
        )

    def _uses_all(self, entry: Entry) -> bool:
        """Return whether a notebook defines none of the required names but mentions all: it may import them."""
        if not is_notebook(entry.name):
            return False
        code = _join(self._read_cells(entry))
        return content.mentions_all(code, self._required) and not content.find_definitions(code, self._required)

    def read_single(self, entry: Entry) -> bytes:
        """Return the code of a Python file submitted on its own, of any name. Raises BadSubmission."""
        data = self._check_text(entry)
        names = [
            definition.name for definition in self._contract.definitions if definition.module == self._contract.main
        ]
        if entry.name.lower() != self._main and not content.find_definitions(data, names):
            raise self._explain_missing_definitions(entry)
        return data

    # --- reading ------------------------------------------------------------------------------------------------------

    def show(self, entry: Entry) -> str:
        """Return the path of a file, as messages have it."""
        return "/".join(filter(None, (self._root, *map(make_printable, entry.parts))))

    def _read(self, entry: Entry) -> bytes:
        try:
            return check_size(entry.read(get_size_limit(entry.name)), entry.name)
        except BadSubmission as error:
            raise self._locate(entry, error) from None

    def _check_text(self, entry: Entry) -> bytes:
        data = self._read(entry)
        try:
            return content.check_text(data)
        except BadSubmission as error:
            raise self._locate(entry, error) from None

    def _read_cells(self, entry: Entry) -> list[str]:
        data = self._read(entry)
        try:
            content.check_kind(data, "a notebook")
            return notebook.read(data)
        except (BadSubmission, BadNotebook) as error:
            is_code = content.find_definitions(data, self._required)
            reason = f"Python code, not a notebook; submit it as a file named {self._main}" if is_code else error
            raise self._locate(entry, reason) from None

    def _read_start(self, entry: Entry) -> bytes:
        """Read as much of a file as the longest Python file has, to see what it is."""
        try:
            return entry.read(MAX_FILE)
        except BadSubmission as error:
            raise self._locate(entry, error) from None

    # --- reasons ------------------------------------------------------------------------------------------------------

    def _make_error(self, reason: str) -> BadSubmission:
        return BadSubmission(f"{self._root}: {reason}" if self._root else reason)

    def _locate(self, entry: Entry, reason: object) -> BadSubmission:
        return BadSubmission(f"{self.show(entry)}: {reason}")

    def _make_candidates_error(self, candidates: list[Entry], name: str) -> BadSubmission:
        wanted = name if not any(is_notebook(entry.name) for entry in candidates) else "the file to grade"
        listed = ", ".join(map(self.show, candidates[:MAX_SHOWN]))
        return self._make_error(
            f"{len(candidates)} candidates for {wanted} ({listed}); keep one and move the others away"
        )

    def _explain_missing_definitions(self, entry: Entry) -> BadSubmission:
        return self._locate(entry, f"it defines none of {', '.join(self._required)}; submit the file that does")

    def explain_kind(self, entry: Entry) -> BadSubmission:
        """Return the reason that a file submitted on its own cannot be graded."""
        kind = content.identify(entry.name, self._read_start(entry))
        found = f"{kind.name}, " if kind else ""
        remedy = kind.remedy if kind else f"submit {self._main} or a folder that contains it"
        return self._locate(entry, f"{found}not a folder or a .py, .ipynb or .zip file; {remedy}")

    def _read_others(self, found: list[Entry]) -> list[_Other]:
        """Read the files of other names that may contain the code, Python files first."""
        entries = [
            entry
            for entry in found
            if not is_notebook(entry.name)
            and entry.name.lower() not in {*self._contract.files, *self._given}
            and not entry.link
        ]
        entries.sort(key=lambda entry: not is_python(entry.name))
        others = []
        for entry in entries[:MAX_FILES]:
            data = self._read_start(entry)
            names = [] if content.is_stub(data, self._required) else content.find_definitions(data, self._required)
            name = "/".join(map(make_printable, entry.parts))
            others.append(_Other(name, names, content.identify(entry.name, data)))
        return others

    def _explain_absence(self, unedited: Entry | None, found: list[Entry], others: list[_Other]) -> BadSubmission:
        """Return the reason that there is nothing to grade: what was found instead, and what to submit."""
        defining = [other for other in others if other.definitions]
        names = ", ".join(name for name in self._required if any(name in other.definitions for other in defining))
        listed = ", ".join(other.name for other in defining[:MAX_SHOWN])
        is_one = len(defining) == 1
        if unedited:
            clause = f"{listed} {'defines' if is_one else 'define'} {names}"
            place = f"{'it as' if is_one else 'that code in'} a file named {self._main}"
            return self._locate(unedited, f"nothing is implemented in it, but {clause}; submit {place}")
        if self._zip_errors and not defining:
            return self._zip_errors[0]
        seen = ", ".join("/".join(map(make_printable, entry.parts)) for entry in found[:MAX_SHOWN])
        seen = f"only {seen}{' and others' if len(found) > MAX_SHOWN else ''}" if seen else ""
        if not any(is_python(entry.name) for entry in found):
            seen = ", ".join(filter(None, ("no Python file at all", seen)))
        remedy = f"put your classes in a file named {self._main}"
        if defining:
            remedy += f": rename {listed}, which defines {names}" if is_one else f" ({listed} define {names})"
        elif not any(is_python(other.name) and not other.kind for other in others):
            kinds = (f"{other.name} is {other.kind.name}, so {other.kind.remedy}" for other in others if other.kind)
            remedy = next(kinds, remedy)
        return self._make_error(f"no {self._main}, {seen}; {remedy}")


def _select(found: list[Entry], name: str) -> list[Entry]:
    """Return the files of that name, also in capitals."""
    return [entry for entry in found if entry.name.lower() == name]


def _join(cells: Iterable[str]) -> bytes:
    return "\n\n".join(cells).encode()
