"""The Dockerfile as a list of stages. Each stage is a list of instructions."""

from __future__ import annotations

import json
import shlex
from dataclasses import dataclass, replace
from pathlib import Path

__all__ = ["Instruction", "Stage", "foreign_images", "stages"]


@dataclass(frozen=True, slots=True)
class Instruction:
    """An instruction with its continuation lines joined. `RUN make all` has the name `RUN` and the text `make all`."""

    name: str
    text: str

    def words(self) -> list[str]:
        """Return the arguments. They are written as a JSON array (exec form) or as words."""
        return json.loads(self.text) if self.text.startswith("[") else shlex.split(self.text)


@dataclass(frozen=True, slots=True)
class Stage:
    """One `FROM` and the instructions after it. `image` is the base of the stage, `name` is its name or ""."""

    name: str
    image: str
    instructions: tuple[Instruction, ...]

    def of(self, name: str) -> list[Instruction]:
        """Return the instructions with this name."""
        return [instruction for instruction in self.instructions if instruction.name == name]


def foreign_images(dockerfile: Path) -> list[str]:
    """Return each image from a registry that a stage begins with or copies from, once."""
    found = stages(dockerfile)
    named: list[str] = []
    for stage in found:
        copied = [word for step in stage.of("COPY") for word in step.words() if word.startswith("--from=")]
        named += [stage.image, *[word.removeprefix("--from=") for word in copied]]
    return [image for image in dict.fromkeys(named) if image not in {stage.name for stage in found}]


def stages(dockerfile: Path) -> list[Stage]:
    """Return the stages of a Dockerfile, in order. It must have no heredocs and no parser directives."""
    lines = [line for line in dockerfile.read_text(encoding="utf-8").splitlines() if not line.lstrip().startswith("#")]
    found: list[Stage] = []
    for logical in "\n".join(lines).replace("\\\n", " ").splitlines():
        if not logical.strip():
            continue
        name, _, text = logical.strip().partition(" ")
        instruction = Instruction(name, " ".join(text.split()) if not text.startswith("[") else text)
        if name == "FROM":
            image, *named = text.split()
            found.append(Stage(named[1] if named else "", image, ()))
        else:
            found[-1] = replace(found[-1], instructions=(*found[-1].instructions, instruction))
    return found
