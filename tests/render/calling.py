"""The function in this process, as its `main` runs it."""

from __future__ import annotations

import io
from dataclasses import dataclass

from krmfn import KubeObject, ResourceList, Result
from krmfn.run import run
from packwise.function import render_list
from packwise.objects.index import RENDERED_FROM

__all__ = ["Answer", "render"]


@dataclass(frozen=True, slots=True)
class Answer:
    """The answer of a run: exit code, stdout and stderr."""

    code: int
    stdout: str
    stderr: str

    @property
    def items(self) -> tuple[KubeObject, ...]:
        return ResourceList.parse(self.stdout).items

    @property
    def results(self) -> tuple[Result, ...]:
        return ResourceList.parse(self.stdout).results

    @property
    def generated(self) -> list[str]:
        """Return the generated objects as documents, in their order."""
        return [item.text for item in self.items if RENDERED_FROM in item.annotations]


def render(text: str | bytes) -> Answer:
    """Return the answer to the text of a ResourceList."""
    stdout, stderr = io.BytesIO(), io.StringIO()
    data = text.encode() if isinstance(text, str) else text
    code = run(render_list, stdin=io.BytesIO(data), stdout=stdout, stderr=stderr)
    return Answer(code, stdout.getvalue().decode(), stderr.getvalue())
