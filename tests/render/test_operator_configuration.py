"""Grove's OperatorConfiguration: the errors with which the operator does not start, by release.

The texts are the answers of each release's own decoder and validation.
"""

from __future__ import annotations

import pytest

from krmfn import KubeObject, Result
from packwise.pipeline import render
from packwise.pipeline.selection import Package

HEAD = """\
apiVersion: operator.config.grove.io/v1alpha1
kind: OperatorConfiguration
metadata: {name: grove}
"""
CONFIGMAP = """\
apiVersion: v1
kind: ConfigMap
metadata: {name: grove}
data:
  config.yaml: |
    apiVersion: operator.config.grove.io/v1alpha1
    kind: OperatorConfiguration
"""
SHOWN = ("operator-", "configuration-shape")
SETTINGS = "apiVersion: packwise.dev/v1alpha1\nkind: TopologyRender\nmetadata: {name: t}\nspec: {revision: %s}\n"
EVERY = ("grep-244", "v0.1.0-alpha.8", "v0.1.0-alpha.9", "v0.1.0-alpha.10", "v0.1.0-alpha.12-rc1", "upstream")
LATER = EVERY[1:]

INTO = "json: cannot unmarshal {} into Go struct field {} of type {}"


def results(text: str, revision: str, head: str = HEAD) -> list[Result]:
    items = tuple([KubeObject.parse(part) for part in (SETTINGS % revision, head + text)])
    return [result for result in render(Package(items)).results if result.tags["rule"].startswith(SHOWN)]


def path_of(result: Result) -> str | None:
    return None if result.field is None else result.field.path


REFUSED: list[tuple[str, str, list[tuple[str, str, str | None]]]] = [
    ("operator-log", "logLevel: warn\nlogFormat: xml\n", [
        ("logLevel", 'must be one of "debug", "info", "error"; got "warn"',
         'logLevel: Unsupported value: "warn": supported values: "debug", "info", "error"'),
        ("logFormat", 'must be one of "json", "text"; got "xml"',
         'logFormat: Unsupported value: "xml": supported values: "json", "text"'),
    ]),
    ("operator-leader-election", "leaderElection: {enabled: true, leaseDuration: 5s, retryPeriod: -1s}\n", [
        ("leaderElection.retryPeriod", 'must be greater than 0; got "-1s"',
         'leaderElection.retryPeriod: Invalid value: "-1s": must be greater than 0'),
        ("leaderElection.leaseDuration", 'must be greater than renewDeadline, "10s"; got "5s"',
         'leaderElection.leaseDuration: Invalid value: "10s": LeaseDuration must be greater than RenewDeadline'),
    ]),
    ("operator-leader-election", "leaderElection: {enabled: true, retryPeriod: 9s, resourceLock: configmaps}\n", [
        ("leaderElection.resourceLock", 'the operator supports only "leases"; got "configmaps"',
         "configmaps lock is removed, migrate to leases"),
        ("leaderElection.renewDeadline", 'must be greater than 1.2 times retryPeriod, "9s"; got "10s"',
         "renewDeadline must be greater than retryPeriod*JitterFactor"),
    ]),
    ("operator-leader-election", "leaderElection: {enabled: true, resourceLock: lease}\n", [
        ("leaderElection.resourceLock", 'the operator supports only "leases"; got "lease"', "Invalid lock-type lease"),
    ]),
    ("operator-client", "runtimeClientConnection: {burst: -5}\n", [
        ("runtimeClientConnection.burst", 'must be at least 0; got "-5"',
         "clientConnection.burst: Invalid value: -5: must be non-negative"),
    ]),
    ("operator-server", "server: {webhooks: {port: 99999, certProvisionMode: manuel}, healthProbes: {port: -3}, "
                        "metrics: {port: 70000}}\n", [
        ("server.healthProbes.port", 'must be a port from 1 to 65535; got "-3"',
         "error listening on :-3: listen tcp: address -3: invalid port"),
        ("server.webhooks.certProvisionMode",
         'must be one of "auto", "manual"; got "manuel"; did you mean "manual"?',
         'unsupported cert provision mode: "manuel"'),
        ("server.webhooks.port", (
            'must be a port from 1 to 65535; got "99999"'
        ), "listen tcp: address 99999: invalid port"),
        ("server.metrics.port", 'must be a port from 1 to 65535; got "70000"',
         "failed to start metrics server: failed to create listener: listen tcp: address 70000: invalid port"),
    ]),
    ("operator-decode", "logLevel: 3\nserver: {webhooks: {port: x}}\nleaderElection: {enabled: 5}\n", [
        ("leaderElection.enabled", "must be true or false; got 5",
         INTO.format("number", "LeaderElectionConfiguration.leaderElection.enabled", "bool")),
        ("logLevel", "must be a string; got 3", None),
        ("server.webhooks.port", 'must be an integer; got "x"', None),
    ]),
    ("operator-decode", "server: {webhooks: {port: x}}\n", [
        ("server.webhooks.port", 'must be an integer; got "x"',
         INTO.format("string", "WebhookServer.server.webhooks.Server.port", "int")),
    ]),
    ("operator-decode", "runtimeClientConnection: {burst: 99999999999999999999, qps: 1e60}\n", [
        ("runtimeClientConnection.burst", "must be an integer; got 1e+20",
         INTO.format("number 100000000000000000000", "ClientConnectionConfiguration.runtimeClientConnection.burst",
                     "int")),
        ("runtimeClientConnection.qps", "must be a number; got 1e+60", None),
    ]),
    ("operator-decode", "leaderElection: {enabled: 4, leaseDuration: 5x, renewDeadline: []}\n", [
        ("leaderElection.enabled", "must be true or false; got 4", None),
        ("leaderElection.leaseDuration", 'must be a duration such as 15s; got "5x"',
         'time: unknown unit "x" in duration "5x"'),
        ("leaderElection.renewDeadline", "must be a duration such as 15s; got a list", None),
    ]),
    ("operator-decode", "leaderElection: {leaseDuration: null}\n", [
        ("leaderElection.leaseDuration", "must be a duration such as 15s; got null", 'time: invalid duration ""'),
    ]),
    ("operator-decode", "server: []\nauthorizer: {exemptServiceAccountUserNames: a}\n", [
        ("authorizer.exemptServiceAccountUserNames", 'must be a list; got "a"',
         INTO.format("string", "AuthorizerConfig.authorizer.exemptServiceAccountUserNames", "[]string")),
        ("server", "must be a mapping; got a list", None),
    ]),
    ("operator-decode", "authorizer: {exemptServiceAccountUserNames: [null, 3]}\n", [
        ("authorizer.exemptServiceAccountUserNames[1]", "must be a string; got 3",
         INTO.format("number", "AuthorizerConfig.authorizer.exemptServiceAccountUserNames", "string")),
    ]),
    ("configuration-shape", "network: {autoMNNVLEnabled: 'yes'}\n", [
        ("network.autoMNNVLEnabled", 'must be true or false; got "yes"',
         INTO.format("string", "NetworkAcceleration.network.autoMNNVLEnabled", "bool")),
    ]),
]  # fmt: skip


@pytest.mark.parametrize("revision", EVERY)
@pytest.mark.parametrize(("rule", "text", "expected"), REFUSED)
def test_the_operator_does_not_start(
    rule: str, text: str, expected: list[tuple[str, str, str | None]], revision: str
) -> None:
    found = results(text, revision)
    assert {(result.tags["rule"], result.severity.value) for result in found} == {(rule, "error")}
    shown = [(path_of(result), result.message, result.tags.get("operatorMessage")) for result in found]
    assert sorted(shown, key=str) == sorted(expected, key=str)


SYNCS = (
    "controllers: {podCliqueSet: {concurrentSyncs: 0}, podClique: {concurrentSyncs: -1}, "
    "podCliqueScalingGroup: {concurrentSyncs: 0}%s}\n"
)
SYNC = "controllers.{}.concurrentSyncs: Invalid value: {}: must be greater than 0"


def test_alpha_7_checks_two_controllers_and_calls_both_by_one_name() -> None:
    found = [
        (result.field and result.field.path, result.tags["operatorMessage"]) for result in results(SYNCS % "", EVERY[0])
    ]
    assert found == [
        ("controllers.podCliqueSet.concurrentSyncs", SYNC.format("podCliqueSet", 0)),
        ("controllers.podCliqueScalingGroup.concurrentSyncs", SYNC.format("podCliqueSet", 0)),
    ]


@pytest.mark.parametrize("revision", LATER)
def test_later_releases_check_every_controller(revision: str) -> None:
    found = results(SYNCS % ", podGang: {concurrentSyncs: -3}", revision)
    assert {result.tags["operatorMessage"] for result in found} == {
        SYNC.format("podCliqueSet", 0), SYNC.format("podCliqueScalingGroup", 0), SYNC.format("podClique", -1),
        SYNC.format("podGang", -3),
    }  # fmt: skip


ACCEPTED = [
    "logLevel: '  '\nlogFormat: ''\n",
    "leaderElection: {enabled: false, leaseDuration: 5s, retryPeriod: -1s, resourceLock: x}\n",
    "leaderElection: {enabled: true, leaseDuration: 0s}\n",
    "runtimeClientConnection: {qps: -1.5, burst: 2.0}\n",
    "server: null\nleaderElection: null\ncontrollers: {podClique: null}\nlogLevel: null\n",
    "server: {webhooks: {port: -3, certProvisionMode: ''}, metrics: {port: 0}}\n",
    "debugging: {enableProfiling: true, pprofBindHost: '::1', pprofBindPort: 6060}\n",
    "controllers: {podCliqueSet: {concurrentSyncs: null}}\n",
]


@pytest.mark.parametrize("revision", EVERY)
@pytest.mark.parametrize("text", ACCEPTED)
def test_the_operator_starts(text: str, revision: str) -> None:
    assert results(text, revision) == []


def test_an_address_of_ipv6_is_in_brackets() -> None:
    (found,) = results("server: {healthProbes: {bindAddress: '::1', port: 70000}}\n", "upstream")
    text = "error listening on [::1]:70000: listen tcp: address 70000: invalid port"
    assert found.tags["operatorMessage"] == text


def test_what_the_start_would_fail_with_is_not_reached_where_validation_fails() -> None:
    found = results("logLevel: x\nserver: {metrics: {port: 70000}}\n", "upstream")
    assert [(result.tags["rule"], "operatorMessage" in result.tags) for result in found] == [
        ("operator-log", True), ("operator-server", False),
    ]  # fmt: skip


UNKNOWN = [
    (
        "topologyAwareSheduling: {enabled: true}\n",
        "topologyAwareSheduling",
        "error",
        'the operator ignores the unknown field "topologyAwareSheduling" of an OperatorConfiguration; did you mean '
        '"topologyAwareScheduling"?',
    ),
    (
        "loglevel: debug\n",
        "loglevel",
        "error",
        'the operator ignores the unknown field "loglevel" of an OperatorConfiguration; did you mean "logLevel"?',
    ),
    (
        "leaderElection: {leaseDurations: 5s}\n",
        "leaderElection.leaseDurations",
        "error",
        'the operator ignores the unknown field "leaseDurations" of "leaderElection"; did you mean "leaseDuration"?',
    ),
    (
        "network: {mtu: 9000}\n",
        "network.mtu",
        "warning",
        'the operator ignores the unknown field "mtu" of "network"; known: "autoMNNVLEnabled"',
    ),
]


@pytest.mark.parametrize("revision", EVERY)
@pytest.mark.parametrize(("text", "path", "severity", "message"), UNKNOWN)
def test_a_field_that_the_operator_does_not_know(
    text: str, path: str, severity: str, message: str, revision: str
) -> None:
    (found,) = results(text, revision)
    assert (found.tags["rule"], found.severity.value) == ("operator-field", severity)
    assert (path_of(found), found.message) == (path, message)


def test_fields_of_a_later_release_have_no_effect() -> None:
    text = "scheduler: {profiles: [{name: kai-scheduler}]}\ncontrollers: {podGang: {concurrentSyncs: 0}}\n"
    found = [(path_of(result), result.severity.value) for result in results(text, "grep-244")]
    assert found == [("controllers.podGang", "warning"), ("scheduler", "warning")]
    assert [result.tags["rule"] for result in results(text, "v0.1.0-alpha.8")] == ["operator-syncs"]


def test_the_levels_of_earlier_releases_may_have_any_type() -> None:
    text = "topologyAwareScheduling: {enabled: true, levels: {domain: rack}}\n"
    into = INTO.format("object", "TopologyAwareSchedulingConfiguration.topologyAwareScheduling.levels",
                       "[]v1alpha1.TopologyLevel")  # fmt: skip
    assert [result.tags["operatorMessage"] for result in results(text, "v0.1.0-alpha.8")] == [into]


def test_a_design_has_no_operator() -> None:
    assert results("logLevel: warn\n", "design-2") == []


def test_a_document_in_a_configmap_is_reported_with_its_own_line() -> None:
    (found,) = results("    logLevel: warn\n", "upstream", CONFIGMAP)
    assert (found.message, found.tags["line"], found.tags["column"]) == (
        'logLevel must be one of "debug", "info", "error"; got "warn"', "8", "15",
    )  # fmt: skip
