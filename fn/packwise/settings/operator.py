"""Grove's OperatorConfiguration: its decoder's fields, and what the operator checks at its start.

The decoder is lenient: it takes no notice of fields that it does not know. Source: Grove, operator/api/config/v1alpha1.

With a configuration that breaks a rule the operator does not start. Source: Grove, operator/api/config/validation and
cmd/main.go; controller-runtime v0.22, client-go v0.34.
"""

from __future__ import annotations

from functools import cache

from krmfn.errors import describe
from krmfn.fieldpath import format_path
from krmfn.hints import TYPE_CHECKING
from krmfn.record import NamedTuple
from krmfn.result import Severity
from packwise.findings.finding import Effect, Finding, Problem, Rule, Stage
from packwise.kubernetes.validation import (
    ErrorType,
    OperatorError,
    Sentence,
    TypedText,
    duration_fault,
    format_duration,
    go_number,
    go_quote,
    parse_duration,
)
from packwise.settings import DIALECTS
from packwise.settings.configuration import SHAPE
from packwise.wording import closest, list_known

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from krmfn.fieldpath import FieldPath
    from krmfn.value import Value
    from packwise.objects.place import Place
    from packwise.revisions.grove import Revision
    from packwise.settings.configuration import Operator


class API(NamedTuple):
    """What an OperatorConfiguration has: the levels of the topology, scheduler profiles."""

    levels: bool
    profiles: bool


class Leaf(NamedTuple):
    """A field with a value: `json` is its type in JSON, or "duration", and `go` its Go type; "any" takes all."""

    json: str
    go: str = ""


class Struct(NamedTuple):
    """A mapping: its Go type's name, its fields; `inlined` are those of a type that Go embeds, and the type's name."""

    name: str
    fields: Mapping[str, Field]
    inlined: Mapping[str, str] = {}


class Entries(NamedTuple):
    """A list of `item`."""

    item: Leaf | Struct
    go: str


Field = Leaf | Struct | Entries

_TEXT, _FLAG, _INTEGER, _DURATION = (
    Leaf("string", "string"), Leaf("boolean", "bool"), Leaf("integer", "int"), Leaf("duration", "string"),
)  # fmt: skip
_ANY = Leaf("any")
_SERVER = {"bindAddress": _TEXT, "port": _INTEGER}
_WEBHOOKS = {
    **_SERVER,
    "certProvisionMode": Leaf("string", "v1alpha1.CertProvisionMode"),
    "secretName": _TEXT,
    "serverCertDir": _TEXT,
}
_LEVEL = Struct("TopologyLevel", {"domain": Leaf("string", "v1alpha1.TopologyDomain"), "key": _TEXT})
_PROFILE = Struct("SchedulerProfile", {"config": _ANY, "name": Leaf("string", "v1alpha1.SchedulerName")})
_NOUNS = {"string": "a string", "boolean": "true or false", "integer": "an integer", "number": "a number"}


@cache
def struct_of(api: API) -> Struct:
    """The OperatorConfiguration of `api`; the fields of each mapping in the order of the alphabet."""
    controllers = ("podClique", "podCliqueScalingGroup", "podCliqueSet", *(("podGang",) if api.profiles else ()))
    levels = {"levels": Entries(_LEVEL, "[]v1alpha1.TopologyLevel")} if api.levels else {}
    fields: dict[str, Field] = {
        # The API server never sees this object: its metadata are those of kustomize and kpt.
        **dict.fromkeys(("apiVersion", "kind", "metadata", "status"), _ANY),
        "authorizer": Struct("AuthorizerConfig", {
            "enabled": _FLAG, "exemptServiceAccountUserNames": Entries(_TEXT, "[]string"),
        }),
        "controllers": Struct("ControllerConfiguration", {name: _controller(name) for name in controllers}),
        "debugging": Struct("DebuggingConfiguration", {
            "enableProfiling": _FLAG, "pprofBindHost": _TEXT, "pprofBindPort": _INTEGER,
        }),
        "leaderElection": Struct("LeaderElectionConfiguration", {
            "enabled": _FLAG, "leaseDuration": _DURATION, "renewDeadline": _DURATION, "resourceLock": _TEXT,
            "resourceName": _TEXT, "resourceNamespace": _TEXT, "retryPeriod": _DURATION,
        }),
        "logFormat": Leaf("string", "v1alpha1.LogFormat"),
        "logLevel": Leaf("string", "v1alpha1.LogLevel"),
        "network": Struct("NetworkAcceleration", {"autoMNNVLEnabled": _FLAG}),
        "runtimeClientConnection": Struct("ClientConnectionConfiguration", {
            "acceptContentTypes": _TEXT, "burst": _INTEGER, "contentType": _TEXT, "qps": Leaf("number", "float32"),
        }),
        "server": Struct("ServerConfiguration", {
            "healthProbes": Struct("Server", _SERVER),
            "metrics": Struct("Server", _SERVER),
            "webhooks": Struct("WebhookServer", _WEBHOOKS, dict.fromkeys(_SERVER, "Server")),
        }),
        "topologyAwareScheduling": Struct("TopologyAwareSchedulingConfiguration", {"enabled": _FLAG, **levels}),
    }  # fmt: skip
    if api.profiles:
        fields["scheduler"] = Struct("SchedulerConfiguration", {
            "defaultProfileName": _TEXT, "profiles": Entries(_PROFILE, "[]v1alpha1.SchedulerProfile"),
        })  # fmt: skip
    return Struct("OperatorConfiguration", dict(sorted(fields.items())))


def _controller(name: str) -> Struct:
    return Struct(f"{name[0].upper()}{name[1:]}ControllerConfiguration", {"concurrentSyncs": _INTEGER})


def decode_problems(value: Mapping[str, Value], api: API) -> tuple[list[Problem], list[Problem]]:
    """What the decoder refuses, in its order, and the fields that it does not know."""
    decoder = _Decoder()
    decoder.struct(value, struct_of(api), (), "")
    return decoder.problems, decoder.unknown


class _Decoder:
    """Collects problems on one walk. `into` is the decoder's own name for the place, after the first dot `dotted`."""

    __slots__ = ("_stopped", "problems", "unknown")

    def __init__(self) -> None:
        self._stopped = False
        self.problems: list[Problem] = []
        self.unknown: list[Problem] = []

    def struct(self, value: Mapping[str, Value], struct: Struct, path: FieldPath, dotted: str) -> None:
        for name, field in struct.fields.items():
            entry = value.get(name)
            embedded = struct.inlined.get(name)
            inner = ".".join([step for step in (dotted, embedded, name) if step])
            if entry is not None:
                self._field(entry, field, (*path, name), f"{struct.name}.{inner}")
            elif name in value and field is _DURATION:
                self._refuse((*path, name), "a duration such as 15s", None, 'time: invalid duration ""', stops=True)
        known = list(struct.fields)
        for name in value:
            if name not in struct.fields:
                near = closest(name, known)
                where = f'"{format_path(path)}"' if path else "an OperatorConfiguration"
                message = f'the operator takes no notice of it: "{name}" is no field of {where}'
                message += near or f"; known: {list_known(known)}"
                self.unknown.append(
                    Problem((*path, name), message, effect=Effect.UNKNOWN if near else Effect.IGNORED, at_key=True)
                )

    def _field(self, value: Value, field: Field, path: FieldPath, into: str) -> None:
        if isinstance(field, Struct):
            if isinstance(value, dict):
                self.struct(value, field, path, into.partition(".")[2])
            else:
                self._type(path, "a mapping", value, into, f"v1alpha1.{field.name}")
        elif isinstance(field, Entries):
            if isinstance(value, list):
                for index, entry in enumerate(value):
                    if entry is not None:
                        self._field(entry, field.item, (*path, index), into)
            else:
                self._type(path, "a list", value, into, field.go)
        elif field is _DURATION:
            self._duration(value, path, into)
        elif field.json != "any" and not _is(value, field.json):
            self._type(path, _NOUNS[field.json], value, into, field.go)

    def _duration(self, value: Value, path: FieldPath, into: str) -> None:
        if not isinstance(value, str):
            text = _type_text(value, into, "string")
        elif parse_duration(value) is None:
            text = duration_fault(value)
        else:
            return
        self._refuse(path, "a duration such as 15s", value, text, stops=True)

    def _type(self, path: FieldPath, noun: str, value: Value, into: str, go: str) -> None:
        self._refuse(path, noun, value, _type_text(value, into, go))

    def _refuse(self, path: FieldPath, noun: str, value: Value, text: str, *, stops: bool = False) -> None:
        """The decoder reports the problem of a type that reads itself, which stops it; otherwise its first problem."""
        reported: str | None = text
        if stops and not self._stopped:
            self._stopped = True
            self.problems = [problem._replace(operator_message=None) for problem in self.problems]
        elif self.problems:
            reported = None
        self.problems.append(Problem(path, f"must be {noun}; got {describe(value)}", reported, Stage.CONFIG))


def _is(value: Value, json: str) -> bool:
    if isinstance(value, bool):
        return json == "boolean"
    if isinstance(value, int | float):
        is_whole = isinstance(value, int) or value.is_integer()
        largest = 1 << 63 if json == "integer" else 3.5e38
        return json in ("integer", "number") and (is_whole or json == "number") and -largest <= value < largest
    return isinstance(value, str) and json == "string"


def _type_text(value: Value, into: str, go: str) -> str:
    return f"json: cannot unmarshal {_go_kind(value, go)} into Go struct field {into} of type {go}"


def _go_kind(value: Value, go: str) -> str:
    if isinstance(value, bool):
        return "bool"
    if isinstance(value, int | float):
        return f"number {go_number(value)}" if go in ("int", "float32") else "number"
    return "string" if isinstance(value, str) else "array" if isinstance(value, list) else "object"


DECODE = Rule(
    "operator-decode", "Every field of an OperatorConfiguration has the type that Grove gives it.", "spec/grove.md#14.1"
)
FIELD = Rule("operator-field", "The operator knows every field of its configuration.", "spec/grove.md#14.1")
LOG = Rule("operator-log", "logLevel and logFormat are some that the operator has.", "spec/grove.md#14.2")
ELECTION = Rule("operator-leader-election", "The times of the leader election fit together.", "spec/grove.md#14.3")
CLIENT = Rule("operator-client", "The burst of the operator's client is not negative.", "spec/grove.md#14.4")
SYNCS = Rule("operator-syncs", "Every controller has a worker.", "spec/grove.md#14.5")
SERVER = Rule("operator-server", "The operator's servers have ports and certificates that exist.", "spec/grove.md#14.6")
RULES = (DECODE, FIELD, LOG, ELECTION, CLIENT, SYNCS, SERVER)
"""Rules of the operator's own configuration."""

_READ = frozenset({"topologyAwareScheduling", "scheduler", "network"})
"""The sections that packwise renders by; the configuration's own rules are about them."""

_LOG = {"logLevel": ("debug", "info", "error"), "logFormat": ("json", "text")}
_DURATIONS = {"leaseDuration": "15s", "renewDeadline": "10s", "retryPeriod": "2s"}
_GONE_LOCKS = {
    "endpoints": "migrate", "configmaps": "migrate", "endpointsleases": "migrate", "configmapsleases": "migrated",
}  # fmt: skip
_CONTROLLERS = ("podCliqueSet", "podCliqueScalingGroup", "podClique", "podGang")
_LAST_PORT = 65535


def operator_findings(operators: Iterable[Operator], revision: Revision) -> list[Finding]:
    """What the operator of `revision` has against each configuration, in its order."""
    if revision.duplicate_level is not None:
        # A design that was never built.
        return []
    profiles = bool(revision.scheduler_backends) or revision.scheduler_profiles
    api = API(levels=revision.default_topology is not None, profiles=profiles)
    findings: list[Finding] = []
    for operator in operators:
        findings += _findings(operator.place, operator.value, api)
    return findings


def _findings(place: Place, value: Mapping[str, Value], api: API) -> Iterator[Finding]:
    refused, unknown = decode_problems(value, api)
    checked = [(_decode_rule(problem), problem) for problem in refused] if refused else [*_checks(value, api)]
    for order, (rule, problem) in enumerate(checked):
        yield place.about(problem, rule, order=order)
    for problem in unknown:
        # Other sections and levels that the release has not are the selection's business.
        if problem.path[0] not in DIALECTS or problem.path[1:] not in {(), ("levels",)}:
            # A name that is nearly right is one that its author counts on.
            misspelt = problem.effect is Effect.UNKNOWN
            yield place.about(problem, FIELD, severity=None if misspelt else Severity.WARNING)


def _decode_rule(problem: Problem) -> Rule:
    return SHAPE if problem.path[0] in _READ else DECODE


def _checks(value: Mapping[str, Value], api: API) -> Iterator[tuple[Rule, Problem]]:
    """In the operator's order: what its validation finds, and where that finds nothing, what its start fails with."""
    election = _mapping(value, "leaderElection")
    elected = [election] if election.get("enabled") is True else []
    validated = [
        *((LOG, problem) for problem in _log(value)),
        *((ELECTION, problem) for section in elected for problem in _times(_durations(section))),
        *((CLIENT, problem) for problem in _burst(value)),
        *((SYNCS, problem) for problem in _syncs(value, api)),
    ]
    yield from validated
    started = [
        *((ELECTION, problem) for section in elected for problem in _lock(section)),
        *((SERVER, problem) for problem in _server(_mapping(value, "server"))),
    ]
    for rule, problem in started:
        yield rule, problem._replace(operator_message=None) if validated else problem


def _log(value: Mapping[str, Value]) -> Iterator[Problem]:
    for name, known in _LOG.items():
        text = value.get(name)
        if isinstance(text, str) and text.strip() and text not in known:
            supported = ", ".join([go_quote(entry) for entry in known])
            error = OperatorError(name, ErrorType.NOT_SUPPORTED, TypedText(text), f"supported values: {supported}")
            yield _refused(error, f'must be one of {list_known(known)}; got "{text}"{closest(text, known)}', name)


def _times(times: Mapping[str, int]) -> Iterator[Problem]:
    for name, time in times.items():
        if time <= 0:
            error = OperatorError(f"leaderElection.{name}", ErrorType.INVALID, format_duration(time), _POSITIVE)
            yield _refused(error, f'{_POSITIVE}; got "{format_duration(time)}"', "leaderElection", name)
    lease, deadline = times["leaseDuration"], times["renewDeadline"]
    if lease <= deadline:
        # The operator prints the other value.
        text = "LeaseDuration must be greater than RenewDeadline"
        error = OperatorError("leaderElection.leaseDuration", ErrorType.INVALID, format_duration(deadline), text)
        message = f'must be greater than renewDeadline, "{format_duration(deadline)}"; got "{format_duration(lease)}"'
        yield _refused(error, message, "leaderElection", "leaseDuration")


_POSITIVE = "must be greater than 0"


def _lock(election: Mapping[str, Value]) -> Iterator[Problem]:
    lock = election.get("resourceLock")
    if isinstance(lock, str) and lock not in ("", "leases"):
        migrate = _GONE_LOCKS.get(lock)
        text = f"Invalid lock-type {lock}" if migrate is None else f"{lock} lock is removed, {migrate} to leases"
        yield _refused(Sentence(text), f'must be "leases"; got "{lock}"', "leaderElection", "resourceLock")
    times = _durations(election)
    deadline, retry = times["renewDeadline"], times["retryPeriod"]
    if retry > 0 and deadline > 0 and 5 * deadline <= 6 * retry:
        text = "renewDeadline must be greater than retryPeriod*JitterFactor"
        message = (
            f'must be greater than 1.2 times retryPeriod, "{format_duration(retry)}"; got "{format_duration(deadline)}"'
        )
        yield _refused(Sentence(text), message, "leaderElection", "renewDeadline")


def _burst(value: Mapping[str, Value]) -> Iterator[Problem]:
    burst = _integer(_mapping(value, "runtimeClientConnection").get("burst"))
    if burst is not None and burst < 0:
        # The operator calls the section by another name.
        error = OperatorError("clientConnection.burst", ErrorType.INVALID, burst, "must be non-negative")
        yield _refused(error, f'must not be negative; got "{burst}"', "runtimeClientConnection", "burst")


def _syncs(value: Mapping[str, Value], api: API) -> Iterator[Problem]:
    controllers = _mapping(value, "controllers")
    # alpha.7 checks two controllers, and calls both by the first one's name.
    for name in _CONTROLLERS if api.profiles else _CONTROLLERS[:2]:
        count = _integer(_mapping(controllers, name).get("concurrentSyncs"))
        if count is not None and count <= 0:
            field = f"controllers.{name if api.profiles else _CONTROLLERS[0]}.concurrentSyncs"
            error = OperatorError(field, ErrorType.INVALID, count, _POSITIVE)
            yield _refused(error, f'{_POSITIVE}; got "{count}"', "controllers", name, "concurrentSyncs")


def _server(server: Mapping[str, Value]) -> Iterator[Problem]:
    for name in ("healthProbes", "webhooks", "metrics"):
        section = _mapping(server, name)
        if name == "webhooks":
            yield from _certificates(section)
        port = _integer(section.get("port"))
        # Zero is the default port; a negative one of the webhooks too.
        if port is not None and (port > _LAST_PORT or (port < 0 and name != "webhooks")):
            text = f"listen tcp: address {port}: invalid port"
            if name == "metrics":
                text = f"failed to start metrics server: failed to create listener: {text}"
            elif name == "healthProbes":
                text = f"error listening on {_address(section.get('bindAddress'), port)}: {text}"
            message = f'must be a port, 1 to {_LAST_PORT}; got "{port}"'
            yield _refused(Sentence(text), message, "server", name, "port")


def _certificates(webhooks: Mapping[str, Value]) -> Iterator[Problem]:
    mode = webhooks.get("certProvisionMode")
    if isinstance(mode, str) and mode not in ("", "auto", "manual"):
        text = f"unsupported cert provision mode: {go_quote(mode)}"
        known = ("auto", "manual")
        message = f'must be one of {list_known(known)}; got "{mode}"{closest(mode, known)}'
        yield _refused(Sentence(text), message, "server", "webhooks", "certProvisionMode")


def _address(host: Value, port: int) -> str:
    shown = host if isinstance(host, str) else ""
    return f"[{shown}]:{port}" if ":" in shown else f"{shown}:{port}"


def _refused(error: OperatorError | Sentence, message: str, *path: str) -> Problem:
    return Problem(path, message, error.text(), Stage.CONFIG)


def _durations(election: Mapping[str, Value]) -> dict[str, int]:
    """The times in nanoseconds; the operator fills in what is absent or zero."""
    written = {name: election.get(name) for name in _DURATIONS}
    parsed = {name: parse_duration(text) if isinstance(text, str) else None for name, text in written.items()}
    return {name: parsed[name] or parse_duration(default) or 0 for name, default in _DURATIONS.items()}


def _mapping(value: Mapping[str, Value], key: str) -> Mapping[str, Value]:
    entry = value.get(key)
    return entry if isinstance(entry, dict) else {}


def _integer(value: Value) -> int | None:
    return int(value) if isinstance(value, int | float) and not isinstance(value, bool) else None
