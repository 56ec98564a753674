"""Jinja's sandbox, configured as in OSMO. Use it in a process with limits, because a template can use up every
resource.

It also excludes everything that differs between runs: random numbers, the clock, memory addresses, the order of sets.
"""

from __future__ import annotations

import codecs
import html
import json
import os
import pprint
import re
import textwrap
import unicodedata
from collections.abc import Iterator
from datetime import date
from functools import wraps
from types import BuiltinFunctionType, FunctionType, MethodType, MethodWrapperType

from jinja2 import StrictUndefined, TemplateError, TemplateSyntaxError, UndefinedError, debug, nodes
from jinja2.environment import Template
from jinja2.exceptions import SecurityError
from jinja2.meta import find_undeclared_variables
from jinja2.runtime import BlockReference
from jinja2.sandbox import SandboxedEnvironment
from jinja2.utils import Cycler, Joiner
from jinja2.visitor import NodeTransformer

from krmfn.hints import TYPE_CHECKING, Record, cast

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any, TypeVar

    from jinja2.runtime import Context

    from krmfn.value import Value

    T = TypeVar("T")

_NO_LOADER: dict[type[nodes.Node], str] = {
    nodes.Extends: "extends", nodes.Include: "include", nodes.Import: "import", nodes.FromImport: "import",
}  # fmt: skip

_CAUGHT = (nodes.Macro, nodes.CallBlock, nodes.AssignBlock, nodes.FilterBlock, nodes.Block)
"""Nodes with a text that becomes a value. The template can read this value."""

_TEXTLESS = (
    FunctionType, BuiltinFunctionType, MethodType, MethodWrapperType, type, BlockReference, Cycler, Joiner,
)  # fmt: skip

_VARYING_METHODS: tuple[tuple[type, frozenset[str]], ...] = (
    (date, frozenset({"now", "strptime", "today", "utcnow"})),
    (str, frozenset({"encode"})),
    (bytes, frozenset({"decode"})),
)
"""Methods that read the clock, or that import modules. A machine may lack these modules."""

_PRELOADED = (debug, html, pprint, textwrap, unicodedata, codecs.lookup("ascii"), codecs.lookup("unicode-escape"))
"""Modules that Jinja and Python import only when a template needs them. The process with limits can open no file."""

_MAX_ERROR_LENGTH = 4_000
"""The largest number of characters in an error text. A longer text is cut."""


class FilledTemplate(Record):
    """A filled-in template. For each line of `text`, `lines` has the line of the template, counted from 1."""

    text: str
    lines: tuple[int, ...]


class Failure(Record):
    """The failure of a template at `line`, counted from 1.

    `message` describes it. `error` is Jinja's own text, or None. `missing` are the variables without a value.
    """

    message: str
    line: int
    error: str | None = None
    missing: tuple[str, ...] = ()


def answer_of(text: str, values: Mapping[str, Value]) -> bytes:
    """Fill in the template `text` with `values`. Return the result or the failure, encoded for `read_answer`.

    Raise MemoryError or RecursionError if the template causes one. With a hostile template, the call may never end.
    """
    done = _render(text, values)
    failed = isinstance(done, Failure)
    parts = (done.message, done.line, done.error, done.missing) if failed else (done.text, done.lines)
    return json.dumps(parts, ensure_ascii=False).encode()


def read_answer(answer: bytes, lines: int) -> FilledTemplate | Failure | None:
    """Return the result or the failure in `answer`. Return None if the answer is invalid.

    `lines` is the number of lines in the template. A process sends the answer, so it is untrusted.
    """
    try:
        parts: Any = json.loads(answer)
    except (ValueError, RecursionError):
        return None
    match parts:
        case [str(text), own]:
            numbers = _all_of(int, own)
            fits = len(numbers) == text.count("\n") + 1 and all(1 <= each <= lines for each in numbers)
            return FilledTemplate(text, numbers) if fits else None
        case [str(message), int(line), str() | None as error, missing]:
            return Failure(message, min(max(line, 1), lines), error, _all_of(str, missing))
        case _:
            return None


def _all_of(kind: type[T], values: Any) -> tuple[T, ...]:
    """Return the values of a list. If it is no list, or a value has another type than `kind`, return none."""
    listed = cast("list[Any]", values) if isinstance(values, list) else []
    return tuple(listed) if all(type(each) is kind for each in listed) else ()


def _render(text: str, values: Mapping[str, Value]) -> FilledTemplate | Failure:
    environment = _ENVIRONMENT
    template: Template | None = None
    tree: nodes.Template | None = None
    try:
        _refuse_sets(values)
        tree = environment.parse(text)
        # The mark is random, so a template cannot contain it.
        mark = f"\ue000{os.urandom(8).hex()}\ue001"
        marked = _Marked(mark).visit(environment.parse(text))
        marked.set_environment(environment)
        template = Template.from_code(environment, environment.compile(marked), environment.globals)
        output = "".join(template.root_render_func(template.new_context(dict(values))))
        output.encode()
    except (MemoryError, RecursionError):
        raise
    except _NoLoaderError as error:
        return Failure(error.message, error.line)
    except UndefinedError as error:
        missing = _missing_variables(tree, environment, values) if tree is not None else ()
        line = _first_line(tree, missing) if missing else _line_of(error, template)
        return Failure("" if missing else _text_of(str(error)), line, _text_of(f"{type(error)}: {error}"), missing)
    except Exception as error:  # Any error that a template causes in functions of Python and Jinja.
        line = error.lineno if isinstance(error, TemplateSyntaxError) else _line_of(error, template)
        own = _text_of(f"{type(error)}: {error}") if isinstance(error, TemplateError) else None
        return Failure(_text_of(str(error)) or type(error).__name__, line, own)
    return _without_marks(output, mark)


def _text_of(error: str) -> str:
    return error[:_MAX_ERROR_LENGTH].encode("utf-8", "backslashreplace").decode()


class _NoLoaderError(Exception):
    def __init__(self, word: str, line: int) -> None:
        self.message, self.line = f"it has `{word}`, which packwise does not fill in", line
        super().__init__(self.message)


class _Textless:
    """A value that has no text, because its text would contain a memory address."""

    __slots__ = ("value",)

    def __init__(self, value: Any) -> None:
        self.value = value

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.value(*args, **kwargs)

    def __repr__(self) -> str:
        raise SecurityError("a function, a class or a set is no value")


class _Generator(_Textless):
    """An iterator. Its text would contain a memory address too."""

    __slots__ = ()

    def __iter__(self) -> Iterator[Any]:
        return self.value

    def __next__(self) -> Any:
        return next(self.value)


def _with_text(value: Any) -> Any:
    """Return `value` in the form that a template may see. Raise SecurityError for a set."""
    if isinstance(value, _TEXTLESS):
        return _Textless(value)
    if isinstance(value, (set, frozenset)):
        raise SecurityError("a function, a class or a set is no value")
    if isinstance(value, Iterator) and not isinstance(value, _Textless):
        return _Generator(value)
    return cast("Any", value)


def _unwrap(value: Any) -> Any:
    return value.value if isinstance(value, _Textless) else value


class _Environment(SandboxedEnvironment):
    intercepted_binops = frozenset("-")
    """Check the results of `-`. The difference between the keys of two mappings is a set, which has no order."""

    def __init__(self) -> None:
        super().__init__(undefined=StrictUndefined)
        del self.globals["lipsum"], self.filters["random"]
        self.globals = {name: _with_text(each) for name, each in self.globals.items()}
        self.filters = {name: _filter_with_text(each) for name, each in self.filters.items()}

    def is_safe_attribute(self, obj: Any, attr: str, value: Any) -> bool:
        is_varying = any(isinstance(obj, kind) and attr in names for kind, names in _VARYING_METHODS)
        return not is_varying and super().is_safe_attribute(obj, attr, value)

    def getattr(self, obj: Any, attribute: str) -> Any:
        return _with_text(super().getattr(_unwrap(obj), attribute))

    def getitem(self, obj: Any, argument: Any) -> Any:
        return _with_text(super().getitem(_unwrap(obj), argument))

    def call(__self, __context: Context, __obj: Any, *args: Any, **kwargs: Any) -> Any:  # noqa: N805
        return _with_text(super().call(__context, _unwrap(__obj), *args, **kwargs))

    def call_binop(self, context: Context, operator: str, left: Any, right: Any) -> Any:
        return _with_text(super().call_binop(context, operator, left, right))


def _filter_with_text(function: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        return _with_text(function(*args, **kwargs))

    return call


class _Marked(NodeTransformer):
    """Insert `mark` and the line number at the start of each line of text in the syntax tree of a template.

    Text that becomes a value is not marked.
    """

    def __init__(self, mark: str) -> None:
        self._mark = mark
        self._caught = 0

    def visit(self, node: nodes.Node, *args: Any, **kwargs: Any) -> Any:
        word = _NO_LOADER.get(type(node))
        if word is not None:
            raise _NoLoaderError(word, node.lineno)
        caught = isinstance(node, _CAUGHT) or (isinstance(node, nodes.For) and node.recursive)
        self._caught += caught
        visited = super().visit(node, *args, **kwargs)
        self._caught -= caught
        return visited

    def visit_TemplateData(self, node: nodes.TemplateData) -> nodes.Node:  # noqa: N802
        if not self._caught:
            lines = node.data.split("\n")
            node.data = "\n".join([f"{self._mark}{node.lineno + at}\ue001{line}" for at, line in enumerate(lines)])
        return node


def _refuse_sets(values: Any) -> None:
    waiting = [values]
    while waiting:
        part = _with_text(waiting.pop())
        if isinstance(part, dict):
            waiting += [*part.keys(), *part.values()]
        elif isinstance(part, (list, tuple)):
            waiting += part


def _missing_variables(tree: nodes.Template, environment: _Environment, values: Mapping[str, Value]) -> tuple[str, ...]:
    """Return the variables that need a value but have none, in the order of the template."""
    undeclared = find_undeclared_variables(tree) - values.keys() - environment.globals.keys()
    optional = {id(each.node) for each in tree.find_all(nodes.Test) if each.name in ("defined", "undefined")}
    optional |= {id(each.node) for each in tree.find_all(nodes.Filter) if each.name in ("default", "d")}
    names = [name for name in tree.find_all(nodes.Name) if name.ctx == "load" and id(name) not in optional]
    names.sort(key=lambda name: name.lineno)
    return tuple(dict.fromkeys([name.name for name in names if name.name in undeclared]))


def _first_line(tree: nodes.Template | None, missing: tuple[str, ...]) -> int:
    names = tree.find_all(nodes.Name) if tree is not None else ()
    wanted = set(missing)
    return min([name.lineno for name in names if name.name in wanted], default=1)


def _line_of(error: BaseException, template: Template | None) -> int:
    """Return the line of the template that raised `error`, or 1 if it is unknown."""
    trace, line = error.__traceback__, 1
    while trace is not None and template is not None:
        if trace.tb_frame.f_code.co_filename == "<template>":
            line = template.get_corresponding_lineno(trace.tb_lineno)
        trace = trace.tb_next
    return line


def _without_marks(output: str, mark: str) -> FilledTemplate:
    texts: list[str] = []
    lines: list[int] = []
    number = re.compile(f"{mark}(\\d+)\ue001")
    for line in output.split("\n"):
        parts = number.split(line)
        # The parts are text and number in turn.
        lines.append(int(parts[1]) if len(parts) > 1 else (lines[-1] if lines else 1))
        texts.append("".join(parts[::2]))
    return FilledTemplate("\n".join(texts), tuple(lines))


_ENVIRONMENT = _Environment()
# Make the lexer now. Otherwise, each copy of the process would compile its regular expressions again.
_ = _ENVIRONMENT.lexer
