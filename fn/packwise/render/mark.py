"""What packwise adds to a generated object: the file it belongs to, and where it came from."""

from __future__ import annotations

from krmfn.hints import TYPE_CHECKING, cast
from packwise.objects.gangkey import stable_identities
from packwise.objects.identity import RENDERED_FROM
from packwise.objects.kinds import kind_of_object

if TYPE_CHECKING:
    from collections.abc import Mapping

    from krmfn.value import Value
    from packwise.objects.generated import Generated

__all__ = ["LOCAL_CONFIG", "PATH", "file_of", "marked"]

PATH = "config.kubernetes.io/path"
"""Tells kpt which file to write; other clients ignore it."""

LOCAL_CONFIG = "config.kubernetes.io/local-config"
"""Tells clients not to apply the object. Source: functions-spec.md."""

_PREFIX = "packwise.dev/"


def marked(generated: Generated, name: str, *, apply: bool, gitops: Mapping[str, str]) -> dict[str, Value]:
    """The manifest of `generated` with packwise's annotations and those for `gitops` tools, sorted by key.

    `name` is the one that the object has among all that are rendered, without an epoch.
    """
    value = dict(generated.value)
    metadata = dict(cast("Mapping[str, Value]", value["metadata"]))
    own = cast("Mapping[str, str]", metadata.get("annotations", {}))
    annotations = {**own, PATH: _file(value, name), RENDERED_FROM: generated.source}
    for note, text in generated.notes.items():
        annotations[_PREFIX + note] = text
    if not apply:
        annotations[LOCAL_CONFIG] = "true"
    else:
        annotations.update(gitops)
    metadata["annotations"] = {key: annotations[key] for key in sorted(annotations)}
    value["metadata"] = metadata
    return value


def file_of(value: Mapping[str, Value]) -> str:
    """The file of a generated object, predictable from its kind, namespace and name; no epoch is part of it."""
    return _file(value, stable_identities([value])[0][3])


def _file(value: Mapping[str, Value], name: str) -> str:
    kind, metadata = kind_of_object(value), cast("Mapping[str, Value]", value["metadata"])
    folder = kind.folder if kind.cluster_scoped else f"{kind.folder}/{metadata['namespace']}"
    return f"packwise/{folder}/{kind.name.lower()}-{name}.yaml"
