"""Labels, annotations and names that are no strings: the API server decodes the metadata of every kind alike.

Source: apimachinery, ObjectMeta.
"""

from __future__ import annotations

from krmfn.hints import TYPE_CHECKING
from packwise.findings.finding import Finding, Rule
from packwise.objects.kinds import KINDS
from packwise.settings.recognition import has_topology, held_configuration

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from krmfn.kubeobject import KubeObject
    from packwise.objects.index import Index

__all__ = ["RULES", "metadata_findings"]

STRINGS = Rule("metadata-strings", "Names, labels and annotations are strings.", "spec/kubernetes.md#1.1")
RULES = (STRINGS,)
"""Rules of the metadata of every kind."""

_TEXTS = ("name", "namespace", "generateName")
_MAPPINGS = ("labels", "annotations")
_KINDS = frozenset([kind.key for kind in KINDS])
_CONFIG_MAP = ("", "ConfigMap")


def metadata_findings(index: Index, known: Iterable[Finding]) -> Iterator[Finding]:
    """An error for each such value of an object that packwise judges, but those that are `known` already."""
    for key, items in index.by_kind.items():
        if key not in _KINDS and key != _CONFIG_MAP:
            continue
        for item in items:
            if not _is_plain(item) and (key in _KINDS or _configures(item)):
                yield from _findings(item, known)


def _configures(item: KubeObject) -> bool:
    return has_topology(item) or held_configuration(item) is not None


def _is_plain(item: KubeObject) -> bool:
    metadata = item.value.get("metadata")
    if not isinstance(metadata, dict):
        return metadata is None
    texts = [metadata.get(name) for name in _TEXTS]
    for name in _MAPPINGS:
        entries = metadata.get(name)
        texts += entries.values() if isinstance(entries, dict) else [] if entries is None else [0]
    return all(text is None or isinstance(text, str) for text in texts)


def _findings(item: KubeObject, known: Iterable[Finding]) -> Iterator[Finding]:
    # Few inputs have one.
    from packwise.validate.metadata import type_problems
    from packwise.validate.valuepath import ValuePath

    paths = {finding.path for finding in known if finding.subject is item}
    for order, problem in enumerate(type_problems(item.value.get("metadata"), ValuePath().field("metadata"))):
        if problem.path not in paths:
            yield Finding.about(problem, item, STRINGS, order=order)
