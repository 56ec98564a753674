"""The topology configuration: where it may come from, what it says, and the rules it must keep.

Source: spec/designs.md#2, spec/grove.md#9.
"""

from __future__ import annotations

from krmfn.errors import describe
from krmfn.hints import TYPE_CHECKING
from krmfn.record import NamedTuple
from packwise.findings.finding import Finding, Rule, Stage
from packwise.kubernetes.validation import ErrorType, OperatorError, TypedText, dns_subdomain
from packwise.settings.sources import SOURCES
from packwise.settings.topologyrender import KAI_PROFILE
from packwise.topology.known import KnownTopology
from packwise.topology.levels import DOMAINS, ClusterTopology, Level, rank
from packwise.wording import closest, list_known

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from krmfn.value import Value
    from packwise.objects.place import Place
    from packwise.revisions.revision import Revision
    from packwise.settings.sources import Source

__all__ = ["RULES", "SHAPE", "Configuration", "check_levels", "read_source"]

_SOURCE = "spec/designs.md#2"
SHAPE = Rule("configuration-shape", "The topology configuration has Grove's own shape.", _SOURCE)
LEVELS = Rule(
    "configuration-levels",
    "While enabled, there is at least one level, and no more than the API takes.",
    "spec/grove.md#9.1",
)
DOMAIN = Rule("configuration-domain", "A level's domain is one of the seven.", "spec/grove.md#9.1")
UNIQUE = Rule("configuration-unique", "No two levels have the same domain or the same key.", "spec/grove.md#9.1")
KEY = Rule(
    "configuration-key", "A level's key is a label key that the ClusterTopology's CRD takes.", "spec/grove.md#3.4"
)
NAME = Rule("configuration-name", "The ClusterTopology's name is one that an object can have.", _SOURCE)
RULES = (SOURCES, SHAPE, LEVELS, DOMAIN, UNIQUE, KEY, NAME)
"""Rules of the topology configuration."""


class Configuration(NamedTuple):
    """What the configuration says. `levels` stand in its own order; `place` is the topology section.

    `key` is the section's key. `makes_kai_topologies` is what the scheduler profiles say, None without profiles.
    `scheduler` is that section as written, and where.
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
        """The domains in the configuration's own order."""
        return tuple(level.domain for level in self.levels)

    def hierarchy(self, revision: Revision) -> tuple[Level, ...]:
        """The levels broadest first, as `revision` takes their order."""
        return tuple(self.levels[position] for position in self._order(revision))

    def topology(self, revision: Revision) -> KnownTopology | None:
        """The topology that the operator makes of the levels; None while TAS is disabled, or where it makes none."""
        if not self.enabled or revision.default_topology is None:
            return None
        levels = self.place.below("levels")
        places = tuple(levels.below(position) for position in self._order(revision))
        topology = ClusterTopology(revision.default_topology, self.hierarchy(revision))
        return KnownTopology(topology, places, levels, self.place.item)

    def _order(self, revision: Revision) -> list[int]:
        """Positions in the list of levels, broadest level first."""
        positions = list(range(len(self.levels)))
        return positions if revision.listed_order else sorted(positions, key=lambda at: rank(self.levels[at].domain))


def read_source(source: Source, findings: list[Finding]) -> Configuration | None:
    """The configuration that `source` states; wrong types and a second section are added to `findings`."""
    keys = list(source.sections)
    if len(keys) > 1:
        first, second = keys[:2]
        at = source.place.below(first).description
        message = f'must not stand beside "{first}", which says the same in another spelling ({at}); keep one of them'
        findings.append(source.place.below(second).finding(SOURCES, message, at_key=True))
        return None
    key, section = keys[0], source.sections[keys[0]]
    place = source.place.below(key)
    if not isinstance(section, dict):
        findings.append(place.finding(SHAPE, f"must be a mapping; got {describe(section)}"))
        return None
    before = len(findings)
    reader = _Reader(findings)
    network = source.network_place or source.place.below("network")
    configuration = Configuration(
        place,
        key,
        reader.flag(place, section, "enabled"),
        reader.levels(place, section),
        reader.text(place, section, "name") or None,
        reader.flag(network, reader.mapping(network, source.network), "autoMNNVLEnabled"),
        reader.profiles(source),
        (source.scheduler, source.scheduler_place or source.place.below("scheduler")),
    )
    return configuration if len(findings) == before else None


class _Reader:
    """Typed access to sections that no model has looked at."""

    __slots__ = ("_findings",)

    def __init__(self, findings: list[Finding]) -> None:
        self._findings = findings

    def flag(self, place: Place, section: Mapping[str, Value], key: str) -> bool:
        value = section.get(key)
        if isinstance(value, bool) or value is None:
            return bool(value)
        self._refuse(place.below(key), "true or false", value)
        return False

    def mapping(self, place: Place, value: Value) -> Mapping[str, Value]:
        if isinstance(value, dict):
            return value
        if value is not None:
            self._refuse(place, "a mapping", value)
        return {}

    def levels(self, place: Place, section: Mapping[str, Value]) -> tuple[Level, ...]:
        levels: list[Level] = []
        for index, entry in enumerate(self._list(place, section, "levels")):
            at = place.below("levels", index)
            if isinstance(entry, dict):
                levels.append(Level(self.text(at, entry, "domain"), self.text(at, entry, "key")))
            else:
                self._refuse(at, "a mapping with domain and key", entry)
        return tuple(levels)

    def profiles(self, source: Source) -> bool | None:
        place = source.scheduler_place or source.place.below("scheduler")
        profiles = self._list(place, self.mapping(place, source.scheduler), "profiles")
        makes = None if not profiles else False
        for index, entry in enumerate(profiles):
            at = place.below("profiles", index)
            if not isinstance(entry, dict):
                self._refuse(at, "a mapping with name", entry)
            elif self.text(at, entry, "name") == KAI_PROFILE:
                config = self.mapping(at.below("config"), entry.get("config"))
                makes = config.get("createTopologyResources") is None or self.flag(
                    at.below("config"), config, "createTopologyResources"
                )
        return makes

    def _list(self, place: Place, section: Mapping[str, Value], key: str) -> Sequence[Value]:
        value = section.get(key)
        if isinstance(value, list):
            return value
        if value is not None:
            self._refuse(place.below(key), "a list", value)
        return ()

    def text(self, place: Place, section: Mapping[str, Value], key: str) -> str:
        value = section.get(key)
        if isinstance(value, str) or value is None:
            return value or ""
        self._refuse(place.below(key), "a string", value)
        return ""

    def _refuse(self, place: Place, noun: str, value: Value) -> None:
        self._findings.append(place.finding(SHAPE, f"must be {noun}; got {describe(value)}", stage=Stage.DECODE))


def check_levels(configuration: Configuration, revision: Revision) -> list[Finding]:
    """What is wrong with the levels of an enabled configuration: the operator's texts first, in its order.

    Source: spec/grove.md#9, crds/alpha7 for the keys. While TAS is disabled nothing is checked.
    """
    if not configuration.enabled:
        return []
    check = _LevelCheck(configuration, revision)
    check.name()
    check.count()
    for index, level in enumerate(configuration.levels):
        check.domain(index, level)
    check.unique()
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
                place = self._configuration.place.below("name")
                self._add(place, NAME, f'must be a DNS subdomain; got "{name}": {text}', None)

    def count(self) -> None:
        place, levels = self._configuration.place.below("levels"), self._configuration.levels
        most = self._revision.limits.levels
        if not levels:
            error = self._error("levels", ErrorType.REQUIRED, None, "levels are required when topology is enabled")
            self._add(place, LEVELS, "must hold at least one level while enabled; got none", error)
        elif most is not None and len(levels) > most:
            # Seven domains that must differ: the operator names the eighth as a duplicate or as unknown.
            self._add(place, LEVELS, f"must hold at most {most} levels; got {len(levels)}", None)

    def domain(self, index: int, level: Level) -> None:
        if level.domain in DOMAINS:
            return
        error = self._error(
            f"levels[{index}].domain",
            ErrorType.INVALID,
            TypedText(level.domain),
            f"must be one of [{' '.join(DOMAINS)}]",
        )
        message = f'must be one of {list_known(DOMAINS)}; got "{level.domain}"{closest(level.domain, DOMAINS)}'
        self._add(self._configuration.place.below("levels", index, "domain"), DOMAIN, message, error)

    def unique(self) -> None:
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
                message = f'must be unique among the levels; "{content}" also stands at levels[{first}]'
                self._add(self._configuration.place.below("levels", index, field), UNIQUE, message, error)

    def key(self, index: int, level: Level, *, reached: bool) -> None:
        problem = self._revision.limits.key_problem(("spec", "levels", index, "key"), level.key)
        if problem is None:
            return
        # With a configuration that the operator refuses, no API server ever sees a ClusterTopology.
        by_operator = self._revision.duplicate_level is not None
        place = self._configuration.place.below("levels", index, "key")
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
