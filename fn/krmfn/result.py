"""Results of a function: entries of the ResourceList's `results`, lines on stderr, and the exit code.

Source: functions-spec.md (schema of ResourceList.results); kyaml fn/framework/result.go.
"""

from __future__ import annotations

import re
from collections import Counter
from enum import StrEnum

from krmfn.hints import TYPE_CHECKING, Record, cast

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence

    from krmfn.fieldpath import FieldPath
    from krmfn.kubeobject import KubeObject, ObjectId
    from krmfn.value import Value

__all__ = [
    "ResourceRef",
    "Result",
    "ResultField",
    "ResultFile",
    "Severity",
    "Shown",
    "exit_code",
    "form_of",
    "group_results",
    "grouped_lines",
    "rest_line",
    "result_of",
    "sort_results",
]

SHOWN = 3
"""The number of results with the same form that are shown."""


class Severity(StrEnum):
    """The severity of a result. One ERROR makes the function fail."""

    ERROR = "error"
    WARNING = "warning"
    INFO = "info"


_VARIABLE = r'"[^"]*"|\d+'
_ORDER = {Severity.ERROR: 0, Severity.WARNING: 1, Severity.INFO: 2}


class ResourceRef(Record):
    """The object of a result. `namespace` is "" if not set."""

    api_version: str
    kind: str
    namespace: str
    name: str

    @classmethod
    def of(cls, object_id: ObjectId) -> ResourceRef:
        """Return the reference to the object with this id."""
        return cls(object_id.api_version, object_id.kind, object_id.namespace, object_id.name)

    @property
    def has_type(self) -> bool:
        """Return True if the version or kind of the object is known.

        Only then can an entry of `results` have the object and its field.
        """
        return bool(self.api_version or self.kind)

    def __str__(self) -> str:
        name = f"{self.namespace}/{self.name}" if self.namespace else self.name
        return f"{self.kind} {name}".strip()


class ResultField(Record):
    """The field of a result. If `current` or `proposed` is None, the entry of `results` omits it."""

    path: str
    current: Value = None
    proposed: Value = None


class ResultFile(Record):
    """The path of the object's file with slashes, relative to the package.

    `index` counts the documents of the file from 0.
    """

    path: str
    index: int | None = None  # pyright: ignore[reportIncompatibleMethodOverride]


class Result(Record):
    """A message of a function about its input.

    `tags` are free-form. krmfn uses these: `line` and `column` are 1-based in the file. `rule` is a stable id. `stage`
    is the component that refuses the object, and `order` is the place of the message among all messages of that
    component.
    """

    message: str
    severity: Severity = Severity.ERROR
    resource_ref: ResourceRef | None = None
    field: ResultField | None = None
    file: ResultFile | None = None
    tags: Mapping[str, str] = {}

    def to_value(self) -> dict[str, Value]:
        """Return the result as an entry of `results`, with its keys in the order of the schema.

        In the schema, a field needs a resource, and a resource needs API version, kind and name. Missing parts become
        "".
        """
        value: dict[str, Value] = {"message": self.message, "severity": self.severity.value}
        ref = self.resource_ref
        if ref is not None and ref.has_type:
            value["resourceRef"] = _ref_value(ref)
            if self.field is not None and self.field.path:
                value["field"] = _field_value(self.field)
        if self.file is not None and self.file.path:
            index: dict[str, Value] = {} if self.file.index is None else {"index": self.file.index}
            value["file"] = {"path": self.file.path, **index}
        if self.tags:
            value["tags"] = {str(key): str(tag) for key, tag in self.tags.items()}
        return value

    def line_of_text(self) -> str:
        """Return the line for stderr: `error: workloads/a.yaml:12:5: PodCliqueSet team-a/a spec.x: message [rule]`."""
        place = self.file.path if self.file is not None else ""
        if "line" in self.tags:
            place = f"{place or '<stdin>'}:{self.tags['line']}"
            place += f":{self.tags['column']}" if "column" in self.tags else ""
        subject = str(self.resource_ref) if self.resource_ref is not None else ""
        if self.field is not None and self.field.path:
            subject = f"{subject} {self.field.path}".lstrip()
        rule = f" [{self.tags['rule']}]" if "rule" in self.tags else ""
        text = ": ".join(part for part in (self.severity.value, place, subject, self.message) if part)
        return " ".join(text.split("\n")) + rule

    @classmethod
    def from_value(cls, value: Value) -> Result:
        """Return the result that an entry of `results` describes. Parts that violate the schema are dropped."""
        entry = _mapping(value)
        ref, place, at = _mapping(entry.get("resourceRef")), _mapping(entry.get("field")), _mapping(entry.get("file"))
        severity = entry.get("severity")
        index = at.get("index")
        return cls(
            _text(entry.get("message")),
            Severity(severity) if severity in ("error", "warning", "info") else Severity.ERROR,
            _ref(ref) if ref else None,
            ResultField(_text(place.get("path")), place.get("currentValue"), place.get("proposedValue"))
            if place
            else None,
            ResultFile(_text(at.get("path")), index if isinstance(index, int) else None) if at else None,
            {key: tag for key, tag in _mapping(entry.get("tags")).items() if isinstance(tag, str)},
        )


def result_of(
    item: KubeObject, severity: Severity, path: FieldPath | str, message: str, *, rule: str, proposed: Value
) -> Result:
    """Return a result with `message` about the field at `path` of `item`.

    It has the object's id and file, and the field's value, line and column.
    """
    result = item.error(path, message).to_result()
    current = item.get(path)
    shown = None if isinstance(current, (dict, list)) else current
    return result.replace(
        severity=severity,
        field=None if result.field is None else ResultField(result.field.path, shown, proposed),
        file=None if result.file is None else ResultFile(result.file.path, item.index),
        tags={**result.tags, "rule": rule} if rule else result.tags,
    )


def sort_results(results: Iterable[Result]) -> tuple[Result, ...]:
    """Return `results` sorted by file, document, line and column, then by severity, rule and message.

    A webhook's results by one rule about one object stay together. They have the webhook's `order`, and the place of
    their first line.
    """
    natural = sorted(results, key=_sort_key)
    groups: dict[tuple[object, ...], list[int]] = {}
    for position, result in enumerate(natural):
        if "order" in result.tags and result.tags.get("stage") == "webhook":
            key = (result.file, result.resource_ref, result.tags.get("rule"), result.severity)
            groups.setdefault(key, []).append(position)
    rank: dict[int, tuple[int, int]] = {}
    for positions in groups.values():
        orders = [_number(natural[position].tags["order"]) for position in positions]
        if orders != sorted(orders):
            rank |= {position: (positions[0], order) for position, order in zip(positions, orders, strict=True)}
    if not rank:
        return tuple(natural)
    return tuple(natural[each] for each in sorted(range(len(natural)), key=lambda each: rank.get(each, (each, 0))))


def exit_code(results: Iterable[Result]) -> int:
    """Return 1 if one of `results` is an error, otherwise 0."""
    return int(any(result.severity is Severity.ERROR for result in results))


class Shown(Record):
    """A result to show. `alike` is the number of hidden results of the same form after it."""

    result: Result
    alike: int = 0


def group_results(results: Sequence[Result], shown: int = SHOWN, alone: Collection[str] = ()) -> list[Shown]:
    """Return the first `shown` results of each form, in order. The last of them has the number of hidden ones.

    Results have one form if severity and rule are equal, and also the message without quoted values and numbers. A
    single result is never hidden, because a line would have to count it. For a rule in `alone`, equal messages have one
    cause. If more than `shown` + 1 results have the same cause, only the first one is shown.
    """
    causes = [(result.severity.value, result.tags.get("rule", ""), result.message, "cause") for result in results]
    same = Counter([cause for cause in causes if cause[1] in alone])
    forms: list[tuple[str, ...]] = [
        cause if same[cause] > shown + 1 else form_of(result) for cause, result in zip(causes, results, strict=True)
    ]
    sizes = Counter(forms)
    seen: Counter[tuple[str, ...]] = Counter()
    kept: list[Shown] = []
    for result, form in zip(results, forms, strict=True):
        seen[form] += 1
        most = 1 if form in same else shown
        if sizes[form] <= shown + 1 or seen[form] < most:
            kept.append(Shown(result))
        elif seen[form] == most:
            kept.append(Shown(result, sizes[form] - most))
    return kept


def grouped_lines(results: Iterable[Result], hint: str, shown: int = SHOWN) -> list[str]:
    """Return the lines for stderr, grouped by form, without infos about an object. `hint` is the advice to see all
    results.

    An info about the whole input stays, because kustomize shows no other output if a run changes nothing.
    """
    kept = [result for result in results if result.severity is not Severity.INFO or result.resource_ref is None]
    lines: list[str] = []
    for each in group_results(kept, shown):
        lines.append(each.result.line_of_text())
        if each.alike:
            lines.append(rest_line(each, hint))
    return lines


def rest_line(shown: Shown, hint: str) -> str:
    """Return the line that counts the hidden results of a form, such as `warning: … and 997 more [rule]; HINT`."""
    rule = shown.result.tags.get("rule")
    return f"{shown.result.severity.value}: … and {shown.alike} more{f' [{rule}]' if rule else ''}; {hint}"


def form_of(result: Result) -> tuple[str, str, str]:
    """Return the form of a result: its severity, its rule, and its message without quoted values and numbers."""
    return result.severity.value, result.tags.get("rule", ""), re.sub(_VARIABLE, "…", result.message)


def _sort_key(result: Result) -> tuple[object, ...]:
    file, tags, ref = result.file, result.tags, result.resource_ref
    return (
        file.path if file is not None else "",
        file.index or 0 if file is not None else 0,
        _number(tags.get("line")),
        _number(tags.get("column")),
        _ORDER[result.severity],
        tags.get("rule", ""),
        "" if ref is None else str(ref),
        "" if result.field is None else result.field.path,
        result.message,
    )


def _number(text: str | None) -> int:
    return int(text) if text is not None and text.isascii() and text.isdigit() and len(text) < 12 else 0


def _ref_value(ref: ResourceRef) -> Value:
    namespace = {"namespace": ref.namespace} if ref.namespace else {}
    return {"apiVersion": ref.api_version, "kind": ref.kind, **namespace, "name": ref.name}


def _field_value(place: ResultField) -> Value:
    value: dict[str, Value] = {"path": place.path}
    if place.current is not None:
        value["currentValue"] = place.current
    if place.proposed is not None:
        value["proposedValue"] = place.proposed
    return value


def _ref(value: Mapping[str, Value]) -> ResourceRef:
    return ResourceRef(*(_text(value.get(key)) for key in ("apiVersion", "kind", "namespace", "name")))


def _mapping(value: Value) -> Mapping[str, Value]:
    return cast("Mapping[str, Value]", value) if isinstance(value, dict) else {}


def _text(value: Value) -> str:
    return value if isinstance(value, str) else ""
