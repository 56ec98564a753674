"""packwise's own configuration, a TopologyRender: its fields with types, defaults and meaning, and its records.

Validation, its JSON Schema and its documentation page come from the table `SPEC`. The steps use the frozen records.
Source: spec/packwise.md#2.
"""

from __future__ import annotations

from krmfn.hints import TYPE_CHECKING, Record, cast, field_names
from packwise.fields import (
    Array,
    ByName,
    Field,
    Flag,
    Number,
    Object,
    Open,
    Text,
    TextMap,
    TextOr,
    field_problems,
    kind_at,
)
from packwise.findings import Place
from packwise.placement import MAX_GANGS
from packwise.revisions.grove import REVISIONS
from packwise.wording import did_you_mean, list_known

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any, TypeVar

    from krmfn.fieldpath import FieldPath
    from krmfn.kubeobject import KubeObject
    from krmfn.value import Value
    from packwise.fields import Kind

    RecordT = TypeVar("RecordT", bound=Record)

GROUP = "packwise.dev"
API_VERSION = f"{GROUP}/v1alpha1"
KIND = "TopologyRender"

_FIELDS = ("apiVersion", "kind", "metadata", "spec", "status")

KAI_PROFILE = "kai-scheduler"
"""The name of the KAI Scheduler in Grove's scheduler profiles, and in pods."""

DIALECTS = ("topologyAwareScheduling", "clusterTopology", "topology")
"""The keys of a topology section. Each revision of Grove reads one of them."""


class Osmo(Record):
    """Settings of OSMO's front end: facts about a submission that no file states.

    `key_sets` handles tasks with different topology keys: Uniform refuses them as OSMO does, and Pad adds the missing
    keys as in OSMO's design. `values` set the variables in workflow templates.
    """

    namespace: str = "osmo-workflows"
    priority: str = "NORMAL"
    submitted_by: str = ""
    key_sets: str = "Uniform"
    values: Mapping[str, Value] = {}


class Dynamo(Record):
    """The configuration of Dynamo's operator, which no DynamoGraphDeployment states, and its release.

    `release` is None if not named. `grove` and `kai_scheduler` are true if the operator's configuration enables them.
    `termination_delay` is the value that the operator writes into PodCliqueSets.
    """

    release: str | None = None
    grove: bool = True
    kai_scheduler: bool = True
    termination_delay: str = "15m"


class KueueFlavor(Record):
    """A ResourceFlavor to write: nodes with these labels, in the topology that the settings have."""

    name: str
    labels: Mapping[str, str] = {}


class Kueue(Record):
    """The release of Kueue that the output must suit, or None for the assumed release, and the flavors to write.

    With `unreleased`, workloads may use Grove's backend for Kueue, which is in no release.
    """

    version: str | None = None
    flavors: tuple[KueueFlavor, ...] = ()
    unreleased: bool = False


class Kubernetes(Record):
    """The release of the API server and its feature gates. Each is None if not named.

    With `unreleased`, objects that no release of an operator makes yet are rendered.
    """

    version: str | None = None
    feature_gates: Mapping[str, bool] | None = None
    unreleased: bool = False


class NewerRelease(Record):
    """A release that is newer than `newest`, the newest release that packwise knows. It is `written` at `steps`
    below `spec`.
    """

    steps: tuple[str, ...]
    component: str
    written: str
    newest: str


class RunLimits(Record):
    """Limits of one run: `gangs` is the largest number of gangs and parts of gangs in its output."""

    gangs: int = MAX_GANGS


class RuleEntry(Record):
    """An entry of `rules`: the entry with the index `place` in the list `level`. Without `paths` it applies to all
    files.
    """

    level: str
    place: int
    rule: str
    paths: tuple[str, ...] = ()


class TopologyRender(Record):
    """The settings of a TopologyRender. `sections` holds the topology sections by key, as written.

    `scheduler` and `network` are the sections with these names, as written. `exclude` are globs of files to skip.

    `item` is the source object, or None. `embedded` is true if its fields are texts in a ConfigMap's data.
    `emit_is_set`, `apply_is_set` and `podgang_epoch_is_set` are true if the user set these fields. `kai_version` is the
    oldest KAI that the output must suit, or None for every known release. `kai_name` is the name of KAI's scheduler in
    pods. `podgang_epoch` is the first epoch if the epochs of the cluster are unknown. Its default has as many digits as
    an epoch in a cluster. `newer_releases` are releases of other components that are newer than all known ones.
    packwise treats them as the newest known release.
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
    kubernetes: Kubernetes = Kubernetes()
    newer_releases: tuple[NewerRelease, ...] = ()

    def with_values(self, values: Mapping[str, Value]) -> TopologyRender:
        """Return these settings with `values` overriding `osmo.values`."""
        return self.replace(osmo=self.osmo.replace(values={**self.osmo.values, **values})) if values else self

    def emits(self, kind: str, *, by_default: bool = False) -> bool:
        """Return True if objects of `kind` are written. With `by_default`, they are also written if `spec.emit` is
        not set.
        """
        return kind in self.emit or (by_default and not self.emit_is_set)


def no_configuration() -> TopologyRender:
    """Return the settings without a configuration: the defaults and no topology."""
    return TopologyRender()


def _wrong_revision(name: str) -> str:
    if name in REVISIONS:
        return ""
    # The import is here because nearly all names are known.
    from packwise.revisions.tags import wrong_name

    return wrong_name(name)


def _release_kind(name: str, pattern: str) -> Text:
    """Return the type of a field that names a release of a component, with the pattern of known and newer releases."""

    def wrong_release(text: str) -> str:
        # The import is here because few configurations name a release.
        from packwise.revisions.versions import component

        return component(name).wrong_release(text)

    return Text(pattern=pattern, wrong=wrong_release, reads_numbers=True)


_SUFFIX = r"(\.[0-9]+)?([-+][0-9A-Za-z.+-]+)?$"
"""The end of a pattern of releases: an optional patch number and an optional name of a candidate."""

_LONGEST_GLOB = 500


def _wrong_glob(glob: str) -> str:
    if not glob.strip() or len(glob) > _LONGEST_GLOB:
        return f'must be a glob of at most {_LONGEST_GLOB} characters, such as "examples/**"'
    # The import is here because few configurations have globs.
    from packwise.globs import Globs

    return "" if Globs.read([glob]).patterns else f'must be a glob of .gitignore; got "{glob}"'


_DEFAULT, _OSMO, _DYNAMO = TopologyRender(), Osmo(), Dynamo()


def _flag(summary: str, default: bool) -> Field:
    return Field(Flag(), default=default, summary=summary)


def _text(summary: str, default: str | None = None, kind: Text = Text()) -> Field:  # noqa: B008 (it is frozen)
    return Field(kind, nullable=default is None, default=default, summary=summary)


def _list(summary: str, item: Kind, default: tuple[str, ...] = ()) -> Field:
    return Field(Array(item), default=list(default), summary=summary)


def _section(summary: str, kind: Object) -> Field:
    """Return the field of a section. If the section is absent, its fields have their defaults."""
    default = {name: field.default for name, field in kind.fields.items()}
    return Field(kind, default=default, summary=summary)


def _grove_section(summary: str, kind: Object) -> Field:
    """Return the field of an optional section with settings of Grove."""
    return Field(kind, nullable=True, summary=summary)


_CHOICE = Text(("Error", "Warn"))
_LEVEL = Object("LevelModel", summary="One topology level.", fields={
    "domain": _text("Name of the level in workloads: region, zone, datacenter, block, rack, host or numa.", ""),
    "key": _text("Key of a node label. The values of the label are the domains of the level.", ""),
})  # fmt: skip
_TOPOLOGY = Object("SectionModel", summary="Topology section of Grove's configuration.", fields={
    "enabled": _flag("Enable topology-aware scheduling.", False),
    "levels": _list("The levels; required if topology-aware scheduling is enabled.", _LEVEL),
    "name": _text("Name of the ClusterTopology (design-1 and design-2 only)."),
})  # fmt: skip
_PROFILE = Object("ProfileModel", summary="A scheduler profile.", fields={
    "name": Field(Text(), required=True, summary="Name of the scheduler. Only kai-scheduler supports topologies."),
    "default": _flag("Use this profile for pods without schedulerName.", False),
    "config": _grove_section("The scheduler's own configuration.", Object(
        "KaiConfigModel",
        {"createTopologyResources": _flag("Create Topologies of KAI.", True)},
        summary="The fields of the profile's configuration that packwise reads. packwise ignores all other fields.",
        takes_others=True,
    )),
})  # fmt: skip
_SCHEDULER = Object("SchedulerModel", summary="Grove's `scheduler` section.", fields={
    "profiles": _list("Schedulers of the cluster (default: KAI).", _PROFILE),
    "defaultProfileName": _text("Name of the default profile."),
})  # fmt: skip
_NETWORK = Object("NetworkModel", summary="Grove's `network` section.", fields={
    "autoMNNVLEnabled": _flag("Let Grove create ComputeDomains (MNNVL) for workloads.", False),
})  # fmt: skip
_DYNAMO_SECTION = Object("DynamoModel", summary="Configuration of Dynamo's operator.", fields={
    "release": _text(
        "Release of Dynamo, such as `1.4`, `1.4.2` or `v1.4.2` (default: the newest known release).",
        _DYNAMO.release,
        _release_kind("Dynamo", r"^v?[1-9][0-9]*\.[0-9]+" + _SUFFIX),
    ),
    "grove": _flag((
        "The operator's `orchestrators.grove.enabled`. If false, the operator creates no PodCliqueSet."
    ), _DYNAMO.grove),
    "kaiScheduler": _flag(
        (
            "The operator's `orchestrators.kaiScheduler.enabled`. If true, pods name KAI and their queue."
        ), _DYNAMO.kai_scheduler
    ),
    "terminationDelay": _text(
        "The operator's `orchestrators.grove.terminationDelay`.",
        _DYNAMO.termination_delay,
        Text(pattern=r"^([0-9]+(\.[0-9]+)?(ms|s|m|h))+$"),
    ),
})  # fmt: skip
_OSMO_SECTION = Object("OsmoModel", summary="Settings for workflows of OSMO.", fields={
    "namespace": _text(
        "Namespace of the rendered objects: the backend's `k8s_namespace`.",
        _OSMO.namespace,
        Text(pattern=r"^[a-z0-9]([-a-z0-9]*[a-z0-9])?$", max_length=63),
    ),
    "priority": _text(
        (
            "Priority of workflows. Workflows with HIGH and NORMAL are not preempted."
        ), _OSMO.priority, Text(("LOW", "NORMAL", "HIGH"))
    ),
    "submittedBy": _text("User who submits the workflows.", _OSMO.submitted_by),
    "keySets": _text(
        "Handling of tasks with different topology keys. Uniform refuses them, as OSMO does. Pad adds the missing "
        "keys.",
        _OSMO.key_sets,
        Text(("Uniform", "Pad")),
    ),
    "values": Field(
        Open("object"),
        default={},
        summary="Values of template variables in workflows, as in `osmo workflow submit --set`.",
    ),
})  # fmt: skip
_KAI = Object("KaiModel", summary="The KAI Scheduler of the cluster.", fields={
    "version": _text(
        "Release of KAI, v0.12 to v0.18, with or without `v` and patch. For several clusters, set the oldest. If "
        "unset, rendered objects suit all of these releases, and groups of workloads follow v0.17.",
        kind=_release_kind("KAI", r"^v?(0\.(1[2-9]|[2-9][0-9]|[1-9][0-9]{2,8})|[1-9][0-9]*\.[0-9]+)" + _SUFFIX),
    ),
    "schedulerName": _text(
        "The schedulerName of pods that KAI schedules: the value of KAI's option `--scheduler-name`.",
        KAI_PROFILE,
        Text(min_length=1, max_length=253),
    ),
})  # fmt: skip
_FLAVOR = Object("KueueFlavorModel", summary="A ResourceFlavor to render.", fields={
    "name": Field(
        Text(pattern=r"^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$", max_length=253),
        required=True,
        summary="Name of the ResourceFlavor.",
    ),
    "nodeLabels": Field(
        TextMap(least=1, most=8), required=True, summary="Node labels of the flavor."
    ),
})  # fmt: skip
_KUEUE = Object(
    "KueueModel",
    summary="Kueue. packwise renders its Topology and ResourceFlavors if `emit` has KueueTopology.",
    fields={
        "version": _text(
            "Release of Kueue, v0.17 to v0.20, with or without `v` and patch (default: v0.19).",
            kind=_release_kind("Kueue", r"^v?(0\.(1[7-9]|[2-9][0-9]|[1-9][0-9]{2,8})|[1-9][0-9]*\.[0-9]+)" + _SUFFIX),
        ),
        "flavors": _list("ResourceFlavors of the topology.", _FLAVOR),
        "unreleased": _flag(
            "If true, pods of Grove may name the scheduler `kueue`. packwise then checks them by the rules of Grove's "
            "future backend for Kueue (GREP-704). No release has this backend.",
            False,
        ),
    },
)
_KUBERNETES = Object("KubernetesModel", summary="The API server, for the gangs of Kubernetes itself.", fields={
    "version": _text(
        "Release of the API server, v1.35 to v1.38, with or without patch (default: v1.37). The server must also "
        "serve the alpha and beta versions of scheduling.k8s.io (`--runtime-config`). packwise cannot check this.",
        kind=Text(pattern=r"^v1\.3[5-8](\.[0-9]+)?$"),
    ),
    "featureGates": Field(
        ByName(Flag()),
        nullable=True,
        summary="`--feature-gates` of the API server. An unset gate has the default of the release. If the whole map "
                "is unset, packwise assumes that all gates are on that the objects need.",
    ),
    "unreleased": _flag(
        "If true, `emit: [Workload]` previews objects of Grove's future backend for the default scheduler (GREP-531). "
        "No release has this backend.",
        False,
    ),
})  # fmt: skip
_SOURCE = Object("SourceModel", summary="A chart that `--build` builds, with its values.", fields={
    "chart": Field(
        Text(min_length=1), required=True, summary="Folder of the chart, relative to this file."
    ),
    "release": Field(
        Text(min_length=1, max_length=53), summary="Name of the release (default: the name of the chart's folder)."
    ),
    "namespace": Field(Text(max_length=63), summary="Namespace of the release."),
    "values": _list("Values files, relative to this file. Later files override earlier ones.", Text(
        min_length=1
    )),
    "set": Field(
        Open("object"), default={}, summary="Single values by path, as with Helm's `--set`. Strings stay strings."
    ),
})  # fmt: skip
_LIMITS = Object(
    "LimitsModel",
    summary="Limits of one run. packwise reports an error instead of a larger output.",
    fields={
        "gangs": Field(
            Number(bits=0, least=1),
            default=MAX_GANGS,
            summary="Maximum number of PodGangs and their podgroups, PodGroups and their subgroups, and Pods, of all "
            "workloads together.",
        ),
    },
)
_RULE_ENTRY = TextOr(Object("RuleOfPathsModel", summary="A rule for findings in certain files.", fields={
    "rule": Field(Text(), required=True, summary="Name of the rule, as shown at the end of a finding."),
    "paths": Field(
        Array(Text(wrong=_wrong_glob), least=1),
        required=True,
        summary="Globs of files as in .gitignore, relative to the folder of this configuration.",
    ),
}))  # fmt: skip
_RULES = Object(
    "RulesModel",
    summary="Handling of findings by rule. An entry with paths overrides an entry without paths.",
    fields={
        "ignore": _list("Hide the warnings and infos of these rules.", _RULE_ENTRY),
        "warn": _list("Report the infos of these rules as warnings.", _RULE_ENTRY),
        "error": _list("Report the warnings and infos of these rules as errors.", _RULE_ENTRY),
    },
)

SPEC = Object(
    "TopologyRenderSpec",
    summary="`spec` of a TopologyRender, or the data of a ConfigMap with the same fields.",
    fields={
        "topologyAwareScheduling": _grove_section("The cluster's topology.", _TOPOLOGY),
        "clusterTopology": _grove_section("The cluster's topology, with the field name of design-2.", _TOPOLOGY),
        "topology": _grove_section("The cluster's topology, with the field name of design-1.", _TOPOLOGY),
        "scheduler": _grove_section("The cluster's schedulers.", _SCHEDULER),
        "network": _grove_section("The network of the cluster's nodes.", _NETWORK),
        "revision": _text(
            "Release of Grove: a tag, or the name of a design. If unset, packwise infers the release from a "
            "ClusterTopologyBinding or a design's own fields. If it finds neither, it assumes the newest release and "
            "warns.",
            kind=Text(wrong=_wrong_revision),
        ),
        "newerRevision": _text(
            "Handling of a release that is newer than all known releases, of Grove and other components. Warn uses "
            "the newest known release; Error reports an error.",
            _DEFAULT.newer_revision,
            _CHOICE,
        ),
        "topologyNameAnnotation": _flag(
            "design-1 only: add grove.io/topology-name to PodGangs.", _DEFAULT.topology_name_annotation
        ),
        "unknownFields": _text(
            "Handling of workload fields that the API server does not know.", _DEFAULT.unknown_fields, _CHOICE
        ),
        "admission": _text(
            "State of the workloads in the cluster. Auto infers it from status, baseline and earlier output.",
            _DEFAULT.admission,
            Text(("Auto", "New", "Existing")),
        ),
        "emit": _list(
            "Kinds to render (default for OSMO: Topology, PodGroup and Pod).",
            Text((
                "ClusterTopology", "Topology", "PodGang", "PodGroup", "Queue", "Pod", "PodCliqueSet", "KueueTopology",
                "Workload",
            )),
            _DEFAULT.emit,
        ),
        "gitops": _list(
            (
                "Tools that apply the output. packwise adds the annotations of these tools to generated objects, and "
                "`render -o` uses the folder layout that they need."
            ),
            Text(("argocd", "flux")),
            _DEFAULT.gitops,
        ),
        "finalizers": _flag(
            "grep-244-multi only: add the operator's finalizer to ClusterTopologies.", _DEFAULT.finalizers
        ),
        "exclude": _list(
            "Files that packwise excludes when it reads a folder: globs as in `.gitignore`, relative to this file. "
            "packwise also excludes files that `.gitignore` excludes.",
            Text(min_length=1),
            _DEFAULT.exclude,
        ),
        "sources": _list(
            "Charts that `--build` builds, with their values. A chart that an Application or a HelmRelease delivers "
            "needs no entry.",
            _SOURCE,
        ),
        "osmo": _section("Workflows of OSMO.", _OSMO_SECTION),
        "kai": _section("The KAI Scheduler.", _KAI),
        "kueue": _section("Kueue.", _KUEUE),
        "kubernetes": _section("Group scheduling of Kubernetes itself.", _KUBERNETES),
        "dynamo": _section("The operator of DynamoGraphDeployments.", _DYNAMO_SECTION),
        "limits": _section("Limits of one run.", _LIMITS),
        "rules": _section(
            "Handling of warnings and infos, by rule and file. Errors about objects that a cluster refuses stay "
            "errors.",
            _RULES,
        ),
        "annotate": _flag("Add the condition of each workload as an annotation of the workload.", _DEFAULT.annotate),
        "apply": _flag(
            "If false, generated objects are only for review, and no tool applies them. The default is false since "
            "v0.1.0-alpha.12, because the operator itself creates PodGangs from its PodGangMaps.",
            _DEFAULT.apply,
        ),
        "podGangEpoch": Field(
            Number(bits=64, least=1, most=9_223_372_036_854_775_804),
            default=_DEFAULT.podgang_epoch,
            summary="Since v0.1.0-alpha.12: epoch in the names of PodGangs without a PodGangMap.",
        ),
    },
)  # fmt: skip
"""The fields of `spec`."""


def load(item: KubeObject) -> TopologyRender:
    """Return the settings in `item`, which is a TopologyRender, or a ConfigMap with the fields of one.

    Raise krmfn's ConfigError with a result for each wrong field, or FieldError if `item` is neither.
    """
    kind, version = item.kind, item.api_version
    embedded = (version, kind) == ("v1", "ConfigMap")
    if not embedded and (version, kind) != (API_VERSION, KIND):
        wanted = f'must be a {KIND} ({API_VERSION}) or a ConfigMap; got "{version} {kind}"'
        raise item.error(("kind",), f"the function's configuration {wanted}")
    if not embedded:
        _refuse_unknown(item)
    spec, places = item.get(("spec",), {}), None
    if embedded or not isinstance(spec, dict):
        # The import is here because few configurations are ConfigMaps.
        from krmfn.config import read_config

        spec, places = read_config(item, _takes_text)
    problems = list(field_problems(spec, SPEC))
    if problems:
        from krmfn.config import ConfigError, config_result

        wrong = [config_result(item, problem.path, problem.message, places, problem.at_key) for problem in problems]
        raise ConfigError(tuple(wrong))
    return _build(item, embedded, spec)


def _takes_text(path: FieldPath) -> bool:
    """Return True if the text in a ConfigMap is the value of the field at `path`. Texts of other fields are read as
    YAML.
    """
    return isinstance(kind_at(SPEC, path), Text)


def _build(item: KubeObject, embedded: bool, spec: Mapping[str, Any]) -> TopologyRender:
    kai, kueue, dynamo = spec.get("kai", {}), spec.get("kueue", {}), spec.get("dynamo", {})
    newer: list[NewerRelease] = []
    flavors = [KueueFlavor(flavor["name"], flavor["nodeLabels"]) for flavor in kueue.get("flavors", ())]
    return _fill(TopologyRender(), spec).replace(
        item=item,
        embedded=embedded,
        sections={key: spec[key] for key in DIALECTS if spec.get(key) is not None},
        osmo=_fill(Osmo(), spec.get("osmo", {})),
        limits=_fill(RunLimits(), spec.get("limits", {})),
        emit_is_set="emit" in spec,
        kai_version=_release(kai, ("kai", "version"), "KAI", newer),
        kai_name=kai.get("schedulerName", KAI_PROFILE),
        apply_is_set="apply" in spec,
        podgang_epoch=spec.get("podGangEpoch", _DEFAULT.podgang_epoch),
        podgang_epoch_is_set="podGangEpoch" in spec,
        rules=_rules(spec["rules"]) if spec.get("rules") else (),
        dynamo=_fill(Dynamo(), dynamo).replace(release=_release(dynamo, ("dynamo", "release"), "Dynamo", newer)),
        kueue=Kueue(
            _release(kueue, ("kueue", "version"), "Kueue", newer), tuple(flavors), kueue.get("unreleased", False)
        ),
        kubernetes=_fill(Kubernetes(), spec.get("kubernetes", {})),
        newer_releases=tuple(newer),
    )


def _release(section: Mapping[str, Any], steps: tuple[str, str], name: str, newer: list[NewerRelease]) -> str | None:
    """Return the known release in a section. For a newer release, return the newest known one and extend `newer`."""
    written = section.get(steps[1])
    if written is None:
        return None
    from packwise.revisions.versions import component

    of, text = component(name), str(written)
    if of.is_newer(text):
        newer.append(NewerRelease(steps, name, text, of.newest_release))
    return of.release(text)


def _fill(default: RecordT, section: Mapping[str, Any]) -> RecordT:
    """Return the record with the values of a section. Names of fields are spelt as in Python."""
    named = {"".join([f"_{c.lower()}" if c.isupper() else c for c in name]): name for name in section}
    values = {field: section[named[field]] for field in field_names(default) if field in named}
    lists = {field: tuple(cast("list[Any]", value)) for field, value in values.items() if isinstance(value, list)}
    return default.replace(**values | lists)


def _rules(section: Mapping[str, Any]) -> tuple[RuleEntry, ...]:
    return tuple(
        RuleEntry(level, place, entry)
        if isinstance(entry, str)
        else RuleEntry(level, place, entry["rule"], tuple(entry["paths"]))
        for level in _RULES.fields
        for place, entry in enumerate(section.get(level, ()))
    )


def _refuse_unknown(item: KubeObject) -> None:
    for name in item.value:
        if name not in _FIELDS:
            message = f'unknown field "{name}"{did_you_mean(name, _FIELDS)}; known: {list_known(_FIELDS)}'
            raise item.error((name,), message, key=True)


def settings_place(settings: TopologyRender) -> Place:
    """Return the place of packwise's own settings. Raise ValueError for the default settings, which have no place."""
    item = settings.item
    if item is None:
        raise ValueError("default settings have no place in a file")
    return Place(item, ("data",), texts=True) if settings.embedded else Place(item, ("spec",))
