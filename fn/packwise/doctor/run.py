"""Files, configurations and clients as packwise reads them, as text for people or JSON for programs."""

from __future__ import annotations

import os
import shutil
from contextlib import suppress
from pathlib import Path

from krmfn.fieldpath import FieldError
from krmfn.hints import TYPE_CHECKING, Record, as_dict
from krmfn.result import Severity, sort_results
from krmfn.terminal import escape_line
from krmfn.yamltext import YamlError, read
from krmfn.yamltext.reader import READER
from packwise.answer import PLAIN, Answer, Terminal, Text
from packwise.build.problems import ClientProblem
from packwise.check.groups import coverage_of_groups, render_groups
from packwise.console import json_text
from packwise.discovery import summary
from packwise.doctor.clients import (
    CLIENT_FILES,
    PIPELINE_FILES,
    PIPELINE_FOLDER,
    ClusterView,
    cluster_view,
    delivery_clients,
    kpt_clients,
    kustomize_clients,
    listed_files,
    pipeline_clients,
)
from packwise.inputs.applications import RULES as APPLICATION_RULES
from packwise.inputs.groups import read_groups
from packwise.inputs.paths import InputPath, contains, landmark_text, real, top_of
from packwise.inputs.reader import read_file, readable_items
from packwise.output.findings_text import as_lines

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from typing import Any

    from krmfn.value import Value
    from packwise.doctor.clients import Client, Documents
    from packwise.doctor.options import Doctor
    from packwise.inputs.coverage import Coverage
    from packwise.inputs.groups import Checkup
    from packwise.inputs.reader import InputFile


class _Diagnosis(Record):
    """The diagnosis. Each entry of `clusters` has the names of a configuration's files, and its content."""

    clusters: tuple[tuple[tuple[str, ...], ClusterView], ...]
    clients: tuple[Client, ...]
    problems: tuple[ClientProblem, ...]


def doctor(command: Doctor, terminal: Terminal = PLAIN) -> Answer:
    """Return the diagnosis. Raise UsageError if the paths cannot be read."""
    checkup = read_groups(command.named)
    errors = sort_results([result for result in checkup.results if result.severity is Severity.ERROR])
    diagnosis = _diagnosis(checkup)
    coverage = coverage_of_groups(checkup, render_groups(checkup))
    if command.as_json:
        text = json_text(_as_json(checkup, diagnosis, coverage))
    else:
        text = "".join([f"{escape_line(line)}\n" for line in _lines(diagnosis, coverage)])
    is_well = not errors and not diagnosis.problems and not any(view.errors for _, view in diagnosis.clusters)
    lines = as_lines(errors, coloured=terminal.is_stderr_coloured)
    return Answer((Text((text,)),), tuple(lines), (coverage.line,), 0 if is_well else 1)


def _diagnosis(checkup: Checkup) -> _Diagnosis:
    seen = [group for group in checkup.groups if group.configurations or group.package.items or group.package.documents]
    groups = sorted(seen, key=lambda group: (not group.configurations, group.configurations))
    clusters = tuple((group.configurations, cluster_view(group.package)) for group in groups)
    documents = _documents(checkup.files)
    seen_by_client = [kustomize_clients(documents, _is_executable), kpt_clients(documents, _is_executable)]
    problems = [problem for _, problems in seen_by_client for problem in problems]
    problems += [
        ClientProblem("" if each.file is None else each.file.path, each.message)
        for each in checkup.results
        if each.tags.get("rule") in _ARGOCD
    ]
    return _Diagnosis(
        clusters,
        (
            *[client for clients, _ in seen_by_client for client in clients],
            *delivery_clients(documents),
            *pipeline_clients(_pipelines(checkup.files)),
        ),
        tuple(dict.fromkeys(problems)),
    )


_ARGOCD = frozenset(rule.name for rule in APPLICATION_RULES)


def _documents(files: Iterable[InputFile]) -> Documents:
    """Return the objects of files, by path from the current folder.

    The result includes clients' files in the folders of these files and above, and files that clients' files list. Only
    files within the input's repositories are read.
    """
    values = {_from_here(file.path.name): _values(file) for file in files if file.path.name is not None}
    tops = {top_of(str(Path(real(path)).parent)) for path in values}
    folders = {Path(real(path)).parent for path in values}
    above = {each for folder in folders for each in folder.parents}
    wanted = [_from_here(str(folder / name)) for folder in folders | above for name in CLIENT_FILES]
    # Each path is read only once, so that the loop ends.
    looked = set(values)
    while wanted:
        for path in [each for each in wanted if each not in looked]:
            looked.add(path)
            if any(contains(top, real(path)) for top in tops) and Path(path).is_file():
                with suppress(FieldError):
                    values[path] = _values(read_file(InputPath(path, Path(path).name)))
        wanted = [path for path in listed_files(values) if path not in looked]
    return dict(sorted(values.items()))


def _pipelines(files: Iterable[InputFile]) -> dict[str, Value]:
    """Return the values in pipeline files, by path from the current folder.

    The files are at the tops of repositories and in the current folder.
    """
    folders = {Path(real(file.path.name)).parent for file in files if file.path.name is not None}
    tops = {Path(top_of(str(folder))) for folder in folders} | {Path(real("."))}
    paths = [top / name for top in tops for name in PIPELINE_FILES]
    for top in tops:
        with suppress(OSError):
            paths += [path for path in (top / PIPELINE_FOLDER).iterdir() if path.suffix in (".yaml", ".yml")]
    texts = {_from_here(str(path)): landmark_text(path) for path in paths}
    values: dict[str, Value] = {}
    for path, text in sorted(texts.items()):
        with suppress(YamlError):
            values |= {} if text is None else {path: read(text)}
    return values


def _values(file: InputFile) -> tuple[Mapping[str, Value], ...]:
    return tuple(item.value for item in readable_items(file))


def _from_here(path: str) -> str:
    return Path(os.path.relpath(real(path), real("."))).as_posix()


def _is_executable(folder: str, command: str) -> bool:
    """Return True if a client that starts in `folder` finds the command."""
    if "/" not in command:
        return shutil.which(command) is not None
    path = Path(folder or ".") / command
    return path.is_file() and os.access(path, os.X_OK)


def _lines(diagnosis: _Diagnosis, coverage: Coverage) -> Iterator[str]:
    for configurations, view in diagnosis.clusters:
        yield ", ".join(configurations) or "without a configuration"
        yield from (f"  {line}" for line in _view_lines(view))
    counts = summary(each.reason for _, each in coverage.skipped)
    if counts:
        yield from ("", f"skipped: {counts}")
        yield from (f"  {line.removeprefix('skipped: ')}" for line in coverage.detail_lines)
    if diagnosis.clusters or counts:
        yield ""
    for client in diagnosis.clients:
        yield client.sentence
        yield from (f"  {note}" for note in client.notes)
    if not diagnosis.clients:
        yield (
            "no client runs packwise here. render and check need no client; packwise init --for writes the files of one"
        )
    yield f"YAML reader: {READER}"
    yield from (f"error: {problem.file}: {problem.message}" for problem in diagnosis.problems)


def _view_lines(view: ClusterView) -> Iterator[str]:
    yield f"objects: {', '.join([f'{number} {kind}' for kind, number in view.kinds]) or 'none'}"
    if view.is_checked or view.evidence or view.kai_evidence:
        yield f"Grove: {view.revision}, chosen by {view.chosen_by}"
        yield from (f"  {line}" for line in as_lines(view.evidence))
        yield f"KAI: {view.kai[0]}, chosen by {view.kai[1]}"
        yield from (f"  {line}" for line in as_lines(view.kai_evidence))
        yield f"topology-aware scheduling: {'enabled' if view.enabled else 'disabled'}"
        by = f" by {' and '.join(view.gitops)}" if view.gitops else ""
        applied = "generated objects are applied" if view.applied else "preview: generated objects are not applied"
        yield f"{applied}{by}"
    yield from as_lines(view.errors)


def _as_json(checkup: Checkup, diagnosis: _Diagnosis, coverage: Coverage) -> dict[str, Any]:
    return {
        "clusters": [
            {
                "configurations": list(configurations),
                "kinds": dict(view.kinds),
                "revision": view.revision,
                "chosenBy": view.chosen_by,
                "evidence": as_lines(view.evidence),
                "kai": view.kai[0],
                "kaiChosenBy": view.kai[1],
                "kaiEvidence": as_lines(view.kai_evidence),
                "enabled": view.enabled,
                "applied": view.applied,
                "gitops": list(view.gitops),
                "errors": as_lines(view.errors),
            }
            for configurations, view in diagnosis.clusters
        ],
        "skipped": [{"path": name, "reason": why.reason.noun, "by": why.by} for name, why in sorted(checkup.skipped)],
        "coverage": coverage.fields,
        "clients": [as_dict(client) | {"notes": list(client.notes)} for client in diagnosis.clients],
        "reader": READER,
        "problems": [{"file": each.file, "message": each.message} for each in diagnosis.problems],
    }
