"""Wheels of krmfn's native core, for the platforms for which this machine can build: `make release-check`.

One wheel works with every CPython from 3.11 on (abi3). The wheel for ARM64 is a cross build with the tools of `make
native-tools`.
"""

from __future__ import annotations

import os
import platform
import shutil
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

from supplychain.locks import ROOT

__all__ = ["CRATE", "TARGETS", "Target", "build_wheel", "missing_tools"]

CRATE = ROOT / "fn" / "krmfn-native"


class Target(NamedTuple):
    """A platform: its names in Rust and in Linux, and the linker for builds on another platform."""

    name: str
    machine: str
    linker: str

    @property
    def is_here(self) -> bool:
        """Return True for the platform of this machine."""
        return sys.platform == "linux" and platform.machine() == self.machine


TARGETS = (
    Target("x86_64-unknown-linux-gnu", "x86_64", "x86_64-linux-gnu-gcc"),
    Target("aarch64-unknown-linux-gnu", "aarch64", "aarch64-linux-gnu-gcc"),
)


def missing_tools(target: Target) -> str:
    """Return the missing tools for a build for `target`, with the command that installs them, or "" if none
    is missing.
    """
    if shutil.which("cargo") is None:
        return "cargo is not on PATH"
    if target.is_here:
        return ""
    command = ["rustc", "--print", "sysroot"]
    asked = subprocess.run(command, capture_output=True, text=True, check=False, cwd=CRATE)  # noqa: S603
    if not (Path(asked.stdout.strip()) / "lib" / "rustlib" / target.name / "lib").is_dir():
        return f"Rust's standard library for {target.name} is not installed: make native-tools"
    return "" if shutil.which(target.linker) is not None else f"{target.linker} is not on PATH: make native-tools"


def build_wheel(target: Target, folder: Path) -> Path:
    """Build the wheel for `target` into `folder` and return its path. Raise CalledProcessError if the build fails."""
    before = set(folder.glob("krmfn_native-*.whl"))
    command = [str(Path(sys.executable).with_name("maturin")), "build", "--quiet", "--release", "--out", str(folder)]
    command += [] if target.is_here else ["--target", target.name]
    linker = f"CARGO_TARGET_{target.name.upper().replace('-', '_')}_LINKER"
    home = os.environ.get("CARGO_HOME", str(Path.home() / ".cargo"))
    # These are the values in the Makefile. With other values, cargo would build the crates again.
    defaults = {
        "CARGO_TARGET_DIR": str(ROOT / ".cache" / "cargo"),
        "RUSTFLAGS": f"--remap-path-prefix={home}=/cargo",
        "SOURCE_DATE_EPOCH": "1767225600",
    }
    environment = {**defaults, **os.environ} | ({} if target.is_here else {linker: target.linker})
    subprocess.run(command, cwd=CRATE, env=environment, check=True)  # noqa: S603
    (wheel,) = set(folder.glob("krmfn_native-*.whl")) - before
    return wheel
