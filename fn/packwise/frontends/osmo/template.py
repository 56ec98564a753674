"""Read a workflow spec as OSMO does: fill in its templates with values of spec and submission, then read its YAML.

Source: OSMO 1da31e19, src/lib/utils/workflow.py, `load_template_with_variables` of src/utils/job/workflow.py,
`yaml.safe_load`.
"""

from __future__ import annotations

import hashlib
import re
from functools import partial

from krmfn.hints import TYPE_CHECKING, Record, cast
from krmfn.yamltext import YamlError, read
from packwise.extras import OSMO
from packwise.frontends.osmo import account as accounts
from packwise.frontends.osmo.account import current_account
from packwise.lenient import value_at

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from yaml.error import Mark

    from krmfn.value import Value
    from packwise.frontends.osmo.account import Account
    from packwise.frontends.osmo.sandbox import Failure

_MAX_DEPTH = 500


class Duplicate(Record):
    """A repeated key of a mapping. `line` and `column` are counted from 1."""

    key: str
    line: int
    column: int


class TextRead(Record):
    """The value of a YAML text and the repeated keys in it."""

    value: Value
    duplicates: tuple[Duplicate, ...] = ()


def read_as_osmo(text: str) -> TextRead:
    """Return the value of the document `text` and its repeated keys.

    Raise YamlError if OSMO cannot read the text, or if it exceeds packwise's limits.
    """
    try:
        value = read(text)
    except YamlError as error:
        duplicates = _duplicates(text)
        if not duplicates:
            raise
        loaded = _load(text)
        if not isinstance(loaded, dict):
            raise error from None
        return TextRead(cast("Value", loaded), duplicates)
    loaded = _load(text)
    # If OSMO's reader cannot read the text as a mapping, checks of the fields report the problem.
    return TextRead(cast("Value", loaded) if isinstance(loaded, dict) else value)


def _load(text: str) -> object:
    # The import of PyYAML is lazy because it is slow (0.1 s). `packwise rules` imports this module but reads no
    # document.
    import yaml

    try:
        return yaml.load(text, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader))  # noqa: S506
    except (yaml.YAMLError, ValueError, OverflowError, RecursionError):
        return None


def _duplicates(text: str) -> tuple[Duplicate, ...]:
    """Return the repeated keys, or none if packwise refuses the text for another reason.

    packwise refuses texts with aliases and texts that are nested too deeply. OSMO's reader could do far more work for
    them than for other texts of the same size.
    """
    import yaml

    try:
        return tuple(_repeated_keys(text))
    except (yaml.YAMLError, ValueError):
        return ()


def _repeated_keys(text: str) -> Iterator[Duplicate]:
    import yaml

    # Each open node has the keys of a mapping so far, or None for a list, and True if a key comes next.
    open_nodes: list[tuple[set[str] | None, bool]] = []
    for event in yaml.parse(text, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader)):
        if isinstance(event, yaml.AliasEvent) or len(open_nodes) > _MAX_DEPTH:
            raise ValueError("not bounded")
        if isinstance(event, (yaml.MappingEndEvent, yaml.SequenceEndEvent)):
            open_nodes.pop()
            continue
        if not isinstance(event, yaml.NodeEvent):
            continue
        if open_nodes:
            keys, is_key = open_nodes[-1]
            if keys is not None and is_key and isinstance(event, yaml.ScalarEvent):
                if event.value in keys:
                    mark = cast("Mark", event.start_mark)
                    yield Duplicate(event.value, mark.line + 1, mark.column + 1)
                keys.add(event.value)
            open_nodes[-1] = keys, not is_key
        if isinstance(event, yaml.CollectionStartEvent):
            open_nodes.append((set() if isinstance(event, yaml.MappingStartEvent) else None, True))


MAX_TEMPLATE = 1_000_000
"""The largest number of characters in a template, and in a filled-in template."""

_SECTION = re.compile(r"^([a-zA-Z][a-zA-Z0-9_-]*):", re.MULTILINE)
_MARKERS = ("{%", "{{", "{#")
_TOKEN = re.compile(r"\{\{(?:(?:uuid|workflow_id|output)\Z|(?:input|host):.)", re.DOTALL)
"""Match the start of a token that OSMO fills in while the workflow runs, and not with the other templates.

OSMO's own pattern is `{{(uuid|workflow_id|output|input:[^}]+|host:[^}]+)}}`. It takes quadratic time for some texts.
"""
_TO_BRACE = re.compile(r"([^}]*)(\}\}?|\Z)")
_WORD = re.compile(r"\w+")


class TextSection(Record):
    """A section of a workflow spec. Its `text` starts with the line of its key. `line` is this line, counted from 1."""

    key: str
    text: str
    line: int


class Filled(Record):
    """A spec with its templates filled in. For each line of `text`, `lines` has the line of the spec, counted from 1.

    If the text is unchanged, `lines` is empty.
    """

    text: str
    lines: tuple[int, ...] = ()


class Unfilled(Record):
    """The failure to fill in a spec, at `line` and `column`, counted from 1. `error` is the text of OSMO, or None."""

    message: str
    line: int
    error: str | None = None
    column: int = 1


def sections(text: str) -> Iterator[TextSection]:
    """Yield the sections of a spec. Before OSMO reads the YAML, it searches for the lines with which sections start."""
    starts = list(_SECTION.finditer(text))
    line, before = 1, 0
    for number, match in enumerate(starts):
        end = starts[number + 1].start() if number + 1 < len(starts) else len(text)
        line, before = line + text.count("\n", before, match.start()), match.start()
        yield TextSection(match[1], text[before:end], line)


def fill(text: str, values: Mapping[str, Value], account: Account | None = None) -> Filled | Unfilled:
    """Return the spec `text` with its templates filled in, or the failure. `values` override defaults in the spec.

    The time and the characters are subtracted from `account`, or from the open account if there is none.
    """
    if not _has_markers(text):
        return Filled(text)
    by_key: dict[str, TextSection] = {}
    for section in sections(text):
        by_key.setdefault(section.key, section)
    workflow = by_key.get("workflow")
    if workflow is None or not _has_markers(replace_tokens(workflow.text, lambda _: "")):
        return Filled(text)
    if len(text) > MAX_TEMPLATE:
        return Unfilled(f"the template has more than {MAX_TEMPLATE} characters", workflow.line)
    defaults = _default_values(by_key.get("default-values"))
    if isinstance(defaults, Unfilled):
        return defaults
    if not OSMO.is_installed:
        return Unfilled(f"cannot fill in the template: {OSMO.advice}", workflow.line)
    account = account or current_account()
    known = hashlib.sha256(repr((text, values)).encode("utf-8", "backslashreplace")).digest()
    if known not in account.answers:
        account.answers[known] = _render(workflow, {**defaults, **values}, account)
    return cast("Filled | Unfilled", account.answers[known])


def _has_markers(text: str) -> bool:
    return any(marker in text for marker in _MARKERS)


def _default_values(section: TextSection | None) -> Mapping[str, Value] | Unfilled:
    if section is None:
        return {}
    try:
        read = read_as_osmo(section.text).value
    except YamlError as error:
        return Unfilled(
            f"the template is not YAML before it is filled in: {error.message}", section.line + error.line - 1
        )
    values = value_at(read, "default-values")
    if values is None or values == {}:
        return {}
    if not isinstance(values, dict):
        return Unfilled("must be a mapping of variables to values", section.line)
    return values


def _render(workflow: TextSection, values: Mapping[str, Value], account: Account) -> Filled | Unfilled:
    # The imports are lazy, because only a template needs Jinja.
    from packwise.frontends.osmo.confined import MAX_MEMORY, MAX_SECONDS, ConfinedError, call_confined
    from packwise.frontends.osmo.sandbox import Failure, answer_of, read_answer

    if account.is_spent:
        return Unfilled(
            "packwise did not fill in this template. The templates before it need more than "
            f"{accounts.MAX_SECONDS_TOGETHER} seconds of processor time or become more than "
            f"{accounts.MAX_CHARACTERS_TOGETHER} characters. Fix the earlier templates first",
            workflow.line,
        )
    text, kept = _variables_for_tokens(workflow.text)
    before, last = workflow.line - 1, workflow.text.count("\n") + 1
    try:
        done = call_confined(partial(answer_of, text, {**values, **kept}))
    except ConfinedError as error:
        return Unfilled(f"packwise cannot fill in the template in a process with limits: {error}", workflow.line)
    answer = None if done.answer is None else read_answer(done.answer, last)
    account.spend(done.seconds, 0 if answer is None or isinstance(answer, Failure) else len(answer.text))
    if isinstance(answer, Failure):
        return _fill_failure(answer, workflow)
    # The message names all limits. Otherwise, it would depend on the machine which limit is exceeded first.
    if answer is None or len(answer.text) > MAX_TEMPLATE:
        return Unfilled(
            f"cannot fill in the template: it needs more than {MAX_SECONDS} seconds of processor time or "
            f"{MAX_MEMORY >> 20} MiB of memory, is nested too deep, or becomes more than {MAX_TEMPLATE} characters",
            workflow.line,
        )
    lines = (*range(1, workflow.line), *(before + line for line in answer.lines))
    return Filled("\n" * before + answer.text, lines)


def _fill_failure(failure: Failure, workflow: TextSection) -> Unfilled:
    message = _unset_text(failure.missing) if failure.missing else f"cannot fill in the template: {failure.message}"
    own = None if failure.error is None else f"Jinja substitution failure: {failure.error}"
    column = _column(workflow.text, failure.line, failure.missing)
    return Unfilled(message, workflow.line - 1 + failure.line, own, column)


def _column(text: str, line: int, names: tuple[str, ...]) -> int:
    """Return the column of the first word in a line that is one of `names`, or 1. `line` is counted from 1."""
    part, wanted = text.split("\n")[line - 1], set(names)
    return next((match.start() for match in _WORD.finditer(part) if match[0] in wanted), 0) + 1


def replace_tokens(text: str, replacement: Callable[[str], str]) -> str:
    """Return the text with each token replaced by the result of `replacement`. Replacements are not searched again."""

    def part(match: re.Match[str]) -> str:
        start = _TOKEN.search(match[1]) if match[2] == "}}" else None
        if start is None:
            return match[0]
        at = start.start()
        return match[1][:at] + replacement(match[0][at:])

    return _TO_BRACE.sub(part, text)


def _variables_for_tokens(text: str) -> tuple[str, dict[str, Value]]:
    """Return the text with a variable in place of each token, and the values of these variables: the tokens.

    So filling in the template does not change the tokens.
    """
    kept: dict[str, Value] = {}

    def variable(token: str) -> str:
        digest = hashlib.md5(token[2:-2].strip().encode(), usedforsecurity=False).hexdigest()
        name = f"hash{int(digest, 16)}"
        kept[name] = token
        # The variable gets as many lines as the token, so that line numbers stay correct.
        return "{{" + name + "\n" * token.count("\n") + "}}"

    return replace_tokens(text, variable), kept


def _unset_text(names: tuple[str, ...]) -> str:
    options = " ".join([f"--set {name}=VALUE" for name in names])
    listed = ", ".join([f"`{name}`" for name in names])
    noun, them = ("variable", "it") if len(names) == 1 else ("variables", "them")
    return (
        f"no value for the {noun} {listed}. Add {them} to `default-values`, or set {them} with {options} or with "
        f"`osmo: {{values: …}}` in a TopologyRender"
    )
