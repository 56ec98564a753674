"""One thing a user can act on: what is wrong where, by which rule. It becomes a krmfn Result."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, NamedTuple

from krmfn.result import Severity

if TYPE_CHECKING:
    from krmfn.errors import FieldError
    from krmfn.fieldpath import FieldPath
    from krmfn.kubeobject import KubeObject
    from krmfn.result import Result
    from krmfn.source import Location
    from krmfn.value import Value

__all__ = ["Finding", "Rule", "Severity", "Stage", "from_field_error", "has_errors"]


_LONGEST = 2000


class Stage(StrEnum):
    """Who would refuse the object. Source: product.md "Contract", `tags.stage`."""

    CONFIG = "config"
    """The operator, at its start."""
    DECODE = "decode"
    """The typed decoder."""
    SCHEMA = "schema"
    """The API server, by the schema of the resource."""
    WEBHOOK = "webhook"
    """The operator's webhook."""


class Rule(NamedTuple):
    """A rule as users know it: `name` is stable and public, `summary` one line, `source` where it is written down."""

    name: str
    summary: str
    source: str
    severity: Severity = Severity.ERROR


class Finding(NamedTuple):
    """`message` is packwise's own text about the field at `path` of `subject`.

    `operator_message` is the exact text of the operator or API server that would refuse the object at `stage`; `order`
    is its place among that stage's texts. `at_key` points to the field's name rather than its value; `location` is
    where to look when that is not in `subject`'s own text.
    """

    rule: str
    severity: Severity
    message: str
    subject: KubeObject | None = None
    path: FieldPath = ()
    operator_message: str | None = None
    stage: Stage | None = None
    order: int = 0
    proposed: Value = None
    at_key: bool = False
    location: Location | None = None

    @classmethod
    def of(
        cls,
        rule: Rule,
        subject: KubeObject | None,
        path: FieldPath,
        message: str,
        *,
        severity: Severity | None = None,
        operator_message: str | None = None,
        stage: Stage | None = None,
        order: int = 0,
        proposed: Value = None,
        at_key: bool = False,
        location: Location | None = None,
    ) -> Finding:
        """A finding by `rule`, of the rule's severity unless another is given."""
        return cls(
            rule.name,
            severity or rule.severity,
            message,
            subject,
            path,
            operator_message,
            stage,
            order,
            proposed,
            at_key,
            location,
        )

    def to_result(self) -> Result:
        """The KRM result: resource, field, file, and in its tags rule, operator's text, stage, order, line, column."""
        from krmfn.fieldpath import format_path
        from krmfn.result import ResourceRef, Result, ResultField, ResultFile

        tags = {"rule": self.rule}
        if self.operator_message is not None:
            tags["operatorMessage"] = self.operator_message
            tags["order"] = str(self.order)
        if self.stage is not None:
            tags["stage"] = self.stage.value
        ref = field = file = None
        subject = self.subject
        if subject is not None:
            at = self.location or subject.location(self.path, key=self.at_key)
            file = ResultFile(at.file, _index(subject)) if at.file is not None else None
            tags["line"], tags["column"] = str(at.line), str(at.column)
            parts = _id_parts(subject)
            # A document that is no Kubernetes object is told by its place alone.
            ref = ResourceRef(*parts) if any(parts) else None
        if self.path:
            current = subject.get(self.path) if subject is not None else None
            # A document within a text is not the value that the finding is about.
            is_part = self.location is not None and isinstance(current, str) and "\n" in current
            shown = None if is_part or isinstance(current, (dict, list)) else current
            field = ResultField(format_path(self.path), shown, self.proposed)
        return Result(_shortened(self.message), self.severity, ref, field, file, tags)


def from_field_error(error: FieldError, subject: KubeObject, rule: str) -> Finding:
    """The finding that says what `error` says of `subject`."""
    return Finding(rule, Severity.ERROR, error.message, subject, error.path, location=error.location)


def has_errors(findings: tuple[Finding, ...] | list[Finding]) -> bool:
    """Whether one of `findings` is an error."""
    return any(finding.severity is Severity.ERROR for finding in findings)


def _shortened(message: str) -> str:
    """A message that a name of a megabyte does not make a megabyte long."""
    return message if len(message) <= _LONGEST else f"{message[:_LONGEST]}…"


def _index(subject: KubeObject) -> int | None:
    try:
        return subject.index
    except ValueError:
        return None


def _id_parts(subject: KubeObject) -> tuple[str, str, str, str]:
    try:
        value = subject.value
    except ValueError:
        return "", "", "", ""
    metadata = value.get("metadata")
    names = metadata if isinstance(metadata, dict) else {}
    parts = (value.get("apiVersion"), value.get("kind"), names.get("namespace"), names.get("name"))
    api_version, kind, namespace, name = (part if isinstance(part, str) else "" for part in parts)
    return api_version, kind, namespace, name
