"""`packwise check --fix`: files mended in place where that needs no decision, every other byte kept."""

from __future__ import annotations

from pathlib import Path

from krmfn.result import exit_code
from packwise.cli.arguments import STDIN, Named, UsageError
from packwise.cli.console import encoded
from packwise.cli.document import contents_of, edited_text
from packwise.cli.inputs import read_inputs
from packwise.cli.journal import Change, change_files, common_folder, once_complete
from packwise.commands.rewrite import mend

__all__ = ["fix"]


def fix(named: Named) -> list[str]:
    """Mends the files that `named` names and returns the names of those that changed; none where one is unreadable.

    All of them change, or none. Raises UsageError for stdin and for ResourceLists, OSError where a file cannot be
    written.
    """
    if STDIN in named.paths:
        raise UsageError("--fix must go with files or folders: stdin cannot be written back")
    # The past and the CRDs have no say in what is mended.
    inputs = once_complete(lambda: read_inputs(Named(named.paths, named.config, exclude=named.exclude)))
    if exit_code(inputs.results):
        return []
    mended = dict(zip(map(id, inputs.package.items), mend(inputs.package), strict=True))
    changed = {
        str(file.path.name): text for file in inputs.files if (text := edited_text(file, mended, "--fix")) is not None
    }
    paths = {Path(name): encoded(text) for name, text in changed.items()}
    if paths:
        change_files(common_folder(paths), [Change(*path) for path in paths.items()], contents_of(inputs.read))
    return list(changed)
