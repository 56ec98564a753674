"""The rules of a CRD in CEL (x-kubernetes-validations), evaluated at every place that has some.

Source: apiextensions-apiserver, schema/cel. Rules about a change hold where there is an old value to compare with.
"""

from __future__ import annotations

import re

from krmfn.hints import TYPE_CHECKING
from packwise.findings.finding import Cause, Effect, Problem
from packwise.kubernetes.validation import ErrorType
from packwise.validate.celvalue import cel_value, in_order_of, key_of
from packwise.validate.cost import MAX_COST_OF_OBJECT, MIN_COST, weight_of
from packwise.validate.expression import compiled

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from krmfn.fieldpath import FieldPath
    from krmfn.value import Value
    from packwise.validate.expression import Expression
    from packwise.validate.schema import Schema, ValidationRule
    from packwise.validate.valuepath import ValuePath

__all__ = ["Rules"]

_SPENT = (
    f"not all of its rules are checked for each object: for one of them they take more than {MAX_COST_OF_OBJECT >> 20} "
    "MiB together; split that object, or bound its lists and texts"
)
_OLD = re.compile(r"\boldSelf\b")
_REASONS = {
    "FieldValueDuplicate": ErrorType.DUPLICATE,
    "FieldValueForbidden": ErrorType.FORBIDDEN,
    "FieldValueRequired": ErrorType.REQUIRED,
}


class Rules:
    """The rules of one CRD, each compiled when it is first met; one that cannot be evaluated is reported once."""

    __slots__ = ("_expressions", "_left", "_reported")

    def __init__(self) -> None:
        self._expressions: dict[tuple[str, bool], Expression] = {}
        self._left = 0
        self._reported = set["str | FieldPath"]()

    def violations(self, value: Value, old: Value, schema: Schema, at: ValuePath) -> Iterator[Problem]:
        """What the rules of `schema` and below it say of an object, which was `old` before (None: nothing)."""
        self._left = MAX_COST_OF_OBJECT
        yield from self._below(value, old, schema, at, is_object=True)
        if self._left < 0 and _SPENT not in self._reported:
            self._reported.add(_SPENT)
            # The same text whichever object it is, and whichever rule would be next.
            yield Problem(("spec",), _SPENT, effect=Effect.UNCHECKED)

    def unchecked(self, problems: Iterable[Problem]) -> Iterator[Problem]:
        """Those of `problems` about what is not checked, each field of the CRD once for all objects."""
        for problem in problems:
            if problem.effect is Effect.UNCHECKED and problem.path not in self._reported:
                self._reported.add(problem.path)
                yield problem

    def _below(
        self, value: Value, old: Value, schema: Schema, at: ValuePath, *, is_object: bool = False
    ) -> Iterator[Problem]:
        if value is None or self._left < 0:
            return
        if schema.rules:
            yield from self._of_node(value, old, schema, at, is_object=is_object)
        if isinstance(value, dict):
            before: Mapping[str, Value] = old if isinstance(old, dict) else {}
            for name, entry in value.items():
                inner = schema.of_key(name)
                if inner is not None:
                    place = at.field(name) if name in schema.properties else at.key(name)
                    yield from self._below(entry, before.get(name), inner, place)
        elif isinstance(value, list) and schema.items is not None:
            by_key = _by_key(old, schema)
            for index, entry in enumerate(value):
                earlier = by_key.get(key_of(entry, schema)) if by_key else None
                yield from self._below(entry, earlier, schema.items, at.entry(index))

    def _of_node(
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
        if answer.trouble:
            return self._unchecked(rule, answer.trouble)
        if answer.value is True:
            return None
        if answer.error:
            detail = f"{answer.error} evaluating rule: {rule.text}"
            message = f"must keep a rule of its CRD: {rule.text}; it cannot be evaluated: {answer.error}"
            return at.refused(ErrorType.INVALID, message, detail, schema.type, Cause.UNANSWERED)
        for step in rule.field_path:
            at = at.field(str(step))
        text = self._message(rule, variables)
        kind = _REASONS.get(rule.reason, ErrorType.INVALID)
        detail = "" if kind is ErrorType.DUPLICATE else text
        return at.refused(kind, f"must keep a rule of its CRD: {text}", detail, schema.type)

    def _message(self, rule: ValidationRule, variables: Mapping[str, Value]) -> str:
        if rule.message_expression:
            answer = self._expression(rule.message_expression, rule).evaluate(variables)
            self._left -= MIN_COST + answer.cost
            text = answer.value
            if isinstance(text, str) and text.strip() and "\n" not in text.strip():
                return text.strip()
        return rule.message or f"failed rule: {rule.rule}"

    def _unchecked(self, rule: ValidationRule, why: str) -> Problem | None:
        if rule.rule in self._reported:
            return None
        self._reported.add(rule.rule)
        message = f"is not checked: {why}; the rule: {rule.text}"
        return Problem(rule.path, message, effect=Effect.UNCHECKED)

    def _expression(self, text: str, rule: ValidationRule) -> Expression:
        key = (text, rule.optional_old_self)
        expression = self._expressions.get(key)
        if expression is None:
            expression = self._expressions[key] = compiled(text, optional=rule.optional_old_self)
        return expression


def _by_key(old: Value, schema: Schema) -> Mapping[str, Value]:
    """The entries of the old list by their keys; nothing where entries have none."""
    if schema.list_type != "map" or not isinstance(old, list):
        return {}
    return {key_of(entry, schema): entry for entry in reversed(old)}
