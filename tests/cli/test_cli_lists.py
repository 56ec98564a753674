"""`kind: List`, as `kubectl get -o yaml` prints several objects: taken apart as a baseline, read among the input."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.calling import WORKLOAD, Call, write


def listed(document: str) -> str:
    lines = [line for line in document.splitlines() if not line.startswith("#")]
    entry = "".join(f"{'  ' if number else '- '}{line}\n" for number, line in enumerate(lines))
    return f"apiVersion: v1\nkind: List\nitems:\n{entry}"


def test_a_baseline_is_taken_apart(call: Call, package: Path) -> None:
    write(package.parent, {"live.yaml": listed(WORKLOAD.replace("packDomain: rack", "packDomain: zone"))})

    ran = call("check", "in", "--baseline", "live.yaml", "-o", "json")

    assert [finding["rule"] for finding in ran.findings] == ["update-topology-constraint"]


def test_among_the_input_it_is_read_and_stays_byte_for_byte(call: Call, package: Path) -> None:
    text = listed(WORKLOAD.replace("name: web", "name: listed"))
    write(package, {"list.yaml": text})

    ran = call("render", "in")

    assert (ran.code, ran.messages) == (0, "")
    assert text in ran.stdout
    assert "name: listed-0\n" in ran.stdout


@pytest.mark.parametrize("kind", ["List", "PodCliqueSetList"])
def test_findings_have_the_entrys_place(call: Call, package: Path, kind: str) -> None:
    text = listed(WORKLOAD.replace("packDomain: rack", "packDomain: block")).replace("kind: List", f"kind: {kind}")
    write(package, {"web/workload.yaml": text})

    (finding,) = call("check", "in", "-o", "json").findings

    assert (finding["rule"], finding["line"], finding["column"]) == ("topology-domain-unknown", 12, 40)
    assert finding["path"] == "items[0].spec.template.topologyConstraint.packDomain"


def test_entries_of_a_list_of_one_kind_need_not_say_what_they_are(call: Call) -> None:
    entry = "\n".join(
        line for line in listed(WORKLOAD).splitlines() if "grove.io" not in line and "PodCliqueSet" not in line
    )
    text = entry.replace("items:\n", "items:\n- status: {}\n").replace("kind: List", "kind: PodCliqueSetList")
    text = text.replace("apiVersion: v1", "apiVersion: grove.io/v1alpha1")

    ran = call("check", "-", stdin=text)

    assert "[configuration-absent]" in ran.stdout


def test_lists_are_not_mended_in_silence(call: Call, package: Path) -> None:
    write(package, {"web/workload.yaml": listed(WORKLOAD.replace("replicas: 2", "replicas: 2 "))})

    assert call("check", "in", "--fix").code == 0
