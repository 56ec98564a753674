"""Targets of fuzzing. Each accepts any bytes, and raises an exception only if packwise is wrong."""

from __future__ import annotations

import atexit
import re
from collections.abc import Callable, Mapping
from functools import cache

from krmfn import FieldError, ResourceList, ResourceListError, Result
from krmfn.edit import is_same_json
from krmfn.value import Value
from krmfn.yamltext import YamlError, read, write
from krmfn.yamltext.reader import CORE
from packwise.frontends.osmo.template import Filled, fill
from tests.fuzz.commands import commands
from tests.fuzz.mutations import mutations
from tests.kyaml import KyamlOracle, assert_read_as_kyaml_reads
from tests.places import KYAML_ORACLE
from tests.readers import assert_told_alike
from tests.render.calling import render

__all__ = ["TARGETS"]

HEAD = "apiVersion: config.kubernetes.io/v1\nkind: ResourceList\nitems:"
CONFIG = """\
functionConfig:
  apiVersion: packwise.dev/v1alpha1
  kind: TopologyRender
  metadata: {name: topology}
  spec:
"""
LEVELS = "    topologyAwareScheduling: {enabled: true, levels: [{domain: rack, key: example.com/rack}]}\n"
WORKLOAD = (
    "\n- apiVersion: grove.io/v1alpha1\n  kind: PodCliqueSet\n  metadata: {name: web, namespace: shop}\n  spec:\n"
)

VALUES: Mapping[str, Value] = {"n": 2, "t": "abc", "l": [1, "b"], "m": {"k": "v"}}
PLACE = re.compile(r'^    (?:line|column): "\d+"\n', re.MULTILINE)


def reader(data: bytes) -> None:
    """Assert that the native core, libyaml's events and kyaml agree on any text, and that written text can be read
    again.
    """
    text = data.decode("utf-8", "replace")
    if CORE is not None:
        assert_told_alike(text)
    oracle = kyaml()
    if oracle is not None:
        assert_read_as_kyaml_reads(oracle, text)
    try:
        value = read(text)
    except YamlError:
        return
    assert is_same_json(read(write(value)), value)


@cache
def kyaml() -> KyamlOracle | None:
    """Return the running program of `make tools` that asks kyaml, or None if it is not built."""
    if not KYAML_ORACLE.exists():
        return None
    oracle = KyamlOracle(KYAML_ORACLE)
    atexit.register(oracle.close)
    return oracle


def splicer(data: bytes) -> None:
    """Assert that items keep their meaning after edits, new items and results, in any style."""
    text = HEAD + data.decode("utf-8", "replace")
    try:
        parsed = ResourceList.parse(text)
    except ResourceListError:
        return
    assert parsed.to_text() == text or "items" not in read_fields(text)
    try:
        edited = [item.with_annotation("x", "a: b").set("status.text", "a\nb\n") for item in parsed.items]
    except FieldError:
        return
    answer = ResourceList.parse(parsed.with_items(edited).with_results([Result("r")]).to_text())
    assert len(answer.items) == len(edited)
    assert all(is_same_json(one.value, other.value) for one, other in zip(answer.items, edited, strict=True))


def read_fields(text: str) -> dict[str, object]:
    value = read(text)
    return dict(value) if isinstance(value, dict) else {}


def configuration(data: bytes) -> None:
    """Assert that any spec of a TopologyRender leads to an answer."""
    indented = data.decode("utf-8", "replace").replace("\n", "\n    ")
    answered(HEAD + " []\n" + CONFIG + "    " + indented + "\n")


def workloads(data: bytes) -> None:
    """Assert that any spec of a PodCliqueSet gets an answer, and that a render of that answer changes nothing."""
    indented = data.decode("utf-8", "replace").replace("\n", "\n    ")
    answered(HEAD + WORKLOAD + "    " + indented + "\n" + CONFIG + LEVELS)


def templates(data: bytes) -> None:
    """Assert that any template is filled in or refused, with the same result again, and that each line comes from one
    of its lines.
    """
    text = data.decode("utf-8", "replace")
    filled = fill("workflow:\n" + text, VALUES)
    assert fill("workflow:\n" + text, VALUES) == filled
    last = text.count("\n") + 2
    if isinstance(filled, Filled):
        assert len(filled.lines) in (0, filled.text.count("\n") + 1)
        assert all(1 <= line <= last for line in filled.lines)
    else:
        assert 1 <= filled.line <= last


def answered(text: str) -> None:
    answer = render(text)
    assert "internal error" not in answer.stderr
    if answer.code == 0:
        assert without_places(render(answer.stdout).stdout) == without_places(answer.stdout)


def without_places(text: str) -> str:
    """Return a list without the lines of its findings, because generated objects before the configuration move it."""
    return PLACE.sub("", text)


TARGETS: dict[str, Callable[[bytes], None]] = {
    "reader": reader,
    "splicer": splicer,
    "configuration": configuration,
    "workloads": workloads,
    "templates": templates,
    "commands": commands,
    "mutations": mutations,
}
"""The targets, by the names of their folders in testdata/fuzz."""
