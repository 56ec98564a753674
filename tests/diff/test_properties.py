"""Properties of a comparison, for generated packages and generated objects."""

from __future__ import annotations

import copy
import json
from typing import Any, cast

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from jsonpatch import apply_patch

from krmfn import KubeObject
from krmfn.edit import is_same_json
from packwise.diff.change import ORDER, Action, NamedEntry, by_identity, counting_part, field_changes, part_at
from packwise.diff.difference import State, diff, json_patch, state_after, state_before
from packwise.diff.run import Comparison, as_json, as_patches, as_text
from packwise.pipeline.selection import Package
from tests.render.mangling import mangled_packages
from tests.render.packages import config, others, render_specs, workloads

pytestmark = pytest.mark.slow

laws = settings(max_examples=80, deadline=None)

KEYS = st.sampled_from(["example.com/rack", "example.com/block", "a/b~c", "é"])
CONSTRAINTS: st.SearchStrategy[Any] = st.one_of(
    st.just({}),
    st.fixed_dictionaries(
        {"packConstraint": st.fixed_dictionaries({}, optional={"required": KEYS, "preferred": KEYS})}
    ),
    st.fixed_dictionaries({"topology": st.sampled_from(["x", "y"])}, optional={"requiredTopologyLevel": KEYS}),
)
VALUES: st.SearchStrategy[Any] = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(0, 2), st.floats(0, 2), st.sampled_from(["", "a", "1", "~/"])),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3), st.dictionaries(st.sampled_from(["a", "name", "~b/c", ""]), inner, max_size=3)
    ),
    max_leaves=8,
)
GROUPS: st.SearchStrategy[Any] = st.lists(
    st.fixed_dictionaries(
        {"name": st.sampled_from(["g-0", "g-1", "g-2", "h"])},
        optional={
            "minReplicas": st.integers(0, 2),
            "parent": st.sampled_from(["g-0", "h"]),
            "podReferences": st.lists(st.fixed_dictionaries({"name": st.sampled_from(["p", "q"])}), max_size=2),
            "podGroupNames": st.lists(st.sampled_from(["g-0", "g-1"]), max_size=2),
            "topologyConstraint": CONSTRAINTS,
        },
    ),
    max_size=4,
)
LEVELS: st.SearchStrategy[Any] = st.lists(
    st.fixed_dictionaries({"key": KEYS}, optional={"domain": st.sampled_from(["rack", "block"]), "nodeLabel": KEYS}),
    max_size=3,
)
NOTES = st.dictionaries(
    st.sampled_from(["a", "packwise.dev/x", "config.kubernetes.io/path", "argocd.argoproj.io/y", "a/b"]),
    st.sampled_from(["", "1", "2"]),
    max_size=3,
)

OWNERS: st.SearchStrategy[Any] = st.lists(
    st.fixed_dictionaries(
        {"apiVersion": st.just("batch/v1"), "kind": st.just("Job"), "name": st.sampled_from(["a", "b"])},
        optional={"uid": st.sampled_from(["1", "2"])},
    ),
    max_size=2,
)


@st.composite
def objects(draw: st.DrawFn, kinds: tuple[str, ...] = ("PodGang", "PodGroup", "Topology", "Queue")) -> dict[str, Any]:
    """Draw an object of a kind that is compared, as sources, renders and clusters have it."""
    kind = draw(st.sampled_from(kinds))
    group = {"PodGang": "scheduler.grove.io", "Topology": "kai.scheduler"}.get(kind, "scheduling.run.ai")
    metadata: dict[str, Any] = {"name": draw(st.sampled_from(["a-0", "a-1", "a-10"])), "namespace": "n"}
    metadata |= draw(
        st.fixed_dictionaries(
            {},
            optional={
                "labels": NOTES,
                "annotations": NOTES,
                "uid": st.just("1"),
                "finalizers": st.just(["f"]),
                "ownerReferences": OWNERS,
            },
        )
    )
    spec: dict[str, Any] = draw(
        st.fixed_dictionaries(
            {},
            optional={
                "podgroups": GROUPS,
                "subGroups": GROUPS,
                "topologyConstraintGroupConfigs": GROUPS,
                "levels": LEVELS,
                "topologyConstraint": CONSTRAINTS,
                "markUnschedulable": st.booleans(),
                "other": VALUES,
            },
        )
    )
    value: dict[str, Any] = {"apiVersion": f"{group}/v1", "kind": kind, "metadata": metadata, "spec": spec}
    return value | draw(st.fixed_dictionaries({}, optional={"status": VALUES}))


def state(values: list[dict[str, Any]]) -> State:
    found = by_identity([KubeObject.new(value) for value in values])
    return State(found, False, frozenset(key[1] for key in found))


@settings(max_examples=300, deadline=None)
@given(st.lists(objects(), max_size=4), st.lists(objects(), max_size=4))
def test_applying_the_patches_gives_what_counts_of_the_other_side(
    before: list[dict[str, Any]], after: list[dict[str, Any]]
) -> None:
    old, new = state(before), state(after)
    assert old.objects is not None
    assert new.objects is not None
    result = {key: as_client_has_it(item) for key, item in old.objects.items()}

    for change in diff(old, new).changes:
        key = next(k for side in (old, new) for k, item in (side.objects or {}).items() if item is change.subject)
        if change.before is not None and change.after is not None:
            patch = json.loads(json.dumps(json_patch(change.before.value, change.after.value)))
            result[key] = cast("dict[str, Any]", apply_patch(as_client_has_it(change.before), patch))
            assert result[key].get("status") == change.before.value.get("status")
            assert result[key]["metadata"].get("uid") == change.before.get("metadata.uid")
        elif change.action is Action.CREATE:
            result[key] = as_client_has_it(change.subject)
        else:
            del result[key]

    patched = state(list(result.values()))
    assert result.keys() == new.objects.keys()
    assert diff(patched, new).changes == ()


@settings(max_examples=300, deadline=None)
@given(objects(("PodGang",)), objects(("PodGang",)))
def test_each_field_that_changes_is_where_its_path_leads(one: dict[str, Any], other: dict[str, Any]) -> None:
    before, after = counting_part(one), counting_part(other)

    for field in field_changes(before, after):
        old: Any = before
        new: Any = after
        for step in field.path:
            old, new = part_at(old, step), part_at(new, step)
        assert is_same_json(old, field.before)
        assert is_same_json(new, field.after)
        assert not is_same_json(old, new)


@laws
@given(st.lists(objects(), max_size=4), st.randoms())
def test_objects_differ_in_nothing_from_themselves_in_any_order(values: list[dict[str, Any]], random: Any) -> None:
    first = {(value["kind"], value["metadata"]["name"]): value for value in reversed(values)}
    shuffled = list(first.values())
    random.shuffle(shuffled)

    assert diff(state(list(first.values())), state(copy.deepcopy(shuffled))).changes == ()


@laws
@given(st.data())
def test_a_package_differs_in_nothing_from_itself(data: st.DataObject) -> None:
    texts = [data.draw(workloads(f"w{number}")) for number in range(data.draw(st.integers(0, 2)))]
    texts += [data.draw(others("o")), config(**data.draw(render_specs))]
    package = Package(tuple([KubeObject.parse(text) for text in texts]))

    found = diff(state_before(package), state_after(package, package))

    assert found.is_compared
    assert (found.changes, found.dropped, found.refusals, found.unreadable) == ((), (), (), ())


@laws
@given(st.lists(objects(), max_size=4), st.lists(objects(), max_size=4))
def test_there_and_back_are_the_same_fields(before: list[dict[str, Any]], after: list[dict[str, Any]]) -> None:
    there, back = (
        sorted(shown(field) for change in diff(state(one), state(other)).changes for field in change.fields)
        for one, other in ((before, after), (after, before))
    )

    assert there == sorted((path, new, old) for path, old, new in back)


def as_client_has_it(item: KubeObject) -> dict[str, Any]:
    """Return the object as a client has it: no part of it is used in two places."""
    return cast("dict[str, Any]", json.loads(json.dumps(item.value)))


def shown(field: Any) -> tuple[str, str, str]:
    steps = [step.name if isinstance(step, NamedEntry) else step for step in field.path]
    return json.dumps(steps), json.dumps(field.before), json.dumps(field.after)


@settings(max_examples=200, deadline=None)
@given(mangled_packages(), mangled_packages(), st.booleans())
def test_slips_of_the_pen_never_lead_to_a_crash(one: list[Any], other: list[Any], found: bool) -> None:
    sides = [[item for item in side if not found or item.get("kind") in ORDER] for side in (one, other)]
    before, after = (Package(tuple([KubeObject.new(item) for item in side if readable(item)])) for side in sides)

    compared = diff(state_before(before), state_after(after, before))

    for text in (as_text, as_json, as_patches):
        assert text(Comparison(compared, "a", "b"))
    assert compared.is_compared or compared.refusals or compared.unreadable


def readable(item: Any) -> bool:
    """Return True if the command line treats the value as an object."""
    return all(isinstance(item.get(key), str) for key in ("apiVersion", "kind"))
