"""A cluster as kubectl lists it: packwise only reads, uses kubectl's own credentials, and has no client itself.

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

from krmfn.hints import TYPE_CHECKING, Record, cast
from krmfn.run import MAX_INPUT
from packwise.console import say
from packwise.inputs.git import program_on_path
from packwise.inputs.paths import LIVE_FILE, LIVE_FOLDER
from packwise.inputs.request import UsageError
from packwise.inputs.resources import RESOURCES

if TYPE_CHECKING:
    from collections.abc import Generator, Iterable, Sequence

    from packwise.inputs.resources import Resource

LIVE = "cluster:"
"""The prefix of a path that means a cluster. A context of kubectl follows. Without one, the current context is used."""


_TIMEOUT = 60
_ABSENT = ("the server doesn't have a resource type", "could not find the requested resource", "no matches for kind")
_FORBIDDEN = ("Forbidden", "is forbidden")
_LACKING = "the cluster has no"
_HIDDEN = "you may not list these kinds, and packwise does not see them:"
_LONGEST = 500


class _Listed(Record):
    """The objects of a resource, or the reason why there are none."""

    items: Sequence[object] = ()
    absence: str = ""


class Listing(Record):
    """The objects of a cluster, and the resources that it lacks.

    `hidden` are the resources that the user may not list.
    """

    objects: tuple[object, ...] = ()
    lacking: tuple[Resource, ...] = ()
    hidden: tuple[Resource, ...] = ()

    @property
    def notes(self) -> list[str]:
        """Return notes on missing and hidden kinds of the cluster."""
        absences = ((_LACKING, self.lacking), (_HIDDEN, self.hidden))
        return [f"{text} {', '.join([each.full_name for each in listed])}" for text, listed in absences if listed]


def list_cluster(context: str, resources: Iterable[Resource]) -> Listing:
    """Return the objects of a cluster. Raise UsageError if kubectl is missing or fails."""
    program = program_on_path("kubectl")
    if program is None:
        raise UsageError("cannot use --cluster: kubectl is not on PATH")
    with ThreadPoolExecutor(max_workers=4) as pool:
        asked = tuple(resources)
        futures = [pool.submit(_list_resource, program, context, each) for each in asked]
        answers = list(zip(asked, [each.result() for each in futures], strict=True))
    return Listing(
        tuple(item for _, answer in answers for item in answer.items),
        tuple(each for each, answer in answers if answer.absence == _LACKING),
        tuple(each for each, answer in answers if answer.absence == _HIDDEN),
    )


def _list_resource(program: str, context: str, resource: Resource) -> _Listed:
    words = [program, "get", resource.full_name, "--all-namespaces", "--output=json", f"--request-timeout={_TIMEOUT}s"]
    words += [f"--context={context}"] if context else []
    try:
        done = subprocess.run(  # noqa: S603
            words, stdin=subprocess.DEVNULL, capture_output=True, check=False, timeout=2 * _TIMEOUT
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise UsageError(f"--cluster: kubectl fails: {error}") from None
    complaint = " ".join(done.stderr.decode("utf-8", "replace").split())[:_LONGEST]
    if done.returncode != 0:
        if any(each in complaint for each in _ABSENT):
            return _Listed(absence=_LACKING)
        if any(each in complaint for each in _FORBIDDEN):
            return _Listed(absence=_HIDDEN)
        raise UsageError(f"--cluster: kubectl get {resource.full_name} reports: {complaint or 'nothing'}")
    if len(done.stdout) > MAX_INPUT:
        raise UsageError(f"--cluster: {resource.full_name} are more than {MAX_INPUT >> 20} MiB")
    try:
        items: object = json.loads(done.stdout)["items"]
    except (ValueError, KeyError, TypeError, RecursionError):
        raise UsageError(f"--cluster: kubectl get {resource.full_name} does not print a list") from None
    return _Listed(cast("list[object]", items) if isinstance(items, list) else ())


@contextmanager
def cluster_files(
    paths: Sequence[str], resources: Sequence[Resource]
) -> Generator[tuple[tuple[str, ...], tuple[Resource, ...]]]:
    """Yield the paths, and the resources that the user may not list. A path that means a cluster is replaced by a file.

    The file has the objects of the cluster. Raise UsageError if kubectl is missing or fails.
    """
    if not any(path.startswith(LIVE) for path in paths):
        yield tuple(paths), ()
        return
    with TemporaryDirectory(prefix=LIVE_FOLDER, ignore_cleanup_errors=True) as folder:
        read: list[str] = []
        hidden: list[Resource] = []
        for path in paths:
            if not path.startswith(LIVE):
                read.append(path)
                continue
            context = path.removeprefix(LIVE)
            listing = list_cluster(context, resources)
            say([f"note: {note}" for note in listing.notes])
            hidden += listing.hidden
            file = Path(folder) / LIVE_FILE
            # Findings name the line, so write each object on its own line.
            items = ",\n".join(map(json.dumps, listing.objects))
            content = f'{{"apiVersion": "v1", "kind": "List", "items": [\n{items}\n]}}\n'
            # Only the user may read the objects of a cluster.
            with os.fdopen(os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="utf-8") as opened:
                opened.write(content)
            read.append(str(file))
        yield tuple(read), tuple(hidden)


def cluster_role(name: str = "packwise") -> dict[str, object]:
    """Return the ClusterRole for `--cluster`. It permits only the verb `list` on each resource."""
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
