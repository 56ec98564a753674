"""A package written into a folder, based on its content, facts about the cluster, and answers on a terminal."""

from __future__ import annotations

import json
import os
from importlib.metadata import distribution
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING

from krmfn.fieldpath import FieldError
from krmfn.hints import Record
from krmfn.result import exit_code
from packwise.answer import PLAIN, Answer, Terminal, Text
from packwise.console import cannot_write, encode_text
from packwise.extras import COMMIT, REPOSITORY, install_source
from packwise.init.package import Facts, PackagePlace, Plan, client_files, facts_of, package_files
from packwise.inputs.paths import SUFFIXES, InputPath, contains, real, top_of
from packwise.inputs.reader import Reader, error_result, items_of, read_file
from packwise.inputs.request import UsageError
from packwise.objects.index import identity
from packwise.objects.kinds import POD_CLIQUE_SET
from packwise.objects.workload_kinds import WORKLOAD_KINDS
from packwise.output.findings_text import as_lines
from packwise.output.write import FileChange, change_files
from packwise.revisions.grove import REVISIONS
from packwise.settings.configuration import is_operator, is_settings
from packwise.topology.known import Level

if TYPE_CHECKING:
    from collections.abc import Iterable

    from krmfn.kubeobject import KubeObject
    from krmfn.result import Result
    from packwise.init.options import Init

_EXTRAS = "packwise[crds]"

_WORKLOADS = (POD_CLIQUE_SET.key, *WORKLOAD_KINDS)

_GITOPS = ("argocd", "flux")


class _Folder(Record):
    """The content of the package's folder: if it has a configuration, if it has workloads, and its files with
    objects.
    """

    is_configured: bool
    has_workloads: bool
    resources: tuple[str, ...]


def init(command: Init, terminal: Terminal = PLAIN) -> Answer:
    """Write the files, and return their names and the next steps. Raise UsageError if a file exists already."""
    folder = Path(command.folder)
    if os.path.lexists(folder) and not folder.is_dir():
        raise UsageError(f'DIR "{command.folder}" is not a folder; name a folder, which may be new')
    facts, results = _facts(command)
    if exit_code(results):
        return Answer(before=tuple(as_lines(results, coloured=terminal.is_stderr_coloured)), code=1)
    files = _files(command, folder, facts)
    _refuse_existing(files)
    start = Path(os.path.commonpath([real(_existing_folder(path.parent)) for path in files]))
    changes = [FileChange(path, encode_text(text)) for path, text in files.items()]
    try:
        change_files(start, changes, {})
    except OSError as error:
        return Answer(before=(cannot_write(error),), code=1)
    # Without facts about a cluster, the levels are an example.
    is_example = not (command.sources or command.levels) and any(path.name == "topology.yaml" for path in files)
    shown = [f"wrote {path.as_posix()}" for path in files]
    return Answer((Text([f"{line}\n" for line in (*shown, *_next_steps(command, is_example=is_example))]),))


def _facts(command: Init) -> tuple[Facts, list[Result]]:
    """Return the facts in the files of --from, overridden by the options, and the errors in these files."""
    reader = Reader()
    items = items_of(reader.read(command.sources))
    if exit_code(reader.results):
        return Facts(), reader.results
    try:
        facts = facts_of(items)
    except FieldError as error:
        return Facts(), [*reader.results, error_result(error)]
    if command.levels:
        levels = tuple(Level(*level) for level in command.levels)
        facts = facts.replace(levels=levels, comments=(), source="", dropped=(), topologies=())
    if command.revision is not None:
        facts = facts.replace(revision=command.revision, revision_source="")
    return facts, reader.results


def _files(command: Init, folder: Path, facts: Facts) -> dict[Path, str]:
    """Return the texts to write by their paths. Raise UsageError if options conflict or there is nothing to write."""
    if command.without_grove and (command.revision is not None or command.apply):
        option = "--revision" if command.revision is not None else "--apply"
        raise UsageError(
            f"{option} conflicts with --without-grove, because KAI makes the PodGroups; remove one of the two"
        )
    there = _look_at(folder)
    revision = REVISIONS[facts.revision]
    # A release has an operator. A design has none.
    runs = facts.has_operator or bool(revision.releases)
    apply = False if command.apply is None and runs else command.apply
    if apply and revision.podgang_maps:
        raise UsageError(
            f"--apply conflicts with {facts.revision}, because its operator deletes PodGangs that are applied "
            "from Git; "
            "remove --apply, or name an earlier release with --revision"
        )
    gitops = tuple(target for target in command.targets if target in _GITOPS)
    is_function, with_example = "kustomize" in command.targets, not there.has_workloads
    plan = Plan(facts, apply, gitops, is_function, with_example, without_grove=command.without_grove)
    written = {} if there.is_configured else package_files(plan)
    top = _top_folder(folder)
    files = {folder / name: text for name, text in written.items()}
    place = _place(folder, top, sorted({*there.resources, *(set(written) - {"topology.yaml"})}))
    for target in command.targets:
        inside, above = client_files(target, place)
        files |= {folder / name: text for name, text in inside.items()}
        files |= {_path_from_here(top / name): text for name, text in above.items()}
    if not files:
        raise UsageError(
            f'"{folder.as_posix()}" already has a configuration; name a client with --for to write its files'
        )
    return files


def _look_at(folder: Path) -> _Folder:
    """Return the contents of the files directly in the folder. Unreadable files are skipped."""
    items: list[KubeObject] = []
    resources: list[str] = []
    entries = sorted(folder.iterdir()) if folder.is_dir() else []
    for entry in entries:
        if entry.suffix not in SUFFIXES or entry.name.startswith(".") or not entry.is_file():
            continue
        try:
            file = read_file(InputPath(entry.as_posix(), entry.name))
            held = [item for item in file.items if item.value]
        except FieldError:
            continue
        items += held
        if held and not any(is_settings(item) for item in held) and entry.stem.lower() != "kustomization":
            resources.append(entry.name)
    configured = any(is_settings(item) or is_operator(item) for item in items)
    return _Folder(configured, any(identity(item.value)[:2] in _WORKLOADS for item in items), tuple(resources))


def _place(folder: Path, top: Path, resources: list[str]) -> PackagePlace:
    below = os.path.relpath(real(folder), top).replace(os.sep, "/")
    if not below.isprintable():
        raise UsageError(f"DIR has characters that cannot be printed: {json.dumps(below)}")
    repository, commit = _origin()
    requirement = f"{_EXTRAS} @ git+{repository}@{commit}"
    return PackagePlace(below, resources, requirement, repository, commit)


def _origin() -> tuple[str, str]:
    return install_source(distribution("packwise").read_text("direct_url.json"))


def _refuse_existing(files: Iterable[Path]) -> None:
    there = [path.as_posix() for path in files if os.path.lexists(path)]
    if there:
        listed = ", ".join([f'"{name}"' for name in there])
        raise UsageError(
            f"{listed} already exists, and init wrote nothing; move the file, or choose another DIR or --for"
        )


def _existing_folder(folder: Path) -> Path:
    """Return the nearest existing folder at or above `folder`."""
    absolute = Path(real(folder))
    return next(each for each in (absolute, *absolute.parents) if each.is_dir())


def _top_folder(folder: Path) -> Path:
    """Return the top of the repository around `folder`, which may not exist yet. Without a repository, return the
    current folder.
    """
    top, here = Path(top_of(str(_existing_folder(folder)))), Path(real("."))
    return here if not os.path.lexists(top / ".git") and contains(str(here), real(folder)) else top


def _path_from_here(path: Path) -> Path:
    """Return the path as a user names it from the current folder."""
    return Path(os.path.relpath(path, real(".")))


def _next_steps(command: Init, *, is_example: bool) -> list[str]:
    folder = quote(command.folder)
    steps = ["packwise check DIR", *[_RUN[target] for target in command.targets if target in _RUN]]
    placeholder = {"github", "gitlab", "pre-commit"} & set(command.targets) and _origin()[1] == COMMIT
    note = [f"replace {REPOSITORY} and {COMMIT} by the source from which CI installs packwise"] if placeholder else []
    if is_example:
        note.append(f"replace the example levels in {folder}/topology.yaml by the levels of your cluster")
    return ["", "next:", *[f"  {step.replace('DIR', folder)}" for step in (*note, *steps)]]


_RUN = {
    "kustomize": "kustomize build --enable-alpha-plugins --enable-exec DIR",
    "kpt": "kpt fn render DIR --allow-exec",
    "argocd": "kubectl apply -f DIR/application.yaml",
    "flux": "kubectl apply -f DIR/flux.yaml",
    "pre-commit": "pre-commit install",
}
"""The commands to run after the check, by target."""
