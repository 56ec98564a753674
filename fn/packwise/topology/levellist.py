"""`spec.levels` of a topology object, as the API server takes them. Source: operator.md 3; crds/alpha7, crds/head."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from krmfn.errors import told
from krmfn.fieldpath import format_path
from packwise.finding import Finding, Stage
from packwise.kubernetes.field_error import ErrorType, OperatorError
from packwise.kubernetes.validation import dns_subdomain
from packwise.topology.levels import ClusterTopology, Level
from packwise.wording import closest, list_known

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from krmfn.fieldpath import FieldPath
    from krmfn.kubeobject import KubeObject
    from krmfn.value import Value
    from packwise.finding import Rule
    from packwise.topology.limits import Fault, Limits

__all__ = ["ShapeCheck", "levels_of", "read_levels"]

_GO_KINDS = (
    (bool, "boolean"),
    (int, "integer"),
    (float, "number"),
    (str, "string"),
    (list, "array"),
    (dict, "object"),
)
_NOUNS = {"object": "a mapping", "array": "a list", "string": "a string"}


def levels_of(value: Mapping[str, Value]) -> Sequence[Value]:
    """The entries of `spec.levels`, whatever they are."""
    spec = value.get("spec")
    levels = spec.get("levels") if isinstance(spec, dict) else None
    return levels if isinstance(levels, list) else ()


def read_levels(item: KubeObject) -> ClusterTopology:
    """The topology that `item` states, levels as listed; what has no right shape is left out (see the check)."""
    levels = [
        Level(domain, key)
        for entry in levels_of(item.value)
        if isinstance(entry, dict)
        and isinstance(domain := entry.get("domain"), str)
        and isinstance(key := entry.get("key"), str)
    ]
    return ClusterTopology(item.name, tuple(levels))


class ShapeCheck:
    """What the API server refuses in the topology object `item`; all of it breaks `rule`."""

    __slots__ = ("_item", "_rule")

    def __init__(self, item: KubeObject, rule: Rule) -> None:
        self._item, self._rule = item, rule

    def metadata(self) -> Iterator[Finding]:
        """The object's name."""
        name = self._item.name
        for text in dns_subdomain(name):
            error = OperatorError("metadata.name", ErrorType.INVALID, name, text)
            yield self.refused(("metadata", "name"), f'must be a DNS subdomain; got "{name}": {text}', error)

    def levels(self, domain_fault: Callable[[str], Fault | None], limits: Limits) -> Iterator[Finding]:
        """The list of levels, one at least, and each of them."""
        spec = self._item.get("spec")
        path: FieldPath = ("spec", "levels")
        if not isinstance(spec, dict):
            yield self.wrong_type(("spec",), spec, "object")
        elif not isinstance(spec.get("levels"), list):
            yield self.wrong_type(path, spec.get("levels"), "array")
        else:
            levels = cast("list[Value]", spec["levels"])
            if not levels:
                error = OperatorError(
                    "spec.levels", ErrorType.INVALID, 0, "spec.levels in body should have at least 1 items"
                )
                yield self.refused(path, "must hold at least one level; got none", error)
            for index, level in enumerate(levels):
                yield from self._level(index, level, domain_fault, limits)

    def unknown(
        self, value: Mapping[str, Value], known: Sequence[str], path: FieldPath, noun: str
    ) -> Iterator[Finding]:
        """The fields of `value` that are none of `known`."""
        for name in value:
            if name not in known:
                message = f'must be a field of {noun}; got "{name}"; known: {list_known(known)}{closest(name, known)}'
                yield Finding.of(self._rule, self._item, (*path, name), message, at_key=True)

    def wrong_type(self, path: FieldPath, found: Value, kind: str) -> Finding:
        """`found` is absent, or none of what the API server calls `kind`."""
        field = format_path(path)
        noun = _NOUNS[kind]
        if found is None:
            return self.refused(path, f"must be {noun}; there is none", OperatorError(field, ErrorType.REQUIRED))
        go = next(name for known, name in _GO_KINDS if isinstance(found, known))
        error = OperatorError(field, ErrorType.INVALID, go, f'{field} in body must be of type {kind}: "{go}"')
        return self.refused(path, f"must be {noun}; got {told(found)}", error)

    def refused(self, path: FieldPath, message: str, error: OperatorError) -> Finding:
        """What the API server refuses with the words of `error`."""
        return Finding.of(self._rule, self._item, path, message, operator_message=error.text(), stage=Stage.SCHEMA)

    def _level(
        self, index: int, level: Value, domain_fault: Callable[[str], Fault | None], limits: Limits
    ) -> Iterator[Finding]:
        path: FieldPath = ("spec", "levels", index)
        if not isinstance(level, dict):
            yield self.wrong_type(path, level, "object")
            return
        yield from self.unknown(level, ("domain", "key"), path, "a level")
        for name, fault_of in (("domain", domain_fault), ("key", limits.key_fault)):
            found, field = level.get(name), (*path, name)
            if not isinstance(found, str):
                yield self.wrong_type(field, found, "string")
            elif (fault := fault_of(found)) is not None:
                detail = fault.detail.format(field=format_path(field))
                error = OperatorError(format_path(field), fault.type, found, detail)
                message = fault.message if name == "domain" else f'{fault.message}; got "{found}"'
                yield self.refused(field, message, error)
