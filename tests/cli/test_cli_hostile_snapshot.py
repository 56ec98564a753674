"""Dumps of a cluster that are damaged, or that have numbers with which no scheduler can compute."""

from __future__ import annotations

import io
import json
import zipfile
from pathlib import Path
from typing import Any

import pytest

from packwise.kubernetes import MAX_QUANTITY, amounts
from tests.cli.calling import CONFIG, WORKLOAD, Call, write

NODE: dict[str, Any] = {
    "kind": "Node",
    "apiVersion": "v1",
    "metadata": {"name": "n1", "labels": {"topology.kubernetes.io/zone": "z", "example.com/rack": "r"}},
    "status": {"allocatable": {"cpu": "8", "memory": "8Gi", "pods": "110"}},
}
SNAPSHOT = json.dumps({"rawObjects": {"nodes": [NODE], "pods": []}}).encode() + b" " * 5_000
METHODS = {
    "stored": zipfile.ZIP_STORED,
    "deflated": zipfile.ZIP_DEFLATED,
    "bzip2": zipfile.ZIP_BZIP2,
    "lzma": zipfile.ZIP_LZMA,
}
REFUSAL = (
    'error: "dump.zip" is not a dump of KAI\'s snapshot plugin: a complete zip with snapshot.json, stored or deflated\n'
)


def dump(method: str, name: str = "snapshot.json") -> bytes:
    held = io.BytesIO()
    with zipfile.ZipFile(held, "w", METHODS[method]) as archive:
        archive.writestr(name, SNAPSHOT)
    return held.getvalue()


def damaged(data: bytes, at: int) -> bytes:
    return data[:at] + bytes([data[at] ^ 0xFF]) + data[at + 1 :]


def place(call: Call, folder: Path, data: bytes) -> tuple[int, str]:
    write(folder, {"in/topology.yaml": CONFIG, "in/web.yaml": WORKLOAD})
    (folder / "dump.zip").write_bytes(data)
    ran = call("place", "in", "--nodes", "dump.zip")
    return ran.code, ran.stderr


@pytest.mark.parametrize("method", ["bzip2", "lzma"])
def test_other_compressions_are_refused(method: str, call: Call, tmp_path: Path) -> None:
    assert place(call, tmp_path, dump(method)) == (2, REFUSAL)


@pytest.mark.parametrize("method", METHODS)
def test_a_damaged_archive_is_one_error(method: str, call: Call, tmp_path: Path) -> None:
    whole = dump(method)
    for at in range(4, len(whole), max(len(whole) // 60, 1)):
        for data in (damaged(whole, at), whole[:at]):
            code, stderr = place(call, tmp_path, data)
            assert code in (0, 1, 2), stderr
            assert "internal error" not in stderr


@pytest.mark.parametrize("data", [b"PK\x03\x04", dump("stored", "other.json")])
def test_what_is_no_dump_is_one_error(data: bytes, call: Call, tmp_path: Path) -> None:
    assert place(call, tmp_path, data) == (2, REFUSAL)


QUANTITIES = ("1e999", "-1e999", "1e-999", "9" * 40, "9" * 5_000, "9999999999E", "9e18", ".5", 10**400, 1e300, True)


@pytest.mark.parametrize("resource", ["cpu", "memory", "nvidia.com/gpu", "pods", "example.com/nic"])
@pytest.mark.parametrize("quantity", QUANTITIES, ids=range(len(QUANTITIES)))
def test_quantities_are_bounded(quantity: Any, resource: str, call: Call, tmp_path: Path) -> None:
    pod = {
        "kind": "Pod",
        "apiVersion": "v1",
        "metadata": {"name": "p", "namespace": "a", "labels": {"kai.scheduler/queue": "q"}},
        "spec": {"nodeName": "n1", "containers": [{"name": "a", "resources": {"requests": {resource: quantity}}}]},
        "status": {"phase": "Running"},
    }
    roomy = {**NODE, "metadata": {**NODE["metadata"], "name": "n2"}, "status": {"allocatable": {resource: quantity}}}
    listed = {"kind": "List", "apiVersion": "v1", "items": [NODE, roomy, pod]}
    write(tmp_path, {"in/topology.yaml": CONFIG, "in/web.yaml": WORKLOAD, "nodes.json": json.dumps(listed)})

    for words in ("place in --nodes nodes.json", "report in --nodes nodes.json -o html", "check in --nodes nodes.json"):
        ran = call(*words.split())
        assert ran.code in (0, 1, 2), ran.stderr


@pytest.mark.parametrize(
    ("quantity", "amount"),
    [("1e999", MAX_QUANTITY), ("-1e999", -MAX_QUANTITY), ("9e2147483647", MAX_QUANTITY), ("16E", MAX_QUANTITY),
     (10**400, MAX_QUANTITY), ("9" * 5000, MAX_QUANTITY), ("1e-999999", 1), (f"0.{'0' * 5000}1", 1),
     (f"{'0' * 5000}1", 1), (1.5, 2)],
)  # fmt: skip
def test_an_amount_has_64_bits(quantity: str | float, amount: int) -> None:
    assert amounts({"memory": quantity}) == {"memory": amount}


def test_millicores_have_64_bits() -> None:
    assert amounts({"cpu": "1e999"}) == {"cpu": MAX_QUANTITY}
