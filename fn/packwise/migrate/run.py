"""Files rewritten in place, or a diff of their changes."""

from __future__ import annotations

from pathlib import Path

from krmfn.difference import unified_diff
from krmfn.hints import TYPE_CHECKING
from krmfn.result import exit_code, sort_results
from packwise.answer import PLAIN, Answer, Styled, Terminal, Text
from packwise.console import cannot_write, encode_text
from packwise.inputs.coverage import files_covered
from packwise.inputs.groups import read_inputs
from packwise.inputs.reader import contents_of, edited_text
from packwise.inputs.request import STDIN, Named, UsageError, Verbosity
from packwise.migrate.rewrite import migrate as migrate_package
from packwise.migrate.rewrite import migrate_objects
from packwise.objects.index import identity
from packwise.output.findings_text import Checked, as_text
from packwise.output.write import FileChange, change_files, common_folder
from packwise.revisions.grove import REVISIONS

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from krmfn.result import Result
    from packwise.inputs.groups import Inputs
    from packwise.migrate.options import Migrate
    from packwise.migrate.rewrite import Migrated
    from packwise.pipeline.selection import Package


def migrate(command: Migrate, terminal: Terminal = PLAIN) -> Answer:
    """Rewrite the files, and return a report. With `--dry-run`, only return the changes.

    Raise UsageError if an option is wrong.
    """
    if STDIN in command.paths:
        raise UsageError("migrate needs files or folders, because it cannot write to stdin")
    source = None if command.source is None else REVISIONS[command.source]
    config = () if command.config is None else (command.config,)
    named = Named((*command.paths, *config), command.config, exclude=command.exclude)
    inputs = read_inputs(named)
    if inputs.is_broken:
        return _report(terminal, inputs, inputs.results)
    if command.target is None:
        migrated = migrate_objects(inputs.package)
    else:
        migrated = migrate_package(
            _with_own_configuration(inputs.package),
            REVISIONS[command.target],
            source=source,
            keep_pack_domain=command.keep_pack_domain,
        )
    if exit_code(migrated.results):
        return _report(terminal, inputs, (*inputs.results, *migrated.results))
    results = (*inputs.results, *migrated.results)
    texts = _texts(inputs, migrated)
    none = "nothing to migrate" if command.target is None else f"nothing to migrate to {command.target}"
    if command.dry_run:
        answer = _report(terminal, inputs, results, _running_notes(migrated, command.target))
        diffs = [unified_diff(name, before, after) for name, before, after in texts]
        return answer.replace(texts=(Text(diffs),), before=() if texts else (none,), after=answer.before)
    try:
        _write(texts, inputs)
    except OSError as error:
        return Answer(before=(*(() if texts else (none,)), cannot_write(error)), code=1)
    done = [f"migrated {name}" for name, _, _ in texts] or [none]
    answer = _report(terminal, inputs, results, _running_notes(migrated, command.target) if texts else ())
    return answer.replace(before=(*done, *answer.before))


def _write(texts: Sequence[tuple[str, str, str]], inputs: Inputs) -> None:
    """Write the files. Raise OSError if the disk refuses one."""
    changes = [FileChange(Path(name), encode_text(text)) for name, _, text in texts]
    if changes:
        change_files(common_folder([change.path for change in changes]), changes, contents_of(inputs.read))


def _with_own_configuration(package: Package) -> Package:
    """Return `package` with its configuration among its items, so that the configuration is rewritten too.

    Raise UsageError if the configuration is in a ResourceList.
    """
    configuration = package.function_config
    if configuration is None:
        return package
    own = next((item for item in package.items if identity(item.value) == identity(configuration.value)), None)
    if own is None:
        raise UsageError(
            f'"{configuration.location().file}" is a ResourceList, which migrate does not write; migrate the files '
            "that it was made from"
        )
    return package.replace(function_config=own)


def _texts(inputs: Inputs, migrated: Migrated) -> list[tuple[str, str, str]]:
    """Return the name, the old text and the new text of each changed file. New files come last and have no old text."""
    now = dict(zip(map(id, inputs.package.items), migrated.items, strict=True))
    changed = [(file, edited_text(file, now, "migrate")) for file in inputs.files]
    texts = [(str(file.path.name), file.text, text) for file, text in changed if text is not None]
    for file in migrated.new_files:
        path = Path(file.neighbour.location().file or ".").parent / file.name
        if path.exists():
            raise UsageError(f'migrate writes the levels to "{path}", which exists already; move it')
        texts.append((str(path), "", file.item.text))
    return texts


def _running_notes(migrated: Migrated, target: str | None) -> Iterator[str]:
    """Yield a note on running workloads: whether the target's webhook accepts their changes."""
    if migrated.refused_workloads is None:
        return
    if not migrated.refused_workloads:
        yield f"the webhook of {target} accepts these changes also for running workloads"
        return
    advice = "; --keep-pack-domain writes only a first change, which the webhook accepts" if migrated.steps else ""
    listed = ", ".join(migrated.refused_workloads)
    yield f"the webhook of {target} refuses these changes for running workloads: {listed}{advice}"


def _report(terminal: Terminal, inputs: Inputs, results: Sequence[Result], last: Iterable[str] = ()) -> Answer:
    """Return the findings as lines for stderr, followed by `last`. stdout is for the difference."""
    lines: list[str] = []
    results = sort_results(results)
    coverage = files_covered(inputs.files, inputs.skipped, inputs.read)
    last_line = coverage.line
    if results:
        checked = Checked(
            results,
            len(inputs.files),
            inputs.text_of,
            coloured=terminal.is_stderr_coloured,
            # No other command of the user would list the skipped files.
            verbosity=Verbosity.VERBOSE,
            coverage=coverage,
        )
        lines += map(Styled, as_text(checked).removesuffix("\n").split("\n"))
        last_line = checked.last_line
    return Answer(before=(*lines, *last, last_line), code=exit_code(results))
