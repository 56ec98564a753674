"""Each example is migrated from its revision to every later one. The scheduler gets the same if both can express it."""

from __future__ import annotations

import shutil
from itertools import pairwise
from pathlib import Path
from typing import Any, cast

import pytest

from krmfn.result import exit_code
from packwise.cli.command_line import main
from packwise.inputs.groups import read_inputs
from packwise.inputs.request import Named
from packwise.migrate.rewrite import added_bounds, gang_key, normalize
from packwise.pipeline import Rendered
from packwise.render.files import render_inputs
from packwise.revisions.grove import RECORDS, REVISIONS
from tests.cli.calling import listing
from tests.examples import EXAMPLES, ORDER, holds_workloads_of_grove, revision_of

CANNOT_PREFER = {record.name for record in RECORDS if not (record.always_preferred or record.deprecates_pack_domain)}
"""Revisions that cannot express the preferred level which the first two designs set for everything."""


REFUSED = {
    "second-design": '"kubernetes.io/hostname" must be the lowest level, but "example.com/numa" is below it',
}
"""Examples that no later revision accepts, with the reason: an error that only a condition reported before."""


def rendered(folder: Path) -> Rendered:
    found = render_inputs(read_inputs(Named((str(folder),))))
    assert not exit_code(found.results), [result.message for result in found.results]
    return found


def examples() -> list[Path]:
    """Return the examples with workloads of Grove."""
    return [path for path in EXAMPLES if holds_workloads_of_grove(path)]


STEPS = [(example, target) for example in examples() for target in ORDER[ORDER.index(revision_of(example)) + 1 :]]


def podgangs(folder: Path, *, preferred: bool = True) -> dict[tuple[str, ...], Any]:
    """Return the bounds of each gang by its pod groups. From alpha.12 on, names and places of constraints differ."""
    specs = [item.value["spec"] for item in rendered(folder).generated if item.kind == "PodGang"]
    gangs = {gang_key(spec): normalize(spec) for spec in specs}
    return gangs if preferred else without_preferred(gangs)


def tells_the_same(before: dict[tuple[str, ...], Any], after: dict[tuple[str, ...], Any]) -> bool:
    """Return True if the gangs are the same, and no bound of their pods was added or removed."""
    return before.keys() == after.keys() and all(added_bounds(old, after[key]) == {} for key, old in before.items())


def without_preferred(value: Any) -> Any:
    if isinstance(value, list):
        return [without_preferred(entry) for entry in cast("list[Any]", value)]
    if not isinstance(value, dict):
        return value
    entries = cast("dict[str, Any]", value)
    kept = {key: without_preferred(entry) for key, entry in entries.items() if key != "preferred"}
    return {key: entry for key, entry in kept.items() if entry != {"packConstraint": {}}}


def test_every_design_has_an_example() -> None:
    designs = {record.name for record in RECORDS if not record.releases}

    assert {revision_of(example) for example in examples()} >= designs


@pytest.mark.parametrize(
    ("example", "target"), [(e, t) for e, t in STEPS if e.name in REFUSED], ids=lambda part: getattr(part, "name", part)
)
def test_what_a_later_revision_refuses_is_not_migrated(
    example: Path, target: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = shutil.copytree(example, tmp_path / "in")
    before = listing(folder)

    assert main(["migrate", str(folder), "--to", target]) == 1

    assert f'with revision "{target}": {REFUSED[example.name]}' in capsys.readouterr().err
    assert listing(folder) == before


@pytest.mark.parametrize(
    ("example", "target"),
    [(e, t) for e, t in STEPS if e.name not in REFUSED],
    ids=lambda part: getattr(part, "name", part),
)
def test_podgangs_stay_the_same(example: Path, target: str, tmp_path: Path) -> None:
    folder = shutil.copytree(example, tmp_path / "in")
    before, source = podgangs(folder), REVISIONS[revision_of(folder)]

    assert main(["migrate", str(folder), "--to", target]) == 0

    assert revision_of(folder) == target
    if source.always_preferred and target in CANNOT_PREFER:
        assert not tells_the_same(before, podgangs(folder))
        assert tells_the_same(without_preferred(before), podgangs(folder))
    else:
        assert tells_the_same(before, podgangs(folder))


@pytest.mark.parametrize("example", [e for e in examples() if e.name not in REFUSED], ids=lambda path: path.name)
def test_one_revision_after_the_other_leads_where_one_step_does(example: Path, tmp_path: Path) -> None:
    at_once, stepwise = (shutil.copytree(example, tmp_path / name) for name in ("at-once", "stepwise"))
    later = ORDER[ORDER.index(revision_of(example)) :]

    for _, target in pairwise(later):
        assert main(["migrate", str(stepwise), "--to", target]) == 0
    assert main(["migrate", str(at_once), "--to", later[-1]]) == 0

    # Some revisions between the two cannot express what is preferred.
    assert tells_the_same(podgangs(at_once, preferred=False), podgangs(stepwise, preferred=False))


@pytest.mark.parametrize(
    "example", [e for e, t in STEPS if t == "upstream" and e.name not in REFUSED], ids=lambda path: path.name
)
def test_the_two_steps_of_running_workloads_lead_where_one_does(example: Path, tmp_path: Path) -> None:
    at_once, stepwise = (shutil.copytree(example, tmp_path / name) for name in ("at-once", "stepwise"))

    assert main(["migrate", str(stepwise), "--to", "upstream", "--keep-pack-domain"]) == 0
    main(["check", str(stepwise), "--fix"])
    assert main(["migrate", str(at_once), "--to", "upstream"]) == 0

    # The preferences of the first designs cannot be added to a running workload.
    assert podgangs(stepwise) == podgangs(at_once, preferred=False)
