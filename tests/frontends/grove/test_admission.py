"""The workload before a change, as the webhook stored it: with the fields that admission adds."""

from __future__ import annotations

from typing import Any

import pytest

from krmfn.fieldpath import format_path
from packwise.frontends.grove.admission import Admitted, History, admit
from packwise.frontends.grove.rules.book import Context
from packwise.revisions.grove import REVISIONS

from .cases import edited

MNNVL = "grove.io/auto-mnnvl"
FIELD = f"metadata.annotations.{MNNVL}"
GPU = "spec.template.cliques[0].spec.podSpec.containers[0].resources"
ADDED = f"{FIELD}: Forbidden: annotation {MNNVL} cannot be added after PodCliqueSet creation"
REMOVED = f"{FIELD}: Forbidden: annotation {MNNVL} cannot be removed after PodCliqueSet creation"
TO_DISABLED = (
    f'{FIELD}: Invalid value: "disabled": annotation {MNNVL} is immutable and cannot be changed from "enabled" to '
    '"disabled"'
)
TO_ENABLED = (
    f'{FIELD}: Invalid value: "enabled": annotation {MNNVL} is immutable and cannot be changed from "disabled" to '
    '"enabled"'
)
APPLIED = "kubectl.kubernetes.io/last-applied-configuration"


def workload(written: str | None, edits: dict[str, Any] | None = None, *, gpu: bool = True) -> dict[str, Any]:
    edits = dict(edits or {})
    if gpu:
        edits[GPU] = {"limits": {"nvidia.com/gpu": 8}}
    if written is not None:
        edits["metadata.annotations"] = {MNNVL: written}
    return edited(edits)


def stored(written: str, applied: str | None = None) -> dict[str, Any]:
    """Return an export of the cluster. `applied` adds the annotation in which kubectl keeps its author's text."""
    annotations = {MNNVL: written} if applied is None else {MNNVL: written, APPLIED: applied}
    return edited(
        {
            GPU: {"limits": {"nvidia.com/gpu": 8}},
            "metadata.uid": "1b",
            "metadata.annotations": annotations,
        }
    )


def admitted(before: dict[str, Any] | None, after: dict[str, Any], *, on: bool = True) -> Admitted:
    return admit(after, History(before), "Auto", Context(REVISIONS["grep-244"], auto_mnnvl=on))


@pytest.mark.parametrize(
    ("before", "after", "on", "texts", "annotation"),
    [
        pytest.param(workload(None), workload("enabled"), True, [], "enabled", id="what the webhook added, written"),
        pytest.param(workload(None), workload("disabled"), True, [TO_DISABLED], "disabled", id="otherwise"),
        pytest.param(workload(None), workload(None), True, [], "enabled", id="inherited"),
        pytest.param(workload("enabled"), workload(None), True, [REMOVED], None, id="removed"),
        pytest.param(workload("disabled"), workload("enabled"), True, [TO_ENABLED], "enabled", id="changed"),
        pytest.param(workload("disabled"), workload("disabled"), True, [], "disabled", id="opted out"),
        pytest.param(workload(None), workload("enabled"), False, [ADDED], "enabled", id="the feature is off"),
        pytest.param(workload(None), workload(None), False, [], None, id="the feature is off, and nobody writes it"),
        pytest.param(workload(None, gpu=False), workload("enabled"), True, [ADDED], "enabled", id="no GPU before"),
        pytest.param(workload(None, gpu=False), workload(None), True, [], None, id="GPUs come with an update"),
        pytest.param(stored("enabled"), workload(None), True, [], "enabled", id="an export"),
        pytest.param(stored("disabled"), workload(None), True, [REMOVED], None, id="an export, another value"),
        pytest.param(stored("enabled", '{"metadata":{}}'), workload(None), False, [], "enabled", id="kubectl"),
        pytest.param(stored("enabled", '{"metadata":{"annotations":{"grove.io/auto-mnnvl":"enabled"}}}'),
                     workload(None), True, [REMOVED], None, id="kubectl: written"),
        pytest.param(edited({"metadata.uid": "1b", GPU: {"limits": {"nvidia.com/gpu": 8}}}), workload("enabled"), True,
                     [ADDED], "enabled", id="an export without it: it was created while the feature was off"),
    ],
)  # fmt: skip
def test_an_annotation_of_the_webhook(
    before: dict[str, Any], after: dict[str, Any], on: bool, texts: list[str], annotation: str | None
) -> None:
    answer = admitted(before, after, on=on)

    assert [problem.operator_message for _, problem in answer.problems] == texts
    assert answer.pcs.annotations.get(MNNVL) == annotation


def test_no_false_error_hides_the_true_ones() -> None:
    answer = admitted(workload(None), workload("enabled", {"spec.template.cliques[0].spec.roleName": "other"}))

    [(rule, problem)] = answer.problems
    assert (rule.name, format_path(problem.path)) == ("update-clique-role", "spec.template.cliques[0].spec.roleName")
    assert problem.operator_message == 'spec.template.cliques.spec.roleName: Invalid value: "other": field is immutable'
