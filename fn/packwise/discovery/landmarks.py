"""Files that say what others are: charts, kustomizations, and the list that `render -o` keeps.

Source: Helm "The Chart File Structure"; kustomize, the Kustomization fields. All paths are slash-separated.
"""

from __future__ import annotations

import posixpath
import re

from krmfn.hints import TYPE_CHECKING
from krmfn.record import NamedTuple
from packwise.discovery.reason import LeftOut, Reason

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from krmfn.value import Value

__all__ = ["KUSTOMIZATIONS", "LANDMARKS", "RENDERED_LIST", "Landmarks", "mapping_in", "texts_in"]

_CHART = "Chart.yaml"
KUSTOMIZATIONS = ("kustomization.yaml", "kustomization.yml", "Kustomization")
"""Names of a kustomization's file."""

RENDERED_LIST = ".packwise.sha256"
"""Name of the list of the files that packwise wrote into a folder."""

LANDMARKS = frozenset({_CHART, *KUSTOMIZATIONS, RENDERED_LIST})
"""Names of files that say what others are."""

_LISTED = re.compile(r"\\?[0-9a-f]{64}  ([^\n]+)")
_VALUES = re.compile(r"([^/]*[-_.])?values([-_.][^/]*)?\.(ya?ml|json)", re.IGNORECASE)

_PATCHES = ("patches", "patchesJson6902")
"""Lists of a kustomization whose entries name a file in `path`."""


class Landmarks(NamedTuple):
    """What the landmarks below one top say, by the path of the file or folder that they say it of."""

    files: Mapping[str, LeftOut] = {}
    charts: Mapping[str, str] = {}
    components: Mapping[str, str] = {}
    kustomizations: frozenset[str] = frozenset()

    @classmethod
    def of(cls, texts: Mapping[str, str], top: str = "") -> Landmarks:
        """The landmarks whose texts are `texts`, by path; a list of rendered files counts below the folder `top` only.

        What is no YAML says nothing.
        """
        files: dict[str, LeftOut] = {}
        charts: dict[str, str] = {}
        components: dict[str, str] = {}
        for path, text in sorted(texts.items()):
            folder, name = posixpath.split(path)
            if name == _CHART:
                charts[folder] = path
                files[path] = LeftOut(Reason.HELM_CHART)
            elif name == RENDERED_LIST:
                if folder != top and (not top or folder.startswith(f"{top}/")):
                    files.update((file, LeftOut(Reason.RENDERED, path)) for file in _rendered(folder, text))
            else:
                value = mapping_in(text)
                if value.get("kind") == "Component":
                    components[folder] = path
                    files[path] = LeftOut(Reason.COMPONENT)
                for file, reason in _named(value):
                    files.setdefault(_joined(folder, file), LeftOut(reason, path))
        kustomizations = frozenset([path for path in texts if posixpath.basename(path) in KUSTOMIZATIONS])
        return cls(files, charts, components, kustomizations)

    def left_out(self, path: str) -> LeftOut | None:
        """Why the file at `path` is not judged; None where the landmarks do not say so."""
        if not self.files and not self.charts and not self.components:
            return None
        named = self.files.get(path)
        if named is not None:
            return named
        name = posixpath.basename(path)
        below: str = path
        while below:
            folder: str = posixpath.dirname(below)
            chart = self.charts.get(folder)
            if chart is not None:
                inner = path.removeprefix(f"{folder}/") if folder else path
                if inner.startswith("templates/"):
                    return LeftOut(Reason.HELM_TEMPLATE, chart)
                if _VALUES.fullmatch(name):
                    return LeftOut(Reason.VALUES, chart)
            component = self.components.get(folder)
            if component is not None:
                return LeftOut(Reason.COMPONENT, component)
            below = folder
        return None


def is_values(path: str) -> bool:
    """Whether the file's name is that of Helm values."""
    return _VALUES.fullmatch(posixpath.basename(path)) is not None


def _rendered(folder: str, text: str) -> Iterator[str]:
    for line in text.splitlines():
        match = _LISTED.fullmatch(line)
        if match is not None:
            path = match[1].replace(r"\n", "\n") if line.startswith("\\") else match[1]
            yield _joined(folder, path)


def _named(value: Mapping[str, Value]) -> Iterator[tuple[str, Reason]]:
    """The files that a kustomization names and that are no objects of their own."""
    for key in _PATCHES:
        yield from ((path, Reason.PATCH) for path in _paths(value.get(key), "path"))
    # An entry may be the patch itself.
    merged = value.get("patchesStrategicMerge")
    yield from ((entry, Reason.PATCH) for entry in texts_in(merged) if "\n" not in entry)
    yield from ((entry, Reason.FOREIGN) for entry in texts_in(value.get("configurations")))
    yield from ((path, Reason.FOREIGN) for path in _paths(value.get("replacements"), "path"))
    charts = value.get("helmCharts")
    yield from ((path, Reason.VALUES) for path in _paths(charts, "valuesFile"))
    for chart in charts if isinstance(charts, list) else ():
        if isinstance(chart, dict):
            yield from ((entry, Reason.VALUES) for entry in texts_in(chart.get("additionalValuesFiles")))


def _paths(entries: Value, key: str) -> Iterator[str]:
    for entry in entries if isinstance(entries, list) else ():
        path = entry.get(key) if isinstance(entry, dict) else None
        if isinstance(path, str) and path:
            yield path


def texts_in(entries: Value) -> list[str]:
    """The entries of a list that are texts, and not empty."""
    return [entry for entry in entries if isinstance(entry, str) and entry] if isinstance(entries, list) else []


def _joined(folder: str, path: str) -> str:
    return posixpath.normpath(posixpath.join(folder, path))


def mapping_in(text: str) -> Mapping[str, Value]:
    """The mapping that a text is; an empty one where it is none."""
    from krmfn.yamltext import YamlError, read

    try:
        value = read(text)
    except YamlError:
        return {}
    return value if isinstance(value, dict) else {}
