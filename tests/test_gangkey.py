"""The key that identifies a gang regardless of its epoch."""

from __future__ import annotations

from typing import Any

import pytest

from packwise.objects.index import stable_identities

GANG = ("scheduler.grove.io/v1alpha1", "PodGang")
PODGROUP = ("scheduling.run.ai/v2alpha2", "PodGroup")


def gang(
    name: str, epoch: str | None, role: str = "Anchor", kind: tuple[str, str] = GANG, replica: str = "0"
) -> dict[str, Any]:
    labels = {
        "app.kubernetes.io/part-of": "a-0",
        "grove.io/podcliqueset-replica-index": replica,
        "grove.io/podgang-role": role,
        **({} if epoch is None else {"grove.io/epoch": epoch}),
    }
    metadata = {"name": name, "namespace": "shop", "labels": labels}
    return {"apiVersion": kind[0], "kind": kind[1], "metadata": metadata}


NAMES: list[tuple[list[dict[str, Any]], list[str]]] = [
    ([gang("a-0-0-17", "17")], ["a-0-0_anchor"]),
    ([gang("a-0-0-17", "17", kind=PODGROUP)], ["a-0-0_anchor"]),
    ([gang("a-0-0-18-pool-2-1", "18", "Tail"), gang("a-0-0-19-pool-2-3", "19", "ScaleOut")],
     ["a-0-0_pool-2-1", "a-0-0_pool-2-3"]),
    # The order is by number, not by text.
    ([gang("a-0-0-1000", "1000"), gang("a-0-0-999", "999"), gang("a-0-1-7", "7", replica="1")],
     ["a-0-0_anchor_1", "a-0-0_anchor", "a-0-1_anchor"]),
    # These names are not parsed.
    ([gang("a-0-0", None), gang("a-0-0-pool-2-1", None, "Tail")], ["a-0-0", "a-0-0-pool-2-1"]),
    ([gang("a-0-0-17", "x"), gang("a-0-0-17", "18"), gang("b", "17")], ["a-0-0-17", "a-0-0-17", "b"]),
    ([gang("a-0-0-17", "17", kind=("v1", "Pod"))], ["a-0-0-17"]),
]  # fmt: skip


@pytest.mark.parametrize(("values", "names"), NAMES)
def test_a_name_without_the_epoch(values: list[dict[str, Any]], names: list[str]) -> None:
    keys = stable_identities(values)

    assert [name for *_, name in keys] == names
    assert {namespace for _, _, namespace, _ in keys} == {"shop"}
