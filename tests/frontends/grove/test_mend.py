"""Fixes in texts change only the fixed scalars and keys."""

from __future__ import annotations

from krmfn.kubeobject import KubeObject
from packwise.frontends.grove.migrate import fix_workload
from packwise.revisions.grove import GREP_244, UPSTREAM

BEFORE = """\
apiVersion: grove.io/v1alpha1
kind: PodCliqueSet
metadata: {name: a, labels: {legacy: yes, quoted: "no"}}
spec:
  replicas: 1
  template:
    startupType: CliqueStartupTypeInOrder # the old name
    cliques:
    - name: c
      spec:
        roleName: c
        replicas: 1
        scaleConfig: {maxReplicas: 2}
        podSpec:
          containers:
          - name: c
            env:
            - {name: VERBOSE, value: off} # a string, for kustomize
            resources:
              limits: {nvidia.com/gpu: 8, cpu: "4"}
              requests:
                cpu: 0.50 # half
    podCliqueScalingGroupConfigs: []
"""

AFTER = """\
apiVersion: grove.io/v1alpha1
kind: PodCliqueSet
metadata: {name: a, labels: {legacy: "yes", quoted: "no"}}
spec:
  replicas: 1
  template:
    cliqueStartupType: CliqueStartupTypeInOrder # the old name
    cliques:
    - name: c
      spec:
        roleName: c
        replicas: 1
        autoScalingConfig: {maxReplicas: 2}
        podSpec:
          containers:
          - name: c
            env:
            - {name: VERBOSE, value: "off"} # a string, for kustomize
            resources:
              limits: {nvidia.com/gpu: "8", cpu: "4"}
              requests:
                cpu: "0.50" # half
    podCliqueScalingGroups: []
"""


def test_quotes_and_names_are_fixed_and_no_other_byte() -> None:
    fixed = fix_workload(KubeObject.parse(BEFORE), GREP_244)

    assert fixed.text == AFTER
    assert fixed.value == KubeObject.parse(AFTER).value


def test_what_needs_no_mending_is_the_same_object() -> None:
    item = KubeObject.parse(AFTER)

    assert fix_workload(item, GREP_244) is item


def test_a_field_whose_new_name_stands_beside_it_is_left_to_its_author() -> None:
    text = AFTER.replace("    podCliqueScalingGroups: []\n", "    podCliqueScalingGroups: []\n    scalingGroups: []\n")
    item = KubeObject.parse(text)

    assert fix_workload(item, GREP_244) is item


def test_a_removed_field_is_not_given_the_name_of_what_replaced_it() -> None:
    """The value of the removed field has no meaning in the new field."""
    workload = KubeObject.parse("spec:\n  template:\n    schedulingPolicyConfig: {networkPackGroupConfigs: []}\n")

    assert fix_workload(workload, GREP_244) is workload


DEPRECATED = """\
apiVersion: grove.io/v1alpha1
kind: PodCliqueSet
metadata: {name: a}
spec:
  template:
    topologyConstraint: # of the whole
      topologyName: gb200
      packDomain: rack # within one
    cliques:
    - name: c
      topologyConstraint: {packDomain: host}
    - name: d
      topologyConstraint:
        packDomain: rack
        pack:
          preferred: host
    - name: e
      topologyConstraint:
        packDomain: rack
        pack:
          required: host # another: whose choice is it?
"""
PACKED = """\
apiVersion: grove.io/v1alpha1
kind: PodCliqueSet
metadata: {name: a}
spec:
  template:
    topologyConstraint: # of the whole
      topologyName: gb200
      pack: # within one
        required: rack
    cliques:
    - name: c
      topologyConstraint: {pack: {required: "host"}}
    - name: d
      topologyConstraint:
        pack:
          preferred: host
          required: rack
    - name: e
      topologyConstraint:
        packDomain: rack
        pack:
          required: host # another: whose choice is it?
"""


def test_a_deprecated_pack_domain_moves_into_pack() -> None:
    fixed = fix_workload(KubeObject.parse(DEPRECATED), UPSTREAM)

    assert fixed.text == PACKED
    assert fix_workload(fixed, UPSTREAM) is fixed


def test_what_a_running_workload_was_made_with_stays() -> None:
    item = KubeObject.parse(DEPRECATED + "status: {availableReplicas: 1}\n")

    assert fix_workload(item, UPSTREAM) is item


def test_where_pack_domain_is_the_only_name_it_stays() -> None:
    item = KubeObject.parse(DEPRECATED.split("    cliques:", maxsplit=1)[0].replace("      topologyName: gb200\n", ""))

    assert fix_workload(item, GREP_244) is item
