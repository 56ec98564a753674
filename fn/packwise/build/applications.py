"""Applications of Argo CD: the sources that each one delivers, and the values of its charts.

Source: spec/sources.md#2; Argo CD 3.6, reposerver/repository, util/helm, util/kustomize, util/argo (build variables).
"""

from __future__ import annotations

import posixpath
import re
from functools import partial

from krmfn.hints import TYPE_CHECKING
from krmfn.yamltext import YamlError, read
from packwise.build.charts import helm_hooks
from packwise.build.kustomize_options import with_argo_options
from packwise.build.links import links_outside
from packwise.build.sources import (
    ChartSource,
    Delivery,
    DirectorySource,
    KustomizationSource,
    Obstacle,
    Owner,
    SourceError,
    Values,
    as_text,
    local_path,
    matches,
    merge_patch,
    path_from_top,
    revision_note,
    unsupported_error,
)
from packwise.discovery import KUSTOMIZATIONS
from packwise.lenient import mapping, mappings, mappings_by_place, strings, text, text_at, texts

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from typing import NoReturn

    from krmfn.fieldpath import FieldPath
    from krmfn.kubeobject import KubeObject
    from krmfn.value import Value
    from packwise.build.sources import Planned, Repository

GROUP = "argoproj.io"
_SUFFIXES = (".yaml", ".yml", ".json")
_HERE = frozenset({"", "in-cluster", "https://kubernetes.default.svc"})
"""Destinations that mean the cluster in which Argo CD runs."""

_EXPLICIT = ("helm", "kustomize", "directory", "plugin")
"""Sections of a source that name its type."""

_SKIP = b"+argocd:skip-file-rendering"


def application_owner(value: Mapping[str, Value], file: str, item: KubeObject | None) -> Owner:
    """Return the Application `value` as the owner of its deliveries."""
    destination = mapping(mapping(value.get("spec")).get("destination"))
    cluster = text_at(destination, "name") or text_at(destination, "server")
    return Owner(
        "Application",
        text_at(value, "metadata", "name"),
        text_at(value, "metadata", "namespace"),
        file,
        item,
        "" if cluster in _HERE else cluster,
    )


def application_sources(value: Mapping[str, Value], owner: Owner, repository: Repository) -> list[Planned]:
    """Return an Application's deliveries from the repository, and its sources that cannot be built."""
    listed = _sources(mapping(value.get("spec")))
    refs = {ref: each for _, each in listed if (ref := text_at(each, "ref"))}
    planned: list[Planned] = []
    for path, source in listed:
        if text_at(source, "ref") and not text_at(source, "path") and not text_at(source, "chart"):
            continue
        reading = _SourceReading(value, owner, repository, refs, path)
        try:
            planned.append(reading.delivery(source))
        except SourceError as error:
            planned.append(error.of(owner, reading.folder))
    return planned


def _sources(spec: Mapping[str, Value]) -> list[tuple[FieldPath, Mapping[str, Value]]]:
    """Return the sources of an Application, each with its path in the object.

    A hydrator's dry source has precedence over all other sources, and `sources` has precedence over `source`. Source:
    Argo CD, types.go GetSources.
    """
    hydrator = mapping(spec.get("sourceHydrator"))
    if hydrator:
        return [(("spec", "sourceHydrator", "drySource"), mapping(hydrator.get("drySource")))]
    several = mappings_by_place(spec.get("sources"))
    if several:
        return [(("spec", "sources", at), each) for at, each in several]
    return [(("spec", "source"), mapping(spec["source"]))] if isinstance(spec.get("source"), dict) else []


class _SourceReading:
    """A reader of one source of an Application. `path` is the place of the source in the Application."""

    def __init__(
        self,
        application: Mapping[str, Value],
        owner: Owner,
        repository: Repository,
        refs: Mapping[str, Mapping[str, Value]],
        path: FieldPath,
    ) -> None:
        self._owner = owner
        self._repository = repository
        self._refs = refs
        self._path = path
        self._spec = mapping(application.get("spec"))
        self._namespace = text_at(self._spec, "destination", "namespace")
        self._notes: list[str] = []
        self._variables: dict[str, str] = {}
        self.folder: str | None = None

    def delivery(self, source: Mapping[str, Value]) -> Delivery:
        """Return the delivery of the source. Raise SourceError if it cannot be built."""
        url = text_at(source, "repoURL")
        if text_at(source, "chart"):
            chart = f"chart {text_at(source, 'chart')} of {url}"
            raise SourceError(Obstacle.REMOTE_CHART, f"{chart} is remote, and packwise fetches nothing")
        if url.startswith("oci://"):
            raise SourceError(Obstacle.REMOTE_SOURCE, f"{url} is remote, and packwise fetches nothing")
        folder = local_path(self._repository, url, text_at(source, "path") or ".", self._notes)
        self.folder = folder
        self._notes += revision_note(self._repository, text_at(source, "targetRevision"))
        source = self._override(source, folder)
        self._variables = _build_variables(self._owner, self._spec, source, self._namespace)
        explicit = [key for key in _EXPLICIT if isinstance(source.get(key), dict)]
        if len(explicit) > 1:
            sections = " and ".join(explicit)
            raise SourceError(
                Obstacle.FAILED,
                f"a source must have one type; this source has {sections}",
                is_wrong=True,
                path=self._path,
            )
        kind = explicit[0] if explicit else self._discover(folder)
        if kind == "helm":
            built = self._chart(folder, mapping(source.get("helm")))
        elif kind == "kustomize":
            built = self._kustomization(folder, mapping(source.get("kustomize")))
        elif kind == "plugin":
            raise unsupported_error("a config management plugin")
        else:
            built = self._directory(folder, mapping(source.get("directory")))
        return Delivery(self._owner, built, self._namespace, tuple(self._notes), self._path)

    def _override(self, source: Mapping[str, Value], folder: str) -> Mapping[str, Value]:
        """Return the source with the overrides in its folder.

        The file with the name of the Application has precedence.
        """
        for name in (".argocd-source.yaml", f".argocd-source-{self._owner.name}.yaml"):
            path = posixpath.join(folder, name)
            if self._repository.tree.is_file(path):
                try:
                    patch = read(self._repository.tree.read(path).decode("utf-8", "replace"))
                except (OSError, YamlError):
                    raise SourceError(Obstacle.FAILED, f"{path} is not readable YAML", is_wrong=True) from None
                source = mapping(merge_patch(dict(source), patch))
        return source

    def _discover(self, folder: str) -> str:
        tree = self._repository.tree
        # Argo CD walks the files in the order of their names, and the last match decides the type: util/app/discovery,
        # Discover.
        if any(tree.is_file(posixpath.join(folder, name)) for name in KUSTOMIZATIONS):
            return "kustomize"
        return "helm" if tree.is_file(posixpath.join(folder, "Chart.yaml")) else "directory"

    def _chart(self, folder: str, helm: Mapping[str, Value]) -> ChartSource:
        ignores_missing = helm.get("ignoreMissingValueFiles") is True
        values = list(self._value_files(folder, helm.get("valueFiles"), ignores_missing=ignores_missing))
        inline = mapping(helm.get("valuesObject"))
        if inline:
            values.append(Values("valuesObject", as_text(dict(inline)), is_file=False))
        elif text_at(helm, "values").strip():
            values.append(Values("values", text_at(helm, "values"), is_file=False))
        lists: list[tuple[str, str]] = []
        for each in mappings(helm.get("parameters")):
            option = "--set-string" if each.get("forceString") is True else "--set"
            value = self._with_variables(text_at(each, "value"))
            lists.append((option, f"{text_at(each, 'name')}={_escape_commas(value)}"))
        files = [
            (text_at(each, "name"), self._parameter_file(folder, text_at(each, "path")))
            for each in mappings(helm.get("fileParameters"))
        ]
        options = [f"--kube-version={text_at(helm, 'kubeVersion')}"] if text_at(helm, "kubeVersion") else []
        versions = helm.get("apiVersions")
        options += [f"--api-versions={each}" for each in strings(versions)]
        if helm.get("skipSchemaValidation") is True:
            options.append("--skip-schema-validation")
        return ChartSource(
            folder,
            self._with_variables(text_at(helm, "releaseName")) or self._owner.name,
            text_at(helm, "namespace") or self._namespace,
            tuple(values),
            lists=tuple(sorted(lists, key=lambda each: each[0])),
            files=tuple(files),
            options=tuple(options),
            includes_crds=helm.get("skipCrds") is not True,
            argo_hooks=True,
        )

    def _value_files(self, folder: str, listed: Value, *, ignores_missing: bool) -> Iterator[Values]:
        named_files = [self._file_entry(each) for each in strings(listed)]
        resolved = [self._resolve(folder, each) for each in named_files]
        named = {path for path in resolved if not _is_glob(path)}
        seen: set[str] = set()
        outside = links_outside(self._repository.tree)
        for at, (entry, path) in enumerate(zip(named_files, resolved, strict=True)):
            if _is_glob(path):
                hits = [each for each in self._glob(path) if each not in named]
                if any(matches(path, each) for each in outside):
                    self._refuse_values(at, f'"{entry}" matches a link that leads out of the repository')
                if not hits and not ignores_missing:
                    self._refuse_values(at, f'"{entry}" matches no file')
            elif path in outside:
                self._refuse_values(at, f'values file "{path}" is a link that leads out of the repository')
            elif self._repository.tree.is_file(path):
                hits = [path]
            elif ignores_missing:
                continue
            else:
                self._refuse_values(at, f'values file "{path}" does not exist')
            for each in hits:
                if each not in seen:
                    seen.add(each)
                    yield Values(each)

    def _refuse_values(self, at: int, message: str) -> NoReturn:
        path = (*self._path, "helm", "valueFiles", at)
        raise SourceError(Obstacle.MISSING_VALUES, message, is_wrong=True, path=path)

    def _glob(self, glob: str) -> list[str]:
        fixed = glob[: min(at for each in "*?[{" if (at := glob.find(each)) >= 0)].rpartition("/")[0]
        return sorted(each for each in self._repository.tree.files_below(fixed) if matches(glob, each))

    def _resolve(self, folder: str, entry: str) -> str:
        """Return the path from the top of the repository for a file that the source names.

        Raise SourceError if the file is remote or outside the repository, or if the named source does not exist.
        """
        if re.match(r"[a-z][a-z0-9+.-]*://", entry, re.IGNORECASE):
            raise SourceError(Obstacle.REMOTE_SOURCE, f"values of {entry} are remote, and packwise fetches nothing")
        if entry.startswith("$"):
            ref, _, rest = entry[1:].partition("/")
            source = self._refs.get(ref)
            if source is None:
                message = f'"{entry}" names the source "{ref}", which the Application does not have'
                raise SourceError(Obstacle.FAILED, message, is_wrong=True, path=self._path)
            # The path starts at the root of the repository, even if the named source has a path.
            local_path(self._repository, text_at(source, "repoURL"), ".", self._notes)
            self._notes += revision_note(self._repository, text_at(source, "targetRevision"))
            joined = rest
        else:
            joined = entry if entry.startswith("/") else posixpath.join(folder, entry)
        path = path_from_top(joined)
        if path is None:
            message = f'"{entry}" leads out of the repository'
            raise SourceError(Obstacle.FAILED, message, is_wrong=True, path=self._path)
        return path

    def _parameter_file(self, folder: str, entry: str) -> str:
        path = self._resolve(folder, self._file_entry(entry))
        if not self._repository.tree.is_file(path):
            message = f'file "{path}" of a parameter does not exist'
            raise SourceError(Obstacle.MISSING_VALUES, message, is_wrong=True, path=(*self._path, "helm"))
        return path

    def _file_entry(self, entry: str) -> str:
        """Return the name of a file with the values of Argo CD's build variables.

        A reference to a source at the start of the name is kept.
        """
        reference = re.match(r"\$(\w[\w-]*)(?=/)", entry)
        start = "" if reference is None or reference[1] in self._variables else reference[0]
        return start + self._with_variables(entry[len(start) :])

    def _with_variables(self, value: str) -> str:
        """Return `value` with the values of Argo CD's build variables.

        Other variables become empty. Source: Env.Envsubst.
        """

        def value_of(match: re.Match[str]) -> str:
            return "$" if match[0] == "$$" else self._variables.get(match[1] or match[2], "")

        return re.sub(r"\$\$|\$\{(\w+)\}|\$(\w+)", value_of, value)

    def _kustomization(self, folder: str, kustomize: Mapping[str, Value]) -> KustomizationSource:
        for field in ("kubeVersion", "apiVersions"):
            if kustomize.get(field):
                raise unsupported_error(f"kustomize.{field}")
        options = dict(kustomize)
        if kustomize.get("commonAnnotationsEnvsubst") is True:
            annotations = texts(kustomize.get("commonAnnotations"))
            options["commonAnnotations"] = {key: self._with_variables(each) for key, each in annotations.items()}
        if kustomize.get("ignoreMissingComponents") is True:
            listed = kustomize.get("components")
            options["components"] = [
                each
                for each in strings(listed)
                if (path := path_from_top(posixpath.join(folder, each))) is not None and self._repository.has_path(path)
            ]
        is_changed = any(options.get(field) for field in options if field != "version")
        change = partial(with_argo_options, options=options) if is_changed else None
        return KustomizationSource(folder, change, helm=self._repository.argocd_helm)

    def _directory(self, folder: str, directory: Mapping[str, Value]) -> DirectorySource:
        if mapping(directory.get("jsonnet")):
            raise unsupported_error("jsonnet")
        tree = self._repository.tree
        if tree.is_file(folder):
            return DirectorySource(folder, (folder,))
        recurses = directory.get("recurse") is True
        include, exclude = text_at(directory, "include"), text_at(directory, "exclude")
        delivered: list[str] = []
        excluded: list[str] = []
        for path in tree.files_below(folder):
            below = path[len(folder) + 1 :] if folder else path
            if not recurses and "/" in below:
                continue
            if (exclude and matches(exclude, below, crosses=True)) or (
                include and not matches(include, below, crosses=True)
            ):
                excluded.append(path)
            elif path.endswith(".jsonnet"):
                raise unsupported_error("jsonnet")
            elif path.endswith(_SUFFIXES):
                (excluded if _SKIP in tree.read(path) else delivered).append(path)
        return DirectorySource(folder, tuple(delivered), tuple(excluded))


def _is_glob(path: str) -> bool:
    return any(each in path for each in "*?[{")


def _escape_commas(value: str) -> str:
    """Return the value of a parameter, with its commas escaped unless it is a list.

    Source: Argo CD, util/helm cleanSetParameters.
    """
    if value.startswith("{") and value.endswith("}"):
        return value
    return re.sub(r"(?<!\\),", r"\\,", value)


def _build_variables(
    owner: Owner, spec: Mapping[str, Value], source: Mapping[str, Value], namespace: str
) -> dict[str, str]:
    """Return the variables that Argo CD sets for a build, as far as the repository shows them."""
    revision = text(source.get("targetRevision"))
    return {
        "ARGOCD_APP_NAME": owner.name,
        "ARGOCD_APP_NAMESPACE": namespace,
        "ARGOCD_APP_PROJECT_NAME": text(spec.get("project")) or "default",
        "ARGOCD_APP_SOURCE_PATH": text(source.get("path")),
        "ARGOCD_APP_SOURCE_REPO_URL": text(source.get("repoURL")),
        "ARGOCD_APP_SOURCE_TARGET_REVISION": revision,
    }


_HOOK = "argocd.argoproj.io/hook"
_PHASES = frozenset({"PreSync", "Sync", "PostSync", "SyncFail", "Skip", "PreDelete", "PostDelete"})
_APPLIED = frozenset({"crd-install", "pre-install", "pre-upgrade", "post-install", "post-upgrade"})


def applies_hook(value: Mapping[str, Value]) -> bool:
    """Return True if Argo CD applies an object. It does not apply hooks with the phase `Skip`, nor some hooks of Helm.

    Source: spec/sources.md#2.9.
    """
    annotations = mapping(mapping(value.get("metadata")).get("annotations"))
    phases = {each.strip() for each in text(annotations.get(_HOOK)).split(",")}
    if phases & _PHASES:
        return "Skip" not in phases
    hooks = helm_hooks(value)
    return not hooks or bool(hooks & _APPLIED)


def is_test(value: Mapping[str, Value]) -> bool:
    """Return True if Helm creates an object only for `helm test`."""
    hooks = helm_hooks(value)
    return bool(hooks) and hooks <= {"test", "test-success", "test-failure"}


def enables_helm(objects: Sequence[tuple[str, KubeObject]]) -> bool:
    """Return True if the ConfigMap `argocd-cm` lets kustomize build the charts of kustomizations."""
    options = [
        text_at(item.value, "data", "kustomize.buildOptions")
        for _, item in objects
        if item.value.get("kind") == "ConfigMap" and text_at(item.value, "metadata", "name") == "argocd-cm"
    ]
    return any("--enable-helm" in each.split() for each in options)
