"""The places of fields of pods: each kind of workload has them at other steps below a clique, component or template."""

from __future__ import annotations

from krmfn.hints import TYPE_CHECKING

if TYPE_CHECKING:
    from packwise.objects.place import Place

_SPECS: tuple[tuple[str, ...], ...] = (
    ("spec", "podSpec"), ("podTemplate", "spec"), ("extraPodSpec",), ("template", "spec", "template", "spec"),
    ("template", "spec"), ("spec",), (),
)  # fmt: skip
_METADATA: tuple[tuple[str, ...], ...] = (
    (), ("metadata",), ("template", "metadata"), ("podTemplate", "metadata"),
    ("template", "spec", "template", "metadata"), ("extraPodMetadata",),
)  # fmt: skip


def spec_place(place: Place, *steps: str | int) -> Place:
    """Return the place of a field of the spec of the pods at a place; the place itself if that cannot be told."""
    return _first(place, [(*below, *steps) for below in _SPECS])


def metadata_place(place: Place, form: str, key: str) -> Place:
    """Return the place of a label or annotation of the pods at a place; the place itself if that cannot be told."""
    return _first(place, [(*below, form, key) for below in _METADATA])


def _first(place: Place, paths: list[tuple[str | int, ...]]) -> Place:
    for path in paths:
        at = place.below(*path)
        if not at.embedded and at.item.get(at.path) is not None:
            return at
    return place
