"""Match the people of an export, a roster or a sheet to the students in the gradebook."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

from autograder.course.gradebook.store import Gradebook
from autograder.course.intake.identity import STRONG, Person, name_key


def match_students(book: Gradebook, people: Sequence[Person]) -> list[int | None]:
    """Match each person of one source to a known student, or to None if in doubt.

    Two people match the same student only if their keys are equal; if two could be the same student, neither matches.
    """
    wanted = {person.key: person for person in people}
    found: dict[tuple[tuple[str, str], ...], int] = {}
    # Certain matches come first, so that a name never overrides an identifier.
    for match in (_match_whole_key, _match_any_identifier, _match_label_or_name):
        taken = set(found.values())
        claims: dict[int, list[Person]] = defaultdict(list)
        for key, person in wanted.items():
            if key not in found and (own := match(book, person)) is not None and own not in taken:
                claims[own].append(person)
        found |= {claimants[0].key: own for own, claimants in claims.items() if len(claimants) == 1}
    return [found.get(person.key) for person in people]


def match_or_add_students(book: Gradebook, people: Sequence[Person], on_roster: bool = False) -> list[int]:
    """Return the ids of the people of one source; add those not yet known, and every new identifier."""
    found = {person.key: own for person, own in zip(people, match_students(book, people), strict=True)}
    for person in people:
        known = found[person.key]
        if known is None:
            found[person.key] = known = book.add_student(person.display_name)
        elif person.name and on_roster:  # a roster spells names properly
            book.rename_student(known, person.name)
        if on_roster:
            book.mark_on_roster(known)
        names = [("name", name_key(person.name))] if person.name else []
        book.add_identifiers(known, [*person.ids, *person.key, *names])
    return [own for person in people if (own := found[person.key]) is not None]


def _match_whole_key(book: Gradebook, person: Person) -> int | None:
    """Return the one student who has every identifier in the person's key, or None."""
    common = set.intersection(*(set(book.find_ids(value, kind)) for kind, value in person.key))
    return common.pop() if len(common) == 1 else None


def _match_any_identifier(book: Gradebook, person: Person) -> int | None:
    """Return the one student who has any identifier in the person's key, or None."""
    known = set[int]().union(*(book.find_ids(value, kind) for kind, value in person.key))
    return known.pop() if len(known) == 1 else None


def _match_label_or_name(book: Gradebook, person: Person) -> int | None:
    """Return the student with the person's folder or name, or None.

    A name matches only if one student has it, and no identifier of that student contradicts the person's.
    """
    if any(book.find_ids(value, kind) for kind, value in person.key):
        return None  # one of the person's identifiers is known, but its owner is unclear
    for kind, value in person.ids:
        found = book.find_ids(value) if kind == "label" else book.find_ids(value, "label")
        if len(found) == 1:
            return found[0]
    found = book.find_ids(name_key(person.name), "name") if person.name else []
    if len(found) != 1:
        return None
    known_kinds = {kind for kind, _ in book.list_identifiers(found[0])}
    return None if known_kinds & {kind for kind, _ in person.ids} & set(STRONG) else found[0]
