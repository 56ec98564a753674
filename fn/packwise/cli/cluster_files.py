"""The nodes and pods of a cluster, from files that kubectl or KAI's snapshot plugin wrote."""

from __future__ import annotations

import io
import json
import sys
import zipfile
from pathlib import Path

from krmfn.hints import TYPE_CHECKING
from krmfn.run import MAX_INPUT, read_input
from krmfn.yamltext import YamlError, read, split_documents
from packwise.cli.arguments import STDIN, UsageError
from packwise.cli.input_paths import find_files
from packwise.schedulers.kai.snapshot import SnapshotError, objects_of, read_snapshot
from packwise.topology.topograph import CONFIG_MAP, TopographError, is_conf, with_topology

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from krmfn.value import Value
    from packwise.schedulers.kai.snapshot import Snapshot

_ZIP = b"PK\x03\x04"
_IN_ZIP = "snapshot.json"


def read_cluster(paths: Sequence[str], objects: Sequence[Mapping[str, Value]]) -> Snapshot:
    """The cluster of `objects`, which stand in `paths`. Raises UsageError where they show none."""
    try:
        return read_snapshot(objects)
    except SnapshotError as error:
        raise UsageError(f"--nodes {_listed(paths)} {error}") from None


def _listed(paths: Sequence[str]) -> str:
    return ", ".join([f'"{path}"' for path in paths])


def read_objects(path: str) -> Iterator[Mapping[str, Value]]:
    """The objects in a file, a folder, or on stdin. Raises UsageError."""
    files, _ = find_files(path)
    for file in files:
        yield from objects_in(_bytes(file.name), file.name or "<stdin>")


def objects_in(data: bytes, name: str) -> Iterator[Mapping[str, Value]]:
    """The objects in the content of the file `name`. Raises UsageError."""
    for value in _values(_unzipped(data, name) if data.startswith(_ZIP) else data, name):
        yield from objects_of(value)


def read_nodes(paths: Sequence[str]) -> tuple[Mapping[str, Value], ...]:
    """The objects of a cluster in files and folders, what topograph writes of it as labels of its nodes.

    Raises UsageError where they show no nodes.
    """
    objects = read_cluster_objects(paths)
    read_cluster(paths, objects)
    return objects


def read_cluster_objects(paths: Sequence[str]) -> tuple[Mapping[str, Value], ...]:
    """The same, whatever they show. Raises UsageError where they cannot be read."""
    try:
        return with_topology([value for path in paths for value in read_objects(path)])
    except TopographError as error:
        raise UsageError(f"{_listed(paths)}: {error}") from None


def read_json(path: str) -> Value:
    """The value of a JSON file, None where it is something else. Raises UsageError."""
    if path != STDIN and not Path(path).is_file():
        return None
    data = _bytes(None if path == STDIN else path)
    if data.lstrip()[:1] != b"{":
        return None
    return next(_values(data, path))


def _bytes(name: str | None) -> bytes:
    try:
        if name is None:
            data = read_input(sys.stdin.buffer)
        else:
            with Path(name).open("rb") as file:
                data = read_input(file)
    except OSError as error:
        raise UsageError(f'"{name}" must be readable; got "{error.strerror}"') from None
    if len(data) > MAX_INPUT:
        raise UsageError(f'"{name or "<stdin>"}" must be at most {MAX_INPUT >> 20} MiB')
    return _unzipped(data, name) if data.startswith(_ZIP) else data


def _unzipped(data: bytes, name: str | None) -> bytes:
    """The document in a dump of KAI's snapshot plugin."""
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive, archive.open(_IN_ZIP) as member:
            content = member.read(MAX_INPUT + 1)
    except (zipfile.BadZipFile, KeyError, NotImplementedError, RuntimeError, OSError, EOFError):
        raise UsageError(f'"{name}" must be a dump of KAI\'s snapshot plugin: a zip that holds {_IN_ZIP}') from None
    if len(content) > MAX_INPUT:
        raise UsageError(f'"{name}" must hold at most {MAX_INPUT >> 20} MiB')
    return content


def _values(data: bytes, name: str) -> Iterator[Value]:
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise UsageError(f'"{name}" must be UTF-8') from None
    if text.lstrip()[:1] == "{":
        try:
            # An export of a large cluster has hundreds of MiB, and is JSON all through.
            yield json.loads(text)
        except (ValueError, RecursionError):
            pass
        else:
            return
    if is_conf(text):
        yield {"kind": CONFIG_MAP, "data": {"topology.conf": text}}
        return
    for document in split_documents(text):
        try:
            yield read(document.text)
        except YamlError as error:
            raise UsageError(f'"{name}" must be YAML or JSON; {error}') from None
