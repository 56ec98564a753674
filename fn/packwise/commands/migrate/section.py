"""The topology section of a configuration, edited where it stands: in an object, or in a text within one.

Source: spec/designs.md#2.
"""

from __future__ import annotations

from krmfn.hints import TYPE_CHECKING
from krmfn.kubeobject import KubeObject

if TYPE_CHECKING:
    from collections.abc import Callable

    from krmfn.fieldpath import FieldPath
    from packwise.objects.place import Place

__all__ = ["edited", "renamed", "text_at"]


def edited(place: Place, edit: Callable[[KubeObject, FieldPath], KubeObject]) -> Place:
    """`place` after `edit`, which is given what holds the section, an object or a document in its data, and the path.

    Raises FieldError where an anchor is in the way.
    """
    if not place.embedded:
        return place._replace(item=edit(place.item, place.path))
    text = place.item.get(place.path)
    document = KubeObject.parse(text if isinstance(text, str) else "")
    return place._replace(item=place.item.set(place.path, edit(document, place.inner).text))


def renamed(place: Place, key: str) -> Place:
    """`place`, its own key spelt `key`. Raises FieldError where that stands beside it."""
    path = place.inner if place.embedded and place.inner else place.path
    last = path[-1]
    if last == key:
        return place
    if place.embedded and not place.inner:
        # The data of a ConfigMap may spell a field with the path to it.
        key = key if isinstance(last, str) and not last.startswith("spec.") else f"spec.{key}"
        return place._replace(item=place.item.rename(place.path, key), path=(*path[:-1], key))
    place = edited(place, lambda item, at: item.rename(at, key))
    if place.embedded:
        return place._replace(inner=(*path[:-1], key))
    return place._replace(path=(*path[:-1], key))


def text_at(place: Place) -> tuple[str, FieldPath]:
    """The text that holds the section, and the section's path in it."""
    if place.embedded:
        text = place.item.get(place.path)
        return text if isinstance(text, str) else "", place.inner
    source = place.item.source
    return source.text, (*source.root, *place.path)
