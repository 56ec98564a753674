"""The places in the code that `-p tests.reports` treats as reports to users."""

from __future__ import annotations

from tests.reports import sites


def test_the_places_are_those_of_findings_and_of_what_becomes_one() -> None:
    by_file = {place.file.removeprefix("fn/packwise/") for place in sites()}

    assert len(sites()) > 400
    assert by_file >= {
        "migrate/rewrite.py",
        "frontends/grove/rules/cliques.py",
        "validate/decode.py",
        "frontends/osmo/rules.py",
        "schedulers/kai/podgroup_rules.py",
        "topology/known.py",
        "validate/structure.py",
    }
