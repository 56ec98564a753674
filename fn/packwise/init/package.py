"""The files of a first package and of its client, based on facts from a dump of the cluster.

Facts are levels, schedulers, the release of Grove, its operator. Source: Kubernetes' well-known labels; topograph's
reference of node labels; GREP-244 for the domains.
"""

from __future__ import annotations

import json
import re
from shlex import quote

from krmfn.hints import TYPE_CHECKING, Record
from krmfn.yamltext.writer import scalar_text
from packwise.init.proposal import LevelProposal, propose
from packwise.keys import HOSTNAME
from packwise.lenient import mapping_at, mappings, mappings_in_place
from packwise.objects.index import Index
from packwise.objects.kinds import CLUSTER_TOPOLOGY, CLUSTER_TOPOLOGY_BINDING, PODGROUP, TOPOLOGY
from packwise.pipeline.evidence import deployed_release
from packwise.place.cluster import read_cluster
from packwise.revisions.grove import ALPHA_8, ALPHA_9, GREP_244_MULTI, NEWEST, RECORDS, REVISIONS
from packwise.revisions.kai import NEWEST as NEWEST_KAI
from packwise.settings.configuration import operators_of
from packwise.settings.topologyrender import DIALECTS, KAI_PROFILE
from packwise.topology.known import Level
from packwise.wording import count_text

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from krmfn.kubeobject import KubeObject
    from krmfn.value import Value
    from packwise.pipeline.evidence import Deployed
    from packwise.revisions.grove import Revision
    from packwise.settings.configuration import Operator

GUESSED = (
    Level("zone", "topology.kubernetes.io/zone"),
    Level("rack", "example.com/rack"),
    Level("host", HOSTNAME),
)
"""The levels of a new package if no levels are known. Every site has its own label for racks."""


class Topology(Record):
    """A topology of the cluster: its name and its levels, broadest first."""

    name: str
    levels: tuple[Level, ...]


class Facts(Record):
    """Facts about a cluster. `levels` are the levels of its topology, with `comments` on each level and their `source`.

    `dropped` are labels that are no levels, with the reason. `topologies` are the cluster's own objects. `profiles` are
    the names of scheduler profiles, the default first. `revision_source` is the evidence for the revision, or "" if the
    user named it.
    """

    levels: tuple[Level, ...] = GUESSED
    comments: tuple[str, ...] = ("", "the label of your nodes with their rack", "")
    source: str = ""
    dropped: tuple[str, ...] = ()
    topologies: tuple[Topology, ...] = ()
    profiles: tuple[str, ...] = (KAI_PROFILE,)
    revision: str = NEWEST.name
    revision_source: str = "the newest release that packwise knows; replace it by yours"
    has_operator: bool = False


def facts_of(items: Iterable[KubeObject]) -> Facts:
    """Return the facts in a cluster's objects. Unknown ones keep the defaults of a new package.

    Raise UsageError if a node cannot be read.
    """
    index = Index.of(items)
    operators = operators_of(index, [])
    deployed = deployed_release(index)
    facts = _with_levels(Facts(), index, operators)
    if operators:
        facts = facts.replace(profiles=_profiles(operators[0].value) or facts.profiles)
    shown = _shown_revision(index, operators, deployed)
    if shown is not None:
        facts = facts.replace(revision=shown[0], revision_source=shown[1])
    return facts.replace(has_operator=bool(operators) or deployed is not None)


def _shown_revision(index: Index, operators: list[Operator], deployed: Deployed | None) -> tuple[str, str] | None:
    """Return the revision that the cluster shows, and the evidence, or None. Return the newest if it shows several."""
    if deployed is not None:
        return deployed.release, f"{deployed.item.kind} {deployed.item.name} deploys it"
    if index.of_kind(*CLUSTER_TOPOLOGY_BINDING.key):
        return NEWEST.name, f"a release with ClusterTopologyBindings, {ALPHA_9.name} or later; replace it by yours"
    for operator, key, _ in _operators_with_levels(operators):
        has_profiles = key == ALPHA_8.configuration_key and bool(_profiles(operator.value))
        records = [ALPHA_8] if has_profiles else [r for r in RECORDS if r.configuration_key == key]
        return _name(records[0]), f"a release with levels below `{key}` in its OperatorConfiguration"
    if index.of_kind(*CLUSTER_TOPOLOGY.key):
        return GREP_244_MULTI.name, "the design in which users write ClusterTopologies"
    return None


def _name(record: Revision) -> str:
    """Return the record's newest release, or its own name for an unreleased design."""
    return record.releases[-1] if record.releases else record.name


def _with_levels(facts: Facts, index: Index, operators: list[Operator]) -> Facts:
    """Return the facts with the levels of the operator's configuration.

    Without a configuration, the levels are from the first topology. Without a topology, propose levels for the nodes.
    Raise UsageError if a node cannot be read.
    """
    topologies = tuple(
        Topology(item.name, levels)
        for kind in (CLUSTER_TOPOLOGY, CLUSTER_TOPOLOGY_BINDING)
        for item in index.of_kind(*kind.key)
        if (levels := _levels(item.get(("spec", "levels"))))
    )
    for operator, _, levels in _operators_with_levels(operators):
        source = f"the OperatorConfiguration in {operator.place.item.kind} {operator.place.item.name}"
        return facts.replace(levels=levels, comments=(), source=source, topologies=topologies)
    if topologies:
        source = f"the cluster's topology {topologies[0].name}"
        return facts.replace(levels=topologies[0].levels, comments=(), source=source, topologies=topologies)
    return _with_proposal(facts, [item.value for item in index.of_kind("", "Node")])


def _with_proposal(facts: Facts, nodes: Sequence[Mapping[str, Value]]) -> Facts:
    """Return the facts with the levels that the labels of `nodes` show. Raise UsageError if a node cannot be read."""
    proposal = propose(read_cluster((), nodes, option="--from: ").nodes) if nodes else LevelProposal()
    if not proposal.levels:
        return facts
    source = f"the labels of {count_text(proposal.nodes, 'node')}: a proposal"
    if proposal.contradictions:
        source += (
            f"; it contradicts {count_text(len(proposal.contradictions), 'label')}, and `packwise topology import` "
            "lists them"
        )
    return facts.replace(
        levels=tuple(Level(level.domain, level.key) for level in proposal.levels),
        comments=tuple("; ".join([level.counts(proposal.nodes), *level.notes]) for level in proposal.levels),
        source=source,
        dropped=tuple(f"{label.key} {label.reason}" for label in proposal.skipped),
    )


def _operators_with_levels(operators: Iterable[Operator]) -> Iterator[tuple[Operator, str, tuple[Level, ...]]]:
    """Yield the operators with levels in their configuration, the key of the section, and the levels."""
    for operator in operators:
        for key in DIALECTS:
            levels = _levels(mapping_at(operator.value, key).get("levels"))
            if levels:
                yield operator, key, levels


def _levels(listed: Value) -> tuple[Level, ...]:
    """Return the levels of a list, or none if one is incomplete."""
    levels: list[Level] = []
    for entry in mappings_in_place(listed):
        domain, key = entry.get("domain"), entry.get("key")
        if not (isinstance(domain, str) and isinstance(key, str)):
            return ()
        levels.append(Level(domain, key))
    return tuple(levels)


def _profiles(value: Mapping[str, Value]) -> tuple[str, ...]:
    """Return the names of the profiles of an OperatorConfiguration, the default one first."""
    section = mapping_at(value, "scheduler")
    named, default = mappings(section.get("profiles")), section.get("defaultProfileName")
    ordered = sorted(named, key=lambda entry: not (entry.get("default") is True or entry.get("name") == default))
    return tuple(name for entry in ordered if isinstance(name := entry.get("name"), str))


_TOPOLOGY = "grove-topology"
"""The name of Grove's own topology. Source: spec/grove.md#9."""


class Plan(Record):
    """The package to write. `apply` is None if unset. `gitops` are the tools that apply the output.

    With `is_function`, the configuration has the annotation with which kustomize starts packwise. With
    `with_example`, an example workload is written.
    With `without_grove`, KAI groups workloads itself.
    """

    facts: Facts = Facts()
    apply: bool | None = None
    gitops: tuple[str, ...] = ()
    is_function: bool = False
    with_example: bool = True
    without_grove: bool = False

    @property
    def revision(self) -> Revision:
        """Return the release for which the package is written."""
        return REVISIONS[self.facts.revision]


def package_files(plan: Plan) -> dict[str, str]:
    """Return the texts of the files, by their paths below the package's folder."""
    if plan.without_grove:
        files = {"topology.yaml": _configuration(plan), "topologies.yaml": _own_topology(plan.facts)}
        return files | ({"example.yaml": _job_set(plan.facts)} if plan.with_example else {})
    files = {"topology.yaml": _configuration(plan)}
    if plan.revision.default_topology is None:
        files["topologies.yaml"] = _topologies(plan)
    if plan.with_example:
        files["example.yaml"] = _example(plan)
    return files


def _configuration(plan: Plan) -> str:
    function = _FUNCTION if plan.is_function else ""
    return _HEAD + function + "spec:\n" + "".join([f"  {line}\n" for line in _spec(plan)])


def _spec(plan: Plan) -> Iterator[str]:
    facts, revision = plan.facts, plan.revision
    if plan.without_grove:
        yield "# The release of KAI that the cluster runs."
        yield f"kai: {{version: {NEWEST_KAI.name}}}"
        yield "# KAI makes the PodGroups of workloads itself. packwise only shows them."
        yield "apply: false"
        yield f"emit: [{PODGROUP.name}]"
        return
    evidence = f": {_line(facts.revision_source)}" if facts.revision_source else ""
    yield f"# The release of Grove that the cluster runs{evidence}."
    yield f"revision: {facts.revision}"
    yield f"{revision.configuration_key}:"
    yield "  enabled: true"
    if revision.default_topology is not None:
        yield "  # Broadest level first. Workloads use the domain; the key is a label of the nodes."
        yield from (f"  {line}" for line in _source(facts))
        yield "  levels:"
        yield from (f"  {line}" for line in _level_lines(facts.levels, facts.comments))
    if revision.scheduler_profiles:
        yield "scheduler:"
        yield "  profiles:"
        for place, name in enumerate(facts.profiles):
            yield f"  - name: {scalar_text(name)}"
            if place == 0:
                yield "    default: true"
    yield from _apply_lines(plan)
    if plan.gitops:
        yield "# The tool that applies the output. packwise adds its annotations and uses its folders."
        yield f"gitops: [{', '.join(plan.gitops)}]"


def _apply_lines(plan: Plan) -> Iterator[str]:
    if plan.apply is False:
        yield "# The Grove operator makes these objects itself; packwise generates a preview."
        yield "apply: false"
    elif plan.apply:
        yield "# Git applies the generated objects. The Grove operator must not make the same objects."
        yield "apply: true"
    elif not plan.revision.podgang_maps:
        yield "# If the Grove operator runs, it makes these objects itself, and packwise generates a preview:"
        yield "# apply: false"


def _source(facts: Facts) -> Iterator[str]:
    """Yield comments on the source of the levels, and on skipped labels."""
    if facts.source:
        yield f"# From {_line(facts.source)}."
    yield from (f"# Skipped: {_line(reason)}." for reason in facts.dropped)


def _level_lines(levels: Iterable[Level], comments: tuple[str, ...] = ()) -> Iterator[str]:
    for place, level in enumerate(levels):
        comment = comments[place] if place < len(comments) else ""
        yield f"- domain: {scalar_text(level.domain)}"
        yield f"  key: {scalar_text(level.key)}{comment and f' # {_line(comment)}'}"


def _line(text: str) -> str:
    """Return the text for a comment. Names in a dump may contain line breaks."""
    return " ".join(text.split())


def _topologies(plan: Plan) -> str:
    facts = plan.facts
    topologies = facts.topologies or (Topology(_TOPOLOGY, facts.levels),)
    comments = () if facts.topologies else facts.comments
    documents = [
        "".join(
            [
                f"apiVersion: grove.io/v1alpha1\nkind: {plan.revision.topology_kind}\nmetadata:\n",
                f"  name: {scalar_text(topology.name)}\n",
                _LOCAL if facts.topologies else "",
                "spec:\n  levels:\n",
                *[f"  {line}\n" for line in _level_lines(topology.levels, comments)],
            ]
        )
        for topology in topologies
    ]
    head = (
        "# The topologies of the cluster. packwise checks workloads against them."
        if facts.topologies
        else _OWN_TOPOLOGY
    )
    return "".join([f"{line}\n" for line in (head, *_source(facts))]) + "---\n".join(documents)


def _own_topology(facts: Facts) -> str:
    """Return KAI's Topology with the levels. It is applied from Git, because no operator makes it."""
    head = "# The levels of the nodes, broadest first. Workloads name the Topology and the label of a level."
    lines = (
        head,
        *_source(facts),
        f"apiVersion: {TOPOLOGY.api_version}",
        f"kind: {TOPOLOGY.name}",
        "metadata:",
        f"  name: {_OWN_NAME}",
        "spec:",
        "  levels:",
        *[f"  - nodeLabel: {scalar_text(level.key)}" for level in facts.levels],
    )
    return "".join([f"{line}\n" for line in lines])


def _job_set(facts: Facts) -> str:
    """Return a JobSet with its pods in one domain of the level above the narrowest."""
    level = facts.levels[-2 if len(facts.levels) > 1 else -1]
    return _JOB_SET.replace("LEVEL", scalar_text(level.key)).replace("TOPOLOGY", _OWN_NAME)


def _example(plan: Plan) -> str:
    facts, revision = plan.facts, plan.revision
    topologies = facts.topologies or (Topology(_TOPOLOGY, facts.levels),)
    levels = topologies[0].levels if revision.default_topology is None else facts.levels
    # One level above the narrowest, which is usually a single node.
    domain = levels[-2 if len(levels) > 1 else -1].domain
    if revision.deprecates_pack_domain:
        constraint = [f"topologyName: {scalar_text(topologies[0].name)}", "pack:", f"  required: {scalar_text(domain)}"]
    elif revision.default_topology is None:
        constraint = [f"topologyName: {scalar_text(topologies[0].name)}", f"packDomain: {scalar_text(domain)}"]
    else:
        constraint = [f"packDomain: {scalar_text(domain)}"]
    return _EXAMPLE.replace("CONSTRAINT\n", "".join([f"      {line}\n" for line in constraint])).replace(
        "SCHEDULER", scalar_text(facts.profiles[0])
    )


_HEAD = """\
# The configuration of packwise. render and check read it; do not apply it to a cluster.
# `packwise schema TopologyRender` prints a schema of all settings, for editors.
apiVersion: packwise.dev/v1alpha1
kind: TopologyRender
metadata:
  name: topology
  annotations:
    config.kubernetes.io/local-config: "true"
"""

_FUNCTION = """\
    # kustomize runs this command. packwise must be on PATH.
    config.kubernetes.io/function: |
      exec:
        path: packwise
        args: [fn]
"""

_LOCAL = """\
  annotations:
    config.kubernetes.io/local-config: "true"
"""

_OWN_TOPOLOGY = "# The levels, broadest first. Workloads use the domain; the key is a label of the nodes."

_OWN_NAME = "cluster"

_JOB_SET = """\
# An example. Replace it by your own workloads.
apiVersion: jobset.x-k8s.io/v1alpha2
kind: JobSet
metadata:
  name: example
  namespace: default
  labels:
    kai.scheduler/queue: default
  annotations:
    # All pods within one domain of this level.
    kai.scheduler/topology: TOPOLOGY
    kai.scheduler/topology-required-placement: LEVEL
spec:
  replicatedJobs:
  - name: worker
    template:
      spec:
        parallelism: 2
        completions: 2
        template:
          spec:
            schedulerName: kai-scheduler
            restartPolicy: Never
            containers:
            - name: worker
              image: registry.example.com/worker:1.0
              resources:
                limits:
                  nvidia.com/gpu: "8"
"""

_EXAMPLE = """\
# An example. Replace it by your own workloads.
apiVersion: grove.io/v1alpha1
kind: PodCliqueSet
metadata:
  name: example
  namespace: default
  labels:
    kai.scheduler/queue: default
spec:
  replicas: 1
  template:
    # All pods of one replica within one domain of this level.
    topologyConstraint:
CONSTRAINT
    cliques:
    - name: worker
      spec:
        roleName: worker
        replicas: 2
        minAvailable: 2
        podSpec:
          schedulerName: SCHEDULER
          containers:
          - name: worker
            image: registry.example.com/worker:1.0
            resources:
              limits:
                nvidia.com/gpu: "8"
"""


class PackagePlace(Record):
    """The place of the package: its folder below the top of the repository with slashes, or "." for the top.

    `resources` are the folder's files with objects. `requirement` is pip's requirement for packwise. `repository` and
    `commit` are its source.
    """

    folder: str
    resources: Sequence[str]
    requirement: str
    repository: str
    commit: str

    @property
    def name(self) -> str:
        """Return a name for the package that Kubernetes accepts."""
        letters = [letter if letter.isascii() and letter.isalnum() else "-" for letter in self.folder.lower()]
        return "".join(letters).strip("-")[-50:].strip("-") or "packwise"


def client_files(target: str, place: PackagePlace) -> tuple[dict[str, str], dict[str, str]]:
    """Return the files for `target`: below the package's folder, and below the top of the repository."""
    inside, above = _FILES[target]
    return (
        {path: text(place) for path, text in inside.items()},
        {path: text(place) for path, text in above.items()},
    )


def _kustomization(place: PackagePlace) -> str:
    resources = "".join([f"- {json.dumps(name, ensure_ascii=False)}\n" for name in place.resources])
    return f"""\
# kustomize build --enable-alpha-plugins --enable-exec .
# Pass both flags: without --enable-exec, kustomize silently skips packwise.
apiVersion: kustomize.config.k8s.io/v1beta1
kind: Kustomization
resources:
{resources}transformers:
- topology.yaml
"""


def _kptfile(place: PackagePlace) -> str:
    return f"""\
# kpt fn render --allow-exec
apiVersion: kpt.dev/v1
kind: Kptfile
metadata:
  name: {place.name}
  annotations:
    config.kubernetes.io/local-config: "true"
info:
  description: Grove workloads with their topology, rendered by packwise
pipeline:
  mutators:
  - exec: packwise fn
    configPath: topology.yaml
"""


def _application(place: PackagePlace) -> str:
    return f"""\
# Apply this file once to the cluster of Argo CD. The repo-server there needs packwise's plugin.
apiVersion: argoproj.io/v1alpha1
kind: Application
metadata:
  name: {place.name}
  namespace: argocd
  annotations:
    config.kubernetes.io/local-config: "true"
spec:
  project: default
  source:
    repoURL: https://git.example.com/platform/clusters.git # the repository of this folder
    targetRevision: main
    path: {json.dumps(place.folder, ensure_ascii=False)}
    plugin:
      name: packwise
  destination:
    server: https://kubernetes.default.svc
  syncPolicy:
    automated:
      prune: true
      selfHeal: true
    syncOptions:
    # Without this, every sync would re-create the Topologies, even if their levels are the same.
    - ApplyOutOfSyncOnly=true
"""


def _flux(place: PackagePlace) -> str:
    source = f"""\
# Apply this file once to the cluster of Flux. CI renders the folder into the branch, without this file.
apiVersion: source.toolkit.fluxcd.io/v1
kind: GitRepository
metadata:
  name: {place.name}
  namespace: flux-system
  annotations:
    config.kubernetes.io/local-config: "true"
spec:
  interval: 1m
  url: https://git.example.com/platform/clusters.git # the repository of this folder
  ref:
    branch: rendered/{place.name}
"""
    topologies = _flux_kustomization(place, "topologies", "")
    workloads = _flux_kustomization(place, "workloads", f"  dependsOn:\n  - name: {place.name}-topologies\n")
    return "---\n".join([source, topologies, workloads])


def _flux_kustomization(place: PackagePlace, part: str, first: str) -> str:
    return f"""\
apiVersion: kustomize.toolkit.fluxcd.io/v1
kind: Kustomization
metadata:
  name: {place.name}-{part}
  namespace: flux-system
  annotations:
    config.kubernetes.io/local-config: "true"
spec:
{first}  interval: 10m
  path: ./{part}
  prune: true
  wait: true
  sourceRef:
    kind: GitRepository
    name: {place.name}
"""


def _github(place: PackagePlace) -> str:
    return f"""\
name: packwise
on: pull_request
permissions:
  contents: read
jobs:
  check:
    runs-on: ubuntu-latest
    steps:
    - uses: actions/checkout@v7.0.1
      with:
        fetch-depth: 2 # the first parent is the target branch
    - uses: actions/setup-python@v7.0.0
      with:
        python-version: "3.13"
    - run: {scalar_text(f"pipx install {quote(place.requirement)}")}
    - run: {scalar_text(f"packwise check {quote(place.folder)} --baseline git:HEAD^1 --output github")}
"""


def _gitlab(place: PackagePlace) -> str:
    check = f"packwise check {quote(place.folder)}"
    return f"""\
packwise:
  image: python:3.13
  script:
  - {scalar_text(f"pip install {quote(place.requirement)}")}
  - {scalar_text(f"{check} --output gitlab > gl-code-quality-report.json || [ $? = 1 ]")}
  - {scalar_text(check)}
  artifacts:
    when: always
    reports:
      codequality: gl-code-quality-report.json
"""


def _pre_commit(place: PackagePlace) -> str:
    folder = "" if place.folder == "." else f"^{re.escape(place.folder)}/"
    files = f"    files: {json.dumps(folder, ensure_ascii=False)}\n" if folder else ""
    return f"""\
repos:
- repo: {place.repository}
  rev: {place.commit}
  hooks:
  - id: packwise-check
    args: [{json.dumps(place.folder, ensure_ascii=False)}]
{files}"""


_Files = dict[str, "Callable[[PackagePlace], str]"]

_FILES: dict[str, tuple[_Files, _Files]] = {
    "kustomize": ({"kustomization.yaml": _kustomization}, {}),
    "kpt": ({"Kptfile": _kptfile}, {}),
    "argocd": ({"application.yaml": _application}, {}),
    "flux": ({"flux.yaml": _flux}, {}),
    "github": ({}, {".github/workflows/packwise.yaml": _github}),
    "gitlab": ({}, {".gitlab-ci.yml": _gitlab}),
    "pre-commit": ({}, {".pre-commit-config.yaml": _pre_commit}),
}
"""The files of each target, in the folder of the package and at the top of the repository."""
