"""The parts of a release other than packwise's own code: licences, bills of materials, and an audit of the locks."""

from __future__ import annotations

import json
import tomllib
from typing import Any

import pytest
from cyclonedx.schema import SchemaVersion
from cyclonedx.validation.json import JsonStrictValidator

from krmfn.yamltext.reader import VERSION
from supplychain.audit import Audit, read_report, verdict
from supplychain.crates import BILL, CORE, bill_of_crates, licences_of_crates, locked_crates
from supplychain.licences import licence_of, licences
from supplychain.locks import RUNTIME, read_lock
from supplychain.sbom import DISTRIBUTIONS, KRMFN, PACKWISE, Distribution, bill_of_materials
from tests.places import ROOT, missing

LOCKED = [pin.name for pin in read_lock(RUNTIME)]


def bill(distribution: Distribution) -> dict[str, Any]:
    return json.loads(distribution.bill.read_text(encoding="utf-8"))


def scopes(distribution: Distribution) -> dict[str, set[str]]:
    """Return the names of a bill's libraries, by whether packwise needs them at run time."""
    components = bill(distribution)["components"]
    return {
        scope: {each["name"] for each in components if each["scope"] == scope} for scope in ("required", "optional")
    }


def test_the_page_allows_what_the_libraries_say_of_themselves() -> None:
    assert licences() == {name: licence_of(name) for name in LOCKED}


@pytest.mark.parametrize("distribution", DISTRIBUTIONS, ids=lambda each: each.bill.name)
def test_a_bill_is_what_the_lock_gives(distribution: Distribution) -> None:
    """`make sbom` rewrites the bill."""
    assert distribution.bill.read_text(encoding="utf-8") == bill_of_materials(distribution)


@pytest.mark.parametrize("distribution", DISTRIBUTIONS, ids=lambda each: each.bill.name)
def test_a_bill_follows_the_schema_of_cyclonedx(distribution: Distribution) -> None:
    error = JsonStrictValidator(SchemaVersion.V1_6).validate_str(distribution.bill.read_text(encoding="utf-8"))

    assert error is None


def test_a_bill_has_neither_time_nor_serial_number() -> None:
    for distribution in DISTRIBUTIONS:
        written = bill(distribution)
        assert ("serialNumber" in written, "timestamp" in written["metadata"]) == (False, False)


def test_the_bill_of_packwise_names_every_locked_library() -> None:
    assert scopes(PACKWISE) == {
        "required": {
            "annotated-types",
            "krmfn",
            "pydantic",
            "pydantic-core",
            "pyyaml",
            "typing-extensions",
            "typing-inspection",
        },
        "optional": {"cel-expr-python", "jinja2", "jsonpatch", "jsonpointer", "markupsafe", "shtab"},
    }
    assert {each["name"] for each in bill(PACKWISE)["components"]} == {"krmfn", *LOCKED}


def test_the_bill_of_krmfn_names_what_krmfn_asks_for() -> None:
    pydantic = {"annotated-types", "pydantic", "pydantic-core", "typing-extensions", "typing-inspection"}

    assert scopes(KRMFN) == {"required": {"pyyaml"} | pydantic, "optional": set()}


def test_a_bill_says_which_library_asks_for_which() -> None:
    edges = {each["ref"]: each.get("dependsOn", []) for each in bill(PACKWISE)["dependencies"]}
    names = {ref: [child.partition("@")[0].removeprefix("pkg:pypi/") for child in edges[ref]] for ref in edges}
    version = {each["name"]: each["purl"] for each in bill(PACKWISE)["components"]}

    assert names[version["jsonpatch"]] == ["jsonpointer"]
    assert names[version["krmfn"]] == ["pydantic", "pyyaml"]
    assert names[bill(PACKWISE)["metadata"]["component"]["purl"]] == [
        "cel-expr-python",
        "jinja2",
        "jsonpatch",
        "krmfn",
        "pydantic",
        "pyyaml",
        "shtab",
    ]


FOUND: dict[str, Any] = {"id": "PYSEC-1", "fix_versions": ["1.2", "1.3"]}
LIBRARIES: dict[str, dict[str, Any]] = {
    "clean": {"name": "a", "version": "1", "vulns": []},
    "vulnerable": {"name": "b", "version": "1", "vulns": [FOUND]},
    "unknown": {"name": "c", "skip_reason": "not in the database"},
}


@pytest.mark.parametrize(
    ("libraries", "code", "text"),
    [
        (["clean"], 0, "x.lock: 1 looked up, 0 vulnerable\n"),
        (
            ["clean", "vulnerable"],
            1,
            "x.lock: 2 looked up, 1 vulnerable\n  vulnerable: b 1: PYSEC-1, fixed in 1.2, 1.3\n",
        ),
        (["clean", "unknown"], 2, "x.lock: 1 looked up, 0 vulnerable\n  NOT AUDITED: c: not in the database\n"),
        (
            ["unknown", "vulnerable"],
            1,
            "x.lock: 1 looked up, 1 vulnerable\n  vulnerable: b 1: PYSEC-1, fixed in 1.2, 1.3\n"
            "  NOT AUDITED: c: not in the database\n",
        ),
    ],
)
def test_an_audit_says_what_is_vulnerable_and_what_was_not_looked_up(
    libraries: list[str], code: int, text: str
) -> None:
    stdout = json.dumps({"dependencies": [LIBRARIES[name] for name in libraries], "fixes": []})

    assert verdict([read_report("x.lock", stdout, "")]) == (code, text)


def test_an_audit_that_reaches_no_database_fails() -> None:
    audits = [read_report("x.lock", "", "Traceback\nConnectionError: no route\n"), Audit("y.lock", 3, (), ())]

    assert verdict(audits) == (
        2,
        "x.lock: 0 looked up, 0 vulnerable\n"
        "  NOT AUDITED: the database was not reached: ConnectionError: no route\n"
        "y.lock: 3 looked up, 0 vulnerable\n",
    )


def test_the_bill_of_the_native_core_names_every_locked_crate() -> None:
    """If cargo is on PATH, `make sbom` rewrites the bill."""
    components = json.loads(BILL.read_text(encoding="utf-8"))["components"]
    digests = {(each["name"], each["version"]): each["hashes"][0]["content"] for each in components}

    crates = [crate for crate in locked_crates() if crate.name != "krmfn-native"]
    assert digests == {(crate.name, crate.version): crate.digest for crate in crates}
    assert all(len(crate.digest) == 64 for crate in crates)


def test_the_bill_of_the_native_core_is_what_cargo_says() -> None:
    licences = licences_of_crates()
    if not licences:
        missing("cargo is not on PATH, which knows the licences of crates")

    assert BILL.read_text(encoding="utf-8") == bill_of_crates(licences)
    assert JsonStrictValidator(SchemaVersion.V1_6).validate_str(BILL.read_text(encoding="utf-8")) is None
    page = (ROOT / "docs" / "dependencies.md").read_text(encoding="utf-8")
    assert set(licences.values()) <= {
        "MIT",
        "Apache-2.0",
        "Apache-2.0 OR MIT",
        "MIT OR Apache-2.0",
        "(MIT OR Apache-2.0) AND Unicode-3.0",
        "Apache-2.0 WITH LLVM-exception",
    }
    odd = {name for name, licence in licences.items() if "MIT" not in licence} - {"krmfn-native"}
    assert [name for name in odd if f"`{name}`" not in page] == []


def test_both_parts_of_the_core_have_one_version() -> None:
    project = tomllib.loads((CORE / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert [crate.version for crate in locked_crates() if crate.name == "krmfn-native"] == [project["version"]]
    assert f"VERSION: u32 = {VERSION};" in (CORE / "src" / "lib.rs").read_text(encoding="utf-8")
