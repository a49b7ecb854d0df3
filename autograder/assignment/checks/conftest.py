"""Fixtures of the checks, and support for plain pytest: ``pytest autograder/assignment/checks --submission PATH``."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import pytest

from autograder.assignment import ASSIGNMENT
from autograder.assignment.measure import whole_model
from autograder.assignment.measure.carry_forward import PARTS, find_not_running, read_parts
from autograder.assignment.measure.comparison import Comparison
from autograder.assignment.measure.outputs import draw_shapes
from autograder.assignment.measure.parameter_usage import Claims, measure_claims
from autograder.assignment.measure.whole_model import WholeModel
from autograder.assignment.mistakes import Mistake
from autograder.assignment.oracle.client import Oracle
from autograder.assignment.sizes import SIZES, Sizes
from autograder.grading import standalone
from autograder.grading.suite import Suite, get_check_id
from autograder.grading.verdict import Failed
from autograder.sandbox.remote.errors import StudentError
from autograder.sandbox.remote.student_code import StudentCode


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the option --submission."""
    standalone.add_option(parser)


def pytest_configure(config: pytest.Config) -> None:
    """Start the sandbox and the suite, unless ``grade`` has done so."""
    standalone.configure(config, ASSIGNMENT)


@pytest.fixture(scope="session")
def sizes() -> Sizes:
    """Return the sizes at which models are graded."""
    return SIZES


@pytest.fixture(scope="session")
def oracle(suite: Suite) -> Oracle:
    """Return the oracle, the correct model."""
    return Oracle(suite.oracle)


@pytest.fixture(scope="session")
def shapes(suite: Suite) -> list[tuple[int, int]]:
    """Return the pairs (B, T) that all checks of a single class use, since honest code may cache results per length."""
    return draw_shapes(suite.make_generator("shapes"))


@pytest.fixture(scope="session")
def layouts() -> dict[str, Comparison]:
    """Return each class's comparison with the oracle, by component; unknown classes have no entry."""
    return {}


@pytest.fixture(scope="session")
def own_whole(
    suite: Suite, sizes: Sizes, oracle: Oracle, layouts: dict[str, Comparison], deducted: set[Mistake]
) -> WholeModel:
    """Compare the full model with the oracle; the mark ``deducts`` makes the classes' own checks run first."""
    rng = suite.make_generator("whole_model")
    small = replace(sizes.small, L=3, H=8)  # H and L differ
    return whole_model.compare_whole_model(suite.student, oracle, layouts, sizes.course, small, rng)


@pytest.fixture(scope="session")
def not_running(suite: Suite, sizes: Sizes, own_whole: WholeModel, layouts: dict[str, Comparison]) -> tuple[str, ...]:
    """Return the classes that do not run; none if the full model is known, or if the rubric carries none forward."""
    if not suite.carry_forward or own_whole.layout is not None:
        return ()
    with suite.student.fresh_process() as fresh:  # without the stubs of another check
        return find_not_running(fresh, sizes.small, layouts)


@pytest.fixture(scope="module")
def student(suite: Suite, request: pytest.FixtureRequest) -> Iterator[StudentCode]:
    """Yield the submission, with correct classes in place of those that do not run and that the checks aren't about."""
    mark = request.node.get_closest_marker("about")
    found = _replace_others(suite, request, request.path.stem, mark.args) if mark else suite.student
    yield found
    found.release()


@pytest.fixture
def student_about_gpt(suite: Suite, request: pytest.FixtureRequest) -> StudentCode:
    """Return the submission for a check about GPT, in a file whose other checks are about something else."""
    return _replace_others(suite, request, get_check_id(request.node), ("GPT",))


@pytest.fixture
def student_about_weights(
    suite: Suite, request: pytest.FixtureRequest, student: StudentCode, sizes: Sizes
) -> StudentCode:
    """Return the submission as it is if its GPT can be built: initial weights don't need a forward that runs."""
    if student is suite.student:
        return student
    try:
        suite.student.build("GPT", sizes.small.arguments())
    except StudentError:
        return student
    suite.carried[get_check_id(request.node)] = []
    return suite.student


def _replace_others(suite: Suite, request: pytest.FixtureRequest, checks: str, about: tuple[str, ...]) -> StudentCode:
    """Return the submission with correct classes for those that do not run and that ``checks`` aren't ``about``."""
    broken = request.getfixturevalue("not_running")
    replaced = [name for name in PARTS if name in broken and name not in about]
    suite.carried[checks] = replaced
    return suite.student.with_parts(read_parts(replaced))


@pytest.fixture(scope="module")
def whole(own_whole: WholeModel, oracle: Oracle, student: StudentCode) -> WholeModel:
    """Return the full model's comparison; unknown if one of its classes is replaced."""
    return own_whole if own_whole.student is student else WholeModel(student, oracle)


@pytest.fixture(scope="session")
def known_claims() -> dict[tuple[str, ...], Claims]:
    """Return the claims measured so far, by the classes that are replaced."""
    return {}


@pytest.fixture(scope="module")
def claims(
    suite: Suite,
    sizes: Sizes,
    whole: WholeModel,
    student: StudentCode,
    known_claims: dict[tuple[str, ...], Claims],
) -> Claims:
    """Test the full model's claims; they hold if it is the composition of correct classes."""
    key = tuple(student.parts)
    if key not in known_claims:
        known_claims[key] = _measure_claims(suite, sizes, whole, student)
    return known_claims[key]


def _measure_claims(suite: Suite, sizes: Sizes, whole: WholeModel, student: StudentCode) -> Claims:
    if whole.layout and not whole.mistakes:
        return Claims(steady=True)
    found = measure_claims(student, sizes.small, suite.make_generator("claims"))
    if whole.unused and not found.about_parameters:
        return replace(found, about_parameters=whole.unused, hint=whole_model.UNUSED, causes=whole.causes)
    return found


@pytest.fixture
def logits_depend_on_weights(claims: Claims) -> None:
    """Raise Failed if the logits don't depend on the weights, which every check of the full model assumes."""
    if claims.about_logits:
        raise Failed(claims.about_logits, "Does forward compute its result from the parameters?")
