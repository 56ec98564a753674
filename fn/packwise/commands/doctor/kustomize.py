"""Which kustomizations run packwise, and why others pass over it. Source: spec/clients.md#2a."""

from __future__ import annotations

import posixpath

from krmfn.hints import TYPE_CHECKING
from krmfn.record import NamedTuple
from packwise.commands.doctor.client import Client, Problem, is_settings_value, words_of
from packwise.discovery import KUSTOMIZATIONS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from krmfn.value import Value

__all__ = ["kustomize_clients", "listed_files"]

_ANNOTATION = "config.kubernetes.io/function"
_FLAGS = "--enable-alpha-plugins --enable-exec"
_ROLES = {"transformers": "transformer", "validators": "validator", "generators": "generator"}


class _Listed(NamedTuple):
    """A TopologyRender that a kustomization lists: in which of its fields, in which file."""

    kustomization: str
    field: str
    file: str
    value: Mapping[str, Value]

    @property
    def folder(self) -> str:
        """The folder of the kustomization, where kustomize starts the function."""
        return posixpath.dirname(self.kustomization)


def kustomize_clients(
    documents: Mapping[str, tuple[Mapping[str, Value], ...]], is_executable: Callable[[str, str], bool]
) -> tuple[list[Client], list[Problem]]:
    """Those that run packwise, and what keeps them from it.

    `documents` are the objects of all files by path. `is_executable` answers whether a command is found from a folder:
    a bare name on PATH, a path below the folder.
    """
    clients: list[Client] = []
    problems: list[Problem] = []
    listed = [entry for path in documents if _is_kustomization(path) for entry in _listed(path, documents)]
    bases = _bases(documents)
    started = {entry.file for entry in listed if entry.field in _ROLES}
    for entry in listed:
        if entry.field == "resources" and (entry.file in started or _is_function_folder(entry, documents)):
            continue
        wrong = [*_wrong(entry, is_executable), *_misplaced(entry, bases)]
        problems += [Problem(entry.file, message) for message in wrong]
        if not wrong and entry.field in _ROLES:
            command = f"kustomize build {_FLAGS} {entry.folder or '.'}"
            clients.append(Client("kustomize", entry.kustomization, _ROLES[entry.field], command, (_BOTH_FLAGS,)))
    seen = {entry.file for entry in listed}
    problems += [
        Problem(path, _UNLISTED)
        for path, values in documents.items()
        if path not in seen and any(is_settings_value(value) and _ANNOTATION in _annotations(value) for value in values)
    ]
    return clients, problems


def listed_files(documents: Mapping[str, tuple[Mapping[str, Value], ...]]) -> list[str]:
    """The paths that kustomizations list, and those of the kustomizations in the folders that they list."""
    listed: dict[str, None] = {}
    for path, values in documents.items():
        for value in values if _is_kustomization(path) else ():
            for field in ("resources", *_ROLES):
                for entry in words_of(value.get(field)):
                    if "\n" not in entry and "://" not in entry:
                        target = _target(path, entry)
                        listed |= dict.fromkeys([target, *[posixpath.join(target, name) for name in KUSTOMIZATIONS]])
    return list(listed)


_BOTH_FLAGS = "both flags are needed: without --enable-exec kustomize leaves packwise out without a word"

_UNLISTED = (
    "kustomize does not run packwise: no kustomization lists this file under `transformers`, though it has the "
    f"annotation {_ANNOTATION}"
)


def _target(path: str, entry: str) -> str:
    """The file or folder that the kustomization at `path` calls `entry`."""
    return posixpath.normpath(posixpath.join(posixpath.dirname(path), entry))


def _is_function_folder(entry: _Listed, documents: Mapping[str, tuple[Mapping[str, Value], ...]]) -> bool:
    """Whether the kustomization lists configurations of packwise alone: others name its folder under transformers."""
    kustomizations = documents[entry.kustomization]
    names = [name for value in kustomizations for name in words_of(value.get("resources"))]
    files = [_target(entry.kustomization, name) for name in names]
    return all(documents.get(file) and all(map(is_settings_value, documents[file])) for file in files)


def _is_kustomization(path: str) -> bool:
    return posixpath.basename(path) in KUSTOMIZATIONS


def _listed(path: str, documents: Mapping[str, tuple[Mapping[str, Value], ...]]) -> Iterator[_Listed]:
    """The TopologyRenders that the kustomization at `path` lists, also through a folder."""
    for value in documents[path]:
        for field in ("resources", *_ROLES):
            for entry in words_of(value.get(field)):
                yield from _at(path, field, entry, documents)


def _at(
    path: str, field: str, entry: str, documents: Mapping[str, tuple[Mapping[str, Value], ...]]
) -> Iterator[_Listed]:
    if "\n" in entry:
        yield from (_Listed(path, field, path, value) for value in _inline(entry) if is_settings_value(value))
        return
    target = _target(path, entry)
    yield from (_Listed(path, field, target, value) for value in documents.get(target, ()) if is_settings_value(value))
    if field == "resources":
        # A base has transformers of its own.
        return
    for name in KUSTOMIZATIONS:
        inner = posixpath.join(target, name)
        for value in documents.get(inner, ()):
            for resource in words_of(value.get("resources")):
                file = _target(inner, resource)
                settings = [each for each in documents.get(file, ()) if is_settings_value(each)]
                yield from (_Listed(path, field, file, each) for each in settings)


def _inline(text: str) -> list[Mapping[str, Value]]:
    from krmfn.yamltext import YamlError, read

    try:
        value = read(text)
    except YamlError:
        return []
    return [value] if isinstance(value, dict) else []


def _bases(documents: Mapping[str, tuple[Mapping[str, Value], ...]]) -> dict[str, str]:
    """The folders that kustomizations build on, each with one of these."""
    bases: dict[str, str] = {}
    for path, values in documents.items():
        for value in values if _is_kustomization(path) else ():
            for entry in words_of(value.get("resources")):
                bases.setdefault(_target(path, entry), path)
    return bases


def _misplaced(entry: _Listed, bases: Mapping[str, str]) -> Iterator[str]:
    outer = bases.get(entry.folder) if entry.folder else None
    if outer is not None and entry.field == "transformers":
        yield (
            f"packwise belongs in the outermost kustomization: {outer} builds on {entry.folder}, and the prefixes and "
            "namespaces that it adds come after packwise"
        )


def _wrong(entry: _Listed, is_executable: Callable[[str, str], bool]) -> Iterator[str]:
    """What keeps kustomize from running packwise by this entry."""
    function = _annotations(entry.value).get(_ANNOTATION)
    if entry.field == "resources":
        if function is not None:
            yield (
                f"kustomize does not run packwise: {entry.kustomization} lists it under resources; list it under "
                "transformers"
            )
        return
    if not isinstance(function, str):
        yield (
            f"kustomize looks for a plugin of its own: the annotation {_ANNOTATION} must say what to run, as in "
            "exec: {path: packwise, args: [fn]}"
        )
        return
    if entry.field == "generators":
        yield "a generator sees no workloads, so packwise renders none; list it under transformers"
        return
    yield from _wrong_function(entry, function, is_executable)


def _wrong_function(entry: _Listed, function: str, is_executable: Callable[[str, str], bool]) -> Iterator[str]:
    specs = _inline(function)
    spec: Mapping[str, Value] = specs[0] if specs else {}
    command = spec.get("exec")
    if not isinstance(command, dict):
        if not isinstance(spec.get("container"), dict):
            yield f"the annotation {_ANNOTATION} must hold exec or container, as YAML"
        return
    path, words = command.get("path"), words_of(command.get("args"))
    if "env" in command:
        yield "kustomize refuses env in exec; leave it out: the function has kustomize's own environment"
    if not isinstance(path, str) or not path:
        yield "kustomize runs nothing, without a word: exec must have a path, as in exec: {path: packwise, args: [fn]}"
        return
    if " " in path:
        yield f'exec.path is not split at blanks: "{path}" must be the program alone, and the rest stand in args'
        return
    if not is_executable(entry.folder, path):
        where = f"from {entry.folder or '.'}" if "/" in path else "on PATH"
        yield f'exec.path "{path}" must be a program {where} that can be executed'
    if posixpath.basename(path) == "packwise" and words[:1] != ["fn"]:
        yield "exec.args must begin with fn: packwise is a function by `packwise fn`"
    if entry.field == "validators" and "--validate" not in words:
        yield "a validator must answer no items, else kustomize takes them for a change: args: [fn, --validate]"


def _annotations(value: Mapping[str, Value]) -> Mapping[str, Value]:
    metadata = value.get("metadata")
    annotations = metadata.get("annotations") if isinstance(metadata, dict) else None
    return annotations if isinstance(annotations, dict) else {}
