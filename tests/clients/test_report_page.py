"""The page of `packwise report` in a real browser: Debian's Chromium, driven by Playwright and checked by axe-core.

`pytest --update` takes the pictures of docs/images/ again. Fonts differ between machines, so the tests compare the page
and not its picture.
"""

from __future__ import annotations

import hashlib
import json
import shutil
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from axe_playwright_python.sync_playwright import Axe  # pyright: ignore[reportMissingTypeStubs]
from playwright.sync_api import Browser, Page, sync_playwright
from playwright.sync_api import expect as eventually

from tests.clients.running import run
from tests.places import ROOT, missing

pytestmark = pytest.mark.client

EXAMPLE = ROOT / "examples" / "disaggregated-inference"
IMAGES = ROOT / "docs" / "images"
MAX_BYTES = 150_000
TAGS = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]
HOSTILE = "</script><img src=x onerror=document.title=1>"

OPEN_ALL = "document.querySelectorAll('details').forEach((each) => { each.fill?.(); each.open = true; })"
PICK_FIRST = "document.querySelector('.pick').click()"


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    path = shutil.which("chromium")
    if path is None:
        missing("chromium is not on PATH: `make browser` gets it (Debian: apt-get install chromium)")
    with sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=path)
        yield started
        started.close()


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory, packwise: Path) -> Path:
    """Return pages of the example: `plain`; `change`, with another number of replicas; `broken`, with errors."""
    folder = tmp_path_factory.mktemp("report")
    for name in ("west", "main/west", "broken"):
        shutil.copytree(EXAMPLE, folder / name)
    shutil.copy(ROOT / "examples" / "nodes.yaml", folder)
    groups = folder / "west" / "inference.yaml"
    replace(groups, "[pre-leader, pre-worker]\n      replicas: 2", "[pre-leader, pre-worker]\n      replicas: 3")
    replace(groups, "[dec-leader, dec-worker]\n      replicas: 3", "[dec-leader, dec-worker]\n      replicas: 2")
    replace(folder / "broken" / "inference.yaml", "packDomain: block", f"packDomain: '{HOSTILE}'")
    report(packwise, folder, "main/west", "plain.html")
    report(packwise, folder, "west", "change.html", "--baseline", "main/west")
    report(packwise, folder, "broken", "broken.html", "--baseline", "main/west")
    return folder


def replace(file: Path, before: str, after: str) -> None:
    text = file.read_text(encoding="utf-8")
    assert before in text
    file.write_text(text.replace(before, after), encoding="utf-8")


def report(packwise: Path, folder: Path, source: str, page: str, *more: str) -> None:
    done = run([packwise, "report", source, "--nodes", "nodes.yaml", *more, "-o", page], cwd=folder, packwise=packwise)
    assert (folder / page).is_file(), done.stderr


@pytest.fixture
def show(browser: Browser, folder: Path) -> Iterator[Callable[..., Page]]:
    """Yield a function that opens a page.

    The test fails if the page has an error, or requests anything except itself.
    """
    requests: list[str] = []
    errors: list[str] = []
    contexts: list[Any] = []

    def one(name: str, scheme: str = "light", width: int = 1280, height: int = 900, **options: Any) -> Page:
        context = browser.new_context(
            color_scheme="dark" if scheme == "dark" else "light",
            viewport={"width": width, "height": height},
            reduced_motion="reduce",
            **options,
        )
        contexts.append(context)
        page = context.new_page()
        page.on("request", lambda request: requests.append(request.url))
        page.on("pageerror", lambda error: errors.append(str(error)))
        page.on("console", lambda message: errors.append(message.text))
        page.goto((folder / name).as_uri())
        return page

    yield one
    for context in contexts:
        context.close()
    assert [url for url in requests if not url.startswith(folder.as_uri())] == []
    assert errors == []


Show = Callable[..., Page]


def texts(page: Page, selector: str) -> list[str]:
    return [" ".join(text.split()) for text in page.locator(selector).all_inner_texts()]


def test_the_page_shows_gangs_domains_and_what_is_in_the_way(show: Show) -> None:
    page = show("plain.html")

    assert texts(page, "h1") == ["3 of 4 gangs fit"]
    assert texts(page, "h2:visible") == ["Gangs", "Cluster", "Findings"]
    assert texts(page, ".figures dt") == ["free afterwards", "of gangs", "of other pods", "in the cluster"]
    assert texts(page, ".figures dd") == ["24 GPUs", "96 GPUs", "8 GPUs", "128 GPUs"]
    assert texts(page, ".pick") == [
        "1 inference/llm-0-decode-1",
        "2 inference/llm-0",
        "3 inference/llm-0-prefill-0",
        "4 inference/llm-0-decode-0",
    ]
    assert texts(page, ".gang >> nth=0 >> .why li")[0] == (
        "4 pods must be in one rack; the closest fit, east.b2.b2-r0, has room for 2: it lacks 16 GPUs"
    )
    assert texts(page, ".domain > details > summary > span:first-child") == [
        "zone east", "block b1", "rack b1-r0", "rack b1-r1", "block b2", "rack b2-r0", "rack b2-r1",
    ]  # fmt: skip
    assert page.locator(".node .bar").nth(1).get_attribute("aria-label") == (
        "8 GPUs; 8 of gang 2, inference/llm-0; 0 free"
    )


def test_the_search_shows_what_matches_and_says_how_much(show: Show) -> None:
    page = show("plain.html")

    page.keyboard.press("/")
    page.keyboard.type("b2-r1-N2")
    eventually(page.locator("#status")).to_have_text("Matching “b2-r1-N2”: 1 gang, 1 node, 0 findings")

    assert texts(page, ".node .name") == ["b2-r1-n2"]
    page.keyboard.press("Escape")
    assert (texts(page, "#status"), page.locator(".node").count(), page.locator(".gang").count()) == ([""], 16, 4)


def test_a_filter_shows_gangs_of_a_state(show: Show) -> None:
    page = show("plain.html")

    page.get_by_role("button", name="Does not fit 1").click()

    assert texts(page, ".pick") == ["1 inference/llm-0-decode-1"]
    assert page.get_by_role("button", name="Does not fit 1").get_attribute("aria-pressed") == "true"


def test_a_gang_is_shown_on_the_map_by_keyboard_and_by_its_bar(show: Show) -> None:
    page = show("plain.html")

    page.locator(".pick").nth(0).focus()
    page.keyboard.press("Enter")
    assert texts(page, ".domain.near summary >> nth=0") == ["rack b2-r0 closest fit 16 of 32 GPUs"]
    assert texts(page, "#status") == ["Gang 1 does not fit; east.b2.b2-r0 is the closest fit"]
    page.locator(".node .seg.of").first.click()
    assert page.locator(".pick[aria-pressed=true]").all_inner_texts() == ["2\ninference/llm-0"]
    assert page.locator(".node .seg.on").count() == 6
    assert page.locator(".domain.near").count() == 0
    page.keyboard.press("Escape")
    assert page.locator(".seg.on").count() == 0


def test_arrow_keys_walk_the_domains(show: Show) -> None:
    page = show("plain.html")
    active = "document.activeElement.querySelector('.name')?.textContent"
    walked: list[str] = []

    page.locator("#map summary").first.focus()
    for key in (
        "ArrowDown",
        "ArrowRight",
        "ArrowLeft",
        "ArrowLeft",
        "ArrowDown",
        "ArrowRight",
        "ArrowUp",
        "End",
        "Home",
    ):
        page.keyboard.press(key)
        walked.append(page.evaluate(active))

    assert walked == ["b1", "b1-r0", "b1-r0", "b1", "b1-r0", "b1-r0", "b1", "b2-r1", "east"]


def test_every_control_is_reached_by_tab_in_the_order_of_the_page(show: Show) -> None:
    page = show("plain.html")
    reached: list[str] = []

    for _ in range(8):
        page.keyboard.press("Tab")
        reached.append(page.evaluate("(document.activeElement.id || document.activeElement.textContent).slice(0, 30)"))
        assert page.evaluate("getComputedStyle(document.activeElement).outlineStyle") == "solid"

    assert reached[:5] == ["Skip to the gangs", "query", "All 4", "Does not fit 1", "Fits 3"]
    assert reached[5] == "theme"


def test_a_change_stands_side_by_side(show: Show) -> None:
    page = show("change.html")

    assert texts(page, "h2:visible") == ["Gangs", "Cluster", "Changes for the scheduler", "Findings"]
    assert [bar.get_attribute("aria-label") for bar in page.locator(".node >> nth=10 >> .bar").all()] == [
        "before: 8 GPUs; 8 free",
        "after: 8 GPUs; 8 of gang 3, inference/llm-0-prefill-1; 0 free",
    ]
    page.get_by_role("button", name="Before", exact=True).click()
    assert page.locator(".node >> nth=10 >> .bar").count() == 1
    page.get_by_role("button", name="Changes 2").click()
    assert texts(page, ".gang .badge") == ["✓ fits", "new", "removed"]
    assert texts(page, ".change") == [
        "- inference/llm-0-decode-1: required network.example.com/rack",
        "+ inference/llm-0-prefill-1: required network.example.com/rack",
    ]


def test_links_lead_to_the_sections_of_a_narrow_page(show: Show) -> None:
    page = show("plain.html", width=390)

    assert texts(page, "#sections a") == ["Gangs", "Cluster", "Findings"]
    page.get_by_role("link", name="Cluster", exact=True).click()

    assert page.evaluate("document.activeElement.id") == "cluster-head"
    eventually(page.locator("#cluster-head")).to_be_in_viewport()


def test_without_nodes_the_levels_are_drawn(folder: Path, packwise: Path, show: Show) -> None:
    run([packwise, "report", "main/west", "-o", "bare.html"], cwd=folder, packwise=packwise)
    page = show("bare.html")

    assert texts(page, "h2:visible") == ["Gangs", "Levels", "Findings"]
    assert texts(page, ".figures dd") == ["128 GPUs", "18 pods"]
    assert texts(page, ".level-box > p:first-child") == [
        "zone topology.kubernetes.io/zone",
        "block network.example.com/block",
        "rack network.example.com/rack",
        "host kubernetes.io/hostname",
    ]
    assert texts(page, ".chips") == ["Within one block: 1", "Within one rack: 1 2 3 4"]
    page.locator(".level-box .chip").first.click()
    assert page.evaluate("document.activeElement.className") == "pick"
    assert page.locator(".gang.picked").count() == 1


def test_texts_of_the_input_stay_texts(show: Show) -> None:
    page = show("broken.html")

    assert texts(page, "h2:visible")[0] == "Findings"
    assert HOSTILE in texts(page, ".finding p")[0]
    assert (page.locator("img").count(), page.title()) == (0, "packwise report: broken")
    assert page.locator(".finding a").first.get_attribute("href") == "broken/inference.yaml#L16"


def test_states_that_cannot_be_compared_are_not_called_alike(show: Show) -> None:
    assert texts(show("broken.html"), "#changes p") == ["Not compared: one of the two states cannot be rendered."]


def test_the_map_of_another_topology_is_chosen(folder: Path, packwise: Path, show: Show) -> None:
    shutil.copytree(ROOT / "examples" / "several-topologies", folder / "several")
    nodes = (folder / "nodes.yaml").read_text(encoding="utf-8")
    with_cliques = nodes.replace(
        "      topology.kubernetes.io/zone", "      nvidia.com/gpu.clique: c0\n      topology.kubernetes.io/zone"
    )
    (folder / "cliques.yaml").write_text(with_cliques, encoding="utf-8")
    run([packwise, "report", "several", "--nodes", "cliques.yaml", "-o", "several.html"], cwd=folder, packwise=packwise)

    page = show("several.html")
    before = texts(page, ".domain .level")
    page.get_by_label("Topology").select_option(index=1)

    assert before != texts(page, ".domain .level")
    assert page.locator("#down option").last.inner_text() == "nodes"


def test_no_other_script_runs(folder: Path, browser: Browser) -> None:
    """The policy of the page blocks injected scripts."""
    text = (folder / "plain.html").read_text(encoding="utf-8")
    injected = "<script>document.title = 'run'</script><img src=x onerror=\"document.title = 'run'\">"
    (folder / "injected.html").write_text(text.replace("<body>", f"<body>{injected}"), encoding="utf-8")
    page = browser.new_page()

    page.goto((folder / "injected.html").as_uri())

    assert page.title() == "packwise report: main/west"
    assert page.locator(".gang").count() == 4
    page.close()


def test_the_theme_follows_the_system_until_it_is_chosen(show: Show) -> None:
    page = show("plain.html", "dark")
    ground = "getComputedStyle(document.body).backgroundColor"

    dark = page.evaluate(ground)
    assert texts(page, "#theme") == ["Use light colours"]
    page.locator("#theme").click()

    assert texts(page, "#theme") == ["Use dark colours"]
    assert page.evaluate(ground) == show("plain.html").evaluate(ground) != dark


def test_paper_gets_everything_that_counts(show: Show) -> None:
    page = show("change.html", "dark")

    page.pdf()
    page.emulate_media(media="print")

    assert page.evaluate("document.querySelectorAll('details:not([open])').length") == 0
    assert page.locator(".tools").is_hidden()
    assert page.locator(".parts").count() == 5
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("name", ["plain.html", "change.html", "broken.html"])
@pytest.mark.parametrize("script", ["0", PICK_FIRST, OPEN_ALL], ids=["as it opens", "a gang shown", "all open"])
def test_axe_has_nothing_against_the_page(show: Show, name: str, scheme: str, script: str) -> None:
    page = show(name, scheme)
    if "pick" in script and page.locator(".pick").count() == 0:
        script = "0"

    page.evaluate(script)
    axe: Any = Axe()
    response = axe.run(page, options={"runOnly": TAGS}).response

    assert [(each["id"], each["nodes"][0]["html"]) for each in response["violations"]] == []
    assert {"color-contrast", "heading-order", "landmark-one-main"} <= {each["id"] for each in response["passes"]}


def test_nothing_is_cut_off_on_a_narrow_screen(show: Show) -> None:
    for name in ("plain.html", "change.html", "broken.html"):
        page = show(name, width=320)
        assert page.evaluate("document.documentElement.scrollWidth") == 320, name


def test_ten_thousand_nodes_are_drawn_on_demand(folder: Path, packwise: Path, show: Show) -> None:
    keys = ["topology.kubernetes.io/zone", "network.example.com/block", "network.example.com/rack"]
    nodes = [
        {
            "kind": "Node",
            "metadata": {
                "name": f"n{index}",
                "labels": {
                    **dict(zip(keys, (f"z{index // 2304}", f"b{index // 288}", f"r{index // 18}"), strict=True)),
                    "kubernetes.io/hostname": f"n{index}",
                },
            },
            "status": {"allocatable": {"cpu": "192", "memory": "2Ti", "nvidia.com/gpu": "8", "pods": "110"}},
        }
        for index in range(10_000)
    ]
    (folder / "many.json").write_text(json.dumps({"kind": "List", "items": nodes}), encoding="utf-8")
    command = [packwise, "report", "main/west", "--nodes", "many.json", "-o", "many.html"]
    subprocess.run(command, cwd=folder, check=True)

    page = show("many.html")

    assert (folder / "many.html").stat().st_size < 1_000_000
    assert page.locator("*").count() < 3_000
    assert page.locator(".node").count() == 0
    page.locator("#query").fill("n9999")
    eventually(page.locator(".node")).to_have_count(1)
    page.locator("#query").fill("")
    eventually(page.locator(".node")).to_have_count(0)
    page.locator(".pick").first.click()
    assert page.locator(".node .seg.on").count() == 6
    assert page.locator("*").count() < 4_000


SHOTS = {
    "report.png": ("plain.html", "light", PICK_FIRST),
    "report-change.png": ("change.html", "dark", "0"),
}


def test_pictures_of_the_docs(
    show: Show, folder: Path, updates_expected: bool, assert_expected: Callable[[str, str], None]
) -> None:
    """Each picture shows the current page."""
    pages = [
        f"{name} {hashlib.sha256((folder / page).read_bytes()).hexdigest()}\n" for name, (page, *_) in SHOTS.items()
    ]
    if updates_expected:
        for name, (page_name, scheme, script) in SHOTS.items():
            page = show(page_name, scheme, width=1180, height=760)
            page.evaluate(script)
            page.evaluate("scrollTo(0, 0)")
            page.screenshot(path=IMAGES / name)

    assert_expected("report/pictures.txt", "".join(pages))
    assert sorted(path.name for path in IMAGES.glob("*.png")) == sorted(SHOTS)
    assert [path.name for path in IMAGES.glob("*.png") if path.stat().st_size > MAX_BYTES] == []


@pytest.mark.parametrize(
    ("text", "gangs"),
    [
        ("pre-worker", ["2 inference/llm-0", "3 inference/llm-0-prefill-0"]),
        ("east.b2.b2-r1", ["4 inference/llm-0-decode-0"]),
        ("b1-r1-n2", ["2 inference/llm-0"]),
        ("inference.yaml:106", ["2 inference/llm-0", "3 inference/llm-0-prefill-0"]),
    ],
    ids=["pod set", "rack", "node", "line of a file"],
)
def test_the_search_finds_what_a_gang_is_made_of_and_where_it_stands(show: Show, text: str, gangs: list[str]) -> None:
    page = show("plain.html")

    page.fill("#query", text)
    eventually(page.locator("#status")).to_contain_text(f"{len(gangs)} gang")

    assert texts(page, ".pick") == gangs


def test_the_address_leads_back_to_what_is_searched_shown_and_chosen(show: Show, folder: Path) -> None:
    page = show("change.html")
    page.fill("#query", "decode")
    eventually(page.locator("#status")).to_contain_text("Matching")
    page.get_by_role("button", name="Changes").click()
    page.get_by_role("button", name="Before").click()
    page.locator(".pick").first.click()
    address = page.url

    again = show("change.html")
    again.goto("about:blank")
    again.goto(address)

    assert address.partition("#")[2].startswith("search=decode&show=changed&gang=inference%2F")
    assert again.locator("#query").input_value() == "decode"
    for selector in (".pick", ".gang.picked .pick", '[aria-pressed="true"][data-state]'):
        assert texts(again, selector) == texts(page, selector)

    again.goto((folder / "change.html").as_uri() + "#show=allocated")
    assert (again.locator("#query").input_value(), again.locator(".gang.picked").count()) == ("", 0)
    again.locator(".skip").focus()
    again.keyboard.press("Enter")
    assert texts(again, '[aria-pressed="true"][data-state]')[0].startswith("Fits")


BROKEN_WORDS = """() => {
  const walker = document.createTreeWalker(document.querySelector("#gangs"), NodeFilter.SHOW_TEXT);
  const broken = [];
  for (let node = walker.nextNode(); node; node = walker.nextNode()) {
    for (const match of node.data.matchAll(/[^\\s-]+/g)) {
      const range = document.createRange();
      range.setStart(node, match.index);
      range.setEnd(node, match.index + match[0].length);
      const rows = new Set([...range.getClientRects()].map((rect) => Math.round(rect.top)));
      if (rows.size > 1) broken.push(match[0]);
    }
  }
  return broken;
}"""


def test_no_word_of_a_gang_is_broken(show: Show) -> None:
    page = show("change.html")

    page.evaluate(OPEN_ALL)

    assert page.evaluate(BROKEN_WORDS) == []


def test_paper_begins_with_the_cluster(show: Show) -> None:
    page = show("plain.html")

    page.pdf()
    page.emulate_media(media="print")

    first, then = page.locator("#cluster").bounding_box(), page.locator("#gangs").bounding_box()
    assert first is not None
    assert then is not None
    assert first["y"] < then["y"]
    assert page.locator(".node:visible").count() == 16
