"""A policy instead of Grove's webhook: it refuses a workload with a missing topology.

The API server looks the ClusterTopology up itself, as the policy's parameter, so no server of Grove is needed.
"""

from __future__ import annotations

import json
from typing import Any

from tests.e2e.apiserver import ApiServer
from tests.e2e.process import wait_for

__all__ = ["install"]

_NAME = "topology-before-workload"
_POLICY: list[dict[str, Any]] = [
    {
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": "ValidatingAdmissionPolicy",
        "metadata": {"name": _NAME},
        "spec": {
            "failurePolicy": "Fail",
            "paramKind": {"apiVersion": "grove.io/v1alpha1", "kind": "ClusterTopology"},
            "matchConstraints": {
                "resourceRules": [
                    {
                        "apiGroups": ["grove.io"],
                        "apiVersions": ["*"],
                        "operations": ["CREATE"],
                        "resources": ["podcliquesets"],
                    }
                ]
            },
            "validations": [{"expression": "params != null"}],
        },
    },
    {
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": "ValidatingAdmissionPolicyBinding",
        "metadata": {"name": _NAME},
        "spec": {
            "policyName": _NAME,
            "validationActions": ["Deny"],
            "paramRef": {"name": "grove-topology", "parameterNotFoundAction": "Deny"},
        },
    },
]


def install(cluster: ApiServer, workload: dict[str, Any]) -> None:
    """Install the policy.

    When this function returns, the policy refuses `workload`, which is in an existing namespace.
    """
    cluster.apply(_POLICY)
    wait_for("the refusal of a workload without its topology", lambda: _is_refused(cluster, workload))


def _is_refused(cluster: ApiServer, workload: dict[str, Any]) -> bool:
    answer = cluster.kubectl("create", "--dry-run=server", "-f", "-", stdin=json.dumps(workload), check=False)
    return "denied request" in answer or "no params found" in answer
