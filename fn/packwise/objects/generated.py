"""Objects that a render writes."""

from __future__ import annotations

from krmfn.hints import TYPE_CHECKING
from krmfn.record import NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from krmfn.fieldpath import FieldPath
    from krmfn.kubeobject import KubeObject
    from krmfn.value import Value
    from packwise.objects.place import Origin

__all__ = ["Generated"]


class Generated(NamedTuple):
    """An object to write: `value` is the manifest without packwise's own annotations.

    `source` says in words what it is rendered from, `subject` is that object (None: the configuration has none);
    `notes` are further annotations, their keys without the prefix `packwise.dev/`. `recreate`: the API server changes
    no such object, deleting and creating it is the only way, and this one keeps every rule of its CRD.
    `emit_by_default`: written where `spec.emit` is not set, whatever kinds are the default. `judged`: the cluster's CRD
    has judged it already. `preview`: for review only, since somebody in the cluster makes and owns it. `origins`
    computes the origin of each part of the manifest.
    """

    value: Mapping[str, Value]
    source: str
    subject: KubeObject | None
    origins: Callable[[], Mapping[FieldPath, Origin]]
    notes: Mapping[str, str] = {}
    recreate: bool = False
    emit_by_default: bool = False
    judged: bool = False
    preview: bool = False
