"""The packages of a fleet with everything that controllers build: charts, Applications, HelmReleases, kustomizations.

An Application, ApplicationSet, HelmRelease or Kustomization of Flux is a package. A source that no such object names is
a package in its folder. Builds run before the packages are checked, so the key of a package covers their output.
"""

from __future__ import annotations

import json
import posixpath
from hashlib import sha256

from krmfn.hints import TYPE_CHECKING, Record, as_dict
from packwise.build.deliveries import Delivered
from packwise.build.files import built_files, configured_folder
from packwise.build.links import Trees
from packwise.build.named import deliveries_of
from packwise.build.summary import results_of
from packwise.build.tree import SAYING, folders_above
from packwise.fleet.packages import FleetPackage, PackageBuild, PackageClient, Packages
from packwise.inputs.reader import Sources, readable_items
from packwise.inputs.surroundings import keep_definitions
from packwise.objects.index import identity

if TYPE_CHECKING:
    from collections.abc import Mapping

    from packwise.build.builder import Store
    from packwise.build.sources import Owner
    from packwise.build.tree import FileTree
    from packwise.inputs.reader import InputFile
    from packwise.objects.index import Identity


class _Part(Record):
    """The deliveries of one package. `place` is the folder that selects its configuration."""

    place: str
    cluster: str
    delivered: Delivered


class _Definitions(Record):
    """A built file of a package, with only the objects that workloads refer to. `names` are the identities of these
    objects.
    """

    package: str
    cluster: str
    file: InputFile
    names: frozenset[Identity]
    digest: str


class BuiltPackages:
    """The packages in a folder of a tree, with all sources built. `clients` maps the name of each package to its
    client.
    """

    __slots__ = ("_built", "_configuring", "_definitions", "_packages", "_parts", "_reads", "clients", "sources")

    def __init__(self, packages: Packages, tree: FileTree, delivered: Delivered, *, requires: bool) -> None:
        self._packages = packages
        self._reads = delivered.reads
        self._parts = _parts_of(delivered, tree)
        self._configuring = {name: packages.configuring_folder(part.place) for name, part in self._parts.items()}
        trees = Trees.of(tree)
        self._built = {name: _build_of(part, trees, requires=requires) for name, part in self._parts.items()}
        self._definitions = self._definitions_by_folder()
        unbuilt = [(each.owner.title, each.obstacle.value, each.reason) for each in delivered.unbuilt]
        self.sources = Sources(len(delivered.built), tuple(unbuilt))
        owning = {each.delivery.owner.file for each in delivered.built} | {
            each.owner.file for each in delivered.unbuilt
        }
        kept = {name: client for name, client in packages.clients.items() if self._is_kept(name, client, owning)}
        added = [name for name in self._parts if self._built[name].is_any]
        self.clients = dict(sorted((dict.fromkeys(added, PackageClient.FOLDER) | kept).items()))

    def package(self, name: str) -> FleetPackage:
        """Return the package of this name, with everything that it reads."""
        client = self._packages.clients.get(name)
        if client is PackageClient.FOLDER:
            return self._with_build(self._packages.package(name), name)
        if client is PackageClient.KPT or name in self._packages.functions:
            return self._packages.package(name).replace(build=self._built.get(name))
        place = self._parts[name].place
        around = self._packages.configuring_files(place)
        package = FleetPackage(name, PackageClient.FOLDER, tuple(sorted(around)), (), tuple(around), None, place)
        return self._with_build(package, name)

    def _is_kept(self, name: str, client: PackageClient, owning: set[str]) -> bool:
        """Return True if a package without builds is still a package when sources are built.

        A kustomization stays a package only if it runs a function, because the builds cover all others.
        """
        if client is PackageClient.KUSTOMIZE:
            return name in self._packages.functions
        is_used = self._packages.configuring_folder(name) in self._configuring.values()
        if client is PackageClient.KPT or name in self._parts or not is_used:
            return True
        # A folder with a configuration that other packages use is a package only if it has workloads of its own.
        return self._packages.has_workloads(name, self._reads | owning)

    def _with_build(self, package: FleetPackage, name: str) -> FleetPackage:
        """Return the package with its builds. Files that a build reads are removed, because the built files replace
        them.
        """
        read = {path for path in package.files if path in self._reads and posixpath.basename(path) not in SAYING}
        configuring = {path for path in read if self._packages.configures(path)}
        passed = read - configuring
        around = dict.fromkeys([*package.around, *sorted(configuring)])
        return package.replace(
            files=tuple([path for path in package.files if path not in passed]),
            around=tuple([path for path in around if path not in passed]),
            build=self._with_definitions(name),
        )

    def _with_definitions(self, name: str) -> PackageBuild | None:
        """Return the builds of a package, with the definitions that other packages of the same configuration build."""
        build = self._built.get(name, PackageBuild())
        part = self._parts.get(name)
        folder = self._packages.configuring_folder(name) if part is None else self._configuring[name]
        cluster = "" if part is None else part.cluster
        known = {each for file in build.files for each in _names_in(file)}
        kept: list[_Definitions] = []
        for each in self._definitions.get(folder, ()):
            if each.package != name and _serves(each.cluster, cluster) and not each.names & known:
                known |= each.names
                kept.append(each)
        if not build.is_any and not kept:
            return None
        digests = " ".join([build.digest, *[each.digest for each in kept]])
        return build.replace(around=tuple([each.file for each in kept]), digest=sha256(digests.encode()).hexdigest())

    def _definitions_by_folder(self) -> dict[str | None, list[_Definitions]]:
        """Return the definitions in builds, by the folder of the configuration that applies to them."""
        definitions: dict[str | None, list[_Definitions]] = {}
        for name, part in self._parts.items():
            for file in map(keep_definitions, self._built[name].files):
                if file.documents:
                    each = _Definitions(name, part.cluster, file, _names_in(file), _digest_of(file))
                    definitions.setdefault(self._configuring[name], []).append(each)
        return definitions


def build_packages(tree: FileTree, root: str, top: str, store: Store | None, *, requires: bool) -> BuiltPackages:
    """Return the packages in the folder `root` of a tree below `top`, with all their sources built."""
    packages = Packages(tree, root)
    within = {path for name in packages.functions for path in packages.package(name).files}
    listed = set(tree.files_below(root)) - within
    listed |= {folder for folder in folders_above(listed) if not root or f"{folder}/".startswith(f"{root}/")}
    whole = tree.listing("") if root else tree
    delivered = deliveries_of(whole, top, listed.__contains__, store)
    return BuiltPackages(packages, whole, delivered, requires=requires)


def _names_in(file: InputFile) -> frozenset[Identity]:
    return frozenset([identity(item.value) for item in readable_items(file)])


def _serves(other: str, cluster: str) -> bool:
    """Return True if objects for the cluster `other` are also in `cluster`. A source without an owner is in any
    cluster.
    """
    return other in ("", cluster) or " " in other


def _parts_of(delivered: Delivered, tree: FileTree) -> dict[str, _Part]:
    """Return the deliveries by the name of their package."""
    parts: dict[str, _Part] = {}
    for built in delivered.built:
        owner = built.delivery.owner
        name = _name_of(owner, parts)
        part = parts.get(name) or _Part(configured_folder(built.delivery, tree), owner.cluster, Delivered())
        parts[name] = part.replace(delivered=part.delivered.replace(built=(*part.delivered.built, built)))
    for unbuilt in delivered.unbuilt:
        owner = unbuilt.owner
        name = _name_of(owner, parts)
        part = parts.get(name) or _Part(posixpath.dirname(owner.file), owner.cluster, Delivered())
        parts[name] = part.replace(delivered=part.delivered.replace(unbuilt=(*part.delivered.unbuilt, unbuilt)))
    return parts


def _name_of(owner: Owner, parts: Mapping[str, _Part]) -> str:
    """Return the name of an owner's package: `apps/llm.yaml (Application argocd/llm)`, or the folder of a source.

    If the same owner delivers to another cluster too, the name for that cluster ends in a digest.
    """
    folder = posixpath.dirname(owner.file)
    if owner.item is None or owner.kind == "TopologyRender":
        return folder
    # The name of a package is a path. A valid name of an object has no "/", but the file is untrusted.
    names = "/".join([each.replace("/", "_") for each in (owner.namespace, owner.name) if each])
    name = f"{owner.file} ({owner.kind} {names})"
    if name in parts and parts[name].cluster != owner.cluster:
        return f"{name} {sha256(owner.cluster.encode()).hexdigest()[:8]}"
    return name


def _build_of(part: _Part, trees: Trees, *, requires: bool) -> PackageBuild:
    """Return the built files and the results of a package. Names are paths in the repository."""
    files = tuple(built_files(part.delivered.built, trees, "", str))
    results = tuple(results_of(part.delivered, str, requires=requires))
    findings = json.dumps([each.to_value() for each in results])
    digests = [_digest_of(file) for file in files]
    return PackageBuild(files, (), results, sha256(" ".join([findings, *digests]).encode()).hexdigest())


def _digest_of(file: InputFile) -> str:
    """Return a digest of everything that findings about a built file depend on."""
    values = [item.value for item in readable_items(file)]
    origin = None if file.built is None else as_dict(file.built)
    about = [file.path.name, file.path.target, file.text, values, origin]
    return sha256(json.dumps(about, default=str).encode()).hexdigest()
