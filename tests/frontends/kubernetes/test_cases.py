"""All findings about Kubernetes' own gangs: a table of cases with the whole answer."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

from krmfn.kubeobject import KubeObject
from krmfn.result import sort_results
from krmfn.yamltext import read, write
from packwise.pipeline import render
from packwise.pipeline.selection import Package
from tests.frontends.workloads.workloads import parsed, shown
from tests.places import TESTDATA

HEAD = """\
# Each case is a file, `objects`, that is checked. If it has the file `before`, it is an update of that file.
# `kubernetes` is the section of the settings with this name. `settings` are other lines in their spec. `findings` are
# all findings.
"""
TABLE = "kubernetes/rules.yaml"
SETTINGS = """\
apiVersion: packwise.dev/v1alpha1
kind: TopologyRender
metadata: {name: topology}
spec:
  apply: false
"""


def cases() -> list[dict[str, Any]]:
    return cast("list[dict[str, Any]]", read((TESTDATA / TABLE).read_text(encoding="utf-8")))


def answered(case: dict[str, Any]) -> dict[str, Any]:
    """Return the case with all its results."""
    lines = [f"kubernetes: {case.get('kubernetes', '{}')}", *case.get("settings", "").splitlines()]
    configuration = KubeObject.parse(SETTINGS + "".join(f"  {line}\n" for line in lines), file="topology.yaml")
    baseline = (configuration, *parsed(case["before"])) if "before" in case else None
    package = Package((configuration, *parsed(case["objects"])), baseline=baseline)
    findings = shown(sort_results(render(package).results), "server")
    return {key: part for key, part in case.items() if key != "findings"} | {"findings": findings}


def test_an_object_is_answered_as_the_table_says(assert_expected: Callable[[str, str], None]) -> None:
    assert_expected(TABLE, HEAD + write([answered(case) for case in cases()]))


def test_no_two_cases_have_one_name() -> None:
    names = [case["name"] for case in cases()]

    assert len(set(names)) == len(names)
