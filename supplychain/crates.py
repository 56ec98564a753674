"""The bill of materials of krmfn's native core, in CycloneDX, from the lock of its crates: `make sbom` writes it.

It names every crate of `Cargo.lock` with its digest, including crates that are only needed to build the core. Like the
bills of the other wheels, it has no time, no serial number and no path of a machine.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import tomllib
from typing import Any, NamedTuple

from packageurl import PackageURL

from supplychain.locks import ROOT
from supplychain.sbom import BOM, COMPONENT, JSON, LICENCES, MODEL

__all__ = ["BILL", "CORE", "Crate", "bill_of_crates", "licences_of_crates", "locked_crates", "main"]

CORE = ROOT / "fn" / "krmfn-native"
BILL = CORE / "krmfn-native.cdx.json"


class Crate(NamedTuple):
    """An entry of the lock. `digest` is the SHA-256 of the archive on crates.io, or "" for the core itself."""

    name: str
    version: str
    digest: str
    needs: tuple[str, ...]


def locked_crates() -> list[Crate]:
    """Return the crates of `Cargo.lock`, sorted by name as in the file."""
    lock = tomllib.loads((CORE / "Cargo.lock").read_text(encoding="utf-8"))
    return [
        Crate(each["name"], each["version"], each.get("checksum", ""), tuple(each.get("dependencies", ())))
        for each in lock["package"]
    ]


def licences_of_crates() -> dict[str, str]:
    """Return the SPDX expression of each locked crate from the crate's own metadata. Return {} if cargo is missing."""
    cargo = shutil.which("cargo")
    if cargo is None:
        return {}
    command = [cargo, "metadata", "--locked", "--format-version", "1", "--manifest-path", str(CORE / "Cargo.toml")]
    done = subprocess.run(command, capture_output=True, check=True, env=os.environ)  # noqa: S603
    return {each["name"]: each["license"].replace("/", " OR ") for each in json.loads(done.stdout)["packages"]}


def bill_of_crates(licences: dict[str, str]) -> str:
    """Return the bill as JSON, with the licence of each crate."""
    components = {crate.name: _component(crate, licences[crate.name]) for crate in locked_crates()}
    bom = BOM.Bom()
    bom.serial_number = bom.metadata.timestamp = None
    bom.metadata.component = components["krmfn-native"]
    bom.components = [component for name, component in components.items() if name != "krmfn-native"]
    for crate in locked_crates():
        bom.register_dependency(components[crate.name], [components[name] for name in crate.needs])
    return JSON.JsonV1Dot6(bom).output_as_string(indent=2) + "\n"


def _component(crate: Crate, licence: str) -> Any:
    purl = PackageURL(type="cargo", name=crate.name, version=crate.version)
    hashes = [MODEL.HashType(alg=MODEL.HashAlgorithm.SHA_256, content=crate.digest)] if crate.digest else []
    return COMPONENT.Component(
        name=crate.name,
        version=crate.version,
        purl=purl,
        bom_ref=purl.to_string(),
        hashes=hashes,
        licenses=[LICENCES.LicenseFactory().make_from_string(licence)],
        type=COMPONENT.ComponentType.LIBRARY,
    )


def main() -> None:
    """Write the bill if cargo is on PATH, because only cargo knows the licences."""
    licences = licences_of_crates()
    if licences:
        BILL.write_text(bill_of_crates(licences), encoding="utf-8")


if __name__ == "__main__":
    main()
