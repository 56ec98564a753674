"""Clients that would run packwise in a folder, and the configuration of each cluster there, for `packwise doctor`.

The content of files identifies the clients. The signs are an Application with the plugin, or a Flux Kustomization of a
folder that a render for GitOps tools writes. Commands, hooks or components with the name packwise are signs too.
"""

from __future__ import annotations

import posixpath
import re
import shlex
from collections import Counter

from krmfn.fieldpath import FieldError
from krmfn.hints import TYPE_CHECKING, Record
from krmfn.result import Severity
from krmfn.yamltext import YamlError, read
from packwise.build.problems import KPTFILE, ClientProblem, is_settings_value
from packwise.discovery import KUSTOMIZATIONS
from packwise.lenient import mapping, mapping_at, mappings, strings, text_at
from packwise.objects.index import identity
from packwise.pipeline.evidence import KAI_RULES, kai_release
from packwise.pipeline.selection import has_grove_workloads
from packwise.pipeline.steps import read_package, results_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from krmfn.result import Result
    from krmfn.value import Value
    from packwise.pipeline.selection import Package

    Documents = Mapping[str, tuple[Mapping[str, Value], ...]]
    """The objects of files, by path."""

CLIENT_FILES = (*KUSTOMIZATIONS, KPTFILE)
"""Names of files in which clients configure functions."""


class Client(Record):
    """The client `name` runs packwise as `role` because of `file`. `command` starts the client.

    The role "deployer" means that it applies rendered files. `notes` are remarks for the user.
    """

    name: str
    file: str
    role: str
    command: str
    notes: tuple[str, ...] = ()

    @property
    def sentence(self) -> str:
        """Return a sentence about the client, its file and its command."""
        does = "applies what packwise rendered" if self.role == "deployer" else f"runs packwise as a {self.role}"
        return f"{self.name} {does} ({self.file}): {self.command}"


_OF_KAI = frozenset(rule.name for rule in KAI_RULES)


class ClusterView(Record):
    """The configuration of a render, for `packwise doctor`. `kinds` counts the objects by kind.

    `revision` is the revision of Grove, and `chosen_by` its source. `is_checked` is true if there is a configuration or
    a workload of Grove. `evidence` contradicts the revision. `errors` are in the configuration and the CRDs. `applied`
    is true if generated objects are applied, and `gitops` are the tools that apply them. `kai` is the release of KAI
    and its source. `kai_evidence` contradicts this release if the user did not name it.
    """

    kinds: tuple[tuple[str, int], ...]
    revision: str
    chosen_by: str
    is_checked: bool
    enabled: bool
    applied: bool
    gitops: tuple[str, ...]
    evidence: tuple[Result, ...] = ()
    errors: tuple[Result, ...] = ()
    kai: tuple[str, str] = ("", "")
    kai_evidence: tuple[Result, ...] = ()


def cluster_view(package: Package) -> ClusterView:
    """Return the configuration of the render of `package`. Workloads are not checked."""
    inventory, selection = read_package(package)
    counted: Counter[str] = Counter()
    for item in package.items:
        try:
            counted[identity(item.value)[1]] += 1
        except FieldError:
            continue
    findings = results_of((*selection.findings, *selection.definitions.findings), selection.results)
    evidence = () if selection.evidence is None else results_of(selection.evidence.findings)
    return ClusterView(
        kinds=tuple(sorted(counted.items())),
        revision=selection.revision.name,
        chosen_by=selection.chosen_by,
        is_checked=selection.is_configured or has_grove_workloads(inventory.items),
        enabled=selection.enabled,
        applied=selection.settings.apply,
        gitops=selection.settings.gitops,
        evidence=tuple(evidence),
        errors=tuple(result for result in findings if result.severity is Severity.ERROR),
        kai=kai_release(selection.settings),
        kai_evidence=tuple(result for result in findings if result.tags.get("rule") in _OF_KAI),
    )


PIPELINE_FILES = (".gitlab-ci.yml", ".pre-commit-config.yaml")
"""Names of files at the top of a repository in which pipelines run packwise."""

PIPELINE_FOLDER = ".github/workflows"

_COMMAND = re.compile(r"(?:^|[\s'\"/;&|(])(packwise\s+(?:check|comment|diff|fleet|place|render|report)\b[^\n]*)")

_PLUGIN = "packwise"

_FOLDERS = ("topologies", "workloads")
"""Folders that a render for GitOps tools writes."""


def delivery_clients(documents: Documents) -> list[Client]:
    """Return Argo CD and Flux for each file with objects that deliver packwise's output."""
    clients: list[Client] = []
    for path, values in documents.items():
        command = f"kubectl apply -f {path}"
        if any(_is_of(value, "argoproj.io") and _names_plugin(value) for value in values):
            clients.append(Client("argocd", path, "plugin", command))
        if any(_is_of(value, "kustomize.toolkit.fluxcd.io") and _applies_render(value) for value in values):
            clients.append(Client("flux", path, "deployer", command))
    return clients


def pipeline_clients(pipelines: Mapping[str, Value]) -> list[Client]:
    """Return the pipelines and hooks in these files that run packwise, each with the first command that runs it."""
    clients: list[Client] = []
    for path, value in pipelines.items():
        name, commands = _pipeline(path, value)
        clients += [Client(name, path, "check", command) for command in list(commands)[:1]]
    return clients


def _pipeline(path: str, value: Value) -> tuple[str, Iterator[str]]:
    name = posixpath.basename(path)
    if name == ".pre-commit-config.yaml":
        hooks = [text for key, text in _texts(value) if key == "id" and text.startswith("packwise")]
        return "pre-commit", iter([f"pre-commit run {hook} --all-files" for hook in hooks])
    return ("gitlab" if name == ".gitlab-ci.yml" else "github"), _commands(value)


def _commands(value: Value) -> Iterator[str]:
    for key, text in _texts(value):
        match = _COMMAND.search(text)
        if match is not None:
            yield match[1].strip()
        elif key in ("uses", "component") and _names_packwise(text):
            yield text


def _names_packwise(address: str) -> bool:
    """Return True if an action or component belongs to packwise.

    Examples are `OWNER/packwise@COMMIT` and `HOST/GROUP/packwise/check@main`.
    """
    return any("packwise" in part.split("/")[1:] for part in address.split("@")[:-1])


def _texts(value: Value, key: str = "") -> Iterator[tuple[str, str]]:
    """Yield each text in a value with its key, or the key of the list that has it."""
    if isinstance(value, str):
        yield key, value
    elif isinstance(value, dict):
        for name, each in value.items():
            yield from _texts(each, str(name))
    elif isinstance(value, list):
        for each in value:
            yield from _texts(each, key)


def _is_of(value: Mapping[str, Value], group: str) -> bool:
    return str(value.get("apiVersion")).partition("/")[0] == group


def _names_plugin(value: Value) -> bool:
    """Return True if a source names packwise's plugin. The source may be in the template of an ApplicationSet."""
    if isinstance(value, dict):
        # The name of an older plugin contains the version.
        if re.fullmatch(rf"{_PLUGIN}(-.*)?", text_at(value, "plugin", "name")):
            return True
        return any(_names_plugin(each) for each in value.values())
    return isinstance(value, list) and any(_names_plugin(each) for each in value)


def _applies_render(value: Mapping[str, Value]) -> bool:
    return posixpath.basename(text_at(value, "spec", "path").rstrip("/")) in _FOLDERS


_STEPS = {"mutators": "mutator", "validators": "validator"}


def kpt_clients(
    documents: Documents, is_executable: Callable[[str, str], bool]
) -> tuple[list[Client], list[ClientProblem]]:
    """Return the clients that run packwise, and the problems. `kustomize_clients` describes the parameters."""
    clients: list[Client] = []
    problems: list[ClientProblem] = []
    for path, values in documents.items():
        if posixpath.basename(path) != KPTFILE:
            continue
        entries = [entry for value in values for entry in _entries(value)]
        folder = posixpath.dirname(path)
        for role, words, entry in entries:
            wrong = [*_wrong_program(words, is_executable), *_faults_of_kpt(folder, entry, documents)]
            problems += [ClientProblem(path, message) for message in wrong]
            if not wrong:
                # kpt runs an image without a flag.
                flag = " --allow-exec" if words else ""
                clients.append(Client("kpt", path, _STEPS[role], f"kpt fn render {folder or '.'}{flag}", _notes(entry)))
        if not entries and _has_settings(folder, documents):
            message = (
                "kpt does not run packwise; add an entry to pipeline.mutators, with exec: packwise fn and configPath"
            )
            problems.append(ClientProblem(path, message))
    return clients, problems


def _entries(value: Mapping[str, Value]) -> Iterator[tuple[str, list[str], Mapping[str, Value]]]:
    """Yield packwise's functions in the pipeline: the list, the words of the command (none for an image), and the
    entry.
    """
    pipeline = mapping(value.get("pipeline"))
    for role in _STEPS:
        for entry in mappings(pipeline.get(role)):
            command = entry.get("exec")
            if isinstance(command, str):
                words = _split(command)
                if posixpath.basename(words[0]) == "packwise":
                    yield role, words, entry
            elif _image(entry)[0] == "packwise":
                yield role, [], entry


def _image(entry: Mapping[str, Value]) -> tuple[str, str, str]:
    """Return the last part of the name of a function's image, its tag and its digest. Each is "" if absent."""
    name, _, digest = text_at(entry, "image").partition("@")
    name, _, tag = posixpath.basename(name).partition(":")
    return name, tag, digest


def _notes(entry: Mapping[str, Value]) -> tuple[str, ...]:
    """Return notes on a function: the version of its image and the condition under which it runs."""
    notes: list[str] = []
    if entry.get("exec") is None:
        _, tag, digest = _image(entry)
        version = f"version {tag}" if tag else "no version"
        held = digest or "none, so the registry can change the image; add the digest after an @"
        notes.append(f"its image: {version}; digest: {held}")
    condition = entry.get("condition")
    if isinstance(condition, str):
        notes.append(f"runs only if its condition is true: {condition}")
    return tuple(notes)


def _split(command: str) -> list[str]:
    try:
        return shlex.split(command) or [""]
    except ValueError:
        return [command]


def _wrong_program(words: list[str], is_executable: Callable[[str, str], bool]) -> Iterator[str]:
    if not words:
        return
    if words[1:2] != ["fn"]:
        yield "exec must be `packwise fn`, the command that runs packwise as a function"
    # Unlike kustomize, kpt resolves the path from the folder in which it starts.
    if not is_executable("", words[0]):
        where = "from the folder in which kpt starts" if "/" in words[0] else "on PATH"
        yield f'exec names "{words[0]}", which is not an executable program {where}'


def _faults_of_kpt(folder: str, entry: Mapping[str, Value], documents: Documents) -> Iterator[str]:
    config = entry.get("configPath")
    if isinstance(config, str):
        path = posixpath.normpath(posixpath.join(folder, config))
        if not any(is_settings_value(value) for value in documents.get(path, ())):
            yield f'configPath "{config}" must be a file of the package with a TopologyRender'
    elif entry.get("configMap") is None and not _has_settings(folder, documents):
        yield "packwise has no configuration; set configPath to the file of a TopologyRender"


def _has_settings(folder: str, documents: Documents) -> bool:
    inside = f"{folder}/" if folder else ""
    return any(
        path.startswith(inside) and any(is_settings_value(value) for value in values)
        for path, values in documents.items()
    )


_ANNOTATION = "config.kubernetes.io/function"

_FLAGS = "--enable-alpha-plugins --enable-exec"

_FIELDS = {"transformers": "transformer", "validators": "validator", "generators": "generator"}


class _Listed(Record):
    """A TopologyRender that a kustomization lists: the field of the list, and the file."""

    kustomization: str
    field: str
    file: str
    value: Mapping[str, Value]

    @property
    def folder(self) -> str:
        """Return the folder of the kustomization. kustomize starts the function there."""
        return posixpath.dirname(self.kustomization)


def kustomize_clients(
    documents: Documents, is_executable: Callable[[str, str], bool]
) -> tuple[list[Client], list[ClientProblem]]:
    """Return the clients that run packwise, and the problems that keep clients from running it.

    `documents` are the objects of all files by path. `is_executable` returns True if a client in a folder finds a
    command. A bare name is searched on PATH, and a path is relative to the folder.
    """
    clients: list[Client] = []
    problems: list[ClientProblem] = []
    listed = [entry for path in documents if _is_kustomization(path) for entry in _listed_renders(path, documents)]
    bases = _bases(documents)
    started = {entry.file for entry in listed if entry.field in _FIELDS}
    for entry in listed:
        if entry.field == "resources" and (entry.file in started or _is_function_folder(entry, documents)):
            continue
        wrong = [*_faults_of_kustomize(entry, is_executable), *_misplacement(entry, bases)]
        problems += [ClientProblem(entry.file, message) for message in wrong]
        if not wrong and entry.field in _FIELDS:
            command = f"kustomize build {_FLAGS} {entry.folder or '.'}"
            clients.append(Client("kustomize", entry.kustomization, _FIELDS[entry.field], command, (_BOTH_FLAGS,)))
    seen = {entry.file for entry in listed}
    problems += [
        ClientProblem(path, _UNLISTED)
        for path, values in documents.items()
        if path not in seen
        and any(
            is_settings_value(value) and _ANNOTATION in mapping_at(value, "metadata", "annotations") for value in values
        )
    ]
    return clients, problems


def listed_files(documents: Documents) -> list[str]:
    """Return the paths that kustomizations list, and the kustomizations in listed folders."""
    listed: dict[str, None] = {}
    for path, values in documents.items():
        for value in values if _is_kustomization(path) else ():
            for field in ("resources", *_FIELDS):
                for entry in strings(value.get(field)):
                    if "\n" not in entry and "://" not in entry:
                        target = _target(path, entry)
                        listed |= dict.fromkeys([target, *[posixpath.join(target, name) for name in KUSTOMIZATIONS]])
    return list(listed)


_BOTH_FLAGS = "pass both flags: without --enable-exec, kustomize silently skips packwise"

_UNLISTED = (
    f"kustomize does not run packwise: this file has the annotation {_ANNOTATION}, but no kustomization lists it under "
    "`transformers`"
)


def _target(path: str, entry: str) -> str:
    """Return the path of the file or folder to which `entry` leads from the kustomization at `path`."""
    return posixpath.normpath(posixpath.join(posixpath.dirname(path), entry))


def _is_function_folder(entry: _Listed, documents: Documents) -> bool:
    """Return True if the kustomization has only configurations of packwise.

    Other kustomizations then list its folder under transformers.
    """
    kustomizations = documents[entry.kustomization]
    names = [name for value in kustomizations for name in strings(value.get("resources"))]
    files = [_target(entry.kustomization, name) for name in names]
    return all(documents.get(file) and all(map(is_settings_value, documents[file])) for file in files)


def _is_kustomization(path: str) -> bool:
    return posixpath.basename(path) in KUSTOMIZATIONS


def _listed_renders(path: str, documents: Documents) -> Iterator[_Listed]:
    """Yield the TopologyRenders that the kustomization at `path` lists, directly or in a folder."""
    for value in documents[path]:
        for field in ("resources", *_FIELDS):
            for entry in strings(value.get(field)):
                yield from _renders_at(path, field, entry, documents)


def _renders_at(path: str, field: str, entry: str, documents: Documents) -> Iterator[_Listed]:
    if "\n" in entry:
        yield from (_Listed(path, field, path, value) for value in _inline_values(entry) if is_settings_value(value))
        return
    target = _target(path, entry)
    yield from (_Listed(path, field, target, value) for value in documents.get(target, ()) if is_settings_value(value))
    if field == "resources":
        # A base runs its own transformers.
        return
    for name in KUSTOMIZATIONS:
        inner = posixpath.join(target, name)
        for value in documents.get(inner, ()):
            for resource in strings(value.get("resources")):
                file = _target(inner, resource)
                settings = [each for each in documents.get(file, ()) if is_settings_value(each)]
                yield from (_Listed(path, field, file, each) for each in settings)


def _inline_values(text: str) -> list[Mapping[str, Value]]:
    try:
        value = read(text)
    except YamlError:
        return []
    return [value] if isinstance(value, dict) else []


def _bases(documents: Documents) -> dict[str, str]:
    """Return the folders of bases, each with one of the kustomizations that include it."""
    bases: dict[str, str] = {}
    for path, values in documents.items():
        for value in values if _is_kustomization(path) else ():
            for entry in strings(value.get("resources")):
                bases.setdefault(_target(path, entry), path)
    return bases


def _misplacement(entry: _Listed, bases: Mapping[str, str]) -> Iterator[str]:
    outer = bases.get(entry.folder) if entry.folder else None
    if outer is not None and entry.field == "transformers":
        yield (
            f"packwise belongs in the outermost kustomization: {outer} builds on {entry.folder}, and adds prefixes and "
            "namespaces after packwise"
        )


def _faults_of_kustomize(entry: _Listed, is_executable: Callable[[str, str], bool]) -> Iterator[str]:
    """Yield the problems that keep kustomize from running packwise for the TopologyRender of `entry`."""
    function = mapping_at(entry.value, "metadata", "annotations").get(_ANNOTATION)
    if entry.field == "resources":
        if function is not None:
            yield (
                f"kustomize does not run packwise: {entry.kustomization} lists this file under resources; list it "
                "under transformers"
            )
        return
    if not isinstance(function, str):
        yield (
            f"kustomize looks for one of its own plugins, because the annotation {_ANNOTATION} is not set. Set "
            "it to the "
            "program, such as exec: {path: packwise, args: [fn]}"
        )
        return
    if entry.field == "generators":
        yield "a generator gets no workloads, so packwise renders none; list this file under transformers"
        return
    yield from _wrong_function(entry, function, is_executable)


def _wrong_function(entry: _Listed, function: str, is_executable: Callable[[str, str], bool]) -> Iterator[str]:
    specs = _inline_values(function)
    spec: Mapping[str, Value] = specs[0] if specs else {}
    command = spec.get("exec")
    if not isinstance(command, dict):
        if not isinstance(spec.get("container"), dict):
            yield f"the annotation {_ANNOTATION} must be YAML with exec or container"
        return
    path, words = command.get("path"), strings(command.get("args"))
    if "env" in command:
        yield "kustomize refuses env in exec; remove it, because the function has kustomize's environment"
    if not isinstance(path, str) or not path:
        yield (
            "kustomize silently runs nothing, because exec has no path; set it, as in exec: "
            "{path: packwise, args: [fn]}"
        )
        return
    if " " in path:
        yield f'kustomize does not split exec.path "{path}" at spaces; move the arguments to args'
        return
    if not is_executable(entry.folder, path):
        where = f"from {entry.folder or '.'}" if "/" in path else "on PATH"
        yield f'exec.path "{path}" is not an executable program {where}'
    if posixpath.basename(path) == "packwise" and words[:1] != ["fn"]:
        yield "exec.args must begin with fn, the command that runs packwise as a function"
    if entry.field == "validators" and "--validate" not in words:
        yield "a validator must return no items, or kustomize reports them as a change; set args: [fn, --validate]"
