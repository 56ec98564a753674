"""A render of many files by several processes: the same bytes as one process gives."""

from __future__ import annotations

from functools import partial
from itertools import groupby

from krmfn.errors import FieldError
from krmfn.hints import TYPE_CHECKING
from krmfn.record import NamedTuple
from krmfn.result import exit_code, sort_results
from packwise.cli.coverage import Coverage, judge_of
from packwise.cli.document import Document, InputFile
from packwise.cli.rendered_files import NewText, Outcome, outcome_of, without_bookkeeping
from packwise.cli.shares import slices_of
from packwise.cli.workloads import workloads_of
from packwise.pipeline import Rendered, render
from packwise.pipeline.portions import (
    are_in_order,
    by_portions,
    is_divisible,
    owners_of,
    place_of,
    portion_of,
    together,
)
from packwise.processes import answers

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from krmfn.kubeobject import KubeObject
    from krmfn.result import Result
    from packwise.cli.inputs import Inputs
    from packwise.cli.unread import Unread
    from packwise.pipeline.portions import Place, Portion
    from packwise.select import Package

__all__ = ["Apart", "rendered_apart"]


class Apart(NamedTuple):
    """What a render says and writes, and what it judged; there is no `outcome` where there is an error."""

    results: tuple[Result, ...]
    outcome: Outcome | None
    coverage: Coverage


class _Written(NamedTuple):
    """A generated object, or all of one kind and workload for a stream."""

    place: Place
    version: str
    new: NewText


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


def rendered_apart(inputs: Inputs, processes: int, *, in_files: bool) -> Apart | None:
    """The render of `inputs` by so many processes, for a stream or `in_files` of a folder.

    None where it has to be rendered whole.
    """
    if exit_code(inputs.results) or not is_divisible(inputs.package):
        return None
    pieces_of = partial(_pieces, inputs.package, in_files=in_files)
    answered = answers(pieces_of, slices_of(inputs.unread, processes))
    if answered is None:
        return None
    pieces = [piece for pieces in answered for piece in pieces]
    results = together([piece.portion for piece in pieces])
    if results is None or len({piece.judge for piece in pieces}) > 1:
        return None
    outcome = None
    if not exit_code(results):
        if not _are_of_one_order(pieces):
            return None
        try:
            outcome = _outcome(inputs, pieces)
        except FieldError:
            return None
    workloads = sum([piece.workloads for piece in pieces])
    coverage = Coverage(((workloads, pieces[0].judge or ""),), 0, inputs.left_out)
    return Apart(sort_results([*inputs.results, *results]), outcome, coverage)


def _pieces(package: Package, unread: Sequence[Unread], *, in_files: bool) -> list[_Piece] | None:
    """What becomes of the workloads in some files; None where something is about several, or cannot be read."""
    return by_portions(partial(_piece, package, in_files=in_files), unread, len(package.items))


def _piece(package: Package, unread: Sequence[Unread], *, in_files: bool) -> _Piece | None:
    """What becomes of the workloads in some files; None where something is about several, or cannot be read."""
    workloads = workloads_of(unread)
    if workloads is None or workloads.results or workloads.lost:
        return None
    others = package.items
    package = package._replace(items=(*others, *workloads.items))
    rendered = render(package, writes=True)
    portion = portion_of(package, rendered, workloads.items)
    if portion is None or any(after is not item for after, item in zip(rendered.kept, others, strict=False)):
        return None
    if exit_code(rendered.results):
        return _Piece(portion, (), (), (), rendered.workloads, judge_of(rendered))
    if in_files and rendered.gitops:
        # What stands in which folder then, the objects themselves say.
        return None
    try:
        outcome = outcome_of(workloads.files, rendered._replace(kept=rendered.kept[len(others) :], generated=()))
        files = tuple([file.text for file in outcome.files])
        generated, topologies = _written(rendered, in_files=in_files)
    except ValueError:
        # An object without a written form, or without a path that a file may have.
        return None
    return _Piece(portion, files, generated, topologies, rendered.workloads, judge_of(rendered))


def _written(rendered: Rendered, *, in_files: bool) -> tuple[tuple[_Written, ...], tuple[_Written, ...]]:
    """What is generated from workloads, and the rest. Raises ValueError where an object is not to be written."""
    owners = owners_of(rendered)
    generated: tuple[list[_Written], list[_Written]] = [], []
    for source, item in zip(rendered.sources, rendered.generated, strict=True):
        path, name = (_path_of(item), item.id.short) if in_files else ("", "")
        new = NewText(without_bookkeeping(item).text, path, name)
        owner = owners.get(id(source.subject))
        written = _Written(place_of(source, owner), str(source.value["apiVersion"]), new)
        generated[owner is None].append(written)
    if in_files:
        return tuple(generated[0]), tuple(generated[1])
    return tuple(_together(generated[0])), tuple(_together(generated[1]))


def _path_of(item: KubeObject) -> str:
    # Who prints imports nothing of what writes.
    from packwise.cli.folder import new_path
    from packwise.cli.target import target_path

    return target_path(new_path(item))


def _together(written: Iterable[_Written]) -> Iterator[_Written]:
    """Those of one place as one text, which takes less to hand over."""
    for (place, version), alike in groupby(written, lambda each: (each.place, each.version)):
        yield _Written(place, version, NewText("".join([f"---\n{each.new.text}" for each in alike])))


def _are_of_one_order(pieces: Sequence[_Piece]) -> bool:
    """Whether places order all generated objects, and the pieces agree on those that follow from no workload."""
    topologies = pieces[0].topologies
    if any(piece.topologies != topologies for piece in pieces):
        return False
    own = [(each.place[0], each.version) for piece in pieces for each in piece.generated]
    return are_in_order(own, [each.place for each in topologies])


def _outcome(inputs: Inputs, pieces: Sequence[_Piece]) -> Outcome:
    """Every file in its place, and the generated objects. Raises FieldError where an object has no written form."""
    others = outcome_of(inputs.files, Rendered(inputs.package.items, (), ())).files
    texts = [text for piece in pieces for text in piece.files]
    own = [InputFile(path, (Document("", text),)) for (path, _), text in zip(inputs.unread, texts, strict=True)]
    files = {file.path.identity: file for file in (*others, *own)}
    generated = [each for piece in pieces for each in piece.generated] + list(pieces[0].topologies)
    # Stable: what one workload becomes is in the operator's own order.
    generated.sort(key=lambda each: each.place)
    ordered = tuple([files[at] for at in inputs.order if at in files])
    return Outcome(ordered, (), (), tuple([each.new for each in generated]))
