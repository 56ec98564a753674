"""Claims on devices that pods share: resourceClaimTemplates and resourceSharing. Source: spec/grove.md#4.4."""

from __future__ import annotations

from krmfn.fieldpath import format_path
from krmfn.hints import TYPE_CHECKING, cast
from krmfn.record import NamedTuple
from packwise.findings.finding import Rule
from packwise.frontends.grove.rules.check import (
    TEMPLATE,
    Check,
    CliqueAt,
    Context,
    GroupAt,
    Scope,
    invalid,
    refusal,
    required_value,
)
from packwise.frontends.grove.rules.cliques import duplicates
from packwise.kubernetes.validation import ErrorType, OperatorError, TypedText, go_quote
from packwise.wording import closest, list_known

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from krmfn.fieldpath import FieldPath
    from krmfn.value import Value
    from packwise.findings.finding import Problem
    from packwise.frontends.grove.podcliqueset import PodCliqueSet

__all__ = ["CLIQUE_SHARING", "GROUP_SHARING", "SET_SHARING"]

_TEMPLATES = (*TEMPLATE, "resourceClaimTemplates")
_SCOPES = ("AllReplicas", "PerReplica")


class _Sharing(NamedTuple):
    """One list of references: `children` are the names that a filter may have, by its field."""

    pcs: PodCliqueSet
    path: FieldPath
    entries: Sequence[Mapping[str, Value]]
    children: Mapping[str, Sequence[str]] = {}


class _Reference(NamedTuple):
    """One entry of such a list."""

    sharing: _Sharing
    at: int
    entry: Mapping[str, Value]

    def path(self, *steps: str | int) -> FieldPath:
        """A path below the entry."""
        return (*self.sharing.path, self.at, *steps)

    def text(self, field: str) -> str:
        """A field that is a text; "" where it is none."""
        value = self.entry.get(field)
        return value if isinstance(value, str) else ""


def _claim_templates(pcs: PodCliqueSet, _context: Context) -> Iterator[Problem]:
    for index, template in enumerate(pcs.claim_templates):
        if not template.get("name"):
            yield required_value((*_TEMPLATES, index, "name"), "template name is required", "must name the template")
        part: Value = cast("Value", template)
        for key in ("templateSpec", "spec", "devices", "requests"):
            part = part.get(key) if isinstance(part, dict) else None
        if not part:
            path = (*_TEMPLATES, index, "templateSpec", "spec", "devices", "requests")
            text = "at least one device request is required"
            yield required_value(path, text, "must hold at least one request of a device; got none")


def _claim_templates_unique(pcs: PodCliqueSet, _context: Context) -> Iterator[Problem]:
    names = [str(template.get("name") or "") for template in pcs.claim_templates]
    repeated = duplicates(names)
    if repeated:
        at = len(names) - 1 - names[::-1].index(repeated[0])
        error = OperatorError(f"{format_path(_TEMPLATES)}.name", ErrorType.DUPLICATE, repeated)
        message = f"must be unique among the templates; more than once: {list_known(repeated)}"
        yield refusal((*_TEMPLATES, at, "name"), message, error)


def _of_set(pcs: PodCliqueSet, _context: Context) -> tuple[_Sharing, ...]:
    if not pcs.resource_sharing:
        return ()
    children = {
        "childCliqueNames": [clique.name for clique in pcs.cliques],
        "childScalingGroupNames": [group.name for group in pcs.groups],
    }
    return (_Sharing(pcs, (*TEMPLATE, "resourceSharing"), pcs.resource_sharing, children),)


def _of_clique(at: CliqueAt, _context: Context) -> tuple[_Sharing, ...]:
    entries = at.clique.resource_sharing
    return (_Sharing(at.pcs, at.path("resourceSharing"), entries),) if entries else ()


def _of_group(at: GroupAt, _context: Context) -> tuple[_Sharing, ...]:
    entries = at.group.resource_sharing
    if not entries:
        return ()
    return (_Sharing(at.pcs, at.path("resourceSharing"), entries, {"childCliqueNames": at.group.clique_names}),)


def _references(sharing: _Sharing, _context: Context) -> list[_Reference]:
    return [_Reference(sharing, index, entry) for index, entry in enumerate(sharing.entries)]


def _name(reference: _Reference, _context: Context) -> Iterator[Problem]:
    name, path = reference.text("name"), reference.path("name")
    before = [entry.get("name") for entry in reference.sharing.entries[: reference.at]]
    if not name:
        yield required_value(path, "reference name is required", "must name a resourceClaimTemplate")
    elif name in before:
        message = f'must be named once; "{name}" stands before it'
        yield refusal(path, message, OperatorError(format_path(path), ErrorType.DUPLICATE, name))


def _namespace(reference: _Reference, _context: Context) -> Iterator[Problem]:
    namespace, name = reference.text("namespace"), reference.text("name")
    if namespace and name and any(template.get("name") == name for template in reference.sharing.pcs.claim_templates):
        text = "namespace must be empty when name matches an internal resourceClaimTemplate"
        message = f'must be absent: "{name}" is a template of this workload; got "{namespace}"'
        yield invalid(reference.path("namespace"), namespace, text, message)


def _scope(reference: _Reference, _context: Context) -> Iterator[Problem]:
    scope = reference.text("scope")
    if scope not in _SCOPES:
        path = reference.path("scope")
        supported = ", ".join([go_quote(name) for name in _SCOPES])
        error = OperatorError(
            format_path(path), ErrorType.NOT_SUPPORTED, TypedText(scope), f"supported values: {supported}"
        )
        yield refusal(path, f'must be one of {list_known(_SCOPES)}; got "{scope}"', error)


def _filters(sharing: _Sharing, _context: Context) -> list[_Reference]:
    # The operator looks at them when it has been through all entries.
    return [
        reference
        for reference in _references(sharing, _context)
        if sharing.children and reference.entry.get("filter") is not None
    ]


def _filter(reference: _Reference, _context: Context) -> Iterator[Problem]:
    chosen, children = reference.entry.get("filter"), reference.sharing.children
    names = {field: chosen.get(field) if isinstance(chosen, dict) else None for field in children}
    if not any(names.values()):
        fields = " or ".join(children)
        text = f"filter must specify at least one {fields} entry"
        yield required_value(
            reference.path("filter"), text, f"must name at least one child, as {fields}; remove it to mean all"
        )
    for field, entries in names.items():
        for index, name in enumerate(entries if isinstance(entries, list) else ()):
            known = children[field]
            if isinstance(name, str) and name not in known:
                path = reference.path("filter", field, index)
                message = f'must name a child of it; got "{name}", known: {list_known(known)}{closest(name, known)}'
                yield refusal(path, message, OperatorError(format_path(path), ErrorType.NOT_FOUND, name))


_SOURCE = "spec/grove.md#resource-sharing"

_SHARING = (
    Scope(_references, (
        Check(Rule("resource-sharing-name", "A reference names a template, once.", _SOURCE), _name),
        Check(Rule("resource-sharing-namespace", "A template of the workload itself has no namespace.", _SOURCE),
              _namespace),
        Check(Rule("resource-sharing-scope", "scope is AllReplicas or PerReplica.", _SOURCE), _scope),
    )),
    Scope(_filters, (
        Check(Rule("resource-sharing-filter", "A filter names children that there are.", _SOURCE), _filter),
    )),
)  # fmt: skip

SET_SHARING = (
    Check(Rule("claim-template", "A resourceClaimTemplate has a name and requests a device.", _SOURCE),
          _claim_templates),
    Check(Rule("claim-templates-unique", "No two resourceClaimTemplates have the same name.", _SOURCE),
          _claim_templates_unique),
    Scope(_of_set, _SHARING),
)  # fmt: skip
"""Of the set: run before the cliques."""

CLIQUE_SHARING = (Scope(_of_clique, _SHARING),)
"""Of a clique: run before its spec."""

GROUP_SHARING = (Scope(_of_group, _SHARING),)
"""Of a scaling group: run after its numbers."""
