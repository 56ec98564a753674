"""The rules about metadata of a PodCliqueSet and its cliques, the length of names, and the MNNVL annotations.

Source: spec/grove.md#r01, #r06, #r07, #r26, #r34.
"""

from __future__ import annotations

from krmfn.fieldpath import format_path
from krmfn.hints import TYPE_CHECKING, Record
from packwise import kubernetes
from packwise.findings import Rule
from packwise.frontends.grove.podcliqueset import TEMPLATE
from packwise.frontends.grove.rules.book import (
    Check,
    CliqueAt,
    Context,
    GroupAt,
    Scope,
    Update,
    forbidden_problem,
    invalid_value,
    required_value,
)
from packwise.kubernetes import dns_label, go_quote, refusal
from packwise.lenient import mappings_in_place
from packwise.revisions.grove import ALPHA_8, ALPHA_9

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from krmfn.fieldpath import FieldPath
    from krmfn.value import Value
    from packwise.findings import Problem
    from packwise.frontends.grove.podcliqueset import PodCliqueSet


def _name(pcs: PodCliqueSet, _context: Context) -> Iterator[Problem]:
    prefix = pcs.metadata.get("generateName")
    if isinstance(prefix, str) and prefix:
        path: FieldPath = ("metadata", "generateName")
        for text in kubernetes.dns_subdomain(kubernetes.mask_trailing_dash(prefix)):
            yield invalid_value(path, prefix, text, f'must be the beginning of a DNS subdomain; got "{prefix}": {text}')
    path = ("metadata", "name")
    if not pcs.name:
        yield required_value(
            path, "name or generateName is required", "must be set: a render needs the name of the PodCliqueSet"
        )
        return
    for text in kubernetes.dns_subdomain(pcs.name):
        yield invalid_value(path, pcs.name, text, f'must be a DNS subdomain; got "{pcs.name}": {text}')


def _namespace(pcs: PodCliqueSet, _context: Context) -> Iterator[Problem]:
    path: FieldPath = ("metadata", "namespace")
    for text in kubernetes.dns_label(pcs.namespace):
        yield invalid_value(path, pcs.namespace, text, f'must be a DNS label; got "{pcs.namespace}": {text}')


def _generation(pcs: PodCliqueSet, _context: Context) -> Iterator[Problem]:
    generation = pcs.metadata.get("generation")
    if type(generation) is int and generation < 0:
        text = "must be greater than or equal to 0"
        yield invalid_value(("metadata", "generation"), generation, text, f'must be at least 0; got "{generation}"')


def _labels(labels: Mapping[str, str], path: FieldPath, context: Context) -> Iterable[Problem]:
    if not labels:
        return ()
    errors = kubernetes.label_errors(labels, path, context.revision.apimachinery)
    return [refusal(each.path, each.message, each.error) for each in errors]


def _annotations(annotations: Mapping[str, str], path: FieldPath, context: Context) -> Iterable[Problem]:
    if not annotations:
        return ()
    errors = kubernetes.annotation_errors(annotations, path, context.revision.apimachinery)
    return [refusal(each.path, each.message, each.error) for each in errors]


def _owners(pcs: PodCliqueSet, _context: Context) -> Iterator[Problem]:
    path: FieldPath = ("metadata", "ownerReferences")
    owners = mappings_in_place(pcs.metadata.get("ownerReferences"))
    controllers: list[str] = []
    for index, owner in enumerate(owners):
        for key in ("apiVersion", "kind", "name", "uid"):
            value = owner.get(key)
            text = "version must not be empty" if key == "apiVersion" else "must not be empty"
            # An apiVersion needs a version, but its group may be empty.
            if not isinstance(value, str) or not (value.split("/")[-1] if key == "apiVersion" else value):
                shown = value if isinstance(value, str) else ""
                yield invalid_value((*path, index, key), shown, text, text, field=f"metadata.ownerReferences.{key}")
        if owner.get("controller") is True:
            named = f"{owner.get('kind', '')}/{owner.get('name', '')}"
            if controllers:
                text = (
                    "Only one reference can have Controller set to true. "
                    f'Found "true" in references for {controllers[0]} and {named}'
                )
                message = f"only one owner must be the controller; got {controllers[0]} and {named}"
                shown = [_owner_value(entry) for entry in owners]
                yield invalid_value((*path, index), shown, text, message, field="metadata.ownerReferences")
            else:
                controllers.append(named)


def _finalizers(pcs: PodCliqueSet, context: Context) -> Iterator[Problem]:
    path: FieldPath = ("metadata", "finalizers")
    finalizers = pcs.metadata.get("finalizers")
    # Go reads null as an empty name.
    names = [name if isinstance(name, str) else "" for name in finalizers] if isinstance(finalizers, list) else []
    for index, name in enumerate(names):
        for text in kubernetes.qualified_name(name, context.revision.apimachinery):
            message = f'must be a qualified name; got "{name}": {text}'
            yield invalid_value((*path, index), name, text, message, field="metadata.finalizers")
    if {"orphan", "foregroundDeletion"} <= set(names):
        text = "finalizer orphan and foregroundDeletion cannot be both set"
        yield invalid_value(path, names, text, 'must not contain both "orphan" and "foregroundDeletion"')


def _owner_value(owner: Mapping[str, Value]) -> Mapping[str, Value]:
    shown: dict[str, Value] = {key: owner.get(key) or "" for key in ("apiVersion", "kind", "name", "uid")}
    return shown | {key: owner[key] for key in ("controller", "blockOwnerDeletion") if owner.get(key) is not None}


def _set_labels(pcs: PodCliqueSet, context: Context) -> Iterable[Problem]:
    return _labels(pcs.labels, ("metadata", "labels"), context)


def _set_annotations(pcs: PodCliqueSet, context: Context) -> Iterable[Problem]:
    return _annotations(pcs.annotations, ("metadata", "annotations"), context)


def _clique_labels(at: CliqueAt, context: Context) -> Iterable[Problem]:
    return _labels(at.clique.labels, at.path("labels"), context)


def _clique_annotations(at: CliqueAt, context: Context) -> Iterable[Problem]:
    return _annotations(at.clique.annotations, at.path("annotations"), context)


_R01 = "spec/grove.md#r01"

METADATA = (
    Check(Rule("metadata-name", "metadata.name is not a DNS subdomain of at most 253 bytes.", _R01), _name),
    Check(Rule("metadata-namespace", "metadata.namespace is not a DNS label of at most 63 bytes.", _R01), _namespace),
    Check(Rule("metadata-generation", "metadata.generation is negative.", _R01), _generation),
    Check(Rule("metadata-labels", "A label has an invalid key or value.", _R01), _set_labels),
    Check(
        Rule("metadata-annotations", "An annotation has an invalid key, or the annotations exceed 256 KiB.", _R01),
        _set_annotations,
    ),
    Check(
        Rule("metadata-owner-references", "An owner reference is incomplete, or two are controllers.", _R01), _owners
    ),
    Check(
        Rule(
            "metadata-finalizers", "A finalizer is not a qualified name, or two finalizers contradict each other.", _R01
        ),
        _finalizers,
    ),
)
"""Checks of the metadata of the PodCliqueSet."""

CLIQUE_METADATA = (
    Check(Rule("clique-labels", "A label of a clique has an invalid key or value.", "spec/grove.md#r06"),
          _clique_labels),
    Check(Rule("clique-annotations", "An annotation of a clique has an invalid key, or the annotations exceed 256 KiB.",
               "spec/grove.md#r07"),
          _clique_annotations),
)  # fmt: skip
"""Checks of the labels and annotations that the pods of a clique get."""


MAX_COMBINED_LENGTH = 45
"""The largest number of bytes in the names of the set, the group and the clique together."""

_LIMIT = "exceeds 45-character limit required for pod naming. Consider shortening:"


class _Member(Record):
    at: GroupAt
    position: int
    clique: str


def _members(at: GroupAt, _context: Context) -> Iterable[_Member]:
    return [_Member(at, index, name) for index, name in enumerate(at.group.clique_names)]


def _length(*names: str) -> int:
    return len("".join(names).encode("utf-8", "surrogatepass"))


def _own_text(length: int, *names: str) -> str:
    shown = ", ".join([f'"{name}"' for name in names if name])
    return f"the names {shown} must have at most {MAX_COMBINED_LENGTH} characters together, for pod names; got {length}"


def _clique(at: CliqueAt, _context: Context) -> Iterator[Problem]:
    pcs, clique = at.pcs.name, at.clique.name
    length = 0 if at.grouped else _length(pcs, clique)
    if length > MAX_COMBINED_LENGTH:
        text = f"combined resource name length {length} {_LIMIT} PodCliqueSet '{pcs}' or PodClique '{clique}'"
        message = _own_text(length, pcs, clique)
        yield invalid_value(at.path("name"), clique, text, message)
        yield invalid_value(("metadata", "name"), pcs, text, message)


def _member(member: _Member, _context: Context) -> Iterator[Problem]:
    pcs, group, clique = member.at.pcs.name, member.at.group.name, member.clique
    length = _length(pcs, group, clique)
    if length <= MAX_COMBINED_LENGTH:
        return
    # If the group has no name, the operator's text does not mention it.
    named = f", PodCliqueScalingGroup '{group}', or PodClique" if group else " or PodClique"
    text = f"combined resource name length {length} {_LIMIT} PodCliqueSet '{pcs}'{named} '{clique}'"
    message = _own_text(length, pcs, group, clique)
    path = member.at.path("cliqueNames", member.position)
    field = f"spec.template.podCliqueScalingGroups[{member.at.position}].cliqueNames[{member.position}].name"
    yield invalid_value(path, clique, text, message, field=field)
    yield invalid_value(member.at.path("name"), clique, text, message)
    yield invalid_value(("metadata", "name"), pcs, text, message)


CLIQUE_NAME_LENGTH = (
    Check(Rule("name-length", "The names of a PodCliqueSet and a clique have more than 45 bytes together.",
               "spec/grove.md#r26"), _clique),
)  # fmt: skip
"""Checks of the names of cliques that are in no scaling group."""

GROUP_NAME_LENGTH = (
    Scope(_members, (
        Check(Rule("group-name-length",
                   "The names of a PodCliqueSet, a scaling group and a clique have more than 45 bytes together.",
                   "spec/grove.md#r34"), _member),
    )),
)  # fmt: skip
"""Checks of the names of each member of a scaling group."""


# Two annotations request multi-node NVLink (MNNVL): grove.io/auto-mnnvl, and later grove.io/mnnvl-group. The webhook
# before alpha.8 reads auto-mnnvl on the PodCliqueSet. The webhook of alpha.8 reads both on the PodCliqueSet and its
# cliques. Later webhooks read mnnvl-group on these and on scaling groups. Source: spec/grove.md#r46, #u13;
# spec/grove-releases.md#2.1, #2.2.


_AUTO = "grove.io/auto-mnnvl"
_GROUP = "grove.io/mnnvl-group"
_OPT_OUT = "none"


class _Annotated(Record):
    """The annotations of one part of a PodCliqueSet and their path. `key` identifies the part, also after a change."""

    path: FieldPath
    annotations: Mapping[str, str]
    key: tuple[str, str]

    def field(self, annotation: str) -> str:
        """Return the path of an annotation as the operator's errors have it."""
        return f"{format_path(self.path)}.{annotation}"


def _annotations_of_set(pcs: PodCliqueSet, _context: Context) -> Iterator[_Annotated]:
    yield _Annotated(("metadata", "annotations"), pcs.annotations, ("", ""))


def _annotations_of_parts(pcs: PodCliqueSet, context: Context) -> Iterator[_Annotated]:
    """Yield the annotations of the set, of its cliques and of its scaling groups."""
    yield from _annotations_of_set(pcs, context)
    for index, clique in enumerate(pcs.cliques):
        yield _Annotated((*TEMPLATE, "cliques", index, "annotations"), clique.annotations, ("clique", clique.name))
    for index, group in enumerate(pcs.groups):
        path = (*TEMPLATE, "podCliqueScalingGroups", index, "annotations")
        yield _Annotated(path, group.annotations, ("group", group.name))


def _auto_value(part: _Annotated, _context: Context) -> Iterator[Problem]:
    value = part.annotations.get(_AUTO)
    if value is not None and value not in {"enabled", "disabled"}:
        text = 'must be "enabled" or "disabled"'
        yield invalid_value((*part.path, _AUTO), value, text, f'{text}; got "{value}"', field=part.field(_AUTO))


def _auto_feature(part: _Annotated, context: Context) -> Iterator[Problem]:
    value = part.annotations.get(_AUTO)
    if value == "enabled" and context.lacks_mnnvl:
        message = (
            'must not be "enabled" while network.autoMNNVLEnabled is false in the operator\'s configuration; '
            "enable it there or remove the annotation"
        )
        yield invalid_value((*part.path, _AUTO), value, _not_enabled(_AUTO), message, field=part.field(_AUTO))


def _group_value(part: _Annotated, _context: Context) -> Iterator[Problem]:
    return _wrong_group(part, f'a DNS label, or "{_OPT_OUT}"')


def _any_group_value(part: _Annotated, _context: Context) -> Iterator[Problem]:
    return _wrong_group(part, "a DNS label")


def _wrong_group(part: _Annotated, allowed: str) -> Iterator[Problem]:
    value = part.annotations.get(_GROUP)
    if value is None:
        return
    wrong = dns_label(value)
    if value and not wrong:
        return
    text = f"mnnvl-group value {go_quote(value)} is not a valid DNS-1123 label: {'; '.join(wrong)}"
    if not value:
        text = "mnnvl-group value must not be empty"
    message = f'must be a group\'s name, {allowed}; got "{value}"'
    yield invalid_value((*part.path, _GROUP), value, text, message, field=part.field(_GROUP))


def _group_feature(part: _Annotated, context: Context) -> Iterator[Problem]:
    value = part.annotations.get(_GROUP)
    if value is not None and value != _OPT_OUT and context.lacks_mnnvl:
        message = (
            f'must be "{_OPT_OUT}" or unset while network.autoMNNVLEnabled is false in the operator\'s configuration; '
            f'got "{value}"; enable it there or remove the annotation'
        )
        yield invalid_value((*part.path, _GROUP), value, _not_enabled(_GROUP), message, field=part.field(_GROUP))


def _any_group_feature(part: _Annotated, context: Context) -> Iterator[Problem]:
    # In this release, the annotation has no value that disables MNNVL.
    value = part.annotations.get(_GROUP)
    if value is not None and context.lacks_mnnvl:
        message = (
            f"must not be set while network.autoMNNVLEnabled is false in the operator's configuration; "
            f'got "{value}"; enable it there or remove the annotation'
        )
        yield invalid_value((*part.path, _GROUP), value, _not_enabled(_GROUP), message, field=part.field(_GROUP))


def _conflict(part: _Annotated, _context: Context) -> Iterator[Problem]:
    auto, group = part.annotations.get(_AUTO, ""), part.annotations.get(_GROUP)
    if auto.lower() == "disabled" and group is not None:
        text = (
            f"contradictory MNNVL annotations: {_AUTO} is {go_quote(auto)} but {_GROUP} is also set; cannot disable "
            "MNNVL and assign a group simultaneously"
        )
        message = f'"{group}" conflicts with {_AUTO}: "{auto}"; remove one of the two annotations'
        yield forbidden_problem((*part.path, _GROUP), text, message, field=format_path(part.path))


def _not_enabled(annotation: str) -> str:
    return (
        "MNNVL is not enabled in the operator configuration. "
        f"Either enable MNNVL globally or remove the {annotation} annotation"
    )


def _check_unchanged(
    parts: Callable[[PodCliqueSet, Context], Iterable[_Annotated]], annotation: str, creation: str
) -> Callable[[Update, Context], Iterator[Problem]]:
    """Return a function that reports a change of `annotation` in `parts`. `creation` is part of the operator's text."""

    def check(update: Update, context: Context) -> Iterator[Problem]:
        before = {part.key: part.annotations for part in parts(update.old, context)}
        for part in parts(update.new, context):
            if part.key in before:
                old, new = before[part.key].get(annotation), part.annotations.get(annotation)
                yield from _change(part, annotation, old, new, creation)

    return check


def _change(part: _Annotated, annotation: str, old: str | None, new: str | None, creation: str) -> Iterator[Problem]:
    path, field = (*part.path, annotation), part.field(annotation)
    if old == new:
        return
    if old is None or new is None:
        verb = "added" if old is None else "removed"
        text = f"annotation {annotation} cannot be {verb} after {creation}"
        message = f"must not be {verb} once the PodCliqueSet exists; delete the PodCliqueSet and create it again"
        yield forbidden_problem(path, text, message, field=field)
        return
    text = f"annotation {annotation} is immutable and cannot be changed from {go_quote(old)} to {go_quote(new)}"
    yield invalid_value(path, new, text, f'must stay "{old}" once the PodCliqueSet exists; got "{new}"', field=field)


_VALUE = Check(
    Rule("mnnvl-value", 'grove.io/auto-mnnvl is neither "enabled" nor "disabled".', "spec/grove.md#r46"), _auto_value
)
_FEATURE = Check(
    Rule("mnnvl-feature", "grove.io/auto-mnnvl requests a feature that is disabled.", "spec/grove.md#r46"),
    _auto_feature,
)
_NAME = Rule("mnnvl-group-name", 'grove.io/mnnvl-group is neither a DNS label nor "none".', "spec/grove.md#r46")
_GROUP_FEATURE = Rule(
    "mnnvl-group-feature", "grove.io/mnnvl-group requests a feature that is disabled.", "spec/grove.md#r46"
)
_CONFLICT = Rule(
    "mnnvl-conflict", "A workload names an MNNVL group and also disables MNNVL.", "spec/grove-releases.md#2.1.5"
)
_UPDATE = Rule("update-mnnvl", "An update changes grove.io/auto-mnnvl.", "spec/grove.md#u13")
_GROUP_UPDATE = Rule("update-mnnvl-group", "An update changes grove.io/mnnvl-group.", "spec/grove.md#u13")
_SET_CREATION = "PodCliqueSet creation"

MNNVL = (
    Scope(_annotations_of_set, (_VALUE, _FEATURE), until=ALPHA_8),
    Scope(_annotations_of_parts, (
        _VALUE,
        _FEATURE,
        Check(_NAME, _any_group_value),
        Check(_GROUP_FEATURE, _any_group_feature),
        Check(_CONFLICT, _conflict),
    ), since=ALPHA_8, until=ALPHA_9),
    Scope(_annotations_of_parts, (Check(_NAME, _group_value), Check(_GROUP_FEATURE, _group_feature)), since=ALPHA_9),
)  # fmt: skip
"""Checks of the MNNVL annotations of a new PodCliqueSet. Early releases read auto-mnnvl, and later ones mnnvl-group."""

MNNVL_UPDATE = (
    Check(_UPDATE, _check_unchanged(_annotations_of_set, _AUTO, _SET_CREATION), until=ALPHA_8),
    Check(_UPDATE, _check_unchanged(_annotations_of_parts, _AUTO, _SET_CREATION), since=ALPHA_8, until=ALPHA_9),
    Check(_GROUP_UPDATE, _check_unchanged(_annotations_of_parts, _GROUP, _SET_CREATION), since=ALPHA_8, until=ALPHA_9),
    Check(_GROUP_UPDATE, _check_unchanged(_annotations_of_parts, _GROUP, "creation"), since=ALPHA_9),
)
"""Checks of changed MNNVL annotations. They run before all other checks of changes."""
