"""Sources lead to existing sections: rules, docstrings and the pages under docs/spec/ link to them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from packwise.rules.run import RULES_BY_NAME
from tests.places import ROOT

SPEC = ROOT / "docs" / "spec"
PAGES = sorted(path.name for path in SPEC.glob("*.md"))

ANCHOR = re.compile(r'<a id="([^"]*)"></a>')
NAME = r"[\w-]+(?:\.\w+)*"
SOURCE = re.compile(rf"(?<!/)spec/(?P<page>[\w-]+\.md)(?P<anchors>(?:#{NAME}(?:,? (?:and |to )?(?=#))?)*)")
LINK = re.compile(rf"\]\((?P<page>[\w-]+\.md)?#(?P<anchor>{NAME})\)")
BARE = re.compile(rf"(?<![/\w-])(?:{'|'.join(map(re.escape, PAGES))})\b", re.IGNORECASE)
"""Pattern of a page that is named without its folder, so that readers cannot find it."""

NAMES_OTHER_FILES = {"README.md"}


@cache
def anchors(page: str) -> list[str]:
    return ANCHOR.findall((SPEC / page).read_text(encoding="utf-8"))


def links(text: str) -> Iterator[tuple[str, str]]:
    """Yield the pages and anchors of the sources in a text. `#3` after a source is a section of the same page."""
    for source in SOURCE.finditer(text):
        found = re.findall(rf"#({NAME})", source["anchors"])
        yield from ((source["page"], anchor) for anchor in found or [""])


def lost(text: str) -> list[str]:
    """Return the sources in a text that lead to no existing section."""
    known = {page: {"", *anchors(page)} for page in PAGES}
    return [f"{page}#{anchor}" for page, anchor in links(text) if anchor not in known.get(page, ())]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("Source: spec/kai.md.", [("kai.md", "")]),
        ("Source: spec/kai.md#3, #3.1; spec/osmo.md#d2.", [("kai.md", "3"), ("kai.md", "3.1"), ("osmo.md", "d2")]),
        ("Source: spec/grove.md#r16 to #r18.", [("grove.md", "r16"), ("grove.md", "r18")]),
        ("spec/kai.md#3, spec/no-such-page.md#1", [("kai.md", "3"), ("no-such-page.md", "1")]),
    ],
)
def test_what_a_source_says(text: str, found: list[tuple[str, str]]) -> None:
    assert list(links(text)) == found


def test_a_source_that_leads_nowhere_is_found() -> None:
    assert lost("spec/kai.md#1, #no-such-rule; spec/no-such-page.md#1") == ["kai.md#no-such-rule", "no-such-page.md#1"]


def test_every_rule_leads_to_a_section() -> None:
    unsaid = {
        rule.name: rule.source
        for rule in RULES_BY_NAME.values()
        if not re.fullmatch(rf"spec/[\w-]+\.md#{NAME}", rule.source) or lost(rule.source)
    }
    assert unsaid == {}


HEADING = re.compile(r'^#+ <a id="([^"]*)"></a>')
NUMBERED = re.compile(r'^\s*(?:- |\| )(?:<a id="[^"]*"></a>)')
WHOLE = {
    "clients.md#4",
    "dynamo.md#1.1",
    "grove.md#3",
    "grove.md#4.3",
    "grove.md#10",
    "kai.md#1",
    "kai.md#3",
    "kai.md#4",
    "kueue.md#2",
    "kueue.md#5",
    "osmo.md#1",
    "osmo.md#2",
    "osmo.md#defects",
    "osmo.md#input",
    "podgrouper.md#2",
    "podgrouper.md#4",
    "podgrouper.md#9",
}
"""Sections that a rule implements as a whole, or whose text before the numbered rules it implements."""


def test_a_rule_leads_to_a_numbered_rule_where_its_section_has_some() -> None:
    divided: set[str] = set()
    for page in PAGES:
        section = ""
        for line in (SPEC / page).read_text(encoding="utf-8").splitlines():
            heading = HEADING.match(line)
            if heading is not None:
                section = heading[1]
            elif NUMBERED.match(line):
                divided.add(f"{page}#{section}")

    assert {rule.source.removeprefix("spec/") for rule in RULES_BY_NAME.values()} & divided == WHOLE


@pytest.mark.parametrize("folder", ["fn", "tests", "benchmarks", "supplychain"])
def test_every_source_in_the_code_leads_to_a_section(folder: str) -> None:
    own = Path(__file__).name
    texts = {
        path.relative_to(ROOT).as_posix(): path.read_text(encoding="utf-8")
        for path in sorted((ROOT / folder).rglob("*.py"))
        if path.name != own
    }
    assert {path: wrong for path, text in texts.items() if (wrong := lost(text))} == {}
    bare = {path: sorted(set(BARE.findall(text)) - NAMES_OTHER_FILES) for path, text in texts.items()}
    assert {path: names for path, names in bare.items() if names} == {}


@pytest.mark.parametrize("page", PAGES)
def test_anchors_of_a_page_differ_and_its_links_lead_to_them(page: str) -> None:
    own = anchors(page)
    assert sorted({anchor for anchor in own if own.count(anchor) > 1}) == []
    text = (SPEC / page).read_text(encoding="utf-8")
    wrong = [link[0] for link in LINK.finditer(text) if link["anchor"] not in anchors(link["page"] or page)]
    assert wrong == [], "a link to a section that the page does not have"


RULE = re.compile(r'^- <a id="', re.MULTILINE)
WITHOUT_CODE = {"README.md", "packwise.md", "clients.md", "gitops.md"}
"""Pages with promises of packwise itself, and with observations of programs. They name the versions of the programs."""


@pytest.mark.parametrize("page", [page for page in PAGES if page not in WITHOUT_CODE])
def test_every_section_with_rules_says_where_upstream_they_were_read(page: str) -> None:
    _, *sections = re.split(r"^## ", (SPEC / page).read_text(encoding="utf-8"), flags=re.MULTILINE)
    assert sections
    unsaid = [
        section.partition("\n")[0]
        for section in sections
        if RULE.search(section) and not re.search(r"^Upstream: ", section, re.MULTILINE)
    ]
    assert unsaid == []


def test_the_first_page_lists_the_others() -> None:
    text = (SPEC / "README.md").read_text(encoding="utf-8")
    assert [page for page in PAGES if page != "README.md" and f"]({page})" not in text] == []
