"""A render of many files by several processes: the same bytes as one process gives."""

from __future__ import annotations

from functools import partial

from krmfn.errors import FieldError
from krmfn.hints import TYPE_CHECKING
from krmfn.record import NamedTuple
from krmfn.result import exit_code, sort_results
from packwise.cli.judgement import judge_of
from packwise.cli.rendered_files import outcome_of, without_bookkeeping
from packwise.cli.shares import slices_of
from packwise.cli.stream import joined, stream_of_file
from packwise.cli.workloads import workloads_of
from packwise.objects.identity import identity
from packwise.objects.kinds import GENERATED
from packwise.pipeline import Rendered, render
from packwise.pipeline.portions import is_divisible, portion_of, together
from packwise.processes import answers

if TYPE_CHECKING:
    from collections.abc import Container, Sequence

    from krmfn.result import Result
    from packwise.cli.inputs import Inputs
    from packwise.cli.unread import Unread
    from packwise.pipeline.portions import Portion
    from packwise.select import Package

__all__ = ["Apart", "rendered_apart"]

_ORDER = {kind.name: kind.write_order for kind in GENERATED}

Key = tuple[int, str, str]
"""The place of a generated object: by its kind, then by namespace and name of its workload."""


class Apart(NamedTuple):
    """What a render says and prints; `text` is None where there is an error.

    `workloads` is how many were judged, `judge` by what.
    """

    results: tuple[Result, ...]
    text: str | None
    workloads: int
    judge: str | None


class _Written(NamedTuple):
    """The generated objects of one kind and workload, each after a marker: `key` is their place."""

    key: Key
    version: str
    text: str


class _Piece(NamedTuple):
    """What becomes of some of the workloads: the texts of their files, and what is generated from them.

    `topologies` are generated from what is no workload. There is no text where there is an error.
    """

    portion: Portion
    files: tuple[str, ...]
    generated: tuple[_Written, ...]
    topologies: tuple[_Written, ...]
    workloads: int
    judge: str | None


def rendered_apart(inputs: Inputs, processes: int) -> Apart | None:
    """The render of `inputs` by so many processes, printed as one stream; None where it has to be rendered whole."""
    if exit_code(inputs.results) or not is_divisible(inputs.package):
        return None
    pieces = answers(partial(_piece, inputs.package), slices_of(inputs.unread, processes))
    if pieces is None:
        return None
    results = together([piece.portion for piece in pieces])
    if results is None or len({piece.judge for piece in pieces}) > 1:
        return None
    text = None
    if not exit_code(results):
        if not _are_of_one_order(pieces):
            return None
        try:
            text = _text(inputs, pieces)
        except FieldError:
            return None
    workloads = sum([piece.workloads for piece in pieces])
    return Apart(sort_results([*inputs.results, *results]), text, workloads, pieces[0].judge)


def _piece(package: Package, unread: Sequence[Unread]) -> _Piece | None:
    """What becomes of the workloads in some files; None where something is about several, or cannot be read."""
    workloads = workloads_of(unread)
    if workloads is None or workloads.results or workloads.lost:
        return None
    number = len(package.items)
    package = package._replace(items=(*package.items, *workloads.items))
    rendered = render(package, writes=True)
    portion = portion_of(package, rendered, workloads.items)
    if portion is None or any(
        kept is not item for kept, item in zip(rendered.kept[:number], package.items, strict=False)
    ):
        return None
    own = {id(plan.workload) for plan in rendered.plans}
    generated: tuple[_Written, ...] = ()
    topologies: tuple[_Written, ...] = ()
    files: tuple[str, ...] = ()
    if not exit_code(rendered.results):
        outcome = outcome_of(workloads.files, rendered._replace(kept=rendered.kept[number:], generated=()))
        files = tuple([file.text for file in outcome.files])
        try:
            generated, topologies = _written(rendered, own)
        except FieldError:
            return None
    return _Piece(portion, files, generated, topologies, rendered.workloads, judge_of(rendered))


def _written(rendered: Rendered, own: Container[int]) -> tuple[tuple[_Written, ...], tuple[_Written, ...]]:
    """What is generated from the workloads `own`, given by their identities in memory, and the rest."""
    texts: dict[tuple[bool, Key, str], list[str]] = {}
    for source, item in zip(rendered.sources, rendered.generated, strict=True):
        value, subject = source.value, source.subject
        _, _, namespace, workload = ("", "", "", "") if subject is None else identity(subject.value)
        key = _ORDER[str(value["kind"])] or 0, namespace, workload
        place = id(source.subject) in own, key, str(value["apiVersion"])
        texts.setdefault(place, []).append(f"---\n{without_bookkeeping(item).text}")
    written = [(is_own, _Written(key, version, "".join(each))) for (is_own, key, version), each in texts.items()]
    return tuple([each for is_own, each in written if is_own]), tuple([each for is_own, each in written if not is_own])


def _are_of_one_order(pieces: Sequence[_Piece]) -> bool:
    """Whether keys order all generated objects, and the pieces agree on those that follow from no workload."""
    topologies = pieces[0].topologies
    if any(piece.topologies != topologies for piece in pieces):
        return False
    own = {(each.key[0], each.version) for piece in pieces for each in piece.generated}
    kinds = [kind for kind, _ in own]
    # Of two kinds in one place, the schedulers' order counts before the workloads'.
    return len(kinds) == len(set(kinds)) and not {each.key[0] for each in topologies} & set(kinds)


def _text(inputs: Inputs, pieces: Sequence[_Piece]) -> str:
    """Every file in its place, then the generated objects. Raises FieldError where an object has no written form."""
    others = outcome_of(inputs.files, Rendered(inputs.package.items, (), ())).files
    own = zip(
        [each.path.identity for each in inputs.unread], [text for piece in pieces for text in piece.files], strict=True
    )
    texts = {file.path.identity: stream_of_file(file) for file in others if file.is_stream} | dict(own)
    generated = [each for piece in pieces for each in piece.generated] + list(pieces[0].topologies)
    # Stable: what one workload becomes is in the operator's own order.
    generated.sort(key=_key_of)
    files = [texts[at] for at in inputs.order if at in texts]
    return joined([*files, *[each.text for each in generated]])


def _key_of(written: _Written) -> Key:
    return written.key
