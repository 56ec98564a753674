"""The documents of a file in a tree: their values, and the objects among them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from krmfn.kubeobject import KubeObject
from krmfn.source import Source
from krmfn.yamltext import YamlError, read, split_documents

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from krmfn.value import Value
    from packwise.commands.fleet.tree import Tree

__all__ = ["mapping_at", "objects_at", "objects_in", "text_at"]


def text_at(tree: Tree, path: str) -> str:
    """The text of a file; "" where it cannot be read, which whoever renders the package reports."""
    try:
        return tree.read(path).decode("utf-8", "replace")
    except OSError:
        return ""


def mapping_at(tree: Tree, path: str) -> Mapping[str, Value]:
    """The mapping that a file holds. Raises YamlError where it is no YAML, or something else."""
    value = read(text_at(tree, path))
    if not isinstance(value, dict):
        raise YamlError("must be a mapping", 1, 1)
    return value


def objects_at(tree: Tree, path: str) -> Iterator[KubeObject]:
    """The mappings among the documents of a file; what is no YAML is left out."""
    return objects_in(text_at(tree, path), path)


def objects_in(text: str, path: str) -> Iterator[KubeObject]:
    """The mappings among the documents of `text`, which stands in the file at `path`."""
    for document in split_documents(text):
        source = Source(document.text, (), document.line, 1, path)
        try:
            value = read(source.text)
        except YamlError:
            continue
        if isinstance(value, dict):
            yield KubeObject.cut(source, value)
