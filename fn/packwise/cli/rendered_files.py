"""Files of rendered objects, as a stream or a folder."""

from __future__ import annotations

import re

from krmfn.hints import TYPE_CHECKING, cast
from krmfn.kubeobject import KubeObject
from krmfn.record import Record
from krmfn.result import sort_results
from packwise.cli.judgement import rules_missed_by, variants_as_one
from packwise.cli.reader import Document
from packwise.objects import is_generated, stable_identities
from packwise.pipeline import Rendered, render
from packwise.render import PATH

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from krmfn.value import Value
    from packwise.cli.inputs import Inputs
    from packwise.cli.reader import InputFile
    from packwise.objects import Identity


class Outcome(Record):
    """`files` are those that were read, with what changed; `emptied` those of which nothing remains.

    `new` are the generated objects that stood in none of them.
    """

    files: tuple[InputFile, ...]
    emptied: tuple[InputFile, ...]
    new: tuple[KubeObject, ...]


def rendered_of(inputs: Inputs, *, writes: bool = False) -> Rendered:
    """The render of `inputs`, its results sorted, with an error where they could not be read whole.

    `writes`: whether the objects are written.
    """
    if inputs.is_lost:
        return Rendered(inputs.package.items, (), sort_results(inputs.results))
    rendered = render(inputs.package, writes=writes)
    missed = rules_missed_by(inputs.results)
    results = [result for result in rendered.results if result.tags.get("rule") not in missed]
    return rendered.replace(results=sort_results([*inputs.results, *variants_as_one(results, inputs)]))


def outcome_of(files: Iterable[InputFile], rendered: Rendered) -> Outcome:
    """The files with each object as `rendered` has it: edited at its place, or gone."""
    kept = iter(rendered.kept)
    files = tuple(files)
    generated = dict(zip(_keys(rendered.generated), rendered.generated, strict=True))
    earlier = [
        document.item
        for file in files
        for document in file.documents
        if document.item is not None and not document.entries and is_generated(document.item.value)
    ]
    keys = {id(item): key for item, key in zip(earlier, _keys(earlier), strict=True)}
    remaining: list[InputFile] = []
    emptied: list[InputFile] = []
    for file in files:
        documents = tuple(_documents(file, kept, keys, generated))
        is_emptied = bool(file.items) and all(document.is_blank for document in documents)
        (emptied if is_emptied else remaining).append(file.replace(documents=documents))
    return Outcome(tuple(remaining), tuple(emptied), tuple(generated.values()))


def _keys(items: Iterable[KubeObject]) -> list[Identity]:
    """What tells the objects from each other: gangs by an identity without their epoch."""
    return stable_identities([item.value for item in items])


def without_bookkeeping(item: KubeObject) -> KubeObject:
    """The object without the annotations by which clients remember where its document stood.

    Raises FieldError where an anchor is in the way.
    """
    annotations = item.get(("metadata", "annotations"))
    if not item.written and isinstance(annotations, dict):
        # A new object has no text yet: nothing has to be spliced.
        kept = {key: value for key, value in annotations.items() if not is_bookkeeping(key)}
        metadata = {**cast("Mapping[str, Value]", item.value["metadata"]), "annotations": kept}
        if not kept:
            del metadata["annotations"]
        return KubeObject.new({**item.value, "metadata": metadata})
    for key in annotations if isinstance(annotations, dict) else ():
        if is_bookkeeping(key):
            item = item.without_annotation(key)
    return item


def is_bookkeeping(key: str) -> bool:
    """Whether kpt takes the annotation `key` away when it writes files. Source: kyaml kio/kioutil."""
    return key.startswith(("internal.config.kubernetes.io/", "config.k8s.io/")) or key in (
        PATH,
        "config.kubernetes.io/index",
    )


def _documents(
    file: InputFile,
    kept: Iterator[KubeObject],
    keys: Mapping[int, Identity],
    generated: dict[Identity, KubeObject],
) -> Iterator[Document]:
    """The file's documents as they are now. A comment that stood alone before an object stays when that goes."""
    comment = ""
    for document in file.documents:
        item = document.item
        if document.entries:
            # What stands within a List is the list's own: it is judged, and the objects that follow are new ones.
            for entry in document.entries:
                if not is_generated(entry.value):
                    next(kept)
        elif item is not None:
            item = generated.pop(keys[id(item)], None) if id(item) in keys else next(kept)
            if item is None:
                comment += _comment(document.separator)
                continue
        yield Document(comment + document.separator, _text(file, document, item), item, document.line)
        comment = ""
    if comment:
        yield Document(comment, "")


def _text(file: InputFile, before: Document, item: KubeObject | None) -> str:
    if item is None:
        return before.text
    if file.is_list:
        return without_bookkeeping(item).text
    if is_generated(item.value):
        item = item.without_annotation(PATH)
    return before.text if item is before.item else item.text


def _comment(separator: str) -> str:
    """The part of `separator` that someone wrote: all but its last marker, where a line holds a comment alone."""
    lines = separator.splitlines(keepends=True)
    return "".join(lines[:-1]) if any(line.lstrip().startswith("#") for line in lines) else ""


_START = re.compile(r"---(?=[ \t\r\n]|\Z)")


def stream_of(outcome: Outcome) -> str:
    """Every file and then the new objects; a template, which is no YAML, would break the stream.

    Raises FieldError where an object has no written form.
    """
    files = [
        joined([document.text for document in file.documents]) if file.is_list else file.text
        for file in outcome.files
        if file.is_stream
    ]
    new = [without_bookkeeping(item).text for item in outcome.new]
    return joined([*files, *new])


def joined(texts: Iterable[str]) -> str:
    """The stream of all `texts`, each of them a stream: what no marker divides gets one."""
    pieces: list[str] = []
    for text in texts:
        if not text:
            continue
        if not pieces:
            pieces.append(text)
            continue
        last = pieces[-1]
        if not last.endswith("\n"):
            pieces.append("\r\n" if "\r\n" in last else "\n")
        # A byte order mark may stand at the start of a stream only; a directive only after the end of a document.
        text = text.removeprefix("\ufeff")  # noqa: PLW2901
        if text.startswith("%"):
            pieces.append("...\n")
        elif not _START.match(text):
            pieces.append("---\n")
        pieces.append(text)
    return "".join(pieces)
