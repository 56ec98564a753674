"""What a rule is: a name, a line of documentation, a check; and how a tree of rules runs in the operator's order."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Generic, NamedTuple, TypeAlias, TypeVar

from krmfn.fieldpath import format_path
from packwise.finding import Severity
from packwise.kubernetes.field_error import ErrorType, OperatorError, Sentence
from packwise.revisions import GREP_244, Revision

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from krmfn.fieldpath import FieldPath
    from krmfn.value import Value
    from packwise.frontends.grove.podcliqueset import Clique, PodCliqueSet, ScalingGroup
    from packwise.plan import Schedulers
    from packwise.topology import ClusterTopology

__all__ = [
    "TEMPLATE",
    "CliqueAt",
    "Context",
    "GroupAt",
    "Node",
    "Rule",
    "Scope",
    "Update",
    "Violation",
    "forbidden",
    "invalid",
    "required",
    "rules_of",
    "run",
]

S = TypeVar("S")

TEMPLATE: FieldPath = ("spec", "template")
"""Path of the part of a PodCliqueSet that nearly every rule is about."""


class Context(NamedTuple):
    """What a rule may know beside the workload.

    `enabled`: whether TAS is. `domains`: the configuration's domains in its own order (revisions with one topology).
    `topologies`: by name (revisions with many). `auto_mnnvl`: the configuration's network.autoMNNVLEnabled.
    `scheduled`: the workload's scheduled pods, as far as its PodCliques' status tells. `schedulers`: those that Grove
    is configured for, where the revision has them.
    """

    enabled: bool = False
    domains: tuple[str, ...] = ()
    topologies: Mapping[str, ClusterTopology] = {}
    auto_mnnvl: bool = False
    scheduled: int = 0
    revision: Revision = GREP_244
    create: bool = True
    schedulers: Schedulers | None = None


class Violation(NamedTuple):
    """One breach. `path` is the true path in the author's file and `message` packwise's own text.

    `operator` is what the operator would say, None where it would say nothing (or has said it already); `proposed`
    what should stand there instead, where that is plain.
    """

    path: FieldPath
    message: str
    operator: OperatorError | Sentence | None = None
    proposed: Value = None

    @property
    def operator_message(self) -> str | None:
        """The operator's own text, or None."""
        return self.operator.text() if self.operator else None


class Rule(NamedTuple, Generic[S]):
    """One rule: `name` is stable and public, `summary` one line of documentation, `source` where it is written down."""

    name: str
    summary: str
    source: str
    check: Callable[[S, Context], Iterable[Violation]]
    severity: Severity = Severity.ERROR
    create_only: bool = False


class Scope(NamedTuple, Generic[S]):
    """Rules that run once for each part of a subject, all of them for one part before the next part."""

    parts: Callable[[S, Context], Iterable[Any]]
    nodes: tuple[Node, ...]


Node: TypeAlias = "Rule[Any] | Scope[Any]"


class CliqueAt(NamedTuple):
    """A clique where it stands; `grouped` tells whether a scaling group has it as a member."""

    pcs: PodCliqueSet
    index: int  # pyright: ignore[reportIncompatibleMethodOverride]
    clique: Clique
    grouped: bool

    def path(self, *steps: str | int) -> FieldPath:
        """A path below this clique."""
        return (*TEMPLATE, "cliques", self.index, *steps)


class GroupAt(NamedTuple):
    """A scaling group where it stands."""

    pcs: PodCliqueSet
    index: int  # pyright: ignore[reportIncompatibleMethodOverride]
    group: ScalingGroup

    def path(self, *steps: str | int) -> FieldPath:
        """A path below this scaling group."""
        return (*TEMPLATE, "podCliqueScalingGroups", self.index, *steps)


class Update(NamedTuple):
    """A PodCliqueSet before and after, both defaulted."""

    old: PodCliqueSet
    new: PodCliqueSet


def run(nodes: Iterable[Node], subject: object, context: Context) -> list[tuple[Rule[Any], Violation]]:
    """Every violation in the operator's order; the operator's text stands once, however often it would be repeated."""
    violations: list[tuple[Rule[Any], Violation]] = []
    _walk(nodes, subject, context, violations)
    if not violations:
        return []
    said: dict[str, set[FieldPath]] = {}
    found: list[tuple[Rule[Any], Violation]] = []
    for rule, violation in violations:
        text = violation.operator_message
        if text is None:
            found.append((rule, violation))
        elif text not in said:
            said[text] = {violation.path}
            found.append((rule, violation))
        elif violation.path not in said[text]:
            # Another place in the file, for which the operator says the same words once.
            said[text].add(violation.path)
            found.append((rule, violation._replace(operator=None)))
    return found


def rules_of(nodes: Iterable[Node]) -> Iterator[Rule[Any]]:
    """Every rule of a tree, in order: the documentation's list."""
    for node in nodes:
        if isinstance(node, Rule):
            yield node
        else:
            yield from rules_of(node.nodes)


def _walk(nodes: Iterable[Node], subject: object, context: Context, found: list[tuple[Rule[Any], Violation]]) -> None:
    for node in nodes:
        if isinstance(node, Scope):
            for part in node.parts(subject, context):
                _walk(node.nodes, part, context, found)
        elif context.create or not node.create_only:
            for violation in node.check(subject, context):
                found.append((node, violation))


def invalid(path: FieldPath, value: Value, detail: str, message: str, *, field: str | None = None) -> Violation:
    """An `Invalid value` of the operator at `field` (default: the true path), with packwise's own `message`."""
    return Violation(path, message, OperatorError(field or format_path(path), ErrorType.INVALID, value, detail))


def required(path: FieldPath, detail: str, message: str, *, field: str | None = None) -> Violation:
    """A `Required value` of the operator."""
    return Violation(path, message, OperatorError(field or format_path(path), ErrorType.REQUIRED, None, detail))


def forbidden(path: FieldPath, detail: str, message: str, *, field: str | None = None) -> Violation:
    """A `Forbidden` of the operator."""
    return Violation(path, message, OperatorError(field or format_path(path), ErrorType.FORBIDDEN, None, detail))
