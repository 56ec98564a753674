"""`kind: List`, as `kubectl get -o yaml` prints several objects: taken apart as a baseline, told of among the input."""

from __future__ import annotations

from pathlib import Path

from tests.cli.calling import WORKLOAD, Call, write


def listed(document: str) -> str:
    lines = [line for line in document.splitlines() if not line.startswith("#")]
    entry = "".join(f"{'  ' if number else '- '}{line}\n" for number, line in enumerate(lines))
    return f"apiVersion: v1\nkind: List\nitems:\n{entry}"


def test_a_baseline_is_taken_apart(call: Call, package: Path) -> None:
    write(package.parent, {"live.yaml": listed(WORKLOAD.replace("packDomain: rack", "packDomain: zone"))})

    ran = call("check", "in", "--baseline", "live.yaml", "-o", "json")

    assert [finding["rule"] for finding in ran.findings] == ["update-topology-constraint"]


def test_among_the_input_it_is_told_and_stays_byte_for_byte(call: Call, package: Path) -> None:
    text = listed(WORKLOAD.replace("packDomain: rack", "packDomain: planet"))
    write(package, {"list.yaml": text})

    ran = call("render", "in")

    assert ran.code == 0
    assert text in ran.stdout
    assert ran.stderr == (
        "warning: in/list.yaml:2:7: List kind: must be split into documents: packwise does not look at the objects "
        "within a List [list-not-read]\n"
    )
