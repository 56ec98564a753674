"""All topologies and the workloads that use them, as a table or JSON.

Grove's design has such a table (GREP-244, "Topology usage overview"): topology and workload, or `<none>`. Source:
spec/packwise.md#3.
"""

from __future__ import annotations

from krmfn.fieldpath import FieldError
from krmfn.hints import TYPE_CHECKING, Record
from krmfn.result import exit_code, sort_results
from krmfn.terminal import escape_line
from packwise.answer import PLAIN, Answer, Terminal, Text
from packwise.check.groups import limits_answer
from packwise.console import json_text, shorten, table
from packwise.inputs.coverage import coverage_of
from packwise.inputs.groups import read_used_inputs
from packwise.objects.index import identity, shown_name
from packwise.objects.kinds import KINDS, KUEUE_TOPOLOGY, TOPOLOGY
from packwise.output.findings_text import as_lines
from packwise.pipeline import render
from packwise.pipeline.registry import brings_topologies, front_ends, node_pools, queued_sources
from packwise.pipeline.selection import has_grove_workloads, topologies_of
from packwise.pipeline.steps import read_package, results_of, unreadable_result
from packwise.topology.known import ListedTopology, Use
from packwise.wording import list_first

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from typing import Any

    from krmfn.kubeobject import KubeObject
    from krmfn.result import Result
    from packwise.inputs.coverage import Coverage
    from packwise.objects.index import Inventory
    from packwise.pipeline.selection import Package, Selection
    from packwise.placement import NodePool, Placement
    from packwise.topologies.options import Topologies
    from packwise.topology.known import KnownTopologies

_NONE = "<none>"

_LONGEST = 1000
"""The largest number of characters that a cell shows. Names in a cluster have at most 253."""


def topologies(command: Topologies, terminal: Terminal = PLAIN) -> Answer:
    """Return the overview. Raise UsageError if the paths cannot be read."""
    inputs = read_used_inputs(command.named)
    rendered = render(inputs.package, is_listed=False)
    placements = [placement for plan in rendered.plans for placement in plan.placements]
    listing = Overview(is_known=False) if inputs.is_lost else overview(inputs.package, rendered.queued, placements)
    results = sort_results([*inputs.results, *listing.results])
    coverage = coverage_of(inputs.files, inputs.skipped, rendered)
    text = _as_json(listing, coverage) if command.as_json else _as_text(listing)
    return Answer(
        (Text((text,)),) if listing.is_known else (),
        tuple(as_lines(results, coloured=terminal.is_stderr_coloured)),
        (coverage.line,),
        exit_code(results),
    )


class _Row(Record):
    """A line of the table of uses. It has a topology with or without a use, or a use with any number of topologies."""

    topologies: tuple[str, ...]
    use: Use | None


def _rows(listing: Overview) -> list[_Row]:
    """Return each topology with its workloads, then names without a topology, then all other workloads.

    A workload with alternative topologies has one row. One row for each alternative would multiply jobs by flavors.
    """
    names = dict.fromkeys([topology.name for topology in listing.topologies])
    by_name: dict[str | None, list[Use]] = {}
    for use in sorted(listing.uses, key=lambda use: _name_parts(use)[1:]):
        by_name.setdefault(use.topology, []).append(use)
    others = by_name.pop(None, [])
    missing = sorted(name for name in by_name if name is not None and name not in names)
    shared = {name for each in dict.fromkeys([use.alternatives for use in others]) for name in each}
    rows: list[_Row] = []
    for name in (*names, *missing):
        uses = by_name.get(name, [])
        if uses or name not in shared:
            rows += [_Row((name,), use) for use in uses or [None]]
    rows += [_Row(use.alternatives, use) for use in others if use.alternatives]
    return rows + [_Row((), use) for use in others if not use.alternatives]


def _as_text(listing: Overview) -> str:
    lines: list[str] = [] if listing.enabled else ["topology-aware scheduling is disabled", ""]
    if listing.topologies:
        listed = [(entry.name, entry.kind, _origin(entry), _levels(entry)) for entry in listing.topologies]
        lines += [*_lines(("TOPOLOGY", "KIND", "FROM", "LEVELS"), listed), ""]
    rows = _rows(listing)
    if rows:
        known = frozenset([topology.name for topology in listing.topologies])
        titles = {
            topologies: _title(topologies, known) for topologies in dict.fromkeys([row.topologies for row in rows])
        }
        cells = [(titles[row.topologies], *_cells(row)) for row in rows]
        lines += _lines(("TOPOLOGY", "WORKLOAD", "CHOSEN", "SCHEDULED PODS"), cells)
    else:
        lines.append("no topologies and no workloads")
    if listing.pools:
        heads = ("NODE POOL", "SHARD", "NODES", "QUEUES", "WORKLOADS")
        lines += ["", *_lines(heads, [_pool_cells(pool) for pool in listing.pools])]
    return "".join([f"{line}\n" for line in lines])


def _pool_cells(pool: NodePool) -> tuple[str, ...]:
    workloads = [f"{namespace}/{name}" for _, namespace, name in _pool_workloads(pool)]
    nodes = str(len(pool.nodes)) if pool.nodes else ""
    return pool.name or "<default>", list_first(pool.shards), nodes, list_first(pool.queues), list_first(workloads)


def _pool_workloads(pool: NodePool) -> list[tuple[str, str, str]]:
    """Return kind, namespace and name of each workload with a gang in the pool. Each appears once."""
    names: set[tuple[str, str, str]] = set()
    for placement in pool.placements:
        value = placement.subject.value
        names.add((*identity(value)[1:3], shown_name(value)) if value.get("apiVersion") else ("", "", placement.source))
    return sorted(names)


def _title(topologies: Sequence[str], known: frozenset[str]) -> str:
    """Return some names of topologies. Names that do not exist come first, so that they are always shown."""
    names = [
        name if name in known else f"{name} (does not exist)" for name in sorted(topologies, key=known.__contains__)
    ]
    return list_first(names) or _NONE


def _cells(row: _Row) -> tuple[str, str, str]:
    use = row.use
    if use is None:
        return _NONE, "", ""
    _, namespace, workload = _name_parts(use)
    scheduled = "" if use.scheduled_pods is None else str(use.scheduled_pods)
    return f"{namespace}/{workload}", _choice_text(use) if row.topologies else "", scheduled


def _choice_text(use: Use) -> str:
    if use.queue:
        return f"by queue {use.queue}"
    return "by name" if use.is_explicit else "by default"


def _origin(topology: ListedTopology) -> str:
    place = topology.item.location()
    return f"{place.file or '<stdin>'}:{place.line}{' (configuration)' if topology.generated else ''}"


def _levels(topology: ListedTopology) -> str:
    return ", ".join([f"{level.domain}={level.key}" if level.domain else level.key for level in topology.levels])


def _name_parts(use: Use) -> tuple[str, str, str]:
    """Return the kind, the namespace and the name of the workload."""
    value = use.workload.value
    return use.document or (*identity(value)[1:3], shown_name(value))


def _lines(head: tuple[str, ...], rows: Sequence[tuple[str, ...]]) -> list[str]:
    return table([head, *([escape_line(shorten(cell, _LONGEST)) for cell in row] for row in rows)])


def _as_json(listing: Overview, coverage: Coverage) -> str:
    uses: dict[str | None, list[Use]] = {}
    shared: dict[tuple[str, ...], list[Use]] = {}
    for row in _rows(listing):
        if row.use is not None and row.use.alternatives:
            shared.setdefault(row.topologies, []).append(row.use)
        elif row.use is not None:
            uses.setdefault(row.use.topology, []).append(row.use)
    groups: dict[str, list[int]] = {}
    for place, topologies in enumerate(shared):
        for name in topologies:
            groups.setdefault(name, []).append(place)
    names = {topology.name for topology in listing.topologies}
    missing = [name for name in dict.fromkeys([*uses, *groups]) if name is not None and name not in names]

    def users(name: str) -> dict[str, Any]:
        return {"workloads": [_use(use) for use in uses.get(name, ())], "groups": groups.get(name, [])}

    whole = {
        "enabled": listing.enabled,
        "topologies": [{**_topology(topology), **users(topology.name)} for topology in listing.topologies],
        "missing": [{"name": name, **users(name)} for name in missing],
        "groups": [
            {"topologies": topologies, "workloads": [_use(use) for use in own]} for topologies, own in shared.items()
        ],
        "withoutTopology": [_use(use) for use in uses.get(None, [])],
        "nodePools": [_pool(pool) for pool in listing.pools],
        "coverage": coverage.fields,
    }
    return json_text(whole)


def _topology(topology: ListedTopology) -> dict[str, Any]:
    place = topology.item.location()
    return {
        "kind": topology.kind,
        "name": topology.name,
        "generated": topology.generated,
        "file": place.file,
        "line": place.line,
        "levels": [{"domain": level.domain, "key": level.key} for level in topology.levels],
    }


def _pool(pool: NodePool) -> dict[str, Any]:
    workloads = [
        {"kind": kind, "namespace": namespace, "name": name} for kind, namespace, name in _pool_workloads(pool)
    ]
    return {
        "name": pool.name,
        "shards": list(pool.shards),
        "nodes": list(pool.nodes),
        "queues": list(pool.queues),
        "workloads": workloads,
    }


def _use(use: Use) -> dict[str, Any]:
    kind, namespace, name = _name_parts(use)
    return {
        "kind": kind,
        "namespace": namespace,
        "name": name,
        "explicit": use.is_explicit and use.topology is not None,
        "scheduledPods": use.scheduled_pods,
    }


def has_sources(package: Package) -> bool:
    """Return True if the package has something to render: a configuration, a topology or a workload."""
    inventory, selection = read_package(package)
    # Topologies of users alone also enable topology-aware scheduling.
    if selection.is_configured or brings_topologies(inventory):
        return True
    settings, revision = selection.settings, selection.revision
    return any(True for front_end in front_ends(inventory) for _ in front_end.uses(inventory, settings, revision))


class Overview(Record):
    """All topologies by name, and the workloads with their topologies.

    `enabled` is true if topology-aware scheduling is enabled. `results` are about the configuration and the CRDs.
    `is_known` is true if the topologies could be determined in spite of these results. `pools` are the node pools, or
    () if no object of the input is in one.
    """

    topologies: tuple[ListedTopology, ...] = ()
    uses: tuple[Use, ...] = ()
    enabled: bool = False
    results: tuple[Result, ...] = ()
    is_known: bool = True
    pools: tuple[NodePool, ...] = ()


def _queued_uses(inventory: Inventory, known: KnownTopologies, selection: Selection) -> Iterator[Use]:
    """Yield the uses of workloads that a scheduler queues itself, each with the topologies of its queue."""
    for queued_pods in queued_sources():
        for pods in queued_pods(inventory, known, selection.settings):
            if len(pods.topologies) > 1:
                yield Use(None, pods.workload, is_explicit=False, queue=pods.queue, alternatives=pods.topologies)
            else:
                yield Use(next(iter(pods.topologies), None), pods.workload, is_explicit=False, queue=pods.queue)


def overview(package: Package, queued: Iterable[KubeObject] = (), placements: Iterable[Placement] = ()) -> Overview:
    """Return the topologies of the package and the workloads that use them. `queued` are workloads without a topology.

    `placements` are the gangs of the render. They decide the workloads of node pools.
    """
    inventory, selection = read_package(package)
    settings, revision = selection.settings, selection.revision
    refusing = results_of(selection.findings, selection.results)
    evidence = () if selection.evidence is None else results_of(selection.evidence.findings)
    assumed = [result for result in evidence if limits_answer(result)]
    results = (*refusing, *results_of(selection.definitions.findings), *assumed)
    if exit_code(refusing):
        return Overview(results=results, is_known=False)
    chosen = front_ends(inventory)
    try:
        known = topologies_of(inventory, selection)
        topologies = tuple(
            topology
            for front_end in chosen
            for topology in front_end.topologies(inventory, settings, revision, known)
        )  # fmt: skip
    except FieldError as error:
        return Overview(results=(*results, unreadable_result(error)), is_known=False)
    # Only users create these Topologies. Rendered ones belong to the topologies above.
    for kind in [kind for kind in KINDS if kind.is_listed]:
        own = sorted(inventory.items.of_kind(*kind.key), key=lambda item: item.name)
        topologies += tuple(ListedTopology.of_scheduler(kind.word, item) for item in own)
    # Grove's operator makes a Topology of the same name for each of its own topologies.
    names = {topology.name for topology in topologies if topology.kind != KUEUE_TOPOLOGY.word}
    unnamed = sorted(inventory.items.of_kind(*TOPOLOGY.key), key=lambda item: item.name)
    topologies += tuple(ListedTopology.of_scheduler(TOPOLOGY.name, item) for item in unnamed if item.name not in names)
    uses = tuple(use for front_end in chosen for use in front_end.uses(inventory, settings, revision))
    uses += tuple(dict.fromkeys(_queued_uses(inventory, known, selection)))
    listed = {id(use.workload) for use in uses}
    uses += tuple(Use(None, item) for item in queued if id(item) not in listed)
    pools = node_pools(inventory.items, placements)
    # Workloads that do not use Grove need no configuration of Grove.
    needs_configuration = not topologies and (not uses or has_grove_workloads(inventory.items))
    if selection.enabled or selection.configuration is not None or needs_configuration:
        absent = [] if selection.absent is None else [selection.absent]
        return Overview(topologies, uses, selection.enabled, results_of(absent, results), pools=pools)
    # An export of a cluster shows its topologies, and needs no configuration.
    return Overview(topologies, uses, enabled=True, results=results, pools=pools)
