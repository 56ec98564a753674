"""CRDs in the input, if the library that evaluates their rules is missing."""

from __future__ import annotations

import pytest

from krmfn.kubeobject import KubeObject
from krmfn.result import Severity
from packwise import extras
from packwise.extras import CRDS
from packwise.objects.index import Index
from packwise.validate.crds import definitions_of

CRD = """\
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: topologies.kai.scheduler}
spec:
  group: kai.scheduler
  names: {kind: Topology, plural: topologies}
  scope: Cluster
  versions:
  - name: v1alpha1
    served: true
    storage: true
    schema:
      openAPIV3Schema:
        type: object
        x-kubernetes-validations: [{rule: "has(self.spec)", message: "must have a spec"}]
"""


def test_a_crd_with_rules_needs_the_library_that_evaluates_them(monkeypatch: pytest.MonkeyPatch) -> None:
    absent = CRDS.replace(module="no_such_module")
    monkeypatch.setattr(extras, "CRDS", absent)

    chosen = definitions_of((), Index.of([KubeObject.parse(CRD)]))

    assert chosen.by_kind == {}
    assert [(finding.rule, finding.severity, finding.path, finding.message) for finding in chosen.findings] == [
        (
            "crd-rule",
            Severity.ERROR,
            ("spec", "versions"),
            f"packwise cannot check the rules and patterns of this CRD: {absent.advice}",
        )
    ]
