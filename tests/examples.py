"""The examples of the repository, and the revision of each."""

from __future__ import annotations

from pathlib import Path

from packwise.inputs.groups import read_inputs
from packwise.inputs.request import Named
from packwise.pipeline.steps import read_package
from packwise.revisions.grove import RECORDS
from tests.places import ROOT

__all__ = ["EXAMPLES", "ORDER", "RENDERED", "holds_workloads_of_grove", "is_preview", "revision_of"]

ORDER = [record.name for record in RECORDS]
"""The names of all records of designs and releases, the earliest first."""

_PARTS = {"osmo-template"}
"""Examples that are rendered only together with another example, and with values on the command line."""

EXAMPLES = sorted(path for path in (ROOT / "examples").iterdir() if path.is_dir() and path.name not in _PARTS)
"""The examples that are separate packages."""

RENDERED = [path for path in EXAMPLES if path.name != "kubernetes-gangs"]
"""The examples for which packwise renders objects. The default scheduler reads Kubernetes' gangs unchanged."""


def revision_of(folder: Path) -> str:
    """Return the revision that the configuration in `folder` selects."""
    _, selection = read_package(read_inputs(Named((str(folder),))).package)
    return selection.revision.name


def is_preview(folder: Path) -> bool:
    """Return True if the objects of `folder` are never applied, because Dynamo's operator makes them from graphs."""
    return any("kind: DynamoGraphDeployment" in file.read_text(encoding="utf-8") for file in folder.rglob("*.yaml"))


def holds_workloads_of_grove(folder: Path) -> bool:
    """Return True if anything in `folder` has a revision. OSMO's documents have none."""
    return any("kind: PodCliqueSet" in file.read_text(encoding="utf-8") for file in folder.rglob("*.yaml"))
