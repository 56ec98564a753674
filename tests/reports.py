"""The places in the code that report something to users, and those that no case comes by.

As a plugin of pytest (`python -m pytest -p tests.reports`, in `make test`) it notes every place that is evaluated
while a case runs, and a run of all tests fails where a place is left. The code is instrumented as it is imported,
without tracing, so that a run costs what it costs anyway.
"""

from __future__ import annotations

import ast
import builtins
import json
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
"""What becomes a result: each is reported where it is constructed, or where a function is called that makes it."""

CASES = frozenset({
    "cli", "diff", "discovery", "fleet", "frontends", "migrate", "render", "repositories", "schedulers", "validate",
})  # fmt: skip
"""The folders of tests that assert whole outputs of cases and tables."""

CRDS = re.compile(r"\bcrds: Path\b")
"""What tests say that read upstream's CRDs, which are not in the repository."""


class Site(NamedTuple):
    """A call that reports something: where it is, and its beginning."""

    file: str
    line: int
    column: int
    text: str


class Reports(NamedTuple):
    """The functions that make what is reported: those of each module, and by name those that others import."""

    own: dict[Path, frozenset[str]]
    public: frozenset[str]

    @classmethod
    def read(cls) -> Reports:
        """Makers return one of CLASSES, or hand on a parameter `message` to what makes one."""
        trees = {path: parsed(path) for path in sorted(PACKAGE.rglob("*.py"))}
        found = cls(dict.fromkeys(trees, frozenset[str]()), frozenset())
        while True:
            own = {path: frozenset(found.makers(path, tree)) for path, tree in trees.items()}
            public = frozenset(name for names in own.values() for name in names if not name.startswith("_"))
            after = cls(own, public)
            if after == found:
                return found
            found = after

    def makers(self, path: Path, tree: ast.AST) -> Iterator[str]:
        """The names of a module's functions and methods that make what is reported."""
        for node in ast.walk(tree):
            if isinstance(node, ast.FunctionDef):
                returns = ast.unparse(node.returns) if node.returns is not None else ""
                arguments = node.args.posonlyargs + node.args.args + node.args.kwonlyargs
                hands_on = any(argument.arg == "message" for argument in arguments) and any(
                    isinstance(call, ast.Call) and self.is_report(path, call) and "message" in names_in(call)
                    for call in ast.walk(node)
                )
                # `Finding.of` goes by its class.
                if (returns in CLASSES or hands_on) and node.name != "of":
                    yield node.name

    def is_report(self, path: Path, call: ast.Call) -> bool:
        """Whether `call`, in the module at `path`, constructs what is reported or calls a maker."""
        function = call.func
        if isinstance(function, ast.Name):
            return function.id in CLASSES | self.public | self.own[path]
        if not isinstance(function, ast.Attribute):
            return False
        if function.attr == "of":
            return isinstance(function.value, ast.Name) and function.value.id in CLASSES
        return function.attr in self.public | self.own[path]


@cache
def parsed(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


def names_in(call: ast.Call) -> set[str]:
    """The names among the arguments of a call, as they are."""
    given = [*call.args, *(keyword.value for keyword in call.keywords)]
    return {argument.id for argument in given if isinstance(argument, ast.Name)}


def site(path: Path, call: ast.Call) -> Site:
    return Site(path.relative_to(ROOT).as_posix(), call.lineno, call.col_offset, ast.unparse(call)[:100])


@cache
def sites() -> frozenset[Site]:
    """Every place in packwise that reports something."""
    reports = Reports.read()
    calls = [(path, node) for path in reports.own for node in ast.walk(parsed(path)) if isinstance(node, ast.Call)]
    return frozenset([site(path, call) for path, call in calls if reports.is_report(path, call)])


class _Noting(ast.NodeTransformer):
    """Calls that report note themselves: `f(x)` becomes `(note(site), f(x))[1]`."""

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
    """Compiles a module with its reports noted; the cache of bytecode is neither read nor written."""

    def __init__(self, name: str, path: str, reports: Reports) -> None:
        super().__init__(name, path)
        self._reports = reports

    def get_code(self, fullname: str) -> CodeType:
        path = Path(self.get_filename(fullname))
        tree = _Noting(self._reports, path).visit(ast.parse(self.get_data(str(path))))
        return compile(ast.fix_missing_locations(tree), str(path), "exec", dont_inherit=True)


class _Finder(MetaPathFinder):
    def __init__(self, reports: Reports) -> None:
        self._reports = reports

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        spec = PathFinder.find_spec(fullname, path, target) if fullname.partition(".")[0] == "packwise" else None
        if spec is not None and spec.origin is not None and Path(spec.origin) in self._reports.own:
            spec.loader = _Loader(fullname, spec.origin, self._reports)
        return spec


def is_case(item: pytest.Item) -> bool:
    """True for a test of the repository's own cases and goldens: neither a law, nor a client."""
    folder = item.path.relative_to(ROOT / "tests").parts[0]
    others = ("hypothesis", "slow", "client")
    return folder in CASES and not any(map(item.get_closest_marker, others)) and not reads_crds(item.path)


@cache
def reads_crds(path: Path) -> bool:
    return CRDS.search(path.read_text(encoding="utf-8")) is not None


class _Plugin:
    """The places that one process comes by; the one that distributes the tests joins those of the others."""

    def __init__(self) -> None:
        self._seen = set[str]()
        self._in_case = False
        self._missed: list[str] | None = None
        builtins.__dict__["__note_report__"] = self._note
        sys.meta_path.insert(0, _Finder(Reports.read()))

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
        self._seen |= set(getattr(node, "workeroutput", {}).get("reports", ()))

    @pytest.hookimpl(trylast=True)
    def pytest_sessionfinish(self, session: pytest.Session, exitstatus: int) -> None:
        output = getattr(session.config, "workeroutput", None)
        if output is not None:
            output["reports"] = sorted(self._seen)
            return
        seen = {Site(*json.loads(place)) for place in self._seen}
        self._missed = [f"{place.file}:{place.line}: {place.text}" for place in sorted(sites() - seen)]
        if self._missed and exitstatus == pytest.ExitCode.OK:
            session.exitstatus = pytest.ExitCode.TESTS_FAILED

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        if self._missed:
            terminalreporter.section("places that report something, and have no case")
            for place in self._missed:
                terminalreporter.line(place)


@pytest.hookimpl(tryfirst=True)
def pytest_load_initial_conftests(early_config: pytest.Config) -> None:
    """Instruments packwise before a conftest imports it."""
    early_config.pluginmanager.register(_Plugin())
