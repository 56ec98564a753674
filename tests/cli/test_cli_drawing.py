"""`packwise report`: gangs on the nodes of a cluster as a page, as SVG and as Mermaid."""

from __future__ import annotations

import base64
import hashlib
import json
import re
import subprocess
import xml.etree.ElementTree as ET
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from packwise.report.drawing import HUES, INK, PALETTE, TINTS
from tests.cli.calling import CONFIG, UNNAMED_CONFIG, WORKLOAD, Call, write
from tests.cli.test_cli_place import GPU_WORKLOAD, RACK, cluster, node, pod
from tests.places import ROOT

Expect = Callable[[str, str], None]

DATA = re.compile(r'<script type="application/json" id="data">(.*?)</script>', re.DOTALL)


def workload(name: str, replicas: int = 1, domain: str = "rack") -> str:
    """Return a workload with gangs of two whole nodes."""
    text = GPU_WORKLOAD.replace("name: web # short", f"name: {name}").replace(
        "replicas: 1\n", f"replicas: {replicas}\n"
    )
    return text.replace("packDomain: rack", f"packDomain: {domain}")


def listed(*nodes: dict[str, Any]) -> str:
    return json.dumps({"kind": "List", "items": nodes})


def data_of(page: str) -> dict[str, Any]:
    """Return the data that the page draws."""
    found = DATA.search(page)
    assert found is not None
    return json.loads(found[1])


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return a package and its baseline.

    Before, `web` and `old` fit. Afterwards, `new` comes first, `old` is removed, and `web` has a second replica.
    """
    before = {"topology.yaml": CONFIG, "web.yaml": workload("web"), "old.yaml": workload("old")}
    after = {"topology.yaml": CONFIG, "web.yaml": workload("web", 2), "a.yaml": workload("new")}
    write(tmp_path, {f"before/{name}": text for name, text in before.items()})
    write(tmp_path, {f"in/{name}": text for name, text in after.items()})
    outside = node("x0", "a", "r9")
    del outside["metadata"]["labels"][RACK]
    outside["spec"]["unschedulable"] = True
    write(tmp_path, {"nodes.json": cluster(node("n4", "a", "r2"), outside, pod("busy", "n4", 3))})
    return tmp_path


@pytest.mark.usefixtures("folder")
def test_a_change_is_drawn_with_both_states(call: Call, folder: Path, assert_expected: Expect) -> None:
    words = ["report", "in", "--nodes", "nodes.json", "--baseline", "before"]

    ran = call(*words, "-o", "out/report.html", "-o", "out/map.svg", "-o", "mermaid")

    assert ran.code == 1
    assert ran.messages.splitlines()[-1] == "2 of 3 gangs fit"
    assert_expected(
        "report/change.json", json.dumps(data_of((folder / "out" / "report.html").read_text()), indent=1) + "\n"
    )
    assert_expected("report/change.svg", (folder / "out" / "map.svg").read_text(encoding="utf-8"))
    assert_expected("report/change.mmd", ran.stdout)


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize("kind", ["html", "svg", "mermaid"])
def test_the_same_input_gives_the_same_bytes(call: Call, kind: str) -> None:
    words = ["report", "in", "--nodes", "nodes.json", "--baseline", "before", "-o", kind]

    assert call(*words).stdout == call(*words).stdout != ""


@pytest.mark.usefixtures("folder")
def test_what_becomes_of_each_gang(call: Call) -> None:
    data = data_of(call("report", "in", "--nodes", "nodes.json", "--baseline", "before", "-o", "html").stdout)

    assert [(gang["name"], gang["change"], gang["after"] and gang["after"]["state"]) for gang in data["gangs"]] == [
        ("shop/web-1", "new", "pending"),
        ("shop/new-0", "new", "allocated"),
        ("shop/web-0", "", "allocated"),
        ("shop/old-0", "removed", None),
    ]
    assert data["nodes"][-1][3] == ["cordoned"]
    assert [each["outside"] for each in data["maps"]] == [[5]]


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        (["web"], ["web"], {"web": ""}),
        (["web"], ["aaa", "web"], {"aaa": "new", "web": "moves"}),
        (["web"], ["aaa", "bbb", "web"], {"aaa": "new", "bbb": "new", "web": "no longer fits"}),
        (["aaa", "bbb", "web"], ["web"], {"aaa": "removed", "bbb": "removed", "web": "fits now"}),
    ],
    ids=["stays", "moves", "no longer fits", "fits now"],
)
def test_a_change_says_what_it_does_to_a_gang(
    tmp_path: Path, call: Call, before: list[str], after: list[str], expected: dict[str, str]
) -> None:
    write(tmp_path, {"nodes.json": cluster(), "in/topology.yaml": CONFIG, "old/topology.yaml": CONFIG})
    for side, names in (("old", before), ("in", after)):
        write(tmp_path, {f"{side}/{name}.yaml": workload(name) for name in names})

    data = data_of(call("report", "in", "--nodes", "nodes.json", "--baseline", "old", "-o", "html").stdout)

    assert {gang["workload"]: gang["change"] for gang in data["gangs"]} == expected


def test_gangs_have_the_colours_of_their_queues(call: Call) -> None:
    """Kueue's jobs are among KAI's gangs. Few gangs of one queue have different hues."""
    example = str(ROOT / "examples" / "kueue"), "--nodes", str(ROOT / "examples" / "nodes.yaml")

    queues = data_of(call("report", *example, "-o", "html").stdout)
    one = data_of(call("report", str(ROOT / "examples" / "disaggregated-inference"), "-o", "html").stdout)

    assert [(gang["name"], gang["scheduler"], gang["queue"], gang["colour"]) for gang in queues["gangs"]] == [
        ("research/pretrain", "Kueue", "gpus", 0),
        ("serving/chat-0", "KAI", "serving", TINTS),
    ]
    assert [gang["colour"] for gang in one["gangs"]] == [0, TINTS, 2 * TINTS, 3 * TINTS]


def test_gangs_of_many_share_the_tints_of_their_queue(tmp_path: Path, call: Call) -> None:
    text = "---\n".join([workload(f"w{number:02}") for number in range(HUES + 1)])
    write(tmp_path, {"in/topology.yaml": CONFIG, "in/all.yaml": text})

    data = data_of(call("report", "in", "-o", "html").stdout)

    assert [gang["colour"] for gang in data["gangs"]] == [number % TINTS for number in range(HUES + 1)]
    assert data["levels"] == [
        {
            "topology": "grove-topology",
            "levels": [["zone", "topology.kubernetes.io/zone"], ["rack", "example.com/rack"]],
        }
    ]


@pytest.mark.usefixtures("folder")
def test_without_nodes_there_are_gangs_and_no_map(call: Call) -> None:
    ran = call("report", "in", "-o", "html")

    data = data_of(ran.stdout)
    assert (ran.code, data["maps"], data["nodes"], len(data["gangs"])) == (0, [], [], 3)
    assert "<h1>3 gangs</h1>" in ran.stdout
    assert call("report", "in", "-o", "mermaid").stdout.splitlines()[:2] == [
        "flowchart LR",
        '  subgraph gangs ["3 gangs"]',
    ]
    assert ">no nodes were given</text>" in call("report", "in", "-o", "svg").stdout


def test_errors_are_drawn_too(folder: Path, call: Call) -> None:
    write(folder, {"in/web.yaml": WORKLOAD.replace("packDomain: rack", "packDomain: host")})

    ran = call("report", "in", "--nodes", "nodes.json", "-o", "html")

    data = data_of(ran.stdout)
    assert ran.code == 1
    assert "<h1>1 error, and no gang</h1>" in ran.stdout
    assert "\nerror: in/web.yaml:10:" in ran.stderr
    (finding,) = [each for each in data["findings"] if each["severity"] == "error"]
    assert (finding["severity"], data["files"][finding["file"]], finding["line"]) == (
        "error",
        ["in/web.yaml", "in/web.yaml#L{line}"],
        10,
    )


def test_an_update_that_is_refused_is_drawn_as_it_would_be(folder: Path, call: Call) -> None:
    write(folder, {"in/web.yaml": workload("web", domain="zone")})

    ran = call("report", "in", "--nodes", "nodes.json", "--baseline", "before", "-o", "html")

    data = data_of(ran.stdout)
    assert ran.code == 1
    assert "update-topology-constraint" in {finding["rule"] for finding in data["findings"]}
    assert [gang["parts"][0][4] for gang in data["gangs"] if gang["workload"] == "web"] == ["zone"]


def test_pods_of_a_gang_that_goes_are_in_use_by_others_afterwards(folder: Path, call: Call) -> None:
    """The pods stay on their nodes during the simulation."""
    running = pod("old-0-router-x", "n0")
    running["metadata"] |= {
        "namespace": "shop",
        "labels": {"grove.io/podgang": "old-0", "grove.io/podclique": "old-0-router"},
    }
    write(folder, {"nodes.json": cluster(running)})

    data = data_of(call("report", "in", "--nodes", "nodes.json", "--baseline", "before", "-o", "html").stdout)

    (old,) = [number for number, gang in enumerate(data["gangs"]) if gang["name"] == "shop/old-0"]
    name, gpus, in_use, _, after, before, in_use_before = data["nodes"][0]
    assert (name, gpus, in_use, after, before, in_use_before) == ("n0", 8, 8, [], [[old, 1, 8]], 0)


def test_a_file_that_cannot_be_read_is_drawn_as_an_error(folder: Path, call: Call) -> None:
    write(folder, {"in/broken.yaml": "kind: A\na: [\n"})

    ran = call("report", "in", "--nodes", "nodes.json", "--baseline", "before", "-o", "html")

    data = data_of(ran.stdout)
    assert (ran.code, data["findings"][0]["severity"], data["findings"][0]["rule"]) == (1, "error", "readable")
    assert "shop/web-0" in [gang["name"] for gang in data["gangs"]]
    assert (data["hasBefore"], data["changes"]) == (False, None)


def test_a_baseline_without_workloads_is_compared_by_its_objects(folder: Path, call: Call) -> None:
    call("render", "before", "-o", "rendered")
    (exported,) = (folder / "rendered").rglob("*old-0*.yaml")

    ran = call("report", "in", "--nodes", "nodes.json", "--baseline", str(exported), "-o", "html")

    data = data_of(ran.stdout)
    assert (data["hasBefore"], [gang["before"] for gang in data["gangs"]]) == (False, [None, None, None])
    assert "PodGang" in [change["kind"] for change in data["changes"]]


@pytest.mark.usefixtures("folder")
def test_a_baseline_without_configuration_has_that_of_today(call: Call) -> None:
    data = data_of(call("report", "in", "--nodes", "nodes.json", "--baseline", "before/web.yaml", "-o", "html").stdout)

    assert {gang["name"]: gang["change"] for gang in data["gangs"]}["shop/web-0"] == "moves"


@pytest.mark.parametrize(
    ("output", "template", "expected"),
    [
        ("html", None, "in/a%3Ab%23.yaml#L{line}"),
        ("html=report.html", None, "in/a%3Ab%23.yaml#L{line}"),
        ("one/two/report.html", None, "../../in/a%3Ab%23.yaml#L{line}"),
        ("html", "https://x.example/blob/SHA/{path}#L{line}", "https://x.example/blob/SHA/in/a%3Ab%23.yaml#L{line}"),
        ("html", "https://x.example/{path}", "https://x.example/in/a%3Ab%23.yaml"),
    ],
    ids=["stdout", "beside", "in a folder", "on the web", "on the web, without lines"],
)
def test_links_lead_into_the_files(
    tmp_path: Path, call: Call, output: str, template: str | None, expected: str
) -> None:
    write(tmp_path, {"in/a:b#.yaml": CONFIG + "---\n" + GPU_WORKLOAD})
    more = [] if template is None else ["--source-url", template]

    ran = call("report", "in", "-o", output, *more)

    name = output.rpartition("=")[2]
    page = ran.stdout if name == "html" else (tmp_path / name).read_text(encoding="utf-8")
    assert data_of(page)["files"] == [["in/a:b#.yaml", expected]]


def test_links_to_absolute_paths_name_no_host_and_stdin_has_none(tmp_path: Path, call: Call) -> None:
    write(tmp_path, {"in/all.yaml": CONFIG + "---\n" + GPU_WORKLOAD})
    path = (tmp_path / "in" / "all.yaml").as_posix()

    absolute = data_of(call("report", f"/{path}", "-o", "out/report.html").stdout or _page(tmp_path))
    piped = data_of(call("report", "-", "-o", "html", stdin=CONFIG + "---\n" + GPU_WORKLOAD).stdout)

    assert [address for _, address in absolute["files"]] == [f"{path}#L{{line}}"]
    assert piped["files"] == [["<stdin>", ""]]


def test_a_gang_that_a_commit_had_leads_to_no_file(folder: Path, call: Call) -> None:
    for words in (
        ["init", "--quiet"],
        ["add", "."],
        ["-c", "user.name=a", "-c", "user.email=a@b", "commit", "-qm", "a"],
    ):
        subprocess.run(["git", *words], cwd=folder, check=True)
    write(folder, {"before/old.yaml": workload("other")})

    data = data_of(call("report", "before", "--baseline", "git:HEAD", "-o", "html").stdout)

    assert [gang["name"] for gang in data["gangs"] if gang["change"] == "removed"] == ["shop/old-0"]
    assert [pair for pair in data["files"] if pair[1] == ""] == [["HEAD:before/old.yaml", ""]]


def _page(folder: Path) -> str:
    return (folder / "out" / "report.html").read_text(encoding="utf-8")


HOSTILE = "</script><script>alert(1)</script><!--<img src=x onerror=alert(1)>"


def test_texts_of_the_input_are_never_markup(tmp_path: Path, call: Call) -> None:
    hostile = node(HOSTILE, "a", "r0")
    broken = WORKLOAD.replace("packDomain: rack", f"packDomain: '{HOSTILE}'")
    write(tmp_path, {"in/topology.yaml": CONFIG, "in/web.yaml": broken, "nodes.json": listed(hostile)})

    page = call("report", "in", "--nodes", "nodes.json", "-o", "html").stdout
    svg = call("report", "in", "--nodes", "nodes.json", "-o", "svg").stdout
    chart = call("report", "in", "--nodes", "nodes.json", "-o", "mermaid").stdout

    assert data_of(page)["nodes"][0][0] == HOSTILE
    assert HOSTILE in next(each["text"] for each in data_of(page)["findings"] if each["severity"] == "error")
    assert page.count("<script") == page.count("</script>") == 2
    assert "onerror" not in DATA.sub("", page)
    assert HOSTILE[:20] in "".join(ET.fromstring(svg).itertext())  # noqa: S314
    assert "<script" not in svg
    assert re.search(r"[<>]", chart) is None


def test_control_characters_are_shown_as_escapes(tmp_path: Path, call: Call) -> None:
    write(tmp_path, {"in/topology.yaml": CONFIG, "nodes.json": listed(node("n\u202e0\x07", "a", "r0"))})

    for kind in ("html", "svg", "mermaid"):
        shown = call("report", "in", "--nodes", "nodes.json", "-o", kind).stdout
        assert "n\\u202e0\\x07" in shown.replace("\\\\", "\\").replace("#92;", "\\")
        assert re.search("[\u202e\x07]", shown) is None


@pytest.mark.usefixtures("folder")
def test_the_policy_lets_nothing_else_run_and_nothing_be_loaded(call: Call) -> None:
    page = call("report", "in", "--nodes", "nodes.json", "-o", "html").stdout
    policy = re.search(r'Content-Security-Policy" content="([^"]*)"', page)
    texts = [re.search(pattern, page, re.DOTALL) for pattern in (r"<style>(.*?)</style>", r"<script>(.*?)</script>")]
    style, script = (
        f"sha256-{base64.b64encode(hashlib.sha256(text[1].encode()).digest()).decode()}" for text in texts if text
    )

    assert policy is not None
    assert policy[1] == (
        f"default-src 'none'; style-src '{style}'; script-src '{script}'; base-uri 'none'; form-action 'none'"
    )
    assert re.findall(r"""(?:src|href|url|import)\s*[=(]\s*["']?(?!#)[\w./:]+""", DATA.sub("", page)) == []


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ([], "the following arguments are required: -o/--output"),
        (
            ["-o", "report.pdf"],
            'must be a file that ends in .html, .svg or .mmd, or one of html, svg, mermaid; got "report.pdf"',
        ),
        (["-o", "svg="], '"svg=" must name a file after the equals sign'),
        (["-o", "svg", "-o", "html=-"], "-o names stdout more than once; name a different file for each format "
            "(svg=map.svg)"),
        (["-o", "a.svg", "-o", "html=a.svg"], '-o names "a.svg" more than once; name a different file for each format '
            '(svg=map.svg)'),
        (
            ["-o", "html", "--source-url", "javascript:{path}"],
            "must start with https:// or http:// and hold {path}, as in https://example.com/{path}#L{line}; "
            'got "javascript:{path}"',
        ),
        (["-o", "html", "--nodes", "-", "-"], '"-" is given twice, but packwise can read stdin only once'),
        (["-o", "html", "--nodes", "in"], '--nodes "in": found no nodes'),
    ],
)  # fmt: skip
@pytest.mark.usefixtures("folder")
def test_wrong_usage(call: Call, words: list[str], message: str) -> None:
    ran = call("report", "in", *words)

    assert (ran.code, ran.stdout) == (2, "")
    assert message in ran.stderr


def test_a_file_that_cannot_be_written_is_named(folder: Path, call: Call) -> None:
    write(folder, {"out": "a file"})

    ran = call("report", "in", "-o", "out/report.html", "-o", "map.svg")

    assert ran.code == 1
    assert ran.stderr.startswith("error: out/report.html: cannot write the file: ")
    assert (folder / "map.svg").is_file()


def test_the_page_is_read_where_the_numbers_stand_on_colours() -> None:
    """WCAG 1.4.3 requires a contrast of at least 4.5 to 1."""

    def luminance(colour: str) -> float:
        parts = [int(colour[start : start + 2], 16) / 255 for start in (1, 3, 5)]
        linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
        return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]

    assert [colour for colour in PALETTE if (luminance(colour) + 0.05) / (luminance(INK) + 0.05) < 4.5] == []
    assert len(set(PALETTE)) == len(PALETTE)


def many(number: int) -> str:
    return listed(*(node(f"n{index:05}", f"z{index // 400}", f"r{index // 4}") for index in range(number)))


def test_a_large_cluster_is_drawn_by_its_domains(tmp_path: Path, call: Call) -> None:
    write(tmp_path, {"in/topology.yaml": CONFIG, "in/web.yaml": workload("web", 3), "nodes.json": many(2000)})

    svg = call("report", "in", "--nodes", "nodes.json", "-o", "svg").stdout
    chart = call("report", "in", "--nodes", "nodes.json", "-o", "mermaid").stdout

    texts = [text for text in ET.fromstring(svg).itertext() if text.startswith("zone")]  # noqa: S314
    assert texts == [f"zone z{index}" for index in range(5)]
    assert "rack r0" not in svg
    assert [line for line in chart.splitlines() if "zone" in line] == [
        f'    d{index + 1}["zone z{index}: {48 if index == 0 else 0} of 3200 GPUs"]' for index in range(5)
    ]
    assert "rack r0" not in chart


def test_a_chart_that_would_be_too_long_is_its_headline(tmp_path: Path, call: Call) -> None:
    """Mermaid counts characters, so the chart of gangs with long names is longer."""
    nodes = [node(f"{index:03}{'#' * 77}", "a", f"{index:03}{'&' * 77}") for index in range(180)]
    write(tmp_path, {"in/topology.yaml": CONFIG, "nodes.json": listed(*nodes)})

    chart = call("report", "in", "--nodes", "nodes.json", "-o", "mermaid").stdout

    assert chart == 'flowchart LR\n  headline(["0 of 0 gangs fit"])\n'


def test_levels_of_single_nodes_are_left_out_and_nodes_without_topology_stand_outside(
    tmp_path: Path, call: Call
) -> None:
    hosts = CONFIG.replace("  revision:", "    - {domain: host, key: kubernetes.io/hostname}\n  revision:")
    nodes = [node(f"n{index}", "a", f"r{index // 2}") for index in (10, 2, 3)]
    for each in nodes:
        each["metadata"]["labels"]["kubernetes.io/hostname"] = each["metadata"]["name"]
    write(tmp_path, {"in/all.yaml": hosts, "plain/all.yaml": CONFIG.replace("zone, key: t", "zone, key: u")})
    write(tmp_path, {"nodes.json": listed(*nodes)})

    by_hosts = data_of(call("report", "in", "--nodes", "nodes.json", "-o", "html").stdout)
    without = data_of(call("report", "plain", "--nodes", "nodes.json", "-o", "html").stdout)

    assert by_hosts["maps"][0]["levels"] == ["zone", "rack"]
    assert [rack[1] for rack in by_hosts["maps"][0]["domains"][0][2]] == ["r1", "r5"]
    assert without["maps"] == [{"topology": "", "levels": [], "domains": [], "outside": [0, 1, 2]}]


def test_what_the_page_is_of_stands_on_it(folder: Path, call: Call) -> None:
    nodes = json.loads(cluster())["items"]
    for number, each in enumerate(nodes[:2]):
        each["status"]["conditions"][0]["lastHeartbeatTime"] = f"2026-03-0{number + 1}T10:20:30Z"
    scheduler = pod("scheduler", "n0", 0)
    scheduler["spec"]["containers"][0]["image"] = "ghcr.io/kai-scheduler/kai-scheduler/scheduler:v0.16.8"
    write(
        folder,
        {"nodes.json": listed(*nodes, scheduler), "in/topology.yaml": f"{UNNAMED_CONFIG}  kai: {{version: v0.15}}\n"},
    )
    links = "https://example.com/blob/0123456789abcdef0123456789abcdef01234567/{path}#L{line}"

    page = call("report", "in", "--nodes", "nodes.json", "-o", "html", "--source-url", links).stdout
    bare = call("report", "in", "-o", "html").stdout

    assert (
        '<p class="about">in on 4 nodes · commit 0123456789ab · Grove grep-244-multi (assumed) · KAI v0.15 '
        "or newer · KAI v0.16 in the cluster · cluster as of 2026-03-02 10:20 UTC</p>"
    ) in page
    assert '<p class="about">in · Grove grep-244-multi (assumed) · KAI v0.15 or newer</p>' in bare


def test_notes_about_gangs_stand_in_every_format(tmp_path: Path, call: Call) -> None:
    text = workload("web").replace("containers:", "resourceClaims: [{name: c}]\n          containers:", 1)
    write(tmp_path, {"in/topology.yaml": CONFIG, "in/web.yaml": text, "nodes.json": cluster()})
    note = "claim devices, which are not counted"

    assert data_of(call("report", "in", "--nodes", "nodes.json", "-o", "html").stdout)["gangs"][0]["notes"] == [
        f'pods of "web-0-router" {note}'
    ]
    for words in (("report", "-o", "svg"), ("report", "-o", "mermaid"), ("place",), ("place", "-o", "markdown")):
        assert note in call(words[0], "in", "--nodes", "nodes.json", *words[1:]).stdout


@pytest.mark.parametrize("kind", ["html", "svg", "mermaid"])
@pytest.mark.parametrize("kai", [0, 1])
def test_gangs_of_other_schedulers_are_noted_in_every_format(tmp_path: Path, call: Call, kind: str, kai: int) -> None:
    """The test runs with a gang of KAI, and without one."""
    other = workload("web").replace("containers:", "schedulerName: default-scheduler\n          containers:")
    texts = {"topology.yaml": CONFIG, "other.yaml": other, **({"own.yaml": workload("own")} if kai else {})}
    write(tmp_path, {"nodes.json": cluster(), **{f"in/{name}": text for name, text in texts.items()}})
    note = (
        "1 gang that default-scheduler schedules is not placed: packwise does not simulate the "
        "algorithm of that scheduler"
    )

    drawn = call("report", "in", "--nodes", "nodes.json", "-o", kind)
    without_nodes = call("report", "in", "-o", kind)

    assert f"{kai} of {kai} gang" in drawn.stdout
    assert note in drawn.stdout
    assert f"note: {note}\n" in drawn.messages
    assert "not simulated" not in without_nodes.stdout


def test_an_epoch_that_nothing_tells_yet_is_in_no_title(tmp_path: Path, call: Call) -> None:
    config = """\
apiVersion: packwise.dev/v1alpha1
kind: TopologyRender
metadata: {name: t}
spec: {revision: v0.1.0-alpha.14, topologyAwareScheduling: {enabled: true}}
---
apiVersion: grove.io/v1alpha1
kind: ClusterTopologyBinding
metadata: {name: t}
spec: {levels: [{domain: rack, key: example.com/rack}]}
"""
    text = workload("web").replace("    topologyConstraint: {packDomain: rack}\n", "")
    text = text.replace("  namespace: shop", "  namespace: shop\n  labels: {kai.scheduler/queue: default-queue}", 1)
    write(tmp_path, {"in/topology.yaml": config, "in/web.yaml": text, "nodes.json": cluster()})

    ran = call("report", "in", "--nodes", "nodes.json", "-o", "html")

    gang = data_of(ran.stdout)["gangs"][0]
    assert gang["name"] == "shop/web-0"
    assert gang["parts"][0][0] == "web-0-1000000000000000000"
