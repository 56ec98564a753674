"""Input and output of the comparison: YAML as Kubernetes tools read it, and ResourceLists built as text.

This module uses only the standard library and PyYAML. It never imports packwise.
"""

# pyright: basic
from __future__ import annotations

import bisect
import json
import os
import re
import subprocess

import yaml

RESOLVERS = [
    ("tag:yaml.org,2002:bool", r"^(?:true|True|TRUE|false|False|FALSE)$", "tTfF"),
    ("tag:yaml.org,2002:int", r"^(?:[-+]?[0-9]+|0o[0-7]+|0x[0-9a-fA-F]+)$", "-+0123456789"),
    (
        "tag:yaml.org,2002:float",
        r"^(?:[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?|[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN))$",
        "-+.0123456789",
    ),
    ("tag:yaml.org,2002:null", r"^(?:~|null|Null|NULL|)$", ["~", "n", "N", ""]),
]


def _yaml12(base: type) -> type:
    """Return a safe loader class with the scalars of YAML 1.2's core schema.

    `no`, `on`, `1:30` and dates stay strings.
    """
    cls = type(
        "Y12" + base.__name__,
        (base,),
        {"yaml_implicit_resolvers": {}, "yaml_constructors": dict(base.yaml_constructors)},
    )
    for tag, pattern, first in RESOLVERS:
        cls.add_implicit_resolver(tag, re.compile(pattern), list(first))

    def integer(loader, node):
        text = loader.construct_scalar(node)
        return int(text, 0) if text[:2] in ("0o", "0x") else int(text)

    cls.add_constructor("tag:yaml.org,2002:int", integer)
    return cls


Marks = _yaml12(yaml.SafeLoader)
Fast = _yaml12(getattr(yaml, "CSafeLoader", yaml.SafeLoader))


def load(text: str):
    return yaml.load(text, Loader=Fast)  # noqa: S506 - a safe loader with other scalars


def load_all(text: str) -> list:
    return [d for d in yaml.load_all(text, Loader=Fast) if d is not None]


def documents(text: str) -> list[str]:
    """Return the documents of a YAML stream as text, including comments."""
    out, current = [], []
    for line in text.removesuffix("\n").split("\n"):
        if line.rstrip() == "---" or line.startswith("--- "):
            out.append(current)
            current = [] if line.rstrip() == "---" else [line[4:]]
        elif line.rstrip() != "...":
            current.append(line)
    out.append(current)
    return ["\n".join(d) + "\n" for d in out if any(_content(line) for line in d)]


def _content(line: str) -> bool:
    return bool(line.strip()) and not line.lstrip().startswith("#")


def annotate(doc: str, annotations: dict[str, str]) -> str:
    """Return `doc` with annotations spliced into its text, as a kpt client would add them.

    A document that is not a plain mapping is returned unchanged.
    """
    try:
        root = yaml.compose(doc, Loader=Marks)
    except yaml.YAMLError:
        return doc
    entries = [f"{k}: '{v}'" for k, v in annotations.items()]
    parents, nested = [], entries
    for name in ("metadata", "annotations"):
        found = _value(root, name)
        if found is None or not found.value:
            break
        root, parents = found, [*parents, name]
    if not isinstance(root, yaml.MappingNode) or (not parents and not root.value):
        return doc
    missing = ["metadata", "annotations"][len(parents) :]
    if missing and _value(root, missing[0], any_kind=True) is not None:
        return doc  # The annotations are empty, or no mapping. Let the tool handle them.
    if root.flow_style:
        text = ", ".join(entries)
        for name in reversed(missing):
            text = f"{name}: {{{text}}}"
        at = root.start_mark.index + 1
        return doc[:at] + text + ", " + doc[at:]
    for name in reversed(missing):
        nested = [f"{name}:"] + ["  " + line for line in nested]
    mark = root.value[0][0].start_mark
    start = doc.rfind("\n", 0, mark.index) + 1
    if doc[start : mark.index].strip():
        return doc
    return doc[:start] + "".join(" " * mark.column + line + "\n" for line in nested) + doc[start:]


def _value(node, name: str, any_kind: bool = False):
    """Return the mapping under a key, unless an alias provides it."""
    for key, value in node.value if isinstance(node, yaml.MappingNode) else []:
        found = key.value == name and value.start_mark.index >= key.end_mark.index
        if found and (any_kind or isinstance(value, yaml.MappingNode)):
            return value
    return None


def client_annotations(path: str, index: int) -> dict[str, str]:
    return {
        "config.kubernetes.io/index": str(index),
        "config.kubernetes.io/path": path,
        "internal.config.kubernetes.io/index": str(index),
        "internal.config.kubernetes.io/path": path,
    }


def as_item(doc: str) -> str:
    """Return one document as an entry of a block list at column 0. Comments at its head precede the dash."""
    out, started = [], False
    for line in doc.removesuffix("\n").split("\n"):
        if not started and not _content(line):
            out.append(line)
        elif not started:
            out.append("- " + line)
            started = True
        else:
            out.append("  " + line if line.strip() else line)
    return "\n".join(out) + "\n"


def resource_list(docs: list[str], function_config: str | None) -> str:
    text = "apiVersion: config.kubernetes.io/v1\nkind: ResourceList\nitems:" + (" []\n" if not docs else "\n")
    text += "".join(as_item(d) for d in docs)
    return text + config_text(function_config)


def config_text(function_config: str | None) -> str:
    if not function_config:
        return ""
    return "functionConfig:\n" + "".join(
        "  " + line + "\n" if line.strip() else "\n" for line in function_config.removesuffix("\n").split("\n")
    )


class Output:
    """The content of a ResourceList on stdout: parsed items, each with its own lines, and the raw region of items."""

    def __init__(self, text: str):
        node = yaml.compose(text, Loader=Marks)
        if node is None:
            raise ValueError("stdout is empty")
        whole = load(text)
        if not isinstance(whole, dict) or whole.get("kind") != "ResourceList":
            raise ValueError("stdout is not a ResourceList")
        if not isinstance(whole.get("items"), list):
            raise ValueError("stdout has no `items` list")
        self.items = whole["items"]
        self.results = whole.get("results") or []
        lines = text.removesuffix("\n").split("\n")
        pairs = {k.value: (k, v) for k, v in node.value}
        key, seq = pairs["items"]
        row = text_rows(text)
        first = row(key.start_mark)
        stop = min((row(k.start_mark) for k, _ in pairs.values() if row(k.start_mark) > first), default=len(lines))
        self.region = lines[first:stop]
        starts = [row(n.start_mark) for n in seq.value] + [stop]
        self.texts = [
            dedent(lines[here : max(after, here + 1)], n.start_mark.column)
            for n, here, after in zip(seq.value, starts, starts[1:], strict=False)
        ]

    def again(self, function_config: str | None) -> str:
        body = "\n".join(self.region) + "\n"
        return "apiVersion: config.kubernetes.io/v1\nkind: ResourceList\n" + body + config_text(function_config)


def text_rows(text: str):
    """Return a function that returns the row of a mark, counting only newlines.

    PyYAML also counts other Unicode line breaks.
    """
    ends = [i for i, c in enumerate(text) if c == "\n"]
    return lambda mark: bisect.bisect_left(ends, mark.index)


def dedent(chunk: list[str], column: int) -> list[str]:
    out = [chunk[0][column:]]
    for line in chunk[1:]:
        out.append(line[column:] if not line[:column].strip() else line)
    return out


def core(lines: list[str]) -> list[str]:
    """Return the lines from the first to the last with content, without comments at the head and the end."""
    marks = [i for i, line in enumerate(lines) if _content(line)]
    return lines[marks[0] : marks[-1] + 1] if marks else []


def ident(obj: dict) -> tuple[str, str, str]:
    meta = obj.get("metadata") or {}
    return str(obj.get("kind", "")), str(meta.get("namespace") or ""), str(meta.get("name") or "")


def run(command: list[str], stdin: str = "", cwd: str | None = None, env: dict | None = None, timeout: float = 120):
    """Return exit code, stdout and stderr. After a timeout, or without the executable, the code is 124 or 127."""
    try:
        done = subprocess.run(
            command,
            input=stdin.encode(),
            capture_output=True,
            cwd=cwd,
            timeout=timeout,
            env={**os.environ, **(env or {})},
            check=False,
        )
    except subprocess.TimeoutExpired:
        return 124, "", f"ran longer than {timeout:.0f} s"
    except OSError as error:
        return 127, "", str(error)
    return done.returncode, done.stdout.decode("utf-8", "replace"), done.stderr.decode("utf-8", "replace")


def normal_fn_result(r: dict) -> dict:
    ref, tags = r.get("resourceRef") or {}, r.get("tags") or {}
    return {
        "severity": r.get("severity", "error"),
        "message": str(r.get("message", "")),
        "operatorMessage": tags.get("operatorMessage"),
        "path": (r.get("field") or {}).get("path", ""),
        "file": (r.get("file") or {}).get("path", ""),
        "rule": tags.get("rule"),
        "stage": tags.get("stage"),
        "order": int(tags.get("order") or 0),
        "resource": f"{ref.get('kind', '')}/{ref.get('namespace') or ''}/{ref.get('name', '')}",
    }


def normal_finding(f: dict) -> dict:
    ref = f.get("resource") or {}
    return {
        "severity": f.get("severity", "error"),
        "message": str(f.get("message", "")),
        "operatorMessage": f.get("operatorMessage"),
        "path": f.get("path") or "",
        "file": f.get("file") or "",
        "rule": f.get("rule"),
        "stage": f.get("stage"),
        "order": int(f.get("order") or 0),
        "resource": f"{ref.get('kind', '')}/{ref.get('namespace') or ''}/{ref.get('name', '')}",
    }


def findings(text: str) -> list[dict]:
    """Return the findings of `packwise check -o json`. Raise ValueError if stdout is not such a list."""
    data = json.loads(text)
    if not isinstance(data, list):
        raise ValueError("`check -o json` did not print a list")
    return [normal_finding(f) for f in data]


def short(value, width: int = 220) -> str:
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, sort_keys=True, default=str)
    return text if len(text) <= width else text[:width] + " …"
