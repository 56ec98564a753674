"""What the rules of DynamoGraphDeployments look at, what a check is, and how the checks run in order."""

from __future__ import annotations

from krmfn.fieldpath import format_path
from krmfn.hints import TYPE_CHECKING
from krmfn.record import NamedTuple
from packwise.findings.finding import Problem, Stage
from packwise.kubernetes.validation import ErrorType, OperatorError
from packwise.revisions.dynamo import Texts

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from krmfn.fieldpath import FieldPath
    from krmfn.value import Value
    from packwise.findings.finding import Rule
    from packwise.frontends.dynamo.graph import Component, Graph
    from packwise.revisions import Revision
    from packwise.revisions.dynamo import Release
    from packwise.settings.topologyrender import Dynamo
    from packwise.topology.levels import ClusterTopology

__all__ = ["Check", "Subject", "by_api_server", "field_error", "refused", "run", "where"]


class Subject(NamedTuple):
    """A graph, and what is known beside it.

    `before` is the graph of the baseline, None where there is none; `is_new`: whether the cluster does not know it.
    `is_export`: whether it was read from a cluster. `set_name` is that of its PodCliqueSet. `topologies` are those of
    the input, by name, `queues` its queues, `nodes` the Node objects that are known; `revision_is_named`: whether the
    user named the revision of Grove.
    """

    graph: Graph
    release: Release
    settings: Dynamo
    revision: Revision
    topologies: Mapping[str, ClusterTopology]
    set_name: str
    before: Graph | None = None
    is_new: bool = True
    is_export: bool = False
    revision_is_named: bool = False
    kai_version: str | None = None
    queues: tuple[str, ...] = ()
    nodes: tuple[Mapping[str, Value], ...] = ()


class Check(NamedTuple):
    """A rule, and the function that answers what breaks it; paths are those of v1beta1."""

    rule: Rule
    problems: Callable[[Subject], Iterable[Problem]]


def run(checks: Iterable[Check], subject: Subject) -> list[tuple[Rule, Problem]]:
    """Every problem, in the order of the checks."""
    return [(check.rule, problem.bounded) for check in checks for problem in check.problems(subject)]


def where(subject: Subject, component: Component, *steps: str) -> str:
    """A field of a component as the webhook of the release calls it."""
    texts = subject.release.texts
    if texts is Texts.FIELDS:
        return format_path(component.path(*steps))
    list_name = "services" if texts is Texts.SERVICES else "components"
    return ".".join([f"spec.{list_name}[{component.name}]", *steps])


def refused(path: FieldPath, message: str, text: str) -> Problem:
    """A problem that the webhook refuses with `text`."""
    return Problem(path, message, text, Stage.WEBHOOK)


def by_api_server(path: FieldPath, message: str, text: str) -> Problem:
    """A problem that the API server refuses by a rule of the CRD, whose text is `text`."""
    return Problem(path, message, text, Stage.SCHEMA)


def field_error(path: FieldPath, kind: ErrorType, value: Value, detail: str, message: str) -> Problem:
    """A problem that the webhook refuses with a field error of Kubernetes."""
    return refused(path, message, OperatorError(format_path(path), kind, value, detail).text())
