"""What of a check a change reaches: files that differ, and those that are judged by something which differs.

Each file has a digest of all that it is judged by, before the change and after it, as packages of a fleet have.
"""

from __future__ import annotations

from krmfn.hints import TYPE_CHECKING
from krmfn.record import NamedTuple
from packwise.cli.arguments import UsageError
from packwise.cli.before import bases_of, differs, read_before
from packwise.cli.groups import Checkup, judged_together, read_groups, readable
from packwise.cli.input_paths import names_files, real
from packwise.cli.inputs import documents_of
from packwise.cli.surroundings import defining, is_broken_configuration, path_of
from packwise.commands.fleet.packages import reach

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from krmfn.result import Result
    from packwise.cli.arguments import Named
    from packwise.cli.before import Base, Before
    from packwise.cli.document import InputFile
    from packwise.cli.groups import Group
    from packwise.select import Package

__all__ = ["read_changed"]


def read_changed(named: Named, reference: str, nodes: Iterable[str]) -> Checkup:
    """What `named` names, of which only that is judged which the change since `reference` reaches.

    A path that the change took away names nothing; `nodes` are files of the cluster's nodes. Raises UsageError as
    `read_groups` does, and where git does not know what changed.
    """
    bases = bases_of(reference, named.paths)
    try:
        checkup = _read(named, bases)
        befores = [read_before(base, named, checkup.files, checkup.around) for base in bases]
        beside = [*([] if named.config is None else [named.config]), *named.crds, *nodes]
        is_whole = any(differs(base, beside) for base in bases)
    finally:
        for base in bases:
            base.close()
    return _narrowed(checkup, befores, is_chosen=named.config is not None, is_whole=is_whole)


def _read(named: Named, bases: Iterable[Base]) -> Checkup:
    try:
        return read_groups(named)
    except UsageError:
        left = [path for path in named.paths if names_files(path) or not any(base.holds(real(path)) for base in bases)]
        if len(left) == len(named.paths):
            raise
    return read_groups(named._replace(paths=tuple(left))) if left else Checkup((), (), (), (), ())


class _Then(NamedTuple):
    """The state before, by the folder of the configuration that judges now: its files, and whether some are lost."""

    files: Mapping[str | None, list[InputFile]]
    lost: frozenset[str | None]


def _narrowed(checkup: Checkup, befores: Sequence[Before], *, is_chosen: bool, is_whole: bool) -> Checkup:
    """What the change reaches; all where it `is_whole`. With `is_chosen`, one configuration judges everything."""
    now = {path_of(file): file for file in checkup.files}
    around = {path_of(file): file for file in checkup.around}
    is_chosen = is_chosen or any(file.function_config is not None for file in checkup.files)
    folders = judged_together(now | around, is_chosen=is_chosen)
    reached = set(now) if is_whole else set[str]()
    states: list[_Then] = []
    for before in befores:
        then, today = before.files | before.around, now | around | before.around_now
        by_then = judged_together(then, is_chosen=is_chosen)
        changed = reach(
            _digests(then, by_then, before.same, "before"),
            _digests(today, judged_together(today, is_chosen=is_chosen), before.same, "after"),
        )
        reached.update(changed.reached, changed.added)
        states.append(_state(before, by_then, folders))
    groups: list[Group] = []
    for group in checkup.groups:
        folder = folders[path_of(group.files[0])] if group.files else None
        unchanged = [file for file in group.files if path_of(file) not in reached]
        if len(unchanged) < len(group.files) or any(folder in state.lost for state in states):
            names = frozenset([str(file.path.name) for file in unchanged])
            packages = [_package(group, state.files.get(folder, ())) for state in states]
            groups.append(group._replace(unchanged=names, before=tuple(packages)))
    files = tuple(file for path, file in now.items() if path in reached)
    left_out = [each for each in checkup.left_out if each[1].reason.is_of_the_package and _is_new(each[0], befores)]
    return checkup._replace(
        groups=tuple(groups),
        files=files,
        results=tuple(_kept(checkup.results, now, folders, reached)),
        left_out=tuple(left_out),
    )


def _state(before: Before, by_then: Mapping[str, str | None], folders: Mapping[str, str | None]) -> _Then:
    files: dict[str | None, list[InputFile]] = {}
    for path, file in before.files.items():
        files.setdefault(folders.get(path, by_then[path]), []).append(file)
    return _Then(files, frozenset([by_then[path] for path in before.files if path not in folders]))


def _package(group: Group, files: Iterable[InputFile]) -> Package:
    """The package of the group where it holds `files`."""
    files, own = list(files), {id(document) for document in documents_of(group.files)}
    beside = [document for document in group.package.documents if id(document) not in own]
    return group.package._replace(items=readable(files), documents=(*documents_of(files), *beside))


def _digests(
    files: Mapping[str, InputFile], folders: Mapping[str, str | None], same: frozenset[str], side: str
) -> dict[str, str]:
    """What each file is judged by, itself included; one that differs has the name of its `side` in the place of it."""
    own = {path: f"{'' if path in same else side} {file.left_out}" for path, file in files.items()}
    defined: dict[str | None, list[str]] = {}
    for path in sorted(files):
        if files[path].function_config is not None or defining(files[path]).documents:
            defined.setdefault(folders[path], []).append(f"{path} {own[path]}")
    return {path: "\0".join([text, str(folders[path]), *defined.get(folders[path], ())]) for path, text in own.items()}


def _is_new(name: str, befores: Iterable[Before]) -> bool:
    at = real(name)
    return any(at not in before.same for before in befores)


def _kept(
    results: Iterable[Result], now: Mapping[str, InputFile], folders: Mapping[str, str | None], reached: set[str]
) -> Iterable[Result]:
    """Those of the results on what cannot be read that are about the change, or keep it from being judged."""
    judging = {folders[path] for path in reached if path in folders}
    passed: set[str] = set()
    for path, file in now.items():
        if path not in reached and not (is_broken_configuration(file) and folders[path] in judging):
            passed.add(str(file.path.name))
    return [result for result in results if result.file is None or result.file.path not in passed]
