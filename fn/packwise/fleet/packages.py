"""The packages of a fleet, and the ones that a change can affect."""

from __future__ import annotations

import posixpath
import re
import shlex
from collections import Counter
from enum import StrEnum

from krmfn.fieldpath import FieldError
from krmfn.hints import TYPE_CHECKING, Record
from krmfn.kubeobject import KubeObject, Source
from krmfn.yamltext import YamlError
from packwise.build.kustomization_fields import PLUGINS, same_name
from packwise.build.kustomization_files import Kustomizations, file_of, folders_named_by, plugin_entries
from packwise.build.problems import KPTFILE, ClientProblem, is_settings_value
from packwise.build.tree import SAYING, kustomization_at, mapping_at, objects_at, paths_below, unreadable_at
from packwise.discovery import GITIGNORE, KUSTOMIZATIONS, LANDMARKS, RENDERED_LIST
from packwise.doctor.clients import kpt_clients, kustomize_clients
from packwise.inputs.paths import InputPath
from packwise.inputs.reader import decode
from packwise.inputs.surroundings import traits_of
from packwise.lenient import mapping, strings, value_at
from packwise.nearest import UNREADABLE, Traits, configurations_by_folder, nearest_folder
from packwise.objects.kinds import WORKLOADS
from packwise.objects.lists import expand_lists
from packwise.objects.workload_kinds import QUEUE_NAME
from packwise.pipeline import clusters
from packwise.settings.configuration import kai_names

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence

    from krmfn.result import Result
    from krmfn.value import Value
    from packwise.build.tree import FileTree
    from packwise.inputs.reader import InputFile

SUFFIXES = (".yaml", ".yml", ".json")
_CONFIGURATION = (b"TopologyRender", b"operator.config.grove.io/")
"""Every configuration contains one of these words. Most files have none and are not parsed."""

_DEFINITION = (*_CONFIGURATION, b"Topology", b"Queue", b"CustomResourceDefinition", b"topology_keys", b"pools")
"""Every file that defines objects for workloads contains one of these words."""

_WORKLOAD = (*[kind.name.encode() for kind in WORKLOADS], QUEUE_NAME.encode())
"""Every workload contains one of these words, or the name of its scheduler."""

_PLUGIN = re.compile(rb"former|validator|generator|\\", re.IGNORECASE)
"""A text that every kustomization with plugins contains: the name of such a field without its "s", or a backslash.

kustomize also accepts another letter for the "s", and a backslash begins an escape.
"""
_FUNCTION = "config.kubernetes.io/function"
_CHART = "Chart.yaml"
_AFTER = "managedByLabel"


class PackageClient(StrEnum):
    """The program that renders a package: packwise itself, or a client that runs packwise."""

    FOLDER = "folder"
    KUSTOMIZE = "kustomize"
    KPT = "kpt"


class FunctionConfiguration(Record):
    """The configuration that a client passes to packwise, or None. `validates` is True if packwise only validates."""

    item: KubeObject | None
    validates: bool = False


class PackageBuild(Record):
    """The built files of a package, the built definitions `around` it, and the results of the builds.

    Equal digests mean equal builds.
    """

    files: tuple[InputFile, ...] = ()
    around: tuple[InputFile, ...] = ()
    results: tuple[Result, ...] = ()
    digest: str = ""

    @property
    def is_any(self) -> bool:
        """Return True if there is something to check or to report."""
        return bool(self.files or self.results)


class FleetPackage(Record):
    """A folder that is rendered by itself, the sorted paths of all its inputs, and its problems.

    `around` are files with configurations and definitions for the package. They are also in `files`, but are not
    rendered. `build` has the built sources of the package. If an object is the package, `place` is the folder that
    selects its configuration.
    """

    folder: str
    client: PackageClient
    files: tuple[str, ...]
    problems: tuple[ClientProblem, ...] = ()
    around: tuple[str, ...] = ()
    build: PackageBuild | None = None
    place: str | None = None


def function_configuration(tree: FileTree, folder: str, client: PackageClient) -> FunctionConfiguration | None:
    """Return the configuration in `folder` that the client passes. Return None if the client does not run packwise.

    Raise YamlError if the client's file is not YAML.
    """
    if client is PackageClient.KUSTOMIZE:
        return _configuration_in_kustomization(tree, folder)
    return _configuration_in_kptfile(tree, folder) if client is PackageClient.KPT else None


def configurations_in(tree: FileTree, paths: Iterable[str]) -> tuple[KubeObject, ...]:
    """Return the configurations in files. A function's configuration is omitted, because it applies only to one
    build.
    """
    items = expand_lists([item for path in paths for item in objects_at(tree, path)])
    return tuple(filter(_is_configuration, items))


class Packages:
    """The packages in a folder of a tree. `clients` maps the folder of each package to its client, in order of
    folders.
    """

    __slots__ = (
        "_above",
        "_built",
        "_configurations",
        "_defining",
        "_definitions",
        "_folders",
        "_kustomizations",
        "_mentioning",
        "_outer",
        "_root",
        "_samples",
        "_skipped",
        "_tree",
        "clients",
    )

    def __init__(self, tree: FileTree, root: str) -> None:
        self._tree = tree
        self._root = root
        self._kustomizations = Kustomizations(tree)
        self._built: dict[str, FleetPackage] = {}
        self._skipped: tuple[set[str], set[str]] = set(), set()
        self._mentioning: set[str] = set()
        # `_configurations` maps a folder to the files of its configuration. `_above` maps a kustomization to the folder
        # with the configuration above it.
        self._configurations: dict[str, list[str]] = {}
        self._above: dict[str, str] = {}
        # `_defining` lists files in the root that may contain definitions. `_definitions` lists such files for the
        # folder of a configuration, each with its nearest folder. `_outer` lists the files of the configuration above
        # the root.
        self._defining: list[str] = []
        self._definitions: dict[str, list[tuple[str, str]]] = {}
        self._outer: list[str] = []
        # Operators' configurations that apply to no package.
        self._samples: set[str] = set()
        self.clients: dict[str, PackageClient] = {}
        self.clients = dict(sorted(self._clients(tree.files_below(root), root).items()))
        self._folders = list(self.clients)

    def _traits_outside(self, root: str) -> dict[str, Traits]:
        """Return the traits of the files with the nearest configuration above the root.

        If the configuration has no topology, files below its folder are added. They may complete the configuration.
        """
        above = nearest_folder(root, lambda folder: bool(self._configuring(self._tree.files_in(folder))))
        if above is None:
            return {}
        traits = self._configuring(self._tree.files_in(above))
        if any(each.topology for each in traits.values()):
            return traits
        paths = self._tree.listing(above).files_below(above)
        return traits | self._configuring([path for path in paths if not _is_within_folder(path, root)])

    def _configuring(self, paths: Iterable[str]) -> dict[str, Traits]:
        """Return the traits of the files with a configuration."""
        configuring: dict[str, Traits] = {}
        for path in paths:
            if path.endswith(SUFFIXES) and _has_word(self._tree, path, _CONFIGURATION):
                self._mentioning.add(path)
                traits = self._traits(path)
                if traits.configures:
                    configuring[path] = traits
        return configuring

    def _is_used(self, folder: str, configured: Mapping[str, int], root: str) -> bool:
        """Return True if the configuration in the folder is the nearest one of a workload.

        `configured` counts the configurations in each folder. A configuration above the root counts as used. Several
        configurations next to a kustomization do too, because its build reads them.
        """
        if _is_below(root, folder) or (configured[folder] > 1 and file_of(self._tree, folder) is not None):
            return True
        tree = self._tree if _is_within_folder(folder, root) else self._tree.listing(folder)
        own = (path for path in tree.files_below(folder) if path.endswith(SUFFIXES))
        return any(
            nearest_folder(path, configured.__contains__) == folder and _has_workloads(self._tree, path) for path in own
        )

    def _clients(self, paths: Sequence[str], root: str) -> dict[str, PackageClient]:
        self._skipped = _folders_to_skip(paths)
        clients: dict[str, PackageClient] = {}
        configuring: dict[str, Traits] = {}
        taken: set[str] = set()
        kustomizations: list[str] = []
        for path in paths:
            folder, name = posixpath.split(path)
            if _is_within(folder, *self._skipped):
                continue
            if name in KUSTOMIZATIONS:
                kustomizations.append(folder)
                named = self._named_by_kustomization(folder)
                taken |= named
                if named:
                    clients[folder] = PackageClient.KUSTOMIZE
                    # Do this now, while the kustomization is loaded, because reading it is most of the work.
                    self._built[folder] = self._kustomize_package(folder)
            elif name == KPTFILE:
                named = self._named_by_kptfile(path)
                if named is not None:
                    taken |= named
                    clients.setdefault(folder, PackageClient.KPT)
            else:
                configuring |= self._configuring([path])
                if path.endswith(SUFFIXES) and _has_word(self._tree, path, _DEFINITION):
                    self._defining.append(path)
        free = {posixpath.dirname(path) for path in configuring.keys() - taken}
        configuring = {path: traits for path, traits in configuring.items() if posixpath.dirname(path) in free}
        configuring |= self._traits_outside(root)
        configured = Counter(map(posixpath.dirname, configuring))
        self._configurations = configurations_by_folder(
            configuring, lambda folder: self._is_used(folder, configured, root)
        )
        self._samples = set(configuring).difference(*self._configurations.values())
        outer = nearest_folder(root, self._configurations.__contains__)
        self._outer = [] if outer is None else self._configurations[outer]
        for folder in self._configurations:
            if folder not in clients and _is_within_folder(folder, root):
                has_build = file_of(self._tree, folder) is not None
                clients[folder] = PackageClient.KUSTOMIZE if has_build else PackageClient.FOLDER
        clients = self._with_builds_below(clients, kustomizations)
        if root not in clients and self._outer and self._is_package(root, clients):
            clients[root] = PackageClient.FOLDER
        return clients

    def _with_builds_below(
        self, clients: dict[str, PackageClient], kustomizations: Sequence[str]
    ) -> dict[str, PackageClient]:
        """Return the packages, and each outermost kustomization below a configuration as a package.

        The folder of the configuration is then a package only if it has more files.
        """
        configured = self._configurations
        bounds = configured.keys() | {folder for folder, client in clients.items() if client is PackageClient.KPT}
        nearest = {
            folder: nearest_folder(folder, bounds.__contains__) for folder in kustomizations if folder not in clients
        }
        below_any = {folder: above for folder, above in nearest.items() if above is not None and above in configured}
        if not below_any:
            return clients
        bases = set[str]().union(*[folders_named_by(self._tree, folder) for folder in kustomizations])
        self._above = {folder: above for folder, above in below_any.items() if folder not in bases}
        built = clients | dict.fromkeys(self._above, PackageClient.KUSTOMIZE)
        used = set(self._above.values())
        return {
            folder: client for folder, client in built.items() if folder not in used or self._has_more(folder, built)
        }

    def _is_package(self, root: str, clients: Mapping[str, PackageClient]) -> bool:
        """Return True if files of the root that no client builds hold workloads. The configuration above applies to
        them.
        """
        names = kai_names([item for path in self._outer for item in objects_at(self._tree, path)])
        words = (*_WORKLOAD, *[name.encode() for name in names])
        return any(
            path.endswith(SUFFIXES) and _has_word(self._tree, path, words)
            for path in self._unbuilt_files(root, clients)
        )

    def _unbuilt_files(self, root: str, clients: Iterable[str]) -> list[str]:
        """Return the files of the root that are not in its packages and that no kustomization of a package reads."""
        own = self._own_files(root, [folder for folder in clients if folder != root])
        built = {path for folder in self._built for path in self._built[folder].files}
        return [path for path in own if path not in built]

    def _has_more(self, folder: str, clients: Mapping[str, PackageClient]) -> bool:
        """Return True if the folder has more to render than its configuration and the kustomize builds below it."""
        if clients[folder] is not PackageClient.FOLDER:
            return True
        own = self._own_files(folder, [other for other in clients if other != folder and _is_below(other, folder)])
        return any(path.endswith(SUFFIXES) and not self.configures(path) for path in own)

    def _own_files(self, folder: str, inner: Iterable[str]) -> list[str]:
        """Return the files of a folder without the files and bases of the packages in it."""
        others = {path for other in inner for path in self._tree.files_below(other)}
        for other in self._above:
            if _is_below(other, folder):
                reached = self._kustomizations.inputs(other).files
                others.update(path for path in reached if path not in self._configurations[self._above[other]])
        return [path for path in self._tree.files_below(folder) if path not in others]

    def package(self, folder: str) -> FleetPackage:
        """Return the package in a folder, with all files that it reads."""
        client = self.clients[folder]
        if client is PackageClient.KUSTOMIZE:
            return self._built.get(folder) or self._kustomize_package(folder)
        around: list[str] = []
        if client is PackageClient.FOLDER and folder not in self._configurations:
            own = self._unbuilt_files(folder, self._folders)
            above = nearest_folder(folder, self._configurations.__contains__)
            if above is not None:
                around = self._files_around(folder, above, own)
        else:
            own = self._own_files(folder, {other for other in paths_below(self._folders, folder) if other != folder})
        # kpt sends all files of the package.
        own = [path for path in own if client is PackageClient.KPT or path not in self._samples]
        files = [path for path in own if path.endswith(SUFFIXES) or posixpath.basename(path) in SAYING]
        problems = (
            _differences_from_pipeline(self._tree, folder, own, self._mentions) if client is PackageClient.KPT else []
        )
        problems += self._unreadable_problems(around)
        read = sorted({*files, *around, *_landmarks_above(self._tree, folder)})
        return FleetPackage(folder, client, tuple(read), tuple(problems), tuple(around))

    @property
    def functions(self) -> frozenset[str]:
        """Return the folders of kustomizations that run packwise."""
        return frozenset(self._built)

    def configuring_folder(self, folder: str) -> str | None:
        """Return the folder of the configuration for files in `folder`, or None."""
        return nearest_folder(posixpath.join(folder, KPTFILE), self._configurations.__contains__)

    def configuring_files(self, folder: str) -> list[str]:
        """Return the files that configure the builds for `folder`."""
        above = self.configuring_folder(folder)
        return [] if above is None else self._files_around(folder, above, ())

    def configures(self, path: str) -> bool:
        """Return True if the file holds a configuration."""
        return self._mentions(path) and self._traits(path).configures

    def has_workloads(self, folder: str, passed: Collection[str]) -> bool:
        """Return True if the package in `folder` has a file with workloads that is not in `passed`."""
        files = [path for path in self.package(folder).files if path not in passed and path.endswith(SUFFIXES)]
        return any(_has_word(self._tree, path, _WORKLOAD) for path in files)

    def _kustomize_package(self, folder: str) -> FleetPackage:
        inputs = self._kustomizations.inputs(folder)
        files, problems = set(inputs.files), [*inputs.problems, *_differences_after_build(self._tree, folder)]
        # The build contains the files that the kustomization lists.
        above = folder if folder in self._configurations else self._above.get(folder)
        if above is None:
            configuring = list(self._configuring(_yaml_files_in(self._tree, folder)))
            around = [path for path in configuring if path not in files]
        else:
            configuring, around = self._configurations[above], self._files_around(folder, above, files)
        files.update([*configuring, *around])
        problems += self._unreadable_problems(configuring)
        return FleetPackage(
            folder, PackageClient.KUSTOMIZE, tuple(sorted(files)), tuple(dict.fromkeys(problems)), tuple(around)
        )

    def _files_around(self, folder: str, above: str, own: Collection[str]) -> list[str]:
        """Return the files of the configuration in `above` and the definitions that apply to the package in `folder`.

        Files in `own` are excluded. A definition in the folder of another client belongs to another package.
        """
        if above not in self._definitions:
            self._definitions[above] = list(self._definitions_below(above))
        definitions = [path for path, nearest in self._definitions[above] if nearest in (above, folder)]
        return [path for path in dict.fromkeys([*self._configurations[above], *definitions]) if path not in own]

    def _definitions_below(self, above: str) -> Iterator[tuple[str, str]]:
        """Yield the files that may define names for workloads, each with the nearest folder that has a configuration
        or client.
        """
        paths, skipped = list(paths_below(self._defining, above)), self._skipped
        configured = set(self._configurations)
        if not _is_within_folder(above, self._root):
            listed = self._tree.listing(above).files_below(above)
            outside = [path for path in listed if path.endswith(SUFFIXES) and not _is_within_folder(path, self._root)]
            paths += [path for path in outside if _has_word(self._tree, path, _DEFINITION)]
            skipped = _folders_to_skip(listed)
            configuring = self._configuring(outside).keys() - self._configurations[above]
            configured.update(map(posixpath.dirname, configuring))

        def is_bound(folder: str) -> bool:
            is_kpt = self._tree.is_file(posixpath.join(folder, KPTFILE))
            return is_kpt or folder in configured or file_of(self._tree, folder) is not None

        for path in paths:
            nearest = nearest_folder(path, is_bound)
            # The configuration of a function, or of another package, does not apply here.
            is_elsewhere = path in self._mentioning and any(map(_configures, objects_at(self._tree, path)))
            if nearest is not None and not is_elsewhere and not _is_within(posixpath.dirname(path), *skipped):
                yield path, nearest

    def _unreadable_problems(self, paths: Iterable[str]) -> list[ClientProblem]:
        """Return the problems of configurations that cannot be read."""
        return [problem for path in paths for problem in unreadable_at(self._tree, path, _CONFIGURATION)]

    def _mentions(self, path: str) -> bool:
        """Return True if the file contains a word of a configuration. Files that were searched before are not read
        again.
        """
        if path in self._mentioning:
            return True
        folder, name = posixpath.split(path)
        is_known = self.clients and name.endswith(SUFFIXES) and name not in KUSTOMIZATIONS
        return not (is_known and not _is_within(folder, *self._skipped)) and _has_word(self._tree, path, _CONFIGURATION)

    def _traits(self, path: str) -> Traits:
        """Return the traits of the configuration in a file. An unreadable one has all traits, so that its package
        reports it.
        """
        traits = clusters.traits_of(configurations_in(self._tree, [path]))
        return UNREADABLE if not traits.configures and unreadable_at(self._tree, path, _CONFIGURATION) else traits

    def _named_by_kustomization(self, folder: str) -> set[str]:
        """Return the files in which the kustomization of a folder configures packwise."""
        file = file_of(self._tree, folder)
        try:
            if file is None or not _PLUGIN.search(self._tree.read(file)):
                return set()
            # kustomize ignores the case of these fields, and would run packwise. Such a field names no other folder.
            value = {same_name(key, PLUGINS) or key: each for key, each in kustomization_at(self._tree, file).items()}
        except (OSError, YamlError):
            return set()
        entries = [entry for entry in plugin_entries(self._tree, folder, value) if entry.is_packwise]
        return {path for entry in entries for path, _ in entry.files}

    def _named_by_kptfile(self, path: str) -> set[str] | None:
        """Return the file that configures packwise in the pipeline of a Kptfile. Return None if it does not run
        packwise.
        """
        functions = [entry for _, entry in _functions(self._tree, path) if _is_packwise(entry)]
        if not functions:
            # An unreadable file that mentions packwise is an error of its package.
            return set() if unreadable_at(self._tree, path, (b"packwise",)) else None
        configs = [entry.get("configPath") for entry in functions]
        folder = posixpath.dirname(path)
        return {posixpath.normpath(posixpath.join(folder, each)) for each in configs if isinstance(each, str)}


def _folders_to_skip(paths: Iterable[str]) -> tuple[set[str], set[str]]:
    """Return the folders among `paths` that packwise wrote, and the folders of charts."""
    folders: dict[str, set[str]] = {RENDERED_LIST: set(), _CHART: set()}
    for path in paths:
        folder, name = posixpath.split(path)
        if name in folders:
            folders[name].add(folder)
    return folders[RENDERED_LIST], folders[_CHART]


def _is_within(folder: str, rendered: set[str], charts: set[str]) -> bool:
    """Return True if the folder is in a folder that packwise wrote, or in the templates of a chart."""
    if not rendered and not charts:
        return False
    inner = ""
    while True:
        if folder in rendered or (folder in charts and inner == "templates"):
            return True
        if not folder:
            return False
        folder, inner = posixpath.split(folder)


def _yaml_files_in(tree: FileTree, folder: str) -> list[str]:
    """Return the YAML files directly in a folder."""
    return [
        path
        for path in tree.files_below(folder)
        if posixpath.dirname(path) == folder
        and path.endswith(SUFFIXES)
        and posixpath.basename(path) not in KUSTOMIZATIONS
    ]


def _landmarks_above(tree: FileTree, folder: str) -> Iterator[str]:
    """Yield the files above a folder that describe its content."""
    while folder:
        folder = posixpath.dirname(folder)
        for name in sorted({*LANDMARKS, GITIGNORE} - {RENDERED_LIST}):
            path = posixpath.join(folder, name)
            if tree.is_file(path):
                yield path


def _has_word(tree: FileTree, path: str, words: tuple[bytes, ...]) -> bool:
    """Return True if the file can be read and has one of the words."""
    try:
        data = tree.read(path)
    except OSError:
        return False
    return any(word in data for word in words)


def _is_there(folder: str, command: str) -> bool:  # noqa: ARG001
    """Return True for every program, because only packwise runs here."""
    return True


def _is_configuration(item: KubeObject) -> bool:
    return _configures(item) and not is_of_function(item)


def _configures(item: KubeObject) -> bool:
    try:
        return clusters.traits_of([item]).configures
    except FieldError:
        return False


def is_of_function(item: KubeObject) -> bool:
    """Return True if the object is the configuration of a function that a build runs."""
    return _FUNCTION in mapping(value_at(item.value, "metadata", "annotations"))


def _has_workloads(tree: FileTree, path: str) -> bool:
    """Return True if the file can be read and holds workloads."""
    try:
        return traits_of(decode(tree.read(path), InputPath(path))).workloads
    except (OSError, FieldError):
        return False


def _differences_after_build(tree: FileTree, folder: str) -> Iterator[ClientProblem]:
    """Yield the reasons why packwise after a kustomize build would have another result than packwise within the
    build.
    """
    file = file_of(tree, folder) or folder
    try:
        value = kustomization_at(tree, file)
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
        yield ClientProblem(file, "the transformers name packwise more than once; name it once")
    elif listed and listed[0] is not transformers[-1]:
        yield ClientProblem(file, "packwise must be the last transformer, because later ones change its output")
    if _AFTER in strings(value.get("buildMetadata")):
        yield ClientProblem(file, f"buildMetadata must not have {_AFTER}: kustomize adds that label after packwise")


def _configuration_in_kustomization(tree: FileTree, folder: str) -> FunctionConfiguration | None:
    file = file_of(tree, folder) or folder
    entries = [entry for entry in plugin_entries(tree, folder, kustomization_at(tree, file)) if entry.is_packwise]
    for field in PLUGINS:
        chosen = [entry for entry in entries if entry.field == field]
        if chosen:
            return FunctionConfiguration(chosen[0].objects[0], validates=field == "validators")
    return None


def _is_within_folder(path: str, folder: str) -> bool:
    """Return True if the path is the folder or is below it."""
    return path == folder or _is_below(path, folder)


def _is_below(folder: str, other: str) -> bool:
    return not other or folder.startswith(f"{other}/")


def _configuration_in_kptfile(tree: FileTree, folder: str) -> FunctionConfiguration:
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
    return FunctionConfiguration(item, validates=role == "validators")


def _differences_from_pipeline(
    tree: FileTree, folder: str, own: Sequence[str], mentions: Callable[[str], bool]
) -> list[ClientProblem]:
    """Return the reasons why packwise alone would have another result than the pipeline of a Kptfile."""
    path = posixpath.join(folder, KPTFILE)
    unreadable = unreadable_at(tree, path, (b"packwise",))
    if unreadable:
        return unreadable
    functions = _functions(tree, path)
    problems = [
        ClientProblem(
            path,
            f"the pipeline runs {name}, but `packwise fleet` runs only packwise. Render this package with kpt itself",
        )
        for _, entry in functions
        if not _is_packwise(entry)
        for name in [entry.get("exec") or entry.get("image")]
    ]
    packwise = [entry for _, entry in functions if _is_packwise(entry)]
    if len(packwise) > 1:
        problems.append(ClientProblem(path, "the pipeline runs packwise more than once; run it once"))
    if any(entry.get(field) for entry in packwise for field in ("selectors", "exclude")):
        problems.append(
            ClientProblem(
                path, "packwise needs all objects; remove selectors and exclude from its entry in the pipeline"
            )
        )
    inner = [file for file in own if posixpath.basename(file) == KPTFILE and file != path and _functions(tree, file)]
    problems += [
        ClientProblem(
            file, f"only kpt can run this pipeline, because its package is within the package {folder or '.'}"
        )
        for file in inner
    ]
    documents = {
        file: tuple(item.value for item in objects_at(tree, file)) for file in own if file == path or mentions(file)
    }
    return [*problems, *kpt_clients(documents, _is_there)[1]]


def _functions(tree: FileTree, path: str) -> list[tuple[str, Mapping[str, Value]]]:
    """Return the functions in the pipeline of the Kptfile at `path`, each with the name of its list."""
    try:
        pipeline = mapping_at(tree, path).get("pipeline")
    except YamlError:
        return []
    functions: list[tuple[str, Mapping[str, Value]]] = []
    for role in ("mutators", "validators"):
        entries = value_at(pipeline, role)
        functions += [
            (role, entry) for entry in (entries if isinstance(entries, list) else ()) if isinstance(entry, dict)
        ]
    return functions


def _is_packwise(entry: Mapping[str, Value]) -> bool:
    """Return True if a function of a pipeline is packwise, by its program or its image."""
    command, image = entry.get("exec"), entry.get("image")
    if isinstance(command, str):
        try:
            words = shlex.split(command)
        except ValueError:
            return False
        return bool(words) and posixpath.basename(words[0]) == "packwise"
    name = re.split("[@:]", posixpath.basename(image))[0] if isinstance(image, str) else ""
    return name == "packwise"
