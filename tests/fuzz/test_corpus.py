"""What fuzzing has found is run again with every test; `make fuzz` looks for more."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.fuzz.targets import TARGETS
from tests.places import TESTDATA

CORPUS = TESTDATA / "fuzz"
CASES = [(name, case) for name in TARGETS for case in sorted((CORPUS / name).iterdir())]


@pytest.mark.parametrize(("name", "case"), CASES, ids=[f"{name}-{case.name}" for name, case in CASES])
def test_a_case_of_the_corpus_is_answered(name: str, case: Path) -> None:
    """A target raises where a promise is not kept."""
    assert TARGETS[name](case.read_bytes()) is None
