"""The annotation that lists the admission gates of a job. Kueue admits the job only after all gates are removed.

Source: spec/kueue.md#4.3; Kueue v0.19.2, pkg/util/webhook/validation_admissiongatedby.go.
"""

from __future__ import annotations

import re

from krmfn.hints import TYPE_CHECKING
from packwise.kubernetes import ErrorType, OperatorError, dns_subdomain, refusal
from packwise.schedulers.kueue.request import PREFIX, annotations_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from krmfn.value import Value
    from packwise.findings import Problem

_KEY = f"{PREFIX}admission-gated-by"
_FIELD = f"metadata.annotations[{_KEY}]"
_LONGEST = 63
_PATH_PATTERN = r"[A-Za-z0-9/\-._~%!$&'()*+,;=:]+"
_PATH = re.compile(_PATH_PATTERN)


def gate_problems(value: Mapping[str, Value], before: Mapping[str, Value] | None) -> Iterator[Problem]:
    """Yield the problems of the gates of a job. `before` is the job before the change, or None for a new job."""
    text = annotations_of(value.get("metadata")).get(_KEY, "")
    if before is not None:
        then = annotations_of(before.get("metadata")).get(_KEY, "")
        if text and not then:
            yield _problem("cannot be added to an existing job", None, "cannot add admission gate after creation")
        elif text and not set(_gates(text)) <= set(_gates(then)):
            yield _problem(
                f'gates can only be removed; the value was "{then}"', None, "can only remove gates, not add new ones"
            )
    seen: set[str] = set()
    for gate in _gates(text):
        if not gate:
            yield _problem("has an empty name between commas", text, "cannot contain empty gate names")
        elif gate in seen:
            yield _problem(f'names "{gate}" twice', text, f"duplicate gate name: {gate}")
        else:
            seen.add(gate)
            yield from _name_problems(gate)


def _gates(text: str) -> list[str]:
    return [each.strip() for each in text.split(",")] if text.strip() else []


def _name_problems(gate: str) -> Iterator[Problem]:
    """Yield the problems of the name of one gate. It must be a path below a domain, such as `example.com/quota`."""
    host, slash, path = gate.partition("/")
    if not (slash and host and path):
        detail = 'must be a domain-prefixed path (such as "acme.io/foo")'
        yield _problem(f'must be a path below a domain, such as "example.com/quota"; got "{gate}"', gate, detail)
    else:
        for wrong in dns_subdomain(host, "bytes"):
            yield _problem(f'must begin with a domain; got "{host}"', host, wrong)
        if not _PATH.fullmatch(path):
            detail = f"Invalid path (regex used for validation is '{_PATH_PATTERN}')"
            yield _problem(f'must be a path; got "{path}"', path, detail)
    if len(gate.encode("utf-8", "surrogatepass")) > _LONGEST:
        detail = f"may not be more than {_LONGEST} bytes"
        yield _problem(f"must have at most {_LONGEST} bytes; got {gate}", None, detail, ErrorType.TOO_LONG)


def _problem(message: str, shown: str | None, detail: str, kind: ErrorType | None = None) -> Problem:
    chosen = kind or (ErrorType.FORBIDDEN if shown is None else ErrorType.INVALID)
    return refusal(("metadata", "annotations", _KEY), message, OperatorError(_FIELD, chosen, shown, detail))
