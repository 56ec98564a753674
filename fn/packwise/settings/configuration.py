"""The topology configuration and the scheduler section next to it: their possible sources, their content, and their
rules.

Source: spec/designs.md#2, spec/grove.md#9.
"""

from __future__ import annotations

from krmfn.fieldpath import describe
from krmfn.hints import TYPE_CHECKING, Record
from krmfn.kubeobject import KubeObject, Source
from krmfn.yamltext import YamlError, read
from packwise.fields import Array, Field, Flag, Object, Open, Text, field_problems
from packwise.findings import Finding, Place, Rule, Stage, soften_lists
from packwise.kubernetes import ErrorType, OperatorError, TypedText, dns_subdomain, go_quote
from packwise.lenient import entries, mapping, text_at, value_at
from packwise.objects.index import READABLE, group_and_kind
from packwise.placement import Schedulers
from packwise.revisions.grove import NEWEST, PLANNED_BACKENDS, REVISIONS
from packwise.settings.topologyrender import DIALECTS, GROUP, KAI_PROFILE, KIND, settings_place
from packwise.topology.known import DOMAINS, ClusterTopology, KnownTopology, Level, rank
from packwise.wording import did_you_mean, list_known

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from krmfn.value import Value
    from packwise.objects.index import Index
    from packwise.revisions.grove import Revision
    from packwise.settings.topologyrender import TopologyRender

# The objects with a topology configuration: TopologyRender, OperatorConfiguration, or a ConfigMap with one. Source:
# spec/designs.md#2.

SOURCES = Rule(
    "configuration-sources", "The input has two topology configurations, or two spellings of one.", "spec/designs.md#2"
)

OPERATOR_GROUP = "operator.config.grove.io"
OPERATOR_KIND = "OperatorConfiguration"


class Operator(Record):
    """A Grove OperatorConfiguration: an object, or a document in the data of a ConfigMap."""

    place: Place
    value: Mapping[str, Value]


class TopologySource(Record):
    """A mapping with a topology section: the spec of a TopologyRender, or a Grove OperatorConfiguration.

    `noun` is its name in messages. `sections` are the topology sections by key, and `scheduler` and `network` are the
    sections with these names, all as written. `scheduler_place` and `network_place` are the places of these sections if
    they are outside `place`.
    """

    noun: str
    place: Place
    sections: Mapping[str, Value]
    scheduler: Value = None
    network: Value = None
    scheduler_place: Place | None = None
    network_place: Place | None = None


def operators_of(index: Index, findings: list[Finding]) -> list[Operator]:
    """Return the OperatorConfigurations of the input. Invalid YAML is added to `findings`."""
    items = [Operator(Place(item), item.value) for item in index.of_kind(OPERATOR_GROUP, OPERATOR_KIND)]
    return [*items, *_operator_documents(index, findings)]


def chosen_source(
    settings: TopologyRender, configurations: list[Operator], findings: list[Finding]
) -> TopologySource | None:
    """Return the source of the topology configuration, or None. Sections that it lacks come from the other sources.

    A finding is added to `findings` for every further source with a topology section.
    """
    operators = [_operator_source(operator) for operator in configurations]
    with_topology = [source for source in operators if source.sections]
    if settings.sections:
        place, sections = settings_place(settings), settings.sections
        own = TopologySource(f"the {KIND}", place, sections, settings.scheduler, settings.network)
        with_topology.insert(0, own)
    findings += _second_sources(with_topology)
    operator = _with_section(operators[0], settings) if operators else None
    source = with_topology[0] if with_topology else operator
    return None if source is None else _complete_source(source, settings, operator)


def _with_section(operator: TopologySource, settings: TopologyRender) -> TopologySource:
    """Return Grove's own configuration. Without a topology section it gets an empty one, which disables all
    topologies.
    """
    if operator.sections:
        return operator
    return operator.replace(sections={REVISIONS.get(settings.revision or "", NEWEST).configuration_key: {}})


def _operator_source(operator: Operator) -> TopologySource:
    place, value = operator.place, operator.value
    return TopologySource(f"the {OPERATOR_KIND}", place, _sections(value), value.get("scheduler"), value.get("network"))


def _operator_documents(index: Index, findings: list[Finding]) -> list[Operator]:
    """Return the OperatorConfigurations in the data of ConfigMaps, as Grove's Helm chart renders them."""
    operators: list[Operator] = []
    for item in index.of_kind("", "ConfigMap"):
        data = item.get("data")
        for key, text in mapping(data).items():
            if isinstance(text, str) and f"{OPERATOR_GROUP}/" in text:
                operator = _operator_document(item, key, text, findings)
                operators += [operator] if operator is not None else []
    return operators


def _operator_document(item: KubeObject, key: str, text: str, findings: list[Finding]) -> Operator | None:
    place = Place(item, ("data", key), embedded=True)
    try:
        value = read(text)
    except YamlError as error:
        message = f"must be a YAML document; line {error.line}, column {error.column}: {error.message}"
        findings.append(place.finding(READABLE, message))
        return None
    if not isinstance(value, dict) or value.get("kind") != OPERATOR_KIND:
        return None
    return Operator(place, value)


def _second_sources(sources: list[TopologySource]) -> Iterator[Finding]:
    for other in sources[1:]:
        first = sources[0]
        at = first.place.child(next(iter(first.sections))).description
        message = f"found two topology configurations: {first.noun} has one too ({at}). Keep one of them"
        yield other.place.child(next(iter(other.sections))).finding(SOURCES, message, at_key=True)


def _complete_source(
    source: TopologySource, settings: TopologyRender, operator: TopologySource | None
) -> TopologySource:
    """Return `source`. If it has no scheduler or network section, the section comes from the other sources."""
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
    return source.replace(
        scheduler=scheduler,
        network=network,
        scheduler_place=place.child("scheduler"),
        network_place=network_place.child("network"),
    )


def _sections(value: Mapping[str, Value]) -> dict[str, Value]:
    """Return the topology sections of a configuration by key."""
    return {key: value[key] for key in DIALECTS if value.get(key) is not None}


_SOURCE = "spec/designs.md#2"
SHAPE = Rule("configuration-shape", "The topology configuration has a value of the wrong type.", _SOURCE)
LEVELS = Rule(
    "configuration-levels",
    "Topology-aware scheduling is enabled without levels, or with too many.",
    "spec/grove.md#9.1",
)
DOMAIN = Rule("configuration-domain", "A level has a domain that Grove does not know.", "spec/grove.md#9.1")
UNIQUE = Rule("configuration-unique", "Two levels have the same domain or the same key.", "spec/grove.md#9.1")
KEY = Rule("configuration-key", "The key of a level is not a valid node label.", "spec/grove.md#3.4")
NAME = Rule("configuration-name", "The name of the ClusterTopology is not valid.", _SOURCE)
RULES = (SOURCES, SHAPE, LEVELS, DOMAIN, UNIQUE, KEY, NAME)
"""Rules of the topology configuration."""


class Configuration(Record):
    """The topology configuration. `levels` have the order in which they are listed. `place` is the topology section.

    `key` is the key of the section. `makes_kai_topologies` comes from the scheduler profiles, or is None without
    profiles. `scheduler` is the scheduler section as written, and its place.
    """

    place: Place
    key: str
    enabled: bool
    levels: tuple[Level, ...]
    name: str | None = None
    auto_mnnvl: bool = False
    makes_kai_topologies: bool | None = None
    scheduler: tuple[Value, Place] | None = None

    @property
    def domains(self) -> tuple[str, ...]:
        """The domains in the order in which the configuration lists them."""
        return tuple(level.domain for level in self.levels)

    def hierarchy(self, revision: Revision) -> tuple[Level, ...]:
        """Return the levels broadest first in the order of `revision`."""
        return tuple(self.levels[position] for position in self._order(revision))

    def topology(self, revision: Revision) -> KnownTopology | None:
        """Return the topology that the operator makes from the levels. Return None if it makes none."""
        if not self.enabled or revision.default_topology is None:
            return None
        levels = self.place.child("levels")
        places = tuple(levels.child(position) for position in self._order(revision))
        topology = ClusterTopology(revision.default_topology, self.hierarchy(revision))
        return KnownTopology(topology, places, levels, self.place.item)

    def _order(self, revision: Revision) -> list[int]:
        """Return the indexes of the levels, broadest level first."""
        positions = list(range(len(self.levels)))
        return positions if revision.listed_order else sorted(positions, key=lambda at: rank(self.levels[at].domain))


def read_source(source: TopologySource, findings: list[Finding]) -> Configuration | None:
    """Return the configuration in `source`. If it has wrong types or a second section, add findings and return None."""
    keys = list(source.sections)
    if len(keys) > 1:
        first, second = keys[:2]
        at = source.place.child(first).description
        message = f'the topology is configured twice: "{first}" is another spelling ({at}). Keep one of them'
        findings.append(source.place.child(second).finding(SOURCES, message, at_key=True))
        return None
    key, section = keys[0], source.sections[keys[0]]
    place = source.place.child(key)
    if not isinstance(section, dict):
        findings.append(place.finding(SHAPE, f"must be a mapping; got {describe(section)}"))
        return None
    network = source.network_place or source.place.child("network")
    scheduler = source.scheduler_place or source.place.child("scheduler")
    wrong = [
        *_shape_findings(place, section, _SECTION),
        *_shape_findings(network, source.network, _NETWORK),
        *_scheduler_findings(scheduler, source.scheduler),
    ]
    findings += wrong
    if wrong:
        return None
    return Configuration(
        place=place,
        key=key,
        enabled=section.get("enabled") is True,
        levels=_levels(section.get("levels")),
        name=str(section.get("name") or "") or None,
        auto_mnnvl=isinstance(source.network, dict) and source.network.get("autoMNNVLEnabled") is True,
        makes_kai_topologies=_makes_topologies(source.scheduler),
        scheduler=(source.scheduler, scheduler),
    )


# packwise reads these fields of the sections itself. The operator's decoder reports all other problems.

_TEXT, _FLAG = Field(Text(), nullable=True), Field(Flag(), nullable=True)


def _part(noun: str = "a mapping", **fields: Field) -> Object:
    """Return a mapping with these fields. Other fields are permitted."""
    return Object("", fields, takes_others=True, noun=noun)


_SECTION = _part(
    enabled=_FLAG,
    levels=Field(Array(_part("a mapping with domain and key", domain=_TEXT, key=_TEXT)), nullable=True),
    name=_TEXT,
)
_NETWORK = _part(autoMNNVLEnabled=_FLAG)
_SCHEDULER = _part(profiles=Field(Array(Open()), nullable=True))
_PROFILE = _part("a mapping with name", name=_TEXT)
_KAI_CONFIG = _part(createTopologyResources=_FLAG)


def _shape_findings(place: Place, value: Value, kind: Object) -> list[Finding]:
    """Return errors in the types of the value at `place`, or none if it is absent."""
    problems = () if value is None else field_problems(value, kind)
    return [place.finding(SHAPE, problem.replace(stage=Stage.DECODE)) for problem in problems]


def _scheduler_findings(place: Place, scheduler: Value) -> list[Finding]:
    """Return errors of the scheduler section. The settings of another scheduler's profile are not checked."""
    findings = _shape_findings(place, scheduler, _SCHEDULER)
    for index, profile in enumerate(_profiles(scheduler)):
        at = place.child("profiles", index)
        # Grove reads an entry without a value as a profile without a name. Another rule reports it.
        problems = () if profile is None else field_problems(profile, _PROFILE)
        findings += [at.finding(SHAPE, problem.replace(stage=Stage.DECODE)) for problem in problems]
        if isinstance(profile, dict) and profile.get("name") == KAI_PROFILE:
            findings += _shape_findings(at.child("config"), profile.get("config"), _KAI_CONFIG)
    return findings


def _levels(levels: Value) -> tuple[Level, ...]:
    listed = [level for level in levels if isinstance(level, dict)] if isinstance(levels, list) else []
    return tuple(Level(str(level.get("domain") or ""), str(level.get("key") or "")) for level in listed)


def _makes_topologies(scheduler: Value) -> bool | None:
    """Return True if the operator makes KAI's Topologies, or None without profiles.

    It makes them for a KAI profile, unless the profile disables them.
    """
    profiles = [profile for profile in _profiles(scheduler) if isinstance(profile, dict)]
    own = [profile for profile in profiles if profile.get("name") == KAI_PROFILE]
    config = own[-1].get("config") if own else None
    is_off = isinstance(config, dict) and config.get("createTopologyResources") is False
    return bool(own) and not is_off if profiles else None


def _profiles(scheduler: Value) -> Sequence[Value]:
    return entries(value_at(scheduler, "profiles"))


def check_levels(configuration: Configuration, revision: Revision) -> list[Finding]:
    """Return problems of the levels of an enabled configuration: first the ones that the operator reports, in its
    order.

    Source: spec/grove.md#9, crds/alpha7 for the keys. If topology-aware scheduling is disabled, nothing is checked.
    """
    if not configuration.enabled:
        return []
    check = _LevelCheck(configuration, revision)
    check.name()
    check.count()
    for index, level in enumerate(configuration.levels):
        check.domain(index, level)
    check.check_unique()
    broken = bool(check.findings)
    for index, level in enumerate(configuration.levels):
        check.key(index, level, reached=not broken)
    return check.findings


class _LevelCheck:
    __slots__ = ("_configuration", "_revision", "findings")

    def __init__(self, configuration: Configuration, revision: Revision) -> None:
        self._configuration = configuration
        self._revision = revision
        self.findings: list[Finding] = []

    def name(self) -> None:
        name = self._configuration.name
        if name is not None and self._revision.named_by_configuration:
            for text in dns_subdomain(name):
                place = self._configuration.place.child("name")
                self._add(place, NAME, f'must be a DNS subdomain; got "{name}": {text}', None)

    def count(self) -> None:
        place, levels = self._configuration.place.child("levels"), self._configuration.levels
        most = self._revision.limits.levels
        if not levels:
            error = self._error("levels", ErrorType.REQUIRED, None, "levels are required when topology is enabled")
            message = "must have at least one level if topology-aware scheduling is enabled; got none"
            self._add(place, LEVELS, message, error)
        elif most is not None and len(levels) > most:
            # There are seven different domains, so the operator reports the eighth as a duplicate or as unknown.
            self._add(place, LEVELS, f"must have at most {most} levels; got {len(levels)}", None)

    def domain(self, index: int, level: Level) -> None:
        if level.domain in DOMAINS:
            return
        error = self._error(
            f"levels[{index}].domain",
            ErrorType.INVALID,
            TypedText(level.domain),
            f"must be one of [{' '.join(DOMAINS)}]",
        )
        message = f'must be one of {list_known(DOMAINS)}; got "{level.domain}"{did_you_mean(level.domain, DOMAINS)}'
        self._add(self._configuration.place.child("levels", index, "domain"), DOMAIN, message, error)

    def check_unique(self) -> None:
        seen: dict[tuple[str, str], int] = {}
        for index, level in enumerate(self._configuration.levels):
            for field, content in (("domain", level.domain), ("key", level.key)):
                first = seen.setdefault((field, content), index)
                if first == index:
                    continue
                typed = TypedText(content) if field == "domain" else content
                text = self._revision.duplicate_level
                error = (
                    self._error(f"levels[{index}].{field}", ErrorType.DUPLICATE, typed, "")
                    if text is None
                    else text.format(field=field, value=content)
                )
                message = f'two levels have the same value, "{content}" (first at levels[{first}])'
                self._add(self._configuration.place.child("levels", index, field), UNIQUE, message, error)

    def key(self, index: int, level: Level, *, reached: bool) -> None:
        problem = self._revision.limits.key_problem(("spec", "levels", index, "key"), level.key)
        if problem is None:
            return
        # If the operator refuses the configuration, no ClusterTopology reaches the API server.
        by_operator = self._revision.duplicate_level is not None
        place = self._configuration.place.child("levels", index, "key")
        order = len(self.findings)
        stage = Stage.CONFIG if by_operator else Stage.SCHEMA
        text = problem.operator_message if reached and not by_operator else None
        self.findings.append(place.finding(KEY, problem.message, operator_message=text, stage=stage, order=order))

    def _error(self, field: str, kind: ErrorType, value: Value, detail: str) -> str | None:
        if self._revision.duplicate_level is not None:
            return None
        return OperatorError(f"{self._revision.configuration_key}.{field}", kind, value, detail).text()

    def _add(self, place: Place, rule: Rule, message: str, error: str | None) -> None:
        order = len(self.findings)
        self.findings.append(place.finding(rule, message, operator_message=error, stage=Stage.CONFIG, order=order))


# The objects that configure a render, and their texts. A ConfigMap can contain a TopologyRender or an
# OperatorConfiguration as a document. Grove's chart writes such a ConfigMap with an OperatorConfiguration.


def is_settings(item: KubeObject) -> bool:
    """Return True if the object is a TopologyRender."""
    return group_and_kind(item.value) == (GROUP, KIND)


def is_operator(item: KubeObject) -> bool:
    """Return True if the object is an OperatorConfiguration, or a ConfigMap that holds one."""
    kind = group_and_kind(item.value)
    if kind == (OPERATOR_GROUP, OPERATOR_KIND):
        return True
    return kind == ("", "ConfigMap") and any(
        f"{OPERATOR_GROUP}/" in text and value.get("kind") == OPERATOR_KIND for _, text, value in _documents(item)
    )


def has_topology(item: KubeObject) -> bool:
    """Return True if the object states a topology. An OperatorConfiguration always does."""
    spec = item.get(("spec",)) if is_settings(item) else None
    return any(isinstance(spec, dict) and spec.get(key) is not None for key in DIALECTS) or is_operator(item)


def held_configuration(item: KubeObject) -> KubeObject | None:
    """Return the TopologyRender document in a ConfigMap, with its place in the file, or None."""
    if group_and_kind(item.value) != ("", "ConfigMap"):
        return None
    for key, text, value in _documents(item):
        if value.get("kind") == KIND and str(value.get("apiVersion")).startswith(f"{GROUP}/"):
            return KubeObject.cut(_source(item, key, text), value)
    return None


def kai_names(items: Iterable[KubeObject]) -> frozenset[str]:
    """Return the names with which pods select KAI: its own, and the names in configurations among the items."""
    names = {KAI_PROFILE}
    for item in items:
        # Few ConfigMaps contain a configuration, and some are large. Search the text before parsing it.
        may_hold = not item.has_source or "schedulerName" in item.source.text
        settings = item if is_settings(item) else held_configuration(item) if may_hold else None
        name = None if settings is None else settings.get(("spec", "kai", "schedulerName"))
        if isinstance(name, str):
            names.add(name)
    return frozenset(names)


def _documents(item: KubeObject) -> list[tuple[str, str, Mapping[str, Value]]]:
    """Return the documents in the data of a ConfigMap that are mappings: key, text and value."""
    data = item.get(("data",))
    documents: list[tuple[str, str, Mapping[str, Value]]] = []
    for key, text in mapping(data).items():
        if not isinstance(text, str) or "kind" not in text:
            continue
        try:
            value = read(text)
        except YamlError:
            continue
        if isinstance(value, dict):
            documents.append((key, text, value))
    return documents


def _source(item: KubeObject, key: str, text: str) -> Source:
    """Return the source of the document in its file. A literal block keeps its lines with their indentation."""
    at = item.location(("data", key))
    lines = item.origin.text.split("\n")
    first = at.line - item.origin.line
    if lines[first].rstrip().endswith(("|", "|-", "|+")):
        block = lines[first + 1 : first + 1 + len(text.rstrip("\n").split("\n"))]
        indented = "\n".join(block) + "\n"
        if [line.strip() for line in block] == [line.strip() for line in text.rstrip("\n").split("\n")]:
            return Source(indented, (), at.line + 1, 1, item.file)
    return Source(text, (), at.line, 1, item.file)


# The schedulers that Grove's operator is configured for. Source: spec/grove.md#9.

PROFILE = Rule(
    "scheduler-profile",
    "A scheduler profile names an unknown scheduler, or one that already has a profile.",
    "spec/grove.md#9.5",
)
DEFAULT_PROFILE = Rule("scheduler-default", "The default scheduler has no profile.", "spec/grove.md#9.5")
SCHEDULER_RULES = (PROFILE, DEFAULT_PROFILE)
"""Rules of the scheduler section."""

KUBE_PROFILE = "default-scheduler"


def read_schedulers(
    configuration: Configuration | None, revision: Revision, settings: KubeObject | None
) -> tuple[Schedulers, list[Finding]]:
    """Return the schedulers, and the operator's refusals at its start, in its order.

    Kubernetes' own scheduler is always included and is the default. In packwise's own configuration, which is
    `settings`, absent profiles mean KAI, and a profile may declare itself the default. Other configurations cannot do
    either.
    """
    section, place = configuration.scheduler or (None, None) if configuration is not None else (None, None)
    # Grove reads `null` as a profile without a name.
    profiles = [mapping(entry) for entry in _profiles(section) if entry is None or isinstance(entry, dict)]
    own = configuration is None or configuration.place.item is settings
    if place is None or not isinstance(section, dict) or not profiles:
        # The backend of a proposal is known only if packwise's own configuration enables it.
        planned = tuple(name for name in PLANNED_BACKENDS if name in revision.scheduler_backends)
        return (
            Schedulers((KAI_PROFILE, KUBE_PROFILE, *planned), KAI_PROFILE)
            if own
            else Schedulers((KUBE_PROFILE,), KUBE_PROFILE)
        ), []
    names = [text_at(entry, "name") for entry in profiles]
    findings = list(_wrong_names(names, place, revision.scheduler_backends))
    backends = revision.scheduler_backends
    if revision.name not in REVISIONS:
        # A release that is newer than all known ones may have more backends.
        findings = list(soften_lists(findings))
        backends = (*backends, *filter(str.strip, names))
    known = [name for name in dict.fromkeys(names) if name in backends]
    known += [] if KUBE_PROFILE in known else [KUBE_PROFILE]
    marked = [name for entry, name in zip(profiles, names, strict=True) if entry.get("default") is True]
    default = text_at(section, "defaultProfileName") or (
        marked[0] if marked and place.item is settings else KUBE_PROFILE
    )
    if default not in known:
        findings.append(_wrong_default(default, known, place))
    ordered = [finding.replace(order=order) for order, finding in enumerate(findings)]
    return Schedulers(tuple(known), default), ordered


def _wrong_names(names: Sequence[str], place: Place, backends: Sequence[str]) -> list[Finding]:
    findings: list[Finding] = []
    seen: dict[str, int] = {}
    for index, name in enumerate(names):
        field = f"scheduler.profiles[{index}].name"
        if not name.strip():
            error = OperatorError(field, ErrorType.REQUIRED, None, "scheduler profile name is required")
            message = f"must be the name of a scheduler: {list_known(backends)}"
        elif name not in backends:
            supported = ", ".join([go_quote(known) for known in backends])
            error = OperatorError(field, ErrorType.NOT_SUPPORTED, TypedText(name), f"supported values: {supported}")
            message = f'must be one of {list_known(backends)}; got "{name}"{did_you_mean(name, backends)}'
        elif name in seen:
            error = OperatorError(field, ErrorType.DUPLICATE, TypedText(name))
            message = f'two profiles have the name "{name}" (first at profiles[{seen[name]}])'
        else:
            seen[name] = index
            continue
        findings.append(_finding(PROFILE, place.child("profiles", index, "name"), message, error))
    return findings


def _wrong_default(default: str, known: Sequence[str], place: Place) -> Finding:
    field = "scheduler.defaultProfileName"
    if not default.strip():
        error = OperatorError(field, ErrorType.REQUIRED, None, "default scheduler profile name is required")
    else:
        text = "default profile must be one of the configured profiles"
        error = OperatorError(field, ErrorType.INVALID, default, text)
    message = f'no profile has the name "{default}"; known: {list_known(known)}{did_you_mean(default, known)}'
    return _finding(DEFAULT_PROFILE, place.child("defaultProfileName"), message, error)


def _finding(rule: Rule, place: Place, message: str, error: OperatorError) -> Finding:
    return place.finding(rule, message, operator_message=error.text(), stage=Stage.CONFIG)
