"""Read OSMO's documents as OSMO does, and make pools and workflows from them.

Source: spec/osmo.md#input, #1, #2.
"""

from __future__ import annotations

from functools import partial

from pydantic import ValidationError

from krmfn.fieldpath import FieldError, describe
from krmfn.hints import TYPE_CHECKING, Record, cast
from krmfn.kubeobject import KubeObject
from krmfn.yamltext import YamlError, read
from packwise.findings import Derived, Finding, Stage, has_errors
from packwise.frontends.osmo import schema
from packwise.frontends.osmo.account import current_account
from packwise.frontends.osmo.model import distinct_pools, read_backends, read_pool, read_workflow
from packwise.frontends.osmo.recognition import LABEL, pod_templates
from packwise.frontends.osmo.rules import DOCUMENT, DUPLICATE_KEY, NAMES, SCHEMA, SECTIONS, TEMPLATE, run
from packwise.frontends.osmo.schema import schema_problems
from packwise.frontends.osmo.template import Filled, Unfilled, fill, read_as_osmo, sections
from packwise.objects.index import READABLE

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from krmfn.value import Value
    from packwise.findings import Place
    from packwise.frontends.osmo.model import OsmoPool, Workflow
    from packwise.frontends.osmo.recognition import DocumentAt
    from packwise.frontends.osmo.template import Duplicate, TextRead

    FillIn = Callable[[str], Filled | Unfilled]
    """A function that fills in the templates of a spec with the values of the submission."""

_KINDS = ("pool", "workflow")


class Documents(Record):
    """The pools and workflows of the input, in its order. Invalid pools and workflows are missing.

    `findings` are the findings about the documents, each with its object.

    `pod_templates` are the templates that OSMO merges into the pods of pools, each with its place.
    """

    pools: tuple[OsmoPool, ...]
    workflows: tuple[Workflow, ...]
    findings: tuple[tuple[KubeObject, Finding], ...]
    pod_templates: tuple[tuple[Place, Mapping[str, Value]], ...] = ()

    @property
    def rendered_pools(self) -> tuple[OsmoPool, ...]:
        """Return the pools. Return one of them if several have one name."""
        return distinct_pools(self.pools)


class Raw(Record):
    """A document: its `text`, and its `value` as OSMO reads it after it has filled in the templates."""

    place: Place
    text: str
    value: Mapping[str, Value]

    @property
    def has_pools(self) -> bool:
        """Return True if the document is a pool config.

        The configuration of OSMO's service has both pools and a section `workflow`.
        """
        return "workflow" not in self.value or isinstance(self.value.get("pools"), dict)


def read_documents(places: Iterable[DocumentAt], values: Mapping[str, Value]) -> Documents:
    """Return the pools and workflows at `places`. Templates are filled in with `values` of the submission."""
    pools: list[OsmoPool] = []
    workflows: list[Workflow] = []
    templates: list[tuple[Place, Mapping[str, Value]]] = []
    findings: list[tuple[KubeObject, Finding]] = []
    fill_in = partial(fill, values=values, account=current_account())
    for at in places:
        place = at.place
        raw, problems = _raw(at, fill_in)
        if raw is not None and not has_errors(problems):
            if raw.has_pools:
                read, refusals = _pools(raw, in_helm_values=at.form == "values")
                pools += read
                templates += [(place.child(*path), template) for path, template in pod_templates(raw.value)]
            else:
                workflow, refusals = _workflow(raw)
                workflows += [] if workflow is None else [workflow]
            problems += refusals
        findings += [(place.item, finding) for finding in problems]
    return Documents(tuple(pools), tuple(workflows), tuple(findings), tuple(templates))


def _raw(at: DocumentAt, fill_in: FillIn) -> tuple[Raw | None, list[Finding]]:
    """Return the document at a place, or None and findings if it cannot be read."""
    place = at.place
    if at.form == "labelled":
        return _read_embedded(place, fill_in)
    if at.form == "service":
        return _embedded_pools(place, str(place.item.get(place.path)))
    if at.form == "values":
        return Raw(place, "", cast("Mapping[str, Value]", place.item.get(place.path))), []
    text = place.item.source.text
    try:
        raw = Raw(place, text, place.item.value)
    except FieldError:
        return _workflow_text(place, text, fill_in)
    if not raw.has_pools:
        return _workflow_text(place, text, fill_in)
    return _as_osmo_reads(raw), []


def _workflow_text(place: Place, text: str, fill_in: FillIn) -> tuple[Raw | None, list[Finding]]:
    """Return the workflow spec in `text` with its templates filled in, or None and findings if it cannot be read."""
    filled = fill_in(text)
    if isinstance(filled, Unfilled):
        return None, [*_sections_of_text(place, text), _unfilled_finding(place, filled)]
    try:
        read = _read_once(filled)
    except YamlError as error:
        return None, [*_sections_of_text(place, text), _unreadable_finding(place, filled, error)]
    if not isinstance(read.value, dict) or "workflow" not in read.value:
        line = next((section.line for section in sections(text) if section.key == "workflow"), 1)
        absent = Unfilled(f"the filled-in template must be a mapping with `workflow`; got {describe(read.value)}", line)
        return None, list(_sections_of_text(place, text)) or [_unfilled_finding(place, absent)]
    findings = [_duplicate(place, filled, each) for each in read.duplicates]
    if filled.lines or read.duplicates:
        place = _derive(place, filled, read.value)
    return Raw(place, text, read.value), findings


def _read_once(filled: Filled) -> TextRead:
    """Return the value of a workflow spec. Raise YamlError if it is invalid.

    A filled-in template is read only once for each command, because it may be long.
    """
    if not filled.lines:
        return read_as_osmo(filled.text)
    answers, key = current_account().answers, filled.text.encode("utf-8", "surrogatepass")
    if key not in answers:
        try:
            answers[key] = read_as_osmo(filled.text)
        except YamlError as error:
            answers[key] = error
    answer = answers[key]
    if isinstance(answer, YamlError):
        raise answer
    return cast("TextRead", answer)


def _derive(place: Place, filled: Filled, value: Mapping[str, Value]) -> Place:
    """Return `place` for a filled-in text. Findings there are reported at the lines of the template."""
    item = place.item if place.path else KubeObject.cut(place.item.source, value)
    return place.replace(item=item, derived=Derived(filled.text, filled.lines))


def _sections_of_text(place: Place, text: str) -> Iterator[Finding]:
    """Yield findings about the sections of a text that is not valid YAML. They have lines instead of fields."""
    lines = {section.key: section.line for section in sections(text)}
    for order, (below, problem) in enumerate(SECTIONS.problems((place, text))):
        finding = below.finding(SECTIONS.rule, problem.replace(stage=SECTIONS.stage), order=order)
        line = lines.get(str((below.inner or below.path)[-1]), 1)
        yield finding.replace(path=place.path, location=place.location_of(line), at_key=False)


def _unfilled_finding(place: Place, unfilled: Unfilled) -> Finding:
    stage = None if unfilled.error is None else Stage.DECODE
    finding = place.finding(TEMPLATE, unfilled.message, operator_message=unfilled.error, stage=stage)
    return finding.replace(location=place.location_of(unfilled.line, unfilled.column))


def _unreadable_finding(place: Place, filled: Filled, error: YamlError) -> Finding:
    message = f"once it is filled in: {error.message}" if filled.lines else error.message
    line = _line(filled, error.line)
    if place.embedded:
        message = f"must be a YAML document; line {line}, column {error.column}: {message}"
    return place.finding(READABLE, message).replace(location=place.location_of(line, error.column))


def _duplicate(place: Place, filled: Filled, duplicate: Duplicate) -> Finding:
    message = f'duplicate key "{duplicate.key}"; OSMO uses the last one: remove the others'
    finding = place.finding(DUPLICATE_KEY, message)
    return finding.replace(location=place.location_of(_line(filled, duplicate.line), duplicate.column))


def _line(filled: Filled, line: int) -> int:
    """Return the line of the document from which `line` of the filled-in text comes."""
    return filled.lines[line - 1] if 0 < line <= len(filled.lines) else line


def _read_embedded(place: Place, fill_in: FillIn) -> tuple[Raw | None, list[Finding]]:
    """Return the document in the data of a ConfigMap, or None and findings if it cannot be read."""
    kind, text = place.item.get(("metadata", "labels", LABEL)), place.item.get(place.path)
    if kind not in _KINDS:
        message = f'must be "pool" or "workflow"; got {describe(kind)}'
        return None, [Finding.of(DOCUMENT, place.item, ("metadata", "labels", LABEL), message)]
    if not place.embedded or not isinstance(text, str):
        count = len(text) if isinstance(text, dict) else 0
        message = f"must have one key with the {kind} config as a string; got {count} keys"
        return None, [Finding.of(DOCUMENT, place.item, ("data",), message)]
    return _embedded_workflow(place, text, fill_in) if kind == "workflow" else _embedded_pools(place, text)


def _embedded_pools(place: Place, text: str) -> tuple[Raw | None, list[Finding]]:
    try:
        value = read(text)
    except YamlError as error:
        return None, [_unreadable_finding(place, Filled(text), error)]
    raw = Raw(place, text, value) if isinstance(value, dict) else None
    if raw is None or not raw.has_pools:
        message = "must be a pool config, with `pools`, or `backend` and `name`, at the top"
        return None, [place.finding(DOCUMENT, message)]
    return _as_osmo_reads(raw), []


def _embedded_workflow(place: Place, text: str, fill_in: FillIn) -> tuple[Raw | None, list[Finding]]:
    raw, findings = _workflow_text(place, text, fill_in)
    if raw is None and not any(finding.rule in (TEMPLATE.name, READABLE.name) for finding in findings):
        message = "must be a workflow config, with `workflow` at the top"
        not_found = "Workflow spec not found."
        return None, [place.finding(DOCUMENT, message, operator_message=not_found, stage=Stage.DECODE)]
    return raw, findings


def _as_osmo_reads(raw: Raw) -> Raw:
    """Return the document read as YAML 1.1, as OSMO does with `yaml.safe_load`.

    In YAML 1.1, `no` is false and `1:30` is a number.
    """
    read = read_as_osmo(raw.text).value
    return raw.replace(value=read) if isinstance(read, dict) else raw


def _pools(raw: Raw, *, in_helm_values: bool) -> tuple[list[OsmoPool], list[Finding]]:
    backends = read_backends(raw.value)
    pools: list[OsmoPool] = []
    findings: list[Finding] = []
    for name, place, entry in _pool_values(raw):
        # Helm merges values files, so another file may have a missing field.
        value = {"backend": "", **entry} if in_helm_values and isinstance(entry, dict) else entry
        try:
            model = schema.Pool.model_validate(value)
        except ValidationError as error:
            findings += _schema_findings(error, place, value, Stage.CONFIG)
        else:
            if name is None and not model.name:
                findings.append(place.child("name").finding(SCHEMA, "must be set: it is the name of a single pool"))
                continue
            pool = read_pool(model.name if name is None else name, place, model, backends)
            pools.append(pool.replace(in_helm_values=in_helm_values))
    return pools, findings


def _pool_values(raw: Raw) -> list[tuple[str | None, Place, Value]]:
    """Return name, place and value of each pool. The name is None if the pool itself contains it."""
    entries = raw.value.get("pools")
    if "pools" not in raw.value:
        if any(pod_templates(raw.value)):
            # These values have only pod templates. Helm merges them with the pools of another file.
            return []
        return [(None, raw.place, raw.value)]
    if not isinstance(entries, dict):
        return [(None, raw.place.child("pools"), entries)]
    return [(str(name), raw.place.child("pools", str(name)), value) for name, value in entries.items()]


def _workflow(raw: Raw) -> tuple[Workflow | None, list[Finding]]:
    is_filled = raw.place.derived is not None and bool(raw.place.derived.lines)
    # A filled-in text contains only the section `workflow`, so search the original text for sections.
    findings = list(_sections_of_text(raw.place, raw.text) if is_filled else run((SECTIONS,), (raw.place, raw.text)))
    findings += run(NAMES, (raw.place, raw.value.get("workflow")), len(findings))
    try:
        model = schema.VersionedWorkflowSpec.model_validate({"workflow": raw.value["workflow"]})
    except ValidationError as error:
        return None, [*findings, *_schema_findings(error, raw.place, raw.value, Stage.SCHEMA, len(findings))]
    return (None if findings else read_workflow(raw.place, raw.text, model.workflow)), findings


def _schema_findings(error: ValidationError, place: Place, value: Value, stage: Stage, order: int = 0) -> list[Finding]:
    """Return pydantic's errors as findings. `order` is the position of the first finding in OSMO's order."""
    problems = schema_problems(error, value, stage)
    return [place.finding(SCHEMA, problem, order=order + number) for number, problem in enumerate(problems)]
