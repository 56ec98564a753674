"""The files at named paths, the files that are built from their sources, and the results of these builds."""

from __future__ import annotations

import os
from contextlib import contextmanager
from pathlib import Path

from krmfn.hints import TYPE_CHECKING
from packwise.build.builder import Builder
from packwise.build.deliveries import Delivered, deliver, repository_of
from packwise.build.files import built_files
from packwise.build.links import Trees
from packwise.build.summary import results_of
from packwise.build.tree import CommitTree, DiskTree
from packwise.discovery import Reason, SkipReason
from packwise.inputs.git import Commit, checkout_names, remote_urls
from packwise.inputs.paths import contains, real, top_of
from packwise.inputs.reader import BuiltInputs, Sources, is_readable
from packwise.objects.workloads_in_text import workloads_in
from packwise.settings.configuration import is_operator, is_settings

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterable, Sequence

    from krmfn.kubeobject import KubeObject
    from krmfn.result import Result
    from packwise.build.builder import Store
    from packwise.build.cache import Cache
    from packwise.build.tree import FileTree
    from packwise.inputs.reader import InputFile


def build_named(
    paths: Sequence[str],
    files: Sequence[InputFile],
    skipped: Sequence[tuple[str, SkipReason]],
    commit: str | None = None,
    *,
    requires: bool = False,
) -> BuiltInputs:
    """Return `files` at `paths` without the ones that builds read, and the built files.

    The sources of the builds are in `commit`, or on disk if `commit` is None. Raise UsageError if the commit is
    unreadable.
    """
    named = [real(path) for path in paths]
    tops = dict.fromkeys([top_of(_nearest_folder(path)) for path in named])
    kept, sources, remaining = list(files), Sources(), list(skipped)
    results: list[Result] = []
    built: list[InputFile] = []
    around: list[InputFile] = []
    for top in tops:
        with _open_tree(top, commit) as tree:
            delivered = _deliver(tree, top, named)
            show = _path_shower(top, commit)
            built += built_files(delivered.built, Trees.of(tree), top, show)
        reads = {os.path.join(top, path) for path in delivered.reads}  # noqa: PTH118
        in_builds = {os.path.join(top, path) for each in delivered.built for path in each.reads}  # noqa: PTH118
        kept, read, passed = _without_reads(kept, reads, commit)
        around += [file for file in read if _real_path(str(file.path.name), commit) not in in_builds]
        remaining = [each for each in (*remaining, *passed) if _real_path(each[0], commit) not in in_builds]
        results += results_of(delivered, show, requires=requires)
        unbuilt = [(each.owner.title, each.obstacle.value, each.reason) for each in delivered.unbuilt]
        sources = Sources(sources.built + len(delivered.built), (*sources.unbuilt, *unbuilt))
    return BuiltInputs((*kept, *built), tuple(remaining), tuple(results), sources, tuple(around))


def _nearest_folder(path: str) -> str:
    """Return the nearest existing folder at or above a path, because a commit's folder may be gone."""
    folder = Path(path)
    while not folder.is_dir() and folder != folder.parent:
        folder = folder.parent
    return str(folder)


@contextmanager
def _open_tree(top: str, commit: str | None) -> Generator[FileTree]:
    """Yield the files of a repository, on disk or in a commit. Raise UsageError if the commit is unreadable."""
    disk = DiskTree(top, "")
    if commit is None:
        yield disk
        return
    opened = Commit(commit, top)
    try:
        yield CommitTree(opened, "", disk)
    finally:
        opened.close()


def _real_path(name: str, commit: str | None) -> str:
    return real(name if commit is None else name.removeprefix(f"{commit}:"))


def _deliver(tree: FileTree, top: str, named: Sequence[str]) -> Delivered:
    def is_in_scope(path: str) -> bool:
        at = os.path.join(top, path) if path else top  # noqa: PTH118
        return any(contains(each, at) for each in named)

    with _open_store() as store:
        return deliveries_of(tree, top, is_in_scope, store)


def deliveries_of(tree: FileTree, top: str, is_in_scope: Callable[[str], bool], store: Store | None) -> Delivered:
    """Return the deliveries in scope from the files of the repository `top`. Their outputs are cached in `store`."""
    repository = repository_of(tree, remote_urls(top), checkout_names(top))
    return deliver(repository, Builder(tree, store, _advance), is_in_scope)


@contextmanager
def _open_store() -> Generator[Store | None]:
    """Yield the user's cache as a store of builds, or None if the user has no home."""
    from packwise.build.cache import default_place, open_cache

    place = default_place()
    if place is None:
        yield None
        return
    with open_cache(place, lambda _: None) as cache:
        yield store_in(cache)


def store_in(cache: Cache) -> Store:
    """Return `cache` as a store of builds."""

    def store(key: str, value: bytes | None) -> bytes | None:
        if value is None:
            return cache.get(key)
        cache.put(key, value)
        return value

    return store


def _advance(done: int, number: int) -> None:
    import sys

    if sys.stderr.isatty() and number > 1:
        sys.stderr.write(f"\rbuilt {done} of {number} sources" if done < number else "\r\033[K")
        sys.stderr.flush()


def _path_shower(top: str, commit: str | None) -> Callable[[str], str]:
    here = real(".")
    start = "" if commit is None else f"{commit}:"

    def show(path: str) -> str:
        at = os.path.join(top, path) if path else top  # noqa: PTH118
        return start + Path(os.path.relpath(at, here)).as_posix()

    return show


def _without_reads(
    files: Iterable[InputFile], reads: set[str], commit: str | None
) -> tuple[list[InputFile], list[InputFile], list[tuple[str, SkipReason]]]:
    """Return the files that no build reads, the other files without their workloads, and the reason to skip each of
    these.

    Documents with packwise's configuration stay among the first.
    """
    kept: list[InputFile] = []
    read: list[InputFile] = []
    passed: list[tuple[str, SkipReason]] = []
    for file in files:
        at = None if file.path.name is None else _real_path(file.path.name, commit)
        if at not in reads or file.skip_reason is not None:
            kept.append(file)
            continue
        configuring = tuple(each for each in file.documents if any(map(_configures, each.items)))
        defining = tuple(each for each in file.documents if each.items and not workloads_in(each.text))
        if configuring:
            kept.append(file.replace(documents=configuring))
        elif defining:
            read.append(file.replace(documents=defining))
        passed.append((str(file.path.name), SkipReason(Reason.UNBUILT, "", workloads_in(file.text))))
    return kept, read, passed


def _configures(item: KubeObject) -> bool:
    return is_readable(item) and (is_settings(item) or is_operator(item))
