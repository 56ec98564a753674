"""How a workload is written where it matters: scalars that one tool reads or writes otherwise than another.

Source: spec/packwise.md#4, spec/gitops.md#3.
"""

from __future__ import annotations

import re

from krmfn.hints import TYPE_CHECKING
from packwise.frontends.grove.rules.check import TEMPLATE

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from krmfn.fieldpath import FieldPath
    from krmfn.kubeobject import KubeObject
    from krmfn.value import Value

__all__ = ["TOOL_DEPENDENT", "pod_specs", "tool_dependent_words", "unquoted_quantities"]

TOOL_DEPENDENT = {
    form: truth
    for truth, words in (("true", ("y", "yes", "on")), ("false", ("n", "no", "off")))
    for word in words
    for form in (word, word.capitalize(), word.upper())
}
"""Words that kustomize and kpt read as strings and kubectl as booleans, and which boolean that is."""

# It finds more than those words, and fewer than there are in quotes.
_MAY_BE_DEPENDENT = re.compile(r"[:,\[-]\s*[yYnNoO](?:[eEoOnNfF][sSfF]?)?(?=[\s,\]}]|\Z)")


def pod_specs(workload: KubeObject) -> Iterator[tuple[FieldPath, Mapping[str, Value]]]:
    """The pod template of each clique, as written, with its path."""
    cliques = workload.get((*TEMPLATE, "cliques"))
    for index, clique in enumerate(_list(cliques)):
        spec = clique.get("spec") if isinstance(clique, dict) else None
        pod_spec = spec.get("podSpec") if isinstance(spec, dict) else None
        if isinstance(pod_spec, dict):
            yield (*TEMPLATE, "cliques", index, "spec", "podSpec"), pod_spec


def tool_dependent_words(workload: KubeObject) -> list[FieldPath]:
    """The paths of the words of `TOOL_DEPENDENT` that have no quotes."""
    # Few workloads have such a text anywhere, and in most of those it is in quotes.
    if not _has_word(workload.value) or not _MAY_BE_DEPENDENT.search(workload.source.text):
        return []
    paths = [path for path, word in _texts(workload.value, ()) if word in TOOL_DEPENDENT]
    if not paths:
        return []
    from krmfn.yamltext.places import starts

    source = workload.source
    at = starts(source.text, [(*source.root, *path) for path in paths])
    places = zip(paths, at, strict=True)
    return [path for path, start in places if start is not None and source.text[start] not in "\"'|>"]


def unquoted_quantities(
    pods: Iterable[tuple[FieldPath, Mapping[str, Value]]],
) -> Iterator[tuple[FieldPath, int | float]]:
    """Each resource quantity of these pod templates that is written as a number."""
    for path, pod_spec in pods:
        overhead = pod_spec.get("overhead")
        for name, amount in overhead.items() if isinstance(overhead, dict) else ():
            if type(amount) is int or type(amount) is float:
                yield (*path, "overhead", name), amount
        for kind in ("containers", "initContainers"):
            for index, container in enumerate(_list(pod_spec.get(kind))):
                resources = container.get("resources") if isinstance(container, dict) else None
                if not isinstance(resources, dict):
                    continue
                for key in ("limits", "requests"):
                    amounts = resources.get(key)
                    for name, amount in amounts.items() if isinstance(amounts, dict) else ():
                        if type(amount) is int or type(amount) is float:
                            yield (*path, kind, index, "resources", key, name), amount


def _has_word(value: Mapping[str, Value]) -> bool:
    """Whether a text within `value` is one of `TOOL_DEPENDENT`."""
    words = TOOL_DEPENDENT
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
    entries = value.items() if isinstance(value, dict) else enumerate(_list(value))
    for step, entry in entries:
        if isinstance(entry, str):
            yield (*path, step), entry
        elif isinstance(entry, (dict, list)):
            yield from _texts(entry, (*path, step))


def _list(value: Value) -> Sequence[Value]:
    return value if isinstance(value, list) else ()
