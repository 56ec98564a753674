"""How a workload is written where it matters: scalars that one tool reads or writes otherwise than another.

Source: product.md "Dependencies", gitops.md "Argo CD".
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

# Nearly every text is done with after this look; it finds more than those words.
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
    if not _MAY_BE_DEPENDENT.search(workload.source.text):
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
        yield from _numbers((*path, "overhead"), pod_spec.get("overhead"))
        for kind in ("containers", "initContainers"):
            for index, container in enumerate(_list(pod_spec.get(kind))):
                resources = container.get("resources") if isinstance(container, dict) else None
                if isinstance(resources, dict):
                    yield from _numbers((*path, kind, index, "resources", "limits"), resources.get("limits"))
                    yield from _numbers((*path, kind, index, "resources", "requests"), resources.get("requests"))


def _numbers(path: FieldPath, section: Value) -> Iterator[tuple[FieldPath, int | float]]:
    for name, number in section.items() if isinstance(section, dict) else ():
        if isinstance(number, (int, float)) and not isinstance(number, bool):
            yield (*path, name), number


def _texts(value: Value, path: FieldPath) -> Iterator[tuple[FieldPath, str]]:
    entries = value.items() if isinstance(value, dict) else enumerate(_list(value))
    for step, entry in entries:
        if isinstance(entry, str):
            yield (*path, step), entry
        elif isinstance(entry, (dict, list)):
            yield from _texts(entry, (*path, step))


def _list(value: Value) -> Sequence[Value]:
    return value if isinstance(value, list) else ()
