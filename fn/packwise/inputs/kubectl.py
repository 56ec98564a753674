"""A cluster as kubectl lists it: read-only, with kubectl's own credentials and no client in packwise.

Each resource is requested separately. A kind that is missing or forbidden is therefore a note and not a failure.
Source: `kubectl get --help`; kubectl v1.32 and v1.34.
"""

from __future__ import annotations

import json
import os
import subprocess
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from krmfn.hints import TYPE_CHECKING, cast
from krmfn.record import Record
from krmfn.run import MAX_INPUT
from packwise.console import say
from packwise.inputs.git import program_on_path
from packwise.inputs.request import UsageError
from packwise.inputs.resources import RESOURCES

if TYPE_CHECKING:
    from collections.abc import Generator, Iterable, Sequence

    from packwise.inputs.resources import Resource

LIVE = "cluster:"
"""The start of a path that means a cluster; the context of kubectl follows, or nothing for the current one."""


_TIMEOUT = 60
_ABSENT = ("the server doesn't have a resource type", "could not find the requested resource", "no matches for kind")
_FORBIDDEN = ("Forbidden", "is forbidden")
_ABSENCES = ("the cluster has no", "you may not list, so that they count as absent:")
_LONGEST = 500
_FOLDER, _FILE = "packwise-cluster-", "cluster.json"


class _Listed(Record):
    """The objects of a resource, or why there are none."""

    items: Sequence[object] = ()
    absence: str = ""


def list_cluster(context: str, resources: Iterable[Resource]) -> tuple[list[object], list[str]]:
    """Return the objects of a cluster, and notes on missing and forbidden kinds. Raise UsageError if kubectl fails."""
    program = program_on_path("kubectl")
    if program is None:
        raise UsageError("--cluster needs kubectl, which is not on PATH")
    with ThreadPoolExecutor(max_workers=4) as pool:
        asked = tuple(resources)
        futures = [pool.submit(_list_resource, program, context, each) for each in asked]
        listed = [each.result() for each in futures]
    notes: list[str] = []
    for absence in _ABSENCES:
        names = [each.full_name for each, answer in zip(asked, listed, strict=True) if answer.absence == absence]
        notes += [f"{absence} {', '.join(names)}"] if names else []
    return [item for each in listed for item in each.items], notes


def _list_resource(program: str, context: str, resource: Resource) -> _Listed:
    words = [program, "get", resource.full_name, "--all-namespaces", "--output=json", f"--request-timeout={_TIMEOUT}s"]
    words += [f"--context={context}"] if context else []
    try:
        done = subprocess.run(  # noqa: S603
            words, stdin=subprocess.DEVNULL, capture_output=True, check=False, timeout=2 * _TIMEOUT
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise UsageError(f"--cluster: kubectl does not answer: {error}") from None
    complaint = " ".join(done.stderr.decode("utf-8", "replace").split())[:_LONGEST]
    if done.returncode != 0:
        if any(each in complaint for each in _ABSENT):
            return _Listed(absence=_ABSENCES[0])
        if any(each in complaint for each in _FORBIDDEN):
            return _Listed(absence=_ABSENCES[1])
        raise UsageError(f"--cluster: kubectl get {resource.full_name} says: {complaint or 'nothing'}")
    if len(done.stdout) > MAX_INPUT:
        raise UsageError(f"--cluster: {resource.full_name} are more than {MAX_INPUT >> 20} MiB")
    try:
        items: object = json.loads(done.stdout)["items"]
    except (ValueError, KeyError, TypeError, RecursionError):
        raise UsageError(f"--cluster: kubectl get {resource.full_name} prints no list") from None
    return _Listed(cast("list[object]", items) if isinstance(items, list) else ())


@contextmanager
def cluster_files(paths: Sequence[str], resources: Sequence[Resource]) -> Generator[tuple[str, ...]]:
    """Yield the paths with a file of objects for each one that stands for a cluster. Raise UsageError."""
    if not any(path.startswith(LIVE) for path in paths):
        yield tuple(paths)
        return
    with TemporaryDirectory(prefix=_FOLDER, ignore_cleanup_errors=True) as folder:
        read: list[str] = []
        for path in paths:
            if not path.startswith(LIVE):
                read.append(path)
                continue
            context = path.removeprefix(LIVE)
            objects, notes = list_cluster(context, resources)
            say([f"note: {note}" for note in notes])
            file = Path(folder) / _FILE
            content = json.dumps({"apiVersion": "v1", "kind": "List", "items": objects})
            # Objects of a cluster are for its users alone.
            with os.fdopen(os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="utf-8") as opened:
                opened.write(content)
            read.append(str(file))
        yield tuple(read)


def name_of_path(path: str) -> str:
    """Return the user's name of a path: "the cluster" for a file of its objects."""
    at = Path(path)
    return "the cluster" if at.name == _FILE and at.parent.name.startswith(_FOLDER) else path


def cluster_role(name: str = "packwise") -> dict[str, object]:
    """Return the ClusterRole for `--cluster`: it may only list each resource."""
    groups: dict[str, list[str]] = {}
    for each in RESOURCES:
        groups.setdefault(each.group, []).append(each.name)
    rules = [{"apiGroups": [group], "resources": names, "verbs": ["list"]} for group, names in groups.items()]
    return {
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "ClusterRole",
        "metadata": {"name": name},
        "rules": rules,
    }
