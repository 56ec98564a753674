"""Every test run repeats the inputs that fuzzing found. `make fuzz` looks for more."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.fuzz.targets import TARGETS
from tests.places import TESTDATA
from tests.tables import assert_each

CORPUS = TESTDATA / "fuzz"


@pytest.mark.parametrize("target", TARGETS)
def test_each_case_of_the_corpus_is_answered(target: str, pytestconfig: pytest.Config) -> None:
    """A target raises an exception if packwise breaks a promise."""

    def answer(case: Path) -> None:
        assert TARGETS[target](case.read_bytes()) is None

    assert_each({case.name: case for case in sorted((CORPUS / target).iterdir())}, answer, pytestconfig)
