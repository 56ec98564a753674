"""The rules about the pods of cliques: their fields, the claims that they share, and the demands of their scheduler.

Source: spec/grove.md#r20 to #r23, #r29, #4.4.
"""

from __future__ import annotations

from krmfn.fieldpath import format_path
from krmfn.hints import TYPE_CHECKING, Record, cast
from packwise import kubernetes
from packwise.findings import Problem, Rule
from packwise.frontends.grove.podcliqueset import (
    KUEUE,
    LPX,
    TEMPLATE,
    VOLCANO,
    VOLCANO_QUEUE,
    queue_of,
    requests_lpu,
)
from packwise.frontends.grove.rules.book import Check, CliqueAt, Context, GroupAt, Scope, invalid_value, required_value
from packwise.frontends.grove.rules.cliques import SAME_SCHEDULER, duplicates
from packwise.frontends.grove.rules.topology import constraints_at
from packwise.keys import KAI_QUEUE
from packwise.kubernetes import (
    ErrorType,
    OperatorError,
    TypedText,
    Unquoted,
    dns_subdomain,
    go_quote,
    refusal,
)
from packwise.lenient import entries, text_at, value_at
from packwise.revisions.grove import ALPHA_8, ALPHA_9, ALPHA_10, ALPHA_14, UPSTREAM
from packwise.settings.topologyrender import KAI_PROFILE
from packwise.wording import did_you_mean, list_known

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from krmfn.fieldpath import FieldPath
    from krmfn.value import Value
    from packwise.frontends.grove.podcliqueset import PodCliqueSet

_SPREAD_FIELDS = (
    "maxSkew",
    "topologyKey",
    "whenUnsatisfiable",
    "labelSelector",
    "minDomains",
    "nodeAffinityPolicy",
    "nodeTaintsPolicy",
    "matchLabelKeys",
)


class _Env(Record):
    """The names of the environment variables of one container. `path` is the path of the list."""

    path: FieldPath
    names: tuple[str, ...]

    @property
    def field(self) -> str:
        """Return the path as the operator's errors have it. They wrongly write `podSpec.spec`."""
        at = self.path.index("podSpec") + 1
        return format_path((*self.path[:at], "spec", *self.path[at:]))


def _environments(at: CliqueAt, _context: Context) -> Iterable[_Env]:
    environments: list[_Env] = []
    for kind in ("containers", "initContainers"):
        for index, container in enumerate(entries(at.clique.pod_spec.get(kind))):
            env = container.get("env") if isinstance(container, dict) else None
            if isinstance(env, list) and env:
                path = at.path("spec", "podSpec", kind, index, "env")
                environments.append(_Env(path, tuple([text_at(entry, "name") for entry in env])))
    return environments


def _env_name(env: _Env, _context: Context) -> Iterator[Problem]:
    for position, name in enumerate(env.names):
        faults = kubernetes.env_name(name)
        if faults:
            wrong = "; ".join(faults)
            path = (*env.path, position, "name")
            message = f'must be a valid name of an environment variable; got "{name}": {wrong}'
            yield invalid_value(path, name, wrong, message, field=f"{env.field}[{position}].name")


def _env_unique(env: _Env, _context: Context) -> Iterator[Problem]:
    repeated = duplicates(env.names)
    if repeated:
        message = f"sets a variable twice: {list_known(repeated)}"
        yield refusal(env.path, message, OperatorError(env.field, ErrorType.DUPLICATE, repeated))


def _spread(at: CliqueAt, _context: Context) -> Iterator[Problem]:
    spread = at.clique.pod_spec.get("topologySpreadConstraints")
    if isinstance(spread, list):
        message = "must not be set: Grove places the pods by topologyConstraint; remove the field"
        field = format_path(at.path("spec", "podSpec", "spec", "topologySpreadConstraints"))
        path = at.path("spec", "podSpec", "topologySpreadConstraints")
        yield invalid_value(path, [_as_typed(entry) for entry in spread], "must not be set", message, field=field)


def _as_typed(entry: Value) -> Value:
    """Return a topology spread constraint as Go prints it.

    The fields have the order of the Go type. Fields that Go always writes have at least their zero value.
    """
    if not isinstance(entry, dict):
        entry = {}
    present = {name: entry[name] for name in _SPREAD_FIELDS if entry.get(name) is not None}
    return {"maxSkew": 0, "topologyKey": "", "whenUnsatisfiable": "", **present}


def _node_name(at: CliqueAt, _context: Context) -> Iterator[Problem]:
    node = at.clique.pod_spec.get("nodeName")
    if isinstance(node, str) and node.strip():
        message = f'must not be set: the scheduler chooses the nodes of a gang; got "{node}"'
        field = format_path(at.path("spec", "podSpec", "spec", "nodeName"))
        yield invalid_value(at.path("spec", "podSpec", "nodeName"), node, "must not be set", message, field=field)


POD_SPEC = (
    Check(Rule("pod-topology-spread", "A new pod template has topologySpreadConstraints.", "spec/grove.md#r20"),
          _spread, create_only=True),
    Check(Rule("pod-node-name", "A new pod template sets nodeName.", "spec/grove.md#r21"),
          _node_name, create_only=True),
    Scope(_environments, (
        Check(Rule("env-name", "An environment variable has an invalid name.", "spec/grove.md#r22"), _env_name),
        Check(Rule("env-unique", "A container sets an environment variable twice.", "spec/grove.md#r23"), _env_unique),
    )),
)  # fmt: skip
"""Checks of the pod template of one clique."""


# Claims on devices that pods share: resourceClaimTemplates and resourceSharing. Source: spec/grove.md#4.4.


_CLAIM_TEMPLATES = (*TEMPLATE, "resourceClaimTemplates")
_SCOPES = ("AllReplicas", "PerReplica")


class _Sharing(Record):
    """A list `resourceSharing`. For each field of a filter, `children` has the names that the field may contain."""

    pcs: PodCliqueSet
    path: FieldPath
    entries: Sequence[Mapping[str, Value]]
    children: Mapping[str, Sequence[str]] = {}


class _Reference(Record):
    """An entry of a list `resourceSharing`. It refers to a claim template."""

    sharing: _Sharing
    at: int
    entry: Mapping[str, Value]

    def path(self, *steps: str | int) -> FieldPath:
        """Return the path of a field of the entry."""
        return (*self.sharing.path, self.at, *steps)

    def text(self, field: str) -> str:
        """Return the field if it is a string, otherwise ""."""
        value = self.entry.get(field)
        return value if isinstance(value, str) else ""


def _claim_templates(pcs: PodCliqueSet, _context: Context) -> Iterator[Problem]:
    for index, template in enumerate(pcs.claim_templates or ()):
        if not template.get("name"):
            yield required_value(
                (*_CLAIM_TEMPLATES, index, "name"), "template name is required", "must name the template"
            )
        part: Value = cast("Value", template)
        for key in ("templateSpec", "spec", "devices", "requests"):
            part = value_at(part, key)
        if not part:
            path = (*_CLAIM_TEMPLATES, index, "templateSpec", "spec", "devices", "requests")
            text = "at least one device request is required"
            yield required_value(path, text, "must have at least one device request; got none")


def _claim_templates_unique(pcs: PodCliqueSet, _context: Context) -> Iterator[Problem]:
    names = [str(template.get("name") or "") for template in pcs.claim_templates or ()]
    repeated = duplicates(names)
    if repeated:
        at = len(names) - 1 - names[::-1].index(repeated[0])
        error = OperatorError(f"{format_path(_CLAIM_TEMPLATES)}.name", ErrorType.DUPLICATE, repeated)
        message = f"two templates have the same name: {list_known(repeated)}"
        yield refusal((*_CLAIM_TEMPLATES, at, "name"), message, error)


def _set_sharing(pcs: PodCliqueSet, _context: Context) -> tuple[_Sharing, ...]:
    if not pcs.resource_sharing:
        return ()
    children = {
        "childCliqueNames": [clique.name for clique in pcs.cliques],
        "childScalingGroupNames": [group.name for group in pcs.groups],
    }
    return (_Sharing(pcs, (*TEMPLATE, "resourceSharing"), pcs.resource_sharing, children),)


def _clique_sharing(at: CliqueAt, _context: Context) -> tuple[_Sharing, ...]:
    entries = at.clique.resource_sharing
    return (_Sharing(at.pcs, at.path("resourceSharing"), entries),) if entries else ()


def _group_sharing(at: GroupAt, _context: Context) -> tuple[_Sharing, ...]:
    entries = at.group.resource_sharing
    if not entries:
        return ()
    return (_Sharing(at.pcs, at.path("resourceSharing"), entries, {"childCliqueNames": at.group.clique_names}),)


def _references(sharing: _Sharing, _context: Context) -> list[_Reference]:
    return [_Reference(sharing, index, entry) for index, entry in enumerate(sharing.entries)]


def _reference_name(reference: _Reference, _context: Context) -> Iterator[Problem]:
    name, path = reference.text("name"), reference.path("name")
    before = [entry.get("name") for entry in reference.sharing.entries[: reference.at]]
    if not name:
        yield required_value(path, "reference name is required", "must name a resourceClaimTemplate")
    elif name in before:
        message = f'duplicate reference to "{name}"'
        yield refusal(path, message, OperatorError(format_path(path), ErrorType.DUPLICATE, name))


def _reference_namespace(reference: _Reference, _context: Context) -> Iterator[Problem]:
    namespace, name = reference.text("namespace"), reference.text("name")
    templates = reference.sharing.pcs.claim_templates or ()
    if namespace and name and any(template.get("name") == name for template in templates):
        text = "namespace must be empty when name matches an internal resourceClaimTemplate"
        message = f'must not be set: "{name}" is a template of this workload; got "{namespace}"'
        yield invalid_value(reference.path("namespace"), namespace, text, message)


def _scope(reference: _Reference, _context: Context) -> Iterator[Problem]:
    scope = reference.text("scope")
    if scope not in _SCOPES:
        path = reference.path("scope")
        supported = ", ".join([go_quote(name) for name in _SCOPES])
        error = OperatorError(
            format_path(path), ErrorType.NOT_SUPPORTED, TypedText(scope), f"supported values: {supported}"
        )
        yield refusal(path, f'must be one of {list_known(_SCOPES)}; got "{scope}"', error)


def _filters(sharing: _Sharing, _context: Context) -> list[_Reference]:
    # The operator checks the filters of a list after all its entries.
    return [
        reference
        for reference in _references(sharing, _context)
        if sharing.children and reference.entry.get("filter") is not None
    ]


def _filter(reference: _Reference, _context: Context) -> Iterator[Problem]:
    chosen, children = reference.entry.get("filter"), reference.sharing.children
    names = {field: value_at(chosen, field) for field in children}
    if not any(names.values()):
        fields = " or ".join(children)
        text = f"filter must specify at least one {fields} entry"
        yield required_value(
            reference.path("filter"), text, f"must name at least one child in {fields}; remove the filter to select all"
        )
    for field, listed in names.items():
        for index, name in enumerate(entries(listed)):
            known = children[field]
            if isinstance(name, str) and name not in known:
                path = reference.path("filter", field, index)
                suggestion = did_you_mean(name, known)
                message = f'must be one of {list_known(known)}; got "{name}"{suggestion}'
                yield refusal(path, message, OperatorError(format_path(path), ErrorType.NOT_FOUND, name))


_SHARING_SOURCE = "spec/grove.md#resource-sharing"

_SHARING = (
    Scope(_references, (
        Check(Rule("resource-sharing-name",
                   "A resourceSharing entry names no template, or two entries name the same one.",
                   _SHARING_SOURCE), _reference_name),
        Check(Rule("resource-sharing-namespace",
                   "A resourceSharing entry sets a namespace, but its template belongs to the workload.",
                   _SHARING_SOURCE),
              _reference_namespace),
        Check(Rule("resource-sharing-scope",
                   "scope of a resourceSharing entry is neither AllReplicas nor PerReplica.", _SHARING_SOURCE), _scope),
    )),
    Scope(_filters, (
        Check(Rule("resource-sharing-filter",
                   "The filter of a resourceSharing entry names no clique or group, or an unknown one.",
                   _SHARING_SOURCE), _filter),
    )),
)  # fmt: skip

SET_SHARING = (
    Check(Rule("claim-template", "A resourceClaimTemplate has no name, or requests no device.", _SHARING_SOURCE),
          _claim_templates, since=ALPHA_8),
    Check(Rule("claim-templates-unique", "Two resourceClaimTemplates have the same name.", _SHARING_SOURCE),
          _claim_templates_unique, since=ALPHA_8),
    Scope(_set_sharing, _SHARING, since=ALPHA_8),
)  # fmt: skip
"""Checks of the claims that the set shares. They run before the checks of the cliques."""

CLIQUE_SHARING = (Scope(_clique_sharing, _SHARING, since=ALPHA_8),)
"""Checks of the claims that a clique shares. They run before the checks of its spec."""

GROUP_SHARING = (Scope(_group_sharing, _SHARING, since=ALPHA_8),)
"""Checks of the claims that a scaling group shares. They run after the checks of its numbers."""


# The checks below are about the scheduler of the pods, and about its demands on the workload. Source:
# spec/grove.md#r29, #4.4.

_QUEUE = Rule("queue", "A workload for KAI names no queue, or several.", "spec/grove.md#kai-backend")
_ENABLED = Rule(
    "scheduler-enabled",
    "The operator's configuration has no profile for the scheduler of a workload.",
    "spec/grove.md#r29",
)
_SCHEDULER_FIELD = "spec.template.cliques.spec.podSpec.schedulerName"
_WHOLE_SPEC = Unquoted("{…}")
"""Replaces the whole spec in a text. The operator prints the spec as the value."""

_VOLCANO_DEFAULT = "default"
UNRELEASED = "GREP-704, in no release of Grove"
"""The end of each message about Grove's future backend for Kueue."""

_LPX_UNSUPPORTED = (
    "lpx-scheduler does not support Grove topology constraints; placement topology must be expressed through the LPX "
    "workload contract"
)


def _scheduler_path(index: int) -> FieldPath:
    return (*TEMPLATE, "cliques", index, "spec", "podSpec", "schedulerName")


def _scheduler_names(pcs: PodCliqueSet, context: Context) -> list[str]:
    default = context.schedulers.default if context.schedulers is not None else ""
    return [clique.scheduler or default for clique in pcs.cliques]


def _check_one_scheduler(pcs: PodCliqueSet, context: Context) -> Iterator[Problem]:
    names = _scheduler_names(pcs, context)
    distinct = list(dict.fromkeys(names))
    if len(distinct) > 1:
        at = names.index(distinct[1])
        first = pcs.cliques[0].name
        message = f'all cliques need the same scheduler, but "{first}" has "{names[0]}"; got "{distinct[1]}"'
        text = "the schedulerName for all pods have to be the same"
        yield invalid_value(_scheduler_path(at), ", ".join(distinct), text, message, field=_SCHEDULER_FIELD)


def _not_enabled(pcs: PodCliqueSet, context: Context) -> Iterator[Problem]:
    known = context.schedulers.names if context.schedulers is not None else ()
    for name in _scheduler_names(pcs, context)[:1]:
        if name not in known:
            text = (
                "schedulerName must be an enabled scheduler backend; this scheduler is not enabled in "
                "OperatorConfiguration"
            )
            message = (
                f'Grove is not configured for the scheduler "{name}"; known: {list_known(known)}. Use one of these, or '
                f"add a profile{did_you_mean(name, known)}"
            )
            yield invalid_value(_scheduler_path(0), name, text, message, field=_SCHEDULER_FIELD)


def _profile(words: str) -> Callable[[PodCliqueSet, Context], Iterator[Problem]]:
    """Return a check that the scheduler of the first clique has a profile. `words` end the operator's text."""

    def problems(pcs: PodCliqueSet, context: Context) -> Iterator[Problem]:
        known = context.schedulers.names if context.schedulers is not None else ()
        name = pcs.cliques[0].scheduler if pcs.cliques else ""
        if name and name not in known:
            message = f'Grove is not configured for the scheduler "{name}"; known: {list_known(known)}'
            yield _refuse_spec(_scheduler_path(0), f"schedulerName {go_quote(name)} {words}", message)

    return problems


def scheduler_of(pcs: PodCliqueSet, context: Context) -> str:
    """Return the scheduler of the first clique. If it has no profile, return "": another rule reports this."""
    schedulers = context.schedulers
    if schedulers is None:
        return ""
    name = (pcs.cliques[0].scheduler if pcs.cliques else "") or schedulers.default
    return name if name in schedulers.names else ""


def _queue(pcs: PodCliqueSet, context: Context) -> Iterator[Problem]:
    if scheduler_of(pcs, context) == KAI_PROFILE:
        yield from _one_queue(pcs)


def _queue_of_lpx(pcs: PodCliqueSet, context: Context) -> Iterator[Problem]:
    """Yield problems of the queues of a workload for LPX, because KAI schedules its cliques without LPUs.

    A workload with a constraint is skipped, because LPX refuses it.
    """
    known = context.schedulers.names if context.schedulers is not None else ()
    if scheduler_of(pcs, context) != LPX or KAI_PROFILE not in known or pcs.is_constrained:
        return
    if not all(requests_lpu(clique) for clique in pcs.cliques):
        yield from _one_queue(pcs)


def _one_queue(pcs: PodCliqueSet) -> Iterator[Problem]:
    own = queue_of(pcs.labels, pcs.annotations)
    named = [(index, queue_of(clique.labels, clique.annotations)) for index, clique in enumerate(pcs.cliques)]
    named = [(index, queue) for index, queue in named if queue]
    queues = sorted({queue for _, queue in named})
    who = f"{pcs.namespace}/{pcs.name}"
    if own:
        for index, queue in named:
            if queue != own:
                clique = pcs.cliques[index].name
                text = (
                    f"KAI queue on PodCliqueSet {who} is {go_quote(own)} but PodClique template {go_quote(clique)} "
                    f"resolves to {go_quote(queue)}"
                )
                message = f'the clique is in queue "{queue}", but the workload is in "{own}"; remove {KAI_QUEUE} here'
                yield _refuse_spec((*TEMPLATE, "cliques", index), text, message)
                return
    elif not queues:
        text = f"no KAI queue is configured on PodCliqueSet {who} or its PodClique templates"
        message = f"the workload names no queue of the KAI Scheduler; add the label {KAI_QUEUE}"
        yield _refuse_spec(("metadata", "labels"), text, message)
    elif len(queues) > 1:
        text = f"conflicting KAI queues on PodCliqueSet {who} PodClique templates: [{' '.join(queues)}]"
        message = f"cliques are in different queues: {list_known(queues)}; name one queue in the workload's own labels"
        other = next(index for index, queue in named if queue != named[0][1])
        yield _refuse_spec((*TEMPLATE, "cliques", other), text, message)


def _constraints(pcs: PodCliqueSet, context: Context) -> Iterator[Problem]:
    scheduler = scheduler_of(pcs, context)
    if scheduler not in (LPX, VOLCANO):
        return
    place = next(iter(constraints_at(pcs)), None)
    if place is not None:
        text = _LPX_UNSUPPORTED
        if scheduler == VOLCANO:
            owner = place.kind if place.name is None else f"{place.kind} {go_quote(place.name)}"
            text = f"volcano scheduler backend does not support topologyConstraint on {owner}"
        yield _refuse_spec(place.path, text, f"must not be set: {scheduler} has no topologies; remove the constraint")


def _volcano_queue(pcs: PodCliqueSet, context: Context) -> Iterator[Problem]:
    # If there is a constraint, the operator reports it and does not check queues.
    if scheduler_of(pcs, context) != VOLCANO or pcs.is_constrained:
        return
    own, path = pcs.annotations.get(VOLCANO_QUEUE, "").strip(), ("metadata", "annotations", VOLCANO_QUEUE)
    if own and dns_subdomain(own):
        reasons = "; ".join(dns_subdomain(own))
        message = f'must be the name of a queue; got "{own}": {reasons}'
        yield _refuse_spec(path, f"metadata.annotations[{VOLCANO_QUEUE}]: {reasons}", message)
        return
    faults = list(_volcano_cliques(pcs, own))
    texts = [f"{format_path(path[:-1])}[{VOLCANO_QUEUE}]: {text}" for path, text, _ in faults]
    whole = texts[0] if len(texts) == 1 else f"[{', '.join(dict.fromkeys(texts))}]"
    for path, _, message in faults:
        # The operator has one error for all cliques.
        yield _refuse_spec(path, whole, message)


def _volcano_cliques(pcs: PodCliqueSet, own: str) -> Iterator[tuple[FieldPath, str, str]]:
    """Yield problems of the cliques' queues: the path, a part of the operator's text, and packwise's message."""
    first = None
    for index, clique in enumerate(pcs.cliques):
        path = (*TEMPLATE, "cliques", index, "annotations", VOLCANO_QUEUE)
        queue = clique.annotations.get(VOLCANO_QUEUE, "").strip()
        if queue and dns_subdomain(queue):
            reasons = "; ".join(dns_subdomain(queue))
            yield path, reasons, f'must be the name of a queue; got "{queue}": {reasons}'
        if own and queue and own != queue:
            text = (
                f"conflicting volcano queue annotations: PodCliqueSet has {go_quote(own)}, PodClique has "
                f"{go_quote(queue)}"
            )
            yield path, text, f'must be "{own}", like the workload; got "{queue}"; remove the annotation here'
            continue
        queue = own or queue or _VOLCANO_DEFAULT
        first = first or queue
        if queue != first:
            text = "all PodCliques in a PodCliqueSet using volcano scheduler must resolve to the same queue"
            message = (
                f'must be "{first}", like clique "{pcs.cliques[0].name}"; got "{queue}"; name one queue in the '
                "workload's own annotations"
            )
            yield path, text, message


def _kueue(pcs: PodCliqueSet, context: Context) -> Iterator[Problem]:
    """Yield the reasons why Grove's future backend for Kueue can make no Workload. No release has texts for them."""
    if scheduler_of(pcs, context) != KUEUE:
        return
    # The import is lazy, because few workloads are for Kueue.
    from packwise.objects.workload_kinds import QUEUE_NAME

    if not pcs.labels.get(QUEUE_NAME):
        message = f"the workload names no LocalQueue of Kueue; add the label {QUEUE_NAME} ({UNRELEASED})"
        yield Problem(("metadata", "labels"), message)
    grouped, first = pcs.grouped_cliques(), None
    for index, clique in enumerate(pcs.cliques):
        path = (*TEMPLATE, "cliques", index, "spec", "minAvailable")
        if not 0 < clique.min_available < clique.replicas:
            continue
        wanted = f"must be {clique.replicas}, like replicas; got {clique.min_available}"
        if clique.name in grouped:
            yield Problem(path, f"{wanted}: Kueue admits all pods of a grouped clique or none ({UNRELEASED})")
        elif first is not None:
            why = f'only one pod set of a gang may start with fewer pods, and "{first}" already does'
            yield Problem(path, f"{wanted}: {why} ({UNRELEASED})")
        else:
            first = clique.name


def _refuse_spec(path: FieldPath, text: str, message: str) -> Problem:
    return refusal(path, message, OperatorError("spec", ErrorType.INVALID, _WHOLE_SPEC, text))


SCHEDULER_NAMES = (
    Check(SAME_SCHEDULER, _check_one_scheduler, since=ALPHA_8),
    Check(_ENABLED, _not_enabled, since=ALPHA_8),
)
"""Checks of the schedulers of all cliques together."""

_UNSUPPORTED = _profile("is not a supported backend")
_DISABLED = _profile("is not enabled in OperatorConfiguration")

BACKEND = (
    Check(_ENABLED, _UNSUPPORTED, since=ALPHA_9, until=ALPHA_10),
    Check(_ENABLED, _DISABLED, since=ALPHA_10),
    Check(_QUEUE, _queue, since=UPSTREAM),
    Check(Rule("scheduler-without-topology",
               "A workload has a constraint, but its scheduler does not support topologies.",
               "spec/grove-releases.md#2.3.3"), _constraints, since=ALPHA_10),
    Check(Rule("volcano-queue", "A workload for Volcano names two queues, or an invalid one.",
               "spec/grove-releases.md#2.3.3"),
          _volcano_queue, since=ALPHA_10),
    Check(_QUEUE, _queue_of_lpx, since=ALPHA_14),
    Check(Rule("kueue-backend", "Grove's future backend for Kueue would refuse a workload.",
               "spec/kueue.md#10.3"), _kueue,
          since=ALPHA_8),
)  # fmt: skip
"""The demands of schedulers on their workloads. These checks run after all other checks of the whole object.

If the operator makes the PodGroups, it requires a queue of KAI. This includes workloads for LPX with PodGroups of KAI.
"""
