"""Jinja for templates of strangers: OSMO's sandbox, with bounds that hold on every machine alike.

OSMO runs the sandbox in a process that it kills. Here nothing is killed: each loop, call and operation is paid for
before it runs, and what is not known to be bounded is refused.
"""

from __future__ import annotations

from jinja2 import StrictUndefined, TemplateError, TemplateSyntaxError, Undefined, UndefinedError, nodes, pass_context
from jinja2.environment import Template
from jinja2.exceptions import SecurityError
from jinja2.meta import find_undeclared_variables
from jinja2.runtime import LoopContext, Macro
from jinja2.sandbox import SandboxedEnvironment, safe_range
from jinja2.utils import Namespace
from jinja2.visitor import NodeTransformer

from krmfn.hints import TYPE_CHECKING, cast
from krmfn.record import NamedTuple
from packwise.frontends.osmo.template.filters import bounded_filters
from packwise.frontends.osmo.template.work import TooMuchWorkError, Work

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from typing import Any

    from jinja2.runtime import Context

    from krmfn.value import Value

__all__ = ["FillError", "Rendered", "render"]

_LOOP = frozenset(
    {"depth", "depth0", "first", "index", "index0", "last", "length", "nextitem", "previtem", "revindex", "revindex0"}
)
_METHODS: tuple[tuple[type, frozenset[str]], ...] = (
    (str, frozenset({
        "capitalize", "count", "endswith", "find", "isalnum", "isalpha", "isdigit", "lower", "lstrip", "removeprefix",
        "removesuffix", "rstrip", "split", "splitlines", "startswith", "strip", "title", "upper",
    })),
    (dict, frozenset({"get", "items", "keys", "values"})),
    (list, frozenset({"count", "index"})),
    (LoopContext, frozenset({"changed", "cycle"})),
)  # fmt: skip
"""The methods that a template may call: their result is no larger than what they are given."""

_REFUSED: dict[type[nodes.Node], str] = {
    nodes.Extends: "extends", nodes.Include: "include", nodes.Import: "import", nodes.FromImport: "import",
    nodes.Block: "block", nodes.ScopedEvalContextModifier: "autoescape",
}  # fmt: skip

# No name of a template can be one of these.
_EACH, _JOINED, _SPENT, _WEIGHED = "each of", "joined", "spent", "weighed"
_FIRST_MARK, _LAST_MARK = 0xE000, 0xF8FF

_ERRORS = (
    TemplateError, TypeError, ValueError, ArithmeticError, LookupError, AttributeError, SyntaxError,
)  # fmt: skip


class Rendered(NamedTuple):
    """A template filled in; `lines` are, for each line of `text`, the 1-based line of the template it comes from."""

    text: str
    lines: tuple[int, ...]


class FillError(Exception):
    """A template cannot be filled in: `message` says why, at `line` of it, 1-based.

    `error` is Jinja's own text, None where it is packwise that refuses. `missing` are the variables without a value.
    """

    def __init__(self, message: str, line: int, error: str | None = None, missing: tuple[str, ...] = ()) -> None:
        super().__init__(message)
        self.message, self.line, self.error, self.missing = message, line, error, missing


def render(text: str, values: Mapping[str, Value]) -> Rendered:
    """The template `text` filled in with `values`. Raises FillError."""
    work = Work()
    environment = _Environment(work)
    line = 1
    template: Template | None = None
    tree: nodes.Template | None = None
    try:
        work.weigh(values)
        tree = environment.parse(text)
        mark = _mark_for(text, values)
        counted = _Counted(mark).visit(environment.parse(text))
        counted.set_environment(environment)
        template = Template.from_code(environment, environment.compile(counted), environment.globals)
        output = "".join(template.root_render_func(template.new_context(dict(values))))
    except TooMuchWorkError as error:
        raise FillError(f"it {error}", _line_of(error, template, line)) from None
    except _Refused as error:
        raise FillError(error.message, error.line) from None
    except UndefinedError as error:
        line = _line_of(error, template, line)
        own = f"{type(error)}: {error}"
        missing = _missing(tree, values) if tree is not None else ()
        if missing:
            raise FillError("", _first_line(tree, missing) or line, own, missing) from None
        raise FillError(str(error), line, own) from None
    except (RecursionError, MemoryError):
        raise FillError("it is nested too deeply", line) from None
    except _ERRORS as error:
        line = error.lineno if isinstance(error, TemplateSyntaxError) else _line_of(error, template, line)
        own = f"{type(error)}: {error}" if isinstance(error, TemplateError) else None
        raise FillError(str(error) or type(error).__name__, line, own) from None
    return _lines_of(output, mark)


class _Refused(Exception):  # noqa: N818
    def __init__(self, message: str, line: int) -> None:
        super().__init__(message)
        self.message, self.line = message, line


class _Method(NamedTuple):
    """A method that a template may call, of a value."""

    value: Any
    name: str


class _Environment(SandboxedEnvironment):
    intercepted_binops = frozenset(SandboxedEnvironment.default_binop_table)

    def __init__(self, work: Work) -> None:
        # Without the optimizer nothing is computed at compile time, where nothing is paid.
        super().__init__(undefined=StrictUndefined, optimized=False)
        self._work = work

        @pass_context
        def finalize(_: Context, value: Any) -> Any:
            work.weigh(value)
            return value

        self.finalize = finalize
        self.globals: dict[str, Any] = {"range": safe_range, "dict": dict, "namespace": Namespace}
        self.filters = {
            **bounded_filters(work),
            _EACH: self._each,
            _JOINED: self._joined,
            _SPENT: self._spent,
            _WEIGHED: self._weighed,
        }

    def getattr(self, obj: Any, attribute: str) -> Any:
        """An entry of a mapping, a part of `loop` or of a namespace, or a harmless method; nothing else."""
        if isinstance(obj, LoopContext) and attribute in _LOOP:
            return getattr(obj, attribute)
        if any(isinstance(obj, kind) and attribute in names for kind, names in _METHODS):
            return _Method(obj, attribute)
        if isinstance(obj, (Undefined, Namespace)) or not hasattr(obj, attribute):
            return super().getattr(obj, attribute)
        return self.unsafe_undefined(obj, attribute)

    def getitem(self, obj: Any, argument: Any) -> Any:
        """What stands at an index or key; a text may name an attribute, as in Jinja."""
        if isinstance(obj, (str, list, tuple, dict, range, Undefined)):
            try:
                return cast("Any", obj)[argument]
            except (TypeError, LookupError):
                pass
        return self.getattr(obj, argument) if isinstance(argument, str) else self.undefined(obj=obj, name=argument)

    def call(self, context: Context, obj: Any, *args: Any, **kwargs: Any) -> Any:  # type: ignore[override]
        self._work.spend(10)
        own = {key: value for key, value in kwargs.items() if key not in ("_loop_vars", "_block_vars")}
        size = self._work.weigh([args, own])
        if isinstance(obj, _Method):
            self._work.spend(self._work.weigh(obj.value) * size)
            result = getattr(obj.value, obj.name)(*args, **own)
        elif isinstance(obj, (Macro, Undefined)) or any(obj is each for each in (safe_range, dict, Namespace)):
            result = super().call(context, obj, *args, **kwargs)
        else:
            raise SecurityError(f"a {type(obj).__name__} is not safely callable")
        self._work.weigh(result)
        return result

    def call_binop(self, context: Context, operator: str, left: Any, right: Any) -> Any:
        self._work.operation(operator, left, right)
        return super().call_binop(context, operator, left, right)

    def _each(self, values: Iterable[Any], weight: int) -> Iterator[Any]:
        for value in values:
            self._work.spend(weight)
            yield value

    def _joined(self, values: list[Any]) -> str:
        for value in values:
            self._work.weigh(value)
        return "".join([str(value) for value in values])

    def _spent(self, weight: int) -> str:
        self._work.spend(weight)
        return ""

    def _weighed(self, value: Any) -> Any:
        self._work.weigh(value)
        return value


class _Counted(NodeTransformer):
    """A template's tree in which loops and macros pay for each turn, and values for what they hold.

    Each line of its own text starts with `mark`, the line's number and `mark`; but for text that is caught in a value.
    """

    def __init__(self, mark: str) -> None:
        self._mark = mark
        self._caught = 0

    def visit(self, node: nodes.Node, *args: Any, **kwargs: Any) -> Any:
        word = _REFUSED.get(type(node))
        if word is not None:
            raise _Refused(f"it has `{word}`, which packwise does not fill in", node.lineno)
        return super().visit(node, *args, **kwargs)

    def visit_For(self, node: nodes.For) -> nodes.Node:  # noqa: N802
        if node.recursive:
            raise _Refused("it has a `recursive` loop, which packwise does not fill in", node.lineno)
        weight = nodes.Const(_weight(node.body))
        self.generic_visit(node)
        node.iter = _filtered(node.iter, _EACH, weight)
        return node

    def visit_Macro(self, node: nodes.Macro) -> nodes.Node:  # noqa: N802
        return self._body(node)

    def visit_CallBlock(self, node: nodes.CallBlock) -> nodes.Node:  # noqa: N802
        return self._body(node)

    def _body(self, node: Any) -> nodes.Node:
        paid = nodes.Output([_filtered(nodes.Const(_weight(node.body)), _SPENT)], lineno=node.lineno)
        self._catch(node)
        node.body.insert(0, paid)
        return node

    def visit_AssignBlock(self, node: nodes.AssignBlock) -> nodes.Node:  # noqa: N802
        return self._catch(node)

    def visit_FilterBlock(self, node: nodes.FilterBlock) -> nodes.Node:  # noqa: N802
        return self._catch(node)

    def _catch(self, node: nodes.Node) -> nodes.Node:
        self._caught += 1
        self.generic_visit(node)
        self._caught -= 1
        return node

    def visit_TemplateData(self, node: nodes.TemplateData) -> nodes.Node:  # noqa: N802
        if not self._caught:
            lines = node.data.split("\n")
            node.data = "\n".join(
                [f"{self._mark}{node.lineno + at}{self._mark}{line}" for at, line in enumerate(lines)]
            )
        return node

    def visit_Concat(self, node: nodes.Concat) -> nodes.Node:  # noqa: N802
        self.generic_visit(node)
        return _filtered(nodes.List(node.nodes, lineno=node.lineno), _JOINED)

    def visit_List(self, node: nodes.List) -> nodes.Node:  # noqa: N802
        return _filtered(self.generic_visit(node), _WEIGHED)

    def visit_Dict(self, node: nodes.Dict) -> nodes.Node:  # noqa: N802
        return _filtered(self.generic_visit(node), _WEIGHED)

    def visit_Tuple(self, node: nodes.Tuple) -> nodes.Node:  # noqa: N802
        self.generic_visit(node)
        return _filtered(node, _WEIGHED) if node.ctx == "load" else node

    def visit_Compare(self, node: nodes.Compare) -> nodes.Node:  # noqa: N802
        self.generic_visit(node)
        node.expr = _filtered(node.expr, _WEIGHED)
        for operand in node.ops:
            operand.expr = _filtered(operand.expr, _WEIGHED)
        return node

    def visit_Test(self, node: nodes.Test) -> nodes.Node:  # noqa: N802
        self.generic_visit(node)
        node.node = _filtered(node.node, _WEIGHED)
        return node

    def visit_Getitem(self, node: nodes.Getitem) -> nodes.Node:  # noqa: N802
        self.generic_visit(node)
        if isinstance(node.arg, nodes.Slice):
            node.node = _filtered(node.node, _WEIGHED)
        return node


def _filtered(node: Any, name: str, *args: nodes.Expr) -> nodes.Filter:
    return nodes.Filter(node, name, list(args), [], None, None, lineno=node.lineno)


def _weight(body: Iterable[nodes.Node]) -> int:
    """What one turn of `body` takes by itself."""
    weight = 10
    for statement in body:
        for node in (statement, *statement.find_all(nodes.Node)):
            weight += 4 + (len(node.data) if isinstance(node, nodes.TemplateData) else 0)
    return weight


def _missing(tree: nodes.Template, values: Mapping[str, Value]) -> tuple[str, ...]:
    """The variables without a value that have to have one, in the template's order."""
    undeclared = find_undeclared_variables(tree) - values.keys() - {"range", "dict", "namespace"}
    optional = {id(each.node) for each in tree.find_all(nodes.Test) if each.name in ("defined", "undefined")}
    optional |= {id(each.node) for each in tree.find_all(nodes.Filter) if each.name in ("default", "d")}
    names = [name for name in tree.find_all(nodes.Name) if name.ctx == "load" and id(name) not in optional]
    names.sort(key=lambda name: name.lineno)
    return tuple(dict.fromkeys([name.name for name in names if name.name in undeclared]))


def _first_line(tree: nodes.Template | None, missing: tuple[str, ...]) -> int:
    names = tree.find_all(nodes.Name) if tree is not None else ()
    return min([name.lineno for name in names if name.name in missing], default=0)


def _line_of(error: BaseException, template: Template | None, line: int) -> int:
    """The template's line at which `error` was raised; `line` where it has none."""
    trace = error.__traceback__
    while trace is not None and template is not None:
        if trace.tb_frame.f_code.co_filename == "<template>":
            line = template.get_corresponding_lineno(trace.tb_lineno)
        trace = trace.tb_next
    return line


def _mark_for(text: str, values: Mapping[str, Value]) -> str:
    """A character for private use that stands in no text of the template."""
    texts = [text]
    waiting: list[Any] = [values]
    while waiting:
        part = waiting.pop()
        if isinstance(part, str):
            texts.append(part)
        elif isinstance(part, dict):
            waiting += [*part.keys(), *part.values()]
        elif isinstance(part, (list, tuple)):
            waiting += part
    used = {ord(character) for part in texts for character in part if "\ue000" <= character <= "\uf8ff"}
    free = [code for code in range(_FIRST_MARK, _LAST_MARK) if code not in used]
    if not free:
        raise _Refused("it has every character for private use", 1)
    return chr(free[0])


def _lines_of(output: str, mark: str) -> Rendered:
    texts: list[str] = []
    lines: list[int] = []
    for line in output.split("\n"):
        parts = line.split(mark)
        # Every second part is a number.
        lines.append(int(parts[1]) if len(parts) > 1 else (lines[-1] if lines else 1))
        texts.append("".join(parts[::2]))
    return Rendered("\n".join(texts), tuple(lines))
