"""Kustomizations of Flux: the folder of each one, and Flux's changes to its kustomization.

Source: spec/sources.md#3.7 and #3.8; kustomize-controller v1.9.4; fluxcd/pkg, kustomize generator and variables.
"""

from __future__ import annotations

import posixpath

from krmfn.hints import TYPE_CHECKING
from packwise.build.helmreleases import flux_path
from packwise.build.kustomize_options import with_flux_options
from packwise.build.sources import (
    Delivery,
    KustomizationSource,
    Obstacle,
    Owner,
    SourceError,
    data_of,
    objects_named,
    path_from_top,
)
from packwise.build.substitution import Substitution, is_variable
from packwise.discovery import KUSTOMIZATIONS
from packwise.lenient import entries, mapping, mappings_by_place, text, text_at, value_at

if TYPE_CHECKING:
    from collections.abc import Mapping

    from krmfn.kubeobject import KubeObject
    from krmfn.value import Value
    from packwise.build.sources import Planned, Repository
    from packwise.build.tree import FileTree

GROUP = "kustomize.toolkit.fluxcd.io"


def kustomization_owner(value: Mapping[str, Value], file: str, item: KubeObject | None, cluster: str) -> Owner:
    """Return the Kustomization `value` of Flux as the owner of its deliveries. It may deliver to a remote cluster."""
    remote = text_at(value, "spec", "kubeConfig", "secretRef", "name")
    metadata = mapping(value.get("metadata"))
    return Owner(
        "Kustomization", text(metadata.get("name")), text(metadata.get("namespace")), file, item, remote or cluster
    )


def kustomization_sources(value: Mapping[str, Value], owner: Owner, repository: Repository) -> list[Planned]:
    """Return a Kustomization's deliveries from the repository, or the reason why it cannot be built."""
    spec, notes = mapping(value.get("spec")), list[str]()
    folder: str | None = None
    try:
        reference = mapping(spec.get("sourceRef"))
        folder = flux_path(repository, owner, reference, text(spec.get("path")) or ".", notes)
        if spec.get("suspend") is True:
            raise SourceError(Obstacle.SUSPENDED, "suspend is true")
        if not repository.tree.is_folder(folder):
            raise SourceError(Obstacle.FAILED, f'path "{folder}" is not a folder', is_wrong=True, path=("spec", "path"))
        substitution = _substitution(spec, owner, repository)
    except SourceError as error:
        return [error.of(owner, folder)]
    spec = _with_present_components(spec, folder, repository)
    source = KustomizationSource(
        folder,
        lambda kustomization: with_flux_options(kustomization, spec),
        generated_resources(repository.tree, folder),
        helm=False,
        unrestricted=True,
        substitution=substitution,
        metadata=mapping(spec.get("commonMetadata")),
    )
    return [Delivery(owner, source, text(spec.get("targetNamespace")), tuple(notes))]


def _with_present_components(spec: Mapping[str, Value], folder: str, repository: Repository) -> Mapping[str, Value]:
    """Return `spec` without missing components if the Kustomization ignores them, otherwise unchanged."""
    if spec.get("ignoreMissingComponents") is not True:
        return spec
    paths = [(each, path_from_top(posixpath.join(folder, text(each)))) for each in entries(spec.get("components"))]
    return {**spec, "components": [each for each, path in paths if path is not None and repository.has_path(path)]}


def generated_resources(tree: FileTree, folder: str) -> tuple[str, ...] | None:
    """Return the resources of the kustomization that Flux generates for a folder. Return None if the folder has one."""
    if _has_kustomization(tree, folder):
        return None
    resources: dict[str, None] = {}
    for path in tree.files_below(folder):
        if not path.endswith((".yaml", ".yml")):
            continue
        below = path[len(folder) + 1 :] if folder else path
        steps = below.split("/")[:-1]
        inner = ["/".join(steps[:depth]) for depth in range(1, len(steps) + 1)]
        # A subfolder with its own kustomization is one resource.
        own = next((each for each in inner if _has_kustomization(tree, posixpath.join(folder, each))), None)
        resources[own or below] = None
    return tuple(resources)


def _has_kustomization(tree: FileTree, folder: str) -> bool:
    return any(tree.is_file(posixpath.join(folder, name)) for name in KUSTOMIZATIONS)


def _substitution(spec: Mapping[str, Value], owner: Owner, repository: Repository) -> Substitution | None:
    build = mapping(spec.get("postBuild"))
    if not build:
        return None
    variables: dict[str, str] = {}
    for at, each in mappings_by_place(build.get("substituteFrom")):
        kind, name = text(each.get("kind")), text(each.get("name"))
        hits = objects_named(repository, kind, owner.namespace, name)
        if hits:
            variables |= {key: _without_newlines(entry) for key, entry in data_of(hits[0]).items()}
        elif each.get("optional") is True:
            continue
        else:
            message = f"the repository has no {kind} {name} for substituteFrom"
            raise SourceError(Obstacle.MISSING_VALUES, message, path=("spec", "postBuild", "substituteFrom", at))
    inline = mapping(build.get("substitute"))
    variables |= {key: _without_newlines(_as_text(each)) for key, each in inline.items()}
    wrong = next((name for name in variables if not is_variable(name)), None)
    if wrong is not None:
        message = f'Flux refuses a variable with the name "{wrong}"; use letters, digits and "_"'
        raise SourceError(Obstacle.FAILED, message, is_wrong=True, path=("spec", "postBuild"))
    return Substitution(variables, is_always=text(value_at(build, "substituteStrategy")) == "Always")


def _as_text(value: Value) -> str:
    return value if isinstance(value, str) else "" if value is None else str(value).lower()


def _without_newlines(value: str) -> str:
    return value.replace("\n", "")
