"""TopologyRender as the steps see it: frozen settings, and the topology section as it was written.

Source: spec/packwise.md#2. The types and defaults that users see are `packwise.settings.model`.
"""

from __future__ import annotations

from krmfn.hints import TYPE_CHECKING, cast
from krmfn.record import NamedTuple
from packwise.objects.place import Place
from packwise.placement import MAX_GANGS
from packwise.settings.plain import RULE_LISTS, is_plain

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from krmfn.kubeobject import KubeObject
    from krmfn.value import Value

__all__ = [
    "API_VERSION",
    "DIALECTS",
    "GROUP",
    "KAI_PROFILE",
    "KIND",
    "Dynamo",
    "Kueue",
    "KueueFlavor",
    "Osmo",
    "RuleEntry",
    "RunLimits",
    "TopologyRender",
    "load",
    "no_configuration",
    "settings_place",
]

GROUP = "packwise.dev"
API_VERSION = f"{GROUP}/v1alpha1"
KIND = "TopologyRender"

_FIELDS = ("apiVersion", "kind", "metadata", "spec", "status")

KAI_PROFILE = "kai-scheduler"
"""The name of the KAI Scheduler in Grove's scheduler profiles, and in pods."""

DIALECTS = ("topologyAwareScheduling", "clusterTopology", "topology")
"""The keys of a topology section, one for each way that Grove spelt it."""


class Osmo(NamedTuple):
    """Settings of OSMO's front end: what OSMO knows of a submission and no file says.

    `key_sets`: Uniform refuses unlike requirements as OSMO does, Pad puts them together as its design says.
    `values` are those of the variables in templates of workflows.
    """

    namespace: str = "osmo-workflows"
    priority: str = "NORMAL"
    submitted_by: str = ""
    key_sets: str = "Uniform"
    values: Mapping[str, Value] = {}


class Dynamo(NamedTuple):
    """What no DynamoGraphDeployment says of its operator: the release, and how that is configured.

    `release` is None where nobody names it. `grove` and `kai_scheduler`: whether these are switched on there.
    `termination_delay` is the one of the PodCliqueSets it makes.
    """

    release: str | None = None
    grove: bool = True
    kai_scheduler: bool = True
    termination_delay: str = "15m"


class KueueFlavor(NamedTuple):
    """A ResourceFlavor to write: nodes with these labels, in the topology that the settings have."""

    name: str
    labels: Mapping[str, str] = {}


class Kueue(NamedTuple):
    """The release of Kueue that the output must suit, None: the assumed one; and the flavors to write."""

    version: str | None = None
    flavors: tuple[KueueFlavor, ...] = ()


class RunLimits(NamedTuple):
    """How much one run may render: `gangs` is the number of gangs and entries of gangs, of all workloads together."""

    gangs: int = MAX_GANGS


class RuleEntry(NamedTuple):
    """An entry of `rules`: `level` is the list it stands in, at `place`; no `paths`: it is for all files."""

    level: str
    place: int
    rule: str
    paths: tuple[str, ...] = ()


class TopologyRender(NamedTuple):
    """What a TopologyRender says. `sections` holds the topology sections by key, as written.

    `scheduler` and `network` are those sections, as written. `exclude` are globs of files that are not read.

    `item` is the object it was read from, None where there is none. `embedded` tells that its fields are texts in the
    data of a ConfigMap. `emit_is_set`: whether the user wrote `emit`; `apply_is_set` and `podgang_epoch_is_set`
    likewise. `kai_version` is the oldest KAI that the output must suit, None: every known one; `kai_name` is
    the scheduler that pods of workloads name for it. `podgang_epoch` is the
    first epoch where nothing tells those of the cluster; by default it has as many digits as they have.
    """

    item: KubeObject | None = None
    embedded: bool = False
    sections: Mapping[str, Value] = {}
    scheduler: Value = None
    revision: str | None = None
    newer_revision: str = "Error"
    unknown_fields: str = "Error"
    admission: str = "Auto"
    emit: tuple[str, ...] = ("ClusterTopology", "Topology", "PodGang")
    gitops: tuple[str, ...] = ()
    annotate: bool = True
    apply: bool = True
    topology_name_annotation: bool = False
    finalizers: bool = False
    osmo: Osmo = Osmo()
    limits: RunLimits = RunLimits()
    emit_is_set: bool = False
    kai_version: str | None = None
    kai_name: str = KAI_PROFILE
    apply_is_set: bool = False
    podgang_epoch: int = 1_000_000_000_000_000_000
    podgang_epoch_is_set: bool = False
    network: Value = None
    exclude: tuple[str, ...] = ()
    rules: tuple[RuleEntry, ...] = ()
    dynamo: Dynamo = Dynamo()
    kueue: Kueue = Kueue()

    def with_values(self, values: Mapping[str, Value]) -> TopologyRender:
        """These settings where `values` count before those of `osmo.values`."""
        return self._replace(osmo=self.osmo._replace(values={**self.osmo.values, **values})) if values else self

    def emits(self, kind: str, *, by_default: bool = False) -> bool:
        """Whether objects of `kind` are written; `by_default`: also where `spec.emit` is not set."""
        return kind in self.emit or (by_default and not self.emit_is_set)


def no_configuration() -> TopologyRender:
    """What holds where nobody configured packwise: the defaults, no topology."""
    return TopologyRender()


def load(item: KubeObject) -> TopologyRender:
    """The TopologyRender that `item` is, or that the ConfigMap `item` spells in its data.

    Raises krmfn's ConfigError with a result for each wrong field, and FieldError where `item` is neither of the two.
    """
    kind, version = item.kind, item.api_version
    embedded = (version, kind) == ("v1", "ConfigMap")
    if not embedded and (version, kind) != (API_VERSION, KIND):
        wanted = f'must be a {KIND} ({API_VERSION}) or a ConfigMap; got "{version} {kind}"'
        raise item.error(("kind",), f"the function's configuration {wanted}")
    if not embedded:
        _refuse_unknown(item)
    spec = item.get(("spec",), {})
    if embedded or not is_plain(spec):
        # pydantic is half the start-up time of a run: it reads what is unusual, and explains what is wrong.
        from krmfn.config import load_config
        from packwise.settings.model import TopologyRenderSpec

        spec = load_config(item, TopologyRenderSpec).written()
    return _built(item, embedded, cast("dict[str, Any]", spec))


def _built(item: KubeObject, embedded: bool, spec: dict[str, Any]) -> TopologyRender:
    default = no_configuration()
    return TopologyRender(
        item=item,
        embedded=embedded,
        sections={key: spec[key] for key in DIALECTS if spec.get(key) is not None},
        scheduler=spec.get("scheduler"),
        revision=spec.get("revision"),
        newer_revision=spec.get("newerRevision", default.newer_revision),
        unknown_fields=spec.get("unknownFields", default.unknown_fields),
        admission=spec.get("admission", default.admission),
        emit=tuple(spec.get("emit", default.emit)),
        gitops=tuple(spec.get("gitops", default.gitops)),
        annotate=spec.get("annotate", default.annotate),
        apply=spec.get("apply", default.apply),
        topology_name_annotation=spec.get("topologyNameAnnotation", default.topology_name_annotation),
        finalizers=spec.get("finalizers", default.finalizers),
        osmo=_osmo(spec.get("osmo") or {}),
        limits=_limits(spec.get("limits") or {}),
        emit_is_set="emit" in spec,
        kai_version=_kai_version(spec.get("kai") or {}),
        kai_name=_kai_name(spec.get("kai") or {}),
        apply_is_set="apply" in spec,
        podgang_epoch=spec.get("podGangEpoch", default.podgang_epoch),
        podgang_epoch_is_set="podGangEpoch" in spec,
        network=spec.get("network"),
        exclude=tuple(spec.get("exclude", default.exclude)),
        rules=_rules(spec["rules"]) if spec.get("rules") else (),
        dynamo=_dynamo(spec.get("dynamo") or {}),
        kueue=_kueue(spec.get("kueue") or {}),
    )


def _osmo(section: dict[str, Any]) -> Osmo:
    default = Osmo()
    return Osmo(
        namespace=section.get("namespace", default.namespace),
        priority=section.get("priority", default.priority),
        submitted_by=section.get("submittedBy", default.submitted_by),
        key_sets=section.get("keySets", default.key_sets),
        values=section.get("values", default.values),
    )


def _dynamo(section: dict[str, Any]) -> Dynamo:
    default = Dynamo()
    return Dynamo(
        release=section.get("release", default.release),
        grove=section.get("grove", default.grove),
        kai_scheduler=section.get("kaiScheduler", default.kai_scheduler),
        termination_delay=section.get("terminationDelay", default.termination_delay),
    )


def _kueue(section: dict[str, Any]) -> Kueue:
    flavors = cast("list[dict[str, Any]]", section.get("flavors") or [])
    return Kueue(
        section.get("version"), tuple(KueueFlavor(each["name"], each.get("nodeLabels") or {}) for each in flavors)
    )


def _limits(section: dict[str, Any]) -> RunLimits:
    return RunLimits(section.get("gangs", RunLimits().gangs))


def _rules(section: dict[str, Any]) -> tuple[RuleEntry, ...]:
    entries: list[RuleEntry] = []
    for level in RULE_LISTS:
        listed = cast("list[str | dict[str, Any]]", section.get(level) or [])
        for place, entry in enumerate(listed):
            for_all = isinstance(entry, str)
            entries.append(RuleEntry(level, place, entry) if for_all else _of_paths(level, place, entry))
    return tuple(entries)


def _of_paths(level: str, place: int, entry: dict[str, Any]) -> RuleEntry:
    return RuleEntry(level, place, entry["rule"], tuple(entry["paths"]))


def _kai_name(section: dict[str, Any]) -> str:
    return section.get("schedulerName", TopologyRender().kai_name)


def _kai_version(section: dict[str, Any]) -> str | None:
    return section.get("version")


def _refuse_unknown(item: KubeObject) -> None:
    for name in item.value:
        if name not in _FIELDS:
            from packwise.wording import closest, list_known

            message = f'must be a known field; got "{name}"{closest(name, _FIELDS)}; known: {list_known(_FIELDS)}'
            raise item.error((name,), message, key=True)


def settings_place(settings: TopologyRender) -> Place:
    """The place of packwise's own settings. Raises ValueError where there are none."""
    item = settings.item
    if item is None:
        raise ValueError("settings that nobody wrote have no place")
    return Place(item, ("data",), texts=True) if settings.embedded else Place(item, ("spec",))
