"""The Dockerfile as a list of steps, so that its build stage can be followed without a container engine."""

from __future__ import annotations

import json
import shlex
from dataclasses import dataclass
from pathlib import Path

__all__ = ["Instruction", "Stage", "stages"]


@dataclass(frozen=True, slots=True)
class Instruction:
    """`RUN make all` is name `RUN` and text `make all`, continuation lines joined."""

    name: str
    text: str

    def words(self) -> list[str]:
        """The arguments of an instruction in exec form (a JSON array) or in words."""
        return json.loads(self.text) if self.text.startswith("[") else shlex.split(self.text)


@dataclass(frozen=True, slots=True)
class Stage:
    """One `FROM` and what follows it."""

    image: str
    instructions: tuple[Instruction, ...]

    def of(self, name: str) -> list[Instruction]:
        return [instruction for instruction in self.instructions if instruction.name == name]


def stages(dockerfile: Path) -> list[Stage]:
    """The stages of a Dockerfile, in order. Heredocs and parser directives are not understood: the file has none."""
    lines = [line for line in dockerfile.read_text(encoding="utf-8").splitlines() if not line.lstrip().startswith("#")]
    found: list[Stage] = []
    for logical in "\n".join(lines).replace("\\\n", " ").splitlines():
        if not logical.strip():
            continue
        name, _, text = logical.strip().partition(" ")
        instruction = Instruction(name, " ".join(text.split()) if not text.startswith("[") else text)
        if name == "FROM":
            found.append(Stage(text.split()[0], ()))
        else:
            found[-1] = Stage(found[-1].image, (*found[-1].instructions, instruction))
    return found
