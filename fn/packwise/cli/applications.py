"""Applications of Argo CD among the files that are read, beside the folders of the same repository that they name."""

from __future__ import annotations

import os
import re
from functools import cache
from pathlib import Path

from krmfn.hints import TYPE_CHECKING
from packwise.cli.git import remote_urls
from packwise.cli.input_paths import contains, folder_of, from_top, top_of
from packwise.cli.reader import readable_items
from packwise.commands.applications import Folders, unnamed_plugins
from packwise.discovery import KUSTOMIZATIONS
from packwise.settings.recognition import is_settings

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from krmfn.kubeobject import KubeObject
    from krmfn.result import Result
    from packwise.cli.document import InputFile

__all__ = ["application_results"]


def application_results(
    applications: Iterable[tuple[InputFile, KubeObject]], files: Sequence[InputFile]
) -> list[Result]:
    """What is wrong with Applications over folders that hold a TopologyRender among `files`."""
    named = [file for file in files if file.path.name is not None]
    renders = [file.path.identity for file in named if any(is_settings(item) for item in readable_items(file))]
    results: dict[str, Result] = {}
    for file, application in applications:
        if file.path.name is None:
            continue
        for top in _tops(file.path.identity, named):
            folders = _folders(top, [path for path in renders if contains(top, path)])
            for finding in unnamed_plugins(application, folders):
                result = finding.to_result()
                results[str(result)] = result
    return list(results.values())


def _tops(at: str, files: Iterable[InputFile]) -> Iterator[str]:
    """The folders that may be the top of the repository of a file: one, where there is a repository."""
    top = top_of(folder_of(at))
    if os.path.lexists(os.path.join(top, ".git")):  # noqa: PTH118
        yield top
        return
    common = os.path.commonpath([folder_of(file.path.identity) for file in files])
    yield from (str(folder) for folder in Path(at).parents if contains(common, str(folder)))


def _folders(top: str, renders: Iterable[str]) -> Folders:
    remotes = cache(lambda: {address for url in remote_urls(top) if (address := _address(url)) is not None})

    def is_kustomization(folder: str) -> bool:
        return any(os.path.lexists(Path(top) / folder / name) for name in KUSTOMIZATIONS)

    def is_here(url: str) -> bool:
        # A clone of a folder of this machine, or none, does not tell what others call the repository.
        return "{{" not in url and (not remotes() or _address(url) in remotes())

    return Folders([from_top(path, top) for path in renders], is_kustomization, is_here)


_URL = re.compile(r"(?:[a-z][a-z+]*://)?(?:[^@/]*@)?([\w.-]+)(?::\d+(?=/))?[:/]/*+(.*[^/])/*+", re.IGNORECASE)


def _address(url: str) -> tuple[str, str] | None:
    """Host and path, however a client speaks to it; None of a path of this machine."""
    match = None if url.startswith(("/", ".", "~", "file:")) else _URL.fullmatch(url.strip())
    return match and (match[1].lower(), match[2].lower().removesuffix(".git"))
