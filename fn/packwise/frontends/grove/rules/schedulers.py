"""The scheduler of a workload's pods and its requirements for the workload. Source: spec/grove.md#r29, #4.4."""

from __future__ import annotations

from krmfn.fieldpath import format_path
from krmfn.hints import TYPE_CHECKING
from packwise.findings import Problem, Rule
from packwise.frontends.grove.podcliqueset import (
    KUEUE,
    LPX,
    TEMPLATE,
    VOLCANO,
    VOLCANO_QUEUE,
    asks_for_lpu,
    queue_of,
)
from packwise.frontends.grove.rules.book import Check, Context, invalid
from packwise.frontends.grove.rules.cliques import SAME_SCHEDULER
from packwise.frontends.grove.rules.topology import constraints_at
from packwise.keys import KAI_QUEUE
from packwise.kubernetes import ErrorType, OperatorError, Unquoted, dns_subdomain, go_quote, refusal
from packwise.revisions.grove import ALPHA_8, ALPHA_9, ALPHA_10, ALPHA_14, UPSTREAM
from packwise.settings.topologyrender import KAI_PROFILE
from packwise.wording import closest, list_known

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from krmfn.fieldpath import FieldPath
    from packwise.frontends.grove.podcliqueset import PodCliqueSet

_QUEUE = Rule("queue", "A workload for KAI names several queues.", "spec/grove.md#kai-backend")
_ENABLED = Rule("scheduler-enabled", "The scheduler of a workload has no profile.", "spec/grove.md#r29")
_FIELD = "spec.template.cliques.spec.podSpec.schedulerName"
_SPEC = Unquoted("{…}")
"""Stands for the whole spec, which the operator prints as the value."""

_VOLCANO_DEFAULT = "default"
UNRELEASED = "GREP-704, in no release of Grove"
"""The end of each message about Grove's coming backend for Kueue."""

_LPX_UNSUPPORTED = (
    "lpx-scheduler does not support Grove topology constraints; placement topology must be expressed through the LPX "
    "workload contract"
)


def _path(index: int) -> FieldPath:
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
        yield invalid(_path(at), ", ".join(distinct), text, message, field=_FIELD)


def _not_enabled(pcs: PodCliqueSet, context: Context) -> Iterator[Problem]:
    known = context.schedulers.names if context.schedulers is not None else ()
    for name in _scheduler_names(pcs, context)[:1]:
        if name not in known:
            text = (
                "schedulerName must be an enabled scheduler backend; this scheduler is not enabled in "
                "OperatorConfiguration"
            )
            message = (
                f'Grove is not configured for the scheduler "{name}"; known: {list_known(known)}'
                f"{closest(name, known)}. Use one of these, or add a profile"
            )
            yield invalid(_path(0), name, text, message, field=_FIELD)


def _profile(words: str) -> Callable[[PodCliqueSet, Context], Iterator[Problem]]:
    """Check that the first clique's scheduler has a profile. `words` is the operator's refusal."""

    def problems(pcs: PodCliqueSet, context: Context) -> Iterator[Problem]:
        known = context.schedulers.names if context.schedulers is not None else ()
        name = pcs.cliques[0].scheduler if pcs.cliques else ""
        if name and name not in known:
            message = f'Grove is not configured for the scheduler "{name}"; known: {list_known(known)}'
            yield _refusal(_path(0), f"schedulerName {go_quote(name)} {words}", message)

    return problems


def scheduler_of(pcs: PodCliqueSet, context: Context) -> str:
    """Return the first clique's scheduler, or "" if it has no profile: another rule refuses that."""
    schedulers = context.schedulers
    if schedulers is None:
        return ""
    name = (pcs.cliques[0].scheduler if pcs.cliques else "") or schedulers.default
    return name if name in schedulers.names else ""


def _queue(pcs: PodCliqueSet, context: Context) -> Iterator[Problem]:
    if scheduler_of(pcs, context) == KAI_PROFILE:
        yield from _one_queue(pcs)


def _queue_beside_lpx(pcs: PodCliqueSet, context: Context) -> Iterator[Problem]:
    """Check the queues of LPX workloads. KAI schedules their cliques without LPUs. Skip workloads that LPX refuses
    anyway.
    """
    known = context.schedulers.names if context.schedulers is not None else ()
    if scheduler_of(pcs, context) != LPX or KAI_PROFILE not in known or pcs.is_constrained:
        return
    if not all(asks_for_lpu(clique) for clique in pcs.cliques):
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
                yield _refusal((*TEMPLATE, "cliques", index), text, message)
                return
    elif not queues:
        text = f"no KAI queue is configured on PodCliqueSet {who} or its PodClique templates"
        message = f"the workload names no queue of the KAI Scheduler; add the label {KAI_QUEUE}"
        yield _refusal(("metadata", "labels"), text, message)
    elif len(queues) > 1:
        text = f"conflicting KAI queues on PodCliqueSet {who} PodClique templates: [{' '.join(queues)}]"
        message = f"cliques are in different queues: {list_known(queues)}; name one queue in the workload's own labels"
        other = next(index for index, queue in named if queue != named[0][1])
        yield _refusal((*TEMPLATE, "cliques", other), text, message)


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
        yield _refusal(place.path, text, f"must not be set: {scheduler} has no topologies; remove the constraint")


def _volcano_queue(pcs: PodCliqueSet, context: Context) -> Iterator[Problem]:
    # The operator checks only the first constraint.
    if scheduler_of(pcs, context) != VOLCANO or pcs.is_constrained:
        return
    own, path = pcs.annotations.get(VOLCANO_QUEUE, "").strip(), ("metadata", "annotations", VOLCANO_QUEUE)
    if own and dns_subdomain(own):
        reasons = "; ".join(dns_subdomain(own))
        message = f'must be the name of a queue; got "{own}": {reasons}'
        yield _refusal(path, f"metadata.annotations[{VOLCANO_QUEUE}]: {reasons}", message)
        return
    faults = list(_volcano_cliques(pcs, own))
    texts = [f"{format_path(path[:-1])}[{VOLCANO_QUEUE}]: {text}" for path, text, _ in faults]
    whole = texts[0] if len(texts) == 1 else f"[{', '.join(dict.fromkeys(texts))}]"
    for path, _, message in faults:
        # The operator has one error for all of them.
        yield _refusal(path, whole, message)


def _volcano_cliques(pcs: PodCliqueSet, own: str) -> Iterator[tuple[FieldPath, str, str]]:
    """Yield problems of the cliques' queues: the path, the operator's words and packwise's message."""
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
    """Check what Grove's coming backend for Kueue can make a Workload of. No release has texts for it."""
    if scheduler_of(pcs, context) != KUEUE:
        return
    # Few workloads are for Kueue.
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
            why = f'Kueue allows fewer pods in one pod set of a gang, and "{first}" is that one'
            yield Problem(path, f"{wanted}: {why} ({UNRELEASED})")
        else:
            first = clique.name


def _refusal(path: FieldPath, text: str, message: str) -> Problem:
    return refusal(path, message, OperatorError("spec", ErrorType.INVALID, _SPEC, text))


SCHEDULER_NAMES = (
    Check(SAME_SCHEDULER, _check_one_scheduler, since=ALPHA_8),
    Check(_ENABLED, _not_enabled, since=ALPHA_8),
)
"""Rules of all cliques together."""

_UNSUPPORTED = _profile("is not a supported backend")
_DISABLED = _profile("is not enabled in OperatorConfiguration")

BACKEND = (
    Check(_ENABLED, _UNSUPPORTED, since=ALPHA_9, until=ALPHA_10),
    Check(_ENABLED, _DISABLED, since=ALPHA_10),
    Check(_QUEUE, _queue, since=UPSTREAM),
    Check(Rule("scheduler-without-topology", "A workload has a constraint, but its scheduler has no topologies.",
               "spec/grove-releases.md#2.3.3"), _constraints, since=ALPHA_10),
    Check(Rule("volcano-queue", "A workload for Volcano names two queues, or an empty one.",
               "spec/grove-releases.md#2.3.3"),
          _volcano_queue, since=ALPHA_10),
    Check(_QUEUE, _queue_beside_lpx, since=ALPHA_14),
    Check(Rule("kueue-backend", "Grove's future backend for Kueue refuses a workload.", "spec/kueue.md#10.3"), _kueue,
          since=ALPHA_8),
)  # fmt: skip
"""The rules of the schedulers for their workloads, after all other whole-object rules. KAI's rule requires a queue if
the operator makes its PodGroups, including PodGroups of LPX workloads.
"""
