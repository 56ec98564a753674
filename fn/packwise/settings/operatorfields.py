"""The fields of Grove's OperatorConfiguration, as a table for each of its APIs, and what its decoder says of them.

The decoder is lenient: it takes no notice of fields that it does not know. Source: Grove, operator/api/config/v1alpha1.
"""

from __future__ import annotations

from functools import cache

from krmfn.errors import describe
from krmfn.fieldpath import format_path
from krmfn.hints import TYPE_CHECKING
from krmfn.record import NamedTuple
from packwise.findings.finding import Effect, Problem, Stage
from packwise.kubernetes.quantities import duration_fault, parse_duration
from packwise.kubernetes.validation import go_number
from packwise.wording import closest, list_known

if TYPE_CHECKING:
    from collections.abc import Mapping

    from krmfn.fieldpath import FieldPath
    from krmfn.value import Value

__all__ = ["API", "Struct", "decode_problems", "struct_of"]


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
