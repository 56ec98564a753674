"""The role of a file in a repository: checked, or skipped for a reason.

These are pure functions of paths and texts. `packwise.inputs` walks the disk or a commit and calls them.
"""

from __future__ import annotations

import posixpath
import re
from collections import Counter
from enum import Enum

from krmfn.hints import TYPE_CHECKING, Record
from krmfn.yamltext import YamlError, read
from packwise.globs import Globs
from packwise.wording import count_text

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from krmfn.value import Value


class Reason(Enum):
    """Reasons to skip a file, each with the noun for one such file and for several. Summaries keep this order."""

    HELM_TEMPLATE = ("Helm template", "Helm templates")
    HELM_CHART = ("Helm chart", "Helm charts")
    VALUES = ("values file", "values files")
    PATCH = ("patch", "patches")
    COMPONENT = ("file of a component", "files of components")
    TEMPLATE = ("template", "templates")
    RESOURCE_LIST = ("ResourceList", "ResourceLists")
    ENCRYPTED = ("encrypted file", "encrypted files")
    FOREIGN = ("foreign file", "foreign files")
    UNBUILT = ("file of a source that is not built", "files of sources that are not built")
    RENDERED = ("rendered file", "rendered files")
    IGNORED = ("ignored path", "ignored paths")
    EXCLUDED = ("excluded path", "excluded paths")

    @property
    def noun(self) -> str:
        """Return the noun for one file."""
        return self.value[0]

    @property
    def plural(self) -> str:
        """Return the noun for several files."""
        return self.value[1]

    @property
    def is_of_the_package(self) -> bool:
        """Return True if the file belongs to the package but is not checked. `render` copies it."""
        return self not in (Reason.RENDERED, Reason.IGNORED, Reason.EXCLUDED)


class SkipReason(Record):
    """The reason to skip a file. `by` is the file that states the reason, or "" if the skipped file itself shows it.

    `workloads` is the likely number of workloads in the part of the file that was read.
    """

    reason: Reason
    by: str = ""
    workloads: int = 0

    @property
    def description(self) -> str:
        """Return the reason and the file that states it: `patch (overlays/east/kustomization.yaml)`."""
        return f"{self.reason.noun} ({self.by})" if self.by else self.reason.noun


def summary(reasons: Iterable[Reason]) -> str:
    """Return `14 Helm templates, 3 patches`, or "" without skipped files."""
    counted = Counter(reasons)
    return ", ".join(count_text(counted[reason], reason.noun, reason.plural) for reason in Reason if counted[reason])


_ADVICE = {
    Reason.HELM_TEMPLATE: "helm template … | packwise check -",
    Reason.COMPONENT: "kustomize build … | packwise check -",
    Reason.RESOURCE_LIST: "packwise check FILE",
    Reason.ENCRYPTED: "sops --decrypt … | packwise check -",
}
"""Advice to check workloads that were skipped, by the reason."""


def count_unchecked(numbers: Iterable[tuple[str, int]], verb: str = "checked") -> list[str]:
    """Return a line for each reason: `3 Helm templates hold workloads that were not checked: helm template … | packwise
    check -`.

    `numbers` has pairs of a noun and a number. If the noun is the noun of a `Reason`, the number counts skipped files.
    Otherwise the number counts workloads that were not checked because of errors.
    """
    by_noun = {reason.noun: reason for reason in Reason}
    lines: list[str] = []
    for noun, number in numbers:
        reason = by_noun.get(noun)
        if reason is None:
            words = "workload was" if number == 1 else "workloads were"
            lines.append(f"{number} {words} not {verb}, because of errors")
            continue
        words = f"{noun} holds" if number == 1 else f"{reason.plural} hold"
        advice = f": {_ADVICE[reason]}" if reason in _ADVICE else ""
        lines.append(f"{number} {words} workloads that were not {verb}{advice}")
    return lines


_CHART = "Chart.yaml"
KUSTOMIZATIONS = ("kustomization.yaml", "kustomization.yml", "Kustomization")
"""Possible names of the file of a kustomization."""

RENDERED_LIST = ".packwise.sha256"
"""Name of the list of files that packwise wrote into a folder."""

LANDMARKS = frozenset({_CHART, *KUSTOMIZATIONS, RENDERED_LIST})
"""Names of files that describe the other files of their folder."""

_LISTED = r"\\?[0-9a-f]{64}  ([^\n]+)"
_VALUES = r"([^/]*[-_.])?values([-_.][^/]*)?\.(ya?ml|json)"

_PATCHES = ("patches", "patchesJson6902")
"""Lists of a kustomization with entries that name a file in `path`."""


class Landmarks(Record):
    """The contents of all landmarks below one folder.

    `files` maps files to the reason to skip them. `charts` and `components` map a folder to the file that describes it.
    `kustomizations` are the paths of all kustomizations.
    """

    files: Mapping[str, SkipReason] = {}
    charts: Mapping[str, str] = {}
    components: Mapping[str, str] = {}
    kustomizations: frozenset[str] = frozenset()

    @classmethod
    def of(cls, texts: Mapping[str, str], top: str = "") -> Landmarks:
        """Return the contents of the landmarks in `texts`, which maps their paths to their texts.

        A list of rendered files is read only in a folder below `top`. Texts that are not YAML are ignored.
        """
        files: dict[str, SkipReason] = {}
        charts: dict[str, str] = {}
        components: dict[str, str] = {}
        for path, text in sorted(texts.items()):
            folder, name = posixpath.split(path)
            if name == _CHART:
                charts[folder] = path
                files[path] = SkipReason(Reason.HELM_CHART)
            elif name == RENDERED_LIST:
                if folder != top and (not top or folder.startswith(f"{top}/")):
                    files.update((file, SkipReason(Reason.RENDERED, path)) for file in _rendered_paths(folder, text))
            else:
                value = mapping_in(text)
                if value.get("kind") == "Component":
                    components[folder] = path
                    files[path] = SkipReason(Reason.COMPONENT)
                for file, reason in _named_files(value):
                    files.setdefault(_join(folder, file), SkipReason(reason, path))
        kustomizations = frozenset(path for path in texts if posixpath.basename(path) in KUSTOMIZATIONS)
        return cls(files, charts, components, kustomizations)

    def reason_to_skip(self, path: str) -> SkipReason | None:
        """Return the reason to skip the file at `path` that a landmark states, or None."""
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
                    return SkipReason(Reason.HELM_TEMPLATE, chart)
                if re.fullmatch(_VALUES, name, re.IGNORECASE):
                    return SkipReason(Reason.VALUES, chart)
            component = self.components.get(folder)
            if component is not None:
                return SkipReason(Reason.COMPONENT, component)
            below = folder
        return None


def is_values(path: str) -> bool:
    """Return True if the name of the file is usual for Helm values."""
    return re.fullmatch(_VALUES, posixpath.basename(path), re.IGNORECASE) is not None


def _rendered_paths(folder: str, text: str) -> Iterator[str]:
    for line in text.splitlines():
        match = re.fullmatch(_LISTED, line)
        if match is not None:
            path = match[1].replace(r"\n", "\n") if line.startswith("\\") else match[1]
            yield _join(folder, path)


def _named_files(value: Mapping[str, Value]) -> Iterator[tuple[str, Reason]]:
    """Yield the files that a kustomization names and that are not objects themselves."""
    for key in _PATCHES:
        yield from ((path, Reason.PATCH) for path in _paths(value.get(key), "path"))
    # An entry may be an inline patch.
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
    """Return the non-empty texts in a list."""
    return [entry for entry in entries if isinstance(entry, str) and entry] if isinstance(entries, list) else []


def _join(folder: str, path: str) -> str:
    return posixpath.normpath(posixpath.join(folder, path))


def mapping_in(text: str) -> Mapping[str, Value]:
    """Return the mapping in the YAML text, or an empty one.

    If a key is written twice, the last value counts, as in kustomize.
    """
    try:
        value = read_kustomization(text)
    except YamlError:
        return {}
    return value if isinstance(value, dict) else {}


def read_kustomization(text: str) -> Value:
    """Return the value of a kustomization. Raise YamlError if the text is not YAML.

    If a key is written twice, the last value counts. Source: kustomize v5.8.2 reads the file with sigs.k8s.io/yaml, not
    strictly.
    """
    try:
        return read(text)
    except YamlError as error:
        if not re.search(_TWICE, error.message):
            raise
        kept = _with_last_keys(text)
        if kept is None:
            raise
    return read(kept)


def _with_last_keys(text: str) -> str | None:
    """Return the YAML text with only the last of equal keys. Return None if it is unreadable for another reason."""
    # The import is here because few repositories have such a kustomization.
    import yaml

    try:
        root = yaml.compose(text, Loader=yaml.SafeLoader)
        if root is None:
            return None
        waiting, seen = [root], set[int]()
        while waiting:
            node = waiting.pop()
            if id(node) in seen:
                continue
            seen.add(id(node))
            if isinstance(node, yaml.MappingNode):
                last = {(key.tag, str(key.value)): (key, value) for key, value in node.value}
                node.value = list(last.values())
                waiting += [each for pair in node.value for each in pair]
            elif isinstance(node, yaml.SequenceNode):
                waiting += node.value
        return yaml.serialize(root, Dumper=yaml.SafeDumper)  # pyright: ignore[reportUnknownMemberType]
    except (yaml.YAMLError, RecursionError, ValueError):
        return None


_TWICE = r"^duplicate key "
_DIRECTIVE = r"\{\{-?\s*[^{}\s]|\{%|%\{~?[ \t]*(?:if|for|else|endif|endfor)\b"
"""The start of a directive of Helm, Jinja or Terraform."""
_BLOCK = r"^[ \t]*\$\{[^\n{}]+\}[ \t]*$"
"""A line that envsubst or Terraform replaces by other lines."""
_ONLY_KYAML = r"^duplicate key |a text with \"\?\" within brackets must be in quotes$"
"""Errors of texts that kustomize refuses and other tools accept."""
_TYPED = r"""^["']?(?:apiVersion|kind)["']?[ \t]*:"""
_COMMENT = r"(^|[\s,{\[])(//|/\*)"
_OBJECT = r"""^[ \t]*(?:- )?["']?apiVersion["']?[ \t]*:|"apiVersion"[ \t]*:"""


def content_reason(path: str, values: Iterable[Value], *, has_objects: bool) -> Reason | None:
    """Return the reason to skip the file at `path` with the documents `values`. Return None if the file is checked.

    `has_objects` is true if a document is an object that packwise reads. Files without content are not skipped.
    """
    documents = [value for value in values if value is not None]
    if any(_is_encrypted(value) for value in documents):
        return Reason.ENCRYPTED
    if has_objects or not documents:
        return None
    return Reason.VALUES if is_values(path) else Reason.FOREIGN


def unparsed_reason(path: str, text: str, error: str = "") -> Reason | None:
    """Return the reason to skip the file at `path`, which is not YAML. Return None if no known tool reads such a text.

    `error` is the message of the YAML reader.
    """
    if re.search(_DIRECTIVE, text) or re.search(_BLOCK, text, re.MULTILINE):
        return Reason.TEMPLATE
    # Other tools use the last of two equal keys, and read a question mark as a character.
    if re.search(_ONLY_KYAML, error) and not re.search(_TYPED, text, re.MULTILINE | re.IGNORECASE):
        return Reason.VALUES if is_values(path) else Reason.FOREIGN
    # Editors and compilers write JSON with comments.
    if (
        path.endswith(".json")
        and re.search(_COMMENT, text, re.MULTILINE)
        and not re.search(_OBJECT, text, re.MULTILINE | re.IGNORECASE)
    ):
        return Reason.FOREIGN
    return None


ENCRYPTION = "sops"
"""The key that sops adds to each document that it encrypts."""


_KEYED = r"""(?:apiVersion|kind)["']?[ \t]*:"""


def is_of_another_tool(text: str) -> bool:
    """Return True if a file with invalid YAML cannot be a manifest, because it has no `apiVersion` and no `kind`."""
    return re.search(_KEYED, text, re.IGNORECASE) is None


def _is_encrypted(value: Value) -> bool:
    """Return True if sops encrypted the document.

    Source: sops README, "the sops metadata are stored in the branch sops".
    """
    sops = value.get(ENCRYPTION) if isinstance(value, dict) else None
    return isinstance(sops, dict) and ("mac" in sops or "lastmodified" in sops)


GITIGNORE = ".gitignore"


class Ignored(Record):
    """The `.gitignore` files that apply in one folder, from the top folder downwards. Each has its folder and its
    globs.
    """

    files: tuple[tuple[str, Globs], ...] = ()

    def with_gitignore(self, folder: str, text: str) -> Ignored:
        """Return these rules plus the `.gitignore` of `folder` with the text `text`. "" is the top folder."""
        # Git ends a line only at this byte.
        lines = [line.removesuffix("\r") for line in text.removeprefix("\ufeff").split("\n")]
        return Ignored((*self.files, (folder, Globs.read(lines))))

    def ignoring_file(self, path: str, *, is_folder: bool = False) -> str | None:
        """Return the `.gitignore` that ignores `path`, or None. Call it only if no folder above `path` is ignored."""
        for folder, globs in reversed(self.files):
            decision = globs.decision(path.removeprefix(f"{folder}/") if folder else path, is_folder=is_folder)
            if decision is not None:
                return posixpath.join(folder, GITIGNORE) if decision else None
        return None


def ignores_above(texts: Mapping[str, str], start: str) -> Ignored:
    """Return the ignore rules of the folders above `start`. `texts` maps folders to their `.gitignore`.

    If `start` itself is ignored, return no rules, because a user who names a folder wants it to be read.
    """
    ignored = Ignored()
    steps = start.split("/") if start else []
    for depth, _ in enumerate(steps):
        folder = "/".join(steps[:depth])
        if folder in texts:
            ignored = ignored.with_gitignore(folder, texts[folder])
        if ignored.ignoring_file("/".join(steps[: depth + 1]), is_folder=True) is not None:
            return Ignored()
    return ignored


def ignored_files(files: Iterable[str], texts: Mapping[str, str], start: str) -> dict[str, str]:
    """Return the ignored files of `files`, each with the path of the `.gitignore` that ignores it.

    All files are below the folder `start`.
    """
    folders: dict[str, tuple[Ignored, str | None]] = {}

    def folder_of(folder: str) -> tuple[Ignored, str | None]:
        unknown: list[str] = []
        above = folder
        while above not in folders:
            unknown.append(above)
            if above == start or not above:
                break
            above = posixpath.dirname(above)
        for each in reversed(unknown):
            if each == start or not each:
                rules, by = ignores_above(texts, start), None
            else:
                rules, by = folders[posixpath.dirname(each)]
                by = by or rules.ignoring_file(each, is_folder=True)
            if each in texts and by is None:
                rules = rules.with_gitignore(each, texts[each])
            folders[each] = rules, by
        return folders[folder]

    ignored: dict[str, str] = {}
    for file in files:
        rules, by = folder_of(posixpath.dirname(file))
        by = by or rules.ignoring_file(file)
        if by is not None:
            ignored[file] = by
    return ignored
