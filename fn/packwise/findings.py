"""Rules, problems that break a rule, findings for users, and places in objects.

An origin is the place from which a render makes a value.
"""

from __future__ import annotations

import re
from enum import Enum, StrEnum, auto

from krmfn.fieldpath import FieldPath, format_path
from krmfn.hints import TYPE_CHECKING, Record
from krmfn.result import ResourceRef, Result, ResultField, ResultFile, Severity

if TYPE_CHECKING:
    from collections.abc import Container, Iterable, Mapping

    from krmfn.fieldpath import FieldError
    from krmfn.kubeobject import KubeObject, Location
    from krmfn.value import Value


class Stage(StrEnum):
    """The component that would refuse the object. Source: spec/packwise.md#3, `tags.stage`."""

    CONFIG = "config"
    """The operator, when it starts."""
    DECODE = "decode"
    """The typed decoder."""
    SCHEMA = "schema"
    """The API server, with the schema of the resource."""
    WEBHOOK = "webhook"
    """The operator's webhook."""
    POD = "pod"
    """The API server, when the operator creates a pod. The API server accepts the workload itself."""
    SCHEDULER = "scheduler"
    """The scheduler, in an event of the pods of an accepted workload or in its log."""


class Rule(Record):
    """A rule of packwise. `name` is stable and public, and `summary` is one line.

    `source` is a link from `docs/` to the section of the specification that the rule follows: `spec/grove.md#r08`.

    `once` is true if the rule is about all workloads of a package. Its finding is then reported at only one workload.
    """

    name: str
    summary: str
    source: str
    severity: Severity = Severity.ERROR
    once: bool = False


MAX_TEXT = 2000
"""A result shows at most this many characters of a text. A long name then does not make a long message."""


class Effect(Enum):
    """The effect of a problem on the object that has it."""

    REFUSED = auto()
    """The object is refused."""
    UNKNOWN = auto()
    """The field is unknown. It is dropped, or refused if the client asks for that."""
    IGNORED = auto()
    """The object is accepted, but the field has no effect or an unwanted one."""
    UNCHECKED = auto()
    """packwise cannot evaluate a rule of its CRD, so the result is unknown."""


class Cause(Enum):
    """The reason why a value is refused.

    Other checks depend on the reason: for example, CEL rules do not run if a value has a wrong type.
    """

    VALUE = auto()
    """The value is not allowed."""
    TYPE = auto()
    """The value has a wrong type."""
    REQUIRED = auto()
    """The value is absent."""
    UNANSWERED = auto()
    """A CEL rule of the CRD fails while it is evaluated, because it expects a value of another shape."""


class Problem(Record):
    """A problem of the field at `path`, before its object is known."""

    path: FieldPath
    """The path within the value as the user wrote it."""

    message: str
    """packwise's own text: the problem, and how to fix it."""

    operator_message: str | None = None
    """The exact text of the operator, API server or webhook that refuses the object, or None."""

    stage: Stage | None = None
    """The component that refuses the object. If it is None, users do not see `operator_message`, because no known
    component prints it.
    """

    effect: Effect = Effect.REFUSED
    """The outcome for the object."""

    cause: Cause = Cause.VALUE
    """The reason for the refusal."""

    consequence: str = ""
    """The action of a component on the object, or "" if the message is sufficient."""

    proposed: Value = None
    """The correct value of the field, or None if it is not certain."""

    at_key: bool = False
    """True if the name of the field is wrong, and not its value."""

    @property
    def short_form(self) -> Problem:
        """Return the problem with each text cut to one character more than a result shows.

        Thousands of problems then do not fill the memory.
        """
        longest = MAX_TEXT + 1
        text = self.operator_message
        if len(self.message) <= longest and (text is None or len(text) <= longest):
            return self
        return self.replace(message=self.message[:longest], operator_message=None if text is None else text[:longest])

    @property
    def full_message(self) -> str:
        """The message, with its consequence."""
        if not self.consequence:
            return self.message
        return f"{self.message}{'' if self.message.endswith(('?', '.')) else '.'} {self.consequence}"


class Finding(Record):
    """A finding. `message` is packwise's own text about the field at `path` of `subject`.

    `operator_message` is the exact text of the operator or API server that would refuse the object at `stage`. `order`
    is the position of this text among the texts of the stage. `when_written` is the severity if packwise writes
    objects. If it is None, `severity` applies. `at_key` points to the field's name instead of its value. `location` is
    set if the problem is not in the text of `subject` itself.
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
    when_written: Severity | None = None

    @classmethod
    def of(
        cls,
        rule: Rule,
        subject: KubeObject | None,
        path: FieldPath | Problem,
        message: str = "",
        *,
        severity: Severity | None = None,
        operator_message: str | None = None,
        stage: Stage | None = None,
        order: int = 0,
        proposed: Value = None,
        at_key: bool = False,
        location: Location | None = None,
        when_written: Severity | None = None,
    ) -> Finding:
        """Return a finding of `rule`, with the rule's severity unless `severity` is set.

        If `path` is a problem, the finding copies its path, message, stage and operator's text.
        """
        if isinstance(path, Problem):
            problem = path
            path, message, stage, proposed = problem.path, problem.full_message, problem.stage, problem.proposed
            operator_message = None if stage is None else problem.operator_message
            at_key = problem.at_key or problem.effect is Effect.UNKNOWN
        return cls(
            rule=rule.name,
            severity=severity or rule.severity,
            message=message,
            subject=subject,
            path=path,
            operator_message=operator_message,
            stage=stage,
            order=order,
            proposed=proposed,
            at_key=at_key,
            location=location,
            when_written=when_written,
        )

    def to_result(self) -> Result:
        """Return the finding as a KRM result with resource, field and file.

        Its tags hold the rule, the operator's text with its order, the stage, line and column, and kustomize's origin.
        """
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
            origin = _kustomize_origin(subject)
            if origin is not None:
                tags["origin"] = origin
            parts = _id_parts(subject)
            # A document that is not a Kubernetes object is identified only by its place.
            ref = ResourceRef(*parts) if any(parts) else None
        if self.path:
            current = subject.get(self.path) if subject is not None else None
            # Here `current` is a whole embedded document, and not the value that the finding is about.
            is_part = self.location is not None and isinstance(current, str) and "\n" in current
            shown = None if is_part or isinstance(current, (dict, list)) else current
            # An entry of a List has a path that begins at the List.
            entry = subject.origin.entry if subject is not None and subject.has_source else ()
            field = ResultField(format_path((*entry, *self.path)), shown, self.proposed)
        return shorten(Result(self.message, self.severity, ref, field, file, tags))


def findings_of(
    problems: Iterable[tuple[Rule, Problem]], subject: KubeObject, unknown: Severity | None = None
) -> tuple[Finding, ...]:
    """Return a finding for each problem of `subject`, in the order of `problems`.

    `unknown` is the severity of unknown fields. If it is None, their rule's severity applies.
    """
    return tuple(
        Finding.of(
            rule,
            subject,
            problem,
            order=order,
            severity=unknown if problem.effect is Effect.UNKNOWN else None,
        )
        for order, (rule, problem) in enumerate(problems)
    )


def from_field_error(error: FieldError, subject: KubeObject, rule: str) -> Finding:
    """Return a finding for `error`, which is a problem of `subject`."""
    return Finding(rule, Severity.ERROR, error.message, subject, error.path, location=error.location)


def has_errors(findings: tuple[Finding, ...] | list[Finding]) -> bool:
    """Return True if one of `findings` is an error."""
    return bool(findings) and any(finding.severity is Severity.ERROR for finding in findings)


def shorten(result: Result) -> Result:
    """Return `result` with every text cut to `MAX_TEXT` characters."""
    ref, field, file = result.resource_ref, result.field, result.file
    texts = [result.message, *result.tags.values(), file.path if file is not None else ""]
    if ref is not None:
        texts += (ref.api_version, ref.kind, ref.namespace, ref.name)
    if field is not None:
        texts += (field.path, field.current) if isinstance(field.current, str) else (field.path,)
    if max(map(len, texts)) <= MAX_TEXT:
        # The usual case.
        return result
    if ref is not None:
        ref = type(ref)(_cut(ref.api_version), _cut(ref.kind), _cut(ref.namespace), _cut(ref.name))
    if field is not None:
        current = _cut(field.current) if isinstance(field.current, str) else field.current
        field = field.replace(path=_cut(field.path), current=current)
    if file is not None:
        file = file.replace(path=_cut(file.path))
    tags = {key: _cut(text) for key, text in result.tags.items()}
    return result.replace(message=_cut(result.message), resource_ref=ref, field=field, file=file, tags=tags)


def _cut(text: str) -> str:
    return text if len(text) <= MAX_TEXT else f"{text[:MAX_TEXT]}…"


_ORIGIN = "config.kubernetes.io/origin"


def _kustomize_origin(subject: KubeObject) -> str | None:
    """Return the file from which kustomize built an object. Return None if kustomize did not record it.

    The path is relative to the kustomization. A remote file has its repository before the path. Source: kustomize,
    buildMetadata originAnnotations.
    """
    try:
        metadata = subject.value.get("metadata")
    except ValueError:
        return None
    annotations = metadata.get("annotations") if isinstance(metadata, dict) else None
    note = annotations.get(_ORIGIN) if isinstance(annotations, dict) else None
    if not isinstance(note, str):
        return None
    lines = [line.partition(": ") for line in note.splitlines() if not line.startswith(" ")]
    fields = {key: text.strip().strip("\"'") for key, _, text in lines}
    path = fields.get("path") or fields.get("configuredIn")
    repository = f"{fields['repo']} " if "repo" in fields else ""
    return f"{repository}{path}" if path else None


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
    api_version, kind, namespace, name = [part if isinstance(part, str) else "" for part in parts]
    prefix = names.get("generateName")
    if not name and isinstance(prefix, str) and prefix:
        # The API server generates the name.
        name = f"{prefix}*"
    return api_version, kind, namespace, name


_UNSUPPORTED = ": Unsupported value: "
"""A part of Kubernetes' message about a value that is not in a closed list."""


def soften_lists(findings: Iterable[Finding], rules: Container[str] = ()) -> tuple[Finding, ...]:
    """Return the findings. An error about a value outside a closed list becomes a warning.

    A closed list has all allowed values of a field. A release that is newer than every known one may have longer lists,
    so a refusal is uncertain. `rules` names more rules about closed lists.
    """
    return tuple(_soften(each) if _is_of_list(each, rules) else each for each in findings)


def _is_of_list(finding: Finding, rules: Container[str]) -> bool:
    return finding.severity is Severity.ERROR and (
        finding.rule in rules or _UNSUPPORTED in (finding.operator_message or "")
    )


def _soften(finding: Finding) -> Finding:
    message = f"{finding.message}. A newer release, which packwise does not know, may accept it"
    return finding.replace(severity=Severity.WARNING, message=message, operator_message=None, stage=None)


def place_text(item: KubeObject) -> str:
    """Return the file and the line of the object for a message.

    For an object of stdin, add its kind and name, because users cannot look up a line there.
    """
    return _with_object(item.location(), item)


def _with_object(at: Location, item: KubeObject) -> str:
    return str(at) if at.file is not None or not item.kind else f"{at} {ResourceRef.of(item.id)}"


class Derived(Record):
    """A text that packwise made from a document in a file, such as a filled-in template.

    `lines` maps each line of `text` to its 1-based line in the document. If it is empty, both have the same lines.
    """

    text: str
    lines: tuple[int, ...] = ()


class Place(Record):
    """A mapping in `item` at `path`.

    If `embedded` is true, `path` leads to a text, and the text is a YAML document with the mapping. `inner` is the path
    of the mapping in that document. If `texts` is true, each entry of the mapping at `path` is such a text, as in the
    data of a ConfigMap. `derived` is set if packwise does not read the document itself, but a text made from it.
    """

    item: KubeObject
    path: FieldPath = ()
    embedded: bool = False
    inner: FieldPath = ()
    texts: bool = False
    derived: Derived | None = None

    def child(self, *steps: str | int) -> Place:
        """Return the place of the value at the path `steps` below the mapping."""
        if self.embedded:
            return self.replace(inner=(*self.inner, *steps))
        if self.texts:
            long = f"spec.{steps[0]}"
            key = steps[0] if self.item.get((*self.path, long)) is None else long
            return Place(self.item, (*self.path, key), True, steps[1:])
        return Place(self.item, (*self.path, *steps), inner=self.inner, derived=self.derived)

    @property
    def description(self) -> str:
        """Return file, line, column and field for a message. For stdin, add the kind and name of the object."""
        return f"{_with_object(self.location(), self.item)} {self.field}".rstrip()

    @property
    def field(self) -> str:
        """Return the path in the object, followed by the path in an embedded document in parentheses."""
        return format_path(self.path) + (f" ({format_path(self.inner)})" if self.inner else "")

    def finding(
        self,
        rule: Rule,
        message: str | Problem,
        *,
        severity: Severity | None = None,
        operator_message: str | None = None,
        stage: Stage | None = None,
        order: int = 0,
        at_key: bool = False,
    ) -> Finding:
        """Return a finding of `rule` about this place.

        If `message` is a problem, the finding is at the problem's path below this place, with its operator's text and
        stage.
        """
        if isinstance(message, Problem):
            problem = message
        else:
            problem = Problem((), message, operator_message, stage, at_key=at_key)
        place, text = self.child(*problem.path) if problem.path else self, problem.message
        if place.embedded and place.inner:
            text = f"{format_path(place.inner)} {text}"
        return Finding.of(
            rule,
            place.item,
            problem.replace(path=place.path, message=text),
            severity=severity,
            order=order,
            location=place.location(key=problem.at_key) if place.embedded or place.derived is not None else None,
        )

    def location(self, *, key: bool = False) -> Location:
        """Return the location of the place in the file. With `key`, return the location of its key.

        The location of a value in an embedded document is inside that document if possible.
        """
        if not self.embedded and self.derived is None:
            return self.item.location(self.path)
        # Few objects are inside a text of another one.
        from krmfn.yamltext import YamlError
        from krmfn.yamltext.places import nearest_position

        text = self.item.get(self.path) if self.derived is None else self.derived.text
        inner = self.inner if self.embedded else self.path
        try:
            line, column = (
                nearest_position(text, inner, key=key and not self.embedded) if isinstance(text, str) else (0, 0)
            )
        except YamlError:
            line, column = 0, 0
        if self.derived is not None and self.derived.lines and line:
            line = self.derived.lines[line - 1]
        return self.location_of(line, column)

    def location_of(self, line: int, column: int = 1) -> Location:
        """Return the location in the file of a line of the document.

        Return the location of the whole text if the lines of an embedded document cannot be located. Line and column
        are 1-based.
        """
        from krmfn.kubeobject import Location

        origin = self.item.origin
        if not self.embedded:
            return Location(origin.file, origin.line + max(line, 1) - 1, max(column, 1))
        from krmfn.yamltext import YamlError
        from krmfn.yamltext.places import start_offsets

        outer = self.item.location(self.path)
        try:
            (start,) = start_offsets(origin.text, [(*origin.root, *self.path)])
        except YamlError:
            return outer
        # Only a literal block has each line of the document on its own line.
        if start is None or line < 1 or not origin.text.startswith("|", start):
            return outer
        first = _first_line(origin.text, start)
        name = self.item.location(self.path, key=True)
        before = origin.text[origin.text.rfind("\n", 0, start) + 1 : start]
        indent = len(first) - len(first.lstrip()) - (len(before) - len(before.lstrip(" -")))
        return Location(outer.file, outer.line + line, name.column + max(indent, 0) + column - 1)


_LINE = r"\n([^\S\n]*+\S.*)"


def _first_line(text: str, start: int) -> str:
    """Return the first non-blank line after the line at `start`, or ""."""
    line = re.compile(_LINE).search(text, start)
    return line[1] if line else ""


class Origin(Record):
    """The place in the input from which a node is made, and the rule that makes it.

    `rule` names a section of the operator's specification. `fields` maps a field of the node to its source: a path
    below the place, or another place.
    """

    place: Place
    rule: str
    fields: Mapping[str, FieldPath | Place] = {}

    def of(self, field: str) -> Origin:
        """Return the origin of one field of the node. Return this origin if the field has none."""
        steps = self.fields.get(field)
        if steps is None:
            return self
        return Origin(steps if isinstance(steps, Place) else self.place.child(*steps), self.rule)
