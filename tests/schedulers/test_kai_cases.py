"""What is said of the objects that configure KAI, of pods as its webhook takes them, and where `place` puts these.

A table, each case with its answer.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

from krmfn.kubeobject import KubeObject
from krmfn.result import sort_results
from krmfn.yamltext import read, split_documents, write
from packwise.pipeline import render
from packwise.place.placing import place_gangs, situation
from packwise.schedulers.kai.snapshot import read_snapshot
from packwise.select.selection import Package
from tests.frontends.workloads.workloads import parsed, shown
from tests.places import TESTDATA

HEAD = """\
# Each case is a file, `objects`, beside a TopologyRender whose spec has the lines of `settings`. `findings` is all that
# is said of it. With `nodes`, `places` is what comes of each gang on these; an error leaves none of it.
"""
TABLE = "kai/cases.yaml"
SETTINGS = """\
apiVersion: packwise.dev/v1alpha1
kind: TopologyRender
metadata: {name: topology}
spec:
"""
OF_ALL = """\
revision: v0.1.0-alpha.11
emit: [PodGroup]
apply: false
topologyAwareScheduling: {enabled: true}
scheduler: {profiles: [{name: kai-scheduler, default: true}]}
"""


def cases() -> list[dict[str, Any]]:
    return cast("list[dict[str, Any]]", read((TESTDATA / TABLE).read_text(encoding="utf-8")))


def package_of(case: dict[str, Any]) -> Package:
    lines = "".join(f"  {line}\n" for line in case.get("settings", OF_ALL).splitlines())
    return Package((KubeObject.parse(SETTINGS + lines, file="topology.yaml"), *parsed(case["objects"])))


def places(case: dict[str, Any], package: Package) -> list[str]:
    """What comes of each gang on the nodes of the case: fits or not, and why."""
    nodes = tuple(cast("dict[str, Any]", read(each.text)) for each in split_documents(case["nodes"]))
    rendered = render(package.replace(nodes=nodes))
    if rendered.scheduled is None:
        return []
    placing = place_gangs(situation(rendered, read_snapshot(nodes)))
    return [
        f"{answer.gang.name}: {'fits' if answer.fits else 'does not fit'}, {answer.placed_pods} of "
        f"{answer.gang.pods} pods"
        + "".join(f"; {text}" for text in (*answer.reasons, *(f"note: {note}" for note in answer.notes)))
        for answer in placing.gangs
    ]


def answered(case: dict[str, Any]) -> dict[str, Any]:
    """The case with all that comes of it."""
    package = package_of(case)
    results = [each for each in sort_results(render(package).results) if each.tags["rule"] != "no-workloads"]
    answer = {key: part for key, part in case.items() if key not in ("findings", "places")}
    answer |= {"findings": shown(results)} if results else {}
    return answer | ({"places": places(case, package)} if "nodes" in case else {})


def test_objects_are_answered_as_the_table_says(assert_expected: Callable[[str, str], None]) -> None:
    assert_expected(TABLE, HEAD + write([answered(case) for case in cases()]))


def test_no_two_cases_have_one_name() -> None:
    names = [case["name"] for case in cases()]
    assert len(set(names)) == len(names)
