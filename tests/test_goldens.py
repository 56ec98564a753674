"""The command gives the answers of the operators' own code, case by case. The installed command runs one case of each
kind.

`golden_exceptions.toml` lists the disagreements. A difference that is not in the list fails, and so does an entry for a
case that agrees.
"""

from __future__ import annotations

import tomllib
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from tests.frontends.osmo import goldens as osmo
from tests.golden import compare
from tests.golden.cases import GOLDEN
from tests.golden.packing import UPSTREAMS
from tests.places import ROOT

pytestmark = pytest.mark.client

EXCEPTIONS: dict[str, Any] = tomllib.loads((ROOT / "tests" / "golden_exceptions.toml").read_text(encoding="utf-8"))
KNOWN: list[dict[str, str]] = EXCEPTIONS.get("case", [])
REVISIONS = ("alpha7", "head", "alpha12", "alpha14", "osmo")


@cache
def cases() -> list[Any]:
    """Return one parameter for each case of the revisions in scope."""
    return [
        pytest.param(record, id=f"{revision}/{record.case}")
        for revision in REVISIONS
        for record in compare.records(GOLDEN / revision)
    ]


def excepted(revision: str, case: str) -> set[str]:
    """Return the aspects of a case that are known to differ."""
    return {entry["aspect"] for entry in KNOWN if (entry["revision"], entry["case"]) == (revision, case)}


@cache
def one_of_each_kind() -> list[Any]:
    """Return the first accepted case and the first refused case of each revision and kind."""
    found: dict[Any, Any] = {}
    for case in cases():
        record = case.values[0]
        refused = bool(record.errors.get("rejectedBy") or record.errors.get("errors"))
        found.setdefault((record.revision, record.kind, refused), case)
    return list(found.values())


@pytest.mark.parametrize("record", one_of_each_kind())
def test_the_installed_command_answers_as_the_one_in_this_process(
    record: Any, packwise: Path, here: compare.Packwise
) -> None:
    installed = compare.command(str(packwise))

    assert compare.guarded(installed, record) == compare.guarded(here, record)


@pytest.mark.parametrize("record", cases())
def test_case_agrees_with_the_operator(record: Any, here: compare.Packwise) -> None:
    known = excepted(record.revision, record.case)

    found: list[tuple[str, str | None]] = compare.guarded(here, record)
    if record.revision == "osmo":
        found += osmo.aspects(record)

    assert found, "nothing was compared"
    left_out = EXCEPTIONS["out_of_scope"].get(record.revision, [])
    differing = {aspect: each for aspect, each in found if each is not None and aspect not in left_out}
    unexpected = {aspect: difference for aspect, difference in differing.items() if aspect not in known}
    assert unexpected == {}
    agreeing = sorted(known - set(differing))
    assert agreeing == [], "these agree now: take them out of tests/golden_exceptions.toml"


def test_every_exception_names_a_case_and_says_why() -> None:
    there = {(p.values[0].revision, p.values[0].case) for p in cases()}
    gone = [e for e in KNOWN if (e["revision"], e["case"]) not in there]
    assert [e for e in gone if not e["case"].startswith(UPSTREAMS)] == []
    assert [e for e in KNOWN if not e["reason"].strip()] == []
    keys = [(e["revision"], e["case"], e["aspect"]) for e in KNOWN]
    assert keys == sorted(set(keys)), "entries must be sorted and stand once"
    assert set(EXCEPTIONS["out_of_scope"]) <= set(REVISIONS)
