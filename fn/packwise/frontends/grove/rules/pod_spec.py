"""The few rules Grove has for pod templates. Source: spec/grove.md#r20 to #r24."""

from __future__ import annotations

from krmfn.fieldpath import format_path
from krmfn.hints import TYPE_CHECKING
from krmfn.record import NamedTuple
from packwise.findings.finding import Rule
from packwise.frontends.grove.rules.check import Check, CliqueAt, Context, Scope, invalid, refused
from packwise.frontends.grove.rules.cliques import duplicates
from packwise.kubernetes import validation as kubernetes
from packwise.kubernetes.validation import ErrorType, OperatorError
from packwise.wording import list_known

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from krmfn.fieldpath import FieldPath
    from krmfn.value import Value
    from packwise.findings.finding import Problem

__all__ = ["POD_SPEC"]

_SPREAD_FIELDS = (
    "maxSkew",
    "topologyKey",
    "whenUnsatisfiable",
    "labelSelector",
    "minDomains",
    "nodeAffinityPolicy",
    "nodeTaintsPolicy",
    "matchLabelKeys",
)


class _Env(NamedTuple):
    """The environment of one container, names only."""

    path: FieldPath
    names: tuple[str, ...]

    @property
    def field(self) -> str:
        """The path in the operator's errors, which has `podSpec.spec`."""
        at = self.path.index("podSpec") + 1
        return format_path((*self.path[:at], "spec", *self.path[at:]))


def _environments(at: CliqueAt, _context: Context) -> Iterable[_Env]:
    environments: list[_Env] = []
    for kind in ("containers", "initContainers"):
        containers = at.clique.pod_spec.get(kind)
        for index, container in enumerate(containers if isinstance(containers, list) else ()):
            env = container.get("env") if isinstance(container, dict) else None
            if isinstance(env, list) and env:
                names = [entry.get("name") if isinstance(entry, dict) else "" for entry in env]
                path = at.path("spec", "podSpec", kind, index, "env")
                environments.append(_Env(path, tuple([name if isinstance(name, str) else "" for name in names])))
    return environments


def _env_name(env: _Env, _context: Context) -> Iterator[Problem]:
    for position, name in enumerate(env.names):
        faults = kubernetes.env_name(name)
        if faults:
            wrong = "; ".join(faults)
            path = (*env.path, position, "name")
            message = f'must be a valid name of an environment variable; got "{name}": {wrong}'
            yield invalid(path, name, wrong, message, field=f"{env.field}[{position}].name")


def _env_unique(env: _Env, _context: Context) -> Iterator[Problem]:
    repeated = duplicates(env.names)
    if repeated:
        message = f"must set each variable once; more than once: {list_known(repeated)}"
        yield refused(env.path, message, OperatorError(env.field, ErrorType.DUPLICATE, repeated))


def _spread(at: CliqueAt, _context: Context) -> Iterator[Problem]:
    spread = at.clique.pod_spec.get("topologySpreadConstraints")
    if isinstance(spread, list):
        message = "must not be set: Grove places the pods by topologyConstraint; remove it"
        field = format_path(at.path("spec", "podSpec", "spec", "topologySpreadConstraints"))
        path = at.path("spec", "podSpec", "topologySpreadConstraints")
        yield invalid(path, [_as_typed(entry) for entry in spread], "must not be set", message, field=field)


def _as_typed(entry: Value) -> Value:
    """A constraint as Go's type prints it: fields in their order, those that are never left out with their zero."""
    if not isinstance(entry, dict):
        entry = {}
    present = {name: entry[name] for name in _SPREAD_FIELDS if entry.get(name) is not None}
    return {"maxSkew": 0, "topologyKey": "", "whenUnsatisfiable": "", **present}


def _node_name(at: CliqueAt, _context: Context) -> Iterator[Problem]:
    node = at.clique.pod_spec.get("nodeName")
    if isinstance(node, str) and node.strip():
        message = f'must not be set: the scheduler chooses the nodes of a gang; got "{node}"'
        field = format_path(at.path("spec", "podSpec", "spec", "nodeName"))
        yield invalid(at.path("spec", "podSpec", "nodeName"), node, "must not be set", message, field=field)


POD_SPEC = (
    Check(Rule("pod-topology-spread", "New pod templates have no topologySpreadConstraints.", "spec/grove.md#r20"),
          _spread, create_only=True),
    Check(Rule("pod-node-name", "New pod templates have no nodeName.", "spec/grove.md#r21"),
          _node_name, create_only=True),
    Scope(_environments, (
        Check(Rule("env-name", "Environment variables have valid names.", "spec/grove.md#r22"), _env_name),
        Check(Rule("env-unique", "A container sets each environment variable once.", "spec/grove.md#r23"), _env_unique),
    )),
)  # fmt: skip
"""Rules of one clique's pod template."""
