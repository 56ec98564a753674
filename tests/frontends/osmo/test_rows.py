"""A pool's topology keys, as users may ask for them."""

from __future__ import annotations

from krmfn.kubeobject import KubeObject
from packwise.frontends.osmo.pool import TopologyKey
from packwise.frontends.osmo.rows import PoolRow, pool_rows
from packwise.select import Package, select

POOLS = """\
pools:
  gb200:
    backend: b
    default_platform: x
    platforms: {x: {}}
    topology_keys:
    - {key: zone, label: topology.kubernetes.io/zone}
    - {key: rack, label: example.com/rack}
  plain: {backend: b}
"""


def workflow(name: str, pool: str, topology: str) -> str:
    return (
        f"workflow:\n  name: {name}\n  pool: {pool}\n  tasks:\n  - {{name: t, image: i, command: [c]}}\n"
        f"  resources: {{default: {{topology: {topology}}}, unused: {{topology: [{{key: zone}}]}}}}\n"
    )


def rows(*texts: str) -> tuple[PoolRow, ...]:
    return pool_rows(select(Package((), documents=tuple([KubeObject.parse(text) for text in texts]))))


def test_pools_have_their_keys_from_the_broadest_and_who_asks_for_one() -> None:
    keys = (TopologyKey("zone", "topology.kubernetes.io/zone"), TopologyKey("rack", "example.com/rack"))

    found = rows(
        POOLS,
        workflow("second", "gb200", "[{key: rack}]"),
        workflow("first", '""', "[{key: zone}]"),
        workflow("asks-for-none", "gb200", "[]"),
        workflow("elsewhere", "plain", "[]"),
    )

    assert found == (
        PoolRow("gb200", "osmo-pool-osmo-workflows-gb200-topology", keys, ("first", "second")),
        PoolRow("plain", None, (), ()),
    )


def test_what_cannot_be_read_is_left_out() -> None:
    assert [row.pool for row in rows("pools:\n  a: {}\n  b: {backend: x}\n")] == ["b"]


def test_without_documents_there_are_no_rows() -> None:
    assert rows() == ()
