"""The schedulers that Grove's operator is configured for. Source: spec/grove.md#9."""

from __future__ import annotations

from krmfn.hints import TYPE_CHECKING
from packwise.findings.finding import Finding, Rule, Stage
from packwise.kubernetes.validation import ErrorType, OperatorError, TypedText, go_quote
from packwise.placement import Schedulers
from packwise.settings import KAI_PROFILE
from packwise.wording import closest, list_known

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from krmfn.kubeobject import KubeObject
    from krmfn.value import Value
    from packwise.objects import Place
    from packwise.revisions.grove import Revision
    from packwise.settings.configuration import Configuration

NAME = Rule("scheduler-profile", "A scheduler profile names one of Grove's backends, once.", "spec/grove.md#9.5")
DEFAULT = Rule("scheduler-default", "The default profile is one of the profiles.", "spec/grove.md#9.5")
RULES = (NAME, DEFAULT)
"""Rules of the scheduler section."""

KUBE_PROFILE = "default-scheduler"


def read_schedulers(
    configuration: Configuration | None, revision: Revision, settings: KubeObject | None
) -> tuple[Schedulers, list[Finding]]:
    """The schedulers, and what the operator refuses at its start, in its order.

    Kubernetes' own scheduler is always among them, and the default. Only in `settings`, packwise's own configuration,
    do no profiles mean KAI, and may a profile say of itself that it is the default.
    """
    section, place = configuration.scheduler or (None, None) if configuration is not None else (None, None)
    profiles = section.get("profiles") if isinstance(section, dict) else None
    entries = [entry for entry in profiles if isinstance(entry, dict)] if isinstance(profiles, list) else []
    own = configuration is None or configuration.place.item is settings
    if place is None or not isinstance(section, dict) or not entries:
        return (
            Schedulers((KAI_PROFILE, KUBE_PROFILE), KAI_PROFILE) if own else Schedulers((KUBE_PROFILE,), KUBE_PROFILE)
        ), []
    names = [_text(entry, "name") for entry in entries]
    findings = list(_wrong_names(names, place, revision.scheduler_backends))
    known = [name for name in dict.fromkeys(names) if name in revision.scheduler_backends]
    known += [] if KUBE_PROFILE in known else [KUBE_PROFILE]
    marked = [name for entry, name in zip(entries, names, strict=True) if entry.get("default") is True]
    default = _text(section, "defaultProfileName") or (marked[0] if marked and place.item is settings else KUBE_PROFILE)
    if default not in known:
        findings.append(_wrong_default(default, known, place))
    ordered = [finding.replace(order=order) for order, finding in enumerate(findings)]
    return Schedulers(tuple(known), default), ordered


def _wrong_names(names: Sequence[str], place: Place, backends: Sequence[str]) -> list[Finding]:
    findings: list[Finding] = []
    seen: dict[str, int] = {}
    for index, name in enumerate(names):
        field = f"scheduler.profiles[{index}].name"
        if not name.strip():
            error = OperatorError(field, ErrorType.REQUIRED, None, "scheduler profile name is required")
            message = f"must name a scheduler: {list_known(backends)}"
        elif name not in backends:
            supported = ", ".join([go_quote(known) for known in backends])
            error = OperatorError(field, ErrorType.NOT_SUPPORTED, TypedText(name), f"supported values: {supported}")
            message = f'must be one of {list_known(backends)}; got "{name}"{closest(name, backends)}'
        elif name in seen:
            error = OperatorError(field, ErrorType.DUPLICATE, TypedText(name))
            message = f'must be unique among the profiles; "{name}" also stands at profiles[{seen[name]}]'
        else:
            seen[name] = index
            continue
        findings.append(_finding(NAME, place.below("profiles", index, "name"), message, error))
    return findings


def _wrong_default(default: str, known: Sequence[str], place: Place) -> Finding:
    field = "scheduler.defaultProfileName"
    if not default.strip():
        error = OperatorError(field, ErrorType.REQUIRED, None, "default scheduler profile name is required")
    else:
        text = "default profile must be one of the configured profiles"
        error = OperatorError(field, ErrorType.INVALID, default, text)
    message = f'must be one of the profiles, {list_known(known)}; got "{default}"{closest(default, known)}'
    return _finding(DEFAULT, place.below("defaultProfileName"), message, error)


def _finding(rule: Rule, place: Place, message: str, error: OperatorError) -> Finding:
    return place.finding(rule, message, operator_message=error.text(), stage=Stage.CONFIG)


def _text(value: Mapping[str, Value], key: str) -> str:
    text = value.get(key)
    return text if isinstance(text, str) else ""
