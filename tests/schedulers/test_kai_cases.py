"""Findings about KAI's configuration and about pods for its webhook, and the places that `place` finds for these pods.

They are a table of cases with the whole answer.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

from krmfn.kubeobject import KubeObject
from krmfn.result import sort_results
from krmfn.yamltext import read, write
from packwise.pipeline import render
from packwise.pipeline.selection import Package
from packwise.revisions.grove import NEWEST
from tests.frontends.workloads.workloads import parsed, shown
from tests.places import TESTDATA
from tests.schedulers.placing import places

HEAD = """\
# Each case is a file, `objects`, and a TopologyRender with the lines of `settings` in its spec. `findings` are all
# findings. With `nodes`, `places` has the outcome of each gang on these nodes, or nothing after an error. NEWEST is the
# newest release of Grove that packwise knows.
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


def answered(case: dict[str, Any]) -> dict[str, Any]:
    """Return the case with all its results."""
    package = package_of(case)
    results = [each for each in sort_results(render(package).results) if each.tags["rule"] != "no-workloads"]
    answer = {key: part for key, part in case.items() if key not in ("findings", "places")}
    answer |= {"findings": shown(results)} if results else {}
    return answer | ({"places": places(case["nodes"], package)} if "nodes" in case else {})


def test_objects_are_answered_as_the_table_says(assert_expected: Callable[[str, str], None]) -> None:
    answers = write([answered(case) for case in cases()])
    # A new release changes no case.
    assert_expected(TABLE, HEAD + answers.replace(f'"{NEWEST.name}", the newest', '"NEWEST", the newest'))


def test_no_two_cases_have_one_name() -> None:
    names = [case["name"] for case in cases()]
    assert len(set(names)) == len(names)
