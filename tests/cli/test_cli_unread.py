"""A check drops objects that no rule reads. Its answer does not change."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from krmfn.yamltext import read as krmfn_read
from krmfn.yamltext.reader import CORE
from packwise.cli.command_line import main
from packwise.inputs.groups import read_groups
from packwise.inputs.paths import InputPath
from packwise.inputs.reader import decode
from packwise.inputs.request import Named
from packwise.inputs.unread import READ_BY_TEXT, is_unread, is_unread_kind
from packwise.objects.index import Index
from tests.cli.calling import WORKLOAD, write
from tests.examples import EXAMPLES
from tests.places import TESTDATA
from tests.test_read_kinds import kinds_in_code

if TYPE_CHECKING:
    from pathlib import Path

    from krmfn.kubeobject import KubeObject
    from krmfn.value import Value

pytestmark = pytest.mark.skipif(CORE is None, reason="without the native core nothing is dropped")

MAP = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata: {a: b}\n"

UNREAD = {
    "a ConfigMap": MAP,
    "a ConfigMap in JSON": '{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}}',
    "a Role": "apiVersion: rbac.authorization.k8s.io/v1\nkind: Role\nmetadata: {name: a}\n",
    "a CRD of another project": (
        "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {name: things.example.com}\n"
        "spec: {group: example.com, names: {kind: Thing}}\n"
    ),
    "a List of these": f"apiVersion: v1\nkind: List\nitems:\n- {MAP.replace(chr(10), chr(10) + '  ').rstrip()}\n",
    "a list of one kind": "apiVersion: v1\nkind: ConfigMapList\nitems:\n- metadata: {name: a}\n- {}\n",
}

READ = {
    "a workload": WORKLOAD,
    "a misspelt kind": "apiVersion: grove.io/v1alpha1\nkind: PodCliqueSt\nmetadata: {name: a}\n",
    "a misspelt group": "apiVersion: gorve.io/v1alpha1\nkind: PodCliqueSet\nmetadata: {name: a}\n",
    "a former kind": "apiVersion: example.io/v1alpha1\nkind: PodGangSet\nmetadata: {name: a}\n",
    "a kind that is no string": "apiVersion: v1\nkind: True\n",
    "no kind": "apiVersion: grove.io/v1alpha1\nmetadata: {name: a}\n",
    "a tag": f"--- !!map\n{MAP}",
    "an anchor": MAP.replace("{a: b}", "&x {a: b}"),
    "the name of a scheduler": MAP.replace("a: b", 'a: "schedulerName: kai"'),
    "a key with escapes": MAP.replace("a: b", '"sch\\u0065dulerName": kai'),
    "a settings file in a ConfigMap": MAP.replace("a: b", "a: 'apiVersion: packwise.dev/v1alpha1'"),
    "a comment for packwise": f"{MAP}# packwise: ignore[unknown-key]\n",
    "a CRD of a known kind": (
        "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {name: a}\n"
        "spec: {group: kai.scheduler, names: {kind: Topology}}\n"
    ),
    "a List with a workload": f"apiVersion: v1\nkind: List\nitems:\n- {MAP.replace(chr(10), chr(10) + '  ').rstrip()}\n"
    "- {apiVersion: batch/v1, kind: Job, metadata: {name: a}}\n",
    "a List within a List": "apiVersion: v1\nkind: List\nitems:\n- {apiVersion: v1, kind: List, items: []}\n",
    "a list of one kind of workloads": "apiVersion: batch/v1\nkind: JobList\nitems:\n- metadata: {name: a}\n",
}


def dropped(text: str) -> int:
    return decode(text.encode(), InputPath("a.yaml", "a.yaml"), is_unread).unread


@pytest.mark.parametrize("title", UNREAD)
def test_an_object_that_no_rule_reads_is_dropped(title: str) -> None:
    assert dropped(UNREAD[title]) == 1


@pytest.mark.parametrize("title", READ)
def test_an_object_that_a_rule_may_read_is_kept(title: str) -> None:
    assert dropped(READ[title]) == 0


def test_a_file_of_dropped_objects_keeps_nothing() -> None:
    file = decode(f"{MAP}---\n{MAP}".encode(), InputPath("a.yaml", "a.yaml"), is_unread)

    assert (file.documents, file.text, file.unread) == ((), "", 2)


def test_a_file_with_other_objects_keeps_its_text() -> None:
    text = f"# first\n{MAP}---\n{MAP}--- # second\n{WORKLOAD}---\n{MAP}"

    file = decode(text.encode(), InputPath("a.yaml", "a.yaml"), is_unread)

    assert (file.text, [item.kind for item in file.items], file.unread) == (text, ["PodCliqueSet"], 3)


def test_a_kind_that_the_code_names_is_read() -> None:
    """If a rule reads a new kind, this fails until `packwise.inputs.unread` has the kind."""
    assert {kind for kind in kinds_in_code() if is_unread_kind(*kind)} == READ_BY_TEXT


PACKAGES = [*EXAMPLES, *sorted(path for path in (TESTDATA / "render").iterdir() if path.is_dir())[::10]]
OTHERS = f"{MAP}---\n{UNREAD['a Role']}---\n{UNREAD['a CRD of another project']}"


@pytest.mark.parametrize("package", PACKAGES, ids=lambda path: path.name)
def test_the_answer_is_the_same_with_every_object(
    package: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    texts = {f"in/{path.relative_to(package)}": path.read_text("utf-8") for path in package.rglob("*.yaml")}
    write(tmp_path, {**texts, "in/others.yaml": OTHERS, "in/list.yaml": UNREAD["a List of these"]})
    monkeypatch.chdir(tmp_path)

    def answer() -> tuple[int, str, str]:
        code = main(("check", "in", "-v"))
        said = capsys.readouterr()
        return code, said.out, said.err

    asked: set[tuple[str, str]] = set()
    of_kind = Index.of_kind

    def noted(index: Index, group: str, kind: str) -> tuple[KubeObject, ...]:
        asked.add((group, kind))
        return of_kind(index, group, kind)

    monkeypatch.setattr(Index, "of_kind", noted)
    without = answer()
    monkeypatch.setattr("packwise.check.run.is_unread", None)

    assert answer() == without
    assert {kind for kind in asked if is_unread_kind(*kind)} <= READ_BY_TEXT


def test_a_neighbour_that_defines_nothing_is_not_built(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    queue = "apiVersion: scheduling.run.ai/v2\nkind: Queue\nmetadata: {name: a}\n"
    deployment = "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: Queue}\n"
    write(tmp_path, {"in.yaml": WORKLOAD, "queue.yaml": f"{queue}---\n{deployment}", "deployment.yaml": deployment})
    monkeypatch.chdir(tmp_path)
    read: list[str] = []

    def noted(text: str) -> Value:
        read.append(text)
        return krmfn_read(text)

    monkeypatch.setattr("packwise.inputs.reader.read", noted)
    checkup = read_groups(Named(("in.yaml",)))

    assert [[item.kind for item in file.items] for file in checkup.around] == [["Queue"]]
    assert read == [WORKLOAD, queue]
