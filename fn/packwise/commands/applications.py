"""Applications of Argo CD over folders that packwise's plugin renders, and whether they name it.

Source: spec/gitops.md.

Argo CD asks its plugins about a folder for which no Application names one. Where that search is cut off, the folder is
no plugin's, and its files are applied as they stand (argo-cd #24004).
"""

from __future__ import annotations

import posixpath
import re
from fnmatch import fnmatchcase

from krmfn.hints import TYPE_CHECKING
from krmfn.record import NamedTuple
from krmfn.result import Severity
from packwise.findings.finding import Finding, Rule

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Mapping

    from krmfn.fieldpath import FieldPath
    from krmfn.kubeobject import KubeObject
    from krmfn.value import Value

__all__ = ["RULES", "Folders", "unnamed_plugins"]

UNNAMED = Rule(
    "argocd-plugin-unnamed",
    "An Application over a folder that packwise renders names the plugin.",
    "spec/gitops.md#3.8",
    Severity.WARNING,
)
RULES = (UNNAMED,)
"""Rules of the files that deliver what packwise renders."""

_GROUP = "argoproj.io"
_PLUGIN = "packwise"
_NEWEST = (None, "", "HEAD", "main", "master")
_EXPLICIT = ("chart", "helm", "kustomize", "directory")
"""Fields of a source by which Argo CD asks no plugin."""


class Folders(NamedTuple):
    """Of one repository, the files that hold a TopologyRender (`renders`), by their paths from its top.

    `is_kustomization` answers of a folder whether kustomize builds it, `is_here` of a URL whether it is that of the
    repository.
    """

    renders: Collection[str]
    is_kustomization: Callable[[str], bool]
    is_here: Callable[[str], bool]

    def is_found(self, folder: str) -> bool:
        """Whether the plugin says of a folder that it renders it, as `discover` in argocd-plugin/generate.sh does."""
        inside = "" if folder == "." else f"{folder}/"
        return any(path.startswith(inside) for path in self.renders) and not self.is_kustomization(folder)


def unnamed_plugins(application: KubeObject, folders: Folders) -> Iterator[Finding]:
    """Findings about sources that leave it to Argo CD to find the plugin; none of an object of another group."""
    if str(application.value.get("apiVersion")).partition("/")[0] != _GROUP:
        return
    for path, source, elements in _sources(application.value):
        plugin = source.get("plugin")
        names = plugin.get("name") if isinstance(plugin, dict) else None
        if names or any(field in source for field in _EXPLICIT):
            continue
        config = _parameter(plugin, "config")
        for folder in _folders(source, elements, folders):
            is_newest = source.get("targetRevision") in _NEWEST
            # Of another branch its root is as likely what CI rendered.
            if folder.startswith("../") or (folder == "." and not is_newest):
                continue
            named = config is not None and posixpath.normpath(posixpath.join(folder, config)) in folders.renders
            if (named or folders.is_found(folder)) and folders.is_here(str(source.get("repoURL"))):
                message = (
                    f'must name the plugin, as in plugin: {{name: {_PLUGIN}}}, since packwise renders "{folder}": a '
                    "search of Argo CD's that is cut off finds no plugin, and applies the files as they stand"
                )
                yield Finding.of(UNNAMED, application, path, message, at_key=True)
                break


def _sources(value: Mapping[str, Value]) -> Iterator[tuple[FieldPath, Mapping[str, Value], tuple[Value, ...]]]:
    """The sources of an Application, or of the template of a set, with the generators that fill it in."""
    path: FieldPath = ("spec",)
    spec = value.get("spec")
    generators: tuple[Value, ...] = ()
    if value.get("kind") == "ApplicationSet":
        listed = _at(spec, "generators")
        generators = tuple(listed) if isinstance(listed, list) else ()
        path, spec = ("spec", "template", "spec"), _at(_at(spec, "template"), "spec")
    several = _at(spec, "sources")
    if isinstance(several, list) and several:
        # The one source does not count beside them.
        for index, source in enumerate(several):
            if isinstance(source, dict):
                yield (*path, "sources", index), source, generators
        return
    source = _at(spec, "source")
    if isinstance(source, dict):
        yield (*path, "source"), source, generators


def _folders(source: Mapping[str, Value], generators: Iterable[Value], folders: Folders) -> Iterator[str]:
    """The folders that a source names, from the top of its repository; a template names those it is filled in with."""
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
    """What a generator of a list, or of the folders of the same repository, fills in."""
    elements = _at(_at(generator, "list"), "elements")
    for element in elements if isinstance(elements, list) else ():
        if isinstance(element, dict):
            yield {key: text for key, text in element.items() if isinstance(text, str)}
    git = _at(generator, "git")
    directories = _at(git, "directories")
    if not isinstance(directories, list) or _at(git, "repoURL") != source.get("repoURL"):
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
    """As the generator does it: a `*` stays within a step of the path."""
    steps, patterns = folder.split("/"), glob.strip("/").split("/")
    return len(steps) == len(patterns) and all(map(fnmatchcase, steps, patterns))


def _parameter(plugin: Value, name: str) -> str | None:
    """The text of a parameter of the plugin."""
    parameters = _at(plugin, "parameters")
    for each in parameters if isinstance(parameters, list) else ():
        if _at(each, "name") == name:
            text = _at(each, "string")
            return text if isinstance(text, str) else None
    return None


def _at(value: Value, field: str) -> Value:
    return value.get(field) if isinstance(value, dict) else None
