"""Reading, searching, editing and writing YAML as text.

Edits change only the necessary bytes. A text has the meaning that kyaml (kustomize, kpt) gives it. Each module is
imported at first use, and PyYAML only if a text needs it.
"""

from __future__ import annotations

from krmfn.hints import TYPE_CHECKING
from krmfn.yamltext.reader import YamlError, read
from krmfn.yamltext.writer import write

if TYPE_CHECKING:
    from typing import Any

    from krmfn.yamltext.edit import remove_value, set_value
    from krmfn.yamltext.places import Span, YamlDocument, iterate_documents, locate, locate_nearest, split_documents
    from krmfn.yamltext.scalars import resolve

__all__ = [
    "Span",
    "YamlDocument",
    "YamlError",
    "iterate_documents",
    "locate",
    "locate_nearest",
    "read",
    "remove_value",
    "resolve",
    "set_value",
    "split_documents",
    "write",
]

_LAZY = {
    "YamlDocument": "places",
    "Span": "places",
    "iterate_documents": "places",
    "locate": "places",
    "locate_nearest": "places",
    "remove_value": "edit",
    "resolve": "scalars",
    "set_value": "edit",
    "split_documents": "places",
}


def __getattr__(name: str) -> Any:
    module = _LAZY.get(name)
    if module is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    attribute = getattr(import_module(f"{__name__}.{module}"), name)
    globals()[name] = attribute
    return attribute
