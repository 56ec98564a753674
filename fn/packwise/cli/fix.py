"""`packwise check --fix`: files mended in place where that needs no decision, every other byte kept."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from krmfn.result import exit_code
from packwise.cli.arguments import STDIN, Named
from packwise.cli.console import encoded
from packwise.cli.inputs import read_inputs
from packwise.cli.usage import UsageError
from packwise.cli.write import replace_file
from packwise.pipeline import mend

if TYPE_CHECKING:
    from krmfn.kubeobject import KubeObject
    from packwise.cli.document import InputFile

__all__ = ["fix"]


def fix(named: Named) -> list[str]:
    """Mends the files that `named` names and returns the names of those that changed; none where one is unreadable.

    Raises UsageError for stdin and for ResourceLists, OSError where a file cannot be written.
    """
    if STDIN in named.paths:
        raise UsageError("--fix must go with files or folders: stdin cannot be written back")
    # The past and the CRDs have no say in what is mended.
    inputs = read_inputs(Named(named.paths, named.config))
    if exit_code(inputs.results):
        return []
    mended = dict(zip(map(id, inputs.package.items), mend(inputs.package), strict=True))
    changed = {str(file.found.name): text for file in inputs.files if (text := _text(file, mended)) is not None}
    for name, text in changed.items():
        replace_file(Path(name), encoded(text))
    return list(changed)


def _text(file: InputFile, mended: dict[int, KubeObject]) -> str | None:
    """The mended text; None where nothing of it changes."""
    texts = [(document, None if document.item is None else mended[id(document.item)]) for document in file.documents]
    if all(item is document.item for document, item in texts):
        return None
    if file.is_list:
        raise UsageError(
            f'"{file.found.name}" is a ResourceList, which --fix does not write; mend the files it is made of'
        )
    return "".join(
        [
            document.separator + (document.text if item is None or item is document.item else item.text)
            for document, item in texts
        ]
    )
