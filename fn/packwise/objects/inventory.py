"""The objects of a render, indexed: what is there now, and what was there before the change under review."""

from __future__ import annotations

from krmfn.hints import TYPE_CHECKING
from krmfn.record import NamedTuple
from packwise.objects.gangkey import stable_identities
from packwise.objects.identity import identity

if TYPE_CHECKING:
    from collections.abc import Mapping

    from krmfn.kubeobject import KubeObject
    from krmfn.value import Value
    from packwise.objects.index import Index

__all__ = ["Inventory"]


class Inventory(NamedTuple):
    """The items by what they are; `baseline` those before the change, None where nobody gave any.

    `documents` are documents of other tools, which are no Kubernetes objects, `documents_before` those of the baseline.
    """

    items: Index
    baseline: Index | None = None
    documents: tuple[KubeObject, ...] = ()
    documents_before: tuple[KubeObject, ...] = ()

    def before(self, value: Mapping[str, Value]) -> Mapping[str, Value] | None:
        """The object as it was in the baseline, whoever wrote it and whatever its epoch; None where there is none."""
        if self.baseline is None:
            return None
        key = identity(value)
        item = self.baseline.users.get(key) or self.baseline.generated.get(key)
        if item is None and self.baseline.gangs:
            (stable,) = stable_identities([value])
            item = self.baseline.gangs.get(stable)
        return None if item is None else item.value
