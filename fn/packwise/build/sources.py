"""Owners, the sources that they deliver, and the reasons for unbuilt sources.

These are pure values. The controllers' modules make them, and `charts` and `kustomizations` build them.
"""

from __future__ import annotations

import json
import posixpath
import re
from enum import Enum

from krmfn.hints import TYPE_CHECKING, Record
from packwise.inputs.git import repository_address
from packwise.lenient import mapping, text_at

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from krmfn.fieldpath import FieldPath
    from krmfn.kubeobject import KubeObject
    from krmfn.value import Value
    from packwise.build.substitution import Substitution
    from packwise.build.tree import FileTree


class Owner(Record):
    """The owner of a delivery: an Application, a HelmRelease, a Flux Kustomization or a TopologyRender.

    `file` is the path of its file from the top of the repository. `item` is its object, or None for a standalone
    source. `cluster` is its destination, or "" for the controller's own cluster.
    """

    kind: str
    name: str
    namespace: str = ""
    file: str = ""
    item: KubeObject | None = None
    cluster: str = ""

    @property
    def title(self) -> str:
        """Return a title such as `Application argocd/llm`, or `chart charts/llm` for a standalone source."""
        name = f"{self.namespace}/{self.name}" if self.namespace else self.name
        return f"{self.kind} {name or '.'}"

    @property
    def key(self) -> tuple[str, str, str, str]:
        """Return the parts that identify the owner."""
        return self.kind, self.namespace, self.name, self.cluster


class Values(Record):
    """A layer of the values of a chart: the file `name` of the repository, or a `text` that an object holds."""

    name: str
    text: str | None = None
    is_file: bool = True


class ChartSource(Record):
    """A chart to build, as passed to `helm template`.

    A later layer of `values` overrides an earlier one. `base` replaces the chart's own values.yaml, or is None to keep
    it. `lists` has options such as `--set` with their arguments. `patches` are kustomizations for the chart's output.
    """

    folder: str
    release: str
    namespace: str = ""
    values: tuple[Values, ...] = ()
    base: tuple[Values, ...] | None = None
    lists: tuple[tuple[str, str], ...] = ()
    files: tuple[tuple[str, str], ...] = ()
    options: tuple[str, ...] = ()
    includes_crds: bool = True
    tests: bool = False
    argo_hooks: bool = False
    patches: tuple[Mapping[str, Value], ...] = ()
    metadata: Mapping[str, Value] = {}

    @property
    def values_names(self) -> tuple[str, ...]:
        """Return the names of the values, for findings.

        The chart's own values.yaml is named if there are no other values files.
        """
        own = (Values(posixpath.join(self.folder, "values.yaml")),) if self.base is None else self.base
        named = [each.name for each in (*(own if not self.values else ()), *self.values)]
        return (*named, *[text for _, text in self.lists])


class KustomizationSource(Record):
    """A kustomization to build. `change` returns the kustomization as the controller changes it.

    A folder without a kustomization gets one with `resources`. With `helm`, its helmCharts are built. With
    `unrestricted`, it may refer to files outside its folder.
    """

    folder: str
    change: Callable[[Mapping[str, Value]], Mapping[str, Value]] | None = None
    resources: tuple[str, ...] | None = None
    helm: bool = True
    unrestricted: bool = False
    substitution: Substitution | None = None
    metadata: Mapping[str, Value] = {}


class DirectorySource(Record):
    """Files that are delivered unchanged. `excluded` are the files below the folder that are not delivered."""

    folder: str
    files: tuple[str, ...]
    excluded: tuple[str, ...] = ()


Source = ChartSource | KustomizationSource | DirectorySource


class Delivery(Record):
    """A source with its owner and namespace. `notes` are the assumptions that packwise made for the source.

    `path` is the field of the owner that names the source.
    """

    owner: Owner
    source: Source
    namespace: str = ""
    notes: tuple[str, ...] = ()
    path: FieldPath = ()


class Obstacle(Enum):
    """The kinds of reasons for unbuilt sources, as singular and plural. Summaries count in this order."""

    PROGRAM = ("program not on PATH", "programs not on PATH")
    REMOTE_CHART = ("remote chart", "remote charts")
    REMOTE_SOURCE = ("remote source", "remote sources")
    MISSING_VALUES = ("missing values", "missing values")
    UNSUPPORTED = ("unsupported feature", "unsupported features")
    SUSPENDED = ("suspended", "suspended")
    FAILED = ("failed build", "failed builds")


class Unbuilt(Record):
    """A source that is not built, with the reason.

    If `is_wrong` is true, the owner's controller would fail too, and the error is at `path` of the owner. `folder` is
    the folder of the source, or None if the source is not in the repository.
    """

    owner: Owner
    obstacle: Obstacle
    reason: str
    is_wrong: bool = False
    path: FieldPath = ()
    folder: str | None = None


Planned = Delivery | Unbuilt


class SourceError(Exception):
    """Raised if a source cannot be planned or built. The arguments are the fields of `Unbuilt`."""

    def __init__(self, obstacle: Obstacle, reason: str, *, is_wrong: bool = False, path: FieldPath = ()) -> None:
        super().__init__(reason)
        self.obstacle = obstacle
        self.reason = reason
        self.is_wrong = is_wrong
        self.path = path

    def of(self, owner: Owner, folder: str | None = None) -> Unbuilt:
        """Return the unbuilt source of `owner` with this reason."""
        return Unbuilt(owner, self.obstacle, self.reason, self.is_wrong, self.path, folder)


def unsupported_error(feature: str) -> SourceError:
    """Return the error about a controller's feature that packwise does not implement."""
    return SourceError(Obstacle.UNSUPPORTED, f"{feature} is not supported")


class Repository(Record):
    """The repository to build: its files and the URLs of its remotes.

    `revisions` are the names of the checked-out commit, such as branches. `objects` are the objects that owners refer
    to, each with its path. `argocd_helm` is True if Argo CD lets kustomize build charts.
    """

    tree: FileTree
    remotes: tuple[str, ...] = ()
    revisions: frozenset[str] = frozenset()
    objects: tuple[tuple[str, KubeObject], ...] = ()
    argocd_helm: bool = False

    def is_here(self, url: str) -> bool | None:
        """Return True if a URL belongs to this repository. Return None if the repository has no known remote."""
        known = {known for remote in self.remotes if (known := repository_address(remote)) is not None}
        return repository_address(url) in known if known else None

    def is_checked_out(self, revision: str) -> bool:
        """Return True if an owner's revision is the checked-out one, as far as names show."""
        return revision in _NEWEST or revision.removeprefix("refs/heads/") in self.revisions

    def has_path(self, path: str) -> bool:
        """Return True if there is a file or folder at `path`."""
        return self.tree.is_file(path) or self.tree.is_folder(path)


_NEWEST = ("", "HEAD")

ELSEWHERE = SourceError(Obstacle.REMOTE_SOURCE, "the source is another repository, and packwise fetches nothing")


def local_path(repository: Repository, url: str, path: str, notes: list[str]) -> str:
    """Return the path in the repository of a source at `url`. Assumptions are added to `notes`.

    Raise SourceError if the source is in another repository, or if the path is missing or leads outside.
    """
    if not url:
        raise SourceError(Obstacle.FAILED, "the source has no URL of a repository", is_wrong=True)
    here = repository.is_here(url)
    inside = path_from_top(path)
    if here is False or inside is None:
        if inside is None:
            raise SourceError(Obstacle.FAILED, f'path "{path}" leads out of the repository', is_wrong=True)
        raise SourceError(Obstacle.REMOTE_SOURCE, f"{url} is another repository, and packwise fetches nothing")
    if here is None:
        if not repository.has_path(inside):
            raise SourceError(Obstacle.REMOTE_SOURCE, f"{url} is another repository, and packwise fetches nothing")
        notes.append(f"assumed that {url} is this repository, because the repository has no remote")
    elif not repository.has_path(inside):
        raise SourceError(Obstacle.FAILED, f'path "{path}" does not exist in the repository', is_wrong=True)
    return inside


def path_from_top(path: str) -> str | None:
    """Return the normal form of a path from the top of the repository, or "" for the top.

    Return None if it leads outside.
    """
    joined = posixpath.normpath(path.strip().lstrip("/") or ".")
    if joined == ".." or joined.startswith("../"):
        return None
    return "" if joined == "." else joined


def revision_note(repository: Repository, revision: str) -> list[str]:
    """Return a note if `revision` is not checked out, otherwise an empty list."""
    if repository.is_checked_out(revision):
        return []
    return [f'built the files of the checkout instead of the revision "{revision}"']


def as_text(value: Value) -> str:
    """Return a value as JSON, which YAML readers read as the same value."""
    return json.dumps(value, ensure_ascii=False)


def merge_patch(base: Value, patch: Value) -> Value:
    """Return `base` after the JSON merge patch `patch`. Source: RFC 7386."""
    if not isinstance(patch, dict):
        return patch
    result = dict(base) if isinstance(base, dict) else {}
    for key, each in patch.items():
        if each is None:
            result.pop(key, None)
        else:
            result[key] = merge_patch(result.get(key), each)
    return result


def overlay_values(base: Value, over: Value) -> Value:
    """Return `base` merged with `over` as in Helm: mappings by key, other values replaced.

    Source: Helm, pkg/chart/loader MergeMaps.
    """
    if not isinstance(base, dict) or not isinstance(over, dict):
        return over
    return {**base, **{key: overlay_values(base[key], each) if key in base else each for key, each in over.items()}}


def objects_named(repository: Repository, kind: str, namespace: str, name: str) -> Sequence[KubeObject]:
    """Return the objects of a kind, namespace and name, then the objects of the kind and name without a namespace."""
    hits: dict[bool, list[KubeObject]] = {True: [], False: []}
    for _, item in repository.objects:
        if item.value.get("kind") == kind and _is_named(item.value.get("metadata"), namespace, name):
            hits[text_at(item.value, "metadata", "namespace") == namespace].append(item)
    return [*hits[True], *hits[False]]


def data_of(item: KubeObject) -> Mapping[str, str]:
    """Return the texts of a ConfigMap or Secret. `stringData` of a Secret overrides its `data`, which is in base64."""
    texts = {key: each for key, each in mapping(item.value.get("data")).items() if isinstance(each, str)}
    if item.value.get("kind") == "Secret":
        texts = {key: _decode(each) for key, each in texts.items()}
    later = mapping(item.value.get("stringData"))
    return {**texts, **{key: each for key, each in later.items() if isinstance(each, str)}}


def _decode(content: str) -> str:
    from base64 import b64decode

    try:
        return b64decode(content).decode("utf-8", "replace")
    except ValueError:
        return content


def _is_named(metadata: Value, namespace: str, name: str) -> bool:
    if not isinstance(metadata, dict) or metadata.get("name") != name:
        return False
    return metadata.get("namespace") in (None, "", namespace) or not namespace


def first_line(text: str, most: int = 2000) -> str:
    """Return a program's error text on one line, shortened in the middle to about `most` characters."""
    line = " ".join(text.split())
    # The end of Helm's message about nested templates contains the cause.
    return line if len(line) <= most else f"{line[: most // 2]}…{line[-most // 2 :]}"


_ANY, _ANY_OF_A_STEP = re.compile(".", re.DOTALL), re.compile("[^/]")
_RUNS = ("**/", "**", "*")

_MAX_ALTERNATIVES = 100
"""The largest number of globs that the braces of one glob may expand to."""


def matches(glob: str, path: str, *, crosses: bool = False) -> bool:
    """Return True if a glob matches a path. An invalid glob matches no path.

    `*` and `?` stop at "/" and `**` does not. With `crosses`, none of them stops. The time is proportional to both
    lengths, because globs are untrusted. Source: bmatcuk/doublestar; gobwas/glob without separators.
    """
    if max(len(path), len(glob)) > _LONGEST_PATH:
        return False
    try:
        return any(_matches_path(_tokens(each, crosses=crosses), path) for each in _alternatives(glob))
    except re.error:
        return False


def _alternatives(glob: str) -> list[str]:
    """Return the globs to which the braces of a glob expand. Return an empty list if they are too many."""
    pending, done = [glob], list[str]()
    while pending:
        if len(pending) + len(done) > _MAX_ALTERNATIVES:
            return []
        each = pending.pop()
        inner = re.search(r"(?<!\\)\{([^{}]*+)\}", each)
        if inner is None:
            done.append(each)
        else:
            pending += [each[: inner.start()] + choice + each[inner.end() :] for choice in inner[1].split(",")]
    return done


def _tokens(glob: str, *, crosses: bool) -> list[re.Pattern[str] | str]:
    """Return the parts of a glob: patterns of one character, characters (`=a`), and `*`, `**` and `**/` for runs of any
    length.
    """
    tokens: list[re.Pattern[str] | str] = []
    at = 0
    while at < len(glob):
        char = glob[at]
        run = next((run for run in _RUNS if glob.startswith(run, at)), "")
        if run:
            tokens += ["**", re.compile("/")] if crosses and run == "**/" else ["**" if crosses else run]
            at += len(run)
        elif char == "[" and (end := glob.find("]", at + 2)) > 0:
            inner = glob[at + 1 : end].replace("\\", r"\\")
            negated = inner[:1] in ("!", "^")
            expression = f"[{'^' if negated else ''}{inner[1:] if negated else inner}]"
            tokens.append(re.compile(expression))
            at = end + 1
        else:
            at += char == "\\" and at + 1 < len(glob)
            any_one = _ANY if crosses else _ANY_OF_A_STEP
            tokens.append(any_one if char == "?" else f"={glob[at]}")
            at += 1
    return tokens


def _matches_path(tokens: Sequence[re.Pattern[str] | str], path: str) -> bool:
    """Return True if the tokens match all of `path`.

    All ways through the tokens are followed at once, so that the path is read without backtracking.
    """

    def enter(places: Iterable[int]) -> set[int]:
        reached: set[int] = set()
        for place in places:
            at = place
            reached.add(at)
            while at < len(tokens) and tokens[at] in _RUNS:
                at += 1
                reached.add(at)
        return reached

    places, within = enter([0]), set[int]()
    for char in path:
        following: list[int] = []
        inside: set[int] = set()
        for at in places | within:
            part = tokens[at] if at < len(tokens) else None
            if isinstance(part, re.Pattern):
                following += [at + 1] if part.fullmatch(char) else []
            elif part == f"={char}":
                following.append(at + 1)
            elif part == "**/":
                # A run of folders ends only after a "/".
                inside.add(at)
                following += [at] if char == "/" else []
            elif part == "**" or (part == "*" and char != "/"):
                following.append(at)
        places, within = enter(following), inside
    return len(tokens) in places


_LONGEST_PATH = 4096
