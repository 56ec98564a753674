"""Findings about users' Topologies, their aliases, and users' PodGroups, if KAI refuses them or ignores fields.

Source: spec/kai.md#1.
"""

from __future__ import annotations

from krmfn.fieldpath import describe, format_path
from krmfn.hints import TYPE_CHECKING
from krmfn.result import Severity
from packwise.findings import Effect, Finding, Problem, Stage
from packwise.kubernetes import ErrorType, OperatorError
from packwise.objects.kinds import PODGROUP, TOPOLOGY
from packwise.revisions.kai import KNOWN, LEVEL_ALIASES, Versions
from packwise.schedulers.kai.podgroup_rules import known_topologies, podgroup_problems, refusal
from packwise.schedulers.kai.podgroups import IGNORED, QUEUE, REFUSED, supported_versions
from packwise.schedulers.kai.topology import REFUSED as TOPOLOGY_REFUSED
from packwise.topology.known import LABEL_PATTERN, is_label, levels_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from krmfn.kubeobject import KubeObject
    from krmfn.value import Value
    from packwise.objects.index import Generated
    from packwise.schedulers import SchedulerInput
    from packwise.settings.topologyrender import TopologyRender

_KNOWN = Versions(LEVEL_ALIASES, KNOWN.newest)
_BEFORE = Versions(KNOWN.oldest, _KNOWN.oldest - 1)
_LONGEST = 316


def alias_problems(value: Mapping[str, Value], supported: Versions, *, schema: bool = True) -> Iterator[Problem]:
    """Yield the problems of aliases in the Topology `value` for the versions `supported`."""
    levels = _levels(value)
    aliases = {index: level["alias"] for index, level in levels if level.get("alias") is not None}
    known = supported.intersection(_KNOWN) is not None
    for index, alias in aliases.items():
        if supported.intersection(_BEFORE) is not None and schema:
            consequence = f"{_BEFORE.text} drops it, and knows the level only by its nodeLabel"
            yield Problem(
                _path(index), f"the field exists only in {_KNOWN.text}", effect=Effect.UNKNOWN, consequence=consequence
            )
        if known and schema:
            yield from _schema(index, alias)
    if known:
        texts = {index: alias for index, alias in aliases.items() if isinstance(alias, str) and alias}
        yield from _webhook(texts, [level.get("nodeLabel") for _, level in levels])


def _schema(index: int, alias: Value) -> Iterator[Problem]:
    text = format_path(_path(index))
    if not isinstance(alias, str):
        yield refusal(_path(index), f"must be a string; got {describe(alias)}", _KNOWN)
    elif len(alias) > _LONGEST:
        error = OperatorError(text, ErrorType.TOO_LONG, alias, f"may not be more than {_LONGEST} bytes").text()
        yield refusal(_path(index), f"must be at most {_LONGEST} characters long; got {len(alias)}", _KNOWN, error)
    elif not alias:
        error = OperatorError(text, ErrorType.INVALID, alias, f"{text} in body should be at least 1 chars long").text()
        yield refusal(_path(index), "must not be empty", _KNOWN, error)
    elif not is_label(alias):
        error = OperatorError(text, ErrorType.INVALID, alias, f"{text} in body should match '{LABEL_PATTERN}'").text()
        yield refusal(_path(index), f"must look like a label key; got {describe(alias)}", _KNOWN, error)


def _webhook(aliases: Mapping[int, str], labels: Sequence[Value]) -> Iterator[Problem]:
    """Yield the problems of aliases that KAI's webhook finds.

    The webhook reports all problems in one text. Only the first problem has this text.
    """
    seen: dict[str, int] = {}
    twice = [(index, alias) for index, alias in aliases.items() if seen.setdefault(alias, index) != index]
    taken = [(index, alias) for index, alias in aliases.items() if alias in labels]
    parts: list[str] = []
    if twice:
        parts.append(f"aliases must be unique within the topology; duplicated: {_go_list(twice)}")
    if taken:
        parts.append(f"an alias must not equal a nodeLabel; conflicting: {_go_list(taken)}")
    answer: str | None = f"invalid topology aliases: {'; '.join(parts)}"
    for entries, rule in ((twice, "must be unique among the aliases"), (taken, "must not be the nodeLabel of a level")):
        for index, alias in entries:
            yield refusal(_path(index), f"{rule}; got {describe(alias)}", _KNOWN, answer, stage=Stage.WEBHOOK)
            answer = None


def _go_list(entries: Sequence[tuple[int, str]]) -> str:
    return f"[{' '.join(sorted(alias for _, alias in entries))}]"


def _path(index: int) -> tuple[str, str, int, str]:
    return ("spec", "levels", index, "alias")


def _levels(value: Mapping[str, Value]) -> list[tuple[int, Mapping[str, Value]]]:
    return [(index, level) for index, level in enumerate(levels_of(value)) if isinstance(level, dict)]


def check_users_objects(source: SchedulerInput, rendered: Iterable[Generated]) -> Iterator[Finding]:
    """Yield findings about users' Topologies and PodGroups that KAI refuses or ignores in part.

    `rendered` are the Topologies of the render.
    """
    supported, items = supported_versions(source), source.inventory.items
    topologies = items.of_kind(*TOPOLOGY.key)
    by_crd = source.definitions.of_kind(*TOPOLOGY.key) is not None
    for item in topologies:
        yield from _findings(item, alias_problems(item.value, supported, schema=not by_crd), source.settings)
    groups = items.of_kind(*PODGROUP.key)
    if not groups:
        return
    by_crd = source.definitions.of_kind(*PODGROUP.key) is not None
    known = known_topologies(source, rendered)
    for item in groups:
        update = source.inventory.baseline_object(item) is not None
        problems = podgroup_problems(item.value, supported, known, update=update, schema=not by_crd)
        yield from _findings(item, problems, source.settings)
        if not item.get(("spec", "queue")):
            message = "the PodGroup names no queue, and KAI schedules none of its pods"
            yield Finding.of(QUEUE, item, ("spec",), message, at_key=True)


def _findings(item: KubeObject, problems: Iterable[Problem], settings: TopologyRender) -> Iterator[Finding]:
    # If `kai.version` is set, `unknownFields` decides the severity of a field that only some versions know.
    unknown = Severity.ERROR if settings.unknown_fields == "Error" else Severity.WARNING
    rule = REFUSED if item.kind == PODGROUP.name else TOPOLOGY_REFUSED
    for order, problem in enumerate(problems):
        severity = unknown if problem.effect is Effect.UNKNOWN and settings.kai_version is not None else None
        yield Finding.of(
            rule if problem.effect is Effect.REFUSED else IGNORED,
            item,
            problem.path,
            problem.full_message,
            severity=severity,
            operator_message=problem.operator_message,
            stage=problem.stage if problem.operator_message is not None else None,
            order=order,
            at_key=problem.effect is Effect.UNKNOWN,
        )
