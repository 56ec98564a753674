"""Properties of a whole render, for generated input."""

from __future__ import annotations

import copy
import re
from collections.abc import Iterable
from random import Random
from typing import Any

import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from krmfn import ConfigError, KubeObject, ResourceList, Severity
from packwise.schema.run import topologyrender_schema
from packwise.settings.topologyrender import API_VERSION, KIND, load

from .calling import render
from .mangling import DISABLED, EVERYTHING, SPEC, listed, mangled, mangled_packages
from .packages import CONDITIONS, EARLIER, Listed, config, config_of, flow_list, lists, others, render_specs, workloads

# Its entry with the separators around it, which go along where a revision has no conditions for the workload.
EARLIER_CONDITIONS = re.compile(
    rf"""(?:,\s*)?["']?{re.escape(CONDITIONS)}["']?: *["']?(?:{"|".join(map(re.escape, EARLIER))})["']?"""
    r"(?:, *)?(?: *(?:#.*)?\r?\n\s*)?"
)
UNCONSTRAINED = f"""\
apiVersion: grove.io/v1alpha1
kind: PodCliqueSet
metadata: {{name: w, namespace: team-a, annotations: {{{CONDITIONS}: "[]", z: "1"}}}}
spec:
  replicas: 1
  template:
    cliques: [{{name: a, spec: {{roleName: a, replicas: 1, podSpec: {{containers: [{{name: c, image: a}}]}}}}}}]
"""
IN_JSON = [flow_list([UNCONSTRAINED], config(revision="design-2"), indent=indent) for indent in (None, 2, -1)]
"""A workload that loses its conditions: the new revision has none for workloads without constraints."""

VALIDATOR: Any = Draft202012Validator(topologyrender_schema())

whole = settings(max_examples=settings().max_examples // 2)
"""Settings for tests of whole renders. A few of these take the time of a hundred examples of another test."""


@st.composite
def packages(draw: st.DrawFn) -> Listed:
    """Draw a ResourceList of some workloads and some other objects, in any order, with any settings."""
    documents = [draw(workloads(f"w{number}")) for number in range(draw(st.integers(0, 2)))]
    documents += [draw(others(f"o{number}")) for number in range(draw(st.integers(0, 3)))]
    return draw(lists(draw(st.permutations(documents)), config(**draw(render_specs))))


@whole
@given(packages())
def test_rendering_the_output_again_changes_no_byte(package: Listed) -> None:
    once = render(package.text)
    twice = render(once.stdout)

    assert once.code == 0, once.stderr
    assert [item.source.text for item in twice.items] == [item.source.text for item in once.items]
    # The places of warnings count the annotations that the first render added.
    assert render(twice.stdout) == twice


@whole
@given(packages())
def test_what_is_no_workload_stays_byte_for_byte(package: Listed) -> None:
    answer = render(package.text)

    at = 0
    for entry in package.entries:
        if "PodCliqueSet" not in entry:
            found = answer.stdout.find(entry, at)
            assert found >= 0, entry
            at = found + len(entry)


@whole
@given(packages())
@example(IN_JSON[0])
@example(IN_JSON[1])
@example(IN_JSON[2])
def test_a_workload_changes_in_its_conditions_only(package: Listed) -> None:
    before, after = ResourceList.parse(package.text).items, render(package.text).items

    for old, new in zip(before, after, strict=False):
        entry = EARLIER_CONDITIONS.search(old.source.text) if old.kind == "PodCliqueSet" else None
        if entry is None:
            assert removed_part(old.source.text, new.source.text) == ""
        else:
            assert new.source.text.startswith(old.source.text[: entry.start()])
            assert new.source.text.endswith(old.source.text[entry.end() :])
        assert new.without_annotation(CONDITIONS).value == old.without_annotation(CONDITIONS).value


@whole
@given(packages())
def test_nothing_but_a_topology_is_ever_forced(package: Listed) -> None:
    """Both GitOps tools delete the live object before they apply a forced object."""
    for item in render(package.text).items:
        if any("force" in f"{key}{text}".lower() for key, text in item.annotations.items()):
            assert (item.api_version, item.kind) == ("kai.scheduler/v1alpha1", "Topology")


@whole
@given(st.data(), st.randoms())
def test_the_order_of_the_items_makes_no_difference_to_what_is_generated(data: st.DataObject, random: Random) -> None:
    documents = [*(data.draw(workloads(name)) for name in ("w", "w-0", "a")), *(data.draw(others("o")) for _ in "ab")]
    items = [KubeObject.parse(document) for document in documents]
    shuffled = random.sample(items, len(items))
    function_config = config(**data.draw(render_specs))

    one, other = (render(block_list(each, function_config)) for each in (items, shuffled))

    assert one.code == 0, one.stderr
    assert one.generated == other.generated
    assert one == render(block_list(items, function_config))


@whole
@given(st.data())
def test_an_earlier_render_under_other_settings_leaves_no_trace(data: st.DataObject) -> None:
    documents = [data.draw(workloads("w")), data.draw(others("o"))]
    before, now = (config(**data.draw(render_specs)) for _ in range(2))
    items = [KubeObject.parse(document) for document in documents]

    straight = render(block_list(items, now))
    again = render(block_list(render(block_list(items, before)).items, now))

    assert again.code == 0, again.stderr
    assert again.generated == straight.generated


@whole
@given(st.data())
def test_a_render_of_a_render_is_that_render_whatever_went_before(data: st.DataObject) -> None:
    """Earlier renders had more levels and replicas. All of them may be removed, even the last one."""
    documents = [data.draw(workloads(name)) for name in ("w", "x")]
    spec = data.draw(render_specs)
    earlier = render(block_list([KubeObject.parse(document) for document in documents], config(**spec)))
    replicas, levels = data.draw(st.integers(0, 2)), data.draw(st.integers(1, 3))
    edited = [item.set("spec.replicas", replicas) if item.kind == "PodCliqueSet" else item for item in earlier.items]
    emit = data.draw(st.sampled_from([{}, {"emit": ["ClusterTopology", "Topology"]}]))
    now = config_of(levels, {**spec, **emit})

    once = render(block_list(edited, now))
    twice = render(once.stdout)

    # An object that was never rendered is new. A constraint without a level is an error.
    assume(once.code == 0)
    assert twice.code == 0, twice.stderr
    assert [item.source.text for item in twice.items] == [item.source.text for item in once.items]


@given(mangled_packages())
@example(EVERYTHING)
@example(DISABLED)
def test_slips_of_the_pen_lead_to_results_and_never_to_a_crash(items: list[Any]) -> None:
    answer = render(listed(items))

    assert "internal error" not in answer.stderr
    assert answer.code == int("error:" in answer.stderr)
    if answer.stdout:
        errors = [result for result in answer.results if result.severity is Severity.ERROR]
        assert answer.code == int(bool(errors))
        assert [result for result in answer.results if "rule" not in result.tags] == []
        assert not errors or [item.value for item in answer.items] == items


@given(mangled(SPEC, most=2))
def test_what_the_json_schema_refuses_is_refused(spec: Any) -> None:
    item = {"apiVersion": API_VERSION, "kind": KIND, "metadata": {"name": "t"}, "spec": spec}
    if not VALIDATOR.is_valid(item):
        with pytest.raises(ConfigError):
            load(KubeObject.new(item))


@pytest.mark.parametrize("text", ["", "what?", "null", "[]", '{"cliques":1}', "[" * 100_000, "9" * 5_000])
@pytest.mark.parametrize("key", ["constraints", "conditions"])
def test_notes_that_no_render_wrote_are_passed_over(key: str, text: str) -> None:
    items = copy.deepcopy(EVERYTHING)
    for item in items:
        item["metadata"].setdefault("annotations", {})
        if item["kind"] == ("PodGang" if key == "constraints" else "PodCliqueSet"):
            item["metadata"]["annotations"][f"packwise.dev/{key}"] = text

    answer = render(listed(items))

    assert "internal error" not in answer.stderr
    errors = [result.tags["rule"] for result in answer.results if result.severity is Severity.ERROR]
    assert errors in ([], ["update-topology-constraint"] * 3)


def removed_part(before: str, after: str) -> str:
    """Return the part of `before` between the start and the end that it shares with `after`."""
    start = common_length(before, after)
    end = len(before) - common_length(before[start:][::-1], after[start:][::-1])
    return before[start:end]


def common_length(one: str, other: str) -> int:
    """Return the length of the common beginning."""
    return next((at for at, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), min(len(one), len(other)))


def never(_: object) -> bool:
    return False


def block_list(items: Iterable[KubeObject], function_config: str) -> str:
    empty = "apiVersion: config.kubernetes.io/v1\nkind: ResourceList\nitems: []\nfunctionConfig:\n"
    text = empty + "".join(f"  {line}\n" for line in function_config.splitlines())
    return ResourceList.parse(text).with_items(items).to_text()
