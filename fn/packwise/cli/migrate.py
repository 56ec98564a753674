"""`packwise migrate`: files rewritten in place for a later design revision, every comment and the layout kept."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

from krmfn.result import exit_code, sort_results
from packwise.cli.arguments import STDIN, Named
from packwise.cli.console import cannot_write, encoded, is_coloured, say, show
from packwise.cli.document import edited_text
from packwise.cli.inputs import read_inputs
from packwise.cli.report.checked import Checked
from packwise.cli.report.text import as_text
from packwise.cli.usage import UsageError
from packwise.cli.write import replace_file
from packwise.migrate import migrate as migrate_package
from packwise.revisions import REVISIONS
from packwise.select.index import identity

if TYPE_CHECKING:
    from collections.abc import Sequence

    from krmfn.result import Result
    from packwise.cli.arguments import Migrate
    from packwise.cli.inputs import Inputs
    from packwise.migrate import Migrated
    from packwise.select import Package

__all__ = ["migrate"]


def migrate(command: Migrate) -> int:
    """Rewrites the files, or with `--dry-run` prints what would change; returns the exit code. Raises UsageError."""
    if STDIN in command.paths:
        raise UsageError("migrate must be given files or folders: stdin cannot be written back")
    source = None if command.source is None else REVISIONS[command.source]
    inputs = read_inputs(Named((*command.paths, *_some(command.config)), command.config))
    if exit_code(inputs.results):
        return _told(inputs, inputs.results)
    migrated = migrate_package(
        _with_own_configuration(inputs.package),
        REVISIONS[command.target],
        source=source,
        keep_pack_domain=command.keep_pack_domain,
    )
    if exit_code(migrated.results):
        return _told(inputs, migrated.results)
    texts = _texts(inputs, migrated)
    if not texts:
        say([f"nothing to migrate to {command.target}"])
    if command.dry_run:
        show("".join(_difference(name, before, after) for name, before, after in texts))
        return _told(inputs, migrated.results)
    try:
        for name, _, text in texts:
            replace_file(Path(name), encoded(text))
            say([f"migrated {name}"])
    except OSError as error:
        say([cannot_write(error)])
        return 1
    return _told(inputs, migrated.results)


def _some(config: str | None) -> tuple[str, ...]:
    return () if config is None else (config,)


def _with_own_configuration(package: Package) -> Package:
    """`package` with its configuration as one of its items, which is the one that is rewritten."""
    given = package.function_config
    if given is None:
        return package
    own = next(item for item in package.items if identity(item.value) == identity(given.value))
    return package._replace(function_config=own)


def _texts(inputs: Inputs, migrated: Migrated) -> list[tuple[str, str, str]]:
    """Name, text before and text after of each file that changes; the new ones last, which were empty before."""
    now = dict(zip(map(id, inputs.package.items), migrated.items, strict=True))
    changed = [(file, edited_text(file, now, "migrate")) for file in inputs.files]
    texts = [(str(file.found.name), file.text, text) for file, text in changed if text is not None]
    for one in migrated.new:
        path = Path(one.beside.location().file or ".").parent / one.name
        if path.exists():
            raise UsageError(f'"{path}" must not exist: migrate writes the levels there; move it away')
        texts.append((str(path), "", one.item.text))
    return texts


def _difference(name: str, before: str, after: str) -> str:
    from difflib import unified_diff

    old, new = before.splitlines(keepends=True), after.splitlines(keepends=True)
    lines = unified_diff(old, new, f"a/{name}" if before else "/dev/null", f"b/{name}")
    return "".join([line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n" for line in lines])


def _told(inputs: Inputs, results: Sequence[Result]) -> int:
    """Says what was found, to stderr where stdout has the difference; returns the exit code."""
    results = sort_results(results)
    if results:
        text = as_text(Checked(results, len(inputs.files), inputs.text_of, coloured=is_coloured(sys.stderr)))
        say(text.removesuffix("\n").split("\n"))
    return exit_code(results)
