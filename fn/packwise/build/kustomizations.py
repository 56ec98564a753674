"""Kustomizations of the repository, built by `kustomize build` in a read-only copy.

kustomize records the source file of each object in an annotation, which packwise removes again. Source:
spec/sources.md#2.8, #3.7, #3.8, #4.6; kustomize v5.8.2, buildMetadata, api/resource origin.
"""

from __future__ import annotations

import posixpath
import re
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

from krmfn.hints import TYPE_CHECKING, Record
from krmfn.yamltext import YamlError, split_documents
from packwise.build.charts import helm, write_contents
from packwise.build.confinement import ProgramError, confine, run
from packwise.build.kustomization_files import FETCHES, Kustomizations, as_json, copy_of, file_of
from packwise.build.sources import Obstacle, SourceError, as_text, first_line
from packwise.build.substitution import DISABLED, SubstitutionError, substitute
from packwise.build.tree import kustomization_at
from packwise.inputs.git import program_on_path
from packwise.lenient import entries, mapping, text

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping, Sequence

    from krmfn.value import Value
    from packwise.build.confinement import Program
    from packwise.build.kustomization_files import BuildCopy
    from packwise.build.problems import ClientProblem
    from packwise.build.sources import KustomizationSource
    from packwise.build.tree import FileTree

_ADVICE = "kustomize is not on PATH: https://kubectl.docs.kubernetes.io/installation/kustomize"
_ORIGINS = "originAnnotations"
_ORIGIN = "config.kubernetes.io/origin"


class BuiltObject(Record):
    """The text of a built object and its source file in the repository, if known."""

    text: str
    file: str | None = None


class _ChangedTree:
    """A tree with one changed or added file."""

    def __init__(self, tree: FileTree, path: str, content: bytes) -> None:
        self._tree = tree
        self._path = path
        self._content = content

    def is_file(self, path: str) -> bool:
        return path == self._path or self._tree.is_file(path)

    def is_folder(self, path: str) -> bool:
        return self._tree.is_folder(path)

    def read(self, path: str) -> bytes:
        return self._content if path == self._path else self._tree.read(path)

    def files_below(self, folder: str) -> Sequence[str]:
        return self._tree.files_below(folder)

    def files_in(self, folder: str) -> Sequence[str]:
        return self._tree.files_in(folder)

    def listing(self, root: str) -> FileTree:
        return self._tree.listing(root)

    def links(self) -> Mapping[str, str | None]:
        return self._tree.links()


def changed_tree(tree: FileTree, source: KustomizationSource) -> FileTree:
    """Return the tree with the kustomization as the controller changes or generates it before the build.

    Raise SourceError if the kustomization is unreadable.
    """
    path = file_of(tree, source.folder)
    if path is None:
        value: Mapping[str, Value] = {"resources": [f"./{each}" for each in source.resources or ()]}
        path = posixpath.join(source.folder, "kustomization.yaml")
    else:
        try:
            value = kustomization_at(tree, path)
        except YamlError as error:
            raise SourceError(Obstacle.FAILED, f"{path} is not readable YAML: {error.message}", is_wrong=True) from None
        if source.change is None:
            return tree
    changed = value if source.change is None else source.change(value)
    return _ChangedTree(tree, path, as_text(dict(changed)).encode())


def kustomization_reads(tree: FileTree, source: KustomizationSource) -> frozenset[str]:
    """Return the paths in the repository that a build reads, as far as they are known."""
    try:
        changed = changed_tree(tree, source)
    except SourceError:
        return frozenset()
    inputs = Kustomizations(changed, helm=source.helm).inputs(source.folder)
    return frozenset([path for path in inputs.files if tree.is_file(path)])


def kustomization_copy(tree: FileTree, source: KustomizationSource) -> BuildCopy:
    """Return the files for kustomize. Raise SourceError if a problem prevents the build."""
    copied = copy_of(changed_tree(tree, source), source.folder, helm=source.helm)
    if copied.problems:
        raise _refusal(copied.problems, source)
    return copied


def _refusal(problems: Sequence[ClientProblem], source: KustomizationSource) -> SourceError:
    first = problems[0]
    place = f"{first.file}:{first.line}" if first.line else first.file
    reason = first_line(f"{place}: {first.message}")
    if any(FETCHES in each.message for each in problems):
        return SourceError(Obstacle.REMOTE_SOURCE, reason)
    if "runs no program" in first.message or "helm" in first.message.lower():
        return SourceError(Obstacle.UNSUPPORTED, reason)
    del source
    return SourceError(Obstacle.FAILED, reason, is_wrong=True)


@cache
def kustomize() -> tuple[Program, str]:
    """Return kustomize as a confined program and its version. Raise SourceError if kustomize is missing."""
    path = program_on_path("kustomize")
    if path is None:
        raise SourceError(Obstacle.PROGRAM, _ADVICE)
    try:
        return confine(path, ("version",))
    except ProgramError as error:
        raise SourceError(Obstacle.PROGRAM, f"{error}: {first_line(error.complaint)}") from None


@cache
def _kustomize_with(helm_path: str) -> Program:
    program, _ = kustomize()
    return program.replace(starts=(helm_path,))


def with_origins(kustomization: Value) -> Value:
    """Return a kustomization with the setting that records the source file of each built object."""
    value = mapping(kustomization)
    listed = entries(value.get("buildMetadata"))
    return {**value, "buildMetadata": [*listed, *([] if _ORIGINS in listed else [_ORIGINS])]}


def build_kustomization(
    contents: Mapping[str, bytes],
    path: str,
    kustomization: Value,
    *,
    runs_helm: bool = False,
    unrestricted: bool = False,
) -> str:
    """Return the output of `kustomize build` for `contents` with `kustomization` at `path`.

    Raise SourceError if the build fails.
    """
    if runs_helm:
        command = helm()[0].path
        program, words = _kustomize_with(command), ["build", "--enable-helm", f"--helm-command={command}"]
    else:
        program, words = kustomize()[0], ["build"]
    words += ["--load-restrictor=LoadRestrictionsNone"] if unrestricted else []
    try:
        with TemporaryDirectory(prefix="packwise-build-", ignore_cleanup_errors=True) as folder:
            top = Path(folder).resolve()
            held, home = top / "source", top / "home"
            home.mkdir()
            write_contents(held, {**contents, path: as_json(kustomization).encode()})
            at = (held / path).parent
            try:
                output = run(program, [*words, str(at)], reads=[held], writes=home, cwd=held)
            except ProgramError as error:
                complaint = kustomize_complaint(error.complaint.replace(f"{held}/", "").replace(str(held), "."))
                message = f"{error}: {first_line(complaint)}" if complaint else str(error)
                raise SourceError(Obstacle.FAILED, message, is_wrong=True) from None
    except OSError as error:
        raise SourceError(Obstacle.FAILED, f"cannot write temporary files: {error.strerror or error}") from None
    return output.decode("utf-8", "replace")


_NOISE = re.compile(r"^# Warning: .*\n?|^Error: ", re.MULTILINE)


def kustomize_complaint(text: str) -> str:
    """Return the error text of kustomize without its warnings about deprecated fields."""
    return _NOISE.sub("", text).strip()


_NOTE = re.compile(rf"^    {re.escape(_ORIGIN)}: \|\n((?:      .*\n)*)", re.MULTILINE)
_EMPTY = re.compile(r"^  annotations:\n(?!    )", re.MULTILINE)
_PATH = re.compile(r"^      path: (.*)$", re.MULTILINE)
_CONFIGURED = re.compile(r"^      configuredIn: (.*)$", re.MULTILINE)


def objects_of_output(output: str, folder: str, *, keeps_notes: bool) -> Iterator[BuiltObject]:
    """Yield the objects in the output of a build in `folder`, each with its source file.

    kustomize notes the file in an annotation, which is removed. With `keeps_notes` the annotation stays, because the
    kustomization itself asks for it.
    """
    for document in split_documents(output):
        note = _NOTE.search(document.text)
        if note is None:
            yield BuiltObject(document.text)
            continue
        path = _PATH.search(note[0]) or _CONFIGURED.search(note[0])
        file = None
        if path is not None and "\n      repo: " not in note[0]:
            file = posixpath.normpath(posixpath.join(folder, path[1].strip().strip("\"'")))
        own = (
            document.text
            if keeps_notes
            else _EMPTY.sub("", document.text[: note.start()] + document.text[note.end() :], count=1)
        )
        yield BuiltObject(own, file)


def substitute_object(built: BuiltObject, source: KustomizationSource) -> BuiltObject:
    """Return an object with the values of its Kustomization's variables.

    Raise SourceError if the substitution fails.
    """
    substitution = source.substitution
    if substitution is None or not substitution.is_active or "${" not in built.text or _is_disabled(built.text):
        return built
    try:
        return built.replace(text=substitute(built.text, substitution.variables))
    except SubstitutionError as error:
        raise SourceError(Obstacle.FAILED, f"variable substitution fails: {error}", is_wrong=True) from None


def _is_disabled(document: str) -> bool:
    from krmfn.yamltext import read

    try:
        metadata = mapping(mapping(read(document)).get("metadata"))
    except YamlError:
        return False
    return any(text(mapping(metadata.get(field)).get(DISABLED)) == "disabled" for field in ("labels", "annotations"))


def post_rendered(output: str, patches: Sequence[Mapping[str, Value]]) -> str:
    """Return a chart's output changed by a HelmRelease's postRenderers. Raise SourceError if they fail."""
    for each in patches:
        if any("path" in mapping(patch) for patch in entries(each.get("patches"))):
            raise SourceError(Obstacle.UNSUPPORTED, "postRenderers with a patch in a file are not supported")
        value = {**each, "resources": ["./all.yaml"]}
        output = build_kustomization({"all.yaml": output.encode()}, "kustomization.yaml", value)
    return output


def runs_helm(kustomizations: Collection[Value]) -> bool:
    """Return True if one of the kustomizations has charts."""
    fields = ("helmCharts", "helmChartInflationGenerator")
    return any(mapping(each).get(field) for each in kustomizations for field in fields)
