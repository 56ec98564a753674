"""OSMO's documents: read as OSMO reads them, and turned into pools and workflows. Source: osmo.md (top), 1, 2."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from krmfn.errors import FieldError, describe
from krmfn.record import NamedTuple
from krmfn.source import Location
from packwise.findings.finding import Finding, Stage, from_field_error
from packwise.frontends.osmo.pool import read_backends, read_pool
from packwise.frontends.osmo.recognition import LABEL
from packwise.frontends.osmo.rules import DOCUMENT, NAMES, SCHEMA, SECTIONS
from packwise.frontends.osmo.rules.check import run
from packwise.frontends.osmo.workflow import read_workflow
from packwise.objects.index import READABLE

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from pydantic import ValidationError

    from krmfn.kubeobject import KubeObject
    from krmfn.value import Value
    from packwise.frontends.osmo.pool import Pool
    from packwise.frontends.osmo.workflow import Workflow
    from packwise.objects.place import Place

__all__ = ["Documents", "read_documents"]

_KINDS = ("pool", "workflow")


class Documents(NamedTuple):
    """What was read, in the input's order; of a document with errors its parts are left out, and `findings` say why."""

    pools: tuple[Pool, ...]
    workflows: tuple[Workflow, ...]
    findings: tuple[tuple[KubeObject, Finding], ...]


class Raw(NamedTuple):
    """A document's text and value: `value` is what OSMO's own reader makes of the text."""

    place: Place
    text: str
    value: Mapping[str, Value]


def read_documents(places: Iterable[Place]) -> Documents:
    """The pools and workflows at `places`."""
    pools: list[Pool] = []
    workflows: list[Workflow] = []
    findings: list[tuple[KubeObject, Finding]] = []
    for place in places:
        raw, refusals = _raw(place)
        if raw is not None and not refusals:
            if "workflow" in raw.value:
                workflow, refusals = _workflow(raw)
                workflows += [] if workflow is None else [workflow]
            else:
                read, refusals = _pools(raw)
                pools += read
        findings += [(place.item, finding) for finding in refusals]
    return Documents(tuple(pools), tuple(workflows), tuple(findings))


def _raw(place: Place) -> tuple[Raw | None, list[Finding]]:
    """The document at `place`, or what keeps it from being one."""
    if place.path:
        return _embedded(place)
    text = place.item.source.text
    try:
        value = place.item.value
    except FieldError as error:
        return None, [*_sections_of_text(place, text), _unreadable(place, text, error)]
    return Raw(place, text, _as_osmo_reads(text, value)), []


def _sections_of_text(place: Place, text: str) -> Iterator[Finding]:
    """What is wrong with the sections of a text that is no YAML: there are lines in it, but no fields."""
    source = place.item.source
    for finding in run((SECTIONS,), (place, text)):
        lines = text.splitlines()
        starts = [number for number, line in enumerate(lines) if line.startswith(f"{finding.path[-1]}:")]
        at = Location(source.file, source.line + (starts[-1] if starts else 0), 1)
        yield finding._replace(path=(), location=at)


def _unreadable(place: Place, text: str, error: FieldError) -> Finding:
    finding = from_field_error(error, place.item, READABLE.name)
    if "{{" in text or "{%" in text:
        message = (
            f"{finding.message}; as a template it must be filled in first: `osmo workflow submit --dry-run` prints it"
        )
        return finding._replace(message=message)
    return finding


def _embedded(place: Place) -> tuple[Raw | None, list[Finding]]:
    """The document in the data of a ConfigMap."""
    from krmfn.yamltext import YamlError, read

    kind, text = place.item.get(("metadata", "labels", LABEL)), place.item.get(place.path)
    if kind not in _KINDS:
        message = f'must be "pool" or "workflow"; got {describe(kind)}'
        return None, [Finding.of(DOCUMENT, place.item, ("metadata", "labels", LABEL), message)]
    if not place.embedded or not isinstance(text, str):
        count = len(text) if isinstance(text, dict) else 0
        message = f"must hold the {kind} config under one key, as a text; got {count} keys"
        return None, [Finding.of(DOCUMENT, place.item, ("data",), message)]
    try:
        value = read(text)
    except YamlError as error:
        message = f"must hold a YAML document; line {error.line}, column {error.column} of it: {error.message}"
        return None, [place.finding(READABLE, message)]
    if not isinstance(value, dict) or ("workflow" in value) != (kind == "workflow"):
        wanted = "`workflow` at the top" if kind == "workflow" else "`pools`, or `backend` and `name`, at the top"
        text_of = "Workflow spec not found." if kind == "workflow" else None
        stage = None if text_of is None else Stage.DECODE
        message = f"must be a {kind} config, with {wanted}"
        return None, [place.finding(DOCUMENT, message, operator_message=text_of, stage=stage)]
    return Raw(place, text, _as_osmo_reads(text, value)), []


def _as_osmo_reads(text: str, value: Mapping[str, Value]) -> Mapping[str, Value]:
    """The value by YAML 1.1, as OSMO's `yaml.safe_load` has it: `no` is false there, and `1:30` a number."""
    import yaml

    try:
        document = yaml.load(text, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader))  # noqa: S506
    except (yaml.YAMLError, ValueError, OverflowError, RecursionError):
        return value
    return cast("Mapping[str, Value]", document) if isinstance(document, dict) else value


def _pools(raw: Raw) -> tuple[list[Pool], list[Finding]]:
    from pydantic import ValidationError

    from packwise.frontends.osmo import schema

    backends = read_backends(raw.value)
    pools: list[Pool] = []
    findings: list[Finding] = []
    for name, place, value in _pool_values(raw):
        try:
            model = schema.Pool.model_validate(value)
        except ValidationError as error:
            findings += _schema_findings(error, place, value, Stage.CONFIG)
        else:
            if name is None and not model.name:
                findings.append(
                    place.below("name").finding(SCHEMA, "must be given: a pool by itself has its name here")
                )
                continue
            pools.append(read_pool(model.name if name is None else name, place, model, backends))
    return pools, findings


def _pool_values(raw: Raw) -> list[tuple[str | None, Place, Value]]:
    """Each pool with its name where that stands outside."""
    entries = raw.value.get("pools")
    if "pools" not in raw.value:
        return [(None, raw.place, raw.value)]
    if not isinstance(entries, dict):
        return [(None, raw.place.below("pools"), entries)]
    return [(str(name), raw.place.below("pools", str(name)), value) for name, value in entries.items()]


def _workflow(raw: Raw) -> tuple[Workflow | None, list[Finding]]:
    from pydantic import ValidationError

    from packwise.frontends.osmo import schema

    findings = list(run((SECTIONS,), (raw.place, raw.text)))
    findings += run(NAMES, (raw.place, raw.value.get("workflow")), len(findings))
    try:
        model = schema.VersionedWorkflowSpec.model_validate({"workflow": raw.value["workflow"]})
    except ValidationError as error:
        return None, [*findings, *_schema_findings(error, raw.place, raw.value, Stage.SCHEMA, len(findings))]
    return (None if findings else read_workflow(raw.place, raw.text, model.workflow)), findings


def _schema_findings(error: ValidationError, place: Place, value: Value, stage: Stage, order: int = 0) -> list[Finding]:
    """Pydantic's errors as findings; `order` is the place of the first."""
    from packwise.frontends.osmo.schema_problems import schema_problems

    problems = schema_problems(error, value, stage)
    return [place.about(problem, SCHEMA, order=order + number) for number, problem in enumerate(problems)]
