"""The state before a change: files of a commit or folder, and the changes since then.

Each file has one digest of all its input before the change and one after it, as packages of a fleet have.
"""

from __future__ import annotations

import os
import stat
from pathlib import Path, PurePosixPath

from krmfn.fieldpath import FieldError
from krmfn.hints import TYPE_CHECKING, Record
from krmfn.result import Result, ResultFile
from krmfn.run import MAX_INPUT
from packwise.discovery import Reason
from packwise.inputs.git import MARKERS, Commit, blob_of, merge_bases, skip_reasons, work_tree
from packwise.inputs.groups import (
    COMMIT,
    Checkup,
    documents_of,
    files_checked_together,
    read_groups,
    readable_objects,
)
from packwise.inputs.paths import SUFFIXES, InputPath, contains, find_files, names_files, real
from packwise.inputs.reach import reach
from packwise.inputs.reader import Reader, decode, is_readable
from packwise.inputs.request import STDIN, UsageError
from packwise.inputs.surroundings import is_broken_configuration, keep_definitions, path_of
from packwise.objects.index import READABLE
from packwise.objects.workloads_in_text import workloads_in

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from packwise.discovery import SkipReason
    from packwise.inputs.groups import Group
    from packwise.inputs.reader import InputFile
    from packwise.inputs.request import Named
    from packwise.pipeline.selection import Package


class Before(Record):
    """The files of a commit by real path: `files` were checked, and `around` have their configurations and definitions.

    `around_now` are the changed files that now have these roles. `same` are the real paths of all files that are
    unchanged since the commit. `build_results` are the results of builds, by rule and message.
    """

    files: dict[str, InputFile]
    around: dict[str, InputFile]
    around_now: dict[str, InputFile]
    same: frozenset[str]
    build_results: frozenset[tuple[str | None, str]] = frozenset()


class Base:
    """A commit and its files by real path, including files of checked-out submodules.

    A submodule has no files if git does not have its commit. Raise UsageError as in `Commit`.
    """

    def __init__(self, name: str, path: str) -> None:
        self._commits: list[Commit] = []
        self._blobs: dict[str, tuple[Commit, str]] = {}
        self.top = self._add(Commit(name, path))

    def _add(self, commit: Commit) -> str:
        self._commits.append(commit)
        top = str(commit.top)
        self._blobs |= {_join(top, path): (commit, blob) for path, blob in commit.blobs.items()}
        for path, name in commit.modules.items():
            folder = _join(top, path)
            if real(folder) == folder and os.path.lexists(Path(folder) / ".git"):
                try:
                    self._add(Commit(name, folder))
                except UsageError:
                    continue
        return top

    @property
    def name(self) -> str:
        """The name of the commit."""
        return self._commits[0].name

    @property
    def paths(self) -> Iterable[str]:
        """The real paths of all files."""
        return self._blobs

    def content(self, path: str) -> bytes:
        """Return the content of the file in the commit. Raise UsageError if git does not have it."""
        commit, blob = self._blobs[path]
        return commit.content(blob)

    def close(self) -> None:
        """End the processes of git."""
        for commit in self._commits:
            commit.close()

    def has_path(self, path: str) -> bool:
        """Return True if the commit has a file at the real path or below it."""
        return any(contains(path, each) for each in self._blobs)

    def has_same(self, path: str) -> bool:
        """Return True if the file on disk has the commit's content."""
        return path in self._blobs and path in self.unchanged_paths([path])

    def unchanged_paths(self, paths: Iterable[str]) -> frozenset[str]:
        """Return the `paths` that have the commit's content on disk. Links and paths below them are excluded."""
        folders: dict[str, bool] = {}
        same: set[str] = set()
        for path in paths:
            folder = str(Path(path).parent)
            if folder not in folders:
                folders[folder] = real(folder) == folder
            data = _content(path) if folders[folder] else None
            blob = self._blobs[path][1]
            if data is not None and blob_of(data, blob) == blob:
                same.add(path)
        return frozenset(same)


def bases_of(reference: str, paths: Iterable[str]) -> list[Base]:
    """Return the merge bases of the checkout and `reference`. A prefix `git:` is optional.

    Raise UsageError for stdin, for paths outside one repository, and for an unknown commit or no common commit.
    """
    named = list(paths)
    if STDIN in named:
        raise UsageError(
            f'--changed-since "{reference}" needs files or folders, because git has no earlier version of stdin'
        )
    names = merge_bases(reference.removeprefix(COMMIT), named[0])
    bases = [Base(name, named[0]) for name in names]
    for path in named:
        # The path is in another repository, or in none.
        if work_tree(path) != bases[0].top:
            raise UsageError(
                f'--changed-since "{reference}" needs paths of one repository, but "{path}" and "{named[0]}" are in '
                "different repositories"
            )
    return bases


def read_before(base: Base, named: Named, files: Iterable[InputFile], around: Iterable[InputFile]) -> Before:
    """Return the commit's files for the paths in `named` and the files around them.

    `files` and `around` are the current files.
    """
    own = {path_of(file): file for file in files}
    beside = {path_of(file): file for file in around}
    markers = [path for path in base.paths if Path(path).name in MARKERS]
    wanted = [path for path in base.paths if path.endswith(SUFFIXES) or path in own]
    same = base.unchanged_paths({*wanted, *markers})
    texts = {_path_below(base.top, path): base.content(path).decode("utf-8", "replace") for path in markers}
    targets = {real(path): path for path in reversed(named.paths)}
    listed: dict[str, list[str]] = {target: [] for target in reversed(targets)}
    contents: dict[InputPath, bytes | InputFile] = {}
    others = {path: beside[path] for path in beside if path in same}
    others_now: dict[str, InputFile] = {}
    for path in wanted:
        target = _target(path, listed)
        if target is not None:
            listed[target].append(path)
        elif path not in same:
            _keep(others, path, base.content(path))
            if path not in beside:
                _keep(others_now, path, _content(path) or b"")
    for target, paths in listed.items():
        for path in _inputs(named, InputPath(targets[target], at=target), paths, base.top, texts):
            at, now = str(path.at), own.get(str(path.at))
            if now is None:
                contents[path] = base.content(at)
            elif at in same and now.path.skip_reason == path.skip_reason:
                contents[now.path] = now
            else:
                contents[now.path.replace(skip_reason=path.skip_reason)] = base.content(at)
    reader = Reader(named.exclude)
    listed_files = reader.read_contents(contents)
    if named.builder is None:
        return Before({path_of(file): file for file in listed_files}, others, others_now, same)
    built = named.builder(named.paths, listed_files, reader.skipped, base.name)
    before = {path_of(file): file for file in built.files}
    alike = {path: own[path] for path, file in before.items() if path in own and _is_built_alike(file, own[path])}
    before, same = before | alike, same | alike.keys()
    return Before(before, others, others_now, same, frozenset(map(_key_of, built.results)))


def _is_built_alike(before: InputFile, now: InputFile) -> bool:
    """Return True for built files with the same text and objects. Their owners may add namespaces and labels."""
    values = [[item.value if is_readable(item) else None for item in file.items] for file in (before, now)]
    return before.built is not None and before.text == now.text and values[0] == values[1]


def _key_of(result: Result) -> tuple[str | None, str]:
    return result.tags.get("rule"), result.message


def differs(base: Base, paths: Iterable[str]) -> bool:
    """Return True if files at `paths` within the repository differ from the commit."""
    for path in paths:
        at = real(path)
        if path == STDIN or not contains(base.top, at):
            continue
        now = {each.real_path for each in find_files(path)[0]}
        before = {each for each in base.paths if contains(at, each) and (each.endswith(SUFFIXES) or each == at)}
        if not now <= base.unchanged_paths(before) or not before <= now:
            return True
    return False


def _target(path: str, targets: Iterable[str]) -> str | None:
    """Return the first of `targets` (real paths) that includes the file.

    A target is the file itself, or a folder in which the file is not hidden.
    """
    above = {path, *map(str, Path(path).parents)}
    return next((target for target in targets if target in above and not _is_hidden(path, target)), None)


def _is_hidden(path: str, target: str) -> bool:
    return any(step.startswith(".") for step in _path_below(target, path).parts)


def _inputs(
    named: Named, target: InputPath, paths: Iterable[str], top: str, texts: Mapping[PurePosixPath, str]
) -> Iterable[InputPath]:
    """Return the files `paths` in the commit as inputs of `target`, one of the paths in `named`.

    `texts` are the files below `top` that decide about other files.
    """
    name, at = Path(str(target.name)), target.real_path
    by_part = {str(_path_below(at, path)): path for path in paths}
    is_file = "." in by_part
    is_named = is_file and not named.force_exclude
    reasons: dict[PurePosixPath, SkipReason] = {}
    if not is_named:
        start = PurePosixPath() if is_file else _path_below(top, at)
        reasons = skip_reasons([_path_below(top, path) for path in paths], texts, start, list(named.exclude))
    for part, path in sorted(by_part.items()):
        below = name.name if is_file else part
        shown = name if is_file else name / part
        yield InputPath(shown.as_posix(), below, reasons.get(_path_below(top, path)), is_named, path)


def _keep(files: dict[str, InputFile], path: str, data: bytes) -> None:
    """Add the definitions in the file to `files`. Skip a file without definitions and a file that is not text."""
    try:
        file = keep_definitions(decode(data, InputPath(path, Path(path).name, is_named=False, at=path)))
    except FieldError:
        return
    if file.documents:
        files[path] = file


def _content(path: str) -> bytes | None:
    """Return the content of a regular file. Return None if it is missing or unreadable."""
    try:
        status = os.lstat(path)
        if not stat.S_ISREG(status.st_mode) or status.st_size > MAX_INPUT:
            return None
        return Path(path).read_bytes()
    except OSError:
        return None


def _join(top: str, path: str) -> str:
    return f"{top.rstrip('/')}/{path}"


def _path_below(top: str, path: str) -> PurePosixPath:
    return PurePosixPath(path).relative_to(top)


def read_changed(named: Named, reference: str, nodes: Iterable[str]) -> Checkup:
    """Return the files of `named`. A check covers only the files that the change since `reference` affects.

    A path that the change removes has no files. `nodes` are files of the cluster's nodes. Raise UsageError as in
    `read_groups`, and if git cannot determine the change.
    """
    bases = bases_of(reference, named.paths)
    try:
        checkup = _read(named, bases)
        befores = [read_before(base, named, checkup.files, checkup.around) for base in bases]
        beside = [*([] if named.config is None else [named.config]), *named.crds, *nodes]
        is_whole = any(differs(base, beside) for base in bases)
        hidden = _hidden_changes(checkup, bases)
    finally:
        for base in bases:
            base.close()
    narrowed = _affected_groups(checkup, befores, is_chosen=named.config is not None, is_whole=is_whole)
    return narrowed.replace(results=(*narrowed.results, *hidden))


def _hidden_changes(checkup: Checkup, bases: Sequence[Base]) -> list[Result]:
    """Return results about changed files with workloads that git tracks although a `.gitignore` excludes them.

    The results show that the changes are not checked.
    """
    ignored = {real(name): (name, each.by) for name, each in checkup.skipped if each.reason is Reason.IGNORED}
    if not ignored:
        return []
    head = Base("HEAD", bases[0].top)
    head.close()
    results: list[Result] = []
    for path in sorted({path for base in (head, *bases) for path in base.paths if path.endswith(SUFFIXES)}):
        above = next((each for each in (path, *map(str, Path(path).parents)) if each in ignored), None)
        if above is None or all(base.has_same(path) for base in bases):
            continue
        if workloads_in((_content(path) or b"").decode("utf-8", "replace")):
            name, by = ignored[above]
            message = (
                f'"{by}" excludes this file, but git tracks it. Remove the pattern from "{by}", or the file from git'
            )
            file = ResultFile(name + path[len(above) :].replace(os.sep, "/"))
            results.append(Result(message, file=file, tags={"rule": READABLE.name}))
    return results


def _read(named: Named, bases: Iterable[Base]) -> Checkup:
    try:
        return read_groups(named)
    except UsageError:
        left = [
            path for path in named.paths if names_files(path) or not any(base.has_path(real(path)) for base in bases)
        ]
        if len(left) == len(named.paths):
            raise
    return read_groups(named.replace(paths=tuple(left))) if left else Checkup((), (), (), (), ())


class _Then(Record):
    """The state before the change. `files` maps the folder of a current configuration to its earlier files.

    `lost` are the folders that have lost files.
    """

    files: Mapping[str | None, list[InputFile]]
    lost: frozenset[str | None]


def _affected_groups(checkup: Checkup, befores: Sequence[Before], *, is_chosen: bool, is_whole: bool) -> Checkup:
    """Return the groups that the change affects, or all groups if `is_whole` is true.

    With `is_chosen`, one configuration applies to all files.
    """
    now = {path_of(file): file for file in checkup.files}
    around = {path_of(file): file for file in checkup.around}
    is_chosen = is_chosen or any(file.function_config is not None for file in checkup.files)
    folders = files_checked_together(now | around, is_chosen=is_chosen)
    reached = set(now) if is_whole else set[str]()
    states: list[_Then] = []
    for before in befores:
        then, today = before.files | before.around, now | around | before.around_now
        by_then = files_checked_together(then, is_chosen=is_chosen)
        changed = reach(
            _digests(then, by_then, before.same, "before"),
            _digests(today, files_checked_together(today, is_chosen=is_chosen), before.same, "after"),
        )
        reached.update(changed.reached, changed.added)
        states.append(_state(before, by_then, folders))
    groups: list[Group] = []
    for group in checkup.groups:
        folder = folders[path_of(group.files[0])] if group.files else None
        unchanged = [file for file in group.files if path_of(file) not in reached]
        if len(unchanged) < len(group.files) or any(folder in state.lost for state in states):
            names = frozenset(str(file.path.name) for file in unchanged)
            packages = [_package(group, state.files.get(folder, ())) for state in states]
            groups.append(group.replace(unchanged=names, before=tuple(packages)))
    files = tuple(file for path, file in now.items() if path in reached)
    skipped = [each for each in checkup.skipped if each[1].reason.is_of_the_package and _is_new(each[0], befores)]
    return checkup.replace(
        groups=tuple(groups),
        files=files,
        results=tuple(
            result
            for result in _results_of_change(checkup.results, now, folders, reached)
            if not (_is_of_a_build(result) and all(_key_of(result) in before.build_results for before in befores))
        ),
        skipped=tuple(skipped),
    )


def _state(before: Before, by_then: Mapping[str, str | None], folders: Mapping[str, str | None]) -> _Then:
    files: dict[str | None, list[InputFile]] = {}
    for path, file in before.files.items():
        files.setdefault(folders.get(path, by_then[path]), []).append(file)
    return _Then(files, frozenset(by_then[path] for path in before.files if path not in folders))


def _package(group: Group, files: Iterable[InputFile]) -> Package:
    """Return the package of the group with only the objects and documents of `files`."""
    files, own = list(files), {id(document) for document in documents_of(group.files)}
    beside = [document for document in group.package.documents if id(document) not in own]
    return group.package.replace(items=readable_objects(files), documents=(*documents_of(files), *beside))


def _digests(
    files: Mapping[str, InputFile], folders: Mapping[str, str | None], same: frozenset[str], side: str
) -> dict[str, str]:
    """Return a digest of the complete input of each file, which includes the file itself.

    The digest of a changed file contains the name of its `side`, so that the two sides differ.
    """
    own = {path: f"{'' if path in same else side} {file.skip_reason}" for path, file in files.items()}
    defined: dict[str | None, list[str]] = {}
    for path in sorted(files):
        if files[path].function_config is not None or keep_definitions(files[path]).documents:
            defined.setdefault(folders[path], []).append(f"{path} {own[path]}")
    return {path: "\0".join([text, str(folders[path]), *defined.get(folders[path], ())]) for path, text in own.items()}


def _is_new(name: str, befores: Iterable[Before]) -> bool:
    at = real(name)
    return any(at not in before.same for before in befores)


def _is_of_a_build(result: Result) -> bool:
    """Return True for a result of a build. It is reported at the owner, which may be an unchanged file."""
    from packwise.build.summary import RULES

    return result.tags.get("rule") in {rule.name for rule in RULES}


def _results_of_change(
    results: Iterable[Result], now: Mapping[str, InputFile], folders: Mapping[str, str | None], reached: set[str]
) -> Iterable[Result]:
    """Return the results about unreadable files that concern the change or prevent a check of it."""
    applied = {folders[path] for path in reached if path in folders}
    passed: set[str] = set()
    for path, file in now.items():
        if path not in reached and not (is_broken_configuration(file) and folders[path] in applied):
            passed.add(str(file.path.name))
    return [
        result for result in results if result.file is None or result.file.path not in passed or _is_of_a_build(result)
    ]
