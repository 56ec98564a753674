"""What a render starts from."""

from __future__ import annotations

from krmfn.hints import TYPE_CHECKING
from krmfn.record import NamedTuple

if TYPE_CHECKING:
    from collections.abc import Mapping

    from krmfn.kubeobject import KubeObject
    from krmfn.value import Value

__all__ = ["Configured", "Package"]


class Configured(NamedTuple):
    """The configuration that a client or the user chose: packwise's own, or another, which is read as an item."""

    function_config: KubeObject | None = None
    context: tuple[KubeObject, ...] = ()


class Package(NamedTuple):
    """The items of a ResourceList or the documents of files; `function_config` is packwise's own configuration.

    `baseline` holds the objects as they stood before the change under review, None where nobody gave any;
    `configured_before` is their configuration where it stands beside them, None where today's counts. `crds` are
    the cluster's, which count before those among the items. `documents` are OSMO's, which are no Kubernetes objects;
    `documents_before` those of the baseline. `values` are the command line's, for the templates of documents.
    `context` are objects that are read and never written: definitions that stand around the items, a configuration
    that was chosen. `is_part`: the items are judged without a configuration, since each of several clusters that take
    them has its own. `nodes` are the objects of the cluster that the gangs come to, nodes, pods and topologies, where
    these were given. `is_chosen`: the user named the configuration, which counts before what states a topology among
    the items. `folder` is the one of these clusters, below which its objects are written; "" is the top.
    """

    items: tuple[KubeObject, ...]
    function_config: KubeObject | None = None
    baseline: tuple[KubeObject, ...] | None = None
    crds: tuple[KubeObject, ...] = ()
    documents: tuple[KubeObject, ...] = ()
    documents_before: tuple[KubeObject, ...] = ()
    values: Mapping[str, Value] = {}
    context: tuple[KubeObject, ...] = ()
    is_part: bool = False
    nodes: tuple[Mapping[str, Value], ...] = ()
    folder: str = ""
    configured_before: Configured | None = None
    is_chosen: bool = False

    @property
    def before(self) -> Package | None:
        """The package as it stood before the change under review, its workloads as those that run; None without one."""
        if self.baseline is None:
            return None
        earlier = self._replace(items=self.baseline, documents=self.documents_before)
        if self.configured_before is None:
            return earlier
        chosen = self.configured_before
        return earlier._replace(function_config=chosen.function_config, context=chosen.context, configured_before=None)
