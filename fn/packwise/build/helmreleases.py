"""HelmReleases of Flux: the chart of each one, and its values.

Source: spec/sources.md#3; helm-controller v1.6.3, fluxcd/pkg chartutil (values from references).
"""

from __future__ import annotations

import posixpath
from hashlib import sha256

from krmfn.hints import TYPE_CHECKING
from krmfn.yamltext import YamlError, read
from packwise.build.kustomize_options import post_renderer_options
from packwise.build.sources import (
    ChartSource,
    Delivery,
    Obstacle,
    Owner,
    SourceError,
    Values,
    as_text,
    data_of,
    local_path,
    objects_named,
    path_from_top,
    revision_note,
    unsupported_error,
)
from packwise.lenient import mapping, mappings_by_place, strings, text, text_at

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from krmfn.kubeobject import KubeObject
    from krmfn.value import Value
    from packwise.build.sources import Planned, Repository

GROUP = "helm.toolkit.fluxcd.io"
_LONGEST_RELEASE = 53


def release_owner(value: Mapping[str, Value], file: str, item: KubeObject | None, cluster: str) -> Owner:
    """Return the HelmRelease `value` as the owner of its deliveries. It may deliver to a remote cluster."""
    remote = text_at(value, "spec", "kubeConfig", "secretRef", "name")
    metadata = mapping(value.get("metadata"))
    return Owner(
        "HelmRelease", text(metadata.get("name")), text(metadata.get("namespace")), file, item, remote or cluster
    )


def release_name(value: Mapping[str, Value]) -> str:
    """Return the name of the release. A long name is shortened, and ends with a digest that makes it unique."""
    spec, name = mapping(value.get("spec")), text_at(value, "metadata", "name")
    target = text(spec.get("targetNamespace"))
    release = text(spec.get("releaseName")) or (f"{target}-{name}" if target else name)
    if len(release) <= _LONGEST_RELEASE:
        return release
    return f"{release[:40]}-{sha256(release.encode()).hexdigest()[:12]}"


def release_sources(value: Mapping[str, Value], owner: Owner, repository: Repository) -> list[Planned]:
    """Return a HelmRelease's deliveries from the repository, or the reason why it cannot be built."""
    folder: list[str] = []
    try:
        return [_delivery(value, owner, repository, folder)]
    except SourceError as error:
        return [error.of(owner, folder[0] if folder else None)]


def _delivery(value: Mapping[str, Value], owner: Owner, repository: Repository, hits: list[str]) -> Delivery:
    spec = mapping(value.get("spec"))
    notes: list[str] = []
    chart = _chart_spec(spec, owner, repository)
    folder = flux_path(repository, owner, mapping(chart.get("sourceRef")), text(chart.get("chart")), notes)
    hits.append(folder)
    if spec.get("suspend") is True:
        raise SourceError(Obstacle.SUSPENDED, "suspend is true")
    namespace = text(spec.get("targetNamespace")) or owner.namespace
    source = ChartSource(
        folder,
        release_name(value),
        namespace,
        tuple(_values(spec, owner, repository, notes)),
        base=_base(chart, folder, repository),
        includes_crds=text_at(spec, "install", "crds") != "Skip",
        tests=mapping(spec.get("test")).get("enable") is True,
        patches=post_renderer_options(spec.get("postRenderers")),
        metadata=mapping(spec.get("commonMetadata")),
        options=("--skip-schema-validation",)
        if mapping(spec.get("install")).get("disableSchemaValidation") is True
        else (),
    )
    return Delivery(owner, source, namespace, tuple(notes))


def _chart_spec(spec: Mapping[str, Value], owner: Owner, repository: Repository) -> Mapping[str, Value]:
    """Return the section that names the chart and its `sourceRef`.

    Raise SourceError if the chart is remote or not named.
    """
    reference = mapping(spec.get("chartRef"))
    if reference:
        kind, name = text(reference.get("kind")), text(reference.get("name"))
        hits = objects_named(repository, kind, text(reference.get("namespace")) or owner.namespace, name)
        if kind == "HelmChart" and hits:
            return mapping(hits[0].value.get("spec"))
        raise SourceError(Obstacle.REMOTE_CHART, f"{kind} {name} is remote, and packwise fetches nothing")
    chart = mapping(mapping(spec.get("chart")).get("spec"))
    if not text(chart.get("chart")):
        raise SourceError(Obstacle.FAILED, "the HelmRelease names no chart", is_wrong=True, path=("spec",))
    return chart


def flux_path(repository: Repository, owner: Owner, reference: Mapping[str, Value], path: str, notes: list[str]) -> str:
    """Return the path in the repository for `path` in a source of Flux. Assumptions are added to `notes`.

    Raise SourceError if the source is not this repository.
    """
    kind, name = text(reference.get("kind")), text(reference.get("name"))
    if kind == "HelmRepository":
        raise SourceError(
            Obstacle.REMOTE_CHART, f"chart {path} of {kind} {name} is remote, and packwise fetches nothing"
        )
    if kind == "ExternalArtifact":
        raise unsupported_error(f"the source ExternalArtifact {name}")
    if kind != "GitRepository":
        raise SourceError(Obstacle.REMOTE_SOURCE, f"{kind} {name} is remote, and packwise fetches nothing")
    hits = objects_named(repository, kind, text(reference.get("namespace")) or owner.namespace, name)
    if not hits:
        inside = path_from_top(path)
        if inside is None or not repository.has_path(inside):
            raise SourceError(Obstacle.REMOTE_SOURCE, f"the repository has no GitRepository {name} with a URL")
        notes.append(f"assumed that the missing GitRepository {name} is this repository")
        return inside
    source = mapping(hits[0].value.get("spec"))
    if source.get("suspend") is True:
        notes.append(f"GitRepository {name} is suspended")
    inside = local_path(repository, text(source.get("url")), path, notes)
    ref = mapping(source.get("ref"))
    for field in ("commit", "name", "semver", "tag", "branch"):
        if text(ref.get(field)):
            notes += revision_note(repository, text(ref.get(field)))
            break
    return inside


def _base(chart: Mapping[str, Value], folder: str, repository: Repository) -> tuple[Values, ...] | None:
    """Return the values files that replace the chart's values.yaml. Return None if the HelmRelease names none."""
    named = strings(chart.get("valuesFiles"))
    if not named:
        return None
    ignores = chart.get("ignoreMissingValuesFiles") is True
    files: list[Values] = []
    for at, each in enumerate(named):
        # The path is relative to the root of the source, not of the chart.
        path = path_from_top(each)
        if path is not None and repository.tree.is_file(path):
            files.append(Values(path))
        elif not ignores:
            message = f'values file "{each}" does not exist'
            at_path = ("spec", "chart", "spec", "valuesFiles", at)
            raise SourceError(Obstacle.MISSING_VALUES, message, is_wrong=True, path=at_path)
    return tuple(files) or (Values(posixpath.join(folder, "values.yaml")),)


def _values(spec: Mapping[str, Value], owner: Owner, repository: Repository, notes: list[str]) -> Iterator[Values]:
    inline = mapping(spec.get("values"))
    later: list[tuple[str, ...]] = []
    layers: list[tuple[Values, tuple[str, ...] | None]] = []
    for at, each in mappings_by_place(spec.get("valuesFrom")):
        layer = _reference(each, at, owner, repository, notes)
        if layer is not None:
            layers.append(layer)
    for position, (_, target) in enumerate(layers):
        if target is None:
            continue
        after = [mapping(_read(layer.text)) for layer, at in layers[position + 1 :] if at is None]
        if any(_has_path(each, target) for each in (*after, inline)) or target in later:
            raise unsupported_error("valuesFrom with a targetPath that other values also set")
        later.append(target)
    yield from [layer for layer, _ in layers]
    if inline:
        yield Values("spec.values", as_text(dict(inline)), is_file=False)


def _reference(
    reference: Mapping[str, Value], at: int, owner: Owner, repository: Repository, notes: list[str]
) -> tuple[Values, tuple[str, ...] | None] | None:
    kind, name = text(reference.get("kind")), text(reference.get("name"))
    key = text(reference.get("valuesKey")) or "values.yaml"
    is_optional = reference.get("optional") is True
    hits = objects_named(repository, kind, owner.namespace, name)
    if not hits:
        if kind == "Secret" or is_optional:
            if kind == "Secret":
                notes.append(f"built without the values of Secret {name}, which the repository does not have")
            return None
        message = f"the repository has no {kind} {name} for valuesFrom"
        raise SourceError(Obstacle.MISSING_VALUES, message, path=("spec", "valuesFrom", at))
    content = data_of(hits[0]).get(key)
    if content is None:
        # Flux's documentation says that a missing key is an error even if `optional` is set, but helm-controller skips
        # it.
        if is_optional:
            return None
        message = f'{kind} {name} has no key "{key}"'
        raise SourceError(Obstacle.MISSING_VALUES, message, is_wrong=True, path=("spec", "valuesFrom", at))
    shown = f"{kind} {name}"
    target = text(reference.get("targetPath"))
    if not target:
        return Values(shown, content, is_file=False), None
    steps = tuple(target.split("."))
    if any(each in target for each in "[]\\=,{}") or not all(steps):
        raise unsupported_error(f'the targetPath "{target}"')
    value: Value = _target_value(content)
    for step in reversed(steps):
        value = {step: value}
    return Values(f"{shown} ({target})", as_text(value), is_file=False), steps


def _target_value(content: str) -> Value:
    """Return the value that `content` has at a target path: a string, a boolean, null or an integer.

    Text in quotes is a string. Source: fluxcd/pkg chartutil, ReplacePathValue.
    """
    for quote in "\"'":
        if len(content) > 1 and content.startswith(quote) and content.endswith(quote):
            return content[1:-1]
    if content in ("true", "false"):
        return content == "true"
    if content == "null":
        return None
    digits = content.removeprefix("-")
    is_number = digits.isascii() and digits.isdigit() and len(digits) < 19 and (digits == "0" or digits[0] != "0")
    return int(content) if is_number else content


def _read(content: str | None) -> Value:
    try:
        return read(content or "")
    except YamlError:
        return None


def _has_path(values: Value, steps: tuple[str, ...]) -> bool:
    """Return True if `values` set the path `steps`, or a value above or below it."""
    for step in steps:
        if not isinstance(values, dict):
            return values is not None
        if step not in values:
            return False
        values = values[step]
    return True
