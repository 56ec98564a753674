"""The objects of a run, of files, streams and settings of the command line."""

from __future__ import annotations

import posixpath
from functools import partial

from krmfn.hints import TYPE_CHECKING
from krmfn.record import NamedTuple
from krmfn.result import exit_code
from packwise.cli.arguments import STDIN, UsageError
from packwise.cli.reader import Reader, error_result, has_own_errors, items_of, readable_items
from packwise.cli.surroundings import is_broken_configuration, path_of, surroundings_of, traits_of
from packwise.discovery import KUSTOMIZATIONS, nearest_folders
from packwise.select import Configured, Package
from packwise.settings import KIND
from packwise.settings.recognition import held_configuration, is_operator, is_settings
from packwise.settings.sources import OPERATOR_KIND
from packwise.validate.definitions import is_definition

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from typing import Literal

    from krmfn.kubeobject import KubeObject
    from krmfn.result import Result
    from krmfn.value import Value
    from packwise.cli.arguments import Named
    from packwise.cli.reader import InputFile
    from packwise.discovery import LeftOut


def assigned(words: Iterable[str]) -> Mapping[str, Value]:
    """The values of words such as `gpus=4`, each read as `osmo workflow submit --set` reads it; the last one counts."""
    parts = (word.partition("=") for word in words)
    return {name: _read(text) for name, _, text in parts}


def _read(text: str) -> Value:
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text


COMMIT = "git:"
"""What a baseline starts with that is a commit: `git:main`, `git:HEAD~1`, `git:v1.2`."""


class Inputs(NamedTuple):
    """The files in their order, what the pipeline is given of them, and what could not be read.

    With an error among `results` the package has the readable rest. `is_lost`: the baseline, the configuration or the
    CRDs that were asked for could not be read, so that every answer would be a guess. `read` are all files, the
    configuration's and the baseline's too. `left_out` are the files and folders that are not judged, by name. `applied`
    is what a client applies together where no kustomization says so.
    """

    files: tuple[InputFile, ...]
    package: Package
    results: tuple[Result, ...]
    read: tuple[InputFile, ...]
    left_out: tuple[tuple[str, LeftOut], ...] = ()
    is_lost: bool = False
    applied: Literal["folder", "file"] = "file"

    @property
    def kustomizations(self) -> tuple[str, ...]:
        """The names of the kustomizations among the files."""
        return kustomizations_among(self.files)

    def text_of(self, name: str | None) -> str | None:
        """The text of the file of that name, of stdin for None; None for a file that was not read."""
        return text_among(self.read, name)

    @property
    def is_broken(self) -> bool:
        """Whether what was asked about cannot be read; a file of another tool that lies beside it does not count."""
        return self.is_lost or has_own_errors(self.results)


def read_inputs(named: Named, output: str | None = None) -> Inputs:
    """What `named` names. The folder `output` is not read where it stands within another.

    Where nothing among the files configures a render, the nearest configuration above them does. Raises UsageError
    where something is not there, or does not go together.
    """
    refuse_stdin_twice(named)
    reader = Reader(named.exclude)
    files = reader.read(named.paths, output)
    left_out, own = tuple(reader.left_out), len(reader.results)
    before = None if named.baseline is None else baseline_files(named.baseline, named.paths, reader)
    baseline = None if before is None else readable(before)
    asked_for = len(reader.results)
    chosen = configured(named, files, reader)
    crds = definitions_in(named.crds, reader)
    is_lost = has_own_errors(reader.results[own:asked_for]) or bool(exit_code(reader.results[asked_for:]))
    around = _of_the_same(
        files, read_around(named.paths, files, reader) if _is_unconfigured(named, files, chosen) else ()
    )
    package = Package(
        readable(files),
        chosen.function_config,
        baseline,
        crds,
        (*documents_of(files), *documents_of(around)),
        documents_of(before or ()),
        assigned(named.values),
        (*chosen.context, *readable(around)),
        configured_before=configured_before(named, around),
        is_chosen=named.config is not None,
    )
    is_lost = is_lost or any(is_broken_configuration(file) for file in (*files, *around))
    applied = _applied((*files, *around), package)
    return Inputs(tuple(files), package, tuple(reader.results), tuple(reader.files), left_out, is_lost, applied)


def _applied(files: Iterable[InputFile], package: Package) -> Literal["folder", "file"]:
    """What a client applies together of the files where no kustomization says so: below a configuration, a folder."""
    is_configured = package.is_chosen or package.function_config is not None
    return "folder" if is_configured or any(traits_of(file).configures for file in files) else "file"


def kustomizations_among(files: Iterable[InputFile]) -> tuple[str, ...]:
    """The names of the files that are kustomizations."""
    names = [str(file.path.name) for file in files]
    return tuple(name for name in names if posixpath.basename(name) in KUSTOMIZATIONS)


def readable(files: Iterable[InputFile]) -> tuple[KubeObject, ...]:
    """The objects of files that can be read."""
    return tuple(item for file in files for item in readable_items(file))


def _of_the_same(files: Iterable[InputFile], around: tuple[InputFile, ...]) -> tuple[InputFile, ...]:
    """Those around that the configuration of the files judges too; not those of other clusters."""
    if not around:
        return ()
    folders = nearest_folders({path_of(file): traits_of(file) for file in (*files, *around)})
    own = {folders[path_of(file)] for file in files}
    return tuple(file for file in around if folders[path_of(file)] in own)


def _is_unconfigured(named: Named, files: Iterable[InputFile], chosen: Configured) -> bool:
    if named.config is not None or chosen.function_config is not None:
        return False
    return not any(traits_of(file).configures for file in files)


def text_among(files: Iterable[InputFile], name: str | None) -> str | None:
    """The text of the file of that name among `files`, of stdin for None; None where it is not there."""
    return next((file.text for file in files if file.path.name == name), None)


class Sides(NamedTuple):
    """What is compared: `before` and `after` are files, folders, `-`, `git:COMMIT` or `git:COMMIT:PATH`.

    A commit without a path means the path of the other side, or the current folder where both are commits.
    """

    before: str
    after: str
    config: str | None = None
    crds: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()


def read_sides(sides: Sides) -> tuple[Inputs, Inputs]:
    """Both sides, entries of Lists as objects of their own. The configuration of a commit is read from that commit.

    Raises UsageError where something is not there, or does not go together.
    """
    if [sides.before, sides.after, sides.config, *sides.crds].count(STDIN) > 1:
        raise UsageError('"-" must stand once: stdin can be read for one purpose only')
    shared = Reader()
    crds = definitions_in(sides.crds, shared)
    before, after = (
        _side(side, other, sides, crds) for side, other in ((sides.before, sides.after), (sides.after, sides.before))
    )
    return before._replace(results=(*shared.results, *before.results)), after


def _side(name: str, other: str, sides: Sides, crds: tuple[KubeObject, ...]) -> Inputs:
    reader, config = Reader(sides.exclude), sides.config
    if not name.startswith(COMMIT):
        files = reader.read([name])
        own = len(reader.left_out)
        chosen = Configured() if config is None else _config(config, reader, lambda: reader.read([config]))
    else:
        commit, colon, path = name.removeprefix(COMMIT).partition(":")
        if not colon:
            path = "." if other.startswith(COMMIT) else other
        if path == STDIN or (colon and not path):
            raise UsageError(f'"{name}" must name a path too, as in git:main:clusters/west')
        files = reader.read_commit(commit, [path])
        if colon and not files:
            raise UsageError(f'"{path}" holds no YAML files in the commit "{commit}"')
        own = len(reader.left_out)
        read = partial(reader.read_commit, commit)
        chosen = Configured() if config is None else _config(config, reader, lambda: read([config]))
    left_out = tuple(reader.left_out[:own])
    if config is None:
        chosen = Configured(_carried(files))
    package = Package(
        readable(files),
        chosen.function_config,
        None,
        crds,
        documents_of(files),
        context=chosen.context,
        is_chosen=config is not None,
    )
    return Inputs(
        tuple(files),
        package,
        tuple(reader.results),
        tuple(reader.files),
        left_out,
        applied=_applied(files, package),
    )


def baseline_files(baseline: str, paths: tuple[str, ...], reader: Reader) -> list[InputFile]:
    """The files of a folder, or a file; or, as `git:COMMIT`, what the inputs' own paths held in that commit."""
    if not baseline.startswith(COMMIT):
        return reader.read([baseline])
    if STDIN in paths:
        raise UsageError(f'--baseline "{baseline}" must go with files or folders: git does not know what stdin held')
    return reader.read_commit(baseline.removeprefix(COMMIT), paths)


def documents_of(files: Iterable[InputFile]) -> tuple[KubeObject, ...]:
    """The documents of `files` that are no Kubernetes objects and are read all the same."""
    return tuple(document for file in files for document in file.foreign)


def read_around(paths: tuple[str, ...], files: Sequence[InputFile], reader: Reader) -> tuple[InputFile, ...]:
    """The nearest configuration above `files`, and the definitions around them."""
    around = surroundings_of(paths, files)
    reader.files += around.files
    reader.results += [error_result(error) for error in around.errors]
    return around.files


def refuse_stdin_twice(named: Named) -> None:
    """Raises UsageError where stdin is to be read for two purposes."""
    readers = [STDIN in named.paths, named.config == STDIN, named.baseline == STDIN, STDIN in named.crds]
    if sum(readers) > 1:
        raise UsageError('"-" must stand once: stdin can be read for one purpose only')


def definitions_in(paths: tuple[str, ...], reader: Reader) -> tuple[KubeObject, ...]:
    """The cluster's CRDs in files and folders, those of the kinds that count; none where one cannot be read."""
    before = len(reader.results)
    items = items_of(reader.read(paths))
    if not paths or exit_code(reader.results[before:]):
        return ()
    definitions = tuple(item for item in items if is_definition(item))
    if not definitions:
        listed_paths = ", ".join([f'"{path}"' for path in paths])
        raise UsageError(f"--crds {listed_paths} must hold the CRD of a kind that packwise reads or writes; got none")
    return definitions


def configured(named: Named, files: Iterable[InputFile], reader: Reader) -> Configured:
    """The configuration that the user names, or that a client sends along in a ResourceList."""
    if named.config is None:
        return Configured(_carried(files))
    return _config(named.config, reader, lambda: reader.read([str(named.config)]))


def configured_before(named: Named, around: Iterable[InputFile]) -> Configured | None:
    """The configuration of the baseline where it stands beside that: the files of `--config`, or those `around`, in
    the baseline's commit; None where no commit is the baseline, or has them.
    """
    if named.baseline is None or not named.baseline.startswith(COMMIT):
        return None
    reader, commit = Reader(), named.baseline.removeprefix(COMMIT)
    if named.config is not None:
        files = [] if named.config == STDIN else reader.read_commit(commit, [named.config])
        return _config(named.config, reader, lambda: files) if files and not exit_code(reader.results) else None
    names = [file.path.name for file in around if file.path.name is not None]
    files = reader.read_commit(commit, names)
    return Configured(context=items_of(files)) if files and not exit_code(reader.results) else None


def _carried(files: Iterable[InputFile]) -> KubeObject | None:
    """The configuration that a client sends along in a ResourceList."""
    carried = [file.function_config for file in files if file.function_config is not None]
    if len(carried) > 1:
        places = " and ".join([str(config.location()) for config in carried[:2]])
        raise UsageError(f"there must be one functionConfig; got {len(carried)} ({places}): choose with --config")
    return carried[0] if carried else None


def _config(path: str, reader: Reader, read: Callable[[], list[InputFile]]) -> Configured:
    """The one configuration in the file `path`, which `read` reads; none where it cannot be read."""
    before = len(reader.results)
    items = items_of(read())
    if exit_code(reader.results[before:]):
        return Configured()
    held = [(item, held_configuration(item)) for item in items]
    own = [item for item in items if is_settings(item)] or [inner for _, inner in held if inner is not None]
    chosen = own or [item for item in items if is_operator(item)] or items
    if len(chosen) != 1:
        noun = f"{len(chosen)} objects" if chosen else "no object"
        raise UsageError(f'--config "{path}" must hold one {KIND} or {OPERATOR_KIND}; got {noun}')
    return Configured(context=(chosen[0],)) if not own and is_operator(chosen[0]) else Configured(chosen[0])
