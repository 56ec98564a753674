"""Grove's OperatorConfiguration: the fields of its decoder, and the checks of the operator at its start.

The decoder is lenient: it ignores unknown fields. Source: Grove, operator/api/config/v1alpha1.

The operator does not start if a configuration breaks a rule. Source: Grove, operator/api/config/validation and
cmd/main.go; controller-runtime v0.22, client-go v0.34.
"""

from __future__ import annotations

from functools import cache

from krmfn.fieldpath import format_path
from krmfn.hints import TYPE_CHECKING, Record
from krmfn.result import Severity
from packwise.fields import Array, Decimal, Duration, Field, Flag, Number, Object, Open, Text
from packwise.findings import Effect, Finding, Problem, Rule, Stage
from packwise.kubernetes import (
    ErrorType,
    OperatorError,
    TypedText,
    format_duration,
    go_quote,
    parse_duration,
    refusal,
)
from packwise.lenient import mapping_at, text, value_at, whole_number
from packwise.settings.configuration import SHAPE
from packwise.settings.topologyrender import DIALECTS
from packwise.validate.decode import Decoder, ObjectTable
from packwise.wording import did_you_mean, list_known

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from krmfn.fieldpath import FieldPath
    from krmfn.value import Value
    from packwise.findings import Place
    from packwise.revisions.grove import Revision
    from packwise.settings.configuration import Operator
    from packwise.validate.decode import At


class API(Record):
    """The parts that the OperatorConfiguration of a release may have: the levels of the topology, scheduler
    profiles.
    """

    levels: bool
    profiles: bool


_TEXT, _FLAG, _ANY = Field(Text()), Field(Flag()), Field(Open())
_INTEGER = Field(Number(64, "int"))
_DURATION = Field(Duration(is_pointer=False))
_SERVER = {"bindAddress": _TEXT, "port": _INTEGER}


def _text_of(go: str) -> Field:
    """Return the field of a text with one of Grove's own Go types."""
    return Field(Text(go=f"v1alpha1.{go}"))


def _part(struct: str, fields: Mapping[str, Field]) -> Field:
    return Field(Object(struct, fields))


_LEVEL = Object("TopologyLevel", {"domain": _text_of("TopologyDomain"), "key": _TEXT})
_PROFILE = Object("SchedulerProfile", {"config": _ANY, "name": _text_of("SchedulerName")})


@cache
def _table_of(api: API) -> ObjectTable:
    """Return the fields of the OperatorConfiguration of `api`. The fields of each mapping are in alphabetical order."""
    controllers = ("podClique", "podCliqueScalingGroup", "podCliqueSet", *(("podGang",) if api.profiles else ()))
    levels = {"levels": Field(Array(_LEVEL, "[]v1alpha1.TopologyLevel"))} if api.levels else {}
    fields: dict[str, Field] = {
        # The API server never sees this object. Its metadata is for kustomize and kpt.
        **dict.fromkeys(("apiVersion", "kind", "metadata", "status"), _ANY),
        "authorizer": _part("AuthorizerConfig", {
            "enabled": _FLAG, "exemptServiceAccountUserNames": Field(Array(Text(), "[]string")),
        }),
        "controllers": _part("ControllerConfiguration", {name: _controller(name) for name in controllers}),
        "debugging": _part("DebuggingConfiguration", {
            "enableProfiling": _FLAG, "pprofBindHost": _TEXT, "pprofBindPort": _INTEGER,
        }),
        "leaderElection": _part("LeaderElectionConfiguration", {
            "enabled": _FLAG, "leaseDuration": _DURATION, "renewDeadline": _DURATION, "resourceLock": _TEXT,
            "resourceName": _TEXT, "resourceNamespace": _TEXT, "retryPeriod": _DURATION,
        }),
        "logFormat": _text_of("LogFormat"),
        "logLevel": _text_of("LogLevel"),
        "network": _part("NetworkAcceleration", {"autoMNNVLEnabled": _FLAG}),
        "runtimeClientConnection": _part("ClientConnectionConfiguration", {
            "acceptContentTypes": _TEXT, "burst": _INTEGER, "contentType": _TEXT, "qps": Field(Decimal()),
        }),
        "server": _part("ServerConfiguration", {
            "healthProbes": _part("Server", _SERVER),
            "metrics": _part("Server", _SERVER),
            "webhooks": _part("WebhookServer", {
                **_SERVER,
                "certProvisionMode": _text_of("CertProvisionMode"), "secretName": _TEXT, "serverCertDir": _TEXT,
            }),
        }),
        "topologyAwareScheduling": _part("TopologyAwareSchedulingConfiguration", {"enabled": _FLAG, **levels}),
    }  # fmt: skip
    if api.profiles:
        fields["scheduler"] = _part("SchedulerConfiguration", {
            "defaultProfileName": _TEXT, "profiles": Field(Array(_PROFILE, "[]v1alpha1.SchedulerProfile")),
        })  # fmt: skip
    return ObjectTable(lambda: Object("OperatorConfiguration", dict(sorted(fields.items()))))


def _controller(name: str) -> Field:
    return _part(f"{name[0].upper()}{name[1:]}ControllerConfiguration", {"concurrentSyncs": _INTEGER})


class _ConfigurationDecoder(Decoder):
    """The operator's decoder at its start. It ignores unknown fields."""

    __slots__ = ()

    stage = Stage.CONFIG
    durations = "15s"

    def unknown_problem(self, path: FieldPath, name: str, mapping: ObjectTable) -> Problem:
        known = list(mapping.fields)
        near = did_you_mean(name, known)
        where = f'"{format_path(path)}"' if path else f"an {mapping.struct}"
        message = f'the operator ignores the unknown field "{name}" of {where}'
        message += near or f"; known: {list_known(known)}"
        return Problem((*path, name), message, effect=Effect.UNKNOWN if near else Effect.IGNORED, at_key=True)

    def decoder_path(self, at: At) -> str:
        # Go embeds a Server in the WebhookServer, and its text shows that.
        owner, _, name = (dotted := super().decoder_path(at)).rpartition(".")
        return f"{owner}.Server.{name}" if owner == "server.webhooks" and name in _SERVER else dotted


def decode_problems(value: Mapping[str, Value], api: API) -> tuple[list[Problem], list[Problem]]:
    """Return errors of the operator's decoder in its order and the unknown fields."""
    decoder = _ConfigurationDecoder()
    decoder.read(value, _table_of(api))
    return decoder.decode, decoder.unknown


DECODE = Rule("operator-decode", "The operator's configuration has a value of the wrong type.", "spec/grove.md#14.1")
FIELD = Rule("operator-field", "The operator does not know a field of its configuration.", "spec/grove.md#14.1")
LOG = Rule("operator-log", "The operator does not know the value of logLevel or logFormat.", "spec/grove.md#14.2")
ELECTION = Rule(
    "operator-leader-election", "The times of the leader election contradict each other.", "spec/grove.md#14.3"
)
CLIENT = Rule("operator-client", "The burst of the operator's client is negative.", "spec/grove.md#14.4")
SYNCS = Rule("operator-syncs", "A controller of the operator has no worker.", "spec/grove.md#14.5")
SERVER = Rule(
    "operator-server", "A server of the operator has an invalid port or certificate setting.", "spec/grove.md#14.6"
)
RULES = (DECODE, FIELD, LOG, ELECTION, CLIENT, SYNCS, SERVER)
"""Rules of the operator's own configuration."""

_READ = frozenset({"topologyAwareScheduling", "scheduler", "network"})
"""The sections that a render depends on. The rules of the topology configuration check them."""

_LOG = {"logLevel": ("debug", "info", "error"), "logFormat": ("json", "text")}
_DURATIONS = {"leaseDuration": "15s", "renewDeadline": "10s", "retryPeriod": "2s"}
_GONE_LOCKS = {
    "endpoints": "migrate", "configmaps": "migrate", "endpointsleases": "migrate", "configmapsleases": "migrated",
}  # fmt: skip
_CONTROLLERS = ("podCliqueSet", "podCliqueScalingGroup", "podClique", "podGang")
_LAST_PORT = 65535


def operator_findings(operators: Iterable[Operator], revision: Revision) -> list[Finding]:
    """Return the findings about each configuration that the operator of `revision` would report, in its order."""
    if revision.duplicate_level is not None:
        # The revision is a design that was never built.
        return []
    profiles = bool(revision.scheduler_backends) or revision.scheduler_profiles
    api = API(levels=revision.default_topology is not None, profiles=profiles)
    findings: list[Finding] = []
    for operator in operators:
        findings += _findings(operator.place, operator.value, api)
    return findings


def _findings(place: Place, value: Mapping[str, Value], api: API) -> Iterator[Finding]:
    refused, unknown = decode_problems(value, api)
    decoded = [(SHAPE if problem.path[0] in _READ else DECODE, problem) for problem in refused]
    checked = decoded or [*_checks(value, api)]
    for order, (rule, problem) in enumerate(checked):
        yield place.finding(rule, problem, order=order)
    for problem in unknown:
        # The selection reports other sections, and levels that the release does not have.
        if problem.path[0] not in DIALECTS or problem.path[1:] not in {(), ("levels",)}:
            # A misspelt field is an error, because its author expects an effect.
            misspelt = problem.effect is Effect.UNKNOWN
            yield place.finding(FIELD, problem, severity=None if misspelt else Severity.WARNING)


def _checks(value: Mapping[str, Value], api: API) -> Iterator[tuple[Rule, Problem]]:
    """Yield problems in the operator's order: first of its validation, then of its start.

    If there are problems of the validation, the operator does not report the others.
    """
    election = mapping_at(value, "leaderElection")
    elected = [election] if election.get("enabled") is True else []
    validated = [
        *((LOG, problem) for problem in _log(value)),
        *((ELECTION, problem) for section in elected for problem in _time_problems(_durations(section))),
        *((CLIENT, problem) for problem in _burst(value)),
        *((SYNCS, problem) for problem in _syncs(value, api)),
    ]
    yield from validated
    started = [
        *((ELECTION, problem) for section in elected for problem in _lock(section)),
        *((SERVER, problem) for problem in _server(mapping_at(value, "server"))),
    ]
    for rule, problem in started:
        yield rule, problem.replace(operator_message=None) if validated else problem


def _log(value: Mapping[str, Value]) -> Iterator[Problem]:
    for name, known in _LOG.items():
        text = value.get(name)
        if isinstance(text, str) and text.strip() and text not in known:
            supported = ", ".join([go_quote(entry) for entry in known])
            error = OperatorError(name, ErrorType.NOT_SUPPORTED, TypedText(text), f"supported values: {supported}")
            yield _refusal(error, f'must be one of {list_known(known)}; got "{text}"{did_you_mean(text, known)}', name)


def _time_problems(times: Mapping[str, int]) -> Iterator[Problem]:
    for name, time in times.items():
        if time <= 0:
            error = OperatorError(f"leaderElection.{name}", ErrorType.INVALID, format_duration(time), _POSITIVE)
            yield _refusal(error, f'{_POSITIVE}; got "{format_duration(time)}"', "leaderElection", name)
    lease, deadline = times["leaseDuration"], times["renewDeadline"]
    if lease <= deadline:
        # The operator prints the value of renewDeadline.
        text = "LeaseDuration must be greater than RenewDeadline"
        error = OperatorError("leaderElection.leaseDuration", ErrorType.INVALID, format_duration(deadline), text)
        message = f'must be greater than renewDeadline, "{format_duration(deadline)}"; got "{format_duration(lease)}"'
        yield _refusal(error, message, "leaderElection", "leaseDuration")


_POSITIVE = "must be greater than 0"


def _lock(election: Mapping[str, Value]) -> Iterator[Problem]:
    lock = election.get("resourceLock")
    if isinstance(lock, str) and lock not in ("", "leases"):
        migrate = _GONE_LOCKS.get(lock)
        text = f"Invalid lock-type {lock}" if migrate is None else f"{lock} lock is removed, {migrate} to leases"
        yield _refusal(text, (f'the operator supports only "leases"; got "{lock}"'), "leaderElection", "resourceLock")
    times = _durations(election)
    deadline, retry = times["renewDeadline"], times["retryPeriod"]
    if retry > 0 and deadline > 0 and 5 * deadline <= 6 * retry:
        text = "renewDeadline must be greater than retryPeriod*JitterFactor"
        message = (
            f'must be greater than 1.2 times retryPeriod, "{format_duration(retry)}"; got "{format_duration(deadline)}"'
        )
        yield _refusal(text, message, "leaderElection", "renewDeadline")


def _burst(value: Mapping[str, Value]) -> Iterator[Problem]:
    burst = whole_number(value_at(value, "runtimeClientConnection", "burst"), None)
    if burst is not None and burst < 0:
        # The operator's text has another name for the section.
        error = OperatorError("clientConnection.burst", ErrorType.INVALID, burst, "must be non-negative")
        yield _refusal(error, f'must be at least 0; got "{burst}"', "runtimeClientConnection", "burst")


def _syncs(value: Mapping[str, Value], api: API) -> Iterator[Problem]:
    controllers = mapping_at(value, "controllers")
    # alpha.7 checks two controllers, and its text names the first for both.
    for name in _CONTROLLERS if api.profiles else _CONTROLLERS[:2]:
        count = whole_number(value_at(controllers, name, "concurrentSyncs"), None)
        if count is not None and count <= 0:
            field = f"controllers.{name if api.profiles else _CONTROLLERS[0]}.concurrentSyncs"
            error = OperatorError(field, ErrorType.INVALID, count, _POSITIVE)
            yield _refusal(error, f'must be at least 1; got "{count}"', "controllers", name, "concurrentSyncs")


def _server(server: Mapping[str, Value]) -> Iterator[Problem]:
    for name in ("healthProbes", "webhooks", "metrics"):
        section = mapping_at(server, name)
        if name == "webhooks":
            yield from _certificates(section)
        port = whole_number(section.get("port"), None)
        # Zero is the default port, and so is a negative port of the webhooks.
        if port is not None and (port > _LAST_PORT or (port < 0 and name != "webhooks")):
            text = f"listen tcp: address {port}: invalid port"
            if name == "metrics":
                text = f"failed to start metrics server: failed to create listener: {text}"
            elif name == "healthProbes":
                text = f"error listening on {_address(section.get('bindAddress'), port)}: {text}"
            message = f'must be a port from 1 to {_LAST_PORT}; got "{port}"'
            yield _refusal(text, message, "server", name, "port")


def _certificates(webhooks: Mapping[str, Value]) -> Iterator[Problem]:
    mode = webhooks.get("certProvisionMode")
    if isinstance(mode, str) and mode not in ("", "auto", "manual"):
        text = f"unsupported cert provision mode: {go_quote(mode)}"
        known = ("auto", "manual")
        message = f'must be one of {list_known(known)}; got "{mode}"{did_you_mean(mode, known)}'
        yield _refusal(text, message, "server", "webhooks", "certProvisionMode")


def _address(host: Value, port: int) -> str:
    shown = text(host)
    return f"[{shown}]:{port}" if ":" in shown else f"{shown}:{port}"


def _refusal(error: OperatorError | str, message: str, *path: str) -> Problem:
    return refusal(path, message, error, Stage.CONFIG)


def _durations(election: Mapping[str, Value]) -> dict[str, int]:
    """Return the times in nanoseconds. Like the operator, use the default for an absent time and for zero."""
    written = {name: election.get(name) for name in _DURATIONS}
    parsed = {name: parse_duration(text) if isinstance(text, str) else None for name, text in written.items()}
    return {name: parsed[name] or parse_duration(default) or 0 for name, default in _DURATIONS.items()}
