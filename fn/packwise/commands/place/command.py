"""`packwise place`: where KAI puts gangs on the nodes of a cluster, or in a scenario; nothing is written."""

from __future__ import annotations

import re
import shlex
import sys

from krmfn.fieldpath import FieldError, FieldPath
from krmfn.hints import TYPE_CHECKING, cast
from krmfn.record import Record
from krmfn.result import exit_code
from packwise.cli.arguments import (
    NODES,
    STDIN,
    Command,
    Named,
    UsageError,
    add_context,
    add_nodes,
    add_paths,
    named_of,
)
from packwise.cli.cluster_files import read_cluster, read_json, read_nodes, read_objects
from packwise.cli.console import is_coloured, json_text, say, show
from packwise.cli.findings_text import as_lines, coverage_of
from packwise.cli.inputs import read_inputs
from packwise.cli.rendered_files import rendered_of
from packwise.commands.place.output import Baseline, Placed, as_json, as_markdown, as_text
from packwise.commands.place.placing import free_after, more_replicas, moves, place_gangs, reasons, situation, turn_of
from packwise.commands.place.scenario import ScenarioError, answers, is_scenario, read_scenario
from packwise.extras import SOLVER
from packwise.objects.kinds import POD_CLIQUE_SET
from packwise.pipeline import render
from packwise.pipeline.registry import queued_sources
from packwise.schedulers.kai.allocate import FITS
from packwise.schedulers.kai.allocate.scene import PODS
from packwise.schedulers.kai.allocate.state import mig_strategy
from packwise.schedulers.kai.gang_jobs import TooManyPodsError
from packwise.schedulers.kai.snapshot import Snapshot, SnapshotError, nodes_within, read_snapshot

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from krmfn.kubeobject import KubeObject
    from packwise.schedulers.kai.allocate.scene import Node

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator, Mapping, Sequence
    from typing import Literal

    from krmfn.kubeobject import KubeObject
    from krmfn.value import Value
    from packwise.cli.arguments import Named
    from packwise.commands.place.cure import Second
    from packwise.commands.place.placing import Placing, Situation
    from packwise.pipeline import Rendered
    from packwise.schedulers.kai.snapshot import Snapshot
    from packwise.select import Package

    PlaceFormat = Literal["text", "json", "markdown"]


_DESCRIPTION = """\
Says where the KAI Scheduler puts each gang on the nodes of a cluster, or what is in its way: the algorithm of its
allocate action (v0.17), gang after gang in queue order. Pods in use count; nothing is evicted to make room."""


_EPILOG = """\
examples:
  kubectl get nodes,pods -A -o json > nodes.json
  packwise place clusters/west --nodes nodes.json
  packwise place clusters/west --nodes nodes.json --replicas llm/decode=6 --further
  packwise place clusters/west --nodes nodes.json --baseline git:origin/main   # what a change moves
  packwise place clusters/west --nodes nodes.json --drain example.com/rack=r7 -o json
  packwise place scenario.json -o json

exit codes: 0 all gangs fit, 1 one does not or errors were found, 2 wrong usage"""


PLACE_FORMATS: tuple[PlaceFormat, ...] = ("text", "json", "markdown")
"""How a placing is printed."""


class PlaceGangs(Record):
    """`packwise place`; `nodes` are files with a cluster's nodes and pods, empty for a scenario.

    `add_nodes`, `drain` and `replicas` change what is there before anything is placed. `further`: whether to count how
    many more replicas fit; `exact`: whether a solver looks at what does not fit.
    """

    named: Named
    nodes: tuple[str, ...] = ()
    output: PlaceFormat = "text"
    add_nodes: tuple[str, ...] = ()
    drain: tuple[str, ...] = ()
    replicas: tuple[str, ...] = ()
    further: bool = False
    exact: bool = False


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    add_paths(parser)
    add_nodes(
        parser,
        f"the cluster: {NODES}; only a scenario goes without",
    )
    parser.add_argument(
        "-o",
        "--output",
        choices=PLACE_FORMATS,
        default="text",
        help="how to print: text for people, json for scripts, markdown as a comment on a pull request (default: text)",
    )
    add_context(parser)
    parser.add_argument(
        "--add-nodes",
        metavar="FILE|NxLABELS",
        action="append",
        default=[],
        help="as if these nodes were there too: a file of them, or 4xexample.com/rack=r9 for four copies of the node "
        "that shares most of these labels",
    )
    parser.add_argument(
        "--drain",
        metavar="DOMAIN",
        action="append",
        default=[],
        help="as if a node, or all nodes with LABEL=VALUE, were gone, and their pods with them",
    )
    parser.add_argument(
        "--replicas",
        metavar="GROUP=N",
        action="append",
        default=[],
        help="as if a workload (llm=2), or a scaling group or clique of it (llm/prefill=4), had N replicas",
    )
    parser.add_argument(
        "--exact",
        action="store_true",
        help="for gangs that do not fit, let a solver say whether there is a packing that KAI does not find, for which "
        "rule, and the smallest change that helps (needs packwise[solver])",
    )
    parser.add_argument(
        "--further", action="store_true", help="say how many more replicas of each workload fit beside all gangs"
    )


def _read(parsed: argparse.Namespace) -> PlaceGangs:
    return PlaceGangs(
        named_of(parsed),
        tuple(parsed.nodes),
        parsed.output,
        tuple(parsed.add_nodes),
        tuple(parsed.drain),
        tuple(parsed.replicas),
        parsed.further,
        parsed.exact,
    )


MOST_EXACT = 20
"""How many gangs get an exact verdict."""


def place(command: PlaceGangs) -> int:
    """Prints the places; returns 0 where everything fits, 1 where something does not. Raises UsageError."""
    if not command.nodes:
        return _scenario(command)
    if STDIN in command.nodes and STDIN in command.named.paths:
        raise UsageError('"-" must stand once: stdin can be read for one purpose only')
    try:
        return _workloads(command)
    except (WhatIfError, TooManyPodsError) as error:
        raise UsageError(str(error)) from None


def _scenario(command: PlaceGangs) -> int:
    paths = command.named.paths
    value = read_json(paths[0]) if len(paths) == 1 else None
    if not is_scenario(value):
        raise UsageError(
            "--nodes must name the cluster: what `kubectl get nodes,pods -A -o json` prints; "
            "only a scenario, one JSON file with nodes and jobs, goes without"
        )
    if command.output == "markdown":
        raise UsageError("-o markdown must go with workloads and --nodes; of a scenario there is text or json")
    from packwise.schedulers.kai.allocate import allocate

    try:
        session = allocate(read_scenario(cast("Mapping[str, Value]", value)))
    except ScenarioError as error:
        raise UsageError(f"{paths[0]}: {error}") from None
    if command.output == "json":
        text = json_text(answers(session))
    else:
        text = "".join(
            [f"{job.name}: {job.state}" + (f"\n  {job.message}" if job.message else "") + "\n" for job in session.jobs]
        )
    return int(not all(job.state in FITS for job in session.jobs)) if show(text) else 1


def _workloads(command: PlaceGangs) -> int:
    inputs = read_inputs(command.named)
    package = inputs.package.replace(nodes=read_nodes(command.nodes))
    if not inputs.is_broken:
        for text in command.replicas:
            package = package.replace(items=with_replicas(package.items, text))
    rendered = rendered_of(inputs.replace(package=package))
    say(as_lines(rendered.results, coloured=is_coloured(sys.stderr)), as_they_are=True)
    coverage = coverage_of(inputs, rendered)
    if inputs.is_broken or exit_code([result for result in rendered.results if result not in inputs.results]):
        say([coverage.line])
        return 1
    snapshot = _snapshot(command, package.nodes)
    placed = placed_of(rendered, snapshot).replace(coverage=coverage)
    there, placing = placed.situation, placed.placing
    if command.further:
        placed = placed.replace(further=more_replicas(there, placing))
    if command.exact:
        placed = placed.replace(seconds=_seconds(there, placing))
    if command.named.baseline is not None:
        placed = placed.replace(baseline=baseline_of(command.named.baseline, package, placed, snapshot))
    if not show(_printed(placed, command)):
        return 1
    say([*_queued_elsewhere(rendered), coverage.line])
    return int(not placing.fits or bool(exit_code(inputs.results)))


def _queued_elsewhere(rendered: Rendered) -> Iterator[str]:
    """That workloads are placed by schedulers whose algorithm nobody simulates here."""
    source = rendered.scheduled
    if source is None:
        return
    workloads: dict[str, set[KubeObject]] = {}
    for queued_pods in queued_sources():
        for pods in queued_pods(source.inventory, source.topologies, source.settings):
            workloads.setdefault(pods.scheduler, set()).add(pods.workload)
    for scheduler, places in workloads.items():
        number = "1 workload" if len(places) == 1 else f"{len(places)} workloads"
        verb = "is" if len(places) == 1 else "are"
        yield f"note: {number} that {scheduler} queues {verb} not placed: its algorithm is not simulated"


def placed_of(rendered: Rendered, snapshot: Snapshot) -> Placed:
    """The gangs of a render on the nodes of a cluster. Raises TooManyPodsError."""
    there = situation(rendered, snapshot)
    placing = place_gangs(there)
    free = free_after(there, placing)
    return Placed(
        there,
        {node.name: node for node in there.scene.nodes},
        placing,
        tuple(tuple(reasons(gang, there, free)) for gang in placing.gangs),
    )


def baseline_of(name: str, package: Package, placed: Placed, snapshot: Snapshot) -> Baseline | None:
    """What the change of `package` moves; None, which stderr says, where nothing before it can be placed.

    Raises TooManyPodsError.
    """
    if package.before is None:
        return None
    rendered = render(package.before)
    if exit_code(rendered.results):
        say([f"note: {name} has errors, so that places are compared with none"])
        return None
    before = placed_of(rendered, snapshot)
    return Baseline(name, before, moves(before.placing, placed.placing))


def _seconds(there: Situation, placing: Placing) -> dict[int, Second]:
    """The exact verdicts on gangs that KAI leaves pending, the first ones of them. Raises UsageError."""
    if not SOLVER.is_installed:
        raise UsageError(f"--exact must have its library: {SOLVER.advice}")
    from packwise.commands.place.cure import second_verdict

    pending = [index for index, gang in enumerate(placing.gangs) if gang.answer.state == "pending"]
    if len(pending) > MOST_EXACT:
        say([f"note: --exact looks at the first {MOST_EXACT} of {len(pending)} gangs that do not fit"])
    return {
        index: second_verdict(turn_of(there.scene, placing.session, index), placing.gangs[index].answer, there.words)
        for index in pending[:MOST_EXACT]
    }


def _snapshot(command: PlaceGangs, objects: Sequence[Mapping[str, Value]]) -> Snapshot:
    """The cluster that is asked about."""
    snapshot = read_cluster(command.nodes, objects)
    refuse_empty(command.nodes, snapshot)
    for text in command.add_nodes:
        if is_count(text):
            snapshot = added(snapshot, text)
        else:
            try:
                more = read_snapshot(list(read_objects(text)))
            except SnapshotError as error:
                raise UsageError(f'--add-nodes "{text}" {error}') from None
            snapshot = joined(snapshot, more.nodes)
    for domain in command.drain:
        snapshot = drained(snapshot, domain)
    return snapshot


def refuse_empty(nodes: Sequence[str], snapshot: Snapshot) -> None:
    """Raises UsageError where no node says what it has, as in topograph's output: every gang would be pending."""
    if all(node.allocatable.keys() <= {PODS} for node in snapshot.nodes):
        listed = ", ".join([f'"{name}"' for name in nodes])
        raise UsageError(
            f"--nodes {listed} must say what nodes have (status.allocatable); topograph's output does not: name what "
            "`kubectl get nodes,pods -A -o json` prints beside it"
        )


def _printed(placed: Placed, command: PlaceGangs) -> str:
    match command.output:
        case "json":
            return as_json(placed)
        case "markdown":
            return as_markdown(placed, place_command(command.named, command.nodes))
        case "text":
            return as_text(placed, coloured=is_coloured(sys.stdout))


def place_command(named: Named, nodes: Sequence[str]) -> str:
    """The command that prints all of a placing."""
    baseline = () if named.baseline is None else ("--baseline", named.baseline)
    return shlex.join(
        ["packwise", "place", *named.paths, *(word for each in nodes for word in ("--nodes", each)), *baseline]
    )


COMMAND = Command(_DESCRIPTION, _EPILOG, _add_arguments, _read, place)


MAX_ADDED = 100_000
"""How many nodes are added at most."""

_COUNTED = re.compile(r"([0-9]{1,6})[x×](.*)", re.DOTALL)
_HOSTNAME = "kubernetes.io/hostname"


class WhatIfError(Exception):
    """What is asked names nothing that is there; the text says what it must name."""


class _Shape(Record):
    """Further nodes: how many, and the labels in which they differ from the node that they are copies of."""

    number: int
    labels: dict[str, str]


def is_count(text: str) -> bool:
    """Whether the text asks for copies of nodes, and names no file."""
    return _COUNTED.fullmatch(text) is not None


def added(snapshot: Snapshot, text: str) -> Snapshot:
    """The cluster with copies of a node: `4xlabel=value,label=value`. Raises WhatIfError.

    Copied is the node that shares most of these labels, the first by name among equals, without its pods, cordon and
    bad conditions.
    """
    shape = _shape(text)
    labels = set(shape.labels.items())
    model = max(snapshot.nodes, key=lambda node: len(labels & set(node.labels.items())))
    taken = {node.name for node in snapshot.nodes}
    names = (name for number in range(1, MAX_ADDED * 2) if (name := f"added-{number:05}") not in taken)
    copies = [_copy(model, next(names), shape.labels) for _ in range(shape.number)]
    return joined(snapshot, copies)


def joined(snapshot: Snapshot, nodes: Iterable[Node]) -> Snapshot:
    """The cluster with further nodes. Raises WhatIfError where one is there already."""
    listed = list(nodes)
    taken = {node.name for node in snapshot.nodes}
    twice = next((node.name for node in listed if node.name in taken), None)
    if twice is not None:
        raise WhatIfError(f'--add-nodes must bring new nodes; got "{twice}", which the cluster has')
    return snapshot.replace(nodes=tuple(sorted((*snapshot.nodes, *listed), key=lambda node: node.name)))


def _shape(text: str) -> _Shape:
    match = _COUNTED.fullmatch(text)
    labels: dict[str, str] = {}
    for pair in filter(None, match[2].split(",") if match is not None else ()):
        key, equals, value = pair.partition("=")
        if not equals or not key:
            match = None
            break
        labels[key] = value
    if match is None or not 0 < int(match[1]) <= MAX_ADDED:
        raise WhatIfError(
            f'--add-nodes must be a file, or as in 4xexample.com/rack=r9 (1 to {MAX_ADDED} nodes); got "{text}"'
        )
    return _Shape(int(match[1]), labels)


def _copy(model: Node, name: str, labels: dict[str, str]) -> Node:
    own = {_HOSTNAME: name} if _HOSTNAME in model.labels else {}
    every = {**model.labels, **own, **labels}
    mig = mig_strategy(every, model.allocatable)
    return model.replace(name=name, labels=every, used={}, unschedulable=False, unready=(), mig=mig)


def drained(snapshot: Snapshot, domain: str) -> Snapshot:
    """The cluster without the nodes of a domain, a node's name or `label=value`, and without their pods.

    Raises WhatIfError where there is no such node.
    """
    gone = {node.name for node in nodes_within(snapshot.nodes, domain)}
    if not gone:
        raise WhatIfError(f'--drain must name a node, or label=value of some; got "{domain}", which no node has')
    if len(gone) == len(snapshot.nodes):
        raise WhatIfError(f'--drain "{domain}" must leave a node; it names all of them')
    return snapshot.replace(
        nodes=tuple(node for node in snapshot.nodes if node.name not in gone),
        pods=tuple(pod for pod in snapshot.pods if pod.node not in gone),
    )


def with_replicas(items: Sequence[KubeObject], text: str) -> tuple[KubeObject, ...]:
    """The objects with another number of replicas: `WORKLOAD=N`, or `WORKLOAD/PART=N` of a scaling group or clique.

    Raises WhatIfError where nothing has that name, or more than one workload.
    """
    name, equals, number = text.rpartition("=")
    workload, slash, part = name.partition("/")
    if not equals or not workload or (slash and not part) or not (number.isascii() and number.isdigit()):
        raise WhatIfError(f'--replicas must be as in llm=2 or llm/prefill=4; got "{text}"')
    matching = [
        index
        for index, item in enumerate(items)
        if item.kind == POD_CLIQUE_SET.name and item.get(("metadata", "name")) == workload
    ]
    if len(matching) != 1:
        known = sorted({str(item.get(("metadata", "name"))) for item in items if item.kind == POD_CLIQUE_SET.name})
        listed = ", ".join(known) or "none"
        raise WhatIfError(
            f'--replicas must name one PodCliqueSet; got "{workload}", of {len(matching)}; known: {listed}'
        )
    item = items[matching[0]]
    path: FieldPath = ("spec", "replicas") if not slash else _part(item, part)
    try:
        changed = item.set(path, int(number[:9]))
    except FieldError as error:
        raise WhatIfError(f'--replicas "{text}" cannot be written: {error}') from None
    return (*items[: matching[0]], changed, *items[matching[0] + 1 :])


def _part(item: KubeObject, part: str) -> FieldPath:
    parts: dict[str, FieldPath] = {}
    for field, below in (("cliques", ("spec", "replicas")), ("podCliqueScalingGroups", ("replicas",))):
        listed = item.get(("spec", "template", field))
        for index, entry in enumerate(listed if isinstance(listed, list) else ()):
            if isinstance(entry, dict):
                parts[str(entry.get("name"))] = ("spec", "template", field, index, *below)
    if part not in parts:
        raise WhatIfError(
            f'--replicas must name a clique or a scaling group; got "{part}"; known: {", ".join(sorted(parts))}'
        )
    return parts[part]
