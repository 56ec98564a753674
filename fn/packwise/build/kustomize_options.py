"""Changes that Argo CD and Flux make to a kustomization before they build it.

Source: Argo CD, util/kustomize (`kustomize edit`); kustomize v5.8.2, kustomize/commands/edit; fluxcd/pkg, kustomize
generator.
"""

from __future__ import annotations

from krmfn.hints import TYPE_CHECKING
from packwise.build.sources import Obstacle, SourceError
from packwise.lenient import entries, mapping, mappings, strings, text, texts

if TYPE_CHECKING:
    from collections.abc import Mapping

    from krmfn.value import Value


def with_argo_options(value: Mapping[str, Value], options: Mapping[str, Value]) -> Mapping[str, Value]:
    """Return a kustomization with the changes of a source's `kustomize` section.

    Raise SourceError if it has a label or annotation already that the section adds.
    """
    changed = dict(value)
    for field in ("namePrefix", "nameSuffix", "namespace"):
        if text(options.get(field)):
            changed[field] = options[field]
    images = list(entries(changed.get("images")))
    for each in strings(options.get("images")):
        images = _with_image(images, _image(each))
    if images:
        changed["images"] = images
    replicas = list(entries(changed.get("replicas")))
    for each in mappings(options.get("replicas")):
        name, count = text(each.get("name")), _number(each.get("count"))
        kept = [old for old in replicas if mapping(old).get("name") != name]
        replicas = [*kept, {"name": name, "count": count}]
    if replicas:
        changed["replicas"] = replicas
    changed = _with_labels(changed, options)
    annotations = texts(options.get("commonAnnotations"))
    if annotations:
        forced = options.get("forceCommonAnnotations") is True
        changed["commonAnnotations"] = _join(
            changed.get("commonAnnotations"), annotations, "annotation", is_forced=forced
        )
    # The kustomization's own patches run first.
    for field in ("components", "patches"):
        if entries(options.get(field)):
            changed[field] = [*entries(changed.get(field)), *entries(options.get(field))]
    return changed


def _with_labels(value: Mapping[str, Value], options: Mapping[str, Value]) -> dict[str, Value]:
    labels = texts(options.get("commonLabels"))
    changed = dict(value)
    if not labels:
        return changed
    is_forced = options.get("forceCommonLabels") is True
    if options.get("labelWithoutSelector") is not True:
        changed["commonLabels"] = _join(value.get("commonLabels"), labels, "label", is_forced=is_forced)
        return changed
    pairs: dict[str, Value] = {"pairs": dict(labels)}
    if options.get("labelIncludeTemplates") is True:
        pairs["includeTemplates"] = True
    changed["labels"] = [*entries(value.get("labels")), pairs]
    return changed


def _join(own: Value, added: Mapping[str, str], noun: str, *, is_forced: bool) -> Value:
    own = mapping(own)
    twice = sorted(own.keys() & added.keys())
    if twice and not is_forced:
        message = f"{noun} {twice[0]} is already in the kustomization"
        raise SourceError(Obstacle.FAILED, message, is_wrong=True)
    return {**own, **added}


def _number(value: Value) -> Value:
    return int(value) if isinstance(value, str) and value.isascii() and value.isdigit() else value


def _image(argument: str) -> dict[str, Value]:
    """Return the image that `kustomize edit set image` reads. Source: edit/set/setimage.go, parse."""
    name, equals, new = argument.partition("=")
    if not equals:
        name, new = "", argument
    rest, _, digest = new.partition("@")
    colon = rest.rfind(":")
    tag = ""
    if colon > rest.rfind("/"):
        rest, tag = rest[:colon], rest[colon + 1 :]
    image: dict[str, Value] = {"name": name or rest}
    if name and rest != name:
        image["newName"] = rest
    if tag:
        image["newTag"] = tag
    if digest:
        image["digest"] = digest
    return image


def _with_image(images: list[Value], image: Mapping[str, Value]) -> list[Value]:
    own = next((mapping(each) for each in images if mapping(each).get("name") == image["name"]), mapping(None))
    joined = {**own, **image}
    if "newTag" in image or "digest" in image:
        for field in {"newTag", "digest"} - image.keys():
            joined.pop(field, None)
    kept = [each for each in images if mapping(each).get("name") != image["name"]]
    return sorted([*kept, joined], key=lambda each: text(mapping(each).get("name")))


def with_flux_options(value: Mapping[str, Value], spec: Mapping[str, Value]) -> Mapping[str, Value]:
    """Return a kustomization with the changes of a Kustomization of Flux."""
    changed = dict(value)
    for field, own in (("targetNamespace", "namespace"), ("namePrefix", "namePrefix"), ("nameSuffix", "nameSuffix")):
        if text(spec.get(field)):
            changed[own] = spec[field]
    for field in ("components", "patches"):
        if entries(spec.get(field)):
            changed[field] = [*entries(changed.get(field)), *entries(spec.get(field))]
    # Older fields of Flux. Both became `patches`.
    merges = [{"patch": _as_yaml(each)} for each in entries(spec.get("patchesStrategicMerge"))]
    edits = [
        {"patch": _as_yaml(each.get("patch")), "target": each.get("target")}
        for each in mappings(spec.get("patchesJson6902"))
    ]
    if merges or edits:
        changed["patches"] = [*entries(changed.get("patches")), *merges, *edits]
    images = list(entries(changed.get("images")))
    for each in mappings(spec.get("images")):
        known = {key: own for key, own in each.items() if key in ("name", "newName", "newTag", "digest")}
        images = [*[old for old in images if mapping(old).get("name") != known.get("name")], known]
    if images:
        changed["images"] = images
    return changed


def _as_yaml(value: Value) -> Value:
    from krmfn.yamltext import write

    return value if isinstance(value, str) else write(value)


def post_renderer_options(renderers: Value) -> tuple[Mapping[str, Value], ...]:
    """Return the kustomizations from a HelmRelease's postRenderers, in their order.

    Raise SourceError for an unknown field.
    """
    changes: list[Mapping[str, Value]] = []
    for each in mappings(renderers):
        kustomize = mapping(each.get("kustomize"))
        unknown = (each.keys() - {"kustomize"}) | (
            kustomize.keys() - {"patches", "images", "patchesStrategicMerge", "patchesJson6902"}
        )
        if unknown:
            raise SourceError(Obstacle.UNSUPPORTED, f"postRenderers.{sorted(unknown)[0]} is not supported")
        changes.append(with_flux_options({}, kustomize))
    return tuple(changes)
