"""`kind: List`, as `kubectl get -o yaml` prints several objects: divided in a baseline, and read in the input."""

from __future__ import annotations

from pathlib import Path

import pytest

from krmfn.testing import case_input
from tests.cli.calling import WORKLOAD, Call, write
from tests.places import TESTDATA

HEAD = "apiVersion: config.kubernetes.io/v1\nkind: ResourceList\nitems:\n"


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

    # The condition of the object has no other place.
    assert (ran.code, ran.messages) == (0, "1 info (-v lists it)\n")
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


@pytest.mark.parametrize("margin", ["", "  ", "      "])
def test_findings_in_a_list_among_items_have_its_place(call: Call, margin: str) -> None:
    entry = "".join(f"{margin}  {line}\n" for line in listed(WORKLOAD.replace("name: router", "name: R")).splitlines())
    text = f"{HEAD}{margin}- {entry[len(margin) + 2 :]}"

    findings = [each for each in call("check", "-", "-o", "json", stdin=text).findings if each["line"] is not None]

    lines = text.splitlines()
    assert {lines[each["line"] - 1][each["column"] - 1 :] for each in findings} == {
        "R",
        "{packDomain: rack}",
        'R, image: "registry.example.com/router:1"}',
    }


def test_the_clusters_of_a_resource_list_are_checked_each_by_its_own(call: Call) -> None:
    folder = TESTDATA / "render" / "an-error-in-one-cluster-keeps-every-cluster-from-being-written"

    ran = call("check", "-", stdin=case_input(folder).decode())

    assert [line.partition(": Pod")[0] for line in ran.stdout.splitlines() if line.startswith("error")] == [
        "error: clusters/east/web.yaml:10:38",
        "error: clusters/west/web.yaml:10:38",
    ]
    checked = "with Grove grep-244-multi (clusters/{}/topology.yaml)"
    assert ran.closing == f"2 errors in 1 file; 1 workload checked {checked.format('east')}; 1 {checked.format('west')}"


def test_lists_are_not_fixed_in_silence(call: Call, package: Path) -> None:
    write(package, {"web/workload.yaml": listed(WORKLOAD.replace("replicas: 2", "replicas: 2 "))})

    assert call("check", "in", "--fix").code == 0
