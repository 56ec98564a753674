"""Which kpt packages run packwise, and why others pass over it. Source: spec/clients.md#2b."""

from __future__ import annotations

import posixpath
import shlex

from krmfn.hints import TYPE_CHECKING
from packwise.commands.doctor.client import KPTFILE, Client, Problem, is_settings_value

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from krmfn.value import Value

__all__ = ["kpt_clients"]

_ROLES = {"mutators": "mutator", "validators": "validator"}


def kpt_clients(
    documents: Mapping[str, tuple[Mapping[str, Value], ...]], is_executable: Callable[[str, str], bool]
) -> tuple[list[Client], list[Problem]]:
    """Those that run packwise, and what keeps them from it; parameters as of `kustomize_clients`."""
    clients: list[Client] = []
    problems: list[Problem] = []
    for path, values in documents.items():
        if posixpath.basename(path) != KPTFILE:
            continue
        entries = [entry for value in values for entry in _entries(value)]
        folder = posixpath.dirname(path)
        for role, words, entry in entries:
            wrong = [*_wrong_program(words, is_executable), *_wrong(folder, entry, documents)]
            problems += [Problem(path, message) for message in wrong]
            if not wrong:
                # kpt runs an image without being asked.
                flag = " --allow-exec" if words else ""
                clients.append(Client("kpt", path, _ROLES[role], f"kpt fn render {folder or '.'}{flag}", _notes(entry)))
        if not entries and _has_settings(folder, documents):
            message = "kpt does not run packwise: pipeline.mutators must have exec: packwise fn, with configPath"
            problems.append(Problem(path, message))
    return clients, problems


def _entries(value: Mapping[str, Value]) -> Iterator[tuple[str, list[str], Mapping[str, Value]]]:
    """The functions of the pipeline that are packwise: where they stand, their words, none of an image; the entry."""
    pipeline = value.get("pipeline")
    for role in _ROLES:
        functions = pipeline.get(role) if isinstance(pipeline, dict) else None
        for entry in functions if isinstance(functions, list) else ():
            command = entry.get("exec") if isinstance(entry, dict) else None
            if isinstance(entry, dict) and isinstance(command, str):
                words = _split(command)
                if posixpath.basename(words[0]) == "packwise":
                    yield role, words, entry
            elif isinstance(entry, dict) and _image(entry)[0] == "packwise":
                yield role, [], entry


def _image(entry: Mapping[str, Value]) -> tuple[str, str, str]:
    """Of a function's image the last part of its name, its tag and its digest, each "" where there is none."""
    image = entry.get("image")
    name, _, digest = (image if isinstance(image, str) else "").partition("@")
    name, _, tag = posixpath.basename(name).partition(":")
    return name, tag, digest


def _notes(entry: Mapping[str, Value]) -> tuple[str, ...]:
    """What to know of a function: the version of its image, and when it runs."""
    notes: list[str] = []
    if entry.get("exec") is None:
        _, tag, digest = _image(entry)
        version = f"version {tag}" if tag else "no version"
        held = digest or "none, so that the registry chooses what runs: name it after an @"
        notes.append(f"its image: {version}; digest: {held}")
    condition = entry.get("condition")
    if isinstance(condition, str):
        notes.append(f"runs only where its condition holds: {condition}")
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
        yield "exec must be packwise fn: packwise is a function by `packwise fn`"
    # Unlike kustomize, kpt looks from the folder that it is started in.
    if not is_executable("", words[0]):
        where = "from the folder that kpt is started in" if "/" in words[0] else "on PATH"
        yield f'exec must name a program {where} that can be executed; got "{words[0]}"'


def _wrong(
    folder: str, entry: Mapping[str, Value], documents: Mapping[str, tuple[Mapping[str, Value], ...]]
) -> Iterator[str]:
    config = entry.get("configPath")
    if isinstance(config, str):
        path = posixpath.normpath(posixpath.join(folder, config))
        if not any(is_settings_value(value) for value in documents.get(path, ())):
            yield f'configPath "{config}" must name a file of the package that holds a TopologyRender'
    elif entry.get("configMap") is None and not _has_settings(folder, documents):
        yield "packwise has no configuration: name the file of a TopologyRender in configPath"


def _has_settings(folder: str, documents: Mapping[str, tuple[Mapping[str, Value], ...]]) -> bool:
    inside = f"{folder}/" if folder else ""
    return any(
        path.startswith(inside) and any(is_settings_value(value) for value in values)
        for path, values in documents.items()
    )
