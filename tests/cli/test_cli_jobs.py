"""A folder that several processes check or render: every byte as of one process."""

from __future__ import annotations

import io
import sys
from collections.abc import Callable, Iterator
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from unittest.mock import patch

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from benchmarks.workloads import configuration
from benchmarks.workloads import workload as large_workload
from packwise.cli import check_apart, main, render_apart
from packwise.cli.groups import Group
from packwise.cli.input_paths import InputPath
from packwise.cli.shares import shares_of, slices_of
from packwise.cli.unread import Unread, looks_plain
from packwise.pipeline import portions
from packwise.select import Package
from tests.cli.calling import CONFIG, SERVICE, WORKLOAD, listing
from tests.cli.test_cli_crds import WORKLOADS

WORDS = (
    ("check",),
    ("check", "-v", "-o", "json"),
    ("check", "-q", "-o", "sarif"),
    ("render",),
    ("render", "-v"),
)
LEAST = 2
"""How many files are divided here; otherwise the cases would have hundreds."""


def workload(name: str, namespace: str = "shop", domain: str = "rack", **changed: str) -> str:
    text = WORKLOAD.replace("name: web # short", f"name: {name}").replace("namespace: shop", f"namespace: {namespace}")
    text = text.replace("packDomain: rack", f"packDomain: {domain}")
    for old, new in changed.items():
        text = text.replace(f"{old}:", f"{new}:")
    return text


def ran(words: tuple[str, ...]) -> tuple[int, bytes, bytes]:
    out, err = io.BytesIO(), io.BytesIO()
    with redirect_stdout(io.TextIOWrapper(out)), redirect_stderr(io.TextIOWrapper(err)):
        code = main(words)
        return code, out.getvalue(), err.getvalue()


def one_by_one(work: Callable[[Any], Any], inputs: list[Any]) -> list[Any] | None:
    """What processes would answer, computed in this one."""
    given = [work(each) for each in inputs]
    return None if None in given else given


class Shared:
    """Whether the work on a folder was divided to its end."""

    def __init__(self, *, forks: bool = False) -> None:
        self.done = False
        self._forks = forks

    def run(self, words: tuple[str, ...], jobs: int) -> tuple[int, bytes, bytes]:
        """A run of so many processes."""
        self.done = False
        patches = [
            patch(f"packwise.cli.{name}", value)
            for name, value in {
                "check.LEAST": LEAST,
                "render.LEAST": LEAST,
                "render_folder.LEAST": LEAST,
                "check_apart.judged_apart": self._watched(check_apart.judged_apart),
                "render_apart.rendered_apart": self._watched(render_apart.rendered_apart),
                "render_folder.rendered_apart": self._watched(render_apart.rendered_apart),
                **({} if self._forks else {"check_apart.answers": one_by_one, "render_apart.answers": one_by_one}),
            }.items()
        ]
        for each in patches:
            each.start()
        try:
            return ran((*words, "--jobs", str(jobs)))
        finally:
            for each in patches:
                each.stop()

    def _watched(self, work: Callable[..., Any]) -> Callable[..., Any]:
        def watched(*arguments: Any, **options: Any) -> Any:
            answer = work(*arguments, **options)
            self.done = answer is not None
            return answer

        return watched


FEW = {
    "topology.yaml": CONFIG,
    "a/one.yaml": workload("one"),
    "a/two.yaml": workload("two", domain="zone"),
    "b/three.yaml": workload("three", "bar"),
    "four.yaml": workload("four", "bar"),
}
OTHER = CONFIG.replace("rack", "row")

CASES = {
    "workloads": FEW,
    "errors": {**FEW, "c.yaml": workload("c", domain="planet"), "d.yaml": workload("d", replicas="copies")},
    "a warning on each": {name: text.replace("namespace: shop", "namespace:") for name, text in FEW.items()},
    "several documents in a file": {**FEW, "m.yaml": f"{workload('m')}---\n{workload('n')}---\n# The end.\n"},
    "other objects": {**FEW, "service.yaml": SERVICE, "b/none.yaml": "a: 1\n", "b/Chart.yaml": "name: b\n"},
    "a file that is no YAML": {**FEW, "a/broken.yaml": workload("broken") + "]\n"},
    "a document that is no YAML": {**FEW, "a/broken.yaml": f"{workload('whole')}---\n{workload('broken')}]\n"},
    "a file that is no text": {**FEW, "a/broken.yaml": workload("broken\udcff")},
    "marks, comments and line ends": {
        **FEW,
        "a/0.yaml": "\ufeff" + workload("bom"),
        "a/1.yaml": "---\n" + workload("marker").rstrip("\n"),
        "a/2.yaml": "# A comment.\n\n---\n" + workload("comment") + "...\n",
        "a/3.yaml": "%YAML 1.2\n---\n" + workload("directive"),
        "z.yaml": "# Nothing.\n",
    },
    "evidence of a later release": {
        **FEW,
        "a/x.yaml": workload("x").replace("{packDomain: rack}", "{topologyName: t, packDomain: rack}"),
        "b/y.yaml": workload("y").replace("{packDomain: rack}", "{pack: {required: rack}}"),
        "b/z.yaml": workload("z").replace("{packDomain: rack}", "{pack: {required: zone}}"),
    },
    "a release that something deploys": {
        **FEW,
        "grove.yaml": "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: grove}\n"
        "spec: {template: {spec: {containers: [{name: a, image: 'example.com/grove:v0.1.0-alpha.12'}]}}}\n",
    },
    "a file that a configuration excludes": {**FEW, "topology.yaml": CONFIG + "  exclude: [a/]\n"},
    "two clusters": {
        **{f"x/{name}": text for name, text in FEW.items()},
        **{f"y/{name}": text for name, text in FEW.items()},
        "y/topology.yaml": OTHER,
    },
    "two clusters, and workloads below none": {
        "x/topology.yaml": CONFIG,
        "y/topology.yaml": OTHER,
        "y/w.yaml": workload("w"),
        "v.yaml": workload("v"),
        "z/w.yaml": workload("w"),
    },
    "settings": {**FEW, "topology.yaml": CONFIG + "  gitops: [flux]\n  emit: [PodGang, PodGroup, Topology]\n"},
}  # fmt: skip

WHOLE = {
    "a file of which nothing can be read, alone in its folder": {**FEW, "c/broken.yaml": workload("broken") + "]\n"},
    "a workload that looks like one and is none": {**FEW, "c.yaml": workload("c").replace("grove.io", "grove.example")},
    "an encrypted file": {**FEW, "c.yaml": workload("c") + "sops: {mac: a}\n"},
}
"""What is read anew, since the look at the bytes was wrong."""

UNDIVIDED = {
    "a workload twice": {**FEW, "c/one.yaml": workload("one")},
    "no configuration": {name: text for name, text in FEW.items() if name != "topology.yaml"},
    "a configuration that means nothing": {**FEW, "topology.yaml": CONFIG + "  gitops: flux\n"},
    "a comment that ignores": {
        **FEW,
        "c.yaml": workload("c").replace("replicas: 1\n", "replicas: 1 # packwise: ignore[x] y\n"),
    },
    "a Queue": {**FEW, "queue.yaml": "apiVersion: scheduling.run.ai/v2\nkind: Queue\nmetadata: {name: q}\nspec: {}\n"},
    "rules": {**FEW, "topology.yaml": CONFIG + "  rules: {ignore: [namespace-missing]}\n"},
    "a release with PodGangMaps": {**FEW, "topology.yaml": CONFIG + "  revision: v0.1.0-alpha.14\n"},
    "a limit that all together exceed": {**FEW, "topology.yaml": CONFIG + "  limits: {gangs: 3}\n"},
    "two configurations of one cluster": {**FEW, "more.yaml": CONFIG.replace("name: topology", "name: other")},
}  # fmt: skip
"""What is about several workloads."""


@pytest.fixture(autouse=True, scope="module")
def small_portions() -> Iterator[None]:
    """Makes several portions of few workloads."""
    with patch.object(portions, "_SIZE", 2):
        yield


def written(folder: Path, files: dict[str, str]) -> None:
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text.encode("utf-8", "surrogateescape"))


@pytest.mark.parametrize("jobs", [2, 3, 8])
@pytest.mark.parametrize("words", WORDS, ids=" ".join)
@pytest.mark.parametrize("case", CASES)
def test_shares_give_the_bytes_of_one_process(
    case: str, words: tuple[str, ...], jobs: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    written(tmp_path / "in", CASES[case])
    apart = Shared()

    assert apart.run((*words, "in"), jobs) == ran((*words, "in", "--jobs", "1"))
    assert apart.done or (words[0] == "render" and ("no YAML" in case or "no text" in case or "clusters" in case))


@pytest.mark.parametrize("words", [("-o", "out"), ("--in-place",)], ids=" ".join)
@pytest.mark.parametrize("case", [*CASES, *WHOLE, *UNDIVIDED])
def test_folders_are_written_with_the_same_bytes(
    case: str, words: tuple[str, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    answers: list[tuple[tuple[int, bytes, bytes], tuple[int, bytes, bytes], str]] = []
    for jobs in (1, 2):
        folder = tmp_path / str(jobs)
        written(folder / "in", (CASES | WHOLE | UNDIVIDED)[case])
        monkeypatch.chdir(folder)
        run, again = [Shared().run(("render", "in", *words, *more), jobs) for more in ((), ("--check",))]
        answers.append((run, again, listing(folder) if "no text" not in case else ""))

    assert answers[0] == answers[1]
    assert answers[0][1][0] == answers[0][0][0]


def test_a_file_where_a_new_object_goes_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    files = {"packwise/workloads/shop/podgang-one-0.yaml": workload("other")}
    written(tmp_path / "in", FEW | files)
    apart = Shared()

    run = apart.run(("render", "in", "-o", "out"), 2)

    assert run == ran(("render", "in", "-o", "out", "--jobs", "1"))
    assert b"must not be where packwise writes PodGang shop/one-0" in run[2]
    assert apart.done


@pytest.mark.parametrize("words", WORDS, ids=" ".join)
@pytest.mark.parametrize("case", [*WHOLE, *UNDIVIDED])
def test_what_cannot_be_shared_is_done_by_one_process(
    case: str, words: tuple[str, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    written(tmp_path / "in", (WHOLE | UNDIVIDED)[case])
    apart = Shared()

    assert apart.run((*words, "in"), 2) == ran((*words, "in", "--jobs", "1"))
    # A check shares the reading, and renders such a group whole.
    assert apart.done == (words[0] == "check" and case in UNDIVIDED)


OPTIONS = {
    "named files": ("in/a/one.yaml", "in/a/two.yaml", "in/b/three.yaml", "in/topology.yaml"),
    "a file and its folder": ("in/a/one.yaml", "in"),
    "a configuration": ("in/a", "in/b", "--config", "in/topology.yaml"),
    "a configuration above": ("in/a",),
    "an exclusion": ("in", "--exclude", "b"),
    "a baseline": ("in", "--baseline", "before"),
    "CRDs": ("in", "--crds", "crds"),
}


@pytest.mark.parametrize("command", ["check", "render"])
@pytest.mark.parametrize("case", OPTIONS)
def test_options_mean_the_same(case: str, command: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / ".git").mkdir()
    written(tmp_path / "in", FEW)
    written(tmp_path / "before", {"a/one.yaml": workload("one", domain="zone")})
    written(tmp_path / "crds", {"workloads.yaml": WORKLOADS})
    apart = Shared()

    assert apart.run((command, *OPTIONS[case]), 2) == ran((command, *OPTIONS[case], "--jobs", "1"))
    assert apart.done == (case not in ("a baseline",))


def test_stdin_is_read_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    written(tmp_path / "in", FEW)
    answers: list[tuple[int, bytes, bytes]] = []
    for jobs in (1, 2):
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(workload("five").encode())))
        answers.append(Shared().run(("check", "in", "-"), jobs))

    assert answers[0] == answers[1]
    assert b"5 workloads judged" in answers[0][2]


@pytest.mark.parametrize("command", ["check", "render"])
@pytest.mark.parametrize("jobs", [2, 3])
def test_processes_give_the_bytes_of_one(
    jobs: int, command: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    texts = [large_workload(number) for number in range(24)]
    texts[7] = texts[7].replace("packDomain: zone", "packDomain: host") if command == "check" else texts[7]
    written(tmp_path / "in", {f"{number}.yaml": text for number, text in enumerate(texts)})
    written(tmp_path / "in", {"topology.yaml": configuration()})
    apart = Shared(forks=True)

    assert apart.run((command, "in"), jobs) == ran((command, "in", "--jobs", "1"))
    assert apart.done


NAMES = st.sampled_from(["a.yaml", "b.yaml", "x/a.yaml", "x/b.yaml", "y/a.yaml", "y/b.yml", "y/z/c.yaml", "y/z/d.yaml"])
TEXTS = st.one_of(
    st.builds(
        workload,
        st.sampled_from("abcdefghi"),
        st.sampled_from("st"),
        st.sampled_from(["zone", "rack", "host", "planet"]),
    ),
    st.lists(st.builds(workload, st.sampled_from("jklmn")), min_size=2, max_size=2).map("---\n".join),
    st.sampled_from([SERVICE, CONFIG, OTHER, CASES["a file that is no YAML"]["a/broken.yaml"]]),
)
CONFIGURATIONS = st.sampled_from([
    CONFIG,
    OTHER,
    "",
    CONFIG + "  gitops: [argocd, flux]\n",
    CONFIG + "  apply: false\n",
    CONFIG + "  revision: v0.1.0-alpha.7\n",
    CONFIG + "  emit: [PodGang, PodGroup, Topology]\n",
    CONFIG + "  limits: {gangs: 4}\n",
    CONFIG.replace("enabled: true", "enabled: false"),
])  # fmt: skip


@settings(max_examples=150)
@given(st.dictionaries(NAMES, TEXTS, min_size=3), CONFIGURATIONS, st.integers(2, 4))
def test_any_folder_gives_the_same_bytes(files: dict[str, str], config: str, jobs: int) -> None:
    with TemporaryDirectory() as folder:
        written(Path(folder), files | ({"topology.yaml": config} if config else {}))
        for words in (("check", "-v"), ("render",)):
            assert Shared().run((*words, folder), jobs) == ran((*words, folder, "--jobs", "1"))


def group(number: int) -> Group:
    return Group(Package(()), unread=tuple([Unread(InputPath(f"{at}.yaml"), b"") for at in range(number)]))


@pytest.mark.parametrize("processes", [1, 2, 3, 5])
@pytest.mark.parametrize("numbers", [(100,), (1, 1, 98), (50, 0, 50), (0,), (3, 90, 0, 7), (1,) * 30])
@pytest.mark.parametrize("divisible", [True, False])
def test_shares_hold_every_file_once(numbers: tuple[int, ...], divisible: bool, processes: int) -> None:
    groups = [group(number) for number in numbers]

    shares = shares_of(groups, [divisible] * len(groups), processes)

    assert 1 <= len(shares) <= processes
    parts = [part for share in shares for part in share]
    for at, each in enumerate(groups):
        own = [part for part in parts if part.group == at]
        assert tuple(file for part in own for file in part.unread) == each.unread
        assert [part.is_whole for part in own] == [len(own) == 1] * len(own)
        assert divisible or len(own) == 1
    sizes = [sum(len(part.unread) for part in share) for share in shares]
    assert not divisible or max(sizes) <= 1.2 * sum(numbers) / processes + 1


@pytest.mark.parametrize("processes", [1, 2, 3, 5])
@pytest.mark.parametrize("number", [1, 2, 3, 5, 7, 100])
def test_slices_hold_every_file_once(number: int, processes: int) -> None:
    files = group(number).unread

    slices = slices_of(files, processes)

    assert len(slices) <= processes
    assert tuple(file for each in slices for file in each) == files
    assert all(slices)


PLAIN = {
    "kind: PodCliqueSet\n": True,
    "apiVersion: a\nkind: PodCliqueSet\n": True,
    "---\nkind: PodCliqueSet\n---\nkind: PodCliqueSet\n": True,
    "kind: PodCliqueSet\n---\nkind: Service\n": False,
    "kind: PodCliqueSetList\n": False,
    "  kind: PodCliqueSet\n": False,
    "kind: PodCliqueSet # packwise: ignore[x] y\n": False,
    "kind: PodCliqueSet\na: 1 # packwise: ignore[x] y\n": False,
    "": False,
}


@pytest.mark.parametrize("text", PLAIN)
def test_a_look_at_the_bytes(text: str) -> None:
    assert looks_plain(InputPath("a.yaml", "a.yaml"), text.encode()) is PLAIN[text]
    assert not looks_plain(InputPath(), text.encode())
