"""The tree of a task group: which tasks are placed together, within which domain, and under which names.

Source: spec/osmo.md#4, #d5, #d6, #d8, #decisions.

The rule is OSMO's, without the defects D1 to D5, D7 and D9: a node is told by its whole path, every node is
kept, only leaves hold tasks, and a required level is never lost.
"""

from __future__ import annotations

import re
from collections import Counter

from krmfn.hints import TYPE_CHECKING, TypeVar
from krmfn.record import NamedTuple
from packwise.placement import Bounds

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterable, Mapping, Sequence

    from packwise.topology.known import Level

MAX_NAME = 63
"""Every name here is the value of a label somewhere, too."""

_HASH = 8
_UNNAMED = "unnamed"

_NO_NAME = re.compile(r"[^a-z0-9-]+")
_NO_VALUE = re.compile(r"[^A-Za-z0-9_.-]+")

K = TypeVar("K", bound="Hashable")


def safe_name(wanted: str) -> str:
    """`wanted` as a DNS label, but for its length: in lower case, with a dash for what no label takes."""
    return _NO_NAME.sub("-", wanted.lower()).strip("-") or _UNNAMED


def label_text(wanted: str) -> str:
    """`wanted` as the value of a label: itself where it is one, else without what none takes, cut to 63 characters."""
    return _NO_VALUE.sub("-", wanted)[:MAX_NAME].strip("-_.")


def unique_names(wanted: Iterable[tuple[K, str, str]]) -> dict[K, str]:
    """A DNS label for each key: of `wanted`, (key, name, what tells the key from all others).

    A name that is too long, and one that two keys would have, ends in a hash of what tells its key apart; the one key
    whose own name it is keeps it. Their order does not count.
    """
    entries = [(key, name, safe_name(name), identity) for key, name, identity in wanted]
    sharing: dict[str, list[bool]] = {}
    for _, name, safe, _ in entries:
        sharing.setdefault(safe, []).append(name == safe)
    names: dict[K, str] = {}
    for key, name, safe, identity in entries:
        owners = sharing[safe]
        is_owner = len(owners) == 1 or (name == safe and sum(owners) == 1)
        names[key] = safe if is_owner and len(safe) <= MAX_NAME else _hash_name(safe, identity)
    return names


def _hash_name(safe: str, identity: str) -> str:
    import hashlib

    digest = hashlib.sha256(identity.encode("utf-8", "surrogatepass")).hexdigest()[:_HASH]
    return f"{safe[: MAX_NAME - _HASH - 1].rstrip('-')}-{digest}"


PADDED = "unconstrained"
"""The name of the node that holds the tasks which ask for nothing at its level."""


class Levelled(NamedTuple):
    """A requirement at a level of the pool, 0 being the broadest: tasks of one `group` are placed together."""

    level: int
    group: str
    required: bool = True


class TreeStep(NamedTuple):
    """A step of a path: the level, and the group there; None for tasks that are padded at this level."""

    level: int
    group: str | None


Path = tuple[TreeStep, ...]
"""A node: the steps that lead to it from the root."""


class TaskNode(NamedTuple):
    """A node below the branching point; `wanted` is its name before it is made safe.

    A leaf holds `members` tasks; an inner node (None) holds the nodes whose parent it is.
    """

    path: Path
    wanted: str
    name: str
    parent: str | None
    members: int | None
    bounds: Bounds


class TaskTree(NamedTuple):
    """`bounds` hold for the whole group, along `shared`, the path that all its tasks have in common.

    `nodes` stand parents first; `leaves` is the name of each task's node, in the tasks' order, None where there are no
    nodes.
    """

    bounds: Bounds | None
    shared: Path
    nodes: tuple[TaskNode, ...]
    leaves: tuple[str | None, ...]


def paths_of(tasks: Sequence[Sequence[Levelled]], *, pad: bool) -> list[Path]:
    """The path of each task: its requirements, broadest first; with `pad`, also what others ask for and it does not.

    Of two requirements at one level the first counts.
    """
    used = sorted({each.level for task in tasks for each in task})
    paths: list[Path] = []
    for task in tasks:
        groups: dict[int, str | None] = {}
        for each in task:
            groups.setdefault(each.level, each.group)
        paths.append(tuple([TreeStep(level, groups.get(level)) for level in used if pad or level in groups]))
    return paths


def build(tasks: Sequence[Sequence[Levelled]], levels: Sequence[Level], *, pad: bool) -> TaskTree:
    """The tree of a group of tasks, each given by what it asks for; `levels` are the pool's, broadest first.

    Without `pad` the tasks must have requirements at the same levels, or none of them any.
    """
    paths = paths_of(tasks, pad=pad)
    nodes = _nodes(tasks, paths)
    children: dict[Path, list[Path]] = {}
    for path in nodes:
        children.setdefault(path[:-1], []).append(path)
    branching: Path = ()
    while len(children.get(branching, ())) == 1:
        branching = children[branching][0]
    bounds = _shared_bounds(branching, nodes, levels)
    below = _preorder(branching, children)
    names = unique_names([(path, join_groups(path), _identity(path)) for path in below])
    members = Counter(paths)
    written = tuple([
        TaskNode(
            path,
            join_groups(path),
            names[path],
            names.get(path[:-1]),
            None if path in children else members[path],
            _bounds(path, nodes, levels),
        )
        for path in below
    ])  # fmt: skip
    return TaskTree(bounds, branching, written, tuple([names.get(path) for path in paths]))


def _nodes(tasks: Sequence[Sequence[Levelled]], paths: Sequence[Path]) -> dict[Path, bool | None]:
    """Every node in order of first appearance, and whether its level is required; None for a padded one.

    One task that requires it is enough: which of them comes first does not count.
    """
    nodes: dict[Path, bool | None] = {}
    for task, path in zip(tasks, paths, strict=True):
        required = {each.level: any(e.required for e in task if e.level == each.level) for each in task}
        for depth, step in enumerate(path, start=1):
            node = path[:depth]
            before = nodes.get(node)
            nodes[node] = None if step.group is None else bool(before) or required[step.level]
    return nodes


def _bounds(path: Path, nodes: Mapping[Path, bool | None], levels: Sequence[Level]) -> Bounds:
    level = levels[path[-1].level]
    return Bounds(required=level) if nodes[path] else Bounds(preferred=level)


def _shared_bounds(shared: Path, nodes: Mapping[Path, bool | None], levels: Sequence[Level]) -> Bounds | None:
    """The finest required level along the path, and the finest preferred one where that is finer still."""
    required = preferred = None
    for depth, step in enumerate(shared, start=1):
        if nodes[shared[:depth]]:
            required, preferred = levels[step.level], None
        else:
            preferred = levels[step.level]
    return Bounds(required, preferred) if shared else None


def _preorder(root: Path, children: Mapping[Path, list[Path]]) -> list[Path]:
    paths: list[Path] = []
    waiting = list(reversed(children.get(root, ())))
    while waiting:
        path = waiting.pop()
        paths.append(path)
        waiting += reversed(children.get(path, ()))
    return paths


def join_groups(path: Path) -> str:
    """The name that OSMO gives a node: its groups by dashes, without a dash after nothing."""
    name = ""
    for step in path:
        group = PADDED if step.group is None else step.group
        name = f"{name}-{group}" if name else group
    return name


def _identity(path: Path) -> str:
    """A text that no other path has: lengths tell where each group ends."""
    return "".join(
        [f"{step.level}:" + ("-" if step.group is None else f"{len(step.group)}:{step.group}") for step in path]
    )
