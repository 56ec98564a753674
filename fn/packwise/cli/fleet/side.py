"""One side of a package read: its files, its configuration, and what is wrong with them.

Nothing is read but what the request brings, so that the answer is the same in this process, in another, on another
machine.
"""

from __future__ import annotations

from pathlib import PurePosixPath

from krmfn.errors import FieldError
from krmfn.hints import TYPE_CHECKING
from krmfn.record import NamedTuple
from krmfn.result import Result, ResultFile, exit_code
from packwise.cli.fleet.kustomize import KustomizeError, build, kustomize_version
from packwise.cli.git import left_out_of
from packwise.cli.input_paths import SUFFIXES, InputPath
from packwise.cli.inputs import documents_of
from packwise.cli.read import decode
from packwise.cli.reader import Reader, error_result, items_of, readable_items
from packwise.commands.fleet.kustomization import copy_of, file_of
from packwise.commands.fleet.packages import SAYING, Client, Configuration, configuration_of
from packwise.commands.fleet.result import BUILD, FIT
from packwise.commands.fleet.tree import MemoryTree
from packwise.objects.index import taken_apart
from packwise.select import Configured, Package
from packwise.settings.recognition import is_operator

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from krmfn.kubeobject import KubeObject
    from krmfn.value import Value
    from packwise.cli.document import InputFile
    from packwise.cli.fleet.messages import Side
    from packwise.commands.doctor import Problem
    from packwise.discovery import LeftOut

__all__ = ["SideRead", "located", "package_of", "read_side"]


class SideRead(NamedTuple):
    """A side, read. `is_kept` is whether a cache may keep an answer to it.

    `crds` are those of its cluster; `values` set the variables of its templates.
    """

    side: Side
    files: tuple[InputFile, ...] = ()
    configured: Configured = Configured()
    validates: bool = False
    results: tuple[Result, ...] = ()
    left_out: tuple[tuple[str, LeftOut], ...] = ()
    is_kept: bool = True
    crds: tuple[KubeObject, ...] = ()
    values: Mapping[str, Value] = {}


def read_side(side: Side, kustomize: str) -> SideRead:
    """The side, built where kustomize renders it, which must have the version `kustomize`."""
    if side.problems:
        return SideRead(side, results=tuple(_problem(problem) for problem in side.problems))
    tree = MemoryTree(dict(side.files))
    try:
        configuration = configuration_of(tree, side.folder, side.client)
        if side.client is not Client.KUSTOMIZE:
            return _read_files(side, configuration)
        # Once more, of the very bytes that kustomize gets: a file can change between two looks at it.
        copy = copy_of(tree, side.folder)
        if copy.problems:
            return SideRead(side, results=tuple(_problem(problem) for problem in copy.problems))
        # A worker elsewhere may have another one, whose answer nobody asked for.
        if kustomize_version() != kustomize:
            here = f"kustomize must be {kustomize}, as where the fleet was started; got {kustomize_version()}"
            raise KustomizeError(here)
        built = decode(build(copy.contents, copy.file, copy.kustomization, copy.data), InputPath())
    except KustomizeError as error:
        file = ResultFile(file_of(tree, side.folder) or side.folder)
        result = Result(str(error), file=file, tags={"rule": BUILD.name})
        return SideRead(side, results=(result,), is_kept=False)
    except FieldError as error:
        return SideRead(side, results=(error_result(error),))
    return SideRead(side, (built,), _configured(configuration), configuration.validates, _unreadable(built))


def _read_files(side: Side, configuration: Configuration) -> SideRead:
    reader = Reader()
    files = reader.read_contents(_listed(side))
    return SideRead(
        side,
        tuple(files),
        _configured(configuration),
        configuration.validates,
        tuple(reader.results),
        tuple(reader.left_out),
    )


def _listed(side: Side) -> dict[InputPath, bytes]:
    """The contents of the files of a folder, by the paths that a walk through it would give them."""
    target = PurePosixPath(side.folder)
    contents = {PurePosixPath(path): data for path, data in side.files}
    markers = {path: data.decode("utf-8", "replace") for path, data in contents.items() if path.name in SAYING}
    files = [path for path in contents if path.is_relative_to(target) and path.suffix in SUFFIXES]
    left_out = left_out_of(files, markers, target, [])
    return {
        InputPath(str(path), str(path.relative_to(target)), left_out.get(path), is_named=False): contents[path]
        for path in files
    }


def _configured(configuration: Configuration) -> Configured:
    item = configuration.item
    if item is None:
        return Configured()
    return Configured(context=(item,)) if is_operator(item) else Configured(item)


def _unreadable(file: InputFile) -> tuple[Result, ...]:
    results: list[Result] = []
    for item in file.items:
        try:
            _ = item.value
        except FieldError as error:
            results.append(error_result(error))
    return tuple(results)


def _problem(problem: Problem) -> Result:
    place = {"line": str(problem.line), "column": str(problem.column)} if problem.line else {}
    return Result(problem.message, file=ResultFile(problem.file), tags={"rule": FIT.name, **place})


def package_of(read: SideRead, before: SideRead | None, *, apart: bool = True) -> Package:
    """What the pipeline renders; with `apart`, the entries of Lists are objects of their own."""
    config = read.configured
    return Package(
        _entries(read.files) if apart else items_of(read.files),
        config.function_config,
        None if before is None or exit_code(before.results) else _entries(before.files),
        read.crds,
        documents_of(read.files),
        documents_of(before.files if before is not None else ()),
        read.values,
        context=config.context,
        configured_before=None if before is None else before.configured,
    )


def _entries(files: Iterable[InputFile]) -> tuple[KubeObject, ...]:
    return taken_apart([item for file in files for item in readable_items(file)])


def located(result: Result, read: SideRead | None) -> Result:
    """The result, at the kustomization where it is about what that builds: no line of a file has it."""
    if result.file is not None or read is None or read.side.client is not Client.KUSTOMIZE:
        return result
    path = file_of(MemoryTree(dict(read.side.files)), read.side.folder) or read.side.folder
    tags = {key: tag for key, tag in result.tags.items() if key not in ("line", "column")}
    return result._replace(file=ResultFile(path), tags=tags)
