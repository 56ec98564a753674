"""Files as they were read: their documents, and the objects that some of these are."""

from __future__ import annotations

from pathlib import Path

from krmfn.hints import TYPE_CHECKING
from krmfn.record import NamedTuple
from packwise.cli.arguments import UsageError
from packwise.cli.console import encoded

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from krmfn.kubeobject import KubeObject
    from packwise.cli.input_paths import InputPath
    from packwise.discovery import LeftOut

__all__ = ["Document", "InputFile", "contents_of", "edited_text"]


class Document(NamedTuple):
    """One document of a file, which starts on `line`; `item` is None where it is no Kubernetes object.

    `foreign` is what it is then, where packwise reads it: a document of OSMO. `entries` are the objects within a List,
    which are read in its place; its own bytes stay. Joining `separator + text` of all documents gives the file.
    """

    separator: str
    text: str
    item: KubeObject | None = None
    line: int = 1
    foreign: KubeObject | None = None
    entries: tuple[KubeObject, ...] = ()

    @property
    def items(self) -> tuple[KubeObject, ...]:
        """The objects that are read of it."""
        return self.entries or (() if self.item is None else (self.item,))

    @property
    def is_blank(self) -> bool:
        """Whether it holds nothing, or comments only."""
        lines = self.text.lstrip("\ufeff").splitlines()
        return self.item is None and all(not line.strip() or line.lstrip().startswith("#") for line in lines)


class InputFile(NamedTuple):
    """One file, at `path`. Where it is a ResourceList, `is_list`, its items are the documents, and have no text yet.

    `function_config` is what a ResourceList brings, `list_text` all of its own text. A file that is `left_out` has no
    objects; `is_stream` is whether its text is YAML.
    """

    path: InputPath
    documents: tuple[Document, ...]
    is_list: bool = False
    function_config: KubeObject | None = None
    list_text: str = ""
    left_out: LeftOut | None = None
    is_stream: bool = True

    @property
    def items(self) -> tuple[KubeObject, ...]:
        """The Kubernetes objects, in their order."""
        return tuple(item for document in self.documents for item in document.items)

    @property
    def foreign(self) -> tuple[KubeObject, ...]:
        """The documents that are no Kubernetes objects and are read all the same, in their order."""
        return tuple(document.foreign for document in self.documents if document.foreign is not None)

    @property
    def text(self) -> str:
        """The whole file."""
        return self.list_text or "".join([document.separator + document.text for document in self.documents])


def contents_of(files: Iterable[InputFile]) -> dict[Path, bytes]:
    """What each of `files`, which are on disk or stdin, held when it was read."""
    return {Path(file.path.name): encoded(file.text) for file in files if file.path.name is not None}


def edited_text(file: InputFile, edited: Mapping[int, KubeObject], option: str) -> str | None:
    """The text of `file` with each object as `edited` has it by its id, or as it is; None where nothing changes.

    Raises UsageError, which names `option`, where the file is a ResourceList.
    """
    changed = [item for item in file.items if edited.get(id(item), item) is not item]
    if not changed:
        return None
    if file.is_list or any(document.entries for document in file.documents):
        name = "stdin" if file.path.name is None else f'"{file.path.name}"'
        if file.is_list:
            raise UsageError(f"{name} is a ResourceList, which {option} does not write; mend the files it is made of")
        raise UsageError(f"{name} holds a List, which {option} does not write; split it into documents")
    texts = [
        (document, None if document.item is None else edited.get(id(document.item), document.item))
        for document in file.documents
    ]
    return "".join(
        [
            document.separator + (document.text if item is None or item is document.item else item.text)
            for document, item in texts
        ]
    )
