"""Checks that no operator makes, but that users need before they merge a change.

Source: spec/gitops.md#3, spec/kai.md, spec/grove.md#2, #7, spec/packwise.md#4.
"""

from __future__ import annotations

import re

from krmfn.hints import TYPE_CHECKING, Record
from krmfn.result import Severity
from krmfn.yamltext.reader import CORE
from packwise.findings import Problem, Rule
from packwise.frontends.grove.podcliqueset import KUEUE, TEMPLATE
from packwise.frontends.grove.rules.book import Check, Context, prepare, run
from packwise.frontends.grove.rules.pods import UNRELEASED, scheduler_of
from packwise.keys import KAI_QUEUE
from packwise.lenient import entries, mapping, value_at
from packwise.settings.topologyrender import KAI_PROFILE

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from typing import TypeAlias

    from krmfn.fieldpath import FieldPath
    from krmfn.kubeobject import KubeObject
    from krmfn.value import Value
    from packwise.frontends.grove.podcliqueset import PodCliqueSet, TopologyConstraint

TOOL_DEPENDENT = {
    form: truth
    for truth, words in (("true", ("y", "yes", "on")), ("false", ("n", "no", "off")))
    for word in words
    for form in (word, word.capitalize(), word.upper())
}
"""Unquoted words that kustomize and kpt read as strings, but kubectl as booleans, each with the boolean."""

_WORDS = frozenset(TOOL_DEPENDENT)

# The pattern also matches texts that are none of these words. It does not match all quoted texts.
_MAY_BE_DEPENDENT = r"[:,\[-]\s*[yYnNoO](?:[eEoOnNfF][sSfF]?)?(?=[\s,\]}]|\Z)"


Pods: TypeAlias = "Sequence[tuple[FieldPath, Mapping[str, Value]]]"
"""The pod templates of a workload as its manifest has them, each with its path."""


def pod_specs(workload: KubeObject) -> Pods:
    """Return the pod templates of the cliques."""
    specs = [value_at(clique, "spec", "podSpec") for clique in entries(workload.get((*TEMPLATE, "cliques")))]
    return [
        ((*TEMPLATE, "cliques", index, "spec", "podSpec"), spec)
        for index, spec in enumerate(specs)
        if isinstance(spec, dict)
    ]


def tool_dependent_words(workload: KubeObject) -> list[FieldPath]:
    """Return the paths of the values that are unquoted words of `TOOL_DEPENDENT`."""
    # These fast checks end the search for most workloads: few have such a word, and most of them have it in quotes.
    if not _has_word(workload.value) or not re.search(_MAY_BE_DEPENDENT, workload.source.text):
        return []
    paths = [path for path, word in _texts(workload.value, ()) if word in TOOL_DEPENDENT]
    if not paths:
        return []
    from krmfn.yamltext.places import start_offsets

    source = workload.source
    at = start_offsets(source.text, [(*source.root, *path) for path in paths])
    places = zip(paths, at, strict=True)
    return [path for path, start in places if start is not None and source.text[start] not in "\"'|>"]


_NUMBERS = frozenset({int, float})


def unquoted_quantities(pods: Pods) -> Iterator[tuple[FieldPath, int | float]]:
    """Yield the path and the value of each resource quantity in the pod templates that is a number."""
    for path, pod_spec in pods:
        overhead = pod_spec.get("overhead")
        for name, amount in mapping(overhead).items():
            if type(amount) is int or type(amount) is float:
                yield (*path, "overhead", name), amount
        for kind in ("containers", "initContainers"):
            for index, container in enumerate(entries(pod_spec.get(kind))):
                resources = value_at(container, "resources")
                if not isinstance(resources, dict):
                    continue
                for key in ("limits", "requests"):
                    amounts = resources.get(key)
                    if not isinstance(amounts, dict) or _NUMBERS.isdisjoint(map(type, amounts.values())):
                        # Usually, all quantities are strings.
                        continue
                    for name, amount in amounts.items():
                        if type(amount) is int or type(amount) is float:
                            yield (*path, kind, index, "resources", key, name), amount


def _has_word(value: Mapping[str, Value]) -> bool:
    """Return True if a text within `value` is a word of `TOOL_DEPENDENT`."""
    has_word = None if CORE is None else CORE.has_text(value, _WORDS)
    if has_word is not None:
        return has_word
    words = _WORDS
    left: list[Mapping[str, Value] | Sequence[Value]] = [value]
    for part in left:
        for entry in part.values() if isinstance(part, dict) else part:
            if type(entry) is str:
                if entry in words:
                    return True
            elif isinstance(entry, dict) or isinstance(entry, list):  # noqa: SIM101 (a tuple of types costs more)
                left.append(entry)
    return False


def _texts(value: Value, path: FieldPath) -> Iterator[tuple[FieldPath, str]]:
    parts = value.items() if isinstance(value, dict) else enumerate(entries(value))
    for step, entry in parts:
        if isinstance(entry, str):
            yield (*path, step), entry
        elif isinstance(entry, (dict, list)):
            yield from _texts(entry, (*path, step))


class _Subject(Record):
    """A workload in its manifest, its pod templates there, and `pcs`, the workload with its defaults."""

    workload: KubeObject
    pods: Pods
    pcs: PodCliqueSet


def advise(workload: KubeObject, pods: Pods, pcs: PodCliqueSet, context: Context) -> list[tuple[Rule, Problem]]:
    """Return the warnings about a workload that can be decoded.

    `pods` are its pod templates, and `pcs` is the workload with its defaults.
    """
    return run(_STEPS, _Subject(workload, pods, pcs), context)


def _restart_policy(at: _Subject, _context: Context) -> Iterator[Problem]:
    for path, pod_spec in at.pods:
        policy = pod_spec.get("restartPolicy")
        if isinstance(policy, str) and policy not in ("", "Always"):
            message = f'"{policy}" has no effect: the operator sets "Always"; remove the field'
            yield Problem((*path, "restartPolicy"), message)


def _namespace(at: _Subject, _context: Context) -> Iterator[Problem]:
    if not at.workload.get(("metadata", "namespace")):
        message = 'must be set: packwise renders the workload into "default", and Flux refuses it'
        yield Problem(("metadata", "namespace"), message)


def _queue(at: _Subject, context: Context) -> Iterator[Problem]:
    pcs = at.pcs
    # If the operator creates the PodGroups, its webhook already requires a queue.
    if context.revision.podgroups_by_operator or KAI_QUEUE in pcs.labels or KAI_QUEUE in pcs.annotations:
        return
    default = context.schedulers.default if context.schedulers is not None else None
    for path, pod_spec in at.pods:
        clique = pcs.cliques[int(path[3])]
        if (
            (pod_spec.get("schedulerName") or default) == KAI_PROFILE
            and KAI_QUEUE not in clique.labels
            and KAI_QUEUE not in clique.annotations
        ):
            message = f"the workload names no queue of the KAI Scheduler; add the label {KAI_QUEUE}"
            yield Problem((*path, "schedulerName"), message)
            return


def _no_cliques(at: _Subject, _context: Context) -> Iterator[Problem]:
    for index, group in enumerate(at.pcs.groups):
        if not group.clique_names:
            path = (*TEMPLATE, "podCliqueScalingGroups", index, "cliqueNames")
            yield Problem(path, "the group names no cliques and has no pods; name cliques, or remove the group")


def _autoscaled_groups(at: _Subject, _context: Context) -> Iterator[Problem]:
    for index, group in enumerate(at.pcs.groups):
        scaling = group.auto_scaling
        if scaling and scaling.max_replicas > group.min_available:
            least = group.replicas if scaling.min_replicas is None else scaling.min_replicas
            message = (
                f"an autoscaler sets {least} to {scaling.max_replicas} replicas, but packwise renders PodGangs for "
                f"{group.replicas}. Add the live PodCliqueScalingGroup with its current replicas to the input"
            )
            yield Problem((*TEMPLATE, "podCliqueScalingGroups", index, "scaleConfig"), message)


def _kueue_groups(at: _Subject, context: Context) -> Iterator[Problem]:
    if context.schedulers is None or scheduler_of(at.pcs, context) != KUEUE:
        return
    for index, group in enumerate(at.pcs.groups):
        if group.min_available < group.replicas:
            message = (
                f"Grove's backend for Kueue assumes that all {group.replicas} replicas are needed; got minAvailable "
                f"{group.min_available} ({UNRELEASED})"
            )
            yield Problem((*TEMPLATE, "podCliqueScalingGroups", index, "minAvailable"), message)


def _redundant_constraints(at: _Subject, _context: Context) -> Iterator[Problem]:
    pcs = at.pcs
    groups = [(index, group) for index, group in enumerate(pcs.groups) if group.topology is not None]
    cliques = [(index, clique) for index, clique in enumerate(pcs.cliques) if clique.topology is not None]
    grouped = pcs.grouped_cliques() if cliques else frozenset[str]()
    for index, group in groups:
        if _is_same(pcs.topology, group.topology):
            yield _repetition(group.topology, ("podCliqueScalingGroups", index), "the whole workload")
    for index, clique in cliques:
        if clique.name not in grouped and _is_same(pcs.topology, clique.topology):
            yield _repetition(clique.topology, ("cliques", index), "the whole workload")
    for _, group in groups if grouped else ():
        for index, clique in cliques:
            if clique.name in group.clique_names and _is_same(group.topology, clique.topology):
                yield _repetition(clique.topology, ("cliques", index), f'group "{group.name}"')


def _is_same(parent: TopologyConstraint | None, child: TopologyConstraint | None) -> bool:
    """Return True if both constraints exist, have a domain, and request the same domains."""
    if parent is None or child is None or parent.required != child.required or parent.preferred != child.preferred:
        return False
    return bool(parent.domains)


def _repetition(constraint: TopologyConstraint | None, steps: FieldPath, owner: str) -> Problem:
    """Return the problem of the constraint at `steps` that repeats the domains of the constraint of `owner`."""
    domains = " and ".join([f'"{domain}"' for domain in constraint.domains]) if constraint is not None else ""
    field = "packDomain" if constraint is None or constraint.pack is None else "pack"
    message = f"the constraint has no effect, because {owner} already requests {domains}; narrow it, or remove it"
    return Problem((*TEMPLATE, *steps, "topologyConstraint", field), message)


def _quantities(at: _Subject, _context: Context) -> Iterator[Problem]:
    for path, quantity in unquoted_quantities(at.pods):
        message = (
            f'must be the string "{quantity}": the operator stores a string, and Argo CD then always shows a difference'
        )
        yield Problem(path, message, proposed=str(quantity))


def _words(at: _Subject, _context: Context) -> Iterator[Problem]:
    for path in tool_dependent_words(at.workload):
        word = str(at.workload.get(path))
        message = f"must be in quotes: kustomize and kpt read {word} as a string, kubectl as {TOOL_DEPENDENT[word]}"
        yield Problem(path, message, proposed=f'"{word}"')


ADVICE: tuple[Check[_Subject], ...] = (
    Check(Rule("namespace-missing", "A workload has no namespace.",
               "spec/gitops.md#2.4", Severity.WARNING), _namespace),
    Check(Rule("queue-missing", "A workload for KAI names no queue.",
               "spec/kai.md#4.8", Severity.WARNING), _queue),
    Check(Rule("pod-restart-policy", "restartPolicy is set to another value than Always.",
               "spec/grove.md#d2", Severity.WARNING),
          _restart_policy),
    Check(Rule("group-without-cliques", "A scaling group has no cliques.", "spec/grove.md#4.2.1", Severity.WARNING),
          _no_cliques),
    Check(Rule("autoscaler-moves-gangs", "An autoscaler changes the number of PodGangs.",
               "spec/grove.md#7.5", Severity.WARNING), _autoscaled_groups),
    Check(Rule("kueue-backend-group", "A scaling group for Kueue needs fewer replicas than it has.",
               "spec/kueue.md#10.4", Severity.WARNING), _kueue_groups),
    Check(Rule("constraint-redundant", "A constraint repeats the constraint of its parent.",
               "spec/grove.md#r45", Severity.INFO),
          _redundant_constraints),
    Check(Rule("quantity-unquoted", "A resource quantity is not a string.", "spec/gitops.md#3.6", Severity.WARNING),
          _quantities),
    Check(Rule("scalar-tool-dependent", "An unquoted word has different values in different tools.",
               "spec/packwise.md#4.1", Severity.WARNING), _words),
)  # fmt: skip
"""The checks of a workload, in the order in which their findings are reported."""

_STEPS = prepare(ADVICE)

ABOUT_APPLIED_OBJECTS = frozenset({"autoscaler-moves-gangs", "namespace-missing"})
"""The names of rules that only report an info if no generated object is applied.

The operator then creates the objects from the live state of the workload.
"""
