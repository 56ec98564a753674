"""The bills of materials of the two wheels, in CycloneDX: `make sbom` writes them next to the code.

They are made from the lock of the libraries at run time and from the two `pyproject.toml`. They have no time and no
serial number, so the same tree gives the same bytes. The wheels contain them in `.dist-info/sboms/` (PEP 770).
"""

from __future__ import annotations

import re
import tomllib
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple

from packageurl import PackageURL

from supplychain.licences import licence_of
from supplychain.locks import ROOT, RUNTIME, Pin, read_lock

__all__ = ["DISTRIBUTIONS", "Distribution", "bill_of_materials", "main"]


# The library's decorators hide the types of its own model.
LICENCES: Any = import_module("cyclonedx.contrib.license.factories")
MODEL: Any = import_module("cyclonedx.model")
BOM: Any = import_module("cyclonedx.model.bom")
COMPONENT: Any = import_module("cyclonedx.model.component")
JSON: Any = import_module("cyclonedx.output.json")


class Distribution(NamedTuple):
    """A wheel of this repository: its folder, and the path of its bill."""

    folder: Path
    bill: Path

    def project(self) -> dict[str, Any]:
        """Return the table `project` of its `pyproject.toml`."""
        return tomllib.loads((self.folder / "pyproject.toml").read_text(encoding="utf-8"))["project"]


KRMFN = Distribution(ROOT / "fn" / "krmfn", ROOT / "fn" / "krmfn" / "krmfn.cdx.json")
PACKWISE = Distribution(ROOT, ROOT / "fn" / "packwise.cdx.json")
DISTRIBUTIONS = (KRMFN, PACKWISE)

_NAME = re.compile(r"[A-Za-z0-9.-]+")


def bill_of_materials(distribution: Distribution) -> str:
    """Return the bill of a wheel: its libraries at run time, including extras, with locked versions and
    dependencies.
    """
    project = distribution.project()
    pins = [*read_lock(RUNTIME), _krmfn()]
    within = _required_libraries(project["name"], pins)
    required = _required_libraries(project["name"], _without_extras(pins))
    root = _component(project["name"], project["version"], project["license"], type=COMPONENT.ComponentType.APPLICATION)
    bom = BOM.Bom()
    bom.serial_number = bom.metadata.timestamp = None
    bom.metadata.component = root
    components = {project["name"]: root}
    for pin in pins:
        if pin.name in within:
            scope = COMPONENT.ComponentScope("required" if pin.name in required else "optional")
            components[pin.name] = _component(pin.name, pin.version, _licence(pin.name), scope=scope)
    bom.components = [component for component in components.values() if component is not root]
    for name, component in components.items():
        children = [pin.name for pin in pins if name in pin.parents]
        bom.register_dependency(component, [components[child] for child in children])
    return JSON.JsonV1Dot6(bom).output_as_string(indent=2) + "\n"


def _krmfn() -> Pin:
    """Return the pin of krmfn.

    No lock has it, because this repository builds krmfn, and packwise's wheel contains it.
    """
    return Pin("krmfn", KRMFN.project()["version"], frozenset({"packwise"}))


def _without_extras(pins: list[Pin]) -> list[Pin]:
    """Return the pins of an installation without the extras of the two distributions."""
    asked = {each["name"]: _names(each["dependencies"]) for each in (KRMFN.project(), PACKWISE.project())}
    asked["packwise"] |= {"krmfn"} | asked["krmfn"]
    return [
        Pin(name, version, frozenset(parent for parent in parents if parent not in asked or name in asked[parent]))
        for name, version, parents in pins
    ]


def _names(requirements: list[str]) -> set[str]:
    """Return the names of the requirements. Requirements for only some platforms are skipped."""
    return {match[0] for line in requirements if ";" not in line and (match := _NAME.match(line))}


def _required_libraries(root: str, pins: list[Pin]) -> set[str]:
    """Return the libraries that a distribution requires, directly or through other libraries."""
    reached = {root}
    while more := {pin.name for pin in pins if pin.parents & reached} - reached:
        reached |= more
    return reached - {root}


def _licence(name: str) -> str:
    return KRMFN.project()["license"] if name == "krmfn" else licence_of(name)


def _component(name: str, version: str, licence: str, **more: Any) -> Any:
    purl = PackageURL(type="pypi", name=name, version=version)
    licences = [LICENCES.LicenseFactory().make_from_string(licence)]
    return COMPONENT.Component(
        name=name, version=version, purl=purl, bom_ref=purl.to_string(), licenses=licences, **more
    )


def main() -> None:
    """Write both bills."""
    for distribution in DISTRIBUTIONS:
        distribution.bill.write_text(bill_of_materials(distribution), encoding="utf-8")


if __name__ == "__main__":
    main()
