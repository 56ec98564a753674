"""Mutants of the modules that decide: small changes of the code that a test must notice. `make mutants` runs this.

mutmut makes the mutants, and runs for each mutant the tests that call its function. It needs the code in a folder
`src`, so .cache/mutants has a copy. docs/mutants.md lists the surviving mutants. tests/mutants.toml explains the
survivors that have the same meaning as the code.
"""

from __future__ import annotations

import argparse
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Iterable, Iterator
from fnmatch import fnmatch
from pathlib import Path
from random import Random
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[1]
WORK = ROOT / ".cache" / "mutants"
PAGE = ROOT / "docs" / "mutants.md"
REASONS = ROOT / "tests" / "mutants.toml"
SEED = 1

GROUPS = {
    "diff": "packwise.diff.*",
    "frontends/dynamo": "packwise.frontends.dynamo.*",
    "frontends/grove/rules": "packwise.frontends.grove.rules.*",
    "frontends/osmo/rules.py": "packwise.frontends.osmo.rules.*",
    "frontends/workloads": "packwise.frontends.workloads.*",
    "migrate": "packwise.migrate.*",
    "schedulers": "packwise.schedulers.*",
    "topology": "packwise.topology.*",
}
"""The modules that decide, by folder or file."""

TESTS = (
    "tests/cli/test_cli_crds.py",
    "tests/cli/test_cli_diff.py",
    "tests/cli/test_cli_fix.py",
    "tests/cli/test_cli_osmo.py",
    "tests/cli/test_cli_place.py",
    "tests/cli/test_cli_place_clusters.py",
    "tests/cli/test_cli_topologies.py",
    "tests/diff/test_comparable.py",
    "tests/diff/test_fields.py",
    "tests/frontends/dynamo",
    "tests/frontends/grove/test_advice.py",
    "tests/frontends/grove/test_rules.py",
    "tests/frontends/osmo",
    "tests/frontends/workloads",
    "tests/migrate",
    "tests/place",
    "tests/render/test_bindings.py",
    "tests/render/test_cases.py",
    "tests/render/test_kai_refusals.py",
    "tests/render/test_protection.py",
    "tests/render/test_scenarios.py",
    "tests/schedulers",
    "tests/test_explain.py",
    "tests/test_origins.py",
    "tests/topology",
)
"""Tests of cases and tables. They are fast and compare whole outputs."""

COPIES = {"src": "fn", "docs": "docs", "examples": "examples", "testdata": "testdata", "tests": "tests"}
"""The files that the tests need. The keys are their names in the copy for mutmut."""

SETTINGS = """\
[tool.pytest.ini_options]
testpaths = ["tests"]
pythonpath = ["."]
addopts = ["--strict-markers", "-p", "no:xdist", "-p", "no:cacheprovider"]
markers = ["client", "e2e", "slow"]

[tool.mutmut]
source_paths = ["src"]
only_mutate = {files}
also_copy = ["docs", "examples", "testdata"]
pytest_add_cli_args = ["-m", "not (client or e2e or slow or hypothesis)"]
pytest_add_cli_args_test_selection = {tests}
"""

HEAD = """\
# Mutants that survive

`make mutants` writes this page. A mutant is a copy of the code with one change, for example of a
comparison, a constant or an argument. For each mutant, the command runs the tests that reach the
change. If a test fails, the mutant is killed. If no test fails, it survives.
"""


class Survivor(NamedTuple):
    """A mutant that no test noticed: the removed and added lines. `reason` tells why its meaning is the same."""

    name: str
    taken: str
    put: str
    reason: str = ""

    @property
    def function(self) -> str:
        """Return the function that was changed, with its module."""
        return self.name.partition("__mutmut_")[0].replace(".x_", ".").replace(".xǁ", ".").replace("ǁ", ".")


def mutmut(*words: str, check: bool = True) -> str:
    """Return the output of mutmut. If mutmut fails, print the output: tests then fail even without a mutant."""
    command = [sys.executable, "-m", "mutmut", *words]
    done = subprocess.run(command, cwd=WORK, stdout=subprocess.PIPE, text=True, check=False)
    if check and done.returncode:
        sys.exit(done.stdout[-3000:])
    return done.stdout


def prepare(groups: Iterable[str]) -> None:
    """Copy the current code, its tests and their data, because mutmut would keep files of an earlier run."""
    shutil.rmtree(WORK, ignore_errors=True)
    WORK.mkdir(parents=True)
    for name, source in COPIES.items():
        shutil.copytree(ROOT / source, WORK / name, ignore=shutil.ignore_patterns("__pycache__"))
    files = [f"src/packwise/{group}" if group.endswith(".py") else f"src/packwise/{group}/*" for group in groups]
    (WORK / "pyproject.toml").write_text(SETTINGS.format(files=files, tests=list(TESTS)), encoding="utf-8")


def statuses() -> dict[str, str]:
    """Return the status of each mutant by its name."""
    lines = mutmut("results", "--all", "true").splitlines()
    return dict(line.strip().split(": ", 1) for line in lines if "__mutmut_" in line)


def choose(names: Iterable[str], groups: Iterable[str], sample: int, seed: int) -> list[str]:
    """Return about `sample` mutants, as many of each group.

    The same code and seed give the same mutants; 0 gives all.
    """
    by_group = [[name for name in sorted(names) if fnmatch(name, GROUPS[group])] for group in groups]
    if not sample:
        return [name for group in by_group for name in group]
    each = -(-sample // len(by_group))
    return [name for group in by_group for name in Random(seed).sample(group, min(each, len(group)))]  # noqa: S311


def survivor(name: str) -> Survivor:
    lines = mutmut("show", name).splitlines()
    taken, put = (
        " ".join(line[1:].strip() for line in lines if line.startswith(sign) and not line.startswith(sign * 3))
        for sign in "-+"
    )
    found = Survivor(name, taken, put)
    return found._replace(reason=reasons().get((found.function, taken, put), ""))


def reasons() -> dict[tuple[str, str, str], str]:
    """Return the reasons why mutants have the same meaning as the code, by function and change."""
    entries = tomllib.loads(REASONS.read_text(encoding="utf-8")).get("mutant", [])
    return {(entry["function"], entry["taken"], entry["put"]): entry["reason"] for entry in entries}


def page(found: dict[str, str], survivors: list[Survivor], sample: int) -> str:
    """Return the page with the number of killed mutants of each group, and the survivors."""
    which = f"{sample} mutants, with the same number in each group" if sample else "all mutants"
    text = f"{HEAD}\nThe table shows the results of {which}.\n\n| Modules | Mutants | Killed | |\n|---|---|---|---|\n"
    for group, pattern in GROUPS.items():
        all_of = [status for name, status in found.items() if fnmatch(name, pattern)]
        killed = sum(status in ("killed", "timeout") for status in all_of)
        folder = "" if group.endswith(".py") else "/"
        text += f"| `{group}{folder}` | {len(all_of)} | {killed} | {killed * 100 // max(len(all_of), 1)} % |\n"
    for title, part in (
        ("Survivors that do not change the behaviour", [one for one in survivors if one.reason]),
        ("Survivors that show a missing test", [one for one in survivors if not one.reason]),
    ):
        text += f"\n## {title}\n\n" + ("" if part else "None.\n") + "".join(lines(part))
    return text


def lines(survivors: Iterable[Survivor]) -> Iterator[str]:
    for one in survivors:
        change = f"`` {one.taken} `` becomes `` {one.put or '(nothing)'} ``"
        yield f"- `{one.function}`: {change}{one.reason and ': '}{one.reason}\n"


def main() -> int:
    """Run the mutants and write the page. Return 1 if fewer than nine in ten are killed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("groups", nargs="*", metavar="group", help=f"of {', '.join(GROUPS)}; else all of them")
    parser.add_argument("--sample", type=int, default=0, help="how many mutants, chosen at random with a fixed seed")
    parser.add_argument("--seed", type=int, default=SEED)
    parser.add_argument("--jobs", default="2")
    parser.add_argument("--only", default="*", help="a pattern of mutants' names")
    given = parser.parse_args()
    groups = given.groups or list(GROUPS)
    prepare(groups)
    # Without the name of a mutant, mutmut makes all mutants and runs the tests once, to learn which tests call which
    # functions.
    mutmut("run", "none", check=False)
    names = choose([name for name in statuses() if fnmatch(name, given.only)], groups, given.sample, given.seed)
    mutmut("run", "--max-children", given.jobs, *names)
    after = statuses()
    found = {name: after[name] for name in names}
    survivors = [survivor(name) for name, status in found.items() if status not in ("killed", "timeout")]
    if (groups, given.only, given.seed) == (list(GROUPS), "*", SEED):
        PAGE.write_text(page(found, survivors, given.sample), encoding="utf-8")
    killed = len(found) - len(survivors)
    same = sum(bool(one.reason) for one in survivors)
    print(f"{killed} of {len(found)} mutants killed; {same} do not change the behaviour")
    print("".join(lines([one for one in survivors if not one.reason])), end="")
    return int(killed * 10 < len(found) * 9)


if __name__ == "__main__":
    sys.exit(main())
