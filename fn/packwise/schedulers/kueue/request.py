"""The annotations of a pod template that request a topology from Kueue, and the webhooks' checks of them.

Source: spec/kueue.md#1 and #2; Kueue's jobframework/tas_validation.go and tas.go.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from itertools import pairwise

from krmfn.hints import TYPE_CHECKING, Record
from packwise.findings import Problem, Stage
from packwise.kubernetes import (
    V35,
    ErrorType,
    OperatorError,
    Unquoted,
    go_quote,
    qualified_name,
    refusal,
    unmarshal_error,
)
from packwise.lenient import mapping, texts
from packwise.wording import near_miss

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from krmfn.fieldpath import FieldPath
    from krmfn.value import Value
    from packwise.revisions.kueue import KueueRelease

PREFIX = "kueue.x-k8s.io/"
REQUIRED = f"{PREFIX}podset-required-topology"
PREFERRED = f"{PREFIX}podset-preferred-topology"
UNCONSTRAINED = f"{PREFIX}podset-unconstrained-topology"
SLICE_REQUIRED = f"{PREFIX}podset-slice-required-topology"
SLICE_SIZE = f"{PREFIX}podset-slice-size"
SLICE_LAYERS = f"{PREFIX}podset-slice-required-topology-constraints"
GROUP_NAME = f"{PREFIX}podset-group-name"

SPREADING = f"{PREFIX}podset-topology-spreading"

TOPOLOGY_KEYS = (REQUIRED, PREFERRED, UNCONSTRAINED, SLICE_REQUIRED, SLICE_SIZE, SLICE_LAYERS, GROUP_NAME)
"""The annotations of pod templates that request a topology, in the order of the specification."""

_MAX_LAYERS = 3
_TRUE = frozenset({"1", "t", "T", "TRUE", "true", "True"})
_FALSE = frozenset({"0", "f", "F", "FALSE", "false", "False"})
_INTEGER = re.compile(r"[+-]?[0-9]+")
_UNSIGNED = re.compile(r"[0-9]+")
_ENTRY = "PodsetSliceRequiredTopologyConstraint"
_TEXT_LENGTH = 1_000
"""The largest number of characters of a number that packwise reads. A longer number is out of every range."""


@dataclass(frozen=True, slots=True)
class PodTemplate:
    """The metadata of a pod template. `path` is its path in the object, and `field` is its path in Kueue's texts."""

    path: FieldPath
    field: str
    metadata: Mapping[str, Value]
    suffix: str = ""
    """The end of Kueue's texts about a template in another object. `path` is then the field that names the object."""

    @property
    def annotations(self) -> Mapping[str, str]:
        """Return the annotations of the template. Values that are not text are skipped."""
        return annotations_of(self.metadata)

    def key_field(self, key: str) -> str:
        """Return the path of an annotation in Kueue's texts."""
        return f"{self.field}.annotations[{key}]"

    @property
    def annotations_path(self) -> FieldPath:
        """Return the path of the annotations, or the field that names another object with the template."""
        return self.path if self.suffix else (*self.path, "annotations")

    def key_path(self, key: str) -> FieldPath:
        """Return the path of an annotation, or of all annotations if it is missing."""
        is_own = key in self.annotations and not self.suffix
        return (*self.annotations_path, key) if is_own else self.annotations_path


@dataclass(frozen=True, slots=True)
class SliceLayer:
    """A layer of slices. Each slice of `size` pods must be in one domain of `level`."""

    level: str
    size: int


@dataclass(frozen=True, slots=True)
class TopologyRequest:
    """The `topologyRequest` that Kueue makes of a template's annotations. Levels are node labels.

    `unconstrained` is None if its annotation is missing. `layers` are the layers of slices, the coarsest first. There
    is only one layer if level and size are separate annotations.
    """

    required: str | None = None
    preferred: str | None = None
    unconstrained: bool | None = None
    layers: tuple[SliceLayer, ...] = ()
    group: str | None = None

    @property
    def is_asked(self) -> bool:
        """Return True if the pod set requests topology-aware scheduling."""
        return bool(self.required or self.preferred or self.layers) or self.unconstrained is not None

    @property
    def levels(self) -> tuple[str, ...]:
        """Return the node labels of all levels that the request names."""
        own = [level for level in (self.required, self.preferred) if level is not None]
        return (*own, *(layer.level for layer in self.layers))


def annotations_of(metadata: Value, field: str = "annotations") -> Mapping[str, str]:
    """Return the annotations or labels (`field`) in `metadata`. Values that are not text are skipped."""
    return texts(mapping(metadata).get(field))


def parse_bool(text: str) -> bool | None:
    """Return the result of Go's strconv.ParseBool. Return None if it fails."""
    return True if text in _TRUE else False if text in _FALSE else None


def parse_int32(text: str) -> int | None:
    """Return the result of Go's strconv.ParseInt for 32 bits. Return None if it fails."""
    if not _INTEGER.fullmatch(text) or len(text) > _TEXT_LENGTH:
        return None
    number = int(text)
    return number if -(2**31) <= number < 2**31 else None


def merge_texts(problems: Iterable[Problem]) -> list[Problem]:
    """Return one problem for each path and message, with the operator's texts of all problems that share them."""
    texts: dict[tuple[FieldPath, str], list[str]] = {}
    first: dict[tuple[FieldPath, str], Problem] = {}
    for problem in problems:
        key = problem.path, problem.message
        first.setdefault(key, problem)
        texts.setdefault(key, []).append(problem.operator_message or "")
    return [
        problem.replace(operator_message=f"[{', '.join(texts[key])}]") if len(texts[key]) > 1 else problem
        for key, problem in first.items()
    ]


def read_request(annotations: Mapping[str, str], release: KueueRelease) -> TopologyRequest | None:
    """Return the request of a template. Return None if its annotations request nothing.

    Call `unread_annotation` first, because this function does not report annotations that Kueue cannot read.
    """
    required, preferred, layers = annotations.get(REQUIRED), annotations.get(PREFERRED), _layers(annotations, release)
    unconstrained = None
    if required is not None:
        preferred = None
    elif preferred is None and UNCONSTRAINED in annotations:
        unconstrained = parse_bool(annotations[UNCONSTRAINED])
    group = annotations.get(GROUP_NAME) if required is not None or preferred is not None else None
    request = TopologyRequest(required, preferred, unconstrained, layers, group)
    return None if request == TopologyRequest() else request


def _layers(annotations: Mapping[str, str], release: KueueRelease) -> tuple[SliceLayer, ...]:
    if SLICE_LAYERS in annotations and release.multi_layer:
        entries = _entries(annotations[SLICE_LAYERS])
        return () if isinstance(entries, str) else entries
    size = parse_int32(annotations.get(SLICE_SIZE, ""))
    return () if size is None or SLICE_REQUIRED not in annotations else (SliceLayer(annotations[SLICE_REQUIRED], size),)


class Unread(Record):
    """An annotation that Kueue cannot read. `text` is Kueue's error, or None if the annotation is broken JSON."""

    key: str
    message: str
    text: str | None

    @classmethod
    def of(cls, key: str, text: str) -> Unread:
        """Return an annotation with Kueue's error `text`, which is also the message."""
        return cls(key, text, text)


def unread_annotation(annotations: Mapping[str, str], release: KueueRelease) -> Unread | None:
    """Return the first annotation that Kueue cannot read, or None.

    A webhook that builds the pod sets before its checks reports only this error.
    """
    is_unconstrained = UNCONSTRAINED in annotations and REQUIRED not in annotations and PREFERRED not in annotations
    if is_unconstrained and parse_bool(annotations[UNCONSTRAINED]) is None:
        return Unread.of(UNCONSTRAINED, number_error("ParseBool", annotations[UNCONSTRAINED]))
    if SLICE_LAYERS in annotations and release.multi_layer:
        entries = _entries(annotations[SLICE_LAYERS])
        if isinstance(entries, str):
            text = f"failed to parse multi-layer topology constraints annotation: {entries}"
            return Unread(SLICE_LAYERS, text, None if entries == NOT_JSON else text)
        if not 0 < len(entries) <= _MAX_LAYERS:
            return Unread.of(
                SLICE_LAYERS, f"topology constraints must contain between 1 and 3 entries: got {len(entries)}"
            )
        return None
    if SLICE_REQUIRED in annotations and SLICE_SIZE in annotations and parse_int32(annotations[SLICE_SIZE]) is None:
        return Unread.of(SLICE_SIZE, number_error("ParseInt", annotations[SLICE_SIZE]))
    return None


def number_error(function: str, text: str) -> str:
    """Return the error of `function` in Go's strconv for a text that it cannot parse."""
    is_number = function != "ParseBool" and _INTEGER.fullmatch(text)
    return f"strconv.{function}: parsing {go_quote(text)}: {'value out of range' if is_number else 'invalid syntax'}"


def atoi_error(text: str) -> str:
    """Return the error of Go's strconv.Atoi. Return "" if it can parse the text."""
    in_range = _INTEGER.fullmatch(text) and len(text) <= _TEXT_LENGTH and -(2**63) <= int(text) < 2**63
    return "" if in_range else number_error("Atoi", text)


def _entries(text: str) -> tuple[SliceLayer, ...] | str:
    """Return the layers in the annotation, or Go's error if it is not a list of layers, or NOT_JSON."""
    try:
        value: Value = json.loads(text, parse_constant=_refuse_constant)
    except json.JSONDecodeError:
        return _json_error(text)
    except (RecursionError, ValueError):
        # Go reads deeper and longer JSON than Python. Such a text cannot be a list of layers.
        value = [[]]
    if value is None:
        return ()
    if not isinstance(value, list):
        return unmarshal_error(value, f"[]v1beta2.{_ENTRY}")
    layers = [_layer(entry) for entry in value]
    errors = [layer for layer in layers if isinstance(layer, str)]
    return errors[0] if errors else tuple(layer for layer in layers if isinstance(layer, SliceLayer))


NOT_JSON = "it is not JSON"
"""packwise's own text for JSON with an error after the first character. Go has many different errors for it."""


def _json_error(text: str) -> str:
    """Return Go's error about broken JSON if it is about the first character, or NOT_JSON."""
    first = text.lstrip(" \t\r\n")[:1]
    begins = not first or first in '{["tfn-0123456789'
    if begins or not first.isascii() or not first.isprintable() or first in "'\\":
        return NOT_JSON
    return f"invalid character '{first}' looking for beginning of value"


def _refuse_constant(name: str) -> Value:
    """Raise JSONDecodeError, because only Python accepts `NaN` and `Infinity` in JSON."""
    raise json.JSONDecodeError(name, name, 0)


def _layer(entry: Value) -> SliceLayer | str:
    if entry is None:
        return SliceLayer("", 0)
    if not isinstance(entry, dict):
        return unmarshal_error(entry, f"v1beta2.{_ENTRY}")
    level, size = "", 0
    for name, value in entry.items():
        if value is None:
            continue
        # Go ignores the case of field names.
        if name.casefold() == "topology":
            if not isinstance(value, str):
                return unmarshal_error(value, "string", f"{_ENTRY}.topology")
            level = value
        elif name.casefold() == "size":
            if type(value) is not int or not -(2**31) <= value < 2**31:
                return unmarshal_error(value, "int32", f"{_ENTRY}.size", digits=str(value))
            size = value
    return SliceLayer(level, size)


def template_problems(template: PodTemplate, release: KueueRelease) -> list[Problem]:
    """Return the problems of a pod template's annotations that all webhooks find, in the order of the webhooks."""
    annotations = template.annotations
    if not any(key.startswith(PREFIX) for key in annotations):
        return []
    return [
        *_check_single_mode(template, annotations),
        *_levels(template, annotations),
        *_group(template, annotations, release),
        *_unconstrained_problems(template, annotations, release),
        *_slice_size(template, annotations),
        *_slice_layers(template, annotations, release),
    ]


def _check_single_mode(template: PodTemplate, annotations: Mapping[str, str]) -> Iterator[Problem]:
    modes = (REQUIRED, PREFERRED, UNCONSTRAINED)
    asked = [key for key in modes if key in annotations]
    if len(asked) > 1:
        listed = ", ".join([f'"{key}"' for key in modes])
        detail = f"must not contain more than one topology annotation: [{listed}]"
        message = f"must set only one of required, preferred and unconstrained topology; got {' and '.join(asked)}"
        error = OperatorError(f"{template.field}.annotations", ErrorType.INVALID, Unquoted(detail + template.suffix))
        yield refusal(template.annotations_path, message, error)


def _refuse_annotation(
    template: PodTemplate,
    key: str,
    message: str,
    detail: str,
    *,
    kind: ErrorType = ErrorType.INVALID,
    value: Value = None,
) -> Problem:
    """Return the problem of an annotation, at the annotation or, if it is missing, at the place for it."""
    error = OperatorError(template.key_field(key), kind, value, detail + template.suffix)
    return refusal(template.key_path(key), message, error, at_key=kind is ErrorType.FORBIDDEN)


def _levels(template: PodTemplate, annotations: Mapping[str, str]) -> Iterator[Problem]:
    for key in (REQUIRED, PREFERRED, SLICE_REQUIRED):
        level = annotations.get(key)
        for wrong in () if level is None else qualified_name(level, V35):
            message = f'must be the node label of a level, such as "example.com/rack"; got "{level}"'
            yield _refuse_annotation(template, key, message, wrong, value=level)


def _group(template: PodTemplate, annotations: Mapping[str, str], release: KueueRelease) -> Iterator[Problem]:
    group = annotations.get(GROUP_NAME)
    if group is None:
        return
    if _UNSIGNED.fullmatch(group) and len(group) <= _TEXT_LENGTH and int(group) < 2**64:
        yield _refuse_annotation(
            template, GROUP_NAME, f'must not be a number; got "{group}"', "must not be a number", value=group
        )
    for key in () if release.group_slices else (SLICE_SIZE, SLICE_REQUIRED):
        if key in annotations:
            yield _forbidden_problem(
                template, GROUP_NAME, f"may not be set when '{key}' is specified", f"conflicts with {key}"
            )
    if PREFERRED not in annotations and REQUIRED not in annotations:
        detail = f"may not be set when neither '{PREFERRED}' nor '{REQUIRED}' is specified"
        yield _forbidden_problem(template, GROUP_NAME, detail, "needs a required or preferred topology")


def _forbidden_problem(template: PodTemplate, key: str, detail: str, message: str) -> Problem:
    return _refuse_annotation(template, key, message, detail, kind=ErrorType.FORBIDDEN)


def _unconstrained_problems(
    template: PodTemplate, annotations: Mapping[str, str], release: KueueRelease
) -> Iterator[Problem]:
    text = annotations.get(UNCONSTRAINED)
    if text is not None and parse_bool(text) is None:
        message = f'must be "true" or unset; got "{text}"{near_miss(text, ["true"])}'
        yield _refuse_annotation(template, UNCONSTRAINED, message, "must be a boolean value", value=text)
    elif text is not None and parse_bool(text) is False and release.refuses_false:
        message = f'Kueue {release.name} and later refuse "{text}"; write "true", or remove the annotation'
        yield Problem(template.key_path(UNCONSTRAINED), message)


def _slice_size(template: PodTemplate, annotations: Mapping[str, str]) -> Iterator[Problem]:
    text, has_level = annotations.get(SLICE_SIZE), SLICE_REQUIRED in annotations
    if text is not None:
        size = parse_int32(text)
        message = f'must be the number of pods of a slice, at least 1; got "{text}"'
        if size is None:
            yield _refuse_annotation(template, SLICE_SIZE, message, "must be a numeric value", value=text)
        elif size < 1:
            yield _refuse_annotation(template, SLICE_SIZE, message, "must be greater than or equal to 1", value=text)
        if not has_level:
            detail = f"may not be set when '{SLICE_REQUIRED}' is not specified"
            yield _forbidden_problem(template, SLICE_SIZE, detail, f"needs {SLICE_REQUIRED}, the level of the slices")
    elif has_level:
        detail = f"must be set when '{SLICE_REQUIRED}' is specified"
        message = f"needs {SLICE_SIZE}, the number of pods of a slice, in addition to {SLICE_REQUIRED}"
        yield _refuse_annotation(template, SLICE_SIZE, message, detail, kind=ErrorType.REQUIRED)


def _slice_layers(template: PodTemplate, annotations: Mapping[str, str], release: KueueRelease) -> Iterator[Problem]:
    text = annotations.get(SLICE_LAYERS)
    if text is None:
        return
    if not release.multi_layer:
        detail = "the TASMultiLayerTopology feature gate must be enabled to use this annotation"
        message = f"needs the gate TASMultiLayerTopology, which is off by default in {release.name}"
        yield _forbidden_problem(template, SLICE_LAYERS, detail, message)
        return
    for key in (SLICE_REQUIRED, SLICE_SIZE):
        if key in annotations:
            detail = f"may not be set when '{key}' is specified"
            yield _forbidden_problem(
                template, SLICE_LAYERS, detail, f"conflicts with {key}; use one way to request slices"
            )
    if GROUP_NAME in annotations and not release.group_slices:
        detail = f"may not be set when '{SLICE_LAYERS}' is specified"
        yield _forbidden_problem(template, GROUP_NAME, detail, f"conflicts with {SLICE_LAYERS}")
    entries = _entries(text)
    if isinstance(entries, str):
        message = f'must be a JSON list, such as [{{"topology": "example.com/rack", "size": 4}}]: {entries}'
        if entries == NOT_JSON:
            yield Problem(template.key_path(SLICE_LAYERS), message, stage=Stage.WEBHOOK)
        else:
            yield _refuse_annotation(
                template, SLICE_LAYERS, message, f"must be a valid JSON array: {entries}", value=text
            )
    elif not 0 < len(entries) <= _MAX_LAYERS:
        detail = "topology constraints must contain between 1 and 3 entries"
        yield _refuse_annotation(
            template, SLICE_LAYERS, f"must have one to three entries; got {len(entries)}", detail, value=text
        )
    else:
        yield from _layer_problems(template, entries)


def _layer_problems(template: PodTemplate, layers: tuple[SliceLayer, ...]) -> Iterator[Problem]:
    field, path = template.key_field(SLICE_LAYERS), template.key_path(SLICE_LAYERS)

    def of_entry(index: int, part: str, message: str, error: OperatorError) -> Problem:
        detail = error.detail + template.suffix
        text = error.replace(field=f"{field}[{index}].{part}", detail=detail)
        return refusal(path, f"entry {index}: {message}", text)

    for index, layer in enumerate(layers):
        for wrong in qualified_name(layer.level, V35):
            message = f'topology must be the node label of a level; got "{layer.level}"'
            yield of_entry(index, "topology", message, OperatorError("", ErrorType.INVALID, layer.level, wrong))
        if layer.size < 1:
            error = OperatorError("", ErrorType.INVALID, layer.size, "must be greater than or equal to 1")
            yield of_entry(index, "size", f"size must be at least 1; got {layer.size}", error)
    first: dict[str, int] = {}
    for index, layer in enumerate(layers):
        before = first.setdefault(layer.level, index)
        if before != index:
            message = f'topology repeats the level of entry {before}, "{layer.level}"'
            error = OperatorError("", ErrorType.DUPLICATE, f"{layer.level} (also at index {before})")
            yield of_entry(index, "topology", message, error)
    for index, (above, layer) in enumerate(pairwise(layers), 1):
        if layer.size > 0 and above.size % layer.size:
            detail = f"must evenly divide the parent layer size {above.size}"
            message = f"size must divide the size of the previous entry, {above.size}; got {layer.size}"
            yield of_entry(index, "size", message, OperatorError("", ErrorType.INVALID, layer.size, detail))


def bound_problems(template: PodTemplate, count: int) -> Iterator[Problem]:
    """Yield the problems of slices that have more pods than the pod set has."""
    annotations = template.annotations
    text = annotations.get(SLICE_SIZE)
    if text is not None:
        size = parse_int32(text)
        if size is None:
            message = f'must be the number of pods of a slice, at least 1; got "{text}"'
            yield _refuse_annotation(template, SLICE_SIZE, message, "must be a numeric value", value=text)
            return
        if size > count:
            yield _refuse_annotation(
                template, SLICE_SIZE, _too_large(size, count), _above_count_text(count), value=text
            )
    entries = _entries(annotations[SLICE_LAYERS]) if SLICE_LAYERS in annotations else ()
    if not isinstance(entries, str) and entries and entries[0].size > count:
        size = entries[0].size
        yield _refuse_annotation(template, SLICE_LAYERS, _too_large(size, count), _above_count_text(count), value=size)


def _too_large(size: int, count: int) -> str:
    return f"must be at most the {count} pods of the pod set; got {size}"


def _above_count_text(count: int) -> str:
    return f"must not be greater than pod set count {count}"
