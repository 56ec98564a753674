"""An upserted object replaces the object with the same identity, and keeps the comments on its values."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from krmfn import FieldError, KubeObject, ResourceList, Severity, Value
from krmfn.edit import is_same_json
from krmfn.resourcelist import replace

HEAD = "apiVersion: config.kubernetes.io/v1\nkind: ResourceList\nitems:\n"
FIRST = "- apiVersion: v1\n  kind: ConfigMap\n  metadata: {name: first}\n"
OLD = """\
# of the team
- kind: ConfigMap # kind
  apiVersion: v1
  metadata:
    name: settings
    annotations:
      config.kubernetes.io/path: 'a.yaml'
  data:
    # how many
    count: "1" # few
    gone: x
    list: '1' # one
"""
LAST = "- kind: Last\n"


def config_map(**data: Value) -> KubeObject:
    return KubeObject.new({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "settings"}, "data": data})


def test_a_new_one_stands_at_the_end() -> None:
    rl = ResourceList.parse(HEAD + FIRST)

    assert rl.upsert(config_map(count="2")).to_text() == (
        HEAD + FIRST + '- apiVersion: v1\n  kind: ConfigMap\n  metadata:\n    name: settings\n  data:\n    count: "2"\n'
    )


def test_one_that_is_there_is_replaced_at_its_place() -> None:
    rl = ResourceList.parse(HEAD + FIRST + OLD + LAST)

    replaced = rl.upsert(config_map(count="2", list="1", more="z")).to_text()

    changed = OLD.replace('count: "1"', 'count: "2"').replace("    gone: x\n", "") + "    more: z\n"
    assert replaced == HEAD + FIRST + changed + LAST


def test_the_same_values_change_no_byte() -> None:
    rl = ResourceList.parse(HEAD + FIRST + OLD + LAST)

    assert rl.upsert(config_map(count="1", gone="x", list="1")).to_text() == HEAD + FIRST + OLD + LAST
    assert rl.upsert(rl.items[1]).items == rl.items


def test_a_file_of_its_own_is_kept() -> None:
    rl = ResourceList.parse(HEAD + OLD)
    new = KubeObject.new(dict(config_map(count="1").value), path="b.yaml")

    assert rl.upsert(new).items[0].path == "b.yaml"


@pytest.mark.parametrize(
    ("other", "count"),
    [
        ({"apiVersion": "v2", "kind": "ConfigMap", "metadata": {"name": "settings"}}, 1),
        ({"apiVersion": "x/v1", "kind": "ConfigMap", "metadata": {"name": "settings"}}, 2),
        ({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "settings"}}, 2),
        ({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "settings", "namespace": "a"}}, 2),
    ],
)
def test_what_is_the_same_object(other: dict[str, Value], count: int) -> None:
    assert len(ResourceList.parse(HEAD + OLD).upsert(KubeObject.new(other)).items) == count


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-5, 5) | st.sampled_from(["", "a", "b c", "yes", "1"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["a", "b", "c"]), inner, max_size=3),
    max_leaves=8,
)
TEXTS = [
    "kind: A\nspec:\n  a: 1 # one\n  b: [1, 2] # two\n  c:\n  # three\n  - a: b\n",
    "{kind: A, spec: {a: {b: 1}, c: [a, {b: c}]}} # flow\n",
    "kind: A\nspec:\n  a: &x {b: 1}\n  b: *x\n",
    "kind: A\nspec: |\n  text\n",
]


@given(st.sampled_from(TEXTS), VALUES)
def test_what_comes_out_has_the_new_value(text: str, spec: Value) -> None:
    """The result reads as the new value, for any old text."""
    old = KubeObject.parse(text)
    new = KubeObject.new({"kind": "A", "spec": spec})

    result = replace(old, new)

    assert is_same_json(result.value, new.value)
    assert is_same_json(KubeObject.parse(result.text).value, new.value)


ITEM = KubeObject.parse(
    "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: a\n  annotations: {config.kubernetes.io/path: a.yaml, "
    "config.kubernetes.io/index: '1'}\ndata:\n  count: x\n"
)


def test_a_warning_carries_object_file_field_and_place() -> None:
    result = ITEM.warning("data.count", "must be a number", rule="count", proposed="1")

    assert result.to_value() == {
        "message": "must be a number",
        "severity": "warning",
        "resourceRef": {"apiVersion": "v1", "kind": "ConfigMap", "name": "a"},
        "field": {"path": "data.count", "currentValue": "x", "proposedValue": "1"},
        "file": {"path": "a.yaml", "index": 1},
        "tags": {"line": "7", "column": "10", "rule": "count"},
    }
    assert result.line_of_text() == "warning: a.yaml:7:10: ConfigMap a data.count: must be a number [count]"


def test_an_info_is_one_too() -> None:
    result = ITEM.info((), "is fine")

    assert (result.severity, result.field, result.tags["line"]) == (Severity.INFO, None, "1")


def test_an_error_can_be_raised_or_be_a_result() -> None:
    rl = ResourceList.parse(HEAD + FIRST)
    error = ITEM.error("data.count", "must be a number")

    assert rl.with_results([error]).results == (error.to_result(),)
    with pytest.raises(FieldError):
        raise error
