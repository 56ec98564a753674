"""The fields of a TopologyRender with their types, defaults and meaning: what is validated, and the JSON Schema.

Choices and defaults are those of the quick look and of the record that the steps read. Source: spec/packwise.md#2.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeAlias

from pydantic import AfterValidator, BaseModel, ConfigDict, Discriminator, Field, Tag, WithJsonSchema

from packwise.revisions.tags import PATTERN, wrong_name
from packwise.settings.globs import wrong_glob
from packwise.settings.plain import CHOICES, LISTS, OSMO_CHOICES
from packwise.settings.topologyrender import KAI_PROFILE, Dynamo, Osmo, RunLimits, no_configuration

__all__ = ["TopologyRenderSpec", "json_schema"]

if TYPE_CHECKING:
    UnknownFields: TypeAlias = str
    NewerRevision: TypeAlias = str
    Admission: TypeAlias = str
    Rendered: TypeAlias = str
    Tool: TypeAlias = str
    Priority: TypeAlias = str
    KeySets: TypeAlias = str
else:
    UnknownFields = Literal[CHOICES["unknownFields"]]
    NewerRevision = Literal[CHOICES["newerRevision"]]
    Admission = Literal[CHOICES["admission"]]
    Rendered = Literal[LISTS["emit"]]
    Tool = Literal[LISTS["gitops"]]
    Priority = Literal[OSMO_CHOICES["priority"]]
    KeySets = Literal[OSMO_CHOICES["keySets"]]

_DEFAULT, _OSMO, _DYNAMO = no_configuration(), Osmo(), Dynamo()


def _revision(name: str) -> str:
    wrong = wrong_name(name)
    if wrong:
        raise ValueError(wrong)
    return name


Revision = Annotated[
    str,
    AfterValidator(_revision),
    WithJsonSchema({"anyOf": [{"enum": list(CHOICES["revision"])}, {"type": "string", "pattern": PATTERN}]}),
]
"""A known name, or the tag of a release that is newer than all of them."""


class _Model(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)


class LevelModel(_Model):
    """One topology level."""

    domain: str = Field(
        default="", description="What workloads say: region, zone, datacenter, block, rack, host or numa."
    )
    key: str = Field(default="", description="Label key of the nodes that tells the domain's members apart.")


class SectionModel(_Model):
    """Grove's own topology section."""

    enabled: bool = Field(default=False, description="Whether topology-aware scheduling is on.")
    levels: list[LevelModel] = Field(default=[], description="The levels; required while enabled.")
    name: str | None = Field(default=None, description="Name of the ClusterTopology (design-1 and design-2 only).")


class KaiConfigModel(BaseModel):
    """The part of the profile's own configuration that packwise reads; the rest is the scheduler's."""

    model_config = ConfigDict(extra="allow", frozen=True, strict=True)

    createTopologyResources: bool = Field(default=True, description="Whether KAI Topologies are made.")


class ProfileModel(_Model):
    """A scheduler profile."""

    name: str = Field(description="kai-scheduler is the one that has topologies.")
    default: bool = Field(default=False, description="Whether pods without schedulerName get it.")
    config: KaiConfigModel | None = Field(default=None, description="The scheduler's own configuration.")


class SchedulerModel(_Model):
    """Grove's `scheduler` section."""

    profiles: list[ProfileModel] = Field(default=[], description="Schedulers of the cluster; none means KAI.")
    defaultProfileName: str | None = Field(default=None, description="Name of the default profile.")


class NetworkModel(_Model):
    """Grove's `network` section."""

    autoMNNVLEnabled: bool = Field(default=False, description="Whether Grove gives workloads ComputeDomains (MNNVL).")


class DynamoModel(_Model):
    """What packwise must know of Dynamo's operator."""

    release: str | None = Field(
        default=_DYNAMO.release,
        pattern=r"^[0-9]+\.[0-9]+(\.[0-9]+)?$",
        description="The release of Dynamo, as `1.4` or `1.4.2`; by default the newest that packwise knows.",
    )
    grove: bool = Field(
        default=_DYNAMO.grove, description="The operator's `orchestrators.grove.enabled`: without it, no PodCliqueSet."
    )
    kaiScheduler: bool = Field(
        default=_DYNAMO.kai_scheduler,
        description="The operator's `orchestrators.kaiScheduler.enabled`: pods name KAI and their queue.",
    )
    terminationDelay: str = Field(
        default=_DYNAMO.termination_delay,
        pattern=r"^([0-9]+(\.[0-9]+)?(ms|s|m|h))+$",
        description="The operator's `orchestrators.grove.terminationDelay`.",
    )


class OsmoModel(_Model):
    """Settings of OSMO's front end."""

    namespace: str = Field(
        default=_OSMO.namespace,
        max_length=63,
        pattern=r"^[a-z0-9]([-a-z0-9]*[a-z0-9])?$",
        description="Namespace of what is rendered: the backend's `k8s_namespace`.",
    )
    priority: Priority = Field(
        default=_OSMO.priority, description="Priority of workflows; HIGH and NORMAL are not preempted."
    )
    submittedBy: str = Field(default=_OSMO.submitted_by, description="Who submits the workflows.")
    keySets: KeySets = Field(
        default=_OSMO.key_sets,
        description="Tasks with unlike topology keys: Uniform refuses them as OSMO does, Pad fills them up.",
    )
    values: dict[str, Any] = Field(
        default={},
        description="Values of the variables in templates of workflows, as `osmo workflow submit --set` has them.",
    )


class KaiModel(_Model):
    """The KAI Scheduler that the output must suit."""

    version: str | None = Field(
        default=None,
        pattern=r"^v0\.1[2-8]$",
        description="The release that runs, v0.12 to v0.18; of several clusters, the oldest. Unset: rendered objects "
        "suit all of them, and the groups of workloads are those of v0.17.",
    )
    schedulerName: str = Field(
        default=KAI_PROFILE,
        min_length=1,
        max_length=253,
        description="The name by which pods of workloads that KAI groups itself ask for it (`--scheduler-name`).",
    )


class KueueFlavorModel(_Model):
    """A ResourceFlavor to write."""

    name: str = Field(
        max_length=253,
        pattern=r"^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$",
        description="Name of the ResourceFlavor.",
    )
    nodeLabels: dict[str, str] = Field(
        min_length=1, max_length=8, description="Labels of the nodes that the flavor stands for."
    )


class KueueModel(_Model):
    """Kueue, whose Topology and ResourceFlavors are written where `emit` names KueueTopology."""

    version: str | None = Field(
        default=None,
        pattern=r"^v0\.(1[7-9]|20)$",
        description="The release of Kueue, v0.17 to v0.20; by default what v0.19 does counts.",
    )
    flavors: list[KueueFlavorModel] = Field(default=[], description="ResourceFlavors of the topology.")


class LimitsModel(_Model):
    """How much one run may render: more is an error, before memory and repository fill."""

    gangs: int = Field(
        default=RunLimits().gangs,
        ge=1,
        description="Gangs and entries of gangs of all workloads together: PodGangs and their podgroups, PodGroups and "
        "their subgroups, Pods.",
    )


def _glob(text: str) -> str:
    wrong = wrong_glob(text)
    if wrong:
        raise ValueError(wrong)
    return text


Glob = Annotated[str, AfterValidator(_glob)]
"""A glob of files, as .gitignore spells them."""


class RuleOfPathsModel(_Model):
    """A rule, for the findings in some files."""

    rule: str = Field(description="Name of the rule, as a finding ends with it.")
    paths: list[Glob] = Field(
        min_length=1,
        description="Globs of files, as .gitignore spells them, from the folder of the configuration.",
    )


_RuleEntry = Annotated[
    Annotated[str, Tag("everywhere")] | Annotated[RuleOfPathsModel, Tag("of paths")],
    # A mapping when it is read, the model when it is written.
    Discriminator(lambda entry: "of paths" if isinstance(entry, dict | RuleOfPathsModel) else "everywhere"),
]


class RulesModel(_Model):
    """What becomes of findings by their rules. An entry with paths counts before one without."""

    ignore: list[_RuleEntry] = Field(default=[], description="Rules whose warnings and infos are not reported.")
    warn: list[_RuleEntry] = Field(default=[], description="Rules whose infos are warnings.")
    error: list[_RuleEntry] = Field(default=[], description="Rules whose warnings and infos are errors.")


class TopologyRenderSpec(_Model):
    """`spec` of a TopologyRender, or the data of a ConfigMap that spells the same fields."""

    topologyAwareScheduling: SectionModel | None = Field(default=None, description="The cluster's topology.")
    clusterTopology: SectionModel | None = Field(default=None, description="The same, as design-2 spells it.")
    topology: SectionModel | None = Field(default=None, description="The same, as design-1 spells it.")
    scheduler: SchedulerModel | None = Field(default=None, description="The cluster's schedulers.")
    network: NetworkModel | None = Field(default=None, description="The network of the cluster's nodes.")
    revision: Revision | None = Field(
        default=None,
        description="Which Grove runs: a release's tag, or a design's name; unset: a ClusterTopologyBinding chooses "
        "upstream, else the topology section's key chooses.",
    )
    newerRevision: NewerRevision = Field(
        default=_DEFAULT.newer_revision,
        description="What a tag newer than every known release is: Error, or Warn, and the newest known one is used.",
    )
    topologyNameAnnotation: bool = Field(
        default=_DEFAULT.topology_name_annotation,
        description="design-1 only: write grove.io/topology-name on PodGangs.",
    )
    unknownFields: UnknownFields = Field(
        default=_DEFAULT.unknown_fields, description="What fields of workloads are that no API server knows."
    )
    admission: Admission = Field(
        default=_DEFAULT.admission,
        description="Whether workloads are new to the cluster; Auto looks at status, baseline and earlier output.",
    )
    emit: list[Rendered] = Field(
        default=list(_DEFAULT.emit),
        description="Kinds to render; of OSMO by default Topology, PodGroup and Pod.",
    )
    gitops: list[Tool] = Field(
        default=list(_DEFAULT.gitops),
        description="Tools that apply the output: generated objects get their annotations, `render -o` their layout.",
    )
    finalizers: bool = Field(
        default=_DEFAULT.finalizers,
        description="grep-244-multi only: whether ClusterTopologies carry the operator's finalizer.",
    )
    exclude: list[Annotated[str, Field(min_length=1)]] = Field(
        default=list(_DEFAULT.exclude),
        description="Globs of files that are left out where a folder is read, spelt as in `.gitignore`, from this "
        "file's folder on; what `.gitignore` names is left out anyway.",
    )
    osmo: OsmoModel = Field(default=OsmoModel(), description="OSMO's front end.")
    kai: KaiModel = Field(default=KaiModel(), description="The KAI Scheduler.")
    kueue: KueueModel = Field(default=KueueModel(), description="Kueue.")
    dynamo: DynamoModel = Field(default=DynamoModel(), description="The operator of DynamoGraphDeployments.")
    limits: LimitsModel = Field(default=LimitsModel(), description="How much one run may render.")
    rules: RulesModel = Field(
        default=RulesModel(),
        description="What becomes of warnings and infos, by rule and file. What a cluster refuses stays an error.",
    )
    annotate: bool = Field(
        default=_DEFAULT.annotate, description="Whether workloads get their conditions as annotations."
    )
    apply: bool = Field(
        default=_DEFAULT.apply,
        description="false: generated objects are for review only, no tool applies them. From v0.1.0-alpha.12 on the "
        "default is false, since the operator deletes PodGangs that its PodGangMaps do not know.",
    )
    podGangEpoch: int = Field(
        default=_DEFAULT.podgang_epoch,
        ge=1,
        le=9_223_372_036_854_775_804,
        description="From v0.1.0-alpha.12 on: the first epoch of PodGangs where no PodGangMap tells it.",
    )

    def written(self) -> dict[str, Any]:
        """The fields that are set, as they were written."""
        return self.model_dump(exclude_unset=True)


def json_schema() -> dict[str, Any]:
    """JSON Schema of a whole TopologyRender, for editors."""
    spec = TopologyRenderSpec.model_json_schema()
    definitions = spec.pop("$defs", {})
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "TopologyRender",
        "description": "The configuration of packwise.",
        "type": "object",
        "required": ["apiVersion", "kind", "spec"],
        "properties": {
            "apiVersion": {"const": "packwise.dev/v1alpha1"},
            "kind": {"const": "TopologyRender"},
            "metadata": {"type": "object"},
            "spec": spec,
        },
        "$defs": definitions,
    }
