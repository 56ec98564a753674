"""`packwise check --fix`: files mended in place where only one thing can be meant, every other byte kept."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from krmfn.hints import TYPE_CHECKING
from krmfn.result import exit_code
from packwise.cli.arguments import STDIN, Named, UsageError
from packwise.cli.console import encoded
from packwise.cli.document import contents_of, edited_text
from packwise.cli.inputs import read_inputs
from packwise.cli.write import Change, change_files, common_folder
from packwise.commands.rewrite import Mended, mend

if TYPE_CHECKING:
    from packwise.cli.arguments import Fix
    from packwise.cli.inputs import Inputs

__all__ = ["Fixed", "fix"]


@dataclass(frozen=True, slots=True)
class Fixed:
    """The files that mending changes: name, text before, text after. `hidden` counts objects that need unsafe fixes."""

    texts: tuple[tuple[str, str, str], ...] = ()
    hidden: int = 0


def fix(named: Named, how: Fix) -> Fixed:
    """Mends the files that `named` names, unless it only shows how; none where one is unreadable.

    Raises UsageError for stdin and for ResourceLists, OSError where a file cannot be
    written.
    """
    if STDIN in named.paths:
        raise UsageError("--fix must go with files or folders: stdin cannot be written back")
    # The past and the CRDs have no say in what is mended.
    only = Named(named.paths, named.config, exclude=named.exclude)
    inputs = read_inputs(only)
    if exit_code(inputs.results):
        return Fixed()
    mended = mend(inputs.package, unsafe=how.unsafe)
    fixed = Fixed(tuple(_texts(inputs, mended)), mended.hidden)
    if fixed.texts and not how.show:
        paths = {Path(name): encoded(text) for name, _, text in fixed.texts}
        change_files(common_folder(paths), [Change(*path) for path in paths.items()], contents_of(inputs.read))
    return fixed


def _texts(inputs: Inputs, mended: Mended) -> list[tuple[str, str, str]]:
    now = dict(zip(map(id, inputs.package.items), mended.items, strict=True))
    edited = [(file, edited_text(file, now, "--fix")) for file in inputs.files]
    return [(str(file.path.name), file.text, text) for file, text in edited if text is not None]
