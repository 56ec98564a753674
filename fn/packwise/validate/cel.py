"""The rules of a CRD in CEL (x-kubernetes-validations), evaluated for every value with rules in its schema.

A rule that compares with `oldSelf` applies only if there is an old value. Source: apiextensions-apiserver, schema/cel.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache, lru_cache

from krmfn.hints import TYPE_CHECKING
from packwise.findings import Cause, Effect, Problem
from packwise.kubernetes import ErrorType
from packwise.validate.cost import MAX_COST, MAX_COST_OF_OBJECT, MIN_COST, cost_of, read_tree, weight_of
from packwise.validate.schema import Schema
from packwise.validate.structure import canonical_text

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from typing import Any

    from krmfn.fieldpath import FieldPath
    from krmfn.value import Value
    from packwise.validate.cost import Node
    from packwise.validate.schema import ValidationRule
    from packwise.validate.structure import ValuePath

# The runtime of the CEL project compiles and evaluates the expressions. It limits the time of an evaluation (10,000
# iterations, 32 levels) but not its memory. `cost` computes an upper limit of the memory beforehand.

MAX_RULE_LENGTH = 4000
MAX_COPIES = 5
_COPYING = re.compile(r"\b(?:optFlatMap|optMap)\b")
"""Macros whose expansion contains their target twice. In a chain of these macros, each call doubles the syntax tree."""

# Error texts of the runtime, each with the text that Kubernetes reports for the same error.
_TEXTS = (
    (re.compile(r'.*?Key not found in map : "?(.*?)"?'), r"no such key: \1"),
    (re.compile(r".*?Index error: index=(-?\d+) size=\d+"), r"index out of bounds: \1"),
    (re.compile(r".*?divide by zero"), "division by zero"),
    (re.compile(r".*?(modulus by zero|integer overflow)"), r"\1"),
)
_OPTIONAL = "[size(__old__) > 0 ? optional.of(__old__[0]) : optional.none()].map(oldSelf, {}\n)[0]"
_NO_OVERLOAD = "No matching overloads"


@dataclass(frozen=True, slots=True)
class Evaluation:
    """The result of an evaluation: a value, an error, or neither."""

    value: Value = None
    error: str = ""
    """The error, which the API server reports too, or ""."""
    unchecked_reason: str = ""
    """Set if the result of the API server is unknown."""
    cost: int = 0
    """An upper limit of the bytes that the evaluation keeps and reads."""


@dataclass(slots=True)
class Expression:
    """A compiled expression and its syntax tree. If there is an `unchecked_reason`, it is never evaluated."""

    _program: Any
    _tree: Node | None = None
    unchecked_reason: str = ""

    def evaluate(self, variables: Mapping[str, Value]) -> Evaluation:
        """Evaluate the expression, and return its value, its error or the reason why packwise cannot check it."""
        if self.unchecked_reason:
            return Evaluation(unchecked_reason=self.unchecked_reason)
        cost = self._cost(variables)
        if cost is None or cost > MAX_COST:
            too_much = f"it may need more than {MAX_COST >> 20} MiB of memory"
            return Evaluation(unchecked_reason="its memory has no bound" if cost is None else too_much)
        try:
            answer = self._program.eval(data=dict(variables))
            if str(answer.type()) != "ERROR":
                return Evaluation(answer.plain_value(), cost=cost)
            text = _first_line(str(answer.value()))
        except (RuntimeError, ValueError, TypeError, OverflowError) as error:
            self.unchecked_reason = _first_line(str(error))
            return Evaluation(unchecked_reason=self.unchecked_reason, cost=cost)
        for pattern, replacement in _TEXTS:
            if match := pattern.fullmatch(text):
                return Evaluation(error=match.expand(replacement), cost=cost)
        if _NO_OVERLOAD in text:
            # Types are checked here when values are evaluated, and in Kubernetes when the rule is compiled.
            self.unchecked_reason = text
        return Evaluation(unchecked_reason=text, cost=cost)

    def _cost(self, variables: Mapping[str, Value]) -> int | None:
        """Return the highest cost of an evaluation with these variables. Return None if the cost has no limit."""
        try:
            return None if self._tree is None else cost_of(self._tree, variables)
        except RecursionError:
            return None


def compile_expression(text: str, *, optional: bool = False) -> Expression:
    """Return the compiled `text`, an expression with the variables `self` and `oldSelf`.

    With `optional`, `oldSelf` is an optional value. It is then made from the variable `__old__`, a list with the old
    value or without entries.
    """
    if len(text) > MAX_RULE_LENGTH:
        return Expression(None, unchecked_reason=f"it is longer than {MAX_RULE_LENGTH} characters")
    if len(_COPYING.findall(text)) > MAX_COPIES:
        return Expression(None, unchecked_reason=f"it calls optMap and optFlatMap more than {MAX_COPIES} times")
    source = _OPTIONAL.format(text) if optional else text
    try:
        program = _environment().compile(source)
        return Expression(program, read_tree(program.serialize()))
    except (RuntimeError, ValueError) as error:
        # A RecursionError is a RuntimeError too.
        return Expression(None, unchecked_reason=_first_line(str(error)))


@cache
def _environment() -> Any:
    from cel_expr_python import cel  # pyright: ignore[reportMissingTypeStubs]
    from cel_expr_python.ext import ext_optional, ext_strings  # pyright: ignore[reportMissingTypeStubs]

    variables: dict[str, Any] = dict.fromkeys(("self", "oldSelf", "__old__"), cel.Type.DYN)
    return cel.NewEnv(variables=variables, extensions=[ext_optional.ExtOptional(), ext_strings.ExtStrings()])


def _first_line(text: str) -> str:
    """Return the first line of the runtime's message, without status code and position."""
    line = text.partition("\n")[0]
    line = re.sub(r"^[A-Z_]+: (?:ERROR: )?(?:<input>:-?\d+:-?\d+: )?", "", line)
    return re.sub(r" \[[A-Z_]+\]$", "", line)


# A rule sees only fields of the schema. Their names are escaped so that CEL can write them. Source: apiserver,
# cel/escaping and cel/common/values.

_RESERVED = frozenset({
    "as", "break", "const", "continue", "else", "false", "for", "function", "if", "import", "in", "let", "loop",
    "namespace", "null", "package", "return", "true", "var", "void", "while",
})  # fmt: skip
_NAME = re.compile(r"[A-Za-z_./-][A-Za-z0-9_./-]*")
_ESCAPED = re.compile(r"__|[./-]")
_ESCAPES = {"__": "__underscores__", ".": "__dot__", "-": "__dash__", "/": "__slash__"}

_OBJECT_FIELDS = ("apiVersion", "kind")
_METADATA_FIELDS = ("name", "generateName")


@lru_cache(maxsize=4096)
def escape_name(name: str) -> str | None:
    """Return the name by which rules call a property. Return None if they cannot name the property."""
    if name in _RESERVED:
        return f"__{name}__"
    if not _NAME.fullmatch(name):
        return None
    return _ESCAPED.sub(lambda match: _ESCAPES[match[0]], name)


def cel_value(value: Value, schema: Schema, *, is_object: bool = False) -> Value:
    """Return `value` in the form of the variable `self` for a rule of `schema`.

    With `is_object`, the value is a whole object: rules then also see its apiVersion, kind and names.
    """
    if isinstance(value, dict):
        return _mapping(value, schema, is_object=is_object or schema.embedded)
    if isinstance(value, list) and schema.items is not None:
        items = schema.items
        return [cel_value(entry, items) for entry in value]
    if schema.type == "number" and type(value) is int:
        return float(value)
    if schema.type == "integer" and isinstance(value, float) and value.is_integer():
        return int(value)
    return value


def _mapping(value: Mapping[str, Value], schema: Schema, *, is_object: bool) -> Mapping[str, Value]:
    if isinstance(schema.additional, Schema) and not schema.properties:
        inner = schema.additional
        return {name: cel_value(entry, inner) for name, entry in value.items()}
    if schema.preserves_unknown and not schema.properties and not is_object:
        return value
    out: dict[str, Value] = {}
    for name, schema_of_name in schema.properties.items():
        if name in value and (known := escape_name(name)) is not None:
            out[known] = cel_value(value[name], schema_of_name)
    if is_object:
        out.update({name: value[name] for name in _OBJECT_FIELDS if name in value})
        metadata = value.get("metadata")
        if isinstance(metadata, dict):
            out["metadata"] = {name: metadata[name] for name in _METADATA_FIELDS if name in metadata}
    return out


def in_order_of(old: Value, new: Value, schema: Schema) -> Value:
    """Return `old` with the entries of its sets and keyed lists in the order of `new`.

    Kubernetes ignores the order of such lists when a rule compares them.
    """
    if isinstance(old, dict) and isinstance(new, dict):
        inner = {name: schema.of_key(name) for name in old}
        return {
            name: entry if (known := inner[name]) is None else in_order_of(entry, new.get(name), known)
            for name, entry in old.items()
        }
    if isinstance(old, list) and isinstance(new, list) and schema.items is not None:
        if schema.list_type not in ("map", "set"):
            pairs = [(entry, new[index] if index < len(new) else None) for index, entry in enumerate(old)]
        else:
            pairs = _pair(old, new, schema)
        return [in_order_of(entry, other, schema.items) for entry, other in pairs]
    return old


def _pair(old: Sequence[Value], new: Sequence[Value], schema: Schema) -> list[tuple[Value, Value]]:
    places = {key_of(entry, schema): place for place, entry in reversed(list(enumerate(new)))}
    ordered = sorted(old, key=lambda entry: places.get(key_of(entry, schema), len(new)))
    pairs = [places.get(key_of(entry, schema)) for entry in ordered]
    return [(entry, None if at is None else new[at]) for entry, at in zip(ordered, pairs, strict=True)]


def key_of(entry: Value, schema: Schema) -> str:
    """Return a text that identifies an entry of a list: its keys in a keyed list, otherwise the whole entry."""
    if schema.list_type == "map" and isinstance(entry, dict):
        return canonical_text([entry.get(key) for key in schema.keys])
    return canonical_text(entry)


_SPENT = (
    "packwise does not check all rules of this CRD for every object: together, the rules need more than "
    f"{MAX_COST_OF_OBJECT >> 20} MiB for one object. Split that object, or limit its lists and strings in the CRD"
)
_OLD = re.compile(r"\boldSelf\b")
_REASONS = {
    "FieldValueDuplicate": ErrorType.DUPLICATE,
    "FieldValueForbidden": ErrorType.FORBIDDEN,
    "FieldValueRequired": ErrorType.REQUIRED,
}


class CelRules:
    """The rules of one CRD. Each is compiled at first use. A rule that cannot be evaluated is reported once."""

    __slots__ = ("_expressions", "_left", "_reported")

    def __init__(self) -> None:
        self._expressions: dict[tuple[str, bool], Expression] = {}
        self._left = 0
        self._reported = set["str | FieldPath"]()

    def violations(self, value: Value, old: Value, schema: Schema, at: ValuePath) -> Iterator[Problem]:
        """Yield violations of the rules in `schema` and in its parts. `old` is the earlier object, or None."""
        self._left = MAX_COST_OF_OBJECT
        yield from self._violations_below(value, old, schema, at, is_object=True)
        if self._left < 0 and _SPENT not in self._reported:
            self._reported.add(_SPENT)
            # The text is the same for every object and every rule, so that it is reported once.
            yield Problem(("spec",), _SPENT, effect=Effect.UNCHECKED)

    def unchecked_once(self, problems: Iterable[Problem]) -> Iterator[Problem]:
        """Yield the problems about unchecked parts. A problem of an earlier object of this CRD is not repeated."""
        for problem in problems:
            if problem.effect is Effect.UNCHECKED and problem.path not in self._reported:
                self._reported.add(problem.path)
                yield problem

    def _violations_below(
        self, value: Value, old: Value, schema: Schema, at: ValuePath, *, is_object: bool = False
    ) -> Iterator[Problem]:
        if value is None or self._left < 0:
            return
        if schema.rules:
            yield from self._node_violations(value, old, schema, at, is_object=is_object)
        if isinstance(value, dict):
            before: Mapping[str, Value] = old if isinstance(old, dict) else {}
            for name, entry in value.items():
                inner = schema.of_key(name)
                if inner is not None:
                    place = at.field(name) if name in schema.properties else at.key(name)
                    yield from self._violations_below(entry, before.get(name), inner, place)
        elif isinstance(value, list) and schema.items is not None:
            by_key = _by_key(old, schema)
            for index, entry in enumerate(value):
                earlier = by_key.get(key_of(entry, schema)) if by_key else None
                yield from self._violations_below(entry, earlier, schema.items, at.entry(index))

    def _node_violations(
        self, value: Value, old: Value, schema: Schema, at: ValuePath, *, is_object: bool
    ) -> Iterator[Problem]:
        now = cel_value(value, schema, is_object=is_object)
        before = None
        if old is not None:
            before = cel_value(in_order_of(old, value, schema), schema, is_object=is_object)
        weight = weight_of(now) + 2 * weight_of(before)
        for rule in schema.rules:
            self._left -= MIN_COST + weight
            if self._left < 0:
                return
            lacks_old = before is None and not rule.optional_old_self and _OLD.search(rule.rule)
            if lacks_old or not rule.rule:
                continue
            olds: list[Value] = [] if before is None else [before]
            variables: dict[str, Value] = {"self": now, "oldSelf": before, "__old__": olds}
            problem = self._problem(rule, variables, schema, at)
            if problem is not None:
                yield problem

    def _problem(
        self, rule: ValidationRule, variables: Mapping[str, Value], schema: Schema, at: ValuePath
    ) -> Problem | None:
        answer = self._expression(rule.rule, rule).evaluate(variables)
        self._left -= answer.cost
        if answer.unchecked_reason:
            return self._unchecked_problem(rule, answer.unchecked_reason)
        if answer.value is True:
            return None
        if answer.error:
            detail = f"{answer.error} evaluating rule: {rule.text}"
            message = f"breaks a rule of its CRD: {rule.text}; packwise cannot evaluate it: {answer.error}"
            return at.refusal(ErrorType.INVALID, message, detail, schema.type, Cause.UNANSWERED)
        for step in rule.field_path:
            at = at.field(str(step))
        text = self._message(rule, variables)
        kind = _REASONS.get(rule.reason, ErrorType.INVALID)
        detail = "" if kind is ErrorType.DUPLICATE else text
        return at.refusal(kind, f"breaks a rule of its CRD: {text}", detail, schema.type)

    def _message(self, rule: ValidationRule, variables: Mapping[str, Value]) -> str:
        if rule.message_expression:
            answer = self._expression(rule.message_expression, rule).evaluate(variables)
            self._left -= MIN_COST + answer.cost
            text = answer.value
            if isinstance(text, str) and text.strip() and "\n" not in text.strip():
                return text.strip()
        return rule.message or f"failed rule: {rule.rule}"

    def _unchecked_problem(self, rule: ValidationRule, why: str) -> Problem | None:
        if rule.rule in self._reported:
            return None
        self._reported.add(rule.rule)
        message = f"packwise does not check this rule: {why}. The rule: {rule.text}"
        return Problem(rule.path, message, effect=Effect.UNCHECKED)

    def _expression(self, text: str, rule: ValidationRule) -> Expression:
        key = (text, rule.optional_old_self)
        expression = self._expressions.get(key)
        if expression is None:
            expression = self._expressions[key] = compile_expression(text, optional=rule.optional_old_self)
        return expression


def _by_key(old: Value, schema: Schema) -> Mapping[str, Value]:
    """Return the entries of a keyed list, by the text of their keys. The result for another list is empty."""
    if schema.list_type != "map" or not isinstance(old, list):
        return {}
    return {key_of(entry, schema): entry for entry in reversed(old)}
