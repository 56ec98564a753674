"""Files of rendered objects as a stream or a folder: the place of each object, and the list of written files.

A path comes from a client's annotation or an object's name, and both may be hostile. packwise later removes only files
on its list. One Kustomization of Flux cannot contain a workload and its topology. Folders for GitOps tools therefore
separate them. Source: spec/gitops.md#2.
"""

from __future__ import annotations

import re
import unicodedata
from hashlib import sha256
from pathlib import PurePosixPath

from krmfn.fieldpath import FieldError, FieldPath, describe
from krmfn.hints import TYPE_CHECKING, Record, cast
from krmfn.kubeobject import PATH_KEYS, KubeObject, Location
from krmfn.result import Result, ResultFile, sort_results
from krmfn.terminal import escape_line
from packwise.console import encode_text
from packwise.discovery import KUSTOMIZATIONS
from packwise.findings import Finding, Rule
from packwise.generated import PATH, file_of, is_local_config
from packwise.inputs.reader import Document, InputFile
from packwise.inputs.request import UsageError
from packwise.inputs.variants import variants_as_one
from packwise.objects.index import identity, is_generated, stable_identities
from packwise.objects.kinds import KINDS
from packwise.pipeline import Rendered, render
from packwise.pipeline.rules import rules_missed_by
from packwise.settings.topologyrender import GROUP

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from pathlib import Path

    from krmfn.value import Value
    from packwise.inputs.groups import Inputs
    from packwise.inputs.paths import InputPath
    from packwise.objects.index import Identity


class RenderedFiles(Record):
    """The read `files` with their changes. `emptied` are files that have no content any more.

    `new` are the generated objects outside these files.
    """

    files: tuple[InputFile, ...]
    emptied: tuple[InputFile, ...]
    new: tuple[KubeObject, ...]


def render_inputs(inputs: Inputs, *, writes: bool = False, checks_pods: bool = True) -> Rendered:
    """Return the render of `inputs` with sorted results, including the errors of files that could not be read.

    `writes` is true if the objects will be written. With `checks_pods` false, the pods of queued jobs are not checked.
    """
    if inputs.is_lost:
        return Rendered(inputs.package.items, (), sort_results(inputs.results))
    rendered = render(inputs.package, writes=writes, checks_pods=checks_pods)
    missed = rules_missed_by(inputs.results)
    results = [result for result in rendered.results if result.tags.get("rule") not in missed]
    results = variants_as_one(results, inputs.group)
    if inputs.sources is not None:
        from packwise.build.files import locate_results

        results = locate_results(results, inputs.files)
    return rendered.replace(results=sort_results([*inputs.results, *results]))


def outcome_of(files: Iterable[InputFile], rendered: Rendered) -> RenderedFiles:
    """Return the files with the objects of `rendered`: each object is edited in place or removed."""
    kept = iter(rendered.kept)
    files = tuple(files)
    generated = dict(zip(_keys(rendered.generated), rendered.generated, strict=True))
    earlier = [
        document.item
        for file in files
        for document in file.documents
        if document.item is not None and not document.entries and is_generated(document.item.value)
    ]
    keys = {id(item): key for item, key in zip(earlier, _keys(earlier), strict=True)}
    remaining: list[InputFile] = []
    emptied: list[InputFile] = []
    for file in files:
        documents = tuple(_documents(file, kept, keys, generated))
        is_emptied = bool(file.items) and all(document.is_blank for document in documents)
        (emptied if is_emptied else remaining).append(file.replace(documents=documents))
    return RenderedFiles(tuple(remaining), tuple(emptied), tuple(generated.values()))


def _keys(items: Iterable[KubeObject]) -> list[Identity]:
    """Return the identities of the objects. The identity of a gang has no epoch."""
    return stable_identities([item.value for item in items])


def without_bookkeeping(item: KubeObject) -> KubeObject:
    """Return the object without the annotations in which clients record its file and its position.

    Raise FieldError if an anchor prevents it.
    """
    annotations = item.get(("metadata", "annotations"))
    if not item.has_source and isinstance(annotations, dict):
        # A new object has no text yet, so no text must be preserved.
        kept = {key: value for key, value in annotations.items() if not is_bookkeeping(key)}
        metadata = {**cast("Mapping[str, Value]", item.value["metadata"]), "annotations": kept}
        if not kept:
            del metadata["annotations"]
        return KubeObject.new({**item.value, "metadata": metadata})
    for key in annotations if isinstance(annotations, dict) else ():
        if is_bookkeeping(key):
            item = item.without_annotation(key)
    return item


def is_bookkeeping(key: str) -> bool:
    """Return True if kpt removes the annotation `key` when it writes files. Source: kyaml kio/kioutil."""
    return key.startswith(("internal.config.kubernetes.io/", "config.k8s.io/")) or key in (
        PATH,
        "config.kubernetes.io/index",
    )


def _documents(
    file: InputFile,
    kept: Iterator[KubeObject],
    keys: Mapping[int, Identity],
    generated: dict[Identity, KubeObject],
) -> Iterator[Document]:
    """Yield the file's current documents. A separate comment before a removed object stays."""
    comment = ""
    for document in file.documents:
        item = document.item
        if document.entries:
            # Objects within a List belong to the list. They are checked, and objects rendered from them are new
            # objects.
            for entry in document.entries:
                if not is_generated(entry.value):
                    next(kept)
        elif item is not None:
            item = generated.pop(keys[id(item)], None) if id(item) in keys else next(kept)
            if item is None:
                comment += _comment(document.separator)
                continue
        yield Document(comment + document.separator, _text(file, document, item), item, document.line, document.foreign)
        comment = ""
    if comment:
        yield Document(comment, "")


def _text(file: InputFile, before: Document, item: KubeObject | None) -> str:
    if item is None:
        return before.text
    if file.is_list:
        return without_bookkeeping(item).text
    if is_generated(item.value):
        item = item.without_annotation(PATH)
    return before.text if item is before.item else item.text


def _comment(separator: str) -> str:
    """Return `separator` without its last marker if it has a comment line, else ""."""
    lines = separator.splitlines(keepends=True)
    return "".join(lines[:-1]) if any(line.lstrip().startswith("#") for line in lines) else ""


def _join_documents(documents: Iterable[Document]) -> str:
    """Return some documents of a file as one stream, each with the comments before it."""
    return join_streams([_comments(document.separator) + document.text for document in documents])


def _comments(separator: str) -> str:
    return "".join([line for line in separator.splitlines(keepends=True) if line.lstrip().startswith("#")])


_START = re.compile(r"---(?=[ \t\r\n]|\Z)")


def stream_of(outcome: RenderedFiles) -> str:
    """Return all files and then the new objects as one stream, for clients that apply them.

    Kustomizations and configurations are omitted, because API servers do not accept them. A stream or list from a
    client keeps its configuration, because a second render of the stream needs it. Raise FieldError if an object cannot
    be written.
    """
    files = [
        _stream_text(file)
        for file in outcome.files
        if file.skip_reason is None and PurePosixPath(str(file.path.target)).name not in KUSTOMIZATIONS
    ]
    new = [without_bookkeeping(item).text for item in outcome.new]
    return join_streams([*files, *new])


def _stream_text(file: InputFile) -> str:
    if file.is_list:
        return join_streams([document.text for document in file.documents])
    if file.path.name is None or not any(map(_is_configuration, file.documents)):
        return file.text
    return _join_documents(document for document in file.documents if not _is_configuration(document))


def _is_configuration(document: Document) -> bool:
    """Return True if no API server accepts the document, or if its author marks the object as not to apply.

    This includes OSMO's documents. It does not include previews, because users want to read them.
    """
    item = document.item
    if item is None:
        return document.foreign is not None
    return part_of(item) == LOCAL and not is_generated(item.value)


def join_streams(texts: Iterable[str]) -> str:
    """Return one stream of all `texts`. If a text has no marker at its start, one is added between the texts."""
    pieces: list[str] = []
    for text in texts:
        if not text:
            continue
        if not pieces:
            pieces.append(text)
            continue
        last = pieces[-1]
        if not last.endswith("\n"):
            pieces.append("\r\n" if "\r\n" in last else "\n")
        # A byte order mark is allowed only at the start of a stream, and a directive only after the end of a document.
        text = text.removeprefix("\ufeff")  # noqa: PLW2901
        if text.startswith("%"):
            pieces.append("...\n")
        elif not _START.match(text):
            pieces.append("---\n")
        pieces.append(text)
    return "".join(pieces)


LIST = ".packwise.sha256"
"""The name of the file with the list, in the folder itself. It is hidden, so that no tool reads it as a manifest."""

_NO_TEXT = "surrogateescape"
"""The error handler for bytes of a file name that are not UTF-8, as in `os.fsdecode`."""

_LINE = re.compile(r"\\?([0-9a-f]{64})  ([^\n]+)")

_ESCAPE = re.compile(r"\\([n\\])")


def digest(content: bytes) -> str:
    """Return the digest of a file, as the list contains it."""
    return sha256(content).hexdigest()


def listing(contents: Mapping[str, bytes]) -> bytes:
    """Return the list of files by slash-separated path, in the format of `sha256sum --check`."""
    return "".join([_line(path, contents[path]) for path in sorted(contents)]).encode("utf-8", _NO_TEXT)


def read_list(folder: Path) -> dict[str, str]:
    """Return the digest of each file in the list of `folder` by path, or none if the folder has no list.

    Raise FieldError if packwise did not write the list.
    """
    file = folder / LIST
    try:
        text = file.read_bytes().decode("utf-8", _NO_TEXT)
    except (FileNotFoundError, NotADirectoryError):
        return {}
    except OSError:
        raise _unreadable_error(file) from None
    digests: dict[str, str] = {}
    # A name may contain other line ends. Git may have changed the line ends of the list for Windows.
    for line in text.removesuffix("\n").split("\n") if text else ():
        match = _LINE.fullmatch(line.removesuffix("\r"))
        if match is None:
            raise _unreadable_error(file)
        path = _ESCAPE.sub(_unescape, match[2]) if line.startswith("\\") else match[2]
        digests[path] = match[1]
    return digests


def _line(path: str, content: bytes) -> str:
    if "\n" not in path:
        return f"{digest(content)}  {path}\n"
    escaped = path.replace("\\", r"\\").replace("\n", r"\n")
    return f"\\{digest(content)}  {escaped}\n"


def _unescape(escape: re.Match[str]) -> str:
    return "\n" if escape[1] == "n" else "\\"


def _unreadable_error(file: Path) -> FieldError:
    message = "this is not a list of packwise's files; delete it and the files that it names, then render again"
    return FieldError(None, (), message, Location(file.as_posix(), 1, 1))


MAX_PATH = 1024

_MAX_NAME = 255
"""The largest number of bytes of a path on macOS, and of a name on every system."""

_CONTROLS = frozenset({"Cc", "Cf", "Cs", "Zl", "Zp"})
"""Categories of characters that end a line, change the direction of text, or print nothing."""

_SHORT = re.compile(r"git~[0-9]+", re.IGNORECASE)
"""Short names of `.git` on Windows."""


class TargetError(ValueError):
    """Raised if no object may be written to a path. The text gives the reason and the fix."""


def target_path(path: str) -> str:
    """Return `path` normalized, with slashes and relative to the output folder.

    Raise TargetError if it leads out of the folder, is hidden, is unprintable, or is too long for some systems.
    """
    parts = [part for part in path.split("/") if part not in ("", ".")]
    got = f"the path is {escape_line(describe(path))}"
    if any(unicodedata.category(letter) in _CONTROLS for letter in path):
        raise TargetError(f"the file name has control characters: {got}. Rename the file")
    if path.startswith("/") or ".." in parts or "\\" in path or not parts:
        raise TargetError(f"the file would be outside the output folder: {got}")
    if any(part.startswith(".") or _SHORT.fullmatch(part) for part in parts):
        raise TargetError(
            f"the file or a folder above it is hidden, and other programs use such files: {got}. Choose names that do "
            "not begin with a dot"
        )
    shortest = "/".join(parts)
    if _size(shortest) > MAX_PATH or any(_size(part) > _MAX_NAME for part in parts):
        raise TargetError(
            f"the path is too long: {_size(path)} bytes, {describe(path)}. A path must have at most {MAX_PATH} bytes, "
            f"and each name at most {_MAX_NAME}. Choose shorter names"
        )
    return shortest


def target_field(item: KubeObject) -> FieldPath:
    """Return the field that determines the file of `item`: the client's annotation if it is set, else the name."""
    annotations = item.annotations
    key = next((key for key in PATH_KEYS if annotations.get(key)), None)
    return ("metadata", "name") if key is None else ("metadata", "annotations", key)


def fold_path(path: str) -> str:
    """Return the same text for all paths that differ only in case or Unicode normalization."""
    return unicodedata.normalize("NFC", unicodedata.normalize("NFC", path).casefold())


def is_of_git(parts: Iterable[str]) -> bool:
    """Return True if the path leads into the folder `.git` of a repository, also on a system that ignores case."""
    return any(part.casefold() == ".git" or _SHORT.fullmatch(part) for part in parts)


def _size(text: str) -> int:
    return len(text.encode())


TOPOLOGIES = "topologies"
"""The folder of topologies and queues that workloads name, and of all CRDs."""

WORKLOADS = "workloads"
"""The folder of all other objects that a cluster accepts."""

LOCAL = "local"
"""The folder of files that are not applied: configuration, previews and files without objects."""

FOLLOWED = (TOPOLOGIES, WORKLOADS)
"""The folders that a tool applies, in this order."""

_PARTS = (TOPOLOGIES, WORKLOADS, LOCAL)

_GENERATED = {f"packwise/{part}/": f"{part}/packwise/" for part in (TOPOLOGIES, WORKLOADS)}

_FIRST = {kind.key for kind in KINDS if kind.before_workloads} | {("apiextensions.k8s.io", "CustomResourceDefinition")}

_LOCAL_GROUPS = frozenset({GROUP, "operator.config.grove.io"})


def part_of(item: KubeObject) -> str:
    """Return the folder that the object belongs to."""
    kind = identity(item.value)[:2]
    if is_local_config(item) or kind[0] in _LOCAL_GROUPS:
        return LOCAL
    return TOPOLOGIES if kind in _FIRST else WORKLOADS


def path_within(part: str, path: str) -> str:
    """Return `path` within the folder `part`. A path that is already in `part` is kept, so a second render moves no
    file.
    """
    if path.startswith(f"{part}/"):
        return path
    for before, after in _GENERATED.items():
        if path.startswith(before) and part != LOCAL:
            return after + path.removeprefix(before)
    return f"{part}/{path}"


def count_previews(rendered: Rendered) -> int:
    """Return the number of generated objects that no client may apply."""
    return sum(part_of(item) == LOCAL for item in rendered.generated)


def parts_of(file: InputFile) -> Iterator[tuple[str, InputFile]]:
    """Yield the file with the folder of its objects. If they belong to several folders, yield a piece for each
    folder.
    """
    documents = [document for document in file.documents if document.item is not None]
    parts = [part for part in _PARTS if any(_part(document) == part for document in documents)]
    if len(parts) < 2:
        yield parts[0] if parts else LOCAL, file
        return
    for part in parts:
        own = [document for document in documents if _part(document) == part]
        yield part, file.replace(documents=tuple(own), list_text=_join_documents(own))


def is_kustomization(item: KubeObject) -> bool:
    """Return True if the object is a kustomization. kustomize fails if the files of a kustomization are moved."""
    return identity(item.value)[:2] == ("kustomize.config.k8s.io", "Kustomization")


def _part(document: Document) -> str:
    return LOCAL if document.item is None else part_of(document.item)


OUTPUT = Rule(
    "output-path",
    "Two files of the output have the same path, or packwise cannot write an object below the output folder.",
    "spec/packwise.md#1.5",
)

RULES = (OUTPUT,)
"""Rules of written files."""

_LAST = 1 << 31

_BUILD = (
    "`gitops` moves files, so build the kustomization before you render it: kustomize build DIR | packwise render - "
    "--config FILE -o OUT"
)


class FolderPlan(Record):
    """`contents` maps paths below the folder, with slashes, to bytes. `generated` are the paths of new objects among
    them.

    `loose` are the paths of objects from stdin and lists: the author of an object may have chosen its path. `emptied`
    are the paths of files that have no content any more. If `results` has an error, nothing may be written.
    """

    contents: Mapping[str, bytes]
    generated: frozenset[str]
    loose: frozenset[str]
    emptied: tuple[str, ...]
    results: tuple[Result, ...]


def refuse_same_target(files: Iterable[InputFile]) -> None:
    """Raise UsageError if two files would be written to one path."""
    files_by_target: dict[str, list[InputPath]] = {}
    for path in [file.path for file in files if not file.is_list]:
        if path.target is None or path.name is None:
            continue
        others = files_by_target.setdefault(fold_path(path.target), [])
        for other in others:
            # Within one folder, the system has distinguished the names. Here, names of two folders come together.
            if other.target == path.target or _root(other) != _root(path):
                both = f'"{other.name}" and "{path.name}" would both be written to "{path.target}"'
                raise UsageError(f"{both}; render them one by one")
        others.append(path)


def _root(path: InputPath) -> str:
    """Return the path that the user named: a folder. Return "" if the user named the file itself."""
    return str(path.name).removesuffix(str(path.target))


def plan_folder(outcome: RenderedFiles, *, split: bool = False) -> FolderPlan:
    """Return the contents of a folder after `outcome`. Files of folders keep their path.

    A client's annotation or packwise chooses the path of other objects. With `split`, topologies, workloads and files
    that no cluster needs get separate folders. Raise FieldError if an object cannot be written.
    """
    plan = _Plan(split=split)
    loose: list[Document] = []
    for file in outcome.files:
        if file.is_list or file.path.target is None:
            loose += file.documents
        elif split:
            plan.add_parts(file.path.target, file)
        else:
            plan.add_file(file.path.target, file)
    plan.add_loose(loose)
    for item in outcome.new:
        plan.add_new(item)
    if split:
        plan.keep_followed()
    plan.refuse_files_in_files()
    plan.refuse_alike()
    emptied = [file.path.target for file in outcome.emptied if file.path.target is not None and not file.is_list]
    contents = {path: encode_text(plan.texts[path]) for path in sorted(plan.texts)}
    return FolderPlan(contents, frozenset(plan.generated), frozenset(plan.loose), tuple(emptied), tuple(plan.results))


class _Plan:
    __slots__ = ("_owners", "_split", "generated", "loose", "results", "texts")

    def __init__(self, *, split: bool) -> None:
        self._split = split
        self.texts = dict[str, str]()
        self.generated = set[str]()
        self.loose = set[str]()
        self.results = list[Result]()
        self._owners: dict[str, KubeObject | InputFile] = {}

    def add_file(self, target: str, file: InputFile) -> None:
        self.texts[target] = file.text
        self._owners[target] = file

    def add_parts(self, target: str, file: InputFile) -> None:
        """Add the file to the folders of its objects, as one file in each folder."""
        for item in file.items:
            if is_kustomization(item):
                self._refuse(item, _BUILD)
        for part, piece in parts_of(file):
            path = path_within(part, target)
            owner = self._owners.get(path)
            if owner is not None:
                other = owner.path.name if isinstance(owner, InputFile) else owner.file
                message = f'packwise also writes "{other}" to "{path}"; rename one of them'
                self.results.append(Result(message, file=ResultFile(target), tags={"rule": OUTPUT.name}))
            self.add_file(path, piece)

    def add_loose(self, documents: Iterable[Document]) -> None:
        """Add the documents of stdin and of lists, each in the file that the client's annotations name."""
        groups: dict[str, list[KubeObject]] = {}
        for document in documents:
            item = document.item
            if item is None:
                self._refuse_content(document)
                continue
            path = self._place(item, _target_of(item))
            if self._split and is_kustomization(item):
                self._refuse(item, _BUILD)
            if path is None:
                continue
            if path in self._owners:
                message = f'packwise already writes "{path}" for another object; each object needs its own file'
                self._refuse(item, message)
            else:
                groups.setdefault(path, []).append(item)
        for path, items in groups.items():
            items.sort(key=lambda item: _LAST if item.index is None else item.index)
            self.texts[path] = join_streams([without_bookkeeping(item).text for item in items])
            self._owners[path] = items[0]
            self.loose.add(path)

    def add_new(self, item: KubeObject) -> None:
        path = self._place(item, item.path or file_of(item.value))
        if path is None:
            return
        owner = self._owners.get(path)
        if owner is not None:
            self._refuse_owner(item.id.short_text, path, owner)
        else:
            self.texts[path] = without_bookkeeping(item).text
            self._owners[path] = item
            self.generated.add(path)

    def keep_followed(self) -> None:
        """Add a file to an empty folder that a tool applies, because Git cannot store empty folders."""
        for part in FOLLOWED:
            if not any(path.startswith(f"{part}/") for path in self.texts):
                self.texts[f"{part}/.keep"] = ""

    def refuse_files_in_files(self) -> None:
        """Report paths with a file as one of their folders."""
        files = {fold_path(path): path for path in self.texts}
        for path in sorted(self.texts):
            for parent in PurePosixPath(path).parents:
                file = files.get(fold_path(str(parent)))
                if file is not None:
                    message = f'"{file}" is a file and would also be a folder; rename one of them'
                    self.results.append(Result(message, file=ResultFile(path), tags={"rule": OUTPUT.name}))

    def refuse_alike(self) -> None:
        """Report paths that are equal on some systems. Files that already exist in one folder are skipped."""
        seen: dict[str, str] = {fold_path(LIST): LIST}
        for path in sorted(self.texts):
            first = seen.setdefault(fold_path(path), path)
            if first == LIST:
                message = f'packwise writes its list of files to "{path}"; rename this file'
            elif first != path and not self._are_files(first, path):
                message = f'some systems do not distinguish "{path}" from "{first}"; rename one of them'
            else:
                continue
            self.results.append(Result(message, file=ResultFile(path), tags={"rule": OUTPUT.name}))

    def _are_files(self, *paths: str) -> bool:
        return all(isinstance(self._owners.get(path), InputFile) for path in paths)

    def _place(self, item: KubeObject, target: str) -> str | None:
        """Return the path of an object that should have the path `target`, or report an invalid path and return
        None.
        """
        try:
            path = target_path(target)
        except TargetError as error:
            self._refuse(item, str(error), target_field(item))
            return None
        return path_within(part_of(item), path) if self._split else path

    def _refuse_owner(self, new: str, path: str, owner: KubeObject | InputFile) -> None:
        """Report that a `new` object has the path of another file."""
        message = f'packwise writes {new} to "{path}"; rename this file'
        name = owner.path.name if isinstance(owner, InputFile) else owner.file
        file = ResultFile(name or path)
        self.results.append(Result(message, file=file, tags={"rule": OUTPUT.name}))

    def _refuse_content(self, document: Document) -> None:
        """Report content that is not an object, because it has no file. Comments need no file."""
        if document.is_blank:
            return
        message = (
            "this document is not a Kubernetes object, and packwise cannot write it to a folder; pass the path of "
            "its file"
        )
        tags = {"rule": OUTPUT.name, "line": str(document.line), "column": "1"}
        self.results.append(Result(message, tags=tags))

    def _refuse(self, item: KubeObject, message: str, field: FieldPath = ("metadata", "name")) -> None:
        self.results.append(Finding.of(OUTPUT, item, field, message).to_result())


def _target_of(item: KubeObject) -> str:
    """Return the path for an object: from a client's annotation if it has one, else packwise's or kpt's usual path."""
    if item.path is not None:
        return item.path
    if is_generated(item.value):
        return file_of(item.value)
    return f"{item.kind.lower()}_{item.name}.yaml"
