"""Cases of testdata: a base workload, edits of it, and the findings about the edited workload."""

from __future__ import annotations

import copy
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from krmfn.fieldpath import format_path, parse_path
from krmfn.yamltext import read
from packwise.frontends.grove.admission import validate_create, validate_update
from packwise.frontends.grove.default import default
from packwise.frontends.grove.podcliqueset import PodCliqueSet
from packwise.frontends.grove.rules.book import Context
from packwise.placement import Schedulers
from packwise.revisions.grove import REVISIONS
from packwise.topology.known import ClusterTopology, Level

if TYPE_CHECKING:
    from collections.abc import Mapping

    from packwise.findings import Problem, Rule

__all__ = ["TOPOLOGIES", "context_of", "edited", "load_cases", "outcome", "problems_of", "view_of"]

TESTDATA = Path(__file__).parents[3] / "testdata"

TOPOLOGIES = {
    "grove-topology": ClusterTopology(
        "grove-topology",
        (Level("zone", "example.com/zone"), Level("rack", "example.com/rack"), Level("host", "kubernetes.io/hostname")),
    ),
    "gb200": ClusterTopology("gb200", (Level("rack", "nvidia.com/rack"), Level("block", "nvidia.com/block"))),
}


def load_cases(folder: str) -> list[dict[str, Any]]:
    return cast("list[dict[str, Any]]", read((TESTDATA / folder / "cases.yaml").read_text()))


def edited(edits: Mapping[str, Any]) -> dict[str, Any]:
    """Return the base workload with each path set, or removed if the value is None. `swap` exchanges two cliques."""
    value = cast("dict[str, Any]", read((TESTDATA / "grove-rules" / "base.yaml").read_text()))
    for path, new in edits.items():
        if path == "swap":
            cliques = value["spec"]["template"]["cliques"]
            cliques[new[0]], cliques[new[1]] = cliques[new[1]], cliques[new[0]]
            continue
        *parents, last = parse_path(path)
        at: Any = value
        for step in parents:
            at = at.setdefault(step, {}) if isinstance(step, str) else at[step]
        if new is None:
            del at[last]
        elif last == len(at) and not isinstance(last, str):
            at.append(copy.deepcopy(new))
        else:
            at[last] = copy.deepcopy(new)
    return value


def context_of(config: Mapping[str, Any]) -> Context:
    topologies = {name: TOPOLOGIES[name] for name in config.get("topologies", TOPOLOGIES)}
    revision = REVISIONS[config.get("revision", "grep-244")]
    names: list[str] = config.get("schedulers", ["default-scheduler", "kai-scheduler"])
    return Context(
        enabled=config.get("enabled", True),
        domains=("rack", "zone", "host"),
        topologies=topologies,
        scheduled=config.get("scheduled", 0),
        revision=revision,
        schedulers=Schedulers(tuple(names), names[0]) if revision.scheduler_backends else None,
    )


def view_of(value: Mapping[str, Any], context: Context, *, create: bool) -> PodCliqueSet:
    return PodCliqueSet.read(default(value, context.revision, create=create))


def problems_of(case: Mapping[str, Any]) -> list[tuple[Rule, Problem]]:
    """Return the problems that the rules find in a case."""
    context = context_of(case.get("context") or {})
    old = case.get("old")
    new = view_of(edited(case.get("edit") or {}), context, create=old is None)
    if old is None:
        return list(validate_create(new, context))
    return list(validate_update(view_of(edited(old), context, create=False), new, context))


def outcome(case: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the findings of a case, as `expect` spells them."""
    return [
        {
            "rule": rule.name,
            "path": format_path(problem.path),
            "message": problem.message,
            "operator": problem.operator_message,
        }
        for rule, problem in problems_of(case)
    ]
