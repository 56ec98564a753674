"""What a render starts from."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from krmfn.kubeobject import KubeObject

__all__ = ["Package"]


@dataclass(frozen=True, slots=True)
class Package:
    """The items of a ResourceList or the documents of files; `function_config` is packwise's own configuration.

    `baseline` holds the objects as they stood before the change under review, None where nobody gave any.
    """

    items: tuple[KubeObject, ...]
    function_config: KubeObject | None = None
    baseline: tuple[KubeObject, ...] | None = None
