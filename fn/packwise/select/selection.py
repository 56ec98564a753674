"""The first step: what among the input configures the render, and what it means.

Source: revisions.md "Configuration", product.md "What goes in".
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from krmfn.errors import FieldError
from packwise.api import GROUP, KIND, TopologyRender, load, no_configuration
from packwise.finding import Finding, Rule, Severity, has_errors
from packwise.revisions import DEFAULT, REVISIONS, Revision
from packwise.select.configuration import SOURCES, Configuration, Source, check_levels, read_source, sections_of
from packwise.select.definitions import NO_DEFINITIONS, Definitions, definitions_of
from packwise.select.foreign import foreign_places
from packwise.select.index import READABLE, Index, identity
from packwise.select.place import Place, settings_place
from packwise.topology.clustertopology import GROUP as TOPOLOGY_GROUP
from packwise.wording import list_known

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from krmfn.kubeobject import KubeObject
    from krmfn.result import Result
    from krmfn.value import Value
    from packwise.plan import Schedulers
    from packwise.select.package import Package

__all__ = ["RULES", "Selection", "select"]

_OPERATOR_GROUP = "operator.config.grove.io"
_OPERATOR_KIND = "OperatorConfiguration"

REVISION = Rule("revision", "The revision is one that packwise renders.", "revisions.md")
SETTINGS = Rule(
    "configuration-fields", "packwise's own configuration has known fields of the right type.", "product.md"
)
UNSUPPORTED = Rule("configuration-unsupported", "A setting that has no effect.", "product.md", Severity.WARNING)
LEVELS_UNUSED = Rule(
    "configuration-levels-unused", "Levels that this revision does not look at.", "operator.md 9", Severity.WARNING
)
ABSENT = Rule("configuration-absent", "Some object configures the topology.", "revisions.md", Severity.WARNING)
RULES = (REVISION, SETTINGS, UNSUPPORTED, LEVELS_UNUSED, ABSENT)
"""Rules of packwise's own configuration."""


class Selection(NamedTuple):
    """The input, sorted out. `configuration` is None where nothing configures a topology.

    `enabled` is whether TAS is; `results` are what krmfn has to say about packwise's own configuration. `foreign` are
    the places of documents that are no Kubernetes objects, `foreign_before` those in the baseline. `schedulers`: where
    the revision has them.
    """

    index: Index  # pyright: ignore[reportIncompatibleMethodOverride]
    baseline: Index | None
    settings: TopologyRender
    revision: Revision
    configuration: Configuration | None
    enabled: bool
    findings: tuple[Finding, ...] = ()
    results: tuple[Result, ...] = ()
    definitions: Definitions = NO_DEFINITIONS
    foreign: tuple[Place, ...] = ()
    schedulers: Schedulers | None = None
    foreign_before: tuple[Place, ...] = ()

    def before(self, value: Mapping[str, Value]) -> Mapping[str, Value] | None:
        """The object as it stood in the baseline, whoever made it; None where there is none."""
        if self.baseline is None:
            return None
        key = identity(value)
        found = self.baseline.others.get(key) or self.baseline.earlier.get(key)
        return None if found is None else found.value


def select(package: Package) -> Selection:
    """The input sorted out, with every finding about how the render is configured."""
    index = Index.of(package.items)
    baseline = None if package.baseline is None else Index.of(package.baseline)
    definitions = definitions_of(package.crds, index)
    findings: list[Finding] = [*index.findings, *definitions.findings]
    results: list[Result] = []
    settings = _settings(package, index, findings, results)
    sources, operator = _sources(settings, index, findings)
    _refuse_second(sources, findings)
    chosen = sources[0] if sources else operator
    configuration = None
    if chosen is not None and not results:
        configuration = read_source(_completed(chosen, settings, operator), findings)
    revision = _revision(settings, configuration, index, findings)
    findings += _without_effect(settings, configuration, revision)
    name = configuration.name if configuration is not None else None
    revision = revision.configured(name, annotate_topology=settings.topology_name_annotation)
    schedulers = None
    if configuration is not None and revision.default_topology is not None:
        findings += check_levels(configuration, revision)
    elif configuration is not None and configuration.levels:
        findings.append(_levels_unused(configuration, revision))
    if revision.scheduler_backends:
        # The older revisions have none, and need not import what reads them.
        from packwise.select.schedulers import read_schedulers

        schedulers, wrong = read_schedulers(configuration, revision, settings.item)
        findings += wrong
    enabled = configuration.enabled if configuration is not None else _topologies_only(index, revision)
    foreign = foreign_places(package.documents, index)
    # OSMO's pools are a configuration of their own.
    if chosen is None and not enabled and not results and not foreign and not has_errors(findings):
        findings.append(_absent(settings, revision))
    return Selection(
        index,
        baseline,
        settings,
        revision,
        configuration,
        enabled,
        tuple(findings),
        tuple(results),
        definitions,
        foreign,
        schedulers,
        () if baseline is None else foreign_places(package.documents_before, baseline),
    )


def _settings(package: Package, index: Index, findings: list[Finding], results: list[Result]) -> TopologyRender:
    """packwise's own configuration: the function's, or the one among the items."""
    given = _given(package)
    items = [item for item in index.of_kind(GROUP, KIND) if not _is_same(item, given)]
    chosen = given if given is not None else (items.pop(0) if items else None)
    if chosen is None:
        return no_configuration()
    try:
        settings = load(chosen)
    except FieldError as error:
        results.append(_ruled(error.to_result()))
        return no_configuration()
    except ValueError as error:
        found: tuple[Result, ...] = getattr(error, "results", ())
        if not found:
            raise
        results += [_ruled(result) for result in found]
        return no_configuration()
    first = "the functionConfig" if given is not None else str(chosen.location())
    message = f"must be the only {KIND}; there is another, {first}; keep one, or move this one elsewhere"
    findings += [Finding.of(SOURCES, other, (), message) for other in items]
    return settings


def _given(package: Package) -> KubeObject | None:
    """The functionConfig, where it says anything: kpt gives a ConfigMap without data when the user gives none."""
    given = package.function_config
    if given is not None and given.kind == "ConfigMap" and not given.get(("data",)):
        return None
    return given


def _is_same(item: KubeObject, given: KubeObject | None) -> bool:
    """Whether `item` is the function's configuration too: kpt lists the file among the items."""
    return given is not None and identity(item.value) == identity(given.value)


def _ruled(result: Result) -> Result:
    return result._replace(tags={**result.tags, "rule": SETTINGS.name})


def _without_effect(
    settings: TopologyRender, configuration: Configuration | None, revision: Revision
) -> Iterator[Finding]:
    """Settings that are those of another revision."""
    message = f'has no effect with revision "{revision.name}"; leave it out'
    if settings.topology_name_annotation and revision.annotate_topology:
        yield settings_place(settings).below("topologyNameAnnotation").finding(UNSUPPORTED, message)
    if settings.finalizers and revision.finalizer is None:
        yield settings_place(settings).below("finalizers").finding(UNSUPPORTED, message)
    if configuration is not None and configuration.name is not None and not revision.named_by_configuration:
        yield configuration.place.below("name").finding(UNSUPPORTED, message)


def _sources(settings: TopologyRender, index: Index, findings: list[Finding]) -> tuple[list[Source], Source | None]:
    """Every source with a topology section; and Grove's own configuration, with one or without."""
    found: list[Source] = []
    operator: Source | None = None
    if settings.sections:
        found.append(Source(f"the {KIND}", settings_place(settings), settings.sections, settings.scheduler))
    for source in (*_operator_items(index), *_operator_documents(index, findings)):
        operator = operator or source
        if sections_of(source.sections):
            found.append(source)
    if operator is not None and not sections_of(operator.sections):
        # Grove's own default is that TAS is disabled.
        key = REVISIONS.get(settings.revision or "", DEFAULT).configuration_key
        operator = Source(operator.noun, operator.place, {key: {}}, operator.scheduler, operator.network)
    return found, operator


def _operator_items(index: Index) -> list[Source]:
    return [
        Source(
            f"the {_OPERATOR_KIND}", Place(item), sections_of(item.value), item.get("scheduler"), item.get("network")
        )
        for item in index.of_kind(_OPERATOR_GROUP, _OPERATOR_KIND)
    ]


def _operator_documents(index: Index, findings: list[Finding]) -> list[Source]:
    """OperatorConfigurations in the data of ConfigMaps, as Grove's Helm chart renders them."""
    found: list[Source] = []
    for item in index.of_kind("", "ConfigMap"):
        data = item.get("data")
        for key, text in data.items() if isinstance(data, dict) else ():
            if isinstance(text, str) and f"{_OPERATOR_GROUP}/" in text:
                source = _operator_document(item, key, text, findings)
                found += [source] if source is not None else []
    return found


def _operator_document(item: KubeObject, key: str, text: str, findings: list[Finding]) -> Source | None:
    from krmfn.yamltext import YamlError, read

    place = Place(item, ("data", key), embedded=True)
    try:
        value = read(text)
    except YamlError as error:
        message = f"must hold a YAML document; line {error.line}, column {error.column} of it: {error.message}"
        findings.append(place.finding(READABLE, message))
        return None
    if not isinstance(value, dict) or value.get("kind") != _OPERATOR_KIND:
        return None
    return Source(f"the {_OPERATOR_KIND}", place, sections_of(value), value.get("scheduler"), value.get("network"))


def _refuse_second(sources: list[Source], findings: list[Finding]) -> None:
    for other in sources[1:]:
        first = sources[0]
        at = first.place.below(next(iter(first.sections))).told
        message = f"must be the only topology configuration; {first.noun} has one too ({at}); keep one of them"
        findings.append(other.place.below(next(iter(other.sections))).finding(SOURCES, message, at_key=True))


def _completed(source: Source, settings: TopologyRender, operator: Source | None) -> Source:
    scheduler, place = source.scheduler, source.place
    if scheduler is None and settings.scheduler is not None:
        scheduler, place = settings.scheduler, settings_place(settings)
    if scheduler is None and operator is not None:
        scheduler, place = operator.scheduler, operator.place
    network = operator.network if source.network is None and operator is not None else source.network
    return Source(source.noun, source.place, source.sections, scheduler, network, place.below("scheduler"))


def _revision(
    settings: TopologyRender, configuration: Configuration | None, index: Index, findings: list[Finding]
) -> Revision:
    """`spec.revision`, else the one that topologies or the topology section's key choose, else the default."""
    if settings.revision is not None:
        revision = REVISIONS.get(settings.revision)
        if revision is None:
            message = f'must be one that this version renders: {list_known(REVISIONS)}; got "{settings.revision}"'
            findings.append(settings_place(settings).below("revision").finding(REVISION, message))
            return DEFAULT
        if configuration is not None and configuration.key != revision.configuration_key:
            message = (
                f'must be "{revision.configuration_key}" for revision "{revision.name}"; got "{configuration.key}"'
            )
            findings.append(configuration.place.finding(REVISION, message, at_key=True))
        return revision
    for revision in REVISIONS.values():
        if revision.chosen_by_topologies and index.of_kind(TOPOLOGY_GROUP, revision.topology_kind):
            return revision
    if configuration is None:
        return DEFAULT
    for revision in REVISIONS.values():
        if revision.chosen_by_key and revision.configuration_key == configuration.key:
            return revision
    return DEFAULT


def _topologies_only(index: Index, revision: Revision) -> bool:
    """Whether user-created topologies alone say that TAS is on. Source: revisions.md "Configuration" (d)."""
    return revision.chooses_topology and bool(index.of_kind(TOPOLOGY_GROUP, revision.topology_kind))


def _levels_unused(configuration: Configuration, revision: Revision) -> Finding:
    message = (
        f'has no effect with revision "{revision.name}": its levels stand in {revision.topology_kind} objects, and the '
        "operator passes over these; move them there"
    )
    return configuration.place.below("levels").finding(LEVELS_UNUSED, message, at_key=True)


def _absent(settings: TopologyRender, revision: Revision) -> Finding:
    message = (
        "no topology configuration was given, so topology-aware scheduling counts as disabled; give "
        f"`{revision.configuration_key}` in the TopologyRender, or a Grove OperatorConfiguration among the input"
    )
    path = ("data",) if settings.embedded else ("spec",)
    return Finding.of(ABSENT, settings.item, path if settings.item is not None else (), message)
