"""The selection of reported findings: by the configuration, comments, options and known findings."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.cli.calling import CHOSEN, CONFIG, WORKLOAD, Call, write

# Three warnings: about the namespace, the queue and the restart policy.
LOUD = WORKLOAD.replace("  namespace: shop\n", "").replace(
    "          containers:",
    "          schedulerName: kai-scheduler\n          restartPolicy: Never\n          containers:",
)
NAMES = ["namespace-missing", "queue-missing", "pod-restart-policy"]


def configured(rules: str) -> str:
    return f"{CONFIG}  rules: {rules}\n"


def listed(call: Call, *words: str) -> list[str]:
    """Return the findings in their order, each as `rule severity`."""
    return [f"{each['rule']} {each['severity']}" for each in call("check", "in", "-o", "json", *words).findings]


RULES: dict[str, tuple[str, list[str]]] = {
    "nothing chosen": ("{}", [f"{name} warning" for name in NAMES]),
    "ignored everywhere": ("{ignore: [namespace-missing, queue-missing]}", ["pod-restart-policy warning"]),
    "errors": (
        "{error: [queue-missing]}",
        ["namespace-missing warning", "queue-missing error", "pod-restart-policy warning"],
    ),
    "a warning stays one": ("{warn: [queue-missing]}", [f"{name} warning" for name in NAMES]),
    "ignored in one folder": (
        '{ignore: [{rule: queue-missing, paths: ["web/*"]}]}',
        ["namespace-missing warning", "pod-restart-policy warning"],
    ),
    "ignored in another": (
        '{ignore: [{rule: queue-missing, paths: ["api/**"]}]}',
        [f"{name} warning" for name in NAMES],
    ),
    "all but one folder": (
        '{error: [queue-missing], ignore: [{rule: queue-missing, paths: ["**/*.yaml", "!web/*"]}]}',
        ["namespace-missing warning", "queue-missing error", "pod-restart-policy warning"],
    ),
    "an entry for paths counts first": (
        '{ignore: [queue-missing], error: [{rule: queue-missing, paths: ["workload.yaml"]}]}',
        ["namespace-missing warning", "queue-missing error", "pod-restart-policy warning"],
    ),
}


@pytest.mark.parametrize("name", RULES)
def test_rules_of_the_configuration(name: str, call: Call, package: Path) -> None:
    rules, expected = RULES[name]
    write(package, {"web/workload.yaml": LOUD, "topology.yaml": configured(rules)})

    assert listed(call) == expected
    assert call("render", "in").code == int(any("error" in each for each in expected))


def test_an_info_is_raised_to_a_warning_and_to_an_error(call: Call, package: Path) -> None:
    same = WORKLOAD.replace(
        "    - name: router\n", "    - name: router\n      topologyConstraint: {packDomain: rack}\n"
    )
    for level in ("warn", "error"):
        rules = f"{{{level}: [constraint-redundant, no-workloads]}}"
        write(package, {"web/workload.yaml": same, "topology.yaml": configured(rules)})

        assert [each.split()[1][:4] for each in listed(call)] == [level[:4]]


def test_a_notice_at_the_end_of_a_render_may_be_an_error_too(call: Call, package: Path) -> None:
    write(package, {"topology.yaml": configured("{error: [no-workloads]}")})
    (package / "web/workload.yaml").unlink()

    ran = call("render", "in")

    assert (ran.code, ran.stdout) == (1, "")
    assert ran.messages.splitlines()[-1] == "1 error: nothing was written"


ENTRIES = {
    f"{{ignore: [{entry}]}}": f"spec.rules.ignore[0]{text} [configuration-fields]"
    for entry, text in {
        "5": ": must be a string; got 5",
        "{rule: a}": ".paths: must be set",
        "{rule: a, paths: []}": ".paths: must have at least 1 item; got 0",
        '{rule: a, paths: ["!"]}': '.paths[0]: must be a glob of .gitignore; got "!"',
        '{rule: a, paths: [" "]}': '.paths[0]: must be a glob of at most 500 characters, such as "examples/**"; got " '
        '"',
        '{rule: a, paths: ["a/[b"]}': '.paths[0]: must be a glob of .gitignore; got "a/[b"',
    }.items()
}


WRONG = {
    **ENTRIES,
    "{ignore: [queue-mising]}": 'spec.rules.ignore[0]: there is no rule "queue-mising"; did you '
    'mean "queue-missing"? [rules-known]',
    "{error: [{rule: x, paths: [a]}]}": 'spec.rules.error[0].rule: there is no rule "x"; `packwise '
    "rules` lists them [rules-known]",
    "{warn: [cliques]}": 'spec.rules.warn[0]: "cliques" reports errors, which the cluster refuses. Ignore one at its '
    "line: `# packwise: ignore[cliques] reason` [rules-refused]",
}


@pytest.mark.parametrize("rules", WRONG)
def test_wrong_rules_of_the_configuration(rules: str, call: Call, package: Path) -> None:
    write(package, {"topology.yaml": configured(rules)})

    ran = call("check", "in")

    assert (ran.code, ran.stdout.splitlines()[0].partition("TopologyRender topology ")[2]) == (1, WRONG[rules])


COMMENTS: dict[str, tuple[str, str, list[str]]] = {
    "at the end of the line": (
        "restartPolicy: Never\n",
        "restartPolicy: Never # packwise: ignore[pod-restart-policy] until March\n",
        ["namespace-missing warning", "queue-missing warning"],
    ),
    "on the line above": (
        "          restartPolicy: Never\n",
        "          # packwise: ignore[pod-restart-policy] until March\n          restartPolicy: Never\n",
        ["namespace-missing warning", "queue-missing warning"],
    ),
    "of a block, for its own line alone": (
        "        podSpec:\n",
        "        podSpec: # packwise: ignore[pod-restart-policy] until March\n",
        ["namespace-missing warning", "ignore-unused warning", "queue-missing warning", "pod-restart-policy warning"],
    ),
    "several rules, one of them unused": (
        "restartPolicy: Never\n",
        "restartPolicy: Never # packwise: ignore[pod-restart-policy, queue-missing] until March\n",
        ["namespace-missing warning", "queue-missing warning", "ignore-unused warning"],
    ),
    "without a reason": (
        "restartPolicy: Never\n",
        "restartPolicy: Never # packwise: ignore[pod-restart-policy]\n",
        ["namespace-missing warning", "queue-missing warning", "ignore-reason warning"],
    ),
    "of a rule that there is not": (
        "restartPolicy: Never\n",
        "restartPolicy: Never # packwise: ignore[pod-restart] until March\n",
        ["namespace-missing warning", "queue-missing warning", "pod-restart-policy warning", "ignore-form warning"],
    ),
    "without a rule": (
        "restartPolicy: Never\n",
        "restartPolicy: Never # packwise: ignore until March\n",
        ["namespace-missing warning", "queue-missing warning", "pod-restart-policy warning", "ignore-form warning"],
    ),
    "of an update, which nothing tells": (
        "restartPolicy: Never\n",
        "restartPolicy: Never # packwise: ignore[pod-restart-policy, update-clique-name] until March\n",
        ["namespace-missing warning", "queue-missing warning"],
    ),
}


@pytest.mark.parametrize("name", COMMENTS)
def test_comments(name: str, call: Call, package: Path) -> None:
    before, after, expected = COMMENTS[name]
    write(package, {"web/workload.yaml": LOUD.replace(before, after)})

    assert listed(call) == expected


def test_a_workload_with_an_ignored_error_is_not_rendered(call: Call, package: Path) -> None:
    refused = WORKLOAD.replace("packDomain: rack", "packDomain: rick").replace(
        "    topologyConstraint:",
        "    # packwise: ignore[topology-domain-unknown, workload-schema] its cluster has it\n    topologyConstraint:",
    )
    other = WORKLOAD.replace("name: web", "name: other")
    write(package, {"web/workload.yaml": refused, "other.yaml": other})

    assert listed(call) == ["topology-domain-unknown info"]
    ran = call("render", "in", "-o", "out")

    assert (ran.code, ran.messages) == (0, "wrote 7 files to out (3 new objects); 2 infos (-v lists them)\n")
    assert (package.parent / "out/web/workload.yaml").read_text(encoding="utf-8") == refused
    gangs = sorted(path.name for path in (package.parent / "out").rglob("*") if "kind: PodGang" in text_of(path))
    assert [name for name in gangs if "web" in name] == []
    assert len(gangs) == 1
    said = call("check", "in", "-v").stdout
    assert (
        "; ignored at its line (its cluster has it), and packwise renders nothing from the object "
        "[topology-domain-unknown]" in said
    )


def text_of(path: Path) -> str:
    return path.read_text(encoding="utf-8") if path.is_file() else ""


def test_an_error_that_others_depend_on_is_not_ignored(call: Call, package: Path) -> None:
    key = "key: example.com/rack} # packwise: ignore[configuration-key] later"
    write(package, {"topology.yaml": CONFIG.replace("key: example.com/rack}", key).replace("example.com/rack", "a b")})

    assert listed(call) == ["configuration-key error"]


def test_options_choose_rules(call: Call, package: Path) -> None:
    write(package, {"web/workload.yaml": LOUD})

    assert listed(call, "--ignore", "queue-missing", "--ignore", "namespace-missing") == ["pod-restart-policy warning"]
    assert listed(call, "--select", "queue-missing,cliques") == ["queue-missing warning"]
    assert listed(call, "--select", "queue-missing", "--ignore", "queue-missing") == []


def test_selected_rules_that_cannot_be_checked_are_no_good_news(call: Call, package: Path) -> None:
    write(package, {"web/workload.yaml": LOUD, "topology.yaml": CONFIG.replace("enabled", "enable")})

    assert listed(call, "--select", "queue-missing") == ["configuration-fields error"]


@pytest.mark.parametrize(("most", "code"), [(0, 1), (2, 1), (3, 0), (4, 0)])
def test_warnings_may_be_too_many(most: int, code: int, call: Call, package: Path) -> None:
    write(package, {"web/workload.yaml": LOUD})

    ran = call("check", "in", "--max-warnings", str(most))

    text = f"error: 3 warnings, but --max-warnings allows only {most}\n" if code else ""
    assert (ran.code, ran.messages) == (code, text)


def test_known_findings_are_counted_and_new_ones_reported(call: Call, package: Path) -> None:
    write(package, {"web/workload.yaml": LOUD.replace("packDomain: rack", "packDomain: rick")})

    written = call("check", "in", "--write-findings", "known.json")
    after = call("check", "in", "--known", "known.json")

    assert (written.code, written.stdout, written.stderr) == (
        0,
        "",
        "wrote 4 findings to known.json; `packwise check --known known.json` reports only new ones\n",
    )
    assert (after.code, after.stdout, after.stderr) == (0, "", f"no findings, 4 known in 3 files{CHOSEN}\n")
    moved = LOUD.replace("packDomain: rack", "packDomain: rick").replace(
        "spec:\n  replicas", "# moved\n\nspec:\n  replicas"
    )
    write(
        package,
        {
            "web/workload.yaml": moved.replace("restartPolicy: Never", "minReplicas: 1"),
            "a.yaml": LOUD.replace("web", "a"),
        },
    )
    ran = call("check", "in", "--known", "known.json", "-o", "json")
    assert sorted(each["rule"] for each in ran.findings) == sorted([*NAMES, "unknown-field"])
    assert ran.messages == "1 finding of known.json no longer exists; write the file again\n"


def test_the_file_of_known_findings(call: Call, package: Path) -> None:
    write(package, {"web/workload.yaml": LOUD})
    call("check", "in", "--write-findings", "known.json", "--select", "queue-missing")

    value: Any = json.loads((package.parent / "known.json").read_text(encoding="utf-8"))

    (entry,) = value["findings"]
    assert (value["version"], sorted(entry)) == (1, ["file", "fingerprint", "path", "resource", "rule"])
    assert entry | {"fingerprint": ""} == {
        "fingerprint": "",
        "rule": "queue-missing",
        "file": "in/web/workload.yaml",
        "resource": "PodCliqueSet web",
        "path": "spec.template.cliques[0].spec.podSpec.schedulerName",
    }


def test_what_prevents_a_check_is_never_known(call: Call, package: Path) -> None:
    write(package, {"topology.yaml": CONFIG.replace("enabled", "enable")})

    written = call("check", "in", "--write-findings", "known.json")
    after = call("check", "in", "--known", "known.json", "-o", "json")

    assert written.code == 1
    assert [line.rpartition("[")[2] for line in written.stderr.splitlines()[1:]] == ["configuration-fields]"]
    assert (after.code, [each["rule"] for each in after.findings]) == (1, ["configuration-fields"])


NO_KNOWN = {
    "none.json": ("no JSON", "was not written by --write-findings: it is not JSON"),
    "list.json": ("[]", "was not written by --write-findings with version 1"),
    "later.json": ('{"version": 2, "findings": []}', "was not written by --write-findings with version 1"),
    "part.json": (
        '{"version": 1, "findings": [{"rule": "a"}]}',
        "has a finding without a fingerprint; write the file again with --write-findings",
    ),
    "deep.json": ("[" * 100_000, "was not written by --write-findings: it is nested too deep"),
}


@pytest.mark.parametrize("name", NO_KNOWN)
def test_files_that_hold_no_known_findings(name: str, call: Call, package: Path) -> None:
    text, reason = NO_KNOWN[name]
    write(package.parent, {name: text})

    ran = call("check", "in", "--known", name)

    assert (ran.code, ran.stdout, ran.stderr) == (2, "", f'error: --known "{name}" {reason}\n')


@pytest.mark.usefixtures("package")
def test_a_file_of_known_findings_that_is_missing(call: Call) -> None:
    ran = call("check", "in", "--known", "missing.json")

    assert (ran.code, ran.stderr) == (2, 'error: cannot read --known "missing.json": No such file or directory\n')


def test_several_outputs_at_once(call: Call, package: Path) -> None:
    write(package, {"web/workload.yaml": LOUD})

    ran = call("check", "in", "-o", "text", "-o", "json=out/a.json", "-o", "junit=b.xml", "-o", "sarif=c.sarif")

    assert (ran.code, ran.stdout) == (0, call("check", "in").stdout)
    assert [each["rule"] for each in json.loads(text_of(package.parent / "out/a.json"))] == NAMES
    assert text_of(package.parent / "b.xml") == call("check", "in", "-o", "junit").stdout
    assert text_of(package.parent / "c.sarif") == call("check", "in", "-o", "sarif").stdout


def test_an_output_that_cannot_be_written_is_an_error_and_the_others_are_written(call: Call, package: Path) -> None:
    ran = call("check", "in", "-o", "json=in", "-o", "junit=in/topology.yaml/a.xml", "-o", "sarif=c.sarif")

    assert ran.code == 1
    assert [line.partition(": cannot")[0] for line in ran.messages.splitlines()] == [
        "error: in",
        "error: in/topology.yaml/a.xml",
    ]
    assert text_of(package.parent / "c.sarif") != ""
    assert (package / "topology.yaml").read_text(encoding="utf-8") == CONFIG


def test_findings_of_one_form_are_grouped_for_people_alone(call: Call, package: Path) -> None:
    many = {f"w{number}.yaml": LOUD.replace("name: web", f"name: w{number}") for number in range(9)}
    write(package, many)

    ran = call("check", "in", "--select", "queue-missing")
    rendered = call("render", "in")

    lines = [line for line in ran.stdout.splitlines() if line.startswith("warning")]
    assert [line.partition(" ")[2].partition(":")[0] for line in lines[:3]] == [
        "in/w0.yaml",
        "in/w1.yaml",
        "in/w2.yaml",
    ]
    assert lines[3:] == ["warning: … and 6 more [queue-missing]; -v lists them"]
    assert ran.closing == f"9 warnings in 12 files{CHOSEN}".replace("1 workload", "10 workloads")
    assert len(listed(call, "--select", "queue-missing")) == 9
    assert call("check", "in", "--select", "queue-missing", "-v").stdout.count("warning:") == 9
    assert rendered.messages.count("\n") == 12
    assert call("render", "in", "-v").messages.count("\n") == 27


def test_all_findings_are_listed_by_severity_and_rule_and_counted_by_rule_at_the_end(call: Call, package: Path) -> None:
    # The info is in the first file, between two warnings of other rules.
    redundant = WORKLOAD.replace(
        "    - name: router\n", "    - name: router\n      topologyConstraint: {packDomain: rack}\n"
    )
    files = {f"w{number}.yaml": LOUD.replace("name: web", f"name: w{number}") for number in range(3)}
    broken = WORKLOAD.replace("minAvailable: 2", "minAvailable: 9")
    write(package, {**files, "a.yaml": redundant.replace("name: web", "name: a"), "values.yaml": "a: 1\n"})
    write(package, {"web/workload.yaml": broken})

    ran = call("check", "in", "-v")

    lines = ran.stdout.splitlines()
    heads = [line for line in lines if line.startswith(("error: ", "warning: ", "info: "))]
    assert [(line.split(":")[0], line.split(":")[1], line.rpartition("[")[2]) for line in heads] == [
        ("error", " in/web/workload.yaml", "clique-min-available-max]"),
        *[("warning", f" in/w{number}.yaml", f"{rule}]") for rule in NAMES for number in range(3)],
        ("info", " in/a.yaml", "constraint-redundant]"),
    ]
    # The lines of the file are shown for the first finding of each form.
    assert sum("| " in line and "^" in line for line in lines) == 1 + len(NAMES) + 1
    assert ran.messages.splitlines() == [
        "note: without --baseline (as in --baseline git:main) the rules for updates are not checked",
        "skipped: in/values.yaml: values file",
        "by rule: 1 clique-min-available-max (error); 3 namespace-missing, 3 pod-restart-policy, 3 queue-missing "
        "(warnings); 1 constraint-redundant (info)",
    ]


def test_one_error_of_a_field_is_shown_and_the_others_are_counted(call: Call, package: Path) -> None:
    write(package, {"web/workload.yaml": WORKLOAD.replace("packDomain: rack", "packDomain: ''")})

    ran = call("check", "in")

    assert [line.rpartition(" ")[2] for line in ran.stdout.splitlines() if line.startswith("error")] == [
        "[topology-domain-required]"
    ]
    assert ran.closing == f"1 error (and 1 about the same fields) in 3 files{CHOSEN}"
    assert len(listed(call)) == 2
    assert call("check", "in", "-v").stdout.count("\nerror:") == 1


QUIET = {
    "nothing is applied": ("  apply: false\n", ["namespace-missing info", "autoscaler-moves-gangs info"]),
    "Flux applies the workload": (
        "  apply: false\n  gitops: [flux]\n",
        ["namespace-missing warning", "autoscaler-moves-gangs info"],
    ),
    "everything is applied": ("", ["namespace-missing warning", "autoscaler-moves-gangs warning"]),
}


@pytest.mark.parametrize("name", QUIET)
def test_what_asks_for_nothing_is_an_info(name: str, call: Call, package: Path) -> None:
    setting, expected = QUIET[name]
    groups = """\
    podCliqueScalingGroups:
    - name: g
      cliqueNames: [router]
      replicas: 1
      scaleConfig: {maxReplicas: 8, metrics: [{type: Resource, resource: {name: cpu, target: {type: Utilization}}}]}
"""
    workload = WORKLOAD.replace("  namespace: shop\n", "") + groups
    write(package, {"web/workload.yaml": workload, "topology.yaml": CONFIG + setting})

    assert listed(call) == expected


def test_entries_of_a_list_have_the_comments_of_its_text(call: Call, package: Path) -> None:
    (package / "web/workload.yaml").unlink()
    comment = "restartPolicy: Never # packwise: ignore[pod-restart-policy] until March"
    entries = [LOUD.replace("name: web", f"name: w{number}").partition("\n")[2] for number in range(2)]
    entries[1] = entries[1].replace("restartPolicy: Never", comment)
    text = "".join(
        "".join(f"{'  ' if line else '- '}{part}\n" for line, part in enumerate(entry.splitlines()))
        for entry in entries
    )
    write(package, {"list.yaml": f"apiVersion: config.kubernetes.io/v1\nkind: ResourceList\nitems:\n{text}"})

    selected = ("--config", "in/topology.yaml", "--select", "pod-restart-policy,ignore-unused", "-o", "json")
    ran = call("check", "in/list.yaml", *selected)
    assert [finding["rule"] for finding in ran.findings] == ["pod-restart-policy"]
