"""The problems for which the API server refuses objects of group scheduling.

It checks each field by the tables in `schema`, and a Workload also as a whole. An update is compared with the stored
object. A changed immutable field has no other problem. Source: spec/kubernetes-gangs.md#4, #5, #6.
"""

from __future__ import annotations

from krmfn.fieldpath import describe, format_path
from krmfn.hints import TYPE_CHECKING, Record, cast
from packwise.fields import Array, Field, Object, Open
from packwise.findings import Problem, Stage
from packwise.frontends.kubernetes.schema import (
    MAX_DEPTH,
    POD_GROUP_NAME,
    Change,
    Leaf,
    Listing,
    Struct,
    decoder_table,
    job_scheduling,
    spec_of,
)
from packwise.kubernetes import V35, ErrorType, Unquoted, field_error, metadata_errors
from packwise.lenient import mapping, mappings_in_place, text
from packwise.validate.decode import Decoder, ObjectTable
from packwise.wording import list_known

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from krmfn.fieldpath import FieldPath
    from krmfn.value import Value
    from packwise.fields import Kind
    from packwise.frontends.kubernetes.schema import Member
    from packwise.revisions.kubernetes import KubernetesRelease

_LEAVES, _COMPOSITES = "podGroupTemplates", "compositePodGroupTemplates"
_DUMP = Unquoted("{…}")
"""Replaces a whole object in a text. The API server prints the object."""
_EMPTY: Mapping[str, Value] = {}
_MAX_CHECKED_DEPTH = 32
"""The depth to which a tree of templates is checked. A deeper tree is refused because of its depth."""
_IMMUTABLE_FIX = "immutable; delete the object and create it again"


_OWNERS: Mapping[str | int, str] = {"schedulingGroup": "PodSpec", "scheduling": "JobSpec"}
"""The Go types with the fields of group scheduling in pods and Jobs."""


class Decoded(Record):
    """The problems of decoding an object: wrong types, and unknown fields."""

    decode: tuple[Problem, ...] = ()
    unknown: tuple[Problem, ...] = ()


_OTHERS = ("apiVersion", "kind", "metadata", "status")
"""The fields of an object other than `spec`."""


def decode(
    kind: str, version: str, value: Value, table: Struct, path: FieldPath, *, whole: Mapping[str, Value] | None = None
) -> Decoded:
    """Return the problems of decoding `value`, found at `path` of an object. Only the first has the API server's text.

    `whole` is the object if all of it is decoded, otherwise None.
    """
    types: Kind = decoder_table(table, version)
    owner = _OWNERS.get(path[-1], "")
    for step in reversed(path[1:]):
        types, value = _wrap_kind(step, types, owner), {step: value} if isinstance(step, str) else [value]
        owner = ""
    root, first = path[0], types
    others = {} if whole is None else {name: Field(Open()) for name in _OTHERS}
    walked = Object(kind, {str(root): Field(first), **others})
    value = {**(whole or {}), str(root): value}
    walk = Decoder()
    walk.read(value, ObjectTable(lambda: walked))
    prefix = f'{kind} in version "{version}" cannot be handled as a {kind}: '
    decoded = [
        problem.replace(operator_message=prefix + problem.operator_message) if problem.operator_message else problem
        for problem in walk.decode
    ]
    unknown = [problem.replace(operator_message=None, stage=Stage.DECODE) for problem in walk.unknown]
    if unknown and not decoded:
        names = ", ".join([f'unknown field "{format_path(problem.path)}"' for problem in unknown])
        unknown[0] = unknown[0].replace(operator_message=f"{prefix}strict decoding error: {names}")
    return Decoded(tuple(decoded), tuple(unknown))


def _wrap_kind(step: str | int, inner: Kind, struct: str) -> Object | Array:
    return Object(struct, {step: Field(inner)}) if isinstance(step, str) else Array(inner)


def group_problems(
    kind: str, value: Mapping[str, Value], before: Mapping[str, Value] | None, release: KubernetesRelease
) -> list[Problem]:
    """Return the problems for which the API server refuses a Workload, PodGroup or CompositePodGroup.

    `before` is the stored object, or None for a new object. Both objects must be prepared: without the fields of
    disabled gates, and with defaults.
    """
    problems = [
        Problem(each.path, each.message, each.error.text(), Stage.SCHEMA)
        for each in metadata_errors(mapping(value.get("metadata")), V35)
    ]
    spec, old = mapping(value.get("spec")), None if before is None else mapping(before.get("spec"))
    if kind == "Workload":
        problems += _whole_problems(spec, release)
    if kind == "PodGroup" and spec.get("parentCompositePodGroupName") is not None and spec.get("workloadRef") is None:
        is_refused = old is not None and old.get("workloadRef") is not None
        detail = "must be set when parentCompositePodGroupName is set"
        if not is_refused:
            problems.append(_problem(("spec", "workloadRef"), ErrorType.REQUIRED, detail=detail))
    problems += _struct_problems(spec, old, spec_of(kind, release), ("spec",))
    return problems


def job_problems(value: Mapping[str, Value], before: Mapping[str, Value] | None) -> list[Problem]:
    """Return the problems for which the API server refuses `spec.scheduling` of a Job. `before` is the stored Job."""
    path: FieldPath = ("spec", "scheduling")
    spec, old = mapping(value.get("spec")), mapping(mapping(before).get("spec"))
    scheduling, stored = spec.get("scheduling"), old.get("scheduling")
    if before is not None and (scheduling is None) != (stored is None):
        return [_set_once_problem(path, is_set=scheduling is not None)]
    if not isinstance(scheduling, dict):
        return []
    was = mapping(stored) if before is not None else None
    problems = list(_struct_problems(scheduling, was, job_scheduling(), path))
    policy, mode = mapping(scheduling.get("schedulingPolicy")), mapping(scheduling.get("disruptionMode"))
    minimum, parallelism = mapping(policy.get("gang")).get("minCount"), spec.get("parallelism")
    most = 1 if parallelism is None else parallelism
    if type(minimum) is int and type(most) is int and minimum > max(most, 0):
        at = (*path, "schedulingPolicy", "gang", "minCount")
        detail = f"must not be greater than parallelism ({most})"
        message = f"must be at most {most}, the parallelism; got {minimum}"
        problems.append(_problem(at, ErrorType.INVALID, minimum, detail, message=message))
    # A Job without a policy has the basic policy.
    is_fixed = any(problem.path == (*path, "disruptionMode") for problem in problems)
    if mode.get("all") is not None and policy.get("gang") is None and not is_fixed:
        detail = "the disruptionMode `all` is not supported with the Basic scheduling policy"
        problems.append(_problem((*path, "disruptionMode"), ErrorType.INVALID, "", detail))
    return problems


def pod_problems(group: Mapping[str, Value], path: FieldPath) -> Iterator[Problem]:
    """Yield the problems for which the API server refuses `group`, the `schedulingGroup` at `path` of a pod."""
    name = group.get("podGroupName")
    at = (*path, "podGroupName")
    if name is None:
        yield _problem(at, ErrorType.INVALID, None, "must specify one of: `podGroupName`")
    elif isinstance(name, str):
        yield from _leaf_problems(name, POD_GROUP_NAME, at)


# The functions below check each field, in the order of the tables.


def _struct_problems(
    value: Mapping[str, Value], before: Mapping[str, Value] | None, table: Struct, path: FieldPath
) -> Iterator[Problem]:
    if len(path) > _MAX_CHECKED_DEPTH:
        return
    members = [name for name in table.union if _is_set(value.get(name))]
    if table.variant and before is not None and members != [name for name in table.union if _is_set(before.get(name))]:
        yield _problem(path, ErrorType.INVALID, None, table.variant)
        return
    yield from _union_problems(members, table, path)
    for name, member in table.members.items():
        at, entry = (*path, name), value.get(name)
        stored = None if before is None else before.get(name)
        if before is not None:
            change = _change_problem(entry, stored, member, at)
            if change is not None:
                yield change
                continue
        if isinstance(member.of, Struct) and entry is None and member.of.is_embedded:
            entry = _EMPTY
        if _is_zero(entry, member.of):
            if member.is_required:
                yield _problem(at, ErrorType.REQUIRED)
            continue
        if isinstance(member.of, Leaf):
            yield from _leaf_problems(entry, member.of, at)
        elif isinstance(member.of, Listing):
            was = None if before is None else mappings_in_place(stored)
            yield from _list_problems(entry, was, member.of, at)
        else:
            yield from _struct_problems(mapping(entry), None if before is None else mapping(stored), member.of, at)


def _union_problems(members: list[str], table: Struct, path: FieldPath) -> Iterator[Problem]:
    names = ", ".join([f"`{name}`" for name in table.union])
    if table.union and not members:
        yield _problem(path, ErrorType.INVALID, "", f"must specify one of: {names}")
    elif len(members) > 1:
        listed = "{" + ", ".join(members) + "}"
        yield _problem(path, ErrorType.INVALID, listed, f"must specify exactly one of: {names}")


def _leaf_problems(value: Value, leaf: Leaf, at: FieldPath) -> Iterator[Problem]:
    if isinstance(value, str):
        if leaf.enum and value not in leaf.enum:
            supported = ", ".join([f'"{name}"' for name in leaf.enum])
            yield _problem(at, ErrorType.NOT_SUPPORTED, value, f"supported values: {supported}")
        for wrong in leaf.texts(value) if leaf.texts is not None else ():
            yield _problem(at, ErrorType.INVALID, value, wrong)
    elif isinstance(value, int | float):
        number = int(value)
        if leaf.minimum is not None and number < leaf.minimum:
            detail = f"must be greater than or equal to {leaf.minimum}"
            yield _problem(
                at, ErrorType.INVALID, number, detail, message=f"must be at least {leaf.minimum}; got {number}"
            )
        if leaf.maximum is not None and number > leaf.maximum:
            detail = f"must be less than or equal to {leaf.maximum}"
            yield _problem(
                at, ErrorType.INVALID, number, detail, message=f"must be at most {leaf.maximum}; got {number}"
            )


def _list_problems(
    value: Value, before: list[Mapping[str, Value]] | None, listing: Listing, at: FieldPath
) -> Iterator[Problem]:
    entries, item = mappings_in_place(value), listing.item()
    if len(entries) > listing.max_items > 0:
        items = "item" if listing.max_items == 1 else "items"
        yield _problem(at, ErrorType.TOO_MANY, len(entries), f"must have at most {listing.max_items} {items}")
        return
    stored = {text(entry.get("name")): entry for entry in before or ()}
    seen: set[str] = set()
    for position, entry in enumerate(entries):
        place, name = (*at, position), text(entry.get("name"))
        if listing.is_map and name in seen:
            yield _problem(place, ErrorType.DUPLICATE, _DUMP, message=f'two items have the name "{name}"')
        seen.add(name)
        if before is not None and listing.is_map and name not in stored:
            yield _problem(place, ErrorType.FORBIDDEN, detail="item may not be added")
        else:
            yield from _struct_problems(entry, stored.get(name) if before is not None else None, item, place)
    if before is not None and listing.is_map and stored.keys() - seen:
        gone = list_known(sorted(stored.keys() - seen))
        message = f"items cannot be removed, but {gone} is missing; delete the object and create it again"
        yield _problem(at, ErrorType.FORBIDDEN, detail="item may not be removed", message=message)


# The functions below compare a field with its stored value.


def _change_problem(entry: Value, stored: Value, member: Member, at: FieldPath) -> Problem | None:
    """Return the problem of a change that the field does not permit, or None."""
    if member.change is Change.FIXED and not is_same(entry, stored, member.of):
        return _problem(at, ErrorType.INVALID, None, "field is immutable", message=_IMMUTABLE_FIX)
    if member.change is Change.ONCE and _is_set(entry) != _is_set(stored):
        return _set_once_problem(at, is_set=_is_set(entry))
    return None


def _set_once_problem(at: FieldPath, *, is_set: bool) -> Problem:
    detail = "field cannot be set once created" if is_set else "field cannot be cleared once set"
    return _problem(at, ErrorType.INVALID, None, detail, message=f"{detail}; delete the object and create it again")


def is_same(left: Value, right: Value, of: Leaf | Struct | Listing) -> bool:
    """Return True if Go considers both values equal. An absent value equals the zero value unless it is a pointer."""
    return _normalize(left, of) == _normalize(right, of)


def _normalize(value: Value, of: Leaf | Struct | Listing) -> Value:
    if _is_zero(value, of):
        return None
    if isinstance(of, Leaf):
        return int(value) if isinstance(value, float) else value
    if isinstance(of, Listing):
        return [_normalize(entry, of.item()) for entry in mappings_in_place(value)]
    fields = mapping(value)
    normal = {name: _normalize(fields.get(name), member.of) for name, member in of.members.items()}
    return {name: entry for name, entry in normal.items() if entry is not None}


def _is_zero(value: Value, of: Leaf | Struct | Listing) -> bool:
    """Return True if Go treats the field as absent: it is absent or, if it is not a pointer, has the zero value."""
    if isinstance(of, Leaf):
        return value is None or (not of.is_pointer and value in ("", 0))
    return value is None or (isinstance(of, Listing) and value == [])


def _is_set(value: Value) -> bool:
    """Return True if a member of a union is set: a list with items, or a mapping even if it is empty."""
    return value is not None and value != []


# The functions below check a whole Workload: its names, depth, priorities and children.


class _Template(Record):
    """A template at `path` of a Workload. A root has the depth 1."""

    value: Mapping[str, Value]
    path: FieldPath
    depth: int
    is_composite: bool


def _whole_problems(spec: Mapping[str, Value], release: KubernetesRelease) -> Iterator[Problem]:
    yield from _name_problems(spec)
    yield from _depth_problems(spec)
    yield from _priority_problems(spec, release)
    for template in composites_of(spec):
        if not any(_is_set(template.value.get(name)) for name in (_LEAVES, _COMPOSITES)):
            name = text(template.value.get("name"))
            detail = "must have at least one child PodGroupTemplate or CompositePodGroupTemplate"
            yield _problem(template.path, ErrorType.INVALID, name, detail)


def composites_of(spec: Mapping[str, Value], path: FieldPath = ("spec",), depth: int = 1) -> Iterator[_Template]:
    """Yield the templates of composite groups, parents before children."""
    if depth > _MAX_CHECKED_DEPTH:
        return
    for position, entry in enumerate(mappings_in_place(spec.get(_COMPOSITES))):
        at = (*path, _COMPOSITES, position)
        yield _Template(entry, at, depth, is_composite=True)
        yield from composites_of(entry, at, depth + 1)


def _name_problems(spec: Mapping[str, Value]) -> Iterator[Problem]:
    """Yield a problem for each name that an earlier list of the Workload also has.

    The check of the fields reports a name that is repeated within a list.
    """
    names = {text(entry.get("name")) for entry in mappings_in_place(spec.get(_LEAVES))}
    waiting: list[tuple[Mapping[str, Value], FieldPath]] = [(spec, ("spec",))]
    while waiting:
        owner, path = waiting.pop()
        is_spec = path == ("spec",)
        below: list[tuple[Mapping[str, Value], FieldPath]] = []
        for field in (_COMPOSITES,) if is_spec else (_LEAVES, _COMPOSITES):
            own: set[str] = set()
            for position, entry in enumerate(mappings_in_place(owner.get(field))):
                at, name = (*path, field, position), text(entry.get("name"))
                if name in names:
                    message = f'two templates have the name "{name}"'
                    yield _problem((*at, "name"), ErrorType.DUPLICATE, name, message=message)
                own.add(name)
                if field == _COMPOSITES:
                    below.append((entry, at))
            names |= own
        # The API server visits the templates depth first, in their order.
        waiting += reversed(below)


def _depth_problems(spec: Mapping[str, Value]) -> Iterator[Problem]:
    deep: dict[FieldPath, None] = {}
    for template in composites_of(spec):
        if template.depth >= MAX_DEPTH:
            deep[template.path[:3]] = None
    detail = f"maximum template hierarchy depth is {MAX_DEPTH}"
    for path in deep:
        message = f"the tree of templates must be at most {MAX_DEPTH} levels deep, including the groups of pods"
        yield _problem(path, ErrorType.INVALID, Unquoted("[…]"), detail, message=message)


def _priority_problems(spec: Mapping[str, Value], release: KubernetesRelease) -> Iterator[Problem]:
    flat = [_priority(entry, release) for entry in mappings_in_place(spec.get(_LEAVES))]
    tree: list[tuple[Value, ...]] = []
    for template in composites_of(spec):
        tree.append(_priority(template.value, release))
        tree += [_priority(entry, release) for entry in mappings_in_place(template.value.get(_LEAVES))]
    if len(set(flat)) > 1:
        detail = "detected multiple priority configurations"
    elif len({*flat[:1], *tree}) > 1:
        detail = "all priority and priorityClassName values must be identical, detected multiple values"
    else:
        return
    message = "all templates of a Workload must have the same priorityClassName and priority"
    if release.compares_preemption:
        # v1.38 has a different text. No golden shows the text, so it is not repeated here.
        yield Problem(("spec",), f"{message}, and the same preemptionPolicy", None, Stage.SCHEMA)
    else:
        yield _problem(("spec",), ErrorType.INVALID, None, detail, message=message)


def _priority(template: Mapping[str, Value], release: KubernetesRelease) -> tuple[Value, ...]:
    own = (template.get("priorityClassName") or "", template.get("priority"))
    return (*own, template.get("preemptionPolicy")) if release.compares_preemption else own


def _problem(path: FieldPath, kind: ErrorType, value: Value = None, detail: str = "", *, message: str = "") -> Problem:
    return field_error(path, kind, value, detail, message or _message(kind, value, detail), stage=Stage.SCHEMA)


def _message(kind: ErrorType, value: Value, detail: str) -> str:
    if kind is ErrorType.REQUIRED:
        return detail or "must be set"
    if kind is ErrorType.FORBIDDEN:
        return f"{detail}; delete the object and create it again"
    if value is None or isinstance(value, Unquoted) or value == "":
        return detail
    return f"{detail}; got {cast('int', value) if kind is ErrorType.TOO_MANY else describe(value)}"
