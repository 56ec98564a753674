"""Argo CD Applications over folders that packwise's plugin renders, and a check that they name the plugin.

If no Application names a plugin for a folder, Argo CD asks all plugins. If that search times out, no plugin renders the
folder, and Argo CD applies its files directly (argo-cd #24004). Source: spec/gitops.md.
"""

from __future__ import annotations

import os
import posixpath
import re
from fnmatch import fnmatchcase
from functools import cache
from pathlib import Path

from krmfn.hints import TYPE_CHECKING, Record
from krmfn.result import Severity
from packwise.discovery import KUSTOMIZATIONS
from packwise.findings import Finding, Rule
from packwise.inputs.git import remote_urls, repository_address
from packwise.inputs.paths import contains, folder_of, from_top, top_of
from packwise.inputs.reader import readable_items
from packwise.lenient import entries, value_at
from packwise.settings.configuration import is_settings

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence

    from krmfn.fieldpath import FieldPath
    from krmfn.kubeobject import KubeObject
    from krmfn.result import Result
    from krmfn.value import Value
    from packwise.inputs.reader import InputFile


def application_results(
    applications: Iterable[tuple[InputFile, KubeObject]], files: Sequence[InputFile]
) -> list[Result]:
    """Return results about Applications over folders that hold a TopologyRender among `files`."""
    named = [file for file in files if file.path.name is not None]
    renders = [file.path.real_path for file in named if any(is_settings(item) for item in readable_items(file))]
    results: dict[str, Result] = {}
    for file, application in applications:
        if file.path.name is None:
            continue
        for top in _tops(file.path.real_path, named):
            folders = _folders_below(top, [path for path in renders if contains(top, path)])
            for finding in unnamed_plugins(application, folders):
                result = finding.to_result()
                results[str(result)] = result
    return list(results.values())


def _tops(at: str, files: Iterable[InputFile]) -> Iterator[str]:
    """Yield the possible tops of the repository of a file. There is one top if the file is in a repository."""
    top = top_of(folder_of(at))
    if os.path.lexists(os.path.join(top, ".git")):  # noqa: PTH118
        yield top
        return
    common = os.path.commonpath([folder_of(file.path.real_path) for file in files])
    yield from (str(folder) for folder in Path(at).parents if contains(common, str(folder)))


def _folders_below(top: str, renders: Iterable[str]) -> Folders:
    remotes = cache(lambda: {address for url in remote_urls(top) if (address := repository_address(url)) is not None})

    def is_kustomization(folder: str) -> bool:
        return any(os.path.lexists(Path(top) / folder / name) for name in KUSTOMIZATIONS)

    def is_here(url: str) -> bool:
        # Without remotes, the URL of the repository is unknown: the folder is a clone of a local one, or has no git.
        return "{{" not in url and (not remotes() or repository_address(url) in remotes())

    return Folders([from_top(path, top) for path in renders], is_kustomization, is_here)


UNNAMED = Rule(
    "argocd-plugin-unnamed",
    "An Application does not name the plugin that renders its folder.",
    "spec/gitops.md#3.8",
    Severity.WARNING,
)
RULES = (UNNAMED,)
"""Rules of files that deliver rendered objects."""

_GROUP = "argoproj.io"
_PLUGIN = "packwise"
_NEWEST = (None, "", "HEAD", "main", "master")
_EXPLICIT = ("chart", "helm", "kustomize", "directory")
"""Fields of a source that make Argo CD ask no plugin."""


class Folders(Record):
    """The folders of one repository that packwise's plugin may render.

    `renders` are the paths of files with a TopologyRender, from the top of the repository. `is_kustomization` returns
    True if kustomize builds a folder. `is_here` returns True for a URL of this repository.
    """

    renders: Collection[str]
    is_kustomization: Callable[[str], bool]
    is_here: Callable[[str], bool]

    def is_found(self, folder: str) -> bool:
        """Return True if the plugin renders a folder, as `discover` in argocd-plugin/generate.sh decides."""
        inside = "" if folder == "." else f"{folder}/"
        return any(path.startswith(inside) for path in self.renders) and not self.is_kustomization(folder)


def unnamed_plugins(application: KubeObject, folders: Folders) -> Iterator[Finding]:
    """Yield findings about sources of an Application that do not name their plugin.

    Objects of other groups are skipped.
    """
    if str(application.value.get("apiVersion")).partition("/")[0] != _GROUP:
        return
    for path, source, elements in _sources(application.value):
        plugin = source.get("plugin")
        names = value_at(plugin, "name")
        if names or any(field in source for field in _EXPLICIT):
            continue
        config = _parameter(plugin, "config")
        for folder in _folders(source, elements, folders):
            is_newest = source.get("targetRevision") in _NEWEST
            # The root of another branch is probably the output of CI.
            if folder.startswith("../") or (folder == "." and not is_newest):
                continue
            named = config is not None and posixpath.normpath(posixpath.join(folder, config)) in folders.renders
            if (named or folders.is_found(folder)) and folders.is_here(str(source.get("repoURL"))):
                message = (
                    f"the Application must name the plugin, as in plugin: {{name: {_PLUGIN}}}. Without it, a search "
                    f'of Argo CD that times out finds no plugin, and Argo CD applies the files of "{folder}" without '
                    "rendering"
                )
                yield Finding.of(UNNAMED, application, path, message, at_key=True)
                break


def _sources(value: Mapping[str, Value]) -> Iterator[tuple[FieldPath, Mapping[str, Value], tuple[Value, ...]]]:
    """Yield the sources of an Application, or of the template in an ApplicationSet.

    Each source has its path in the object and the generators, which an Application lacks.
    """
    path: FieldPath = ("spec",)
    spec = value.get("spec")
    generators: tuple[Value, ...] = ()
    if value.get("kind") == "ApplicationSet":
        listed = _field_of(spec, "generators")
        generators = tuple(listed) if isinstance(listed, list) else ()
        path, spec = ("spec", "template", "spec"), _field_of(_field_of(spec, "template"), "spec")
    several = _field_of(spec, "sources")
    if isinstance(several, list) and several:
        # Argo CD ignores `source` if `sources` is set.
        for index, source in enumerate(several):
            if isinstance(source, dict):
                yield (*path, "sources", index), source, generators
        return
    source = _field_of(spec, "source")
    if isinstance(source, dict):
        yield (*path, "source"), source, generators


def _folders(source: Mapping[str, Value], generators: Iterable[Value], folders: Folders) -> Iterator[str]:
    """Yield the folders of a source from the top of its repository.

    A template yields one for each set of parameters.
    """
    path = source.get("path")
    if not isinstance(path, str):
        return
    if "{{" not in path:
        yield posixpath.normpath(path.strip("/") or ".")
        return
    for generator in generators:
        for element in _elements(generator, source, folders):
            filled = _EXPRESSION.sub(lambda match, element=element: element.get(match[1], match[0]), path)
            if "{{" not in filled:
                yield posixpath.normpath(filled.strip("/") or ".")


_EXPRESSION = re.compile(r"\{\{ *\.?([\w.]+) *\}\}")


def _elements(generator: Value, source: Mapping[str, Value], folders: Folders) -> Iterator[dict[str, str]]:
    """Yield the parameters of a generator: of its list, or of its folders if they are in the repository of
    the source.
    """
    elements = _field_of(_field_of(generator, "list"), "elements")
    for element in entries(elements):
        if isinstance(element, dict):
            yield {key: text for key, text in element.items() if isinstance(text, str)}
    git = _field_of(generator, "git")
    directories = _field_of(git, "directories")
    if not isinstance(directories, list) or _field_of(git, "repoURL") != source.get("repoURL"):
        return
    globs = [(each.get("path"), bool(each.get("exclude"))) for each in directories if isinstance(each, dict)]
    above = {parent for path in folders.renders for parent in _parents(path)}
    for folder in sorted(above):
        taken = [excluded for glob, excluded in globs if isinstance(glob, str) and _matches(folder, glob)]
        if taken and not any(taken):
            name = posixpath.basename(folder)
            yield {"path": folder, "path.path": folder, "path.basename": name}


def _parents(path: str) -> Iterator[str]:
    folder = posixpath.dirname(path)
    while folder:
        yield folder
        folder = posixpath.dirname(folder)


def _matches(folder: str, glob: str) -> bool:
    """Return True if the generator's glob matches the folder. A `*` does not match "/"."""
    steps, patterns = folder.split("/"), glob.strip("/").split("/")
    return len(steps) == len(patterns) and all(map(fnmatchcase, steps, patterns))


def _parameter(plugin: Value, name: str) -> str | None:
    """Return the text of the plugin's parameter `name`, or None."""
    parameters = _field_of(plugin, "parameters")
    for each in entries(parameters):
        if _field_of(each, "name") == name:
            text = _field_of(each, "string")
            return text if isinstance(text, str) else None
    return None


def _field_of(value: Value, field: str) -> Value:
    return value_at(value, field)
