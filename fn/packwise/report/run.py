"""The picture of a report: domains with nodes and GPUs, and the gangs placed in them, before and after a change.

The picture is the same for every format. Nodes and gangs are identified by their index in the picture.
"""

from __future__ import annotations

import os.path
import re
from collections import Counter
from pathlib import Path

from krmfn.hints import TYPE_CHECKING, Record
from krmfn.result import exit_code, sort_results
from packwise.answer import PLAIN, Answer, Terminal, Text
from packwise.diff.difference import State, state_after, state_before
from packwise.diff.difference import diff as compare
from packwise.diff.run import Comparison, changed_kinds, notes
from packwise.inputs.coverage import coverage_of
from packwise.inputs.groups import read_used_inputs
from packwise.inputs.request import STDIN, UsageError, Verbosity, refuse_stdin_twice
from packwise.keys import HOSTNAME
from packwise.objects.index import gang_identities
from packwise.output.findings_text import stderr_lines
from packwise.pipeline import render
from packwise.place.cluster import read_cluster, read_nodes
from packwise.place.placing import Situation, not_placed, place_gangs, situation
from packwise.render.files import render_inputs
from packwise.report.drawing import HUES, TINTS, Drawn, as_html, as_mermaid, as_svg
from packwise.schedulers.kai.simulation import level_words
from packwise.schedulers.kai.snapshot import Snapshot
from packwise.schedulers.simulation import TooManyPodsError
from packwise.schedulers.wording import GPU, level_word
from packwise.settings.configuration import has_topology
from packwise.topologies.run import has_sources

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from krmfn.kubeobject import Location
    from krmfn.result import Result
    from packwise.diff.run import ChangedKind
    from packwise.findings import Place
    from packwise.inputs.groups import Inputs
    from packwise.objects.index import Identity
    from packwise.pipeline import Rendered
    from packwise.pipeline.selection import Package
    from packwise.place.placing import Placing
    from packwise.report.options import Drawing, ReportFormat, ReportOptions
    from packwise.schedulers.kai.allocate.scene import Node
    from packwise.schedulers.simulation import GangAnswer, GangOutline, GangPart, Levels
_MAX_LEVELS = 16
"""The largest number of drawn levels of a topology. Source: KAI's CRD Topology, maxItems of `levels`."""


_NUMBER = re.compile("([0-9]+)")


class NodeShare(Record):
    """Pods of a gang on a node, and their GPUs. `gang` is the index of the gang in the picture."""

    gang: int
    pods: int
    gpus: int


class NodeBox(Record):
    """A node: its GPUs, the number used by pods outside gangs, and the pods of gangs.

    `notes` are reasons why the node gets no pods. `in_use_before` is `in_use` before the change.
    """

    name: str
    gpus: int
    in_use: int
    notes: tuple[str, ...] = ()
    after: tuple[NodeShare, ...] = ()
    before: tuple[NodeShare, ...] = ()
    in_use_before: int = 0


class DomainBox(Record):
    """A domain of `level`. An innermost domain has `nodes`, as indexes in the picture. Every other has `domains`.

    `gpus` is the sum of its nodes. `in_use` counts GPUs of pods outside gangs. `after` and `before` count GPUs of
    gangs.
    """

    level: str
    name: str
    domains: tuple[DomainBox, ...]
    nodes: tuple[int, ...]
    size: int
    gpus: int
    in_use: int
    after: int
    before: int
    in_use_before: int


class TopologyMap(Record):
    """The cluster by one topology: its levels as words, without a last level of single hosts.

    `outside` are nodes that lack the label of some level. KAI puts them in no domain.
    """

    topology: str
    levels: tuple[str, ...]
    domains: tuple[DomainBox, ...]
    outside: tuple[int, ...] = ()


def _maps(side: Side, boxes: Sequence[NodeBox]) -> tuple[TopologyMap, ...]:
    """Return the cluster by each topology that gangs name, or by all topologies if gangs name none.

    Topologies with equal levels are drawn once. Topologies without nodes are skipped. If no topology is left, all nodes
    are outside.
    """
    maps = [_map(topology, side, boxes) for topology in _shown_topologies(side)]
    return tuple(each for each in maps if each.domains) or (
        (TopologyMap("", (), (), tuple(range(len(boxes)))),) if boxes else ()
    )


def _shown_topologies(side: Side) -> list[Levels]:
    """Return the distinct topologies that gangs name, or all topologies if gangs name none."""
    known = [topology for each in side.situation.simulations for topology in each.topologies]
    shown = [topology for topology in known if topology.is_named] or known
    by_levels = {topology.keys: topology for topology in reversed(shown)}
    return [topology for topology in shown if by_levels[topology.keys] is topology]


def _level_lists(side: Side) -> tuple[TopologyLevels, ...]:
    """Return the levels of the topologies that are drawn."""
    return tuple(
        TopologyLevels(
            topology.name, tuple(LevelLine(level_word(side.words, key), key) for key in topology.keys[:_MAX_LEVELS])
        )
        for topology in _shown_topologies(side)
    )


def _map(topology: Levels, side: Side, boxes: Sequence[NodeBox]) -> TopologyMap:
    nodes = side.situation.nodes
    inside = [index for index, node in enumerate(nodes) if all(key in node.labels for key in topology.keys)]
    keys = topology.keys[:_MAX_LEVELS]
    paths = {index: tuple(nodes[index].labels[key] for key in keys) for index in inside}
    if len(keys) > 1 and (keys[-1] == HOSTNAME or all(path[-1] == nodes[index].name for index, path in paths.items())):
        keys = keys[:-1]
    words = tuple(level_word(side.words, key) for key in keys)
    outside = tuple(index for index in range(len(nodes)) if index not in paths)
    return TopologyMap(topology.name, words, _domains(words, inside, paths, boxes), outside)


def _domains(
    levels: tuple[str, ...], inside: Iterable[int], paths: Mapping[int, tuple[str, ...]], boxes: Sequence[NodeBox]
) -> tuple[DomainBox, ...]:
    """Return the domains of the first of `levels`. `paths` are the labels of each node, from the broadest level on."""

    def child_boxes(indexes: Iterable[int], depth: int) -> tuple[DomainBox, ...]:
        members: dict[str, list[int]] = {}
        for index in indexes:
            members.setdefault(paths[index][depth], []).append(index)
        return tuple(domain(name, members[name], depth) for name in sorted(members, key=_natural_key))

    def domain(name: str, members: list[int], depth: int) -> DomainBox:
        is_innermost = depth == len(levels) - 1

        def total(amount: Callable[[NodeBox], int]) -> int:
            return sum([amount(boxes[index]) for index in members])

        return DomainBox(
            level=levels[depth],
            name=name,
            domains=() if is_innermost else child_boxes(members, depth + 1),
            nodes=tuple(sorted(members, key=lambda index: _natural_key(boxes[index].name))) if is_innermost else (),
            size=len(members),
            gpus=total(lambda box: box.gpus),
            in_use=total(lambda box: box.in_use),
            after=total(lambda box: sum([share.gpus for share in box.after])),
            before=total(lambda box: sum([share.gpus for share in box.before])),
            in_use_before=total(lambda box: box.in_use_before),
        )

    return child_boxes(inside, 0) if levels else ()


def _natural_key(name: str) -> tuple[tuple[str, int], ...]:
    """Return a key that sorts names with r2 before r10."""
    parts = _NUMBER.split(name)
    texts, numbers = parts[::2], parts[1::2]
    return tuple((text, int(number[:18])) for text, number in zip(texts, [*numbers, "0"], strict=True))


class Side(Record):
    """A state of the workloads: its gangs, and the schedulers' answers if nodes are known.

    `words` maps the node label of a level to the name that workloads use for it.
    """

    situation: Situation
    placing: Placing | None = None
    words: Mapping[str, str] = {}


class PicturePart(Record):
    """A set of pods in a gang, `depth` sets below the gang itself. The gang needs `members` of its `pods`.

    `required` and `preferred` are levels in the words of workloads, or "". `place` is the place of the constraint, or
    of the set without one. `nodes` has the number of pods for the index of a node.
    """

    name: str
    place: Location
    required: str = ""
    preferred: str = ""
    depth: int = 0
    pods: int = 0
    members: int = 0
    nodes: tuple[tuple[int, int], ...] = ()


class Outcome(Record):
    """The outcome of a gang. `state` is KAI's word for it as in JobAnswer, or "" without nodes.

    `domain` is the common domain of all its pods. If the gang does not fit, `nearest` is the id of the domain that
    lacks the least.
    """

    state: str = ""
    placed: int = 0
    domain: str = ""
    reasons: tuple[str, ...] = ()
    message: str = ""
    nearest: str = ""


class LevelLine(Record):
    """A level of a topology: the workloads' word for it and its node label."""

    word: str
    key: str


class TopologyLevels(Record):
    """The levels of a topology, broadest first, for a picture without nodes."""

    topology: str
    levels: tuple[LevelLine, ...]


class GangBox(Record):
    """A gang. `title` is its name without an unknown epoch. `parts` begin with the gang itself.

    `after` is None if the change removes the gang. `before` is None if the gang is new or nothing is compared. `change`
    is the effect of the change in words.
    """

    namespace: str
    title: str
    workload: str
    queue: str
    pods: int
    gpus: int
    parts: tuple[PicturePart, ...]
    after: Outcome | None
    before: Outcome | None = None
    change: str = ""
    notes: tuple[str, ...] = ()
    colour: int = 0
    scheduler: str = ""

    @property
    def outcome(self) -> Outcome:
        """Return the outcome of the gang, or the earlier one if the change removes it."""
        return self.after or self.before or Outcome()


class Picture(Record):
    """All content of the drawing. `maps` are the cluster by each topology that gangs name, or empty without nodes.

    `paths` are the input. `baseline` is the state of the comparison, or None. `has_before` is true if the earlier gangs
    are known, and not only the earlier objects. `changes` is None if the states could not be compared. `facts` describe
    the picture: releases, the cluster's time, the commit. `notes` name gangs that were not placed.
    """

    paths: tuple[str, ...]
    gangs: tuple[GangBox, ...]
    nodes: tuple[NodeBox, ...] = ()
    maps: tuple[TopologyMap, ...] = ()
    levels: tuple[TopologyLevels, ...] = ()
    findings: tuple[Result, ...] = ()
    baseline: str | None = None
    has_before: bool = False
    changes: tuple[ChangedKind, ...] | None = None
    facts: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()


def _boxes(after: Side, before: Side | None) -> tuple[tuple[GangBox, ...], tuple[NodeBox, ...]]:
    """Return the boxes of gangs and nodes to draw. Removed gangs come after the current ones."""
    # Gangs that do not fit come first, so that numbers and lists have one order.
    pairs = sorted(_pairs(after, before), key=lambda pair: not _is_waiting(after, pair[0]))
    drawer = _Drawer(after.situation.nodes)
    gangs = _colour_gangs(tuple(drawer.gang(after, before, new, old) for new, old in pairs))
    shares = _shares(after, {new: number for number, (new, _) in enumerate(pairs) if new is not None})
    earlier = _shares(before, {old: number for number, (_, old) in enumerate(pairs) if old is not None})
    in_use_before = {} if before is None else {node.name: node.used.get(GPU, 0) for node in before.situation.nodes}
    nodes = tuple(
        NodeBox(
            name=node.name,
            gpus=node.allocatable.get(GPU, 0),
            in_use=node.used.get(GPU, 0),
            notes=(("cordoned",) if node.unschedulable else ()) + node.unready,
            after=shares.get(node.name, ()),
            before=earlier.get(node.name, ()),
            in_use_before=in_use_before.get(node.name, 0),
        )
        for node in after.situation.nodes
    )  # fmt: skip
    return gangs, nodes


def _is_waiting(side: Side, index: int | None) -> bool:
    """Return True if the gang at `index` has no place."""
    return side.placing is not None and index is not None and not side.placing.gangs[index].fits


def _colour_gangs(gangs: tuple[GangBox, ...]) -> tuple[GangBox, ...]:
    """Return the gangs in the colours of their queues.

    If a few gangs share one queue, each has a hue of its own.
    """
    queues = {queue: hue for hue, queue in enumerate(sorted({gang.queue for gang in gangs}))}
    if len(queues) == 1 and len(gangs) <= HUES:
        return tuple(gang.replace(colour=hue * TINTS) for hue, gang in enumerate(gangs))
    seen: Counter[str] = Counter()
    listed: list[GangBox] = []
    for gang in gangs:
        listed.append(gang.replace(colour=queues[gang.queue] % HUES * TINTS + seen[gang.queue] % TINTS))
        seen[gang.queue] += 1
    return tuple(listed)


def _pairs(after: Side, before: Side | None) -> list[tuple[int | None, int | None]]:
    """Return the index of each gang after the change and before it. Removed gangs come last."""
    old = {} if before is None else _indexes_by_key(before)
    new = _indexes_by_key(after)
    gone = [index for key, index in old.items() if key not in new]
    return [*((index, old.get(key)) for key, index in new.items()), *((None, index) for index in gone)]


def _indexes_by_key(side: Side) -> dict[tuple[object, ...], int]:
    """Return the index of each gang by its identity without epochs."""
    gangs = side.situation.gangs
    stable = gang_identities([(gang.namespace, gang.name, gang.labels) for gang in gangs])
    # Two front ends may create gangs with the same name, so the key has a number too.
    alike: Counter[Identity] = Counter()
    keys: dict[tuple[object, ...], int] = {}
    for index, key in enumerate(stable):
        keys[key, alike[key]] = index
        alike[key] += 1
    return keys


def _shares(side: Side | None, numbers: Mapping[int, int]) -> dict[str, tuple[NodeShare, ...]]:
    """Return the pods and GPUs of gangs on each node. `numbers` maps the index of a gang to its index in the
    picture.
    """
    shares: dict[str, list[NodeShare]] = {}
    if side is None or side.placing is None:
        return {}
    for index, number in sorted(numbers.items(), key=lambda pair: pair[1]):
        for share in side.placing.gangs[index].shares:
            shares.setdefault(share.node, []).append(NodeShare(number, share.pods, share.gpus))
    return {node: tuple(listed) for node, listed in shares.items()}


class _Drawer:
    """Makes the gangs of a picture. Locations in files are computed once."""

    def __init__(self, nodes: Sequence[Node]) -> None:
        self._positions = {node.name: index for index, node in enumerate(nodes)}
        self._locations: dict[tuple[int, str], Location] = {}

    def gang(self, after: Side, before: Side | None, new: int | None, old: int | None) -> GangBox:
        """Return the gang with the index `new` after the change and `old` before it."""
        later = None if new is None else _outcome(after, new)
        earlier = None if before is None or old is None else _outcome(before, old)
        side, index = (after, new) if new is not None else (before or after, old or 0)
        known, answer = side.situation.gangs[index], None if side.placing is None else side.placing.gangs[index]
        return GangBox(
            namespace=known.namespace,
            title=known.title or known.name,
            workload=known.workload,
            queue=known.queue,
            scheduler=known.scheduler_title,
            pods=known.pods,
            gpus=known.gpus,
            parts=tuple(self._parts(known, answer)),
            after=later,
            before=earlier,
            change="" if before is None else _change(after, before, new, old),
            # Notes about objects that the cluster lacks make no sense without a cluster.
            notes=() if not self._positions else known.notes if answer is None else answer.notes,
        )

    def _parts(self, known: GangOutline, answer: GangAnswer | None) -> Iterator[PicturePart]:
        spread = {} if answer is None else dict(answer.spread)
        whole, *others = known.parts
        yield self._part(whole)
        for each in others:
            # A scheduler may name places that are not nodes of the picture.
            nodes = [
                (self._positions[node], count) for node, count in spread.get(each.name, ()) if node in self._positions
            ]
            yield self._part(each).replace(nodes=tuple(nodes) if each.pods else ())

    def _part(self, part: GangPart) -> PicturePart:
        return PicturePart(
            name=part.name,
            place=self._location(part.place),
            required=part.required,
            preferred=part.preferred,
            depth=part.depth,
            pods=part.pods,
            members=part.members,
        )

    def _location(self, place: Place) -> Location:
        key = (id(place.item), place.field)
        if key not in self._locations:
            self._locations[key] = place.location()
        return self._locations[key]


def _outcome(side: Side, index: int) -> Outcome:
    if side.placing is None:
        return Outcome()
    answer = side.placing.gangs[index]
    return Outcome(
        state=answer.state,
        placed=answer.placed_pods,
        domain=answer.domain,
        reasons=answer.reasons,
        message=answer.message,
        nearest="" if answer.nearest_domain is None or answer.fits else answer.nearest_domain.domain,
    )


def _change(after: Side, before: Side, new: int | None, old: int | None) -> str:
    """Return the effect of the change on a gang in words. Return "" if the gang stays."""
    if new is None or old is None:
        return "removed" if new is None else "new"
    if after.placing is None or before.placing is None:
        return ""
    later, earlier = after.placing.gangs[new], before.placing.gangs[old]
    if later.fits != earlier.fits:
        return "fits now" if later.fits else "no longer fits"
    return "moves" if later.spread != earlier.spread else ""


_COMMIT = re.compile(r"(?<![0-9a-f])[0-9a-f]{40}(?![0-9a-f])")
"""Matches a commit in the template of links."""


def report(command: ReportOptions, terminal: Terminal = PLAIN) -> Answer:
    """Return the drawings. The exit code is 0 if every gang fits and there is no error, else 1.

    Raise UsageError if an option is wrong or a file is unreadable.
    """
    refuse_stdin_twice([STDIN in command.nodes, STDIN in command.named.paths])
    inputs = read_used_inputs(command.named)
    if command.nodes:
        inputs = inputs.replace(package=inputs.package.replace(nodes=read_nodes(command.nodes)))
    rendered = render_inputs(inputs)
    lines = stderr_lines(rendered.results, Verbosity.NORMAL, coloured=terminal.is_stderr_coloured)
    snapshot = read_cluster(command.nodes, inputs.package.nodes) if command.nodes else Snapshot(())
    try:
        picture, fits, comparison_lines = _picture(command, inputs, rendered, snapshot)
    except TooManyPodsError as error:
        raise UsageError(str(error)) from None
    # The drawing has the headline too, but the user has not opened it yet.
    is_filed = any(output.file is not None for output in command.outputs)
    return Answer(
        tuple(_text_of(output, picture, command) for output in command.outputs),
        (*lines, *comparison_lines),
        (
            *([Drawn(picture).headline] if is_filed else []),
            *[f"note: {text}" for text in picture.notes],
            coverage_of(inputs.files, inputs.skipped, rendered).replace(sources=inputs.sources).line,
        ),
        int(not fits or bool(exit_code(rendered.results))),
        needs_texts=False,
    )


def _picture(
    command: ReportOptions, inputs: Inputs, rendered: Rendered, snapshot: Snapshot
) -> tuple[Picture, bool, tuple[str, ...]]:
    """Return the picture, whether every gang fits, and lines about the comparison."""
    paths = tuple("<stdin>" if path == STDIN else path for path in command.named.paths)
    accepted, comparison = rendered, _Comparison()
    if command.named.baseline is not None and not exit_code(inputs.results):
        comparison = _compare(inputs.package, command.named.baseline, " ".join(paths), snapshot)
        if exit_code(rendered.results):
            # If an update is refused, show the gangs as if it were accepted.
            accepted = render(inputs.package.replace(baseline=None))
    after = _side(accepted, snapshot)
    gangs, nodes = _boxes(after, comparison.before)
    picture = Picture(
        paths=paths,
        gangs=gangs,
        nodes=nodes,
        maps=_maps(after, nodes),
        levels=() if nodes else _level_lists(after),
        findings=rendered.results,
        baseline=command.named.baseline,
        has_before=comparison.before is not None,
        changes=comparison.changes,
        facts=tuple(_facts(rendered, snapshot, command.source_url)),
        notes=tuple(not_placed(accepted, after.situation)) if snapshot.nodes else (),
    )
    return picture, after.placing is None or after.placing.fits, comparison.lines


def _facts(rendered: Rendered, snapshot: Snapshot, source_url: str | None) -> Iterator[str]:
    """Yield facts that come from the input alone, and not from the clock or the repository."""
    commit = None if source_url is None else _COMMIT.search(source_url)
    if commit is not None:
        yield f"commit {commit[0][:12]}"
    selection = rendered.selection
    if selection is not None:
        if rendered.has_grove:
            named = selection.settings.revision or selection.revision.name
            yield f"Grove {named}" if selection.is_named else f"Grove {named} (assumed)"
        if selection.settings.kai_version is not None:
            yield f"KAI {selection.settings.kai_version} or newer"
    if snapshot.kai is not None:
        yield f"KAI v0.{snapshot.kai} in the cluster"
    if snapshot.newest_time:
        yield f"cluster as of {snapshot.newest_time[:10]} {snapshot.newest_time[11:16]} UTC"


class _Comparison(Record):
    """A comparison with the state before the change.

    `before` is this state, or None if only its objects are known. `changes` are the kinds with changes. Both are None
    if a state cannot be rendered.
    """

    before: Side | None = None
    changes: tuple[ChangedKind, ...] | None = None
    lines: tuple[str, ...] = ()


def _compare(package: Package, name: str, other: str, snapshot: Snapshot) -> _Comparison:
    earlier = _earlier_package(package)
    old, new = _sort_results(state_before(earlier)), _sort_results(state_after(package, earlier))
    compared = Comparison(compare(old, new), name, other, old.is_rendered, new.is_rendered)
    unreadable = stderr_lines(compared.difference.unreadable, Verbosity.NORMAL)
    lines = (*[f"note: {note}" for note in notes(compared)], *unreadable)
    # An export shows objects, but no workloads with gangs to place.
    before = _side(render(earlier), snapshot) if old.is_rendered and old.objects is not None else None
    return _Comparison(before, tuple(changed_kinds(compared)) if compared.difference.is_compared else None, lines)


def _earlier_package(package: Package) -> Package:
    """Return the package before the change. If the baseline has no configuration, the current one applies to its
    workloads.
    """
    items = package.baseline or ()
    earlier = package.replace(items=items, baseline=None, documents=package.documents_before, documents_before=())
    bare = earlier.replace(function_config=None, context=())
    if not has_sources(bare):
        # An export, because no configuration makes its objects a source.
        return bare
    if any(has_topology(item) for item in items):
        return earlier
    return earlier.replace(context=(*package.context, *(item for item in package.items if has_topology(item))))


def _sort_results(state: State) -> State:
    return state.replace(results=sort_results(state.results))


def _side(rendered: Rendered, snapshot: Snapshot) -> Side:
    there = situation(rendered, snapshot)
    words = {} if rendered.scheduled is None else level_words(rendered.scheduled)
    return Side(there, place_gangs(there) if snapshot.nodes else None, words)


def _text_of(output: Drawing, picture: Picture, command: ReportOptions) -> Text:
    folder = Path(output.file).parent if output.file is not None else Path()
    text = _PRINTERS[output.format](Drawn(picture, Path(os.path.relpath(".", folder)).as_posix(), command.source_url))
    return Text((text,), output.file)


_PRINTERS: dict[ReportFormat, Callable[[Drawn], str]] = {"html": as_html, "svg": as_svg, "mermaid": as_mermaid}
