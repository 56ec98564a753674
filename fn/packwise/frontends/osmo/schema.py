"""The fields of pools and workflows as OSMO declares them. Errors have OSMO's own texts.

Some texts contain names of the classes, so these are OSMO's names. Source: spec/osmo.md#1 and #2, OSMO 1da31e19
(src/utils/connectors/postgres.py, src/utils/job/task.py and workflow.py).
"""

from __future__ import annotations

import enum
import re
from typing import TYPE_CHECKING, Annotated, Any, cast

from pydantic import BaseModel, ConfigDict, Field, ValidationInfo, field_validator, model_validator

from krmfn.fieldpath import FieldPath, describe
from packwise.findings import Problem
from packwise.wording import did_you_mean

if TYPE_CHECKING:
    from pydantic import ValidationError

    from krmfn.value import Value
    from packwise.findings import Stage

_NAME = r"[a-zA-Z]([a-zA-Z0-9_-]*[a-zA-Z0-9])?"
_Name = Annotated[str, Field(pattern=f"^{_NAME}$")]
_TaskName = Annotated[str, Field(pattern=f"^(?P<workflow_id_or_task>{_NAME})(:(?P<previous_task>{_NAME}))?$")]

_MAX_LABELS = 16
_LABEL_NAME = re.compile(r"[A-Za-z0-9](?:[-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?")
_DNS_LABEL = "[a-z0-9](?:[-a-z0-9]{0,61}[a-z0-9])?"
_DNS_PREFIX = re.compile(rf"(?=.{{1,253}}$){_DNS_LABEL}(?:\.{_DNS_LABEL})*")
# This matches the same texts as OSMO's `(\d+(-\d+)?)+(,\d+(-\d+)?)*`, but in linear time.
_EXIT_CODES = re.compile(r"\d+(-\d{2,})*(-\d+)?(,\d+(-\d+)?)*")
_DOWNLOADS = ("download",)
_EXIT_ACTIONS = ("COMPLETE", "FAIL", "RESCHEDULE")

_FORBIDS = ConfigDict(extra="forbid", frozen=True)
_COERCES = ConfigDict(extra="forbid", frozen=True, coerce_numbers_to_str=True)
_IGNORES = ConfigDict(extra="ignore", frozen=True)


class PoolStatus(enum.Enum):
    """The states of a pool. Only an online pool accepts workflows."""

    ONLINE = "ONLINE"
    OFFLINE = "OFFLINE"
    MAINTENANCE = "MAINTENANCE"


class TopologyKey(BaseModel):
    """A level of a pool: the name that workflows use, and the label of the nodes."""

    model_config = _IGNORES

    key: str
    label: str


class PoolResourceCountable(BaseModel):
    """The guarantee, the maximum and the weight of a pool's GPUs. -1 means no limit."""

    model_config = _IGNORES

    guarantee: int = -1
    maximum: int = -1
    weight: int = 1


class PoolResources(BaseModel):
    """The countable resources of a pool."""

    model_config = _IGNORES

    gpu: PoolResourceCountable | None = None


class Platform(BaseModel):
    """A platform of a pool."""

    model_config = _IGNORES

    description: str = ""
    host_network_allowed: bool = False
    privileged_allowed: bool = False
    allowed_mounts: list[str] = []
    default_mounts: list[str] = []
    default_variables: dict[Any, Any] = {}
    resource_validations: list[str] = []
    override_pod_template: list[str] = []


class Pool(BaseModel):
    """A pool config."""

    model_config = _IGNORES

    name: str = ""
    description: str = ""
    status: PoolStatus | None = None
    enable_maintenance: bool = False
    backend: str
    default_platform: str | None = None
    default_exec_timeout: str = ""
    default_queue_timeout: str = ""
    max_exec_timeout: str = ""
    max_queue_timeout: str = ""
    default_exit_actions: dict[str, str] = {}
    resources: PoolResources = PoolResources()
    topology_keys: list[TopologyKey] = []
    common_default_variables: dict[Any, Any] = {}
    common_resource_validations: list[str] = []
    common_pod_template: list[str] = []
    common_group_templates: list[str] = []
    platforms: dict[str, Platform] = {}


class TopologyRequirementType(enum.StrEnum):
    """The strength of a requirement: tasks wait until it is met, or only prefer it."""

    REQUIRED = "required"
    PREFERRED = "preferred"


class TopologyRequirement(BaseModel):
    """The request to place all tasks of one topology group within one domain of the level `key`."""

    model_config = _FORBIDS

    key: str
    group: str = "default"
    requirementType: TopologyRequirementType = TopologyRequirementType.REQUIRED


class ResourceSpec(BaseModel):
    """The resources that a task needs."""

    model_config = _COERCES

    cpu: int | None = None
    storage: str | None = None
    memory: str | None = None
    gpu: int | None = None
    platform: str | None = None
    nodesExcluded: list[str] = []
    topology: list[TopologyRequirement] = []


class TaskInputOutput(BaseModel):
    """An input that is the output of another task."""

    model_config = _FORBIDS

    task: _TaskName
    regex: str = ""


class URLInputOutput(BaseModel):
    """An input or output that is data at a URL."""

    model_config = _FORBIDS

    url: str
    regex: str = ""


class CheckpointSpec(BaseModel):
    """A path that OSMO saves to a URL at intervals of `frequency`."""

    model_config = _FORBIDS

    path: str
    url: str
    frequency: Any
    regex: str = ""


class TaskKPI(BaseModel):
    """A performance figure that a task writes to a file."""

    model_config = _COERCES

    index: str
    path: str


class File(BaseModel):
    """A file that OSMO puts into the container of a task."""

    model_config = _COERCES

    base64: bool = False
    path: str
    contents: str

    @model_validator(mode="before")
    @classmethod
    def read_local_file(cls, value: Any) -> Any:
        """Replace `localpath` by empty contents. The `osmo` command replaces it by the text of the local file."""
        if not isinstance(value, dict) or "localpath" not in value:
            return cast("Any", value)
        entry = cast("dict[Any, Any]", value)
        return cast("Any", {"contents": "", **{key: part for key, part in entry.items() if key != "localpath"}})

    @field_validator("path")
    @classmethod
    def check_path(cls, path: str) -> str:
        """Raise ValueError if the path is empty or below OSMO's own folder."""
        parts = [part for part in path.split("/") if part]
        if not path.startswith("/osmo/data/output/") and (not parts or parts[0] == "osmo"):
            raise ValueError(f'Empty path or adding file to "/osmo" is forbidden for file: {path}')
        return path


class TaskSpec(BaseModel):
    """A task, which becomes one pod."""

    model_config = _COERCES

    name: _Name
    image: str
    command: list[str]
    inputs: list[TaskInputOutput | URLInputOutput] = []
    outputs: list[URLInputOutput] = []
    kpis: list[TaskKPI] = []
    args: list[str] = []
    lead: bool = False
    environment: dict[str, str] = {}
    files: list[File] = []
    privileged: bool = False
    hostNetwork: bool = False
    volumeMounts: list[str] = []
    credentials: dict[str, Any] = {}
    downloadType: str | None = None
    cacheSize: str | None = None
    exitActions: dict[str, str] = {}
    checkpoint: list[CheckpointSpec] = []
    resources: ResourceSpec = ResourceSpec()
    backend: str = ""
    resource: str = "default"

    @field_validator("environment", "exitActions", mode="before")
    @classmethod
    def read_words(cls, value: Any) -> Any:
        """Turn keys, and values that are numbers or booleans, into strings."""
        if not isinstance(value, dict):
            return value
        words = cast("dict[Any, Any]", value)
        return {str(k): str(v) if isinstance(v, (str, int, float, bool)) else v for k, v in words.items()}

    @field_validator("name")
    @classmethod
    def check_name(cls, name: str) -> str:
        """Raise ValueError if OSMO's own container has this name."""
        if name.lower().replace("_", "-") == "osmo-ctrl":
            raise ValueError(f'Container {name} cannot be named "osmo-ctrl". This is a restricted name.')
        return name

    @field_validator("command")
    @classmethod
    def check_command(cls, command: list[str], info: ValidationInfo) -> list[str]:
        """Raise ValueError if the command is empty."""
        if not command:
            raise ValueError(f"Container {info.data.get('name', '')} should have at least one command.")
        return command

    @field_validator("downloadType")
    @classmethod
    def check_download(cls, value: str | None, info: ValidationInfo) -> str | None:
        """Raise ValueError if the download type is unknown. OSMO has only one."""
        if value not in (None, *_DOWNLOADS):
            raise ValueError(
                f'Task "{info.data.get("name", "")}" uses invalid downloadType "{value}". '
                f"Valid types are: {list(_DOWNLOADS)}"
            )
        return value

    @field_validator("files")
    @classmethod
    def check_files(cls, files: list[File], info: ValidationInfo) -> list[File]:
        """Raise ValueError if two files have the same path."""
        paths: set[str] = set()
        for file in files:
            if file.path in paths:
                raise ValueError(
                    f'Task "{info.data.get("name", "")}" has multiple files at the same path "{file.path}". '
                    "Each file path must be unique."
                )
            paths.add(file.path)
        return files

    @field_validator("exitActions")
    @classmethod
    def check_exit_actions(cls, actions: dict[str, str], info: ValidationInfo) -> dict[str, str]:
        """Raise ValueError if an action is unknown, or if its exit codes are invalid."""
        name = info.data.get("name", "")
        for action, codes in actions.items():
            if action.upper() not in _EXIT_ACTIONS:
                raise ValueError(f"Invalid exit action {action} for task {name}.")
            if not _EXIT_CODES.fullmatch(codes):
                raise ValueError(f"Invalid exit codes {codes} for action {action} for task {name}.")
        return actions


class TaskGroupSpec(BaseModel):
    """Tasks that run together. They become one gang."""

    model_config = _FORBIDS

    name: _Name
    barrier: bool = True
    ignoreNonleadStatus: bool = True
    tasks: list[TaskSpec]

    @field_validator("tasks")
    @classmethod
    def check_lead(cls, tasks: list[TaskSpec], info: ValidationInfo) -> list[TaskSpec]:
        """Raise ValueError if there are no tasks, or if several tasks have no leader or more than one."""
        group = info.data.get("name", "<unknown>")
        if not tasks:
            raise ValueError(f'Group "{group}" needs to have at least one task.')
        leaders = 1 if len(tasks) == 1 else sum(task.lead for task in tasks)
        if leaders != 1:
            raise ValueError(f'Group "{group}" has {leaders} leader(s) but must have exactly one.')
        return tasks


class TimeoutSpec(BaseModel):
    """The longest time that a workflow may run, and the longest time that it may wait in a queue."""

    model_config = _FORBIDS

    exec_timeout: Any = None
    queue_timeout: Any = None


class WorkflowSpec(BaseModel):
    """The section `workflow` of a workflow spec."""

    model_config = _FORBIDS

    name: _Name
    labels: dict[str, str] = {}
    pool: str = ""
    groups: list[TaskGroupSpec] = []
    tasks: list[TaskSpec] = []
    resources: dict[str, ResourceSpec] = {"default": ResourceSpec()}
    timeout: TimeoutSpec = TimeoutSpec()
    backend: str = ""

    @field_validator("labels")
    @classmethod
    def check_labels(cls, labels: dict[str, str]) -> dict[str, str]:
        """Raise ValueError if there are too many labels, or if Kubernetes does not accept one."""
        if len(labels) > _MAX_LABELS:
            raise ValueError(f"Workflows can have at most {_MAX_LABELS} labels.")
        for key, value in labels.items():
            _check_label_key(key)
            if not _LABEL_NAME.fullmatch(value):
                raise ValueError(f'Workflow label value "{value}" is not a valid non-empty Kubernetes label value.')
        return labels


class VersionedWorkflowSpec(BaseModel):
    """A workflow spec."""

    model_config = _IGNORES

    workflow: WorkflowSpec


def _check_label_key(key: str) -> None:
    prefix, slash, name = key.rpartition("/")
    if "/" in prefix:
        raise ValueError(f'Workflow label key "{key}" is not a valid Kubernetes label key.')
    if slash and not _DNS_PREFIX.fullmatch(prefix):
        raise ValueError(f'Workflow label key "{key}" has an invalid DNS prefix.')
    if not _LABEL_NAME.fullmatch(name):
        raise ValueError(f'Workflow label key "{key}" has an invalid name segment.')


_TYPES = {
    "string_type": "a string",
    "list_type": "a list",
    "dict_type": "a mapping",
    "model_type": "a mapping",
    "int_type": "an integer",
    "int_parsing": "an integer",
    "int_from_float": "an integer",
    "bool_type": "true or false",
    "bool_parsing": "true or false",
}

_PATTERN = "must have only letters, digits, - and _, start with a letter, and end with a letter or digit"


def schema_problems(error: ValidationError, value: Value, stage: Stage) -> list[Problem]:
    """Return the errors of pydantic about `value` as problems, in pydantic's order and with its texts, as in OSMO.

    `stage` is the part of OSMO that refuses the value. A location of pydantic can contain names of classes. Paths do
    not contain them, because they are not fields.
    """
    problems: list[Problem] = []
    for each in error.errors(include_url=False, include_context=False):
        kind, text = each["type"], each["msg"]
        path = _path_of(each["loc"], value, keeps_last=kind == "missing")
        message = _message(kind, path, text, _plain_value(each["input"]))
        problems.append(Problem(path, message, text, stage, at_key=kind == "extra_forbidden"))
    return problems


def _message(kind: str, path: FieldPath, text: str, value: Value) -> str:
    """Return packwise's message for an error of pydantic. `kind` and `text` are the error's type and text."""
    if kind == "missing":
        return f"`{path[-1]}` is required"
    if kind == "extra_forbidden":
        suggestion = did_you_mean(str(path[-1]), _known_fields(path))
        return f"unknown field; remove it, or correct its name{suggestion}"
    if kind in _TYPES:
        hint = "; put it in quotes" if kind == "string_type" and isinstance(value, (int, float)) else ""
        return f"must be {_TYPES[kind]}; got {describe(value)}{hint}"
    if kind == "enum":
        return f"{text.replace('Input should be', 'must be')}; got {describe(value)}"
    if kind == "string_pattern_mismatch":
        return f"{_PATTERN}; got {describe(value)}"
    return text.removeprefix("Value error, ")


def _known_fields(path: FieldPath) -> list[str]:
    """Return the fields that are known beside the field at `path` of a workflow spec."""
    if "topology" in path[:-1]:
        return list(TopologyRequirement.model_fields)
    if "resources" in path[:-1]:
        return list(ResourceSpec.model_fields)
    if "tasks" in path[:-1]:
        return list(TaskSpec.model_fields)
    if "groups" in path[:-1]:
        return list(TaskGroupSpec.model_fields)
    return list(WorkflowSpec.model_fields)


def _plain_value(value: Any) -> Value:
    """Return a value of pydantic as a YAML value. A date or a value of another type becomes a string."""
    return cast("Value", value if value is None or isinstance(value, (str, int, float, list, dict)) else str(value))


def _path_of(location: tuple[int | str, ...], value: Value, *, keeps_last: bool) -> FieldPath:
    path: list[int | str] = []
    for place, step in enumerate(location):
        part = _part(value, step)
        if part is not None:
            (value,) = part
        elif not (keeps_last and place == len(location) - 1):
            continue
        path.append(step)
    return tuple(path)


def _part(value: Value, step: int | str) -> tuple[Value] | None:
    """Return the entry `step` of a mapping or list in a tuple. Return None if there is no such entry."""
    if isinstance(value, dict) and isinstance(step, str) and step in value:
        return (value[step],)
    if isinstance(value, list) and isinstance(step, int) and 0 <= step < len(value):
        return (value[step],)
    return None
