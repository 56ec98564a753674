from __future__ import annotations

from enum import StrEnum
from typing import Literal

import pytest
from pydantic import BaseModel, ConfigDict, Field, field_validator

from krmfn import ConfigError, KubeObject, load_config


class Admission(StrEnum):
    NEW = "New"
    ALL = "All"


class Kai(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)

    queue: str | None = None
    levels: tuple[str, ...] = ()


class Config(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)

    admission: Admission = Admission.NEW
    emit: tuple[Literal["PodGang", "Topology"], ...] = ("PodGang",)
    replicas: int = Field(default=1, ge=1)
    node_label: str = Field(default="", alias="nodeLabel")
    kai: Kai = Kai()
    tags: dict[str, str] = {}

    @field_validator("node_label")
    @classmethod
    def _no_space(cls, value: str) -> str:
        if " " in value:
            raise ValueError("must hold no space")
        return value


HEAD = "apiVersion: example.dev/v1\nkind: Config\nmetadata: {name: c}\n"
DATA = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c}\ndata:\n"

READ: list[tuple[str, Config]] = [
    (HEAD, Config()),
    (HEAD + "spec:\n", Config()),
    (
        HEAD + "spec: {admission: All, emit: [Topology], kai: {queue: q}, nodeLabel: rack}\n",
        Config(admission=Admission.ALL, emit=("Topology",), kai=Kai(queue="q"), nodeLabel="rack"),
    ),
    (DATA, Config()),
    (
        DATA
        + "  admission: All\n  emit: '[PodGang, Topology]'\n  replicas: '3'\n  nodeLabel: '12'\n"
        + "  spec.kai: |\n    queue: a\n    levels: [b]\n  tags.zone: '1'\n",
        Config(
            admission=Admission.ALL,
            emit=("PodGang", "Topology"),
            replicas=3,
            nodeLabel="12",
            kai=Kai(queue="a", levels=("b",)),
            tags={"zone": "1"},
        ),
    ),
    (
        DATA + "  kai.levels[0]: '1'\n  kai.levels[1]: y\n  kai.queue: 'on'\n",
        Config(kai=Kai(queue="on", levels=("1", "y"))),
    ),
]


@pytest.mark.parametrize(("text", "config"), READ)
def test_read(text: str, config: Config) -> None:
    assert load_config(KubeObject.parse(text), Config) == config


def test_no_config_is_all_defaults() -> None:
    assert load_config(None, Config) == Config()


WHO = "Config c spec."
REFUSED: list[tuple[str, list[str]]] = [
    (
        HEAD + "spec:\n  admision: All\n",
        [
            f'error: c.yaml:5:3: {WHO}admision: must be a known field; got "admision"; did you mean "admission"? '
            'known: "admission", "emit", "kai", "nodeLabel", "replicas", "tags"'
        ],
    ),
    (
        HEAD + "spec:\n  kai:\n    zzz: 1\n",
        [f'error: c.yaml:6:5: {WHO}kai.zzz: must be a known field; got "zzz"; known: "levels", "queue"'],
    ),
    (
        HEAD + "spec:\n  admission: Old\n  emit: [PodGang, Pod]\n  replicas: x\n",
        [
            f'error: c.yaml:5:14: {WHO}admission: must be one of "New", "All"; got "Old"',
            f'error: c.yaml:6:19: {WHO}emit[1]: must be one of "PodGang", "Topology"; got "Pod"',
            f'error: c.yaml:7:13: {WHO}replicas: must be an integer; got "x"',
        ],
    ),
    (
        HEAD + "spec: {replicas: 0, nodeLabel: a b}\n",
        [
            f"error: c.yaml:4:18: {WHO}replicas: must be at least 1; got 0",
            f'error: c.yaml:4:32: {WHO}nodeLabel: must hold no space; got "a b"',
        ],
    ),
    (HEAD + "spec: []\n", ["error: c.yaml:4:7: Config c spec: must be a mapping; got a list"]),
    (
        DATA + "  replicas: x\n  emit: '[PodGang'\n",
        ["error: c.yaml:6:9: ConfigMap c data.emit: did not find expected ',' or ']' (while parsing a flow sequence)"],
    ),
    (
        DATA + "  kai: '{queu: x}'\n  replica: '1'\n",
        [
            'error: c.yaml:5:8: ConfigMap c data.kai: kai.queu must be a known field; got "queu"; '
            'did you mean "queue"? known: "levels", "queue"',
            'error: c.yaml:6:12: ConfigMap c data.replica: must be a known field; got "replica"; '
            'did you mean "replicas"? known: "admission", "emit", "kai", "nodeLabel", "replicas", "tags"',
        ],
    ),
    (
        DATA + "  a..b: x\n",
        ['error: c.yaml:5:9: ConfigMap c data[a..b]: must be a field path such as "spec.items[0].name"; got "a..b"'],
    ),
    (
        DATA + "  kai: '{}'\n  spec.kai: '{}'\n",
        ["error: c.yaml:6:13: ConfigMap c data[spec.kai]: kai is set by two keys of data; remove one of them"],
    ),
    (DATA + "- a\n", ["error: c.yaml:5:1: ConfigMap c data: must be a mapping; got a list"]),
]


@pytest.mark.parametrize(("text", "lines"), REFUSED)
def test_refused(text: str, lines: list[str]) -> None:
    with pytest.raises(ConfigError) as caught:
        load_config(KubeObject.parse(text, file="c.yaml"), Config)
    assert [result.line_of_text() for result in caught.value.results] == lines
    assert str(caught.value) == "; ".join(line.removeprefix("error: ") for line in lines)


class Needs(BaseModel):
    name: str


def test_missing() -> None:
    with pytest.raises(ConfigError, match=r"^name: functionConfig: must be set$"):
        load_config(None, Needs)
    with pytest.raises(ConfigError, match=r"^c.yaml:1:1: F spec.name: must be set$"):
        load_config(KubeObject.parse("kind: F\n", file="c.yaml"), Needs)
