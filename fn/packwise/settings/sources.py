"""The objects that a topology configuration is read from: TopologyRender, OperatorConfiguration, a ConfigMap with one.

Source: spec/designs.md#2.
"""

from __future__ import annotations

from krmfn.hints import TYPE_CHECKING
from krmfn.record import NamedTuple
from packwise.findings.finding import Rule
from packwise.objects.index import READABLE
from packwise.objects.place import Place
from packwise.revisions.records import NEWEST, REVISIONS
from packwise.settings.topologyrender import DIALECTS, KIND, settings_place

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from krmfn.kubeobject import KubeObject
    from krmfn.value import Value
    from packwise.findings.finding import Finding
    from packwise.objects.index import Index
    from packwise.settings.topologyrender import TopologyRender

__all__ = ["OPERATOR_GROUP", "OPERATOR_KIND", "SOURCES", "Operator", "Source", "chosen_source", "operators_of"]

SOURCES = Rule("configuration-sources", "There is one topology configuration, spelt one way.", "spec/designs.md#2")

OPERATOR_GROUP = "operator.config.grove.io"
OPERATOR_KIND = "OperatorConfiguration"


class Operator(NamedTuple):
    """A Grove OperatorConfiguration: an object, or a document in the data of a ConfigMap."""

    place: Place
    value: Mapping[str, Value]


class Source(NamedTuple):
    """A mapping that holds a topology section: the spec of a TopologyRender, or a Grove OperatorConfiguration.

    `noun` is what a message calls it; `sections` are the topology sections by key, `scheduler` and `network` those
    sections; all as written. `scheduler_place` and `network_place` are the places of those sections where they are not
    in `place`.
    """

    noun: str
    place: Place
    sections: Mapping[str, Value]
    scheduler: Value = None
    network: Value = None
    scheduler_place: Place | None = None
    network_place: Place | None = None


def operators_of(index: Index, findings: list[Finding]) -> list[Operator]:
    """The OperatorConfigurations of the input; those that are no YAML are added to `findings`."""
    items = [Operator(Place(item), item.value) for item in index.of_kind(OPERATOR_GROUP, OPERATOR_KIND)]
    return [*items, *_operator_documents(index, findings)]


def chosen_source(settings: TopologyRender, configurations: list[Operator], findings: list[Finding]) -> Source | None:
    """The source of the topology configuration, completed by the others; None where there is none.

    Every further source with a topology section is added to `findings`.
    """
    operators = [_operator_source(operator) for operator in configurations]
    with_topology = [source for source in operators if source.sections]
    if settings.sections:
        own = Source(f"the {KIND}", settings_place(settings), settings.sections, settings.scheduler, settings.network)
        with_topology.insert(0, own)
    findings += _second_sources(with_topology)
    operator = _with_section(operators[0], settings) if operators else None
    source = with_topology[0] if with_topology else operator
    return None if source is None else _completed(source, settings, operator)


def _with_section(operator: Source, settings: TopologyRender) -> Source:
    """Grove's own configuration; its default is that TAS is disabled."""
    if operator.sections:
        return operator
    return operator._replace(sections={REVISIONS.get(settings.revision or "", NEWEST).configuration_key: {}})


def _operator_source(operator: Operator) -> Source:
    place, value = operator.place, operator.value
    return Source(f"the {OPERATOR_KIND}", place, _sections(value), value.get("scheduler"), value.get("network"))


def _operator_documents(index: Index, findings: list[Finding]) -> list[Operator]:
    """OperatorConfigurations in the data of ConfigMaps, as Grove's Helm chart renders them."""
    operators: list[Operator] = []
    for item in index.of_kind("", "ConfigMap"):
        data = item.get("data")
        for key, text in data.items() if isinstance(data, dict) else ():
            if isinstance(text, str) and f"{OPERATOR_GROUP}/" in text:
                operator = _operator_document(item, key, text, findings)
                operators += [operator] if operator is not None else []
    return operators


def _operator_document(item: KubeObject, key: str, text: str, findings: list[Finding]) -> Operator | None:
    from krmfn.yamltext import YamlError, read

    place = Place(item, ("data", key), embedded=True)
    try:
        value = read(text)
    except YamlError as error:
        message = f"must hold a YAML document; line {error.line}, column {error.column} of it: {error.message}"
        findings.append(place.finding(READABLE, message))
        return None
    if not isinstance(value, dict) or value.get("kind") != OPERATOR_KIND:
        return None
    return Operator(place, value)


def _second_sources(sources: list[Source]) -> Iterator[Finding]:
    for other in sources[1:]:
        first = sources[0]
        at = first.place.below(next(iter(first.sections))).description
        message = f"must be the only topology configuration; {first.noun} has one too ({at}); keep one of them"
        yield other.place.below(next(iter(other.sections))).finding(SOURCES, message, at_key=True)


def _completed(source: Source, settings: TopologyRender, operator: Source | None) -> Source:
    """`source` with the scheduler and network sections of the others where it has none."""
    scheduler, place = source.scheduler, source.place
    if scheduler is None and settings.scheduler is not None:
        scheduler, place = settings.scheduler, settings_place(settings)
    if scheduler is None and operator is not None:
        scheduler, place = operator.scheduler, operator.place
    network, network_place = source.network, source.place
    if network is None and settings.network is not None:
        network, network_place = settings.network, settings_place(settings)
    if network is None and operator is not None:
        network, network_place = operator.network, operator.place
    return source._replace(
        scheduler=scheduler,
        network=network,
        scheduler_place=place.below("scheduler"),
        network_place=network_place.below("network"),
    )


def _sections(value: Mapping[str, Value]) -> dict[str, Value]:
    """The topology sections of a configuration by key."""
    return {key: value[key] for key in DIALECTS if value.get(key) is not None}
