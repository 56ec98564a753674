"""`packwise topologies`: which topologies there are, and which workload uses which.

Grove's design has such a table (GREP-244, "Topology usage overview"): topology and workload, `<none>` where there is
none.
"""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING, Any, NamedTuple

from krmfn.result import exit_code, sort_results
from packwise.cli.console import is_coloured, say, show
from packwise.cli.inputs import read_inputs
from packwise.cli.report.lines import as_lines
from packwise.cli.report.visible import visible, width
from packwise.pipeline.overview import overview
from packwise.select.index import identity

if TYPE_CHECKING:
    from collections.abc import Sequence

    from packwise.cli.arguments import Topologies
    from packwise.pipeline.overview import Overview
    from packwise.plan import ListedTopology, Use

__all__ = ["topologies"]

_NONE = "<none>"


def topologies(command: Topologies) -> int:
    """Prints the overview; returns the exit code. Raises UsageError."""
    inputs = read_inputs(command.named, apart=True)
    found = None if exit_code(inputs.results) else overview(inputs.package)
    results = sort_results([*inputs.results, *(found.results if found is not None else ())])
    say(as_lines(results, coloured=is_coloured(sys.stderr)))
    if found is None or exit_code(results):
        return 1
    return 0 if show(_as_json(found) if command.as_json else _as_text(found)) else 1


class _Row(NamedTuple):
    """A line of the table of uses; `exists` is whether there is a topology of that name."""

    topology: str | None
    exists: bool
    use: Use | None


def _rows(found: Overview) -> list[_Row]:
    """Each topology with its workloads, then names that no topology has, then workloads without one."""
    names = [one.name for one in found.topologies]
    by_name: dict[str | None, list[Use]] = {}
    for use in sorted(found.uses, key=lambda use: _named(use)[1:]):
        by_name.setdefault(use.topology, []).append(use)
    missing = sorted(name for name in by_name if name is not None and name not in names)
    rows: list[_Row] = []
    for name in (*names, *missing):
        uses = by_name.get(name, [])
        rows += [_Row(name, name in names, use) for use in uses] or [_Row(name, name in names, None)]
    return rows + [_Row(None, False, use) for use in by_name.get(None, ())]


def _as_text(found: Overview) -> str:
    lines: list[str] = [] if found.enabled else ["topology-aware scheduling is disabled", ""]
    if found.topologies:
        listed = [(one.name, one.kind, _origin(one), _levels(one)) for one in found.topologies]
        lines += [*_table(("TOPOLOGY", "KIND", "FROM", "LEVELS"), listed), ""]
    rows = _rows(found)
    if rows:
        lines += _table(("TOPOLOGY", "WORKLOAD", "CHOSEN", "SCHEDULED PODS"), [_cells(row) for row in rows])
    else:
        lines.append("no topologies and no workloads")
    return "".join([f"{line}\n" for line in lines])


def _cells(row: _Row) -> tuple[str, ...]:
    name = _NONE if row.topology is None else row.topology
    if row.topology is not None and not row.exists:
        name += " (does not exist)"
    use = row.use
    if use is None:
        return name, _NONE, "", ""
    chosen = "" if row.topology is None else _chosen(use)
    _, namespace, workload = _named(use)
    return name, f"{namespace}/{workload}", chosen, "" if use.scheduled is None else str(use.scheduled)


def _chosen(use: Use) -> str:
    return "by name" if use.explicit else "by default"


def _origin(one: ListedTopology) -> str:
    place = one.item.location()
    return f"{place.file or '<stdin>'}:{place.line}{' (configuration)' if one.generated else ''}"


def _levels(one: ListedTopology) -> str:
    return ", ".join([f"{level.domain}={level.key}" for level in one.levels])


def _named(use: Use) -> tuple[str, str, str]:
    """Kind, namespace and name of the workload."""
    return use.named or identity(use.workload.value)[1:]


def _table(head: tuple[str, ...], rows: Sequence[tuple[str, ...]]) -> list[str]:
    shown = [head, *([visible(cell) for cell in row] for row in rows)]
    widths = [max(width(row[column]) for row in shown) for column in range(len(head))]
    return [
        "  ".join([cell + " " * (size - width(cell)) for cell, size in zip(row, widths, strict=True)]).rstrip()
        for row in shown
    ]


def _as_json(found: Overview) -> str:
    uses: dict[str | None, list[Use]] = {}
    for row in _rows(found):
        if row.use is not None:
            uses.setdefault(row.topology, []).append(row.use)
    names = {one.name for one in found.topologies}
    whole = {
        "enabled": found.enabled,
        "topologies": [_topology(one, uses.get(one.name, [])) for one in found.topologies],
        "missing": [
            {"name": name, "workloads": [_use(use) for use in found]}
            for name, found in uses.items()
            if name is not None and name not in names
        ],
        "withoutTopology": [_use(use) for use in uses.get(None, [])],
    }
    return json.dumps(whole, ensure_ascii=False, indent=2) + "\n"


def _topology(one: ListedTopology, uses: Sequence[Use]) -> dict[str, Any]:
    place = one.item.location()
    return {
        "kind": one.kind,
        "name": one.name,
        "generated": one.generated,
        "file": place.file,
        "line": place.line,
        "levels": [{"domain": level.domain, "key": level.key} for level in one.levels],
        "workloads": [_use(use) for use in uses],
    }


def _use(use: Use) -> dict[str, Any]:
    kind, namespace, name = _named(use)
    return {
        "kind": kind,
        "namespace": namespace,
        "name": name,
        "explicit": use.explicit and use.topology is not None,
        "scheduledPods": use.scheduled,
    }
