"""Questions to kyaml itself about a text.

They are answered by the program in tests/kyaml_oracle, which `make tools` builds.
"""

from __future__ import annotations

import json
import subprocess
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Any, cast

from krmfn import Value
from krmfn.yamltext import YamlError, read

__all__ = ["KyamlOracle", "assert_read_as_kyaml_reads", "typed"]


class KyamlOracle:
    """A running oracle. Each question is one line in, one line out."""

    def __init__(self, program: Path) -> None:
        self._process = subprocess.Popen([program], stdin=subprocess.PIPE, stdout=subprocess.PIPE)

    def __enter__(self) -> KyamlOracle:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None) -> None:
        self.close()

    def close(self) -> None:
        """End the program."""
        self._process.communicate()

    def document(self, text: str) -> Any:
        """Return the typed value of a document, or None if kyaml refuses it."""
        return self._value("document", text)

    def refusal(self, text: str) -> str | None:
        """Return kyaml's error for a document, or None if kyaml reads it."""
        return cast("str | None", self._ask("document", text).get("error"))

    def items(self, text: str) -> list[Any] | None:
        """Return the typed values of a ResourceList's items and of its functionConfig, or None if kyaml refuses it."""
        value = self._value("list", text)
        return None if value is None else [*value[1][0][1], value[1][1]]

    def rewritten(self, text: str) -> str | None:
        """Return the ResourceList as kyaml writes it, or None if kyaml refuses it."""
        return cast("str | None", self._ask("rewrite", text).get("text"))

    def _value(self, mode: str, text: str) -> Any:
        return _floats(self._ask(mode, text).get("value"))

    def _ask(self, mode: str, text: str) -> dict[str, Any]:
        stdin, stdout = self._process.stdin, self._process.stdout
        assert stdin is not None
        assert stdout is not None
        stdin.write(json.dumps({"mode": mode, "text": text}).encode() + b"\n")
        stdin.flush()
        return json.loads(stdout.readline())


ONLY_KYAML_REFUSES = (
    # libyaml accepts the escape `\/` in quotes, as JSON does, and a directive for YAML 1.2.
    "found unknown escape character",
    "found incompatible YAML document",
    # krmfn limits the number of nodes from aliases. kyaml also limits their share of all nodes.
    "document contains excessive aliasing",
)


def assert_read_as_kyaml_reads(oracle: KyamlOracle, text: str) -> None:
    """Assert that krmfn reads `text` as kyaml does, or refuses it. krmfn refuses what kyaml refuses, except for a few
    errors.
    """
    try:
        value = typed(read(text))
    except YamlError:
        return
    refusal = oracle.refusal(text)
    if refusal is None:
        assert oracle.document(text) == value
    else:
        assert refusal.endswith(ONLY_KYAML_REFUSES), refusal


def typed(value: Value) -> list[Any]:
    """Return `value` as the oracle prints it."""
    if value is None:
        return ["null"]
    if isinstance(value, bool | str):
        return ["bool" if isinstance(value, bool) else "str", value]
    if isinstance(value, int | float):
        return ["int", str(value)] if isinstance(value, int) else ["float", repr(value)]
    if isinstance(value, Mapping):
        pairs = [[key, typed(item)] for key, item in value.items()]
        return ["map", sorted(pairs, key=lambda pair: cast("str", pair[0]).encode())]
    return ["list", [typed(item) for item in value]]


def _floats(answer: Any) -> Any:
    """Return the oracle's answer with floats as Python prints them."""
    if not isinstance(answer, list):
        return answer
    parts = cast("list[Any]", answer)
    if parts[:1] == ["float"]:
        return ["float", repr(float(parts[1].replace("Inf", "inf")))]
    return [_floats(part) for part in parts]
