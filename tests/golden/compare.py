"""Compare a packwise executable with the goldens, which are the answers of the operators' own code and of OSMO.

    python -m tests.golden.compare [PACKWISE] [PATH…] [--aspect NAME] [--max-diffs N] [--only GLOB] [--revision R]
                                   [--jobs N]

PATH is a folder of goldens (with alpha7, head, alpha12, alpha14, osmo), one of these folders, or a file of JSON lines
(`.jsonl`, `.jsonl.gz`) with {"case", "kind", "files": {name: text}, "errors", "expected"}. The default is
`testdata/golden`. For each revision and aspect, the output has `agree X of Y` and the first differences. The exit code
is 0 only if everything agrees.

How a case runs:

- A create or config case runs through `packwise fn`. Its items are config.yaml, topologies.yaml and existing.yaml, and
  its functionConfig has the revision. If it has live.yaml or live-topologies.yaml, the verdict comes from a run with
  `admission: New`, and the objects come from a second run with `admission: Existing` and the live files.
- An update case runs through `packwise check NEW --baseline OLD -o json`, and through `render` for the objects.
- A case of OSMO runs through `packwise render` with the plain files.

Aspects:
    verdict         accepted or refused
    messages        the operatorMessage texts of errors equal the webhook's, in order (as sets where Grove is random)
    messages-config the same for errors about the configuration and ClusterTopologyBindings, in any order
    messages-crd    if the schema refuses first: the lists of the schema, of the webhook, or both
    podgangs        PodGangs are equal, matched by name    podgang-order   they have the operator's order
    topologies      ClusterTopology                        kai-topologies  KAI Topology        podgroups  KAI PodGroup
    conditions      packwise.dev/conditions of the PodCliqueSet
    kai-refused     the operator's own output breaks its CRD (KAI or Grove). spec/designs.md#4 calls that fatal, so it
                    is an error. If only KAI refuses the output, a second run without that kind is compared completely
    osmo-verdict, osmo-messages, osmo-topology, osmo-podgroups (if no defect D1..D10 shows),
    osmo-kai        the written objects pass KAI's rules    osmo-required   no required level is lost

This module reads YAML by itself, and uses only the command of packwise.
"""

# pyright: basic
from __future__ import annotations

import argparse
import collections
import concurrent.futures
import contextlib
import fnmatch
import functools
import gzip
import json
import os
import re
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from tests.golden import krmtext as k
from tests.golden.cases import GOLDEN

REVISIONS = {"alpha7": "grep-244", "head": "upstream", "alpha12": "v0.1.0-alpha.12", "alpha14": "v0.1.0-alpha.14"}
FOLDERS = (*REVISIONS, "osmo")
EMIT = {"alpha7": ["ClusterTopology", "Topology", "PodGang"]}
EMIT_ALL = ["ClusterTopology", "Topology", "PodGang", "PodGroup"]
RANDOM_TEXTS = (
    "unknown clique names found",
    "circular dependencies",
    "must be one of",
    "label",
    "Unavailable topology domains",
    '"PerReplica"',
)
STAGES = ("config", "decode", "schema", "webhook")
WHOLE_SPEC = re.compile(
    r"^spec: Invalid value: \{.*\}: ", re.S
)  # the operator prints the whole spec here: field and detail count
IGNORED_ANNOTATIONS = (
    "packwise.dev/",
    "config.kubernetes.io/",
    "internal.config.kubernetes.io/",
    "argocd.argoproj.io/",
    "kustomize.toolkit.fluxcd.io/",
    "kubectl.kubernetes.io/last-applied-configuration",
    "kustomize.config.k8s.io/",
    "config.k8s.io/",
    "kpt.dev/",
)


@dataclass
class Record:
    revision: str
    case: str
    kind: str
    files: dict[str, str]
    errors: dict
    answered: Any  # as it is written, YAML or what it means
    rules: list[str] = field(default_factory=list)
    without: frozenset[str] = frozenset()  # kinds that are not emitted, since KAI refuses them

    @functools.cached_property
    def expected(self) -> dict:
        """Return the expected answer.

        It is read on request, because a test run collects thousands of cases and skips most.
        """
        read = self.answered
        if isinstance(read, str):
            read = k.load_all(read) if "pool.yaml" in self.files else k.load(read) or {}
        return {"documents": read} if isinstance(read, list) else read


@dataclass
class Answer:
    code: int
    items: list[dict[str, Any]] = field(default_factory=list)
    results: list[dict] = field(default_factory=list)
    given: set = field(default_factory=set)
    trouble: str = ""

    @property
    def accepted(self) -> bool:
        return self.code == 0

    def errors(self, *, bindings: bool | None = None, stages: tuple = STAGES) -> list[str]:
        """Return the operator's texts in its order: all, only those about ClusterTopologyBindings, or only
        the others.
        """
        said = [
            r
            for r in self.results
            if r["severity"] == "error"
            and r["operatorMessage"]
            and (stages == STAGES or r["stage"] in stages)
            and bindings in (None, r["resource"].startswith("ClusterTopologyBinding/"))
        ]
        return [
            r["operatorMessage"]
            for r in sorted(said, key=lambda r: (STAGES.index(r["stage"]) if r["stage"] in STAGES else 9, r["order"]))
        ]

    def made(self, kind: str) -> list[dict[str, Any]]:
        return [o for o in self.items if o.get("kind") == kind and k.ident(o) not in self.given]


# ---- reading records


def records(path: Path):
    if not path.exists() and path.with_name(f"{path.name}.jsonl").is_file():
        path = path.with_name(f"{path.name}.jsonl")
    if path.is_file():
        yield from lines_of(path)
        return
    for revision in FOLDERS:
        if path.name == revision:
            yield from folders_of(path, revision)
        elif (path / revision).is_dir():
            yield from folders_of(path / revision, revision)
        elif (path / f"{revision}.jsonl").is_file():
            yield from lines_of(path / f"{revision}.jsonl")


def lines_of(path: Path):
    opener = gzip.open if path.suffix == ".gz" else open
    with opener(path, "rt", encoding="utf-8") as stream:
        for line in stream:
            if not line.strip():
                continue
            d = json.loads(line)
            yield Record(
                revision_of(d, path),
                d["case"],
                d.get("kind") or kind_of(d["files"]),
                d["files"],
                d.get("errors") or {},
                d.get("expected") or {},
                d.get("rules") or [],
            )


def revision_of(d: dict, path: Path) -> str:
    named: str = d.get("revision") or ""
    if named:
        folders = {"grep-244": "alpha7", "upstream": "head", "alpha.12": "alpha12", "alpha.14": "alpha14"}
        return folders.get(named) or named
    for revision in FOLDERS:
        if revision in path.name:
            return revision
    if "pool.yaml" in d["files"]:
        return "osmo"
    return "head" if "topologies.yaml" in d["files"] or "ClusterTopologyBinding" in str(d["files"]) else "alpha7"


def folders_of(path: Path, revision: str):
    manifest = {}
    if (path / "manifest.json").exists():
        manifest = {c["case"]: c for c in json.loads((path / "manifest.json").read_text())["cases"]}
    for folder in sorted(p for p in path.iterdir() if (p / "errors.json").exists()):
        files = {
            f.name: f.read_text() for f in folder.iterdir() if f.suffix == ".yaml" and not f.name.startswith("expected")
        }
        text = (folder / "expected.yaml").read_text() if (folder / "expected.yaml").exists() else ""
        known = manifest.get(folder.name, {})
        yield Record(
            revision,
            folder.name,
            known.get("kind") or kind_of(files),
            files,
            json.loads((folder / "errors.json").read_text()),
            text,
            known.get("rules", []),
        )


def kind_of(files: dict) -> str:
    if "pool.yaml" in files:
        return "osmo"
    return "update" if "old.yaml" in files else "create" if "input.yaml" in files else "config"


# ---- running packwise

Packwise = Callable[..., tuple[int, str, str]]
"""Runs the command with these arguments and `stdin`, and returns exit code, stdout and stderr."""


def command(path: str) -> Packwise:
    """Return a function that runs an executable."""
    return lambda *words, stdin="": k.run([path, *words], stdin)


def function_config(record: Record, admission: str | None) -> str:
    lines = [
        "apiVersion: packwise.dev/v1alpha1",
        "kind: TopologyRender",
        "metadata:",
        "  name: topology",
        "spec:",
        f"  revision: {REVISIONS[record.revision]}",
        f"  emit: [{', '.join(kd for kd in EMIT.get(record.revision, EMIT_ALL) if kd not in record.without)}]",
        "  unknownFields: Warn",
    ]
    return "\n".join(lines + ([f"  admission: {admission}"] if admission else [])) + "\n"


def existing_items(record: Record) -> str:
    """Return PodCliqueScalingGroup and PodClique objects with the live replica counts of existing.yaml."""
    live = k.load(record.files.get("existing.yaml", "")) or {}
    owner = next(
        (
            d
            for d in k.load_all(record.files.get("input.yaml", record.files.get("new.yaml", "")))
            if d.get("kind") == "PodCliqueSet"
        ),
        {},
    )
    meta = owner.get("metadata") or {}
    docs = []
    for key, kind in (("podCliqueScalingGroups", "PodCliqueScalingGroup"), ("podCliques", "PodClique")):
        for name, replicas in (live.get(key) or {}).items():
            docs.append(
                f"apiVersion: grove.io/v1alpha1\nkind: {kind}\nmetadata:\n  name: {name}\n"
                f"  namespace: {meta.get('namespace') or 'default'}\n"
                "  labels:\n    app.kubernetes.io/managed-by: grove-operator\n"
                f"    app.kubernetes.io/part-of: {json.dumps(str(meta.get('name')))}\nspec:\n  replicas: {replicas}\n"
            )
    return "---\n".join(docs)


def fn(packwise: Packwise, record: Record, files: list[tuple[str, str]], admission: str | None) -> Answer:
    docs = []
    for name, text in files:
        docs += [k.annotate(d, k.client_annotations(name, i)) for i, d in enumerate(k.documents(text))]
    code, out, err = packwise("fn", stdin=k.resource_list(docs, function_config(record, admission)))
    given = set()
    for _, text in files:
        # The goldens include inputs that no reader accepts.
        with contextlib.suppress(Exception):
            given |= {k.ident(d) for d in k.load_all(text) if isinstance(d, dict)}
    try:
        output = k.Output(out)
    except Exception as error:
        return Answer(
            code or 99,
            given=given,
            trouble=f"{type(error).__name__}: {k.short(str(error), 120)}; stderr: {k.short(err.strip(), 200)}",
        )
    return Answer(code, output.items, [k.normal_fn_result(r) for r in output.results], given)


def named(record: Record, *names: str) -> list[tuple[str, str]]:
    return [(n, record.files[n]) for n in names if record.files.get(n, "").strip()]


def live_files(record: Record) -> list[tuple[str, str]]:
    config = "live.yaml" if "live.yaml" in record.files else "config.yaml"
    topologies = "live-topologies.yaml" if "live-topologies.yaml" in record.files else "topologies.yaml"
    return named(record, config, topologies, "podgangmaps.yaml", "input.yaml") + extra(record)


def extra(record: Record) -> list[tuple[str, str]]:
    text = existing_items(record)
    return [("existing.yaml", text)] if text else []


def answers(packwise: Packwise, record: Record) -> tuple[Answer, Answer]:
    """Return the answer at admission, and the answer after reconciliation."""
    if record.kind == "update":
        return update(packwise, record)
    if record.kind == "config":
        one = fn(packwise, record, named(record, "config.yaml", "topologies.yaml"), None)
        return one, one
    admitted = fn(
        packwise,
        record,
        named(record, "config.yaml", "topologies.yaml", "podgangmaps.yaml", "input.yaml") + extra(record),
        "New",
    )
    if ("live.yaml" in record.files or "live-topologies.yaml" in record.files) and admitted.accepted:
        return admitted, fn(packwise, record, live_files(record), "Existing")
    return admitted, admitted


def update(packwise: Packwise, record: Record) -> tuple[Answer, Answer]:
    with tempfile.TemporaryDirectory() as tmp:
        new, old = Path(tmp, "new"), Path(tmp, "old")
        new.mkdir()
        old.mkdir()
        (old / "workload.yaml").write_text(record.files["old.yaml"])
        (new / "workload.yaml").write_text(record.files["new.yaml"])
        (new / "packwise.yaml").write_text(function_config(record, None))
        for name, text in named(record, "config.yaml", "topologies.yaml") + extra(record):
            (new / name).write_text(text)
        code, out, err = packwise("check", str(new), "--baseline", str(old), "-o", "json")
        try:
            answer = Answer(code, results=k.findings(out))
        except ValueError as error:
            answer = Answer(
                code or 99, trouble=f"check -o json: {k.short(str(error), 120)}; stderr: {k.short(err.strip(), 200)}"
            )
            return answer, answer
        if answer.accepted and record.expected.get("podGangs") is not None:
            code, out, err = packwise("render", str(new), "--baseline", str(old), "-o", "-")
            rendered = Answer(code, trouble="" if code == 0 else f"render: {k.short(err.strip(), 200)}")
            rendered.items = k.load_all(out) if code == 0 else []
            return answer, rendered
        return answer, answer


# ---- Objects that KAI refuses although Grove's webhook accepts the workload (revisions.md, "KAI's refusal")

SEVEN = ["region", "zone", "datacenter", "block", "rack", "host", "numa"]


def kai_refused(record: Record, *given: Answer) -> frozenset[str]:
    """Return the kinds that packwise does not render because KAI would refuse them, if KAI really would."""
    said = {r["rule"] for a in given for r in a.results if r["severity"] == "error"}
    return frozenset(
        kind
        for kind, rule, refused in (
            ("Topology", "scheduler-topology", topology_refused),
            ("PodGroup", "scheduler-podgroup", podgroup_refused),
        )
        if rule in said and refused(record)
    )


def topology_refused(record: Record) -> bool:
    """Return True if KAI refuses a Topology of the configuration or a binding, at admission or live."""
    found = []
    for name in ("config.yaml", "live.yaml") if record.revision == "alpha7" else ():
        tas = (k.load(record.files.get(name, "")) or {}).get("topologyAwareScheduling") or {}
        if tas.get("enabled"):
            found.append(
                [
                    str(lv.get("key"))
                    for lv in sorted(
                        tas.get("levels") or [],
                        key=lambda lv: SEVEN.index(lv["domain"]) if lv.get("domain") in SEVEN else 9,
                    )
                ]
            )
    for name in ("topologies.yaml", "live-topologies.yaml") if record.revision != "alpha7" else ():
        found += [
            [str(lv.get("key")) for lv in (d.get("spec") or {}).get("levels") or []]
            for d in k.load_all(record.files.get(name, ""))
        ]
    return any(levels_refused(keys) for keys in found)


def podgroup_refused(record: Record) -> bool:
    """Return True if KAI refuses a PodGroup that Grove makes.

    A subgroup's name has a dot, a name is not unique, or a group without cliques gives minMember 0.
    """
    made = record.expected.get("kaiPodGroups") or []
    made = made.get("items") or [] if isinstance(made, dict) else made
    if made:
        names = [[s["name"] for s in g["spec"].get("subGroups") or []] for g in made]
        return any(len(set(ns)) < len(ns) or not all(map(LABEL.match, ns)) for ns in names) or any(
            g["spec"].get("minMember") == 0 for g in made
        )
    if record.kind != "update":
        return False
    pcs = next(
        d for d in k.load_all(record.files["new.yaml"]) if d.get("kind") == "PodCliqueSet"
    )  # The goldens have no objects of updates.
    template = pcs["spec"]["template"]
    groups = template.get("podCliqueScalingGroups") or []
    return any("." in str(x["name"]) for x in [pcs["metadata"], *template["cliques"], *groups]) or any(
        not g.get("cliqueNames") for g in groups
    )


# ---- comparing


def canonical(text: str) -> str:
    """Return the sorted words of a text whose lists come in random order."""
    return " ".join(sorted(re.findall(r"[^\s,\[\]\"]+", text)))


def same_messages(have: list[str], want: list[str]) -> bool:
    have, want = ([WHOLE_SPEC.sub("spec: Invalid value: ", m) for m in ms] for ms in (have, want))
    if have == want:
        return True
    if not any(mark in text for text in want for mark in RANDOM_TEXTS):
        return False
    return sorted(map(canonical, have)) == sorted(map(canonical, want))


def texts(errors: dict, key: str) -> list[str]:
    return [e["message"] for e in errors.get(key) or []]


def topology_texts(errors: dict) -> list[str]:
    return [e["message"] for listed in (errors.get("topologyErrors") or {}).values() for e in listed]


def without_bookkeeping(obj: dict) -> dict:
    """Return an object without owner references, uid, status, time stamps and bookkeeping annotations."""
    copy = json.loads(json.dumps(obj, default=str))
    copy.pop("status", None)
    meta = copy.get("metadata") or {}
    for key in ("ownerReferences", "uid", "creationTimestamp", "generation", "resourceVersion"):
        meta.pop(key, None)
    notes = {a: v for a, v in (meta.pop("annotations", None) or {}).items() if not a.startswith(IGNORED_ANNOTATIONS)}
    if notes:
        meta["annotations"] = notes
    if not meta.get("labels"):
        meta.pop("labels", None)
    return copy


def first_difference(want: Any, have: Any, path: str = "") -> str | None:  # noqa: PLR0911 - a case a line
    if isinstance(want, dict) and isinstance(have, dict):
        for key in sorted(set(want) | set(have)):
            here = f"{path}.{key}" if path else key
            if key not in have:
                return f"{here} is missing (expected {k.short(want[key], 120)})"
            if key not in want:
                return f"{here} is there ({k.short(have[key], 120)}), expected none"
            found = first_difference(want[key], have[key], here)
            if found:
                return found
        return None
    if isinstance(want, list) and isinstance(have, list):
        if len(want) != len(have):
            return f"{path} has {len(have)} entries, expected {len(want)}"
        return next(
            (
                d
                for i, (w, h) in enumerate(zip(want, have, strict=False))
                if (d := first_difference(w, h, f"{path}[{i}]"))
            ),
            None,
        )
    return (
        None
        if type(want) is type(have) and want == have
        else f"{path} is {k.short(have, 120)}, expected {k.short(want, 120)}"
    )


def same_objects(want: list[dict], have: list[dict]) -> str | None:
    def by_name(objects):
        return {k.ident(o)[1:]: without_bookkeeping(o) for o in objects}

    if len(by_name(have)) != len(have):
        return "two objects of one name: " + k.short(sorted(k.ident(o)[2] for o in have))
    one, two = by_name(want or []), by_name(have)
    if set(one) != set(two):
        more, fewer = (sorted(n for _, n in some) for some in (set(two) - set(one), set(one) - set(two)))
        return f"too many: {more}, missing: {fewer}"
    return next((f"{name[1]}: {d}" for name in one if (d := first_difference(one[name], two[name]))), None)


def condition_view(conditions) -> list[list[str]]:
    def message(text: str) -> str:
        return canonical(text) if "Unavailable topology domains" in text else text

    return [[c.get("type"), c.get("status"), c.get("reason"), message(c.get("message", ""))] for c in conditions or []]


def compare(record: Record, admitted: Answer, settled: Answer):
    """Yield each aspect that the case covers, with its difference or None."""
    if record.revision == "osmo":
        yield from osmo_compare(record, admitted)
        return
    errors, expected = record.errors, record.expected
    rejected = errors.get("rejectedBy", "")
    refused = [
        key for key in ("clusterTopologyCRDErrors", "kaiTopologyCRDErrors") if expected.get(key) and not record.without
    ]
    if admitted.trouble:
        yield "verdict", admitted.trouble
        return
    if is_replaced(record):
        return
    if not rejected and not topology_texts(errors) and refused and record.kind != "update":
        answer = settled
        yield (
            "kai-refused",
            None
            if not answer.accepted
            else f"accepted although {refused[0]}: {k.short(expected[refused[0]][0]['message'])}",
        )
        return
    want_accept = not rejected and not topology_texts(errors)
    seen = k.short(admitted.errors() or [r["message"] for r in admitted.results if r["severity"] == "error"], 300)
    agree = admitted.accepted == want_accept
    yield (
        "verdict",
        None
        if agree
        else f"{'accepted' if admitted.accepted else 'refused: ' + seen}, expected "
        + ("accepted" if want_accept else "refused by " + (rejected or "the topology webhook")),
    )
    yield from message_aspects(record, rejected, admitted)
    if want_accept and agree:
        yield from object_aspects(record, settled)


def is_replaced(record: Record) -> bool:
    """Return True if the oracle's update is refused because it PUT the new file as a whole.

    This drops the grove.io/auto-mnnvl of the webhook. `kubectl apply`, server-side apply, Argo CD and Flux keep an
    annotation that no file ever named. The record lacks the answer to such an update.
    """
    key = "grove.io/auto-mnnvl"
    dropped = f"metadata.annotations.{key}: Forbidden: annotation {key} cannot be removed after PodCliqueSet creation"
    if record.revision != "alpha7" or record.kind != "update" or dropped not in texts(record.errors, "webhookErrors"):
        return False
    old = next(d for d in k.load_all(record.files["old.yaml"]) if d.get("kind") == "PodCliqueSet")
    return "grove.io/auto-mnnvl" not in ((old.get("metadata") or {}).get("annotations") or {})


def message_aspects(record: Record, rejected: str, answer: Answer):
    errors, have = record.errors, answer.errors()
    listed = sorted(topology_texts(errors))
    if (
        record.kind != "config" and rejected != "config" and listed
    ):  # A binding is another object, with a separate webhook.
        of_bindings, have = sorted(answer.errors(bindings=True)), answer.errors(bindings=False)
        yield (
            "messages-config",
            None if of_bindings == listed else f"{k.short(of_bindings, 400)}, expected {k.short(listed, 400)}",
        )
    if rejected in ("", "webhook") and record.kind != "config":
        want = texts(errors, "webhookErrors")
        yield "messages", None if same_messages(have, want) else f"{k.short(have, 400)}, expected {k.short(want, 400)}"
    elif rejected == "crd":
        schema, hook = texts(errors, "crdErrors"), texts(errors, "webhookErrors")
        plain = lambda said: sorted(WHOLE_SPEC.sub("spec: Invalid value: ", m) for m in said)  # noqa: E731
        good = any(
            same_messages(have, want) or plain(have) == plain(want)
            for want in (schema, hook, schema + hook, hook + schema)
        )
        yield (
            "messages-crd",
            None if good else f"{k.short(have, 300)}, expected {k.short(schema, 300)} and/or {k.short(hook, 300)}",
        )
    elif rejected == "config" or record.kind == "config":
        want = texts(errors, "configErrors") + topology_texts(errors)
        if rejected == "config":  # The operator does not start, so it was not asked about the bindings.
            have = answer.errors(bindings=False)
        good = sorted(map(canonical, have)) == sorted(map(canonical, want))
        yield "messages-config", None if good else f"{k.short(have, 400)}, expected {k.short(want, 400)}"


def object_aspects(record: Record, answer: Answer):
    expected = record.expected
    if answer.trouble or (not answer.accepted and expected.get("podGangs") is not None):
        yield (
            "podgangs",
            answer.trouble
            or "the live render fails: "
            + k.short([r["message"] for r in answer.results if r["severity"] == "error"], 300),
        )
        return
    if "podGangs" in expected:
        want, have = expected["podGangs"] or [], answer.made("PodGang")
        yield "podgangs", same_objects(want, have)
        name = ((expected.get("defaulted") or {}).get("metadata") or {}).get("name")
        names, order = [k.ident(o)[2] for o in have], [k.ident(o)[2] for o in want]
        yield "podgang-order", None if names == order else f"{k.short(names, 300)}, expected {k.short(order, 300)}"
        if "conditions" in expected or record.revision in ("alpha7", "head"):
            yield "conditions", condition_difference(record, answer, name)
    if "clusterTopologies" in expected:
        yield "topologies", same_objects(expected["clusterTopologies"] or [], answer.made("ClusterTopology"))
    if "kaiTopologies" in expected and "Topology" not in record.without:
        yield (
            "kai-topologies",
            same_objects([*(expected["kaiTopologies"] or []), *own_topologies(record)], answer.made("Topology")),
        )
    if "kaiPodGroups" in expected and "PodGroup" not in record.without:
        groups = expected["kaiPodGroups"] or []
        yield (
            "podgroups",
            same_objects(groups.get("items") or [] if isinstance(groups, dict) else groups, answer.made("PodGroup")),
        )


def own_topologies(record: Record) -> list[dict]:
    """Return the Topologies of bindings that list one with their own name.

    Git applies these (spec/gitops.md#4), so packwise renders them. The operator makes none.
    """
    live = "live.yaml" if "live.yaml" in record.files else "config.yaml"
    profiles = ((k.load(record.files[live]) or {}).get("scheduler") or {}).get("profiles") or []
    if "kai-scheduler" not in [p.get("name") for p in profiles]:
        return []
    bindings = k.load_all(record.files.get("live-topologies.yaml", record.files.get("topologies.yaml", "")))
    own = [
        b
        for b in bindings
        if b.get("kind") == "ClusterTopologyBinding"
        and {"schedulerName": "kai-scheduler", "topologyReference": b["metadata"]["name"]}
        in (b["spec"].get("schedulerTopologyBindings") or [])
    ]
    return [
        {
            "apiVersion": "kai.scheduler/v1alpha1",
            "kind": "Topology",
            "metadata": {"name": b["metadata"]["name"]},
            "spec": {"levels": [{"nodeLabel": lv["key"]} for lv in b["spec"]["levels"]]},
        }
        for b in own
    ]


def condition_difference(record: Record, answer: Answer, name: str | None) -> str | None:
    obj = next(
        (o for o in answer.items if o.get("kind") == "PodCliqueSet" and k.ident(o)[2] == (name or k.ident(o)[2])), None
    )
    if obj is None:
        return "the PodCliqueSet is not in the output"
    text = ((obj.get("metadata") or {}).get("annotations") or {}).get("packwise.dev/conditions")
    try:
        have = condition_view(json.loads(text) if text else [])
    except (ValueError, AttributeError, TypeError):
        return f"packwise.dev/conditions is no JSON array of objects: {k.short(text)}"
    want = condition_view(record.expected.get("conditions"))
    return None if have == want else f"{k.short(have)}, expected {k.short(want)}"


# ---- OSMO

INNER_MEMBERS = (
    "cannot be set on a mid-level SubGroup"  # D4: packwise omits inner minMember, so this is no reason to refuse.
)
LABEL = re.compile(r"^[a-z0-9]([-a-z0-9]*[a-z0-9])?$")
KEY = re.compile(
    r"^([a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*/)?[A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?$"
)
OSMO_CONFIG = (
    "apiVersion: packwise.dev/v1alpha1\nkind: TopologyRender\nmetadata:\n  name: topology\nspec:\n"
    "  emit: [Topology, PodGroup]\n  osmo:\n    keySets: Uniform\n    priority: {priority}\n"
)


def osmo_answer(packwise: Packwise, record: Record) -> Answer:
    with tempfile.TemporaryDirectory() as tmp:
        for name, text in record.files.items():
            if name in ("pool.yaml", "workflow.yaml"):
                Path(tmp, name).write_text(text)
        Path(tmp, "packwise.yaml").write_text(OSMO_CONFIG.format(priority=priority_of(record)))
        paths = [str(Path(tmp, n)) for n in ("packwise.yaml", "pool.yaml", "workflow.yaml") if Path(tmp, n).exists()]
        code, out, err = packwise("render", *paths, "-o", "-")
        checked, found, _ = packwise("check", *paths, "-o", "json")
    try:
        results = k.findings(found)
    except ValueError:
        results = []
    try:
        items = [d for d in k.load_all(out) if isinstance(d, dict) and "kind" in d]
    except Exception as error:
        return Answer(code or 99, results=results, trouble=f"render prints no YAML: {k.short(str(error), 120)}")
    return Answer(
        code,
        items,
        results,
        trouble=""
        if (code == 0) == (checked == 0) or code == 2
        else f"render exits {code}, check {checked}: {k.short(err.strip(), 200)}",
    )


def pools_of(record: Record) -> dict[str, dict]:
    """Return every pool of pool.yaml by name."""
    out = {}
    for doc in k.load_all(record.files["pool.yaml"]):
        out.update(doc["pools"] if "pools" in doc else {doc.get("name"): doc})
    return out


def tasks_of(record: Record) -> tuple[list[dict], list[list[tuple[str, list[dict]]]]]:
    """Return the pool's topology keys. For each task group, return its tasks with the topology that each requests."""
    flow = (k.load(record.files.get("workflow.yaml", "")) or {}).get("workflow") or {}
    pools = pools_of(record)
    pool = pools.get(flow.get("pool") or "") or next(iter(pools.values()))
    resources = flow.get("resources") or {}
    groups = [g.get("tasks") or [] for g in flow.get("groups") or []] + [[t] for t in flow.get("tasks") or []]
    wants = [
        [(str(t.get("name")), (resources.get(t.get("resource", "default")) or {}).get("topology") or []) for t in g]
        for g in groups
    ]
    return pool.get("topology_keys") or [], wants


def priority_of(record: Record) -> str:
    return (k.load(record.files.get("context.yaml", "")) or {}).get("priority") or "NORMAL"


def over_guarantee(record: Record) -> str | None:
    """Return OSMO's refusal of a group that requests more GPUs than its pool guarantees: spec/osmo.md#3.

    validate_workflow_spec needs the service's database, so OSMO itself was not asked.
    """
    flow = (k.load(record.files.get("workflow.yaml", "")) or {}).get("workflow") or {}
    pools = pools_of(record)
    asked: str = flow.get("pool") or ""
    name = asked if asked in pools else next(iter(pools))
    guarantee = ((pools[name].get("resources") or {}).get("gpu") or {}).get("guarantee", -1)
    if guarantee == -1 or priority_of(record) == "LOW":
        return None
    groups = (flow.get("groups") or []) + [
        {"name": f"{t.get('name')}-group", "tasks": [t]} for t in flow.get("tasks") or []
    ]
    for group in groups:
        wanted = sum(
            ((flow.get("resources") or {}).get(t.get("resource", "default")) or {}).get("gpu") or 0
            for t in group.get("tasks") or []
        )
        if wanted > guarantee:
            return (
                f"Pool {name} has {guarantee} GPUs guaranteed for NORMAL/HIGH priority workflows "
                f"and group {group.get('name')} requires {wanted} GPUs. "
                "Higher gpu counts must be submitted with LOW priority"
            )
    return None


def mixed_none(record: Record) -> bool:
    """Return True if only some tasks of a task group request a topology."""
    return any(len({bool(w) for _, w in group}) > 1 for group in tasks_of(record)[1])


def has_defect(record: Record) -> bool:  # noqa: PLR0911 - a defect a line
    """Return True if packwise must not repeat OSMO's answer because of D1..D10 (or KAI's rules beyond D4)."""
    refusals = [m for listed in (record.errors.get("kai") or {}).values() for m in listed]
    if any(INNER_MEMBERS not in m for m in refusals):
        return True
    keys, groups = tasks_of(record)
    order = [t["key"] for t in keys]
    if len(set(order)) != len(order) or len({t["label"] for t in keys}) != len(keys):
        return True
    for group in groups:
        kinds, children = {}, collections.defaultdict(set)
        for _, wants in group:
            path = sorted(wants, key=lambda w: order.index(w["key"]))
            if (
                len({w["key"] for w in path}) != len(path)
                or len({w.get("requirementType", "required") for w in path}) > 1
            ):
                return True
            for depth, want in enumerate(path):
                node = tuple((w["key"], w.get("group", "default")) for w in path[: depth + 1])
                children[node[:-1]].add(node)
                if kinds.setdefault(node, want.get("requirementType", "required")) != want.get(
                    "requirementType", "required"
                ):
                    return True
        joined = ["-".join(g for _, g in node) for node in kinds]
        if len(set(joined)) != len(joined) or any(not LABEL.match(n) or len(n) > 63 for n in joined):
            return True
        branching = [n for n, below in children.items() if len(below) > 1]
        if any(
            len(below) == 1 and any(b == n[: len(b)] and b != n for b in branching) for n, below in children.items()
        ):
            return True
    return False


def osmo_compare(record: Record, answer: Answer):
    errors = record.errors.get("errors") or []
    over = None if errors else over_guarantee(record)
    if over:
        errors = [{"type": "OSMOUsageError", "message": over}]
    defect = not errors and has_defect(record)
    if answer.trouble or answer.code == 2:
        yield "osmo-verdict", answer.trouble or "exit 2 (usage)"
        return
    if record.case == "design-unsupported-scheduler":
        return  # the backend's scheduler type is not part of the input files
    if not errors and mixed_none(record):
        yield (
            "osmo-verdict",
            None if not answer.accepted else "accepted, but `keySets: Uniform` refuses mixed none (spec/osmo.md#3)",
        )
        return
    if not defect:
        yield (
            "osmo-verdict",
            None
            if answer.accepted == (not errors)
            else ("accepted" if answer.accepted else "refused: " + k.short([r["message"] for r in answer.results], 300))
            + (", OSMO refuses: " + k.short(errors[0]["message"], 200) if errors else ", OSMO accepts"),
        )
    if errors and not answer.accepted and errors[0]["type"] != "IndexError":
        yield "osmo-messages", osmo_messages(errors, answer)
    if answer.accepted:
        yield "osmo-kai", kai_refusal(answer)
        yield "osmo-required", lost_required(record, answer)
        if not errors and not defect:
            yield "osmo-topology", osmo_topologies(record, answer)
            yield "osmo-podgroups", osmo_podgroups(record, answer)


def osmo_messages(errors: list[dict], answer: Answer) -> str | None:
    said = [
        canonical(f"{r['operatorMessage'] or ''} {r['message']}") for r in answer.results if r["severity"] == "error"
    ]
    for error in errors:
        for text in [d["msg"].removeprefix("Value error, ") for d in error.get("details") or []] or [error["message"]]:
            words = set(canonical(text).split())
            if not any(words <= set(s.split()) for s in said):
                said = [r["operatorMessage"] or r["message"] for r in answer.results]
                return f"nothing says {k.short(text)}; said: {k.short(said, 300)}"
    return None


def of_kind(documents: list[dict], kind: str) -> list[dict]:
    return [d for d in documents if isinstance(d, dict) and d.get("kind") == kind]


def osmo_topologies(record: Record, answer: Answer) -> str | None:
    want = [
        [lv.get("nodeLabel") for lv in t["spec"]["levels"]] for t in of_kind(record.expected["documents"], "Topology")
    ]
    have = [[lv.get("nodeLabel") for lv in t["spec"]["levels"]] for t in of_kind(answer.items, "Topology")]
    return None if sorted(want) == sorted(have) else f"{k.short(have)}, expected {k.short(want)}"


def levels_of(holder: dict) -> list:
    c = holder.get("topologyConstraint") or {}
    return [c.get("requiredTopologyLevel"), c.get("preferredTopologyLevel")]


def group_view(obj: dict) -> dict:
    spec = obj["spec"]
    subs = spec.get("subGroups") or []
    parents = {s.get("parent") for s in subs}
    return {
        "name": obj["metadata"]["name"].split("/")[-1],
        "minMember": None if subs else spec.get("minMember"),
        "levels": levels_of(spec),
        "subGroups": [
            [s["name"], s.get("parent"), levels_of(s), None if s["name"] in parents else s.get("minMember")]
            for s in subs
        ],
    }


def osmo_podgroups(record: Record, answer: Answer) -> str | None:
    want = [group_view(o) for o in of_kind(record.expected["documents"], "PodGroup")]
    have = [group_view(o) for o in of_kind(answer.items, "PodGroup")]
    if len(want) != len(have):
        return f"{len(have)} PodGroups, expected {len(want)}"
    for w, h in zip(want, have, strict=False):
        w.pop("name")
        h.pop("name")
        difference = first_difference(w, h)
        if difference:
            return difference
    return None


def levels_refused(labels: list[str]) -> bool:
    """Return True if KAI's CRD refuses a Topology of these node labels."""
    bad = [lb for lb in labels if not KEY.match(lb) or len(lb) > 316]
    return bool(
        not 1 <= len(labels) <= 16 or len(set(labels)) != len(labels) or bad or "kubernetes.io/hostname" in labels[:-1]
    )


def kai_refusal(answer: Answer) -> str | None:  # noqa: PLR0911 - a refusal a line
    for t in of_kind(answer.items, "Topology"):
        labels = [str(lv.get("nodeLabel")) for lv in (t.get("spec") or {}).get("levels") or []]
        if levels_refused(labels):
            return f"Topology {t['metadata'].get('name')} is refused by KAI: {k.short(labels)}"
    for g in of_kind(answer.items, "PodGroup"):
        subs = (g.get("spec") or {}).get("subGroups") or []
        names, parents = [s.get("name") for s in subs], {s.get("parent") for s in subs if s.get("parent")}
        where = f"PodGroup {g['metadata'].get('name')}"
        if len(set(names)) != len(names):
            return f"{where}: duplicate subgroup names {k.short(names)}"
        if parents - set(names):
            return f"{where}: parents not found {sorted(parents - set(names))}"
        for s in subs:
            if not LABEL.match(str(s.get("name"))) or len(str(s.get("name"))) > 63:
                return f"{where}: subgroup name {s.get('name')!r}"
            if s.get("name") in parents and s.get("minMember") is not None:
                return f"{where}: minMember on the inner subgroup {s['name']}"
            if s.get("name") not in parents and not (isinstance(s.get("minMember"), int) and s["minMember"] >= 1):
                return f"{where}: leaf {s.get('name')} without minMember"
        for holder in [g.get("spec") or {}, *subs]:
            c = holder.get("topologyConstraint") or {}
            if c and (not c.get("topology") or not (c.get("requiredTopologyLevel") or c.get("preferredTopologyLevel"))):
                return f"{where}: a constraint without topology or level: {k.short(c)}"
    return None


def lost_required(record: Record, answer: Answer) -> str | None:
    """Return a fault if a task's finest required level is a required level nowhere in the PodGroups, otherwise None."""
    keys, groups = tasks_of(record)
    order, label = [t["key"] for t in keys], {t["key"]: t["label"] for t in keys}
    have = {
        levels_of(h)[0]
        for g in of_kind(answer.items, "PodGroup")
        for h in [g["spec"], *(g["spec"].get("subGroups") or [])]
    }
    for name, wants in (task for group in groups for task in group):
        required = [
            w["key"] for w in wants if w.get("requirementType", "required") == "required" and w.get("key") in order
        ]
        if required and label[max(required, key=order.index)] not in have:
            finest = label[max(required, key=order.index)]
            return f"task {name} requires {finest}, the PodGroups have {sorted(h for h in have if h)}"
    return None


# ---- main


def examine(packwise: Packwise, record: Record) -> list[tuple[str, str | None]]:
    if record.revision == "osmo":
        answer = osmo_answer(packwise, record)
        return list(osmo_compare(record, answer))
    given = answers(packwise, record)
    refused = kai_refused(record, *given)
    if not refused:
        return list(compare(record, *given))
    rest = replace(record, without=refused)
    return [("kai-refused", None), *compare(rest, *answers(packwise, rest))]


def main() -> int:
    parser = argparse.ArgumentParser(description="Compares packwise with what the operators' own code answered.")
    parser.add_argument("packwise", nargs="?", default="./.venv/bin/packwise")
    parser.add_argument("paths", nargs="*", help="golden folders or JSON lines")
    parser.add_argument("--aspect", action="append", help="only this aspect (repeatable)")
    parser.add_argument("--max-diffs", type=int, default=3, help="differences shown per revision and aspect")
    parser.add_argument("--only", default="*", help="glob over case names")
    parser.add_argument("--revision", action="append", choices=[*FOLDERS])
    parser.add_argument("--limit", type=int, default=0, help="cases per path at most")
    parser.add_argument("--jobs", type=int, default=min(16, os.cpu_count() or 4))
    options = parser.parse_args()
    packwise = command(str(Path(options.packwise).absolute()) if os.sep in options.packwise else options.packwise)
    paths = [Path(p) for p in options.paths] or [GOLDEN]
    chosen: list[tuple[str, Record]] = []
    for path in paths:
        found = [
            r
            for r in records(path)
            if fnmatch.fnmatch(r.case, options.only) and (not options.revision or r.revision in options.revision)
        ]
        chosen += [(path.name if path.is_file() else "", r) for r in found[: options.limit or None]]
    if not chosen:
        print("no case found")
        return 1
    agree, total, diffs = collections.Counter(), collections.Counter(), collections.defaultdict(list)
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        for (source, record), found in zip(chosen, pool.map(lambda c: guarded(packwise, c[1]), chosen), strict=False):
            for aspect, difference in found:
                if options.aspect and aspect not in options.aspect:
                    continue
                key = (f"{record.revision}{' ' + source if source else ''}", aspect)
                total[key] += 1
                agree[key] += difference is None
                if difference is not None:
                    diffs[key].append(f"{record.case}: {difference}")
    for key in sorted(total):
        print(f"{key[0]} {key[1]}: agree {agree[key]} of {total[key]}")
        for difference in diffs[key][: options.max_diffs]:
            print("    " + " ".join(difference.split("\n")))
    print(f"all: agree {sum(agree.values())} of {sum(total.values())}, {len(chosen)} cases")
    return 0 if agree == total and total else 1


def guarded(packwise: Packwise, record: Record) -> list[tuple[str, str | None]]:
    try:
        return examine(packwise, record)
    except Exception as error:  # A broken case must not hide the other ones.
        return [("runner", f"{type(error).__name__}: {error}")]


if __name__ == "__main__":
    sys.exit(main())
