"""Charts of the repository, built by `helm template` from a copy that Helm can only read.

Source: spec/sources.md#2.1, #4; Helm v3.22 and v4.3, `helm template --help`, pkg/chart/loader.
"""

from __future__ import annotations

import json
import posixpath
import re
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

from krmfn.hints import TYPE_CHECKING, Record
from krmfn.yamltext import YamlError, read
from packwise.build.confinement import BOUNDS, ProgramError, confine, run
from packwise.build.sources import Obstacle, SourceError, Values, first_line, overlay_values, path_from_top
from packwise.inputs.git import program_on_path
from packwise.lenient import mapping, mappings, text
from packwise.revisions.kubernetes import NEWEST as KUBERNETES

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from krmfn.value import Value
    from packwise.build.confinement import Program
    from packwise.build.sources import ChartSource
    from packwise.build.tree import FileTree

CHART = "Chart.yaml"
_ADVICE = "helm is not on PATH: https://helm.sh/docs/intro/install"
_MAX_BYTES = 64 << 20
_MAX_DEPTH = 20
_REQUIRED = ("requirements.yaml",)
_REFERENCE = re.compile(r"^(?:[a-z][a-z0-9+.-]*:|//|/|\.\./)", re.IGNORECASE)


class ChartFiles(Record):
    """The files of a chart. `copied` has the path of each file in the copy, and its path in the repository.

    `folders` has the folder of each chart in the copy, and its folder in the repository.
    """

    copied: tuple[tuple[str, str], ...]
    folders: tuple[tuple[str, str], ...]

    @property
    def reads(self) -> frozenset[str]:
        """Return the paths in the repository that a build reads."""
        return frozenset([path for _, path in self.copied])

    def origin(self, path: str) -> str:
        """Return the path in the repository for `path` in the copy."""
        for folder, at in sorted(self.folders, key=lambda each: -len(each[0])):
            if not folder or path.startswith(f"{folder}/"):
                return posixpath.join(at, path[len(folder) + 1 :] if folder else path)
        return path


def chart_value(tree: FileTree, folder: str) -> Mapping[str, Value]:
    """Return the content of Chart.yaml. Return an empty mapping if it is unreadable."""
    try:
        return mapping(read(tree.read(posixpath.join(folder, CHART)).decode("utf-8", "replace")))
    except (OSError, YamlError):
        return {}


def chart_files(tree: FileTree, folder: str) -> ChartFiles:
    """Return the files of a chart, and of the charts in the repository on which it depends.

    Raise SourceError if it depends on a missing chart, or on a remote chart that it does not contain.
    """
    collected = _Collected({}, {})
    _collect(tree, folder, "", collected, 0)
    return ChartFiles(tuple(collected.copied.items()), tuple(collected.folders.items()))


class _Collected(Record):
    """The files and folders of the charts that were found so far, with the pairs of `ChartFiles`."""

    copied: dict[str, str]
    folders: dict[str, str]


def _collect(tree: FileTree, folder: str, into: str, collected: _Collected, depth: int) -> None:
    copied = collected.copied
    if depth > _MAX_DEPTH:
        raise SourceError(Obstacle.FAILED, f"{folder} depends on itself, or on too many charts", is_wrong=True)
    collected.folders[into] = folder
    start = len(folder) + 1 if folder else 0
    for path in tree.files_below(folder):
        copied[posixpath.join(into, path[start:])] = path
    ignored = posixpath.join(folder, ".helmignore")
    if tree.is_file(ignored):
        copied[posixpath.join(into, ".helmignore")] = ignored
    for dependency in _dependencies(tree, folder):
        name, source = text(dependency.get("name")), text(dependency.get("repository"))
        inside = posixpath.join(into, "charts", name)
        held = posixpath.join(folder, "charts", name)
        if not name or tree.is_folder(held) or any(_is_archive(path, held) for path in copied.values()):
            continue
        if source.startswith("file://"):
            target = path_from_top(posixpath.join(folder, source.removeprefix("file://")))
            if target is None or not tree.is_file(posixpath.join(target, CHART)):
                message = f"chart {name} at {source} does not exist in the repository"
                raise SourceError(Obstacle.FAILED, message, is_wrong=True)
            _collect(tree, target, inside, collected, depth + 1)
        elif source:
            message = (
                f"chart {name} of {source} is remote, and packwise fetches nothing; run `helm dependency build "
                f"{folder or '.'}` to add it to charts/"
            )
            raise SourceError(Obstacle.REMOTE_CHART, message)


def _is_archive(path: str, held: str) -> bool:
    return path.startswith(f"{held}-") and path.endswith(".tgz")


def _dependencies(tree: FileTree, folder: str) -> list[Mapping[str, Value]]:
    listed = mappings(chart_value(tree, folder).get("dependencies"))
    for name in _REQUIRED:
        path = posixpath.join(folder, name)
        if tree.is_file(path):
            try:
                listed += mappings(mapping(read(tree.read(path).decode("utf-8", "replace"))).get("dependencies"))
            except (OSError, YamlError):
                continue
    return listed


def is_library(tree: FileTree, folder: str) -> bool:
    """Return True if a chart only has templates for other charts."""
    return chart_value(tree, folder).get("type") == "library"


@cache
def helm() -> tuple[Program, str]:
    """Return Helm as a confined program and its version. Raise SourceError if Helm is missing."""
    path = program_on_path("helm")
    if path is None:
        raise SourceError(Obstacle.PROGRAM, _ADVICE)
    try:
        return confine(path, ("version", "--short"))
    except ProgramError as error:
        raise SourceError(Obstacle.PROGRAM, f"{error}: {first_line(error.complaint)}") from None


def chart_contents(tree: FileTree, source: ChartSource) -> dict[str, bytes]:
    """Return Helm's complete input for a chart, by path. Raise SourceError if the chart cannot be built."""
    files = chart_files(tree, source.folder)
    contents: dict[str, bytes] = {}
    size = 0
    for into, path in files.copied:
        try:
            content = tree.read(path)
        except OSError as error:
            raise SourceError(Obstacle.FAILED, f"cannot read {path}: {error.strerror}") from None
        size += len(content)
        if size > _MAX_BYTES:
            raise SourceError(Obstacle.FAILED, f"the chart has more than {_MAX_BYTES >> 20} MiB")
        if posixpath.basename(into) == "values.schema.json":
            _refuse_remote_schema(content, path)
        contents[f"chart/{into}"] = content
    if source.base is not None:
        contents["chart/values.yaml"] = json.dumps(_merged_values(tree, source.base)).encode()
    for at, layer in enumerate(source.values):
        contents[f"values/{at:03}.yaml"] = _content(tree, layer)
    for at, (_, path) in enumerate(source.files):
        contents[f"files/{at:03}"] = tree.read(path)
    return contents


def _content(tree: FileTree, layer: Values) -> bytes:
    if layer.text is not None:
        return layer.text.encode()
    try:
        return tree.read(layer.name)
    except OSError as error:
        message = f"cannot read the values file {layer.name}: {error.strerror}"
        raise SourceError(Obstacle.MISSING_VALUES, message, is_wrong=True) from None


def _merged_values(tree: FileTree, layers: Sequence[Values]) -> Value:
    values: Value = {}
    for layer in layers:
        try:
            values = overlay_values(values, mapping(read(_content(tree, layer).decode("utf-8", "replace"))))
        except YamlError as error:
            message = f"{layer.name} is not readable YAML: {error.message}"
            raise SourceError(Obstacle.FAILED, message, is_wrong=True) from None
    return values


def _refuse_remote_schema(content: bytes, path: str) -> None:
    """Raise SourceError if a values schema refers to a file or address, because Helm would open it."""
    try:
        value = json.loads(content)
    except (ValueError, RecursionError):
        # Helm itself refuses such a schema.
        return
    for reference in _references(value):
        if _REFERENCE.search(reference):
            message = f'{path} refers to "{first_line(reference, 200)}", and packwise fetches nothing'
            raise SourceError(Obstacle.REMOTE_SOURCE, message)


def _references(value: object) -> Iterator[str]:
    """Yield the references of a schema. The walk does not recurse, because schemas can nest without limit."""
    left = [value]
    while left:
        each = left.pop()
        if isinstance(each, dict):
            fields: dict[str, object] = each  # pyright: ignore[reportUnknownVariableType]
            for key in ("$ref", "$dynamicRef", "$recursiveRef"):
                reference = fields.get(key)
                if isinstance(reference, str) and not reference.startswith("#"):
                    yield reference
            schema = fields.get("$schema")
            if isinstance(schema, str) and "json-schema.org/" not in schema:
                yield schema
            left += fields.values()
        elif isinstance(each, list):
            left += each  # pyright: ignore[reportUnknownArgumentType]


def chart_words(source: ChartSource) -> list[str]:
    """Return the arguments of Helm that build a chart, in the folder that holds its contents."""
    words = ["template", "chart", f"--name-template={source.release}"]
    if source.namespace:
        words.append(f"--namespace={source.namespace}")
    words += [f"{option}={value}" for option, value in source.lists]
    names = [name.replace(",", r"\,") for name, _ in source.files]
    words += [f"--set-file={name}=files/{at:03}" for at, name in enumerate(names)]
    words += [f"--values=values/{at:03}.yaml" for at, _ in enumerate(source.values)]
    words += ["--include-crds"] if source.includes_crds else []
    return [*words, *source.options]


_INCOMPATIBLE = re.compile(r"requires kubeVersion: .* which is incompatible with Kubernetes v")
_NEWEST = f"--kube-version={KUBERNETES.name}.0"


def build_chart(contents: Mapping[str, bytes], words: Sequence[str]) -> str:
    """Return the output of `helm template` for `contents`. Raise SourceError if it fails.

    Without a cluster, Helm assumes a release of Kubernetes, v1.20 if it was built as a Go module. A chart that refuses
    this release is built for the newest release that packwise knows.
    """
    try:
        return _run_helm(contents, words)
    except SourceError as error:
        is_named = any(word.startswith("--kube-version") for word in words)
        if is_named or not _INCOMPATIBLE.search(error.reason):
            raise
    try:
        return _run_helm(contents, [*words, _NEWEST])
    except SourceError as error:
        # The release of the cluster is unknown, so the controller may accept the chart.
        if _INCOMPATIBLE.search(error.reason):
            raise SourceError(Obstacle.FAILED, error.reason) from None
        raise


def _run_helm(contents: Mapping[str, bytes], words: Sequence[str]) -> str:
    program, _ = helm()
    try:
        with TemporaryDirectory(prefix="packwise-build-", ignore_cleanup_errors=True) as folder:
            top = Path(folder).resolve()
            held, home = top / "source", top / "home"
            home.mkdir()
            write_contents(held, contents)
            output = run(program, words, reads=[held], writes=home, cwd=held, bounds=BOUNDS)
    except ProgramError as error:
        raise SourceError(Obstacle.FAILED, _complaint(error), is_wrong=True) from None
    except OSError as error:
        raise SourceError(Obstacle.FAILED, f"cannot write temporary files: {error.strerror or error}") from None
    return output.decode("utf-8", "replace")


def write_contents(folder: Path, contents: Mapping[str, bytes]) -> None:
    """Write files below a folder.

    Raise OSError if a file cannot be written, or if the file system treats two names as one.
    """
    folder.mkdir(exist_ok=True)
    for name, content in contents.items():
        at = folder / name
        at.parent.mkdir(parents=True, exist_ok=True)
        # If a file system treats two names as one, the second file would overwrite the first. The mode "xb" refuses
        # that.
        with at.open("xb") as file:
            file.write(content)


_NOISE = re.compile(r"Use --debug flag to render out invalid YAML|^Error: |^WARNING: .*$", re.MULTILINE)


def _complaint(error: ProgramError) -> str:
    text_ = first_line(_NOISE.sub("", error.complaint))
    return f"{error}: {text_}" if text_ else str(error)


_MAX_TEMPLATES = 2000


def evaluate_templates(templates: Sequence[str], values: Sequence[Mapping[str, Value]]) -> list[list[str]]:
    """Return for each of `values` the text of each Go template, as Helm evaluates it.

    Raise SourceError if a template is invalid, or uses a function that only ApplicationSets have.
    """
    lacking = [
        each for each in ("slugify", "normalize", "fromYamlArray") if any(each in single for single in templates)
    ]
    if lacking:
        raise SourceError(Obstacle.UNSUPPORTED, f"the template function {lacking[0]} is not supported")
    if len(templates) * len(values) > _MAX_TEMPLATES * 50:
        raise SourceError(Obstacle.UNSUPPORTED, "the ApplicationSet has too many templates")
    names = [f"t{at}" for at, _ in enumerate(templates)]
    definitions = "".join(
        [f'{{{{ define "{name}" }}}}{each}{{{{ end }}}}\n' for name, each in zip(names, templates, strict=True)]
    )
    rows = " ".join([f'(include "{name}" . | toJson)' for name in names])
    form = json.dumps(f"row: [{', '.join(['%s'] * len(names))}]")
    body = "{{- range .Values.p }}{{ printf " + form + " " + rows + " }}\n---\n{{ end }}"
    contents = {
        "chart/Chart.yaml": b"apiVersion: v2\nname: set\nversion: 0.1.0\n",
        "chart/templates/_set.tpl": definitions.encode(),
        "chart/templates/set.yaml": body.encode(),
        "values/000.yaml": json.dumps({"p": list(values)}).encode(),
    }
    output = build_chart(contents, ["template", "chart", "--name-template=set", "--values=values/000.yaml"])
    rows_read = [line.removeprefix("row: ") for line in output.splitlines() if line.startswith("row: ")]
    if len(rows_read) != len(values):
        raise SourceError(Obstacle.FAILED, "the templates of the ApplicationSet have no output", is_wrong=True)
    return [[str(each) for each in json.loads(row)] for row in rows_read]


def helm_hooks(value: Mapping[str, Value]) -> set[str]:
    """Return the events of Helm for which an object is a hook, such as `pre-install`."""
    annotations = mapping(mapping(value.get("metadata")).get("annotations"))
    return {each.strip() for each in text(annotations.get("helm.sh/hook")).split(",")} - {""}
