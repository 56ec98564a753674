"""Dynamo's front end: it checks each graph, derives its PodCliqueSet and passes that to Grove's front end.

Source: spec/dynamo.md. The results are previews because the cluster's operator owns the PodCliqueSet.
"""

from __future__ import annotations

from krmfn.fieldpath import format_path
from krmfn.hints import TYPE_CHECKING, Record
from krmfn.kubeobject import KubeObject
from krmfn.result import Severity
from packwise.findings import Finding, Origin, Place, findings_of, has_errors, place_text
from packwise.frontends.dynamo.convert import ALPHA, BETA
from packwise.frontends.dynamo.graph import paths_of, read_graph, shape_problems
from packwise.frontends.dynamo.rules import (
    CHECKS,
    CLASH,
    FIELD,
    LIVE,
    SCHEMA,
    TEMPLATED,
    UNNAMED,
    UNRENDERED,
    VERSION,
    Subject,
    report_version_once,
    run,
)
from packwise.frontends.dynamo.rules.admission import COMPONENTS, MAX_COMPONENTS, PROVIDER
from packwise.frontends.dynamo.shape import clique_names, set_name, shape_of
from packwise.frontends.frontend import FrontEnd
from packwise.lenient import mapping
from packwise.objects.index import Generated, identity, is_placeholder, repetitions
from packwise.objects.kinds import DYNAMO_GRAPH, POD_CLIQUE_SET, PODGANG, QUEUE
from packwise.placement import LIMIT, Gang, WorkloadPlan, characters, excess_text, length, weight_of_copies
from packwise.revisions.dynamo import NEWEST, release_of
from packwise.topology.known import Use
from packwise.wording import list_known

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from krmfn.fieldpath import FieldPath
    from krmfn.value import Value
    from packwise.findings import Problem, Rule
    from packwise.frontends.dynamo.convert import Trace
    from packwise.frontends.dynamo.graph import Graph
    from packwise.objects.index import Identity, Index, Inventory
    from packwise.placement import Bounds, Cluster, Node, Placement
    from packwise.revisions.dynamo import DynamoRelease
    from packwise.revisions.grove import Revision, Step
    from packwise.settings.topologyrender import TopologyRender
    from packwise.validate.crds import Definitions


class DerivedSet(Record):
    """The PodCliqueSet `item`, derived from the graph `workload`. `trace` has the place in the graph for each part."""

    item: KubeObject
    workload: KubeObject
    trace: Trace
    source: str

    def finding(self, finding: Finding) -> Finding:
        """Return `finding`. If it is about the derived object, move it to the field of the graph that causes it."""
        if finding.subject is not self.item:
            return finding
        written = self.trace.find(finding.path)
        if written.maps_parts:
            return finding.replace(subject=self.workload, path=written.path, location=None)
        derived = f" (`{format_path(finding.path)}` of the PodCliqueSet that Dynamo makes)" if finding.path else ""
        return finding.replace(
            subject=self.workload,
            path=written.path,
            message=finding.message + derived,
            at_key=written.at_key,
            location=None,
            proposed=None,
        )

    def repeats(self, finding: Finding, texts: Iterable[str]) -> bool:
        """Return True if a finding is about a value with one of `texts`, and only the derived object has this value."""
        if finding.subject is not self.item or self.trace.find(finding.path).maps_parts:
            return False
        value = self.item.get(finding.path)
        return isinstance(value, str) and any(text in value for text in texts)

    def placement(self, placement: Placement) -> Placement:
        """Return `placement` with its origins moved to the graph, and with the graph as its source."""
        return placement.replace(node=self._node(placement.node), source=self.source, subject=self.workload)

    def origins(self) -> Mapping[FieldPath, Origin]:
        """Return the origin of each part of the derived object: a place in the graph."""
        return {path: Origin(self._place(path), "spec/dynamo.md#3") for path in paths_of(self.item.value, ())}

    def _node(self, node: Node) -> Node:
        if not isinstance(node, Gang):
            return node
        return node.replace(
            sets=tuple(
                pods.replace(origin=self.origin(pods.origin), bounds=self._bounds(pods.bounds)) for pods in node.sets
            ),
            bounds=None if node.bounds is None else self._bounds(node.bounds),
            origin=self.origin(node.origin),
            owner=self.origin(node.owner),
            naming=None if node.naming is None else self.origin(node.naming),
        )  # fmt: skip

    def _bounds(self, bounds: Bounds) -> Bounds:
        return bounds if bounds.origin is None else bounds.replace(origin=self.origin(bounds.origin))

    def origin(self, origin: Origin) -> Origin:
        """Return `origin`. If it is in the derived object, move it to the graph."""
        place = origin.place
        if place.item is not self.item:
            return origin
        fields: dict[str, FieldPath | Place] = {}
        for name, steps in origin.fields.items():
            fields[name] = steps if isinstance(steps, Place) else self._place((*place.path, *steps))
        return Origin(self._place(place.path), origin.rule, fields)

    def _place(self, path: FieldPath) -> Place:
        return Place(self.workload, self.trace.find(path).path)


def derive_set(
    item: KubeObject, graph: Graph, trace: Trace, release: DynamoRelease, settings: TopologyRender, *, source: str = ""
) -> DerivedSet:
    """Return the PodCliqueSet of `graph`. `trace` has the place in `item` for each field of the graph."""
    shape = shape_of(graph, release, settings.dynamo)
    return DerivedSet(KubeObject.new(shape.value), item, shape.trace.compose_after(trace), source)


class _Dynamo(FrontEnd):
    """The front end of Dynamo's graphs. `sets` is the front end of PodCliqueSets."""

    def __init__(self, sets: FrontEnd) -> None:
        self._sets = sets

    def plans(
        self, inventory: Inventory, cluster: Cluster, settings: TopologyRender, definitions: Definitions
    ) -> Iterable[WorkloadPlan]:
        """Return the plan of each DynamoGraphDeployment, in the order of namespace and name."""
        items = sorted(inventory.items.of_kind(*DYNAMO_GRAPH.key), key=lambda item: identity(item.value)[2:])
        planner = _GraphPlanner(inventory, cluster, settings, release_for(settings))
        repeats = {finding.subject: finding for finding in repetitions(items)}
        checked = [_CheckedGraph(item, (repeats[item],)) if item in repeats else planner.check(item) for item in items]
        once = report_version_once([each.findings for each in checked])
        checked = [each.replace(findings=findings) for each, findings in zip(checked, once, strict=True)]
        plans = planner.plans(_without_clashes(checked), self._sets, definitions)
        plans[0] = plans[0].replace(findings=(*_unnamed_release(settings, items), *plans[0].findings))
        return plans

    def migrate(self, item: KubeObject, step: Step) -> KubeObject:
        """Return a graph of v1alpha1 as v1beta1, if the releases of Dynamo for the target serve v1beta1."""
        if identity(item.value)[:2] != DYNAMO_GRAPH.key or item.get(("apiVersion",)) != ALPHA:
            return item
        from packwise.frontends.dynamo.migrate import migrate

        return migrate(item, step)

    def uses(self, inventory: Inventory, settings: TopologyRender, revision: Revision) -> Iterable[Use]:
        """Yield the graphs in the order of the input, each with the topology that places its PodCliqueSet."""
        release = release_for(settings)
        for item in inventory.items.of_kind(*DYNAMO_GRAPH.key):
            graph, _ = read_graph(item)
            if release.constraint == "packDomain":
                # This release does not pass the name of the topology to Grove.
                yield Use(revision.default_topology if graph.is_constrained else None, item, is_explicit=False)
            else:
                yield Use(graph.topology_name or None, item, is_explicit=bool(graph.topology_name))


def release_for(settings: TopologyRender) -> DynamoRelease:
    """Return the release of Dynamo that the settings name, or the newest known release."""
    name = settings.dynamo.release
    return (None if name is None else release_of(name)) or NEWEST


def _unnamed_release(settings: TopologyRender, items: Sequence[KubeObject]) -> Iterator[Finding]:
    """Yield a finding if the settings name no release of Dynamo."""
    if settings.dynamo.release is None:
        message = (
            f"Dynamo release not set; assuming {NEWEST.name}, the newest one that packwise knows. Set `dynamo.release` "
            "in the TopologyRender"
        )
        yield Finding.of(UNNAMED, items[0], (), message)


class _CheckedGraph(Record):
    """A graph with its findings. `derived` is its PodCliqueSet, or None without one."""

    item: KubeObject
    findings: tuple[Finding, ...]
    derived: DerivedSet | None = None


class _GraphPlanner:
    """Check and plan the graphs of one run with their shared context."""

    __slots__ = ("_before", "_cluster", "_inventory", "_release", "_running", "_settings")

    def __init__(
        self, inventory: Inventory, cluster: Cluster, settings: TopologyRender, release: DynamoRelease
    ) -> None:
        self._inventory, self._cluster = inventory, cluster
        self._settings, self._release = settings, release
        before = () if inventory.baseline is None else inventory.baseline.of_kind(*DYNAMO_GRAPH.key)
        self._before = {identity(item.value)[2:]: item for item in before}
        self._running = {
            (namespace, item.get(("metadata", "labels", "app.kubernetes.io/part-of")))
            for (_, kind, namespace, _), item in inventory.items.generated.items()
            if kind == PODGANG.name
        }

    def check(self, item: KubeObject) -> _CheckedGraph:
        """Return the graph with the errors of the API server and the webhook, and with packwise's own findings."""
        version = item.get(("apiVersion",))
        findings = list(self._about_version(item, version))
        if has_errors(findings):
            return _CheckedGraph(item, tuple(findings))
        problems = shape_problems(item.value)
        paths = [("metadata", "name"), ("metadata", "namespace")]
        template = _template(item, [*paths, *[problem.path for problem in problems if problem.stage is not None]])
        if template is not None:
            return _CheckedGraph(item, (*findings, template))
        about_fields = [(FIELD if problem.stage is None else SCHEMA, problem) for problem in problems]
        findings += findings_of(about_fields, item)
        if has_errors(findings):
            return _CheckedGraph(item, tuple(findings))
        graph, trace = read_graph(item)
        subject = self._subject(item, graph)
        checks = CHECKS if len(graph.components) <= MAX_COMPONENTS else (COMPONENTS,)
        findings += _locate(run(checks, subject), item, trace)
        reason = self._without_set(subject)
        if reason and not has_errors(findings):
            findings.append(Finding.of(UNRENDERED, item, ("metadata", "annotations"), reason))
        if not has_errors(findings):
            findings += self._excess(item, graph)
        if reason or has_errors(findings):
            return _CheckedGraph(item, tuple(findings))
        return self._derive(item, subject, trace, findings)

    def plans(self, checked: list[_CheckedGraph], sets: FrontEnd, definitions: Definitions) -> list[WorkloadPlan]:
        """Return the plans of the graphs. Grove's front end makes the plans of their PodCliqueSets."""
        # A plan has a changed copy of the derived set, which is found by its unique identity.
        derived = {identity(each.derived.item.value): each.derived for each in checked if each.derived is not None}
        plans: dict[KubeObject, WorkloadPlan] = {}
        if derived:
            items = tuple(each.item for each in derived.values())
            # The API server has already dropped unknown fields of the graph's pods, so they are no errors here.
            settings = self._settings.replace(unknown_fields="Warn")
            inventory = self._inventory.replace(
                items=_with_sets(self._inventory.items, items), baseline=self._baseline()
            )
            for plan in sets.plans(inventory, self._cluster, settings, definitions):
                origin = derived[identity(plan.workload.value)]
                plans[origin.workload] = _graph_plan(plan, origin)
        return [
            plan.replace(findings=(*each.findings, *plan.findings))
            if (plan := plans.get(each.item)) is not None
            else WorkloadPlan(each.item, each.findings)
            for each in checked
        ]

    def _about_version(self, item: KubeObject, version: Value) -> Iterable[Finding]:
        if version not in (ALPHA, BETA):
            message = f'must be one of {list_known((ALPHA, BETA))}; got "{version}"'
            yield Finding.of(VERSION, item, ("apiVersion",), message)
        elif version == BETA and not self._release.serves_v1beta1:
            message = f'Dynamo {self._release.name} serves only "{ALPHA}"; got "{version}"'
            yield Finding.of(VERSION, item, ("apiVersion",), message)

    def _subject(self, item: KubeObject, graph: Graph) -> Subject:
        before = self._before.get(identity(item.value)[2:])
        name = set_name(graph) if self._release.shortens_names else graph.name
        is_running = bool(item.get("status")) or before is not None
        is_running = is_running or (graph.namespace or "default", name) in self._running
        admission = self._settings.admission
        is_new = admission == "New" or (admission == "Auto" and not is_running)
        return Subject(
            graph=graph,
            release=self._release,
            settings=self._settings.dynamo,
            revision=self._cluster.revision,
            topologies=self._cluster.topologies,
            set_name=name,
            before=None if before is None or is_new else read_graph(before)[0],
            is_new=is_new,
            is_export=item.get("metadata.uid") is not None,
            revision_is_named=self._settings.revision is not None,
            kai_version=self._settings.kai_version,
            nodes=self._cluster.nodes,
            queues=tuple(sorted({queue.name for queue in self._inventory.items.of_kind(*QUEUE.key)})),
        )

    def _without_set(self, subject: Subject) -> str:
        """Return the reason why the operator makes no PodCliqueSet of a graph, or "". Source: spec/dynamo.md#3.1."""
        annotations = subject.graph.annotations
        provider = annotations.get(PROVIDER, "")
        if provider not in ("", "grove"):
            return f'the operator makes no PodCliqueSet: the provider of the workloads is "{provider}"'
        if annotations.get("nvidia.com/enable-grove", "").lower() == "false":
            return "the operator makes no PodCliqueSet: the annotation nvidia.com/enable-grove opts out"
        if not subject.settings.grove:
            return "the operator makes no PodCliqueSet: `dynamo.grove` of the TopologyRender disables Grove"
        return ""

    def _excess(self, item: KubeObject, graph: Graph) -> Iterable[Finding]:
        """Yield a finding if a graph exceeds the limit of gangs, because its cliques copy long templates and labels."""
        shared = length(graph.own_labels) + length(graph.own_annotations)
        copied = sum([len(clique_names(each)) * (shared + characters(each.template)) for each in graph.components])
        most = self._settings.limits.gangs
        entries = weight_of_copies(copied)
        if entries > most:
            message = excess_text(f"a PodCliqueSet that counts as {entries} entries", 0, most)
            yield Finding.of(LIMIT, item, ("spec",), message)

    def _derive(self, item: KubeObject, subject: Subject, trace: Trace, findings: list[Finding]) -> _CheckedGraph:
        source = f"{DYNAMO_GRAPH.name} {identity(item.value)[2]}/{subject.graph.name}"
        derived = derive_set(item, subject.graph, trace, self._release, self._settings, source=source)
        live = self._inventory.items.users.get(identity(derived.item.value))
        if live is not None:
            message = (
                f'packwise renders the PodCliqueSet "{subject.set_name}" of the input ({place_text(live)}) '
                "instead of a preview"
            )
            findings.append(Finding.of(LIVE, item, ("metadata", "name"), message))
            return _CheckedGraph(item, tuple(findings))
        return _CheckedGraph(item, tuple(findings), derived)

    def _baseline(self) -> Index | None:
        """Return the baseline with the PodCliqueSets of its graphs, or None without a baseline."""
        baseline = self._inventory.baseline
        if baseline is None:
            return None
        shapes: list[KubeObject] = []
        for item in self._before.values():
            has_shape = not any(problem.stage is not None for problem in shape_problems(item.value))
            if item.get(("apiVersion",)) in (ALPHA, BETA) and has_shape:
                graph, _ = read_graph(item)
                if len(graph.components) <= MAX_COMPONENTS and not any(self._excess(item, graph)):
                    shapes.append(KubeObject.new(shape_of(graph, self._release, self._settings.dynamo).value))
        return _with_sets(baseline, tuple(shapes))


def _without_clashes(checked: list[_CheckedGraph]) -> list[_CheckedGraph]:
    """Return the graphs. If two would have the same PodCliqueSet, remove it from the later one and add a finding."""
    first: dict[Identity, DerivedSet] = {}
    kept: list[_CheckedGraph] = []
    for each in checked:
        before = each.derived and first.setdefault(identity(each.derived.item.value), each.derived)
        if each.derived is None or before is None or before is each.derived:
            kept.append(each)
            continue
        message = (
            f'{before.source} ({before.workload.location()}) becomes the same PodCliqueSet "{each.derived.item.name}"; '
            "rename one of the two"
        )
        finding = Finding.of(CLASH, each.item, ("metadata", "name"), message)
        kept.append(_CheckedGraph(each.item, (*each.findings, finding)))
    return kept


def _locate(problems: list[tuple[Rule, Problem]], item: KubeObject, trace: Trace) -> tuple[Finding, ...]:
    """Return the problems as findings, at the fields of the user's manifest."""
    located: list[tuple[Rule, Problem]] = []
    for rule, problem in problems:
        written = trace.find(problem.path)
        at_key = written.at_key or (problem.at_key and written.maps_parts)
        located.append((rule, problem.replace(path=written.path, at_key=at_key)))
    return findings_of(located, item)


def _template(item: KubeObject, paths: Iterable[FieldPath]) -> Finding | None:
    """Return a finding if the text at one of `paths` contains a placeholder, otherwise None."""
    for path in paths:
        scalar = item.get(path)
        if isinstance(scalar, str) and is_placeholder(scalar):
            message = "the graph contains placeholders (`${…}`, `{{…}}` or `<…>`); fill them in, then render the result"
            return Finding.of(TEMPLATED, item, path, message)
    return None


def _with_sets(index: Index, sets: tuple[KubeObject, ...]) -> Index:
    """Return `index` with its PodCliqueSets replaced by `sets`."""
    by_kind: Mapping[tuple[str, str], tuple[KubeObject, ...]] = {**index.by_kind, POD_CLIQUE_SET.key: sets}
    return index.replace(by_kind=by_kind)


def _graph_plan(plan: WorkloadPlan, derived: DerivedSet) -> WorkloadPlan:
    """Return the plan of a graph, made from the plan of its derived PodCliqueSet."""
    distinct: dict[tuple[str, FieldPath, str], Finding] = {}
    for finding in map(derived.finding, _without_repetitions(plan.findings, derived)):
        # Leader and workers are cliques with the same template, so their findings are equal.
        distinct.setdefault((finding.rule, finding.path, finding.message), finding)
    findings = tuple(distinct.values())
    wrong = [finding.path for finding in findings if finding.severity is Severity.ERROR]
    template = _template(derived.workload, wrong)
    if template is not None:
        return WorkloadPlan(derived.workload, (template,))
    value = derived.item.value
    metadata = mapping(value.get("metadata"))
    preview = Generated(
        {**value, "metadata": {**metadata, "namespace": metadata.get("namespace", "default")}},
        derived.source,
        derived.workload,
        derived.origins,
        emit_by_default=True,
        validated=True,
    )
    return plan.replace(
        workload=derived.workload,
        findings=findings,
        placements=tuple(derived.placement(placement) for placement in plan.placements),
        # Conditions and notes belong to the PodCliqueSet. The graph itself is written unchanged.
        conditions=(),
        notes={},
        previews=() if has_errors(plan.findings) else (preview,),
    )


def _without_repetitions(findings: Sequence[Finding], derived: DerivedSet) -> list[Finding]:
    """Return `findings` without findings about values that only repeat an invalid name or namespace of the graph."""
    own = [finding.path for finding in findings if finding.path in _NAMES and finding.severity is Severity.ERROR]
    wrong = [text for path in own if (text := derived.item.get(path)) and isinstance(text, str)]
    return [finding for finding in findings if finding.path in _NAMES or not derived.repeats(finding, wrong)]


_NAMES: tuple[FieldPath, ...] = (("metadata", "name"), ("metadata", "namespace"))


def dynamo(sets: FrontEnd) -> FrontEnd:
    """Return Dynamo's front end. `sets` is the front end of PodCliqueSets."""
    return _Dynamo(sets)
