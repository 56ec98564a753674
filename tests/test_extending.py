"""docs/how-to/extend.md, followed on a copy of the source: a rule, setting, command, format, workload, scheduler,
release.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from packwise.revisions import grove
from packwise.revisions.grove import RECORDS
from tests.places import ROOT

pytestmark = pytest.mark.slow

NEWEST = RECORDS[-1]
NEWEST_ENTRY = (
    Path(grove.__file__).read_text("utf-8").partition("\nRECORDS: ")[2].partition("\n)\n")[0].splitlines()[-1]
)
"""The line with the newest record: a constant, or a record that no other code names."""

CONFIGURATION = """\
apiVersion: packwise.dev/v1alpha1
kind: TopologyRender
metadata: {name: topology}
spec:
  revision: REVISION
  topologyAwareScheduling:
    enabled: true
    levels: [{domain: rack, key: example.com/rack}, {domain: host, key: kubernetes.io/hostname}]
  scheduler: {profiles: [{name: kai-scheduler, default: true}]}
---
apiVersion: grove.io/v1alpha1
kind: PodCliqueSet
metadata: {name: llm, namespace: team-a, labels: {kai.scheduler/queue: gpus}}
spec:
  replicas: 1
  template:
    cliques:
    - name: worker
      spec:
        roleName: worker
        replicas: 1
        podSpec: {containers: [{name: c, image: i}]}
        autoScalingConfig: {minReplicas: 1, maxReplicas: 5000}
"""


MODERN = """\
apiVersion: packwise.dev/v1alpha1
kind: TopologyRender
metadata: {name: topology}
spec:
  revision: REVISION
  apply: false
  topologyAwareScheduling: {enabled: true}
  scheduler: {profiles: [{name: kai-scheduler, default: true}]}
""" + CONFIGURATION[CONFIGURATION.index("---") :]


@pytest.fixture
def source(tmp_path: Path) -> Path:
    """Return a copy of the two import packages for edits.

    Their bytecode is copied too, with the times of the sources.
    """
    ignore = shutil.ignore_patterns("*.dist-info")
    shutil.copytree(ROOT / "fn", tmp_path / "fn", ignore=ignore)
    return tmp_path / "fn"


def edit(file: Path, before: str, after: str) -> None:
    text = file.read_text(encoding="utf-8")
    assert text.count(before) == 1, before
    file.write_text(text.replace(before, after), encoding="utf-8")


def append(file: Path, start: str, entry: str) -> None:
    """Add an entry at the end of the tuple that begins with the line `start`."""
    before, line, after = file.read_text(encoding="utf-8").partition(f"\n{start}\n")
    entries, end, rest = after.partition("\n)\n")
    assert end, start
    file.write_text(f"{before}{line}{entries}\n    {entry}{end}{rest}", encoding="utf-8")


def run(
    source: Path, revision: str, *words: str, text: str = CONFIGURATION, program: Sequence[str] = ("-m", "packwise")
) -> subprocess.CompletedProcess[str]:
    """Run packwise, or another program, with the code of `source`. Its stdin is a workload with its configuration."""
    return subprocess.run(
        [sys.executable, *program, *words],
        input=text.replace("REVISION", revision),
        capture_output=True,
        text=True,
        check=False,
        cwd=source.parent,
        env={**os.environ, "PYTHONPATH": str(source)},
    )


CAP = """

def _cap(scaled: _Scaled, _context: Context) -> Iterator[Problem]:
    most = scaled.scaling.max_replicas
    if most > 1000:
        path = scaled.at.path("spec", "autoScalingConfig", "maxReplicas")
        yield Problem(path, f'must be at most 1000; got "{most}"')


AUTOSCALING = (
"""
CAPPED = 'maxReplicas: must be at most 1000; got "5000" [autoscaling-cap]'


def add_rule(source: Path, releases: str = "") -> None:
    """Add the rule autoscaling-cap for all releases, or for the `releases` (since, until)."""
    cliques = source / "packwise" / "frontends" / "grove" / "rules" / "cliques.py"
    row = '        Check(Rule("autoscaling-max-replicas",'
    rule = f'Check(Rule("autoscaling-cap", "maxReplicas is bounded.", "this test"), _cap{releases}),'
    edit(cliques, "\n\nAUTOSCALING = (\n", CAP)
    edit(cliques, row, f"        {rule}\n{row}")
    edit(cliques, "\nfrom packwise.findings import ", "\nfrom packwise.findings import Problem, ")


def test_a_rule_is_a_row_of_its_table_and_an_explanation(source: Path) -> None:
    add_rule(source)
    explanations = source / "packwise" / "frontends" / "grove" / "rules" / "explanations"
    (explanations / "autoscaling-cap.yaml").write_text("why: Clusters end.\nfix: Lower maxReplicas.\n", "utf-8")

    checked = run(source, "grep-244-multi", "check", "-")
    explained = run(source, "grep-244-multi", "rules", "autoscaling-cap")

    assert checked.returncode == 1
    assert CAPPED in checked.stdout
    assert "Clusters end." in explained.stdout


@pytest.mark.parametrize(("releases", "have_it"), [
    (', since=ALPHA_8', [False, True, True]),
    (', until=ALPHA_9', [True, True, False]),
    (', since=ALPHA_8, until=ALPHA_9', [False, True, False]),
])  # fmt: skip
def test_a_rule_says_since_and_until_when_releases_have_it(source: Path, releases: str, have_it: list[bool]) -> None:
    add_rule(source, releases)

    checked = [run(source, f"v0.1.0-alpha.{number}", "check", "-").stdout for number in (7, 8, 9)]

    assert [CAPPED in text for text in checked] == have_it


READ = """
import sys
from krmfn import KubeObject
from packwise.settings.topologyrender import load

print(load(KubeObject.parse(sys.stdin.read())).is_quiet)
"""


def test_a_setting_is_a_field_of_a_record_and_of_the_table(source: Path) -> None:
    settings = source / "packwise" / "settings" / "topologyrender.py"
    edit(settings, "    annotate: bool = True\n", "    annotate: bool = True\n    is_quiet: bool = False\n")
    edit(
        settings,
        '        "annotate": _flag(',
        '        "isQuiet": _flag("Whether it is quiet.", False),\n        "annotate": _flag(',
    )
    quiet = CONFIGURATION.replace("spec:\n", "spec:\n  isQuiet: FLAG\n", 1)

    taken = run(source, "grep-244-multi", program=["-c", READ], text=quiet.replace("FLAG", "true").partition("---")[0])
    refused = run(source, "grep-244-multi", "check", "-", text=quiet.replace("FLAG", "7"))
    schema = run(source, "", "schema", "TopologyRender")

    assert taken.stdout == "True\n"
    assert "spec.isQuiet: must be true or false; got 7" in refused.stdout
    assert "Whether it is quiet." in schema.stdout


HELLO = """
from krmfn.hints import Record
from packwise.answer import Answer, Text
from packwise.cli.arguments import Command
from packwise.cli.deliver import deliver


class Hello(Record):
    name: str


def _add_arguments(parser):
    parser.add_argument("name")


def _read(parsed):
    return Hello(parsed.name)


def hello(command):
    return deliver(Answer((Text((f"hello {command.name}\\n",)),)))


COMMAND = Command("Greets.", "examples:\\n  packwise hello west", _add_arguments, _read, hello)
"""


def test_a_command_is_a_module_and_a_line(source: Path) -> None:
    packwise = source / "packwise"
    (packwise / "commands" / "hello.py").write_text(HELLO, encoding="utf-8")
    edit(
        packwise / "cli" / "command_line.py",
        "COMMANDS = {\n",
        'COMMANDS = {\n    "hello": CommandEntry("packwise.commands.hello", "greet"),\n',
    )

    greeted = run(source, "", "hello", "west")
    listed = run(source, "", "help")
    explained = run(source, "", "help", "hello")
    misspelt = run(source, "", "helo")

    assert (greeted.returncode, greeted.stdout) == (0, "hello west\n")
    assert "greet" in listed.stdout
    assert "packwise hello west" in explained.stdout
    assert 'did you mean "hello"' in misspelt.stderr


AS_RULES = """\
def as_rules(checked: Checked) -> str:
    return "".join([f"{each.tags['rule']}\\n" for each in checked.results])


def as_markdown("""


def test_a_format_is_a_name_and_a_function(source: Path) -> None:
    check = source / "packwise" / "check"
    edit(check / "options.py", '"junit", "markdown"]\n', '"junit", "markdown", "rules"]\n')
    edit(check / "options.py", '"junit", "markdown")\n', '"junit", "markdown", "rules")\n')
    edit(check / "formats.py", "def as_markdown(", AS_RULES)
    edit(
        check / "formats.py", '    "markdown": as_markdown,\n', '    "markdown": as_markdown,\n    "rules": as_rules,\n'
    )
    wrong = CONFIGURATION.replace("replicas: 1\n        podSpec", "replicas: 0\n        podSpec")

    printed = run(source, "grep-244-multi", "check", "-", "-o", "rules", text=wrong)
    unknown = run(source, "", "check", "-", "-o", "rule")

    assert "clique-min-available\n" in printed.stdout
    assert "markdown, rules" in unknown.stderr


def test_a_release_is_a_record(source: Path) -> None:
    records = source / "packwise" / "revisions" / "grove.py"
    record = 'NEXT = GREP_244.replace(name="v9.9.9", releases=(), chosen_by_key=False, always_preferred=True)\n\n'
    edit(records, "RECORDS: tuple[Revision, ...] = (", f"{record}RECORDS: tuple[Revision, ...] = (")
    append(records, "RECORDS: tuple[Revision, ...] = (", "NEXT,")

    before = run(source, "grep-244", "render", "-")
    after = run(source, "v9.9.9", "render", "-")
    unknown = run(source, "v9.9.8", "check", "-")
    newer = run(source, "v9.9.10", "check", "-")

    assert 'is newer than "v9.9.9"' in newer.stdout
    assert (before.returncode, after.returncode, unknown.returncode) == (0, 0, 1)
    assert "preferred:" not in before.stdout
    assert "preferred: kubernetes.io/hostname" in after.stdout
    assert '"v9.9.9"' in unknown.stdout


NEXT = f"""
NEXT = {NEWEST_ENTRY.strip(" ,")}.replace(name="v9.9.9", releases=("v9.9.9",), workload_api="next")

RECORDS: tuple[Revision, ...] = ("""

NEXT_FIELDS = """API_FIELDS: Mapping[str, WorkloadFields] = {
    "next": WorkloadFields(
        "NEWEST_API",
        template={"drain": Field(Number())},
        clique={"surge": Field(Number())},
        clique_spec={"standby": Field(Number())},
        group={"surge": Field(Number())},
    ),
"""


def test_a_release_with_new_fields_is_one_file(source: Path) -> None:
    """The record, its fields and its history are in one file. No other code asks for the release."""
    grove = source / "packwise" / "revisions" / "grove.py"
    edit(grove, NEXT_FIELDS.partition('    "next"')[0], NEXT_FIELDS.replace("NEWEST_API", NEWEST.workload_api))
    edit(grove, "RECORDS: tuple[Revision, ...] = (", NEXT.lstrip())
    append(grove, "RECORDS: tuple[Revision, ...] = (", "NEXT,")
    append(grove, "HISTORY = (", 'Release("v9.9.9", "", ""),')
    good, bad, design = (
        text.replace("        podSpec", f"        standby: {value}\n        podSpec")
        for text, value in ((MODERN, "1"), (MODERN, "much"), (CONFIGURATION, "1"))
    )

    taken = run(source, "v9.9.9", "check", "-", text=good)
    refused = run(source, "v9.9.9", "check", "-", text=bad)
    earlier = run(source, NEWEST.name, "check", "-", text=good)
    designs = run(source, "", "check", "-", text=design.replace("  revision: REVISION\n", ""))
    schema = run(source, "v9.9.9", "schema", "PodCliqueSet", "--revision", "v9.9.9")
    changed = [
        path.relative_to(source).as_posix()
        for path in source.rglob("*.py")
        if path.read_bytes() != (ROOT / "fn" / path.relative_to(source)).read_bytes()
    ]

    assert changed == ["packwise/revisions/grove.py"]
    assert taken.returncode == 0, taken.stdout
    assert "cliques[0].spec.standby: must be" in refused.stdout
    assert 'standby: unknown field "standby" of' in earlier.stdout
    assert "standby: only v9.9.9 and later releases have this field" in designs.stdout
    assert all(f'"{name}"' in schema.stdout for name in ("drain", "surge", "standby"))


MEGA_JOB = """\
apiVersion: packwise.dev/v1alpha1
kind: TopologyRender
metadata: {name: topology}
spec:
  revision: v0.1.0-alpha.13
  apply: false
  emit: [PodGroup]
  topologyAwareScheduling: {enabled: true}
---
apiVersion: example.com/v1
kind: MegaJob
metadata:
  name: train
  namespace: team-a
  labels: {kueue.x-k8s.io/queue-name: lq}
  annotations: {kueue.x-k8s.io/podset-required-topology: example.com/rack}
spec:
  template:
    metadata:
      annotations: {kai.scheduler/topology: cluster, kueue.x-k8s.io/podset-slice-size: many}
    spec: {schedulerName: kai-scheduler, containers: [{name: main, image: main}]}
"""


def test_a_kind_of_workload_is_a_row_for_kai_and_for_kueue(source: Path) -> None:
    edit(
        source / "packwise" / "objects" / "workload_kinds.py",
        "_KINDS = (\n",
        '_KINDS = (\n    _kind_with_template("example.com", "MegaJob", ("v1",), integration=Integration.JOB),\n',
    )

    checked = run(source, "", "check", "-", text=MEGA_JOB)
    rendered = run(source, "", "render", "-", text=MEGA_JOB.replace("kueue.x-k8s.io/podset-slice-size: many", ""))

    rules = [line.rpartition("[")[2].rstrip("]") for line in checked.stdout.splitlines() if "MegaJob" in line]
    assert rules == [
        "workload-ignored", "kueue-key", "key-place", "kueue-refused", "kueue-refused", "kueue-scheduler",
    ]  # fmt: skip
    assert "name: pg-train-uid-megajob-train" in rendered.stdout


def test_a_scheduler_stands_where_the_page_says() -> None:
    """Only Kueue's folder and the modules on the page name Kueue. In other modules, only sources do."""
    page = (ROOT / "docs" / "how-to" / "extend.md").read_text(encoding="utf-8")
    sections = [section for section in page.split("\n## ") if section.startswith(("A scheduler", "A kind of workload"))]
    places = tuple(re.findall(r"`([a-z_/]+\.py)`", "".join(sections)))

    modules = {
        path.relative_to(ROOT / "fn" / "packwise").as_posix()
        for path in (ROOT / "fn" / "packwise").rglob("*.py")
        if "kueue" in path.read_text(encoding="utf-8").replace("spec/kueue.md", "").casefold()
    }

    assert len(sections) == 2
    elsewhere = [module for module in modules if not module.startswith("schedulers/kueue/")]
    assert [module for module in elsewhere if not module.endswith(places)] == []


CREW = """
from packwise.objects.index import Generated
from packwise.objects.kinds import CREW
from packwise.placement import Gang, gang_kinds
from packwise.schedulers import SchedulerObjects


class Crews:
    def objects(self, source):
        return SchedulerObjects(
            tuple(
                Generated(manifest(gang), placement.source, placement.subject, gang.origins)
                for placement in source.placements
                if isinstance(gang := placement.node, Gang) and CREW in gang_kinds(gang)
            )
        )

    def fix(self, item, cluster, settings):
        return item

    def migrate(self, item):
        return item


def manifest(gang):
    metadata = {"name": gang.name, "namespace": gang.namespace, "labels": gang.labels}
    parts = [{"name": pods.name, "pods": pods.members, "within": within(pods.bounds)} for pods in gang.leaves]
    return {"apiVersion": CREW.api_version, "kind": CREW.name, "metadata": metadata, "spec": {"parts": parts}}


def within(bounds):
    return {"labels": [] if bounds.required is None else [{"key": bounds.required.key}]}
"""
CREW_ROW = """CREW = Kind(
    "example.com",
    "Crew",
    "v1",
    write_order=5,
    gang=GangFields(9, pod_lists=("parts",), constraint="within", required=("labels", 0, "key")),
)

KINDS = (
    CREW,
"""
CREW_ENTRY = """def _crews() -> Scheduler:
    from packwise.schedulers.crew import Crews

    return Crews()


SCHEDULERS: tuple[SchedulerEntry, ...] = (
    SchedulerEntry(_crews, tuple),
"""
NODE = """\
apiVersion: v1
kind: Node
metadata: {name: a, labels: {example.com/rack: r, kubernetes.io/hostname: a}}
status: {allocatable: {cpu: "8", memory: 64Gi, pods: "10"}, conditions: [{type: Ready, status: "True"}]}
"""


def test_a_scheduler_is_a_module_and_the_row_of_its_kind(source: Path) -> None:
    """Its gangs are compared, explained, placed and drawn, although no command is edited."""
    packwise = source / "packwise"
    (packwise / "schedulers" / "crew.py").write_text(CREW, encoding="utf-8")
    edit(packwise / "objects" / "kinds.py", "KINDS = (\n", CREW_ROW)
    edit(packwise / "pipeline" / "registry.py", "SCHEDULERS: tuple[SchedulerEntry, ...] = (\n", CREW_ENTRY)
    edit(
        packwise / "settings" / "topologyrender.py",
        '"PodCliqueSet", "KueueTopology",\n',
        '"PodCliqueSet", "KueueTopology", "Crew",\n',
    )
    changed = [
        path.relative_to(packwise).as_posix()
        for path in sorted(packwise.rglob("*.py"))
        if not (old := ROOT / "fn" / path.relative_to(source)).exists() or path.read_bytes() != old.read_bytes()
    ]
    packed = CONFIGURATION.replace(
        "    - name: worker\n", "    - name: worker\n      topologyConstraint: {packDomain: rack}\n"
    )
    packed = packed.replace("REVISION", "grep-244-multi")
    written = packed.replace("spec:\n", "spec:\n  emit: [Crew]\n", 1)
    for name, text in (("before", written), ("after", written.replace("enabled: true", "enabled: false"))):
        (source.parent / name).mkdir()
        (source.parent / name / "all.yaml").write_text(text, encoding="utf-8")
    (source.parent / "nodes.yaml").write_text(NODE, encoding="utf-8")

    changes = run(source, "", "diff", "before", "after")
    missing = run(source, "", "explain", "-", text=packed)
    explained = run(source, "", "explain", "Crew/team-a/llm-0", "before")
    placed = run(source, "", "place", "before", "--nodes", "nodes.yaml")
    drawn = run(source, "", "report", "before", "--nodes", "nodes.yaml", "-o", "mermaid")

    assert changed == ["objects/kinds.py", "pipeline/registry.py", "schedulers/crew.py", "settings/topologyrender.py"]
    assert changes.stdout.startswith("Crew\n  ~ team-a/llm-0\n"), changes.stdout
    assert "lost: required example.com/rack of parts[llm-0-worker]: topology-aware scheduling is d" in changes.stdout
    assert "spec.emit has no Crew; the scheduler makes it in the cluster from the PodGang" in missing.stdout
    assert "example.com/rack" in explained.stdout.partition("Crew team-a/llm-0")[2]
    assert "team-a/llm-0 (queue gpus): fits" in placed.stdout
    assert "team-a/llm-0: ✓ fits in r/a" in drawn.stdout
