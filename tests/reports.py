"""The places in the code that report something to users, and the places that no case reaches.

As a plugin of pytest (`python -m pytest -p tests.reports`, in `make test`), this module records every such place that a
case reaches. A run of all tests fails if a place is not reached. The code is instrumented at import, without tracing,
so a run takes no more time than usual.
"""

from __future__ import annotations

import ast
import builtins
import json
import os
import re
import sys
from collections.abc import Generator, Iterator, Sequence
from functools import cache
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder, SourceFileLoader
from pathlib import Path
from types import CodeType, ModuleType
from typing import Any, NamedTuple

import pytest

from tests.places import ROOT

__all__ = ["Reports", "Site", "sites"]

PACKAGE = ROOT / "fn" / "packwise"
CLASSES = frozenset({"Breach", "Fault", "Finding", "Problem", "Refusal", "Result", "ShapeProblem", "Violation"})
"""Classes of reports. A place reports if it constructs one of them, or calls a function that makes one."""

CASES = frozenset({
    "builds", "cli", "diff", "discovery", "fleet", "frontends", "migrate", "render", "repositories", "schedulers",
    "validate",
})  # fmt: skip
"""The folders of tests that compare whole outputs of cases and tables."""

CRDS = re.compile(r"\bcrds: Path\b")
"""Pattern of a test that reads upstream's CRDs, which are not in the repository."""


class Site(NamedTuple):
    """A call that reports something: its place, and the beginning of its text."""

    file: str
    line: int
    column: int
    text: str


class Maker(NamedTuple):
    """A function that may make a report: the class that it returns, and the calls to which it passes `message`."""

    name: str
    returns: str
    hands_on: tuple[ast.Call, ...]


class Module(NamedTuple):
    """The calls and functions of a module, from one walk through its tree."""

    calls: tuple[ast.Call, ...]
    functions: tuple[Maker, ...]

    @classmethod
    def read(cls, path: Path) -> Module:
        nodes = list(ast.walk(ast.parse(path.read_text(encoding="utf-8"))))
        functions = [maker(node) for node in nodes if isinstance(node, ast.FunctionDef)]
        return cls(tuple([node for node in nodes if isinstance(node, ast.Call)]), tuple(functions))


class Reports(NamedTuple):
    """The functions that make reports, by module, and by the names under which other modules import them."""

    own: dict[Path, frozenset[str]]
    public: frozenset[str]

    @classmethod
    def of(cls, modules: dict[Path, Module]) -> Reports:
        """Return the makers in these modules.

        A maker returns one of CLASSES, or passes its parameter `message` to a maker.
        """
        found = cls(dict.fromkeys(modules, frozenset[str]()), frozenset())
        while True:
            own = {path: frozenset(found.makers(path, module)) for path, module in modules.items()}
            public = frozenset(name for names in own.values() for name in names if not name.startswith("_"))
            after = cls(own, public)
            if after == found:
                return found
            found = after

    def makers(self, path: Path, module: Module) -> Iterator[str]:
        """Yield the names of a module's functions and methods that make reports."""
        for function in module.functions:
            # `Finding.of` is found by its class.
            if function.name != "of" and (
                function.returns in CLASSES or any(self.is_report(path, call) for call in function.hands_on)
            ):
                yield function.name

    def is_report(self, path: Path, call: ast.Call) -> bool:
        """Return True if `call`, in the module at `path`, constructs a report or calls a maker."""
        function = call.func
        if isinstance(function, ast.Name):
            return function.id in CLASSES or function.id in self.public or function.id in self.own[path]
        if not isinstance(function, ast.Attribute):
            return False
        if function.attr == "of":
            return isinstance(function.value, ast.Name) and function.value.id in CLASSES
        return function.attr in self.public or function.attr in self.own[path]


def maker(function: ast.FunctionDef) -> Maker:
    returns = ast.unparse(function.returns) if function.returns is not None else ""
    arguments = function.args.posonlyargs + function.args.args + function.args.kwonlyargs
    if not any(argument.arg == "message" for argument in arguments):
        return Maker(function.name, returns, ())
    calls = [node for node in ast.walk(function) if isinstance(node, ast.Call) and "message" in names_in(node)]
    return Maker(function.name, returns, tuple(calls))


def names_in(call: ast.Call) -> set[str]:
    """Return the names among the arguments of a call."""
    given = [*call.args, *(keyword.value for keyword in call.keywords)]
    return {argument.id for argument in given if isinstance(argument, ast.Name)}


def site(path: Path, call: ast.Call) -> Site:
    return Site(path.relative_to(ROOT).as_posix(), call.lineno, call.col_offset, ast.unparse(call)[:100])


@cache
def read() -> tuple[Reports, frozenset[Site]]:
    """Return the functions of packwise that make reports, and every place that reports."""
    modules = {path: Module.read(path) for path in sorted(PACKAGE.rglob("*.py"))}
    reports = Reports.of(modules)
    found = [
        site(path, call) for path, module in modules.items() for call in module.calls if reports.is_report(path, call)
    ]
    return reports, frozenset(found)


def sites() -> frozenset[Site]:
    """Return every place in packwise that reports something."""
    return read()[1]


class _Noting(ast.NodeTransformer):
    """A change of the tree by which reporting calls record themselves: `f(x)` becomes `(note(site), f(x))[1]`."""

    def __init__(self, reports: Reports, path: Path) -> None:
        self._reports, self._path = reports, path

    def visit_Call(self, node: ast.Call) -> ast.expr:
        place = site(self._path, node) if self._reports.is_report(self._path, node) else None
        self.generic_visit(node)
        if place is None:
            return node
        noting: ast.expr = ast.Call(ast.Name("__note_report__", ast.Load()), [ast.Constant(json.dumps(place))], [])
        both = ast.Subscript(ast.Tuple([noting, node], ast.Load()), ast.Constant(1), ast.Load())
        return ast.copy_location(ast.fix_missing_locations(ast.copy_location(both, node)), node)


class _Loader(SourceFileLoader):
    """A loader that compiles a module with its reports recorded. It neither reads nor writes the cache of bytecode."""

    def __init__(self, name: str, path: str, reports: Reports) -> None:
        super().__init__(name, path)
        self._reports = reports

    def get_code(self, fullname: str) -> CodeType:
        path = Path(self.get_filename(fullname))
        tree = _Noting(self._reports, path).visit(ast.parse(self.get_data(str(path))))
        return compile(ast.fix_missing_locations(tree), str(path), "exec", dont_inherit=True)


class _Finder(MetaPathFinder):
    """Import modules without reports as usual."""

    def __init__(self, reports: Reports, files: set[str]) -> None:
        self._reports, self._files = reports, files

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        spec = PathFinder.find_spec(fullname, path, target) if fullname.partition(".")[0] == "packwise" else None
        if spec is not None and spec.origin in self._files:
            spec.loader = _Loader(fullname, spec.origin, self._reports)
        return spec


def is_case(item: pytest.Item) -> bool:
    """Return True for a test of the repository's cases and goldens. Tests of laws and of clients are not included."""
    folder = item.path.relative_to(ROOT / "tests").parts[0]
    others = ("hypothesis", "slow", "client")
    return folder in CASES and not any(map(item.get_closest_marker, others)) and not reads_crds(item.path)


@cache
def reads_crds(path: Path) -> bool:
    return CRDS.search(path.read_text(encoding="utf-8")) is not None


class _Plugin:
    """The places that a process reaches.

    If other processes run the tests, this process joins their places and reads no code.
    """

    def __init__(self, *, runs_tests: bool) -> None:
        self._seen = set[str]()
        self._all = set[str]()
        self._in_case = False
        self._missed: list[str] | None = None
        if runs_tests:
            reports, found = read()
            self._all = {json.dumps(place) for place in found}
            builtins.__dict__["__note_report__"] = self._note
            sys.meta_path.insert(0, _Finder(reports, {str(ROOT / place.file) for place in found}))

    def _note(self, place: str) -> None:
        if self._in_case:
            self._seen.add(place)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Generator[None, object, object]:
        self._in_case = is_case(item)
        result = yield
        self._in_case = False
        return result

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: Any) -> None:
        seen, found = getattr(node, "workeroutput", {}).get("reports", ((), ()))
        self._seen |= set(seen)
        self._all |= set(found)

    @pytest.hookimpl(trylast=True)
    def pytest_sessionfinish(self, session: pytest.Session, exitstatus: int) -> None:
        output = getattr(session.config, "workeroutput", None)
        if output is not None:
            output["reports"] = (sorted(self._seen), sorted(self._all))
            return
        missed = sorted(Site(*json.loads(place)) for place in self._all - self._seen)
        self._missed = [f"{place.file}:{place.line}: {place.text}" for place in missed]
        if self._missed and exitstatus == pytest.ExitCode.OK:
            session.exitstatus = pytest.ExitCode.TESTS_FAILED

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        if self._missed:
            terminalreporter.section("places that report something, and have no case")
            for place in self._missed:
                terminalreporter.line(place)


@pytest.hookimpl(tryfirst=True)
def pytest_load_initial_conftests(early_config: pytest.Config) -> None:
    """Instrument packwise before a conftest imports it."""
    distributes = bool(getattr(early_config.known_args_namespace, "numprocesses", None))
    is_worker = "PYTEST_XDIST_WORKER" in os.environ
    early_config.pluginmanager.register(_Plugin(runs_tests=is_worker or not distributes))
