"""The packages of a fleet, and those that a change can reach."""

from __future__ import annotations

import posixpath
import re
import shlex
from enum import StrEnum

from krmfn.fieldpath import FieldError
from krmfn.hints import TYPE_CHECKING
from krmfn.kubeobject import KubeObject, Source
from krmfn.record import Record
from krmfn.yamltext import YamlError
from packwise.commands.doctor.clients import (
    KPTFILE,
    ClientProblem,
    is_settings_value,
    kpt_clients,
    kustomize_clients,
    words_of,
)
from packwise.commands.fleet.kustomization import (
    PLUGINS,
    Kustomizations,
    file_of,
    folders_named_by,
    plugin_entries,
    same_name,
)
from packwise.commands.fleet.tree import SAYING, below, mapping_at, objects_at, unreadable_at
from packwise.discovery import GITIGNORE, KUSTOMIZATIONS, LANDMARKS, RENDERED_LIST, nearest_folder_among
from packwise.objects.kinds import WORKLOADS
from packwise.objects.workload_kinds import QUEUE_NAME
from packwise.settings.configuration import has_topology, is_settings, kai_names

if TYPE_CHECKING:
    from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence

    from krmfn.value import Value
    from packwise.commands.fleet.tree import FileTree

SUFFIXES = (".yaml", ".yml", ".json")
_CONFIGURATION = (b"TopologyRender", b"operator.config.grove.io/")
"""Words of which each configuration has one: most files have none, and need no closer look."""

_WORKLOAD = (*[kind.name.encode() for kind in WORKLOADS], QUEUE_NAME.encode())
"""Words of which each workload has one, or the name of its scheduler."""

_PLUGIN = re.compile(rb"former|validator|generator|\\", re.IGNORECASE)
"""Parts of the text of a kustomization that lists plugins: a field's name without its "s", which kustomize also takes
as another letter, or an escape.
"""
_FUNCTION = "config.kubernetes.io/function"
_CHART = "Chart.yaml"
_AFTER = "managedByLabel"


class PackageClient(StrEnum):
    """The renderer of a package: packwise by itself, or within a client."""

    FOLDER = "folder"
    KUSTOMIZE = "kustomize"
    KPT = "kpt"


class PackageConfiguration(Record):
    """The configuration of packwise in a package, beside its items: the object, and whether packwise only validates."""

    item: KubeObject | None = None
    validates: bool = False


class FleetPackage(Record):
    """A folder that is rendered by itself, the sorted paths of all that this reads, and what is in the way."""

    folder: str
    client: PackageClient
    files: tuple[str, ...]
    problems: tuple[ClientProblem, ...] = ()


def configuration_of(tree: FileTree, folder: str, client: PackageClient) -> PackageConfiguration:
    """The configuration of the package in `folder`, where its client brings that along. Raises YamlError."""
    if client is PackageClient.KUSTOMIZE:
        return _of_kustomization(tree, folder)
    if client is PackageClient.KPT:
        return _of_kptfile(tree, folder)
    # A folder with a configuration has it among its items.
    return _nearest(tree, _folders_above(folder))


class Packages:
    """The packages in a folder of a tree: `clients` has the client of each by its folder, in order of folders."""

    __slots__ = (
        "_above",
        "_built",
        "_folders",
        "_kustomizations",
        "_left_out",
        "_mentioning",
        "_outer",
        "_tree",
        "clients",
    )

    def __init__(self, tree: FileTree, root: str) -> None:
        self._tree = tree
        self._kustomizations = Kustomizations(tree)
        self._built: dict[str, FleetPackage] = {}
        self._left_out: tuple[set[str], set[str]] = set(), set()
        self._mentioning: set[str] = set()
        # Files of the configuration above, by the folders of kustomizations that have none of their own.
        self._above: dict[str, list[str]] = {}
        self._outer = self._configuration_above(root)
        self.clients: dict[str, PackageClient] = {}
        self.clients = dict(sorted(self._clients(tree.files_below(root), root).items()))
        self._folders = list(self.clients)

    def _configuration_above(self, root: str) -> dict[str, list[str]]:
        """The files of the nearest configuration above the root, by their folder."""
        for folder in _folders_above(root):
            named = [path for path in self._tree.files_in(folder) if path.endswith(SUFFIXES)]
            own = [path for path in named if _holds(self._tree, path, _CONFIGURATION) and self._configures(path)]
            if own:
                self._mentioning.update(own)
                return {folder: own}
        return {}

    def _clients(self, paths: Sequence[str], root: str) -> dict[str, PackageClient]:
        rendered = {posixpath.dirname(path) for path in paths if posixpath.basename(path) == RENDERED_LIST}
        charts = {posixpath.dirname(path) for path in paths if posixpath.basename(path) == _CHART}
        self._left_out = rendered, charts
        clients: dict[str, PackageClient] = {}
        configured: dict[str, list[str]] = {}
        taken: set[str] = set()
        kustomizations: list[str] = []
        for path in paths:
            folder, name = posixpath.split(path)
            if self._is_left_out(folder):
                continue
            if name in KUSTOMIZATIONS:
                kustomizations.append(folder)
                named = self._named_by_kustomization(folder)
                taken |= named
                if named:
                    clients[folder] = PackageClient.KUSTOMIZE
                    # At once, while its kustomization is at hand: to read it is most of the work.
                    self._built[folder] = self._kustomize_package(folder)
            elif name == KPTFILE:
                named = self._named_by_kptfile(path)
                if named is not None:
                    taken |= named
                    clients.setdefault(folder, PackageClient.KPT)
            elif name.endswith(SUFFIXES) and _holds(self._tree, path, _CONFIGURATION):
                self._mentioning.add(path)
                if self._configures(path):
                    configured.setdefault(folder, []).append(path)
        for folder, files in configured.items():
            if folder not in clients and not taken.issuperset(files):
                has_build = file_of(self._tree, folder) is not None
                clients[folder] = PackageClient.KUSTOMIZE if has_build else PackageClient.FOLDER
        free = {folder: files for folder, files in configured.items() if not taken.issuperset(files)}
        clients = self._with_builds_below(clients, free | self._outer, kustomizations)
        if root not in clients and self._outer and self._is_package(root, clients):
            clients[root] = PackageClient.FOLDER
        return clients

    def _with_builds_below(
        self, clients: dict[str, PackageClient], configured: Mapping[str, list[str]], kustomizations: Sequence[str]
    ) -> dict[str, PackageClient]:
        """The packages, and the outermost kustomizations below a configuration: it is theirs, as `check` has it.

        A folder of which nothing is left then is no package of its own.
        """
        bounds = configured.keys() | {folder for folder, client in clients.items() if client is PackageClient.KPT}
        nearest = {folder: nearest_folder_among(bounds, folder) for folder in kustomizations if folder not in clients}
        below_any = {folder: above for folder, above in nearest.items() if above is not None and above in configured}
        if not below_any:
            return clients
        bases = set[str]().union(*[folders_named_by(self._tree, folder) for folder in kustomizations])
        self._above = {folder: configured[above] for folder, above in below_any.items() if folder not in bases}
        built = clients | dict.fromkeys(self._above, PackageClient.KUSTOMIZE)
        used = {below_any[folder] for folder in self._above}
        return {
            folder: client for folder, client in built.items() if folder not in used or self._has_more(folder, built)
        }

    def _is_package(self, root: str, clients: Mapping[str, PackageClient]) -> bool:
        """True if files of the root that no client builds hold workloads, for which the configuration above is."""
        above = [path for paths in self._outer.values() for path in paths]
        names = kai_names([item for path in above for item in objects_at(self._tree, path)])
        words = (*_WORKLOAD, *[name.encode() for name in names])
        return any(path.endswith(SUFFIXES) and _holds(self._tree, path, words) for path in self._unbuilt(root, clients))

    def _unbuilt(self, root: str, clients: Iterable[str]) -> list[str]:
        """The files of the root but for those of the packages in it, and what kustomizations of these reach."""
        own = self._own_files(root, [folder for folder in clients if folder != root])
        built = {path for folder in self._built for path in self._built[folder].files}
        return [path for path in own if path not in built]

    def _has_more(self, folder: str, clients: Mapping[str, PackageClient]) -> bool:
        """True if the folder has more to render than its configuration, and what kustomize builds below it."""
        if clients[folder] is not PackageClient.FOLDER:
            return True
        own = self._own_files(folder, [other for other in clients if other != folder and _is_below(other, folder)])
        return any(path.endswith(SUFFIXES) and not (self._mentions(path) and self._configures(path)) for path in own)

    def _own_files(self, folder: str, inner: Iterable[str]) -> list[str]:
        """The files of a folder without those of the packages in it, and without what these build on."""
        others = {path for other in inner for path in self._tree.files_below(other)}
        for other in self._above:
            if _is_below(other, folder):
                reached = self._kustomizations.inputs(other).files
                others.update(path for path in reached if path not in self._above[other])
        return [path for path in self._tree.files_below(folder) if path not in others]

    def package(self, folder: str) -> FleetPackage:
        """The package in a folder, with all that it reads."""
        client = self.clients[folder]
        if client is PackageClient.KUSTOMIZE:
            return self._built.get(folder) or self._kustomize_package(folder)
        inner = {other for other in below(self._folders, folder) if other != folder}
        own = self._own_files(folder, inner)
        outer: list[str] = []
        if (
            self._outer
            and client is PackageClient.FOLDER
            and not any(self._mentions(path) and self._configures(path) for path in own)
        ):
            own, outer = (
                self._unbuilt(folder, self._folders),
                [path for paths in self._outer.values() for path in paths],
            )
        files = [path for path in own if path.endswith(SUFFIXES) or posixpath.basename(path) in SAYING]
        problems = _unfit_kpt(self._tree, folder, own, self._mentions) if client is PackageClient.KPT else []
        problems += self._unreadable(outer)
        read = sorted({*files, *outer, *_above(self._tree, folder)})
        return FleetPackage(folder, client, tuple(read), tuple(problems))

    def _kustomize_package(self, folder: str) -> FleetPackage:
        inputs = self._kustomizations.inputs(folder)
        files, problems = set(inputs.files), [*inputs.problems, *_unfit(self._tree, folder)]
        beside = [path for path in _beside(self._tree, folder) if self._mentions(path) and self._configures(path)]
        configuring = [*beside, *self._above.get(folder, ())]
        files.update(configuring)
        problems += self._unreadable(configuring)
        return FleetPackage(folder, PackageClient.KUSTOMIZE, tuple(sorted(files)), tuple(dict.fromkeys(problems)))

    def _unreadable(self, paths: Iterable[str]) -> list[ClientProblem]:
        """Problems of configurations that cannot be read."""
        return [problem for path in paths for problem in unreadable_at(self._tree, path, _CONFIGURATION)]

    def _is_left_out(self, folder: str) -> bool:
        rendered, charts = self._left_out
        return bool(rendered or charts) and _is_within(folder, rendered, charts)

    def _mentions(self, path: str) -> bool:
        """True if the file has a word of a configuration; no file is read for that twice."""
        if path in self._mentioning:
            return True
        folder, name = posixpath.split(path)
        is_known = self.clients and name.endswith(SUFFIXES) and name not in KUSTOMIZATIONS
        return not (is_known and not self._is_left_out(folder)) and _holds(self._tree, path, _CONFIGURATION)

    def _configures(self, path: str) -> bool:
        """True if the file has a configuration, or one that cannot be read, which is an error of its package."""
        if any(_is_configuration(item) for item in objects_at(self._tree, path)):
            return True
        return bool(unreadable_at(self._tree, path, _CONFIGURATION))

    def _named_by_kustomization(self, folder: str) -> set[str]:
        """The files by which the kustomization of a folder runs packwise; its own for a configuration in it."""
        file = file_of(self._tree, folder)
        try:
            if file is None or not _PLUGIN.search(self._tree.read(file)):
                return set()
            # In any case: kustomize would run packwise by such a field, so it is no other folder.
            value = {same_name(key, PLUGINS) or key: each for key, each in mapping_at(self._tree, file).items()}
        except (OSError, YamlError):
            return set()
        entries = [entry for entry in plugin_entries(self._tree, folder, value) if entry.is_packwise]
        return {path for entry in entries for path, _ in entry.files}

    def _named_by_kptfile(self, path: str) -> set[str] | None:
        """The file that configures packwise in the pipeline of a Kptfile; None where that does not run packwise."""
        functions = [entry for _, entry in _functions(self._tree, path) if _is_packwise(entry)]
        if not functions:
            # One that cannot be read and speaks of packwise is an error of its package.
            return set() if unreadable_at(self._tree, path, (b"packwise",)) else None
        configs = [entry.get("configPath") for entry in functions]
        folder = posixpath.dirname(path)
        return {posixpath.normpath(posixpath.join(folder, each)) for each in configs if isinstance(each, str)}


def _is_within(folder: str, rendered: set[str], charts: set[str]) -> bool:
    """True if a folder is of what packwise wrote, or holds the templates of a chart."""
    inner = ""
    while True:
        if folder in rendered or (folder in charts and inner == "templates"):
            return True
        if not folder:
            return False
        folder, inner = posixpath.split(folder)


def _beside(tree: FileTree, folder: str) -> list[str]:
    """The YAML files directly in a folder."""
    return [
        path
        for path in tree.files_below(folder)
        if posixpath.dirname(path) == folder
        and path.endswith(SUFFIXES)
        and posixpath.basename(path) not in KUSTOMIZATIONS
    ]


def _above(tree: FileTree, folder: str) -> Iterator[str]:
    """The files above a folder that say what is in it."""
    while folder:
        folder = posixpath.dirname(folder)
        for name in sorted({*LANDMARKS, GITIGNORE} - {RENDERED_LIST}):
            path = posixpath.join(folder, name)
            if tree.is_file(path):
                yield path


def _holds(tree: FileTree, path: str, words: tuple[bytes, ...]) -> bool:
    """True if the file can be read, and has one of the words."""
    try:
        data = tree.read(path)
    except OSError:
        return False
    return any(word in data for word in words)


def _is_there(folder: str, command: str) -> bool:  # noqa: ARG001
    """Programs are nobody's concern here: packwise is what runs."""
    return True


def _is_configuration(item: KubeObject) -> bool:
    try:
        return (is_settings(item) or has_topology(item)) and _FUNCTION not in item.annotations
    except FieldError:
        return False


def _unfit(tree: FileTree, folder: str) -> Iterator[ClientProblem]:
    """Why packwise after a build of kustomize would not give what it gives within one."""
    file = file_of(tree, folder) or folder
    try:
        value = mapping_at(tree, file)
    except YamlError:
        return
    entries = plugin_entries(tree, folder, value)
    own = [entry for entry in entries if entry.is_packwise]
    documents = {file: (value,)} | {
        path: tuple(item.value for item in objects_at(tree, path))
        for entry in own
        for path in entry.inputs.files
        if path != file
    }
    yield from kustomize_clients(documents, _is_there)[1]
    transformers = [entry for entry in entries if entry.field == "transformers"]
    listed = [entry for entry in transformers if entry.is_packwise]
    if len(listed) > 1 or any(len(entry.objects) > 1 for entry in own):
        yield ClientProblem(file, "must run packwise once; its transformers name it more often")
    elif listed and listed[0] is not transformers[-1]:
        yield ClientProblem(file, "packwise must be the last of the transformers: what others change comes after it")
    if _AFTER in words_of(value.get("buildMetadata")):
        yield ClientProblem(file, f"buildMetadata must not have {_AFTER}: kustomize adds that label after packwise")


def _of_kustomization(tree: FileTree, folder: str) -> PackageConfiguration:
    file = file_of(tree, folder) or folder
    entries = [entry for entry in plugin_entries(tree, folder, mapping_at(tree, file)) if entry.is_packwise]
    for field in PLUGINS:
        chosen = [entry for entry in entries if entry.field == field]
        if chosen:
            return PackageConfiguration(chosen[0].objects[0], validates=field == "validators")
    # What the kustomization lists comes out of its build.
    return _nearest(tree, (folder, *_folders_above(folder)), set(Kustomizations(tree).inputs(folder).files))


def _nearest(tree: FileTree, folders: Iterable[str], listed: Container[str] = ()) -> PackageConfiguration:
    """The configuration in the first of the folders that has one, but for what is `listed`."""
    for at in folders:
        beside = [(path, item) for path in _beside(tree, at) for item in objects_at(tree, path)]
        configuring = [(path, item) for path, item in beside if _is_configuration(item)]
        if configuring:
            items = [item for path, item in configuring if path not in listed]
            settings = [item for item in items if is_settings(item)] or items
            return PackageConfiguration(settings[0] if settings else None)
    return PackageConfiguration()


def _folders_above(folder: str) -> Iterator[str]:
    while folder:
        folder = posixpath.dirname(folder)
        yield folder


def _is_below(folder: str, other: str) -> bool:
    return not other or folder.startswith(f"{other}/")


def _of_kptfile(tree: FileTree, folder: str) -> PackageConfiguration:
    path = posixpath.join(folder, KPTFILE)
    own = [(role, entry) for role, entry in _functions(tree, path) if _is_packwise(entry)]
    role, entry = min(own, key=lambda each: each[0] != "mutators")
    config, values = entry.get("configPath"), entry.get("configMap")
    item = None
    if isinstance(config, str):
        at = posixpath.normpath(posixpath.join(folder, config))
        item = next((item for item in objects_at(tree, at) if is_settings_value(item.value)), None)
    elif isinstance(values, dict):
        from json import dumps

        metadata: dict[str, Value] = {"name": "function-input"}
        value: dict[str, Value] = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": values}
        item = KubeObject.cut(Source(dumps(value), (), 1, 1, path), value)
    return PackageConfiguration(item, validates=role == "validators")


def _unfit_kpt(tree: FileTree, folder: str, own: Sequence[str], mentions: Callable[[str], bool]) -> list[ClientProblem]:
    """Why packwise alone would not give what the pipeline of a Kptfile gives."""
    path = posixpath.join(folder, KPTFILE)
    unreadable = unreadable_at(tree, path, (b"packwise",))
    if unreadable:
        return unreadable
    functions = _functions(tree, path)
    problems = [
        ClientProblem(
            path,
            f"the pipeline must run packwise alone, since a fleet runs no program that a repository names; got {name}: "
            "render this package with kpt itself",
        )
        for _, entry in functions
        if not _is_packwise(entry)
        for name in [entry.get("exec") or entry.get("image")]
    ]
    packwise = [entry for _, entry in functions if _is_packwise(entry)]
    if len(packwise) > 1:
        problems.append(ClientProblem(path, "the pipeline must run packwise once"))
    if any(entry.get(field) for entry in packwise for field in ("selectors", "exclude")):
        problems.append(ClientProblem(path, "the pipeline must give packwise all objects: no selectors, no exclude"))
    inner = [file for file in own if posixpath.basename(file) == KPTFILE and file != path and _functions(tree, file)]
    problems += [
        ClientProblem(file, f"a pipeline within the package {folder or '.'} is kpt's alone to run") for file in inner
    ]
    documents = {
        file: tuple(item.value for item in objects_at(tree, file)) for file in own if file == path or mentions(file)
    }
    return [*problems, *kpt_clients(documents, _is_there)[1]]


def _functions(tree: FileTree, path: str) -> list[tuple[str, Mapping[str, Value]]]:
    """The functions in the pipeline of the Kptfile at `path`, each with its list."""
    try:
        pipeline = mapping_at(tree, path).get("pipeline")
    except YamlError:
        return []
    functions: list[tuple[str, Mapping[str, Value]]] = []
    for role in ("mutators", "validators"):
        entries = pipeline.get(role) if isinstance(pipeline, dict) else None
        functions += [
            (role, entry) for entry in (entries if isinstance(entries, list) else ()) if isinstance(entry, dict)
        ]
    return functions


def _is_packwise(entry: Mapping[str, Value]) -> bool:
    """True if a function of a pipeline is packwise, by its program or its image."""
    command, image = entry.get("exec"), entry.get("image")
    if isinstance(command, str):
        try:
            words = shlex.split(command)
        except ValueError:
            return False
        return bool(words) and posixpath.basename(words[0]) == "packwise"
    name = re.split("[@:]", posixpath.basename(image))[0] if isinstance(image, str) else ""
    return name == "packwise"


class Reach(Record):
    """The folders of packages, sorted: reached by the change, new with it, gone with it, and those it cannot touch."""

    reached: tuple[str, ...] = ()
    added: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()
    untouched: tuple[str, ...] = ()


def reach_of_any(reaches: Sequence[Reach]) -> Reach:
    """The reach of a change that starts from several commits: what it reaches from any of them."""
    if len(reaches) == 1:
        return reaches[0]
    added = {folder for each in reaches for folder in each.added}
    reached = {folder for each in reaches for folder in each.reached} - added
    removed = {folder for each in reaches for folder in each.removed}
    untouched = {folder for each in reaches for folder in each.untouched} - reached - added
    return Reach(*[tuple(sorted(folders)) for folders in (reached, added, removed, untouched)])


def reach(before: Mapping[str, str], after: Mapping[str, str]) -> Reach:
    """The reach of a change. Both sides have a digest by folder, of all that the package there reads: paths, contents.

    A file that is new, gone or different reaches every package that reads it on either side.
    """
    both = sorted(before.keys() & after.keys())
    return Reach(
        tuple(folder for folder in both if before[folder] != after[folder]),
        tuple(sorted(after.keys() - before.keys())),
        tuple(sorted(before.keys() - after.keys())),
        tuple(folder for folder in both if before[folder] == after[folder]),
    )
