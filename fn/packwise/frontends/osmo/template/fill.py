"""A workflow spec with its templates filled in: its own default values, and those of the submission over them.

Source: OSMO 1da31e19, src/lib/utils/workflow.py and `load_template_with_variables` of src/utils/job/workflow.py.
"""

from __future__ import annotations

import hashlib
import re

from krmfn.hints import TYPE_CHECKING
from krmfn.record import NamedTuple
from krmfn.yamltext import YamlError
from packwise.extras import OSMO
from packwise.frontends.osmo.reading import read_as_osmo

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from krmfn.value import Value

__all__ = ["MAX_TEMPLATE", "Filled", "Section", "Unfilled", "fill", "sections"]

MAX_TEMPLATE = 1_000_000
"""Characters of a template."""

_SECTION = re.compile(r"^([a-zA-Z][a-zA-Z0-9_-]*):", re.MULTILINE)
_MARKERS = ("{%", "{{", "{#")
_TOKEN = re.compile(r"\{\{(uuid|workflow_id|output|input:[^}]+|host:[^}]+)\}\}")
"""What OSMO fills in when the workflow runs; a template leaves it as it stands."""


class Section(NamedTuple):
    """A part of a workflow spec: `text` from the line of its key on, which is line `line` of the spec, 1-based."""

    key: str
    text: str
    line: int


class Filled(NamedTuple):
    """A spec without templates. `lines` are, for each line of `text`, the 1-based line of the spec that it comes from.

    There are none where the text is the spec's own.
    """

    text: str
    lines: tuple[int, ...] = ()


class Unfilled(NamedTuple):
    """Why a spec cannot be filled in, at `line` and `column` of it, 1-based.

    `error` is OSMO's own text, None where it has none.
    """

    message: str
    line: int
    error: str | None = None
    column: int = 1


def sections(text: str) -> Iterator[Section]:
    """The sections of a spec as OSMO finds them: by the lines that start them, before it reads any YAML."""
    starts = list(_SECTION.finditer(text))
    for number, match in enumerate(starts):
        end = starts[number + 1].start() if number + 1 < len(starts) else len(text)
        yield Section(match[1], text[match.start() : end], text.count("\n", 0, match.start()) + 1)


def fill(text: str, values: Mapping[str, Value]) -> Filled | Unfilled:
    """The spec `text` with its templates filled in; `values` count before its own default values."""
    if not _has_markers(text):
        return Filled(text)
    by_key: dict[str, Section] = {}
    for section in sections(text):
        by_key.setdefault(section.key, section)
    workflow = by_key.get("workflow")
    if workflow is None or not _has_markers(_TOKEN.sub("", workflow.text)):
        return Filled(text)
    if len(text) > MAX_TEMPLATE:
        return Unfilled(f"must have at most {MAX_TEMPLATE} characters to be filled in", workflow.line)
    defaults = _default_values(by_key.get("default-values"))
    if isinstance(defaults, Unfilled):
        return defaults
    if not OSMO.installed:
        return Unfilled(f"must be filled in: {OSMO.advice}", workflow.line)
    return _rendered(workflow, {**defaults, **values})


def _has_markers(text: str) -> bool:
    return any(marker in text for marker in _MARKERS)


def _default_values(section: Section | None) -> Mapping[str, Value] | Unfilled:
    if section is None:
        return {}
    try:
        read = read_as_osmo(section.text).value
    except YamlError as error:
        return Unfilled(f"must be YAML before anything is filled in: {error.message}", section.line + error.line - 1)
    values = read.get("default-values") if isinstance(read, dict) else None
    if values is None or values == {}:
        return {}
    if not isinstance(values, dict):
        return Unfilled("must be a mapping of variables to values", section.line)
    return values


def _rendered(workflow: Section, values: Mapping[str, Value]) -> Filled | Unfilled:
    # Jinja is imported where there is a template, and nowhere else.
    from packwise.frontends.osmo.template.sandbox import FillError, render

    text, kept = _without_tokens(workflow.text)
    before, last = workflow.line - 1, workflow.text.count("\n") + 1
    try:
        rendered = render(text, {**values, **kept})
    except FillError as error:
        message = (
            _unset(error.missing) if error.missing else f"must be a template that can be filled in: {error.message}"
        )
        own = None if error.error is None else f"Jinja substitution failure: {error.error}"
        # To Jinja a carriage return ends a line too.
        line = min(error.line, last)
        return Unfilled(message, before + line, own, _column(workflow.text, line, error.missing))
    lines = (*range(1, workflow.line), *(before + min(line, last) for line in rendered.lines))
    return Filled("\n" * before + rendered.text, lines)


def _column(text: str, line: int, names: tuple[str, ...]) -> int:
    """Where the first of `names` stands in that line."""
    part = text.split("\n")[line - 1]
    starts = [match.start() for name in names for match in re.finditer(rf"\b{re.escape(name)}\b", part)]
    return min(starts, default=0) + 1


def _without_tokens(text: str) -> tuple[str, dict[str, Value]]:
    """The text with a variable in the place of each token, and the variables' values: the tokens themselves."""
    kept: dict[str, Value] = {}

    def variable(match: re.Match[str]) -> str:
        digest = hashlib.md5(match[1].strip().encode(), usedforsecurity=False).hexdigest()
        name = f"hash{int(digest, 16)}"
        kept[name] = match[0]
        # As many lines as there were.
        return "{{" + name + "\n" * match[0].count("\n") + "}}"

    return _TOKEN.sub(variable, text), kept


def _unset(names: tuple[str, ...]) -> str:
    options = " ".join([f"--set {name}=VALUE" for name in names])
    listed = ", ".join([f"`{name}`" for name in names])
    noun, them = ("variable", "it") if len(names) == 1 else ("variables", "them")
    return (
        f"must have a value for the {noun} {listed}: add {them} to `default-values`, or set {them} with {options}, or "
        "with `osmo: {values: …}` in a TopologyRender"
    )
