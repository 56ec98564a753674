"""The code agrees with docs/architecture.md: imports point one way, and no run pays for heavy modules."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import pytest

from krmfn.yamltext.reader import CORE
from packwise.cli.command_line import COMMANDS
from packwise.objects import kinds
from packwise.objects.kinds import GANGS
from packwise.revisions.grove import REVISIONS
from tests.places import NO_CORE, ROOT

FN = ROOT / "fn"
MODULES = sorted(FN.rglob("*.py"))

LAYERS = (
    ("answer",),
    ("console", "extras", "findings", "globs", "lenient", "nearest", "wording"),
    ("kubernetes",),
    ("fields", "objects"),
    ("revisions",),
    ("keys", "validate"),
    ("pod_rules", "topology"),
    ("pod_templates",),
    ("placement",),
    ("settings",),
    ("frontends", "schedulers", "generated", "discovery"),
    ("pipeline",),
    ("function",),
    ("inputs",),
    ("build", "output"),
    ("render", "rules", "schema"),
    ("place",),
    ("check",),
    ("doctor", "explain", "init", "topologies"),
    ("diff",),
    ("comment", "fleet", "migrate", "report"),
    ("cli",),
    ("commands",),
    ("__main__",),
)
"""The parts of packwise. A part imports only parts of earlier lines, even in lazy imports and imports for types."""

OMISSIONS = tuple(f"packwise.frontends.{name}.omissions" for name in ("grove", "osmo", "dynamo"))

RANK = {part: rank for rank, parts in enumerate(LAYERS) for part in parts}


def name_of(module: Path) -> str:
    parts = module.relative_to(FN).with_suffix("").parts
    return ".".join(part for part in parts if part != "__init__")


@dataclass(frozen=True, slots=True)
class Code:
    """Facts about a module for the tests below. Places are line numbers."""

    imports: tuple[str, ...]
    """Every module that the file imports, including imports for types and within functions."""
    functions: dict[str, int]
    names: dict[str, int]
    """The first line of each name of a function, parameter or variable."""
    docstrings: dict[int, str]
    """The docstrings of the module, of its classes and functions, and of attributes, by line."""
    strings: frozenset[str]
    fields: tuple[frozenset[str], ...]
    """The annotated names of each class."""
    replaced: tuple[tuple[int, frozenset[str]], ...]
    """The fields in each call of `replace`, with its line."""


@cache
def code(module: Path) -> Code:
    """Return the facts about a module from one walk through its tree. All tests share them."""
    imports: list[str] = []
    functions: dict[str, int] = {}
    names: dict[str, int] = {}
    docstrings: dict[int, str] = {}
    strings = set[str]()
    fields: list[frozenset[str]] = []
    replaced: list[tuple[int, frozenset[str]]] = []
    for node in ast.walk(ast.parse(module.read_text(encoding="utf-8"))):
        match node:
            case ast.Name(id=name) | ast.arg(arg=name):
                names.setdefault(name, node.lineno)
            case ast.Constant(value=str(text)):
                strings.add(text)
            case ast.Expr(value=ast.Constant(value=str(text))):
                docstrings[node.lineno] = text
            case ast.FunctionDef(name=name):
                functions[name] = node.lineno
                names.setdefault(name, node.lineno)
            case ast.ClassDef(body=body):
                annotated = [each.target for each in body if isinstance(each, ast.AnnAssign)]
                fields.append(frozenset(each.id for each in annotated if isinstance(each, ast.Name)))
            case (
                ast.Call(func=ast.Attribute(attr="replace"), args=[], keywords=changed)
                | ast.Call(func=ast.Name(id="replace"), args=[_], keywords=changed)
            ):
                replaced.append((node.lineno, frozenset(each.arg for each in changed if each.arg is not None)))
            case ast.Import(names=aliases):
                imports += [alias.name for alias in aliases]
            case ast.ImportFrom(names=aliases):
                assert node.level == 0, f"{module}: a relative import hides where it points"
                imports += [f"{node.module}", *(f"{node.module}.{alias.name}" for alias in aliases)]
            case _:
                pass
    return Code(tuple(imports), functions, names, docstrings, frozenset(strings), tuple(fields), tuple(replaced))


def within(name: str, package: str) -> bool:
    return name == package or name.startswith(package + ".")


def part_of(name: str) -> str | None:
    """Return the part of packwise that has the module, or None for other modules."""
    first, _, rest = name.partition(".")
    return rest.partition(".")[0] or None if first == "packwise" else None


def test_every_part_imports_earlier_parts_only() -> None:
    parts = {part for module in MODULES if (part := part_of(name_of(module))) is not None}
    wrong = [
        f"{name_of(module)} imports {imported}"
        for module in MODULES
        if (part := part_of(name_of(module))) is not None
        for imported in code(module).imports
        if (other := part_of(imported)) in RANK and other != part and RANK[other] >= RANK[part]
    ]

    assert parts == set(RANK)
    assert wrong == []


LARGEST_CIRCLE = 5
"""The largest permitted number of modules that import one another in a circle. Lower it when you open a circle."""


def imported_modules() -> dict[str, set[str]]:
    """Return the modules of this repository that each module imports, including imports within functions
    and for types.
    """
    known = {name_of(module) for module in MODULES}

    def is_way(name: str, imports: Collection[str]) -> bool:
        """Return True if `name` is a package that only modules are imported from."""
        below = {each for each in imports if each.rpartition(".")[0] == name}
        return bool(below) and below <= known

    return {
        name_of(module): {each for each in imports if each in known and not is_way(each, imports)} - {name_of(module)}
        for module in MODULES
        for imports in [set(code(module).imports)]
    }


def circles(imports: Mapping[str, set[str]]) -> list[list[str]]:
    """Return the groups of modules that all reach one another through imports, by Tarjan's algorithm."""
    number: dict[str, int] = {}
    lowest: dict[str, int] = {}
    path: list[str] = []
    groups: list[list[str]] = []

    def visit(name: str) -> None:
        number[name] = lowest[name] = len(number)
        path.append(name)
        for other in imports[name]:
            if other not in number:
                visit(other)
            if other in path:
                lowest[name] = min(lowest[name], lowest[other])
        if lowest[name] == number[name]:
            at = path.index(name)
            groups.append(path[at:])
            del path[at:]

    for name in imports:
        if name not in number:
            visit(name)
    return groups


def test_no_circle_of_modules_is_large() -> None:
    """To understand one module of a circle, you have to read all of them."""
    largest = max(circles(imported_modules()), key=len)

    assert len(largest) <= LARGEST_CIRCLE, f"one circle is {', '.join(sorted(largest))}"


def test_the_sdk_imports_nothing_of_packwise() -> None:
    of_sdk = [module for module in MODULES if within(name_of(module), "krmfn")]

    assert [
        name_of(module) for module in of_sdk if any(within(name, "packwise") for name in code(module).imports)
    ] == []


def test_only_the_registry_lists_front_ends_and_schedulers() -> None:
    """Every other module imports from at most one of them, its own."""

    shared = {"frontend", "node_selection", "pod_keys", "simulation", "wording"}
    of_side = {
        side: {path.stem for path in (FN / "packwise" / side).iterdir() if path.stem.isidentifier()} - shared
        for side in ("frontends", "schedulers")
    }

    def packages(module: Path) -> set[tuple[str, ...]]:
        steps = {tuple(name.split(".")[1:3]) for name in code(module).imports if name.count(".") > 1}
        return {(side, part) for side, part in steps if part in of_side.get(side, set())}

    assert [name_of(module) for module in MODULES if len(packages(module)) > 1] == ["packwise.pipeline.registry"]


def test_no_step_receives_the_selection() -> None:
    """Steps have parameters instead. Only the pipeline makes the selection and reads its fields."""
    selection = "packwise.pipeline.selection.Selection"
    users = {part_of(name_of(module)) for module in MODULES if selection in code(module).imports}

    assert users == {"migrate", "pipeline", "topologies"}


def test_nothing_asks_for_the_name_of_a_revision() -> None:
    """Differences are data. Only the records and the fields of the configuration spell the names of revisions."""
    spelt = [
        f"{name_of(module)}: {name}"
        for module in MODULES
        if not any(within(name_of(module), package) for package in ("packwise.revisions", "packwise.settings"))
        for name in sorted(code(module).strings & set(REVISIONS))
    ]

    assert spelt == []


NAMING_GANGS = {
    "packwise.inputs.resources": "kubectl asks for resources by their plural names, one of which is that of a field",
    "packwise.cli.command_line": "an example of its help explains a PodGang",
    "packwise.commands.explain": "examples of its help explain a PodGang",
    "packwise.init.package": "writes the settings for KAI alone, and what KAI's pod-grouper makes",
    "packwise.init.run": "refuses options that go with Grove where KAI makes the PodGroups",
    "packwise.migrate.rewrite": "tells what PodGangs become from one release of Grove to the next",
    "packwise.place.cluster": "the file of a scene has jobs in the words of KAI, which is simulated",
}
"""Modules that name one kind of gang, each with the reason."""


COMMAND_PARTS = frozenset(part for line in LAYERS[LAYERS.index(("inputs",)) :] for part in line)
"""The parts above the pipeline: input, output, engines of commands, and the command line."""


def test_no_command_names_a_kind_of_gang() -> None:
    """Commands read the row of a kind. They know neither its name nor its fields."""
    fields = {
        name
        for gang in [kind.gang for kind in GANGS]
        for name in (*gang.pod_lists, *gang.tree_lists, *sum(gang.group_lists, ()), gang.topology_annotation)
    }
    words = {kind.name for kind in GANGS} | fields - {""}
    spelt = re.compile(rf"\b(?:{'|'.join(sorted(words))})s?\b")
    constants = {f"packwise.objects.kinds.{name}" for name, kind in vars(kinds).items() if kind in GANGS}

    naming = {
        name_of(module)
        for module in MODULES
        if part_of(name_of(module)) in COMMAND_PARTS
        if constants & set(code(module).imports)
        or any(map(spelt.search, code(module).strings - set(code(module).docstrings.values())))
    }

    assert naming == set(NAMING_GANGS)


def test_names_are_nouns_of_the_domain() -> None:
    """A name such as `found` or `told` does not describe the value. docs/glossary.md has the words."""
    leftovers = {"found", "given", "made", "one", "said", "some", "stands", "told"}
    named = [
        f"{name_of(module)}:{line} {name}"
        for module in MODULES
        for name, line in code(module).names.items()
        if name.strip("_") in leftovers
    ]

    assert named == []


_IRREGULAR = (
    r"built|chosen|drawn|found|given|held|hidden|kept|known|left|lost|made|met|said|sent|shown|taken|told|unknown|"
    r"unread|unseen|written"
)
_AFTER = "above|as|at|before|by|for|from|in|of|on|to|with|within|without"
_PARTICIPLE = re.compile(rf"_*(?!(?:feed|need|seed)\b)(?:[a-z]{{2,}}ed|{_IRREGULAR})(?:_(?:{_AFTER}))*_*")
"""Names such as `listed` and `found_in`. A function's name should be a verb, or the noun that it returns."""

PARTICIPLES = {
    "packwise.frontends.grove.podcliqueset.preferred": "the name of Grove's own field",
    "packwise.frontends.grove.podcliqueset.required": "the name of Grove's own field",
}
"""Functions with a participle as their name, each with the reason."""


def test_a_function_is_a_verb_or_the_noun_it_returns() -> None:
    named = {
        f"{name_of(module)}.{name}"
        for module in MODULES
        for name in code(module).functions
        if _PARTICIPLE.fullmatch(name)
    }

    assert named == set(PARTICIPLES)


_BARE = re.compile(
    r"_(?:of(?:_.*)?|in|on|at|by|to|from|with|without|within|beside|above|below|behind|around|about|after|before|over"
    r"|through|along|apart|elsewhere|somewhere|alike|alone|once|twice|otherwise|outside|inside)"
)
"""Names such as `_of_gangs` and `_beside`. A preposition or an adverb does not name what a function does or returns."""


def test_a_private_function_is_no_preposition() -> None:
    named = [
        f"{name_of(module)}:{line} {name}"
        for module in MODULES
        for name, line in code(module).functions.items()
        if _BARE.fullmatch(name)
    ]

    assert named == []


_LONE = re.compile(
    r"_*(?:about|above|after|around|at|before|below|beside|by|from|in|instead|never|through|towards|what|where|why"
    r"|with|within|without"
    r"|absent|ambiguous|available|brief|coherent|composite|deep(?:er|est)?|earlier|effective|existing|experimental"
    r"|few|fitting|foreign|further|gone|greater|homeless|immutable|independent|inert|inner|insufficient|invalid|largest"
    r"|later|logical|lower|missing|most|naming|narrow|natural|near(?:est)?|negative|new|newest|nominal|odd|partial"
    r"|physical|preferring|redundant|rigid|running|same|shallow|short|silent|single|strictest|trailing|unique|unlike"
    r"|unready|unset|unsure|visible|waiting|whole|wrong|zero|closest)"
)
"""Names such as `where`, `nearest` and `visible`: a preposition, an adverb or an adjective without a noun."""

LONE_NAMES = frozenset({"krmfn.kubeobject.new"})
"""The functions that still have such a name. Remove a name here when you rename the function; add none."""


def test_a_name_is_no_lone_preposition_or_adjective() -> None:
    """Readers of a call must see what it does or returns: `nearest_node(...)` instead of `nearest(...)`."""
    named = {
        f"{name_of(module)}.{name}" for module in MODULES for name in code(module).functions if _LONE.fullmatch(name)
    }

    new = sorted(named - LONE_NAMES)
    assert new == [], "name these functions by a verb and an object, or by the noun that they return"
    assert sorted(LONE_NAMES - named) == [], "these functions are gone: remove their names from LONE_NAMES"


def test_a_docstring_says_what_the_value_is() -> None:
    """A docstring begins with a noun phrase, an imperative, or `True if`. It does not begin with a question."""
    asking = [
        f"{name_of(module)}:{line} {text.splitlines()[0]}"
        for module in MODULES
        for line, text in code(module).docstrings.items()
        if re.match(r"(What|Whether|Which|How)\b", text)
    ]

    assert asking == []


def test_every_call_of_replace_names_fields_of_a_record() -> None:
    """A type checker does not compare these names with the fields of the class.

    A wrong call would fail only when it runs.
    """
    known = {fields for module in MODULES for fields in code(module).fields}
    calls = [
        (f"{name_of(module)}:{line}", names)
        for module in MODULES
        for line, names in code(module).replaced
        # This call replaces parts of a code object.
        if name_of(module) != "krmfn.hints"
    ]

    assert len(calls) > 400
    assert [call for call, names in calls if not any(names <= fields for fields in known)] == []


def test_every_file_and_folder_of_the_page_is_there() -> None:
    """A step on the page names files by the ends of their paths. The table names every folder of the code."""
    page = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    steps = page.split("## How packwise renders one PodCliqueSet")[1].split("\n## ")[0]
    named = re.findall(r"`([a-z_/]+(?:/|\.py))`", steps)
    rows = re.findall(r"^\| `([a-z/-]+(?:/|\.py))` \|", page, re.MULTILINE)
    folders = {f"packwise/{part}/" for part in RANK if list((FN / "packwise" / part).glob("*.py"))}

    assert [name for name in named if not list((FN / "packwise").rglob(name))] == []
    assert [row for row in rows if not (FN / row).exists()] == []
    assert sorted(folders - set(rows)) == []


def imports_of(*words: str, source: str = "", code: int = 0) -> set[str]:
    """Return the modules that a run of packwise imports. The run must end with this exit code."""
    command = [sys.executable, "-X", "importtime", "-m", "packwise", *words]
    done = subprocess.run(command, input=source, capture_output=True, text=True, check=False)
    assert done.returncode == code, done.stderr
    return {line.rsplit("|", 1)[1].strip() for line in done.stderr.splitlines() if line.startswith("import time:")}


@pytest.mark.skipif(CORE is None, reason=NO_CORE)
def test_a_usual_run_imports_nothing_heavy() -> None:
    """Each of these modules takes as much time as rendering a hundred workloads. docs/dependencies.md has
    the figures.
    """
    source = (ROOT / "testdata" / "clients" / "image" / "input.yaml").read_text(encoding="utf-8")
    imported = imports_of("fn", source=source)
    heavy = {
        "argparse",
        "cel_expr_python",
        "dataclasses",
        "difflib",
        "inspect",
        "json",
        "jsonpatch",
        "krmfn.remarks",
        "packwise.frontends.osmo.frontend",
        "packwise.frontends.workloads.frontend",
        "packwise.globs",
        "packwise.pipeline.rules",
        "packwise.schedulers.kai.podgroups",
        "packwise.validate.definition",
        "pathlib",
        "pydantic",
        "typing",
        "yaml",
    }
    assert imported & heavy == set()
    assert [
        name for name in imported if name.startswith(("packwise.frontends.dynamo", "packwise.revisions.dynamo"))
    ] == []


@pytest.mark.skipif(CORE is None, reason=NO_CORE)
@pytest.mark.parametrize("command", ["check", "render"])
def test_a_usual_command_imports_nothing_heavy(command: str) -> None:
    imported = imports_of(command, str(ROOT / "examples" / "two-topologies"))
    heavy = {"cel_expr_python", "dataclasses", "inspect", "jsonpatch", "pydantic", "typing", "yaml"}
    assert imported & (heavy | ({"hashlib"} if command == "check" else set())) == set()


@pytest.mark.skipif(CORE is None, reason=NO_CORE)
def test_an_error_of_grove_imports_the_rules_of_no_other_front_end(tmp_path: Path) -> None:
    """These imports take as much time as checking sixty workloads, and were only needed to name a component."""
    for file in (ROOT / "examples" / "disaggregated-inference").glob("*.yaml"):
        text = file.read_text(encoding="utf-8").replace("packDomain: rack", "packDomain: rak", 1)
        (tmp_path / file.name).write_text(text, encoding="utf-8")

    imported = imports_of("check", str(tmp_path), code=1)

    others = ("packwise.frontends.osmo.rules", "packwise.frontends.dynamo.rules", "packwise.frontends.kubernetes.rules")
    assert [name for name in imported if name.startswith((*others, "packwise.schedulers.kueue"))] == []


WALK = """
import io, sys

sys.path.insert(0, sys.argv[1])
from workloads import resource_list

from packwise.function import main

def run(count):
    sys.stdin, out = io.TextIOWrapper(io.BytesIO("".join(resource_list(count)).encode())), sys.stdout
    sys.stdout = io.TextIOWrapper(io.BytesIO())
    try:
        assert main() == 0
    finally:
        sys.stdout = out

def name_of(module):
    return module.partition(".")[0]

def note(frame, event, _):
    if event == "call" and name_of(frame.f_globals.get("__name__", "")) in ("krmfn", "packwise"):
        files.add(frame.f_code.co_filename)

files = set()
run(10)
modules = sorted(name for name in sys.modules if name_of(name) in ("krmfn", "packwise"))
sys.setprofile(note)
run(1)
sys.setprofile(None)
print(*modules)
print(*sorted(file.rpartition("/fn/")[2] for file in files))
"""
"""A script that prints the modules that `packwise fn` loads for ten workloads, and the files whose functions run."""

MODULES_LOADED, FILES_WALKED = 62, 46
"""The largest permitted numbers of loaded modules, and of files with a function that runs. Lower them when you can."""


def test_a_workload_goes_through_few_files() -> None:
    if CORE is None:
        pytest.skip(NO_CORE)
    command = [sys.executable, "-c", WALK, str(ROOT / "benchmarks")]

    done = subprocess.run(command, capture_output=True, text=True, check=True)

    loaded, walked = done.stdout.splitlines()
    assert len(loaded.split()) <= MODULES_LOADED, f"import lazily what not every input needs; loaded are {loaded}"
    assert len(walked.split()) <= FILES_WALKED, f"a workload goes through the functions of {walked}"


@pytest.mark.slow
@pytest.mark.parametrize("command", ["render", "check"])
def test_explanations_are_read_only_where_they_are_shown(command: str) -> None:
    """A render does not load texts that only some users read."""
    example = ROOT / "examples" / "disaggregated-inference"
    words = [sys.executable, "-X", "importtime", "-m", "packwise", command, str(example)]

    done = subprocess.run(words, capture_output=True, text=True, check=False)

    assert done.returncode == 0, done.stderr
    assert "packwise.pipeline" in done.stderr
    assert "packwise.rules" not in done.stderr


OWN = """
import sys
from packwise.cli.command_line import main

main(sys.argv[1:])
print(*{name.split(".")[2] for name in sys.modules if name.startswith("packwise.commands.")}, file=sys.stderr)
"""


@pytest.mark.slow
@pytest.mark.parametrize(("word", "command"), [("--help", ""), ("chek", ""), ("schema", "schema")])
def test_a_run_imports_its_own_command(word: str, command: str) -> None:
    """The list of commands names modules, so that a run imports only the module of its command."""
    done = subprocess.run([sys.executable, "-c", OWN, word], capture_output=True, text=True, check=False)

    assert done.stderr.splitlines()[-1] == command


HELPS = """
import sys
from packwise.cli.command_line import parse

try:
    parse([sys.argv[1], "--help"])
except SystemExit:
    print(sum(name.partition(".")[0] in ("krmfn", "packwise") for name in sys.modules), file=sys.stderr)
"""

MODULES_OF_A_HELP = 27
"""The largest permitted number of modules that the help of a command, or an error about its arguments, loads."""


@pytest.mark.slow
@pytest.mark.parametrize("command", COMMANDS)
def test_the_help_of_a_command_does_not_import_what_runs(command: str) -> None:
    done = subprocess.run([sys.executable, "-c", HELPS, command], capture_output=True, text=True, check=True)

    assert int(done.stderr) <= MODULES_OF_A_HELP


@pytest.mark.slow
def test_only_an_explanation_pays_for_one() -> None:
    """Origins are computed, and omissions are found, only on request."""
    source = (ROOT / "testdata" / "clients" / "image" / "input.yaml").read_text(encoding="utf-8")
    command = [sys.executable, "-X", "importtime", "-m", "packwise", "fn"]

    done = subprocess.run(command, input=source, capture_output=True, text=True, check=False)

    assert done.returncode == 0, done.stderr
    modules = ("packwise.commands", "packwise.cli", *OMISSIONS)
    assert [name for name in modules if name in done.stderr] == []


@pytest.mark.slow
@pytest.mark.parametrize(("output", "imports"), [("text", False), ("json", False), ("patch", True)])
def test_patches_are_paid_for_where_they_are_asked_for(output: str, imports: bool) -> None:
    sides = [str(ROOT / "testdata" / "diff" / "more-replicas-add-gangs-that-are-shown-once" / "before")] * 2
    sides[1] = str(ROOT / "testdata" / "diff" / "a-level-with-another-label-re-creates-the-topology" / "after")
    words = [sys.executable, "-X", "importtime", "-m", "packwise", "diff", *sides, "-o", output]

    done = subprocess.run(words, capture_output=True, text=True, check=False)

    assert (done.returncode, "| jsonpatch\n" in done.stderr) == (0, imports), done.stderr


REFUSING = {"raises", "fail", "run_case"}
"""Functions that fail a test although their names do not begin with `assert`: two of pytest, and one of
krmfn.testing.
"""


def says_what_it_expects(function: ast.FunctionDef) -> bool:
    return any(
        isinstance(node, ast.Assert)
        or (
            isinstance(node, ast.Call)
            and isinstance(node.func, ast.Attribute | ast.Name)
            and (name := node.func.attr if isinstance(node.func, ast.Attribute) else node.func.id)
            and (name in REFUSING or name.startswith("assert_"))
        )
        for node in ast.walk(function)
    )


def test_every_test_says_what_it_expects() -> None:
    """Readers of a test must see its expectation. A support function that fails a test is named `assert_…`."""
    functions = [
        (path, node)
        for path in sorted((ROOT / "tests").rglob("*.py"))
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.FunctionDef) and node.name.startswith(("test_", "assert_"))
    ]

    assert len(functions) > 1000
    assert [
        f"{path.relative_to(ROOT)}: {node.name}" for path, node in functions if not says_what_it_expects(node)
    ] == []


CLOCKS = {"monotonic", "perf_counter", "process_time", "ru_stime", "ru_utime", "thread_time", "time", "timeit"}


def test_no_test_reads_a_clock() -> None:
    """Only the tests of a control plane read a clock, because they wait for it."""
    tests = [path for path in (ROOT / "tests").rglob("*.py") if "e2e" not in path.parts]
    spelt = re.compile(rf"\b(?:{'|'.join(CLOCKS)})\b")

    wrong = [
        f"{path.relative_to(ROOT)}:{node.lineno}"
        for path in tests
        if spelt.search(text := path.read_text(encoding="utf-8"))
        for node in ast.walk(ast.parse(text))
        if (isinstance(node, ast.Attribute) and node.attr in CLOCKS)
        or (isinstance(node, ast.Import | ast.ImportFrom) and {alias.name for alias in node.names} & CLOCKS)
    ]

    assert wrong == []
