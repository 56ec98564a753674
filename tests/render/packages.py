"""Input for property tests: ResourceLists as text, in many styles that YAML permits and people write."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace

from hypothesis import strategies as st

from krmfn.yamltext import read, write
from packwise.revisions.grove import NEWEST, REVISIONS

__all__ = [
    "CONDITIONS",
    "EARLIER",
    "Listed",
    "config",
    "config_of",
    "flow_list",
    "lists",
    "others",
    "render_specs",
    "workloads",
]

CONDITIONS = "packwise.dev/conditions"
EARLIER = ("[]", "what?", "x")
"""Conditions from an earlier render, for generated workloads."""

LEVELS = [
    {"domain": "zone", "key": "topology.kubernetes.io/zone"},
    {"domain": "rack", "key": "example.com/rack"},
    {"domain": "host", "key": "kubernetes.io/hostname"},
]
PLAIN = st.sampled_from([
    "yes", "no", "on", "y", "012", "0o14", "0x1F", "1:30", "2026-01-02", "2026-01-02T03:04:05Z", "1e3", ".5", "1_000",
    "+1", "~", "null", "true", "-0", "a-b", "é☃", "a:b", "two words", "a#b", "key=value", ".inf", "=", "a, b",
])  # fmt: skip
QUOTED = st.sampled_from(['"a # b"', "'it''s'", '"\\u263A\\t\\""', "''", '"yes"', "'012'", '"a: b"', '"{}"', "' '"])
FLOW = st.sampled_from(["{}", "[]", "{a: 1, b: [x,  y]}", "[1, 'two', {three: 3}]", "{ a:  b }", '{"a":"b"}', "{a: }"])
BLOCKS = st.sampled_from(["first\n\nthird", "# no comment", "ends with space ", "é: [", "- a\n  - b", "a\n\n\n"])
COMMENTS = st.sampled_from(["", "", " # why", " #no space", "  # é"])
ABOVE = st.sampled_from(["", "", "# above\n", "\n", "\n# é\n\n"])
KEYS = st.sampled_from(["alpha", "beta", "gamma", "yes", "012", '"quoted"', "'a b'", "a.b/c", "~x", "1", "é"])


@st.composite
def scalars(draw: st.DrawFn, indent: int) -> str:
    """Draw the text after `key:` or a dash with its line end, for a key at column `indent`."""
    form = draw(st.sampled_from(["plain", "quoted", "flow", "block", "folded"]))
    if form == "block":
        head = draw(st.sampled_from(["|", "|-", "|+", ">", ">-", "|2-"]))
        lines = [f"{' ' * (indent + 2)}{line}" if line else "" for line in draw(BLOCKS).split("\n")]
        return f" {head}\n" + "\n".join(lines) + "\n"
    if form == "folded":
        return f" plain over\n{' ' * (indent + 2)}two lines{draw(COMMENTS)}\n"
    return f" {draw({'plain': PLAIN, 'quoted': QUOTED, 'flow': FLOW}[form])}{draw(COMMENTS)}\n"


@st.composite
def mappings(draw: st.DrawFn, indent: int, depth: int, anchors: list[str]) -> str:
    """Draw the lines of a block mapping. Its aliases may refer to `anchors`, and new anchors are added to them."""
    text = ""
    for key in draw(st.lists(KEYS, min_size=1, max_size=3, unique_by=lambda key: key.strip("\"'"))):
        text += draw(st.sampled_from(["", "", f"{' ' * indent}# about the next\n", "\n"])) + f"{' ' * indent}{key}:"
        form = draw(st.sampled_from(["scalar", "alias", "mapping", "list"] if depth else ["scalar"]))
        if form == "mapping":
            name = f"a{len(anchors)}"
            anchored = draw(st.booleans())
            inner = draw(st.sampled_from([1, 2, 4]))
            text += (f" &{name}" if anchored else "") + f"{draw(COMMENTS)}\n"
            text += draw(mappings(indent + inner, depth - 1, anchors))
            anchors += [name] if anchored and name not in anchors else []
        elif form == "list":
            dash = indent + draw(st.sampled_from([0, 2]))
            text += f"{draw(COMMENTS)}\n"
            for _ in range(draw(st.integers(1, 2))):
                text += f"{' ' * dash}-{draw(scalars(dash))}"
        elif form == "alias" and anchors:
            text += f" *{draw(st.sampled_from(anchors))}{draw(COMMENTS)}\n"
        else:
            text += draw(scalars(indent))
    return text


@st.composite
def others(draw: st.DrawFn, name: str) -> str:
    """Draw the document of an object that packwise does not read."""
    metadata = draw(st.sampled_from([
        f"metadata:\n  name: {name}\n",
        f"metadata: {{name: {name}, labels: {{a: 'b'}}}} # flow\n",
        f"metadata:\n    name: \"{name}\" # four\n    annotations: {{config.kubernetes.io/path: 'x/{name}.yaml'}}\n",
    ]))  # fmt: skip
    kind = draw(st.sampled_from(["ConfigMap", "Secret", "Frobnicator"]))
    return f"apiVersion: v1\nkind: {kind}{draw(COMMENTS)}\n{metadata}data:\n{draw(mappings(2, 2, []))}"


@st.composite
def workloads(draw: st.DrawFn, name: str) -> str:
    """Draw the document of a valid workload, with or without conditions from an earlier render."""
    named, comment = f"  name: {name}\n  namespace: team-a\n", draw(COMMENTS)
    earlier = draw(st.sampled_from(["'{}'", '"{}"'])).format(draw(st.sampled_from(EARLIER)))
    metadata = draw(st.sampled_from([
        f"metadata:{comment}\n{named}",
        f"metadata: {{name: {name}, namespace: team-a}}{comment}\n",
        f'metadata: {{"name":"{name}","namespace":"team-a","annotations":{{"a":"b"}}}}{comment}\n',
        f"metadata:\n  annotations:{comment}\n    a: 'b' # last\n{named}",
        f"metadata:\n{named}  annotations:\n    a: |\n      text\n    # the end\n",
        f"metadata:\n{named}  annotations: {{a: b}}{comment}\n  generation: 3\n",
        f"metadata:\n{named}  annotations:\n    {CONDITIONS}: {earlier}{comment}\n    z: '1'\n",
        f"metadata: {{name: {name}, namespace: team-a, annotations: {{a: b, {CONDITIONS}: {earlier}}}}}{comment}\n",
    ]))  # fmt: skip
    domains = draw(st.sampled_from([(None, None), ("zone", None), (None, "rack"), ("zone", "rack"), ("rack", "host")]))
    outer = f"    topologyConstraint: {{packDomain: {domains[0]}}}{comment}\n" if domains[0] else ""
    inner = f"      topologyConstraint:\n        packDomain: {domains[1]}\n" if domains[1] else ""
    group = "    podCliqueScalingGroups:\n    - {name: g, cliqueNames: [b], replicas: 2}\n"
    return (
        f"apiVersion: grove.io/v1alpha1\nkind: PodCliqueSet\n{metadata}spec:\n"
        f"  replicas: {draw(st.integers(0, 2))}{comment}\n  template:\n{outer}    cliques:\n    - name: a\n{inner}"
        f"      spec:\n        roleName: a\n        replicas: 0x1\n        podSpec: &pod{comment}\n"
        f"          containers:\n          - name: c\n            image: a\n"
        f"            anything:{draw(scalars(12))}"
        "    - name: b\n      spec: {roleName: b, replicas: 1, podSpec: *pod}\n" + draw(st.sampled_from(["", group]))
    )


def config(**spec: object) -> str:
    """Return the document of a TopologyRender with three levels, spelled as its revision requires."""
    return config_of(len(LEVELS), spec)


def config_of(levels: int, spec: Mapping[str, object]) -> str:
    """Return the same document with only this number of levels, the broadest ones."""
    key = REVISIONS[str(spec.get("revision", NEWEST.name))].configuration_key
    # Then a field of the workload may have any value.
    whole = {key: {"enabled": True, "levels": LEVELS[:levels]}, "unknownFields": "Warn", **spec}
    head = "apiVersion: packwise.dev/v1alpha1\nkind: TopologyRender\nmetadata:\n  name: topology\n"
    return head + write({"spec": read(json.dumps(whole))})


render_specs: st.SearchStrategy[dict[str, object]] = st.fixed_dictionaries({}, optional={
    "apply": st.booleans(),
    "annotate": st.booleans(),
    "emit": st.lists(st.sampled_from(["ClusterTopology", "Topology", "PodGang"]), unique=True),
    "admission": st.sampled_from(["Auto", "New", "Existing"]),
    "revision": st.sampled_from(["design-1", "design-2", "grep-244", "grep-244-multi"]),
    "topologyNameAnnotation": st.booleans(),
    "gitops": st.lists(st.sampled_from(["argocd", "flux"]), unique=True),
})  # fmt: skip
"""Settings with which generated workloads are valid."""


@dataclass(frozen=True, slots=True)
class Listed:
    """A ResourceList. `entries` are its items in order, as they are written in `text`, without comments above them."""

    text: str
    entries: tuple[str, ...]

    def with_crlf(self) -> Listed:
        return replace(self, text=crlf(self.text), entries=tuple(map(crlf, self.entries)))


@st.composite
def lists(draw: st.DrawFn, documents: list[str], function_config: str) -> Listed:
    """Draw a ResourceList of `documents`, in block style, in flow style or in JSON."""
    form = draw(st.sampled_from(["block", "block", "block", "flow", "json"]))
    if form != "block":
        return flow_list(documents, function_config, indent=draw(st.sampled_from([None, 2])) if form == "json" else -1)
    margin = draw(st.sampled_from(["", "  "]))
    entries = tuple(margin + "- " + indented(document, margin + "  ").lstrip(" ") for document in documents)
    items = "items:\n" + "".join(draw(ABOVE) + entry for entry in entries) if entries else "items: []\n"
    after = "functionConfig:\n" + indented(function_config, "  ")
    parts = [items + draw(ABOVE), after]
    head = draw(st.sampled_from(["", "# head\n"])) + "apiVersion: config.kubernetes.io/v1\nkind: ResourceList\n"
    listed = Listed(head + "".join(parts if draw(st.booleans()) else parts[::-1]), entries)
    return listed.with_crlf() if draw(st.booleans()) else listed


def flow_list(documents: list[str], function_config: str, *, indent: int | None) -> Listed:
    """Return the list in JSON, indented or on one line. With -1, return it as a flow mapping in YAML."""
    spaces = None if indent == -1 else indent
    dumped = [json.dumps(read(text.replace(".inf", "inf")), indent=spaces, ensure_ascii=False) for text in documents]
    entries = tuple(text if spaces is None else text.replace("\n", "\n" + " " * 2 * spaces) for text in dumped)
    head = '"apiVersion": "config.kubernetes.io/v1", "kind": "ResourceList"'
    if indent == -1:
        head = "apiVersion: 'config.kubernetes.io/v1', kind: ResourceList"
    items = ", ".join(entries)
    return Listed(f'{{{head}, "items": [{items}], "functionConfig": {json.dumps(read(function_config))}}}\n', entries)


def indented(document: str, margin: str) -> str:
    return "".join(margin + line + "\n" if line else "\n" for line in document.removesuffix("\n").split("\n"))


def crlf(text: str) -> str:
    return text.replace("\n", "\r\n")
