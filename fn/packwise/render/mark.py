"""What packwise adds to a generated object: the file it belongs to, and where it came from."""

from __future__ import annotations

from functools import lru_cache

from krmfn.hints import TYPE_CHECKING, cast
from packwise.objects.identity import RENDERED_FROM, stable_identities
from packwise.objects.kinds import kind_of_object

if TYPE_CHECKING:
    from collections.abc import Mapping

    from krmfn.value import Value
    from packwise.objects.place import Generated

__all__ = ["LOCAL_CONFIG", "PATH", "file_of", "marked"]

PATH = "config.kubernetes.io/path"
"""Tells kpt which file to write; other clients ignore it."""

LOCAL_CONFIG = "config.kubernetes.io/local-config"
"""Tells clients not to apply the object. Source: functions-spec.md."""

_PREFIX = "packwise.dev/"


def marked(
    generated: Generated, name: str, *, apply: bool, gitops: Mapping[str, str], folder: str = ""
) -> dict[str, Value]:
    """The manifest of `generated` with packwise's annotations and those for `gitops` tools, sorted by key.

    `name` is the one that the object has among all that are rendered, without an epoch. Its file is below `folder`.
    """
    value = dict(generated.value)
    metadata = dict(cast("Mapping[str, Value]", value["metadata"]))
    annotations = dict(cast("Mapping[str, str]", metadata.get("annotations", {})))
    annotations[PATH] = f"{folder}/{_file(value, name)}" if folder else _file(value, name)
    annotations[RENDERED_FROM] = generated.source
    for note, text in generated.notes.items():
        annotations[_PREFIX + note] = text
    if not apply:
        annotations[LOCAL_CONFIG] = "true"
    else:
        annotations.update(gitops)
    metadata["annotations"] = dict(sorted(annotations.items()))
    value["metadata"] = metadata
    return value


def file_of(value: Mapping[str, Value]) -> str:
    """The file of a generated object, predictable from its kind, namespace and name; no epoch is part of it."""
    return _file(value, stable_identities([value])[0][3])


def _file(value: Mapping[str, Value], name: str) -> str:
    folder, has_namespace, start = _folder(str(value["apiVersion"]), str(value["kind"]))
    if has_namespace:
        folder = f"{folder}/{cast('Mapping[str, Value]', value['metadata'])['namespace']}"
    return f"{folder}/{start}-{name}.yaml"


@lru_cache(64)
def _folder(api_version: str, kind: str) -> tuple[str, bool, str]:
    """The folder of a kind, whether it has one below that for each namespace, and how its files begin."""
    known = kind_of_object({"apiVersion": api_version, "kind": kind})
    return f"packwise/{known.folder}", not known.cluster_scoped, known.word.lower()
