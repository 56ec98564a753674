"""A render of odd text, as kyaml reads it before and after: items differ only in packwise's annotations."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any

import pytest

from tests.kyaml import KyamlOracle
from tests.mutation import mutated
from tests.places import TESTDATA
from tests.render.calling import render

PACKAGE = (TESTDATA / "odd" / "workloads.yaml").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def oracle(kyaml_oracle: Path) -> Iterator[KyamlOracle]:
    with KyamlOracle(kyaml_oracle) as running:
        yield running


def without_own(value: Any) -> Any:
    """Return a typed value without packwise's annotations, and without mappings that had only these."""
    if value[0] == "list":
        return ["list", [without_own(item) for item in value[1]]]
    if value[0] != "map":
        return value
    kept = [[key, without_own(item)] for key, item in value[1] if not key.startswith("packwise.dev/")]
    return ["map", [[key, item] for key, item in kept if (key, item) != ("annotations", ["map", []])]]


@pytest.mark.parametrize("seed", range(6))
def test_items_mean_to_kyaml_what_they_meant_before(oracle: KyamlOracle, seed: int) -> None:
    random = Random(seed)  # noqa: S311 (tests)
    rendered = 0
    for _ in range(60):
        text = mutated(random, PACKAGE)
        before = oracle.items(text)
        answer = render(text)
        assert "internal error" not in answer.stderr, text
        if before is None or not answer.stdout:
            continue
        after = oracle.items(answer.stdout)
        assert after is not None, text
        assert [without_own(item) for item in after[: len(before) - 1]] == [without_own(i) for i in before[:-1]], text
        assert after[-1] == before[-1]
        rendered += 1
        if answer.code == 0:
            assert render(answer.stdout).stdout == answer.stdout, text
    assert rendered > 5
