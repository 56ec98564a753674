"""ApplicationSets of Argo CD: the Applications that list, Git and matrix generators make.

Without Go templates, `{{name}}` is a parameter. With Go templates, Helm evaluates the template. Its language is the
same, and it has the same Sprig functions except the ones that access the system. Source: spec/sources.md#2.10; Argo CD
3.6, applicationset/generators (list.go, git.go, matrix.go), applicationset/utils.
"""

from __future__ import annotations

import json
import posixpath
import re
from fnmatch import translate

from krmfn.hints import TYPE_CHECKING, cast
from krmfn.yamltext import YamlError, read, split_documents
from packwise.build.sources import (
    Obstacle,
    Owner,
    SourceError,
    local_path,
    merge_patch,
    revision_note,
    unsupported_error,
)
from packwise.build.tree import folders_above
from packwise.lenient import entries, mapping, mappings, text, text_at

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from krmfn.kubeobject import KubeObject
    from krmfn.value import Value
    from packwise.build.sources import Repository

    Parameters = dict[str, Value]
    Evaluate = Callable[[Sequence[str], Sequence[Parameters]], list[list[str]]]
    """Evaluate Go templates with Helm: each text with each mapping of parameters. Raises SourceError."""

_MAX_APPLICATIONS = 2000
_KNOWN = frozenset({"list", "git", "matrix", "template", "selector"})


def set_owner(value: Mapping[str, Value], file: str, item: KubeObject | None) -> Owner:
    """Return the ApplicationSet `value` as the owner of its deliveries."""
    metadata = mapping(value.get("metadata"))
    return Owner("ApplicationSet", text(metadata.get("name")), text(metadata.get("namespace")), file, item)


def applications_of(
    value: Mapping[str, Value], repository: Repository, evaluate: Evaluate
) -> tuple[list[Mapping[str, Value]], list[SourceError]]:
    """Return the Applications of a set, and the errors of the generators that fail."""
    spec = mapping(value.get("spec"))
    uses_go = spec.get("goTemplate") is True
    applications: list[Mapping[str, Value]] = []
    errors: list[SourceError] = []
    for at, generator in enumerate(mappings(spec.get("generators"))):
        try:
            template = merge_patch(dict(mapping(spec.get("template"))), mapping(_section(generator).get("template")))
            parameters = _parameters(generator, repository, evaluate, uses_go=uses_go)
            if len(applications) + len(parameters) > _MAX_APPLICATIONS:
                raise SourceError(Obstacle.UNSUPPORTED, f"more than {_MAX_APPLICATIONS} Applications")
            created = _fill(template, parameters, evaluate, uses_go=uses_go)
            patch = text(spec.get("templatePatch"))
            if patch:
                created = _patch(created, patch, parameters, evaluate, uses_go=uses_go)
        except SourceError as error:
            errors.append(
                SourceError(error.obstacle, error.reason, is_wrong=error.is_wrong, path=("spec", "generators", at))
            )
            continue
        namespace = text_at(value, "metadata", "namespace")
        for each in created:
            metadata = (
                {"namespace": namespace, **mapping(mapping(each).get("metadata"))}
                if namespace
                else mapping(mapping(each).get("metadata"))
            )
            applications.append(
                {
                    "apiVersion": "argoproj.io/v1alpha1",
                    "kind": "Application",
                    **mapping(each),
                    "metadata": dict(metadata),
                }
            )
    return applications, errors


def _section(generator: Mapping[str, Value]) -> Mapping[str, Value]:
    return next((mapping(generator[name]) for name in ("list", "git", "matrix") if name in generator), mapping(None))


def _parameters(
    generator: Mapping[str, Value], repository: Repository, evaluate: Evaluate, *, uses_go: bool
) -> list[Parameters]:
    unknown = sorted(generator.keys() - _KNOWN)
    if unknown:
        raise unsupported_error(f"the generator {unknown[0]}")
    if mapping(generator.get("selector")):
        raise unsupported_error("a generator with a selector")
    if "list" in generator:
        hits = _list(mapping(generator.get("list")), uses_go=uses_go)
    elif "git" in generator:
        hits = _git(mapping(generator.get("git")), repository, evaluate, uses_go=uses_go)
    elif "matrix" in generator:
        hits = _matrix(mapping(generator.get("matrix")), repository, evaluate, uses_go=uses_go)
    else:
        raise unsupported_error("a generator without a type")
    return hits


def _matrix(
    matrix: Mapping[str, Value], repository: Repository, evaluate: Evaluate, *, uses_go: bool
) -> list[Parameters]:
    inner = mappings(matrix.get("generators"))
    if len(inner) != 2:
        raise SourceError(Obstacle.FAILED, f"a matrix must have two generators; got {len(inner)}", is_wrong=True)
    if "{{" in json.dumps(inner[1]):
        raise unsupported_error("a matrix with a second generator that uses parameters of the first")
    first, second = (_parameters(each, repository, evaluate, uses_go=uses_go) for each in inner)
    if len(first) * len(second) > _MAX_APPLICATIONS:
        raise SourceError(Obstacle.UNSUPPORTED, f"more than {_MAX_APPLICATIONS} Applications")
    return [
        cast("Parameters", merge_patch(dict(single), other)) if uses_go else {**single, **other}
        for single in first
        for other in second
    ]


def _list(section: Mapping[str, Value], *, uses_go: bool) -> list[Parameters]:
    elements = list(mappings(section.get("elements")))
    if text(section.get("elementsYaml")):
        content = text(section.get("elementsYaml"))
        if "{{" in content:
            raise unsupported_error("elementsYaml with a template")
        elements += mappings(_yaml(content))
    if uses_go:
        return [dict(each) for each in elements]
    listed: list[Parameters] = []
    for element in elements:
        hits: Parameters = {}
        for key, each in element.items():
            if key == "values" and isinstance(each, dict):
                hits |= {f"values.{name}": _string(entry, f"values.{name}") for name, entry in each.items()}
            else:
                hits[key] = _string(each, key)
        listed.append(hits)
    return listed


def _string(value: Value, key: str) -> str:
    if not isinstance(value, str):
        message = f'element "{key}" must be a string in an ApplicationSet without goTemplate'
        raise SourceError(Obstacle.FAILED, message, is_wrong=True)
    return value


def _git(
    section: Mapping[str, Value], repository: Repository, evaluate: Evaluate, *, uses_go: bool
) -> list[Parameters]:
    local_path(repository, text(section.get("repoURL")), ".", [])
    revision_note(repository, text(section.get("revision")))
    prefix = text(section.get("pathParamPrefix"))
    if entries(section.get("directories")):
        hits = list(_directories(section, repository, prefix, uses_go=uses_go))
    elif entries(section.get("files")):
        hits = list(_files(section, repository, prefix, uses_go=uses_go))
    else:
        raise unsupported_error("a Git generator without directories or files")
    values = mapping(section.get("values"))
    if not values or not hits:
        return hits
    if not uses_go:
        for each in hits:
            each.update({f"values.{key}": _replace(text(entry), each) for key, entry in values.items()})
        return hits
    rendered = evaluate([text(entry) for entry in values.values()], hits)
    return [
        {**each, "values": dict(zip(values, texts, strict=True))} for each, texts in zip(hits, rendered, strict=True)
    ]


def _directories(
    section: Mapping[str, Value], repository: Repository, prefix: str, *, uses_go: bool
) -> Iterator[Parameters]:
    listed = mappings(section.get("directories"))
    taken = [text(each.get("path")) for each in listed if each.get("exclude") is not True]
    excluded = [text(each.get("path")) for each in listed if each.get("exclude") is True]
    for folder in sorted(folders_above(repository.tree.files_below(""))):
        if any(step.startswith(".") for step in folder.split("/")):
            continue
        if any(_matches(folder, glob) for glob in taken) and not any(_matches(folder, glob) for glob in excluded):
            yield _path_parameters(folder, prefix, uses_go=uses_go)


def _matches(folder: str, glob: str) -> bool:
    """Return True if a glob matches a folder: a `*` stays within a step of the path. Source: Go, path.Match."""
    steps, patterns = folder.split("/"), glob.strip("/").split("/")
    if len(steps) != len(patterns):
        return False
    return all(re.fullmatch(translate(single), step) for single, step in zip(patterns, steps, strict=True))


_UNUSUAL = re.compile(r"[^-a-z0-9.]+")


def _object_name(name: str) -> str:
    """Return `name` as Argo CD changes it to a valid name of an object. Source: applicationset/utils, SanitizeName."""
    return _UNUSUAL.sub("-", name.lower()).strip("-.")[:253]


def _path_parameters(folder: str, prefix: str, *, uses_go: bool, file: str | None = None) -> Parameters:
    name = posixpath.basename(folder)
    if uses_go:
        path: Parameters = {
            "path": folder,
            "basename": name,
            "basenameNormalized": _object_name(name),
            "segments": list(folder.split("/")),
        }
        if file is not None:
            path |= {"filename": file, "filenameNormalized": _object_name(file)}
        return {prefix: {"path": path}} if prefix else {"path": path}
    start = f"{prefix}.path" if prefix else "path"
    hits: Parameters = {start: folder, f"{start}.basename": name, f"{start}.basenameNormalized": _object_name(name)}
    if file is not None:
        hits |= {f"{start}.filename": file, f"{start}.filenameNormalized": _object_name(file)}
    hits |= {f"{start}[{at}]": step for at, step in enumerate(folder.split("/")) if step}
    return hits


def _files(section: Mapping[str, Value], repository: Repository, prefix: str, *, uses_go: bool) -> Iterator[Parameters]:
    from packwise.build.sources import matches

    listed = mappings(section.get("files"))
    taken = [text(each.get("path")) for each in listed if each.get("exclude") is not True]
    excluded = [text(each.get("path")) for each in listed if each.get("exclude") is True]
    for path in repository.tree.files_below(""):
        if not any(matches(glob, path) for glob in taken) or any(matches(glob, path) for glob in excluded):
            continue
        content = _yaml(repository.tree.read(path).decode("utf-8", "replace"), path)
        folder, name = posixpath.split(path)
        # A file with a list makes one Application for each item.
        for item in content if isinstance(content, list) else [content]:
            if not isinstance(item, dict):
                message = f"{path} must hold a mapping, or a list of mappings"
                raise SourceError(Obstacle.FAILED, message, is_wrong=True)
            own: Parameters = dict(item) if uses_go else dict(_flatten(item, ""))
            yield {**own, **_path_parameters(folder, prefix, uses_go=uses_go, file=name)}


def _flatten(value: Value, prefix: str) -> Iterator[tuple[str, Value]]:
    """Yield the dotted path and the text of each leaf of a value. Source: jeremywohl/flatten, DotStyle."""
    if isinstance(value, (dict, list)):
        pairs = value.items() if isinstance(value, dict) else ((str(at), each) for at, each in enumerate(value))
        for key, each in pairs:
            yield from _flatten(each, f"{prefix}.{key}" if prefix else str(key))
    else:
        yield prefix, _as_text(value)


def _as_text(value: Value) -> str:
    if isinstance(value, str):
        return value
    return "" if value is None else json.dumps(value)


def _yaml(content: str, path: str = "elementsYaml") -> Value:
    try:
        documents = [read(each.text) for each in split_documents(content)]
    except YamlError as error:
        raise SourceError(Obstacle.FAILED, f"{path} is not readable YAML: {error.message}", is_wrong=True) from None
    kept = [each for each in documents if each is not None]
    return kept[0] if len(kept) == 1 else kept


_EXPRESSION = re.compile(r"\{\{([^{}]*+)\}\}")


def _replace(template: str, parameters: Mapping[str, Value]) -> str:
    """Return `template` with the values of its parameters. An unknown parameter stays as it is."""

    def value(match: re.Match[str]) -> str:
        hits = parameters.get(match[1])
        return match[0] if hits is None else _as_text(hits)

    return _EXPRESSION.sub(value, template)


def _leaves(value: Value) -> Iterator[str]:
    """Yield the keys and texts of a template that have expressions."""
    if isinstance(value, str):
        if "{{" in value:
            yield value
    elif isinstance(value, dict):
        for key, each in value.items():
            yield from _leaves(key)
            yield from _leaves(each)
    elif isinstance(value, list):
        for each in value:
            yield from _leaves(each)


def _map(value: Value, change: Callable[[str], str]) -> Value:
    if isinstance(value, str):
        return change(value)
    if isinstance(value, dict):
        return {change(key): _map(each, change) for key, each in value.items()}
    return [_map(each, change) for each in value] if isinstance(value, list) else value


def _fill(
    template: Value, parameters: Sequence[Parameters], evaluate: Evaluate, *, uses_go: bool
) -> list[Mapping[str, Value]]:
    if not uses_go:
        return [mapping(_map(template, lambda leaf, own=own: _replace(leaf, own))) for own in parameters]
    leaves = list(dict.fromkeys(_leaves(template)))
    rendered = evaluate(leaves, parameters) if leaves and parameters else [list[str]() for _ in parameters]
    filled: list[Mapping[str, Value]] = []
    for texts in rendered:
        by_leaf = dict(zip(leaves, texts, strict=True))
        filled.append(mapping(_map(template, lambda leaf, own=by_leaf: own.get(leaf, leaf))))
    return filled


def _patch(
    created: Sequence[Mapping[str, Value]],
    patch: str,
    parameters: Sequence[Parameters],
    evaluate: Evaluate,
    *,
    uses_go: bool,
) -> list[Mapping[str, Value]]:
    """Return the Applications after the ApplicationSet's `templatePatch` in `patch`, a template of YAML."""
    if uses_go:
        texts = [each[0] for each in evaluate([patch], parameters)] if parameters else []
    else:
        texts = [_replace(patch, own) for own in parameters]
    return [
        mapping(merge_patch(dict(each), _yaml(text_, "templatePatch")))
        for each, text_ in zip(created, texts, strict=True)
    ]
