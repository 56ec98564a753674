"""kustomize gets only input that packwise read, understood and wrote again.

The tests are attacks on the real kustomize.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from contextlib import nullcontext
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from packwise.build import confinement
from packwise.build.confinement import NONE, Confinement, Program, ProgramError, confinements, run
from packwise.build.kustomization_files import copy_of
from packwise.build.problems import ClientProblem
from packwise.fleet import kustomize as module
from packwise.fleet.packages import Packages
from tests.cli.calling import WORKLOAD, Call, write
from tests.fleet.trees import FUNCTION, overlay, tree

OUTSIDE = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: taken}\ndata: {word: of-another-tenant}\n"
URL = "http://127.0.0.1:PORT/x.yaml"


def plugin(kind: str, *lines: str) -> str:
    """Return the configuration of one of kustomize's own plugins."""
    return "".join([f"{line}\n" for line in ("apiVersion: builtin", f"kind: {kind}", "metadata: {name: p}", *lines)])


def inline(field: str, text: str) -> str:
    """Return a field with a plugin's configuration as a text of several lines."""
    return f"{field}:\n- |\n" + "".join([f"  {line}\n" for line in text.splitlines()])


def folder(*lines: str) -> dict[str, str]:
    """Return a kustomization of plugins with these lines, and the files that it lists."""
    return {
        "p/kustomization.yaml": "".join([f"{line}\n" for line in ("resources: [plugin.yaml]", *lines)]),
        "p/plugin.yaml": plugin("LabelTransformer", "labels: {a: b}"),
    }


def base(*lines: str) -> dict[str, str]:
    """Return a base with these lines."""
    return {"base/kustomization.yaml": "".join([f"{line}\n" for line in ("resources: [w.yaml]", *lines)])}


OUT = "../../outside"
ATTACKS: dict[str, tuple[dict[str, str], str]] = {
    # A field in other case, which kustomize also reads.
    "upper resources": (base(f"Resources: [{OUT}]"), "Resources"),
    "mixed resources": (base(f"ReSources: [{OUT}]"), "ReSources"),
    "folded resources": (base(f"reſources: [{OUT}]"), "[reſources]"),
    "escaped resources": (base(f'"re\\u017fources": [{OUT}]'), "[reſources]"),
    "tagged resources": (base(f"!!str Resources: [{OUT}]"), "Resources"),
    "folded patches": (base(f"PatCHES: [{{path: {OUT}/s.yaml}}]"), "PatCHES"),
    "folded merges": (base(f"patcheſStrategicMerge: [{OUT}/s.yaml]"), "[patcheſStrategicMerge]"),
    "a fetched resource": (base(f"Resources: ['{URL}']"), "Resources"),
    "upper bases": (base(f"BASES: [{OUT}]"), "BASES"),
    "upper components": (base(f"Components: [{OUT}]"), "Components"),
    "upper crds": (base(f"CRDs: ['{URL}']"), "CRDs"),
    "upper configurations": (base(f"Configurations: ['{URL}']"), "Configurations"),
    "upper openapi": (base(f"OpenAPI: {{path: '{URL}'}}"), "OpenAPI"),
    "upper path of a patch": (base(f"patches: [{{Path: '{URL}'}}]"), "patches[0].Path"),
    "upper path of a json patch": (
        base(f"patchesJson6902: [{{target: {{name: a}}, PATH: '{URL}'}}]"),
        "patchesJson6902[0].PATH",
    ),
    "upper path of a replacement": (base(f"replacements: [{{Path: '{URL}'}}]"), "replacements[0].Path"),
    "upper files": (base(f"configMapGenerator: [{{name: a, Files: ['{URL}']}}]"), "configMapGenerator[0].Files"),
    "upper envs": (base(f"secretGenerator: [{{name: a, ENVS: ['{URL}']}}]"), "secretGenerator[0].ENVS"),
    "upper env": (base(f"configMapGenerator: [{{name: a, Env: '{URL}'}}]"), "configMapGenerator[0].Env"),
    "upper charts": (base("HelmCharts: [{name: a}]"), "HelmCharts"),
    "charts of old": (base("helmChartInflationGenerator: [{chartName: a}]"), "helmChartInflationGenerator"),
    "upper plugins": (base("Transformers: [../p]") | folder(f"components: [{OUT}]"), "Transformers"),
    "a merge key": (base(f"x: &x {{Resources: [{OUT}]}}", "<<: *x"), "Resources"),
    "through a merge key": (base(f"<<: {{Resources: [{OUT}]}}"), "Resources"),
    "json": ({"base/kustomization.yaml": f'{{"resources": ["w.yaml"], "Resources": ["{OUT}"]}}'}, "Resources"),
    "a component": (
        {"base/kustomization.yaml": "resources: [../w.yaml]\ncomponents: [../c]\n"}
        | {"c/kustomization.yaml": f"kind: Component\nResources: [{OUT}]\n"},
        "Resources",
    ),
    "another name of the file": ({"base/Kustomization": f"Resources: [{OUT}]\n"}, "Resources"),
    # A text instead of a list, a mapping instead of a text.
    "no list": (base("crds: x"), "crds"),
    "no text": (base(f"components: [[{OUT}]]"), "components[0]"),
    # Known fields.
    "a component outside": (base(f"components: [{OUT}]"), OUT),
    "a url as openapi": (base(f"openapi: {{path: '{URL}'}}"), URL),
    "a url in any case": (base(f"crds: ['{URL.replace('http', 'HttP')}']"), "HttP"),
    "github by another letter": (base("components: ['gİthub.com/org/repo']"), "org/repo"),
    # Folders of plugins.
    "components of plugins": (base("transformers: [../p]") | folder(f"components: [{OUT}]"), "components"),
    "resources of plugins": (base("transformers: [../p]") | folder(f"Resources: [{OUT}]"), "Resources"),
    "an address of plugins": (
        base("generators: [../p]") | {"p/kustomization.yaml": f"resources: ['{URL}']\n"},
        URL,
    ),
    "plugins of validators outside": (
        base("validators: [../p]") | {"p/kustomization.yaml": f"resources: [{OUT}]\n"},
        OUT,
    ),
    "plugins two folders away": (
        base("transformers: [../p]")
        | {"p/kustomization.yaml": "resources: [../q]\n", "q/kustomization.yaml": f"components: [{OUT}]\n"},
        "components",
    ),
    "plugins that are patched": (
        base("transformers: [../p]") | folder(f"patches: [{{patch: '[{{op: add, path: /path, value: {OUT}}}]'}}]"),
        "patches",
    ),
    "plugins that are generated": (
        base("transformers: [../p]") | folder("configMapGenerator: [{name: a, literals: [a=b]}]"),
        "configMapGenerator",
    ),
    # Fields of plugins.
    "path of a plugin": (
        base("transformers: [p.yaml]") | {"base/p.yaml": plugin("PatchTransformer", f"Path: '{URL}'")},
        "Path",
    ),
    "path of a plugin in a folder": (
        base("transformers: [../p]") | folder() | {"p/plugin.yaml": plugin("PatchTransformer", f"path: '{URL}'")},
        URL,
    ),
    "path of a plugin within": (base(inline("transformers", plugin("PatchTransformer", f"PATH: '{URL}'"))), "PATH"),
    "json patch of a plugin": (
        base(inline("transformers", plugin("PatchJson6902Transformer", f"pAth: '{URL}'", "target: {name: a}"))),
        "pAth",
    ),
    "merge of a plugin": (
        base(inline("transformers", plugin("PatchStrategicMergeTransformer", f"Pathſ: ['{URL}']"))),
        "[Pathſ]",
    ),
    "files of a plugin": (base(inline("generators", plugin("ConfigMapGenerator", f"FILES: ['{URL}']"))), "FILES"),
    "secrets of a plugin": (base(inline("generators", plugin("SecretGenerator", f"envs: ['{URL}']"))), URL),
    "replacements of a plugin": (
        base(inline("transformers", plugin("ReplacementTransformer", f"Replacements: [{{path: '{URL}'}}]"))),
        "Replacements",
    ),
    "replacements of a plugin, path": (
        base(inline("transformers", plugin("ReplacementTransformer", f"replacements: [{{Path: '{URL}'}}]"))),
        "replacements[0].Path",
    ),
    "values of a plugin": (
        base(inline("transformers", plugin("ValueAddTransformer", "value: a", f"targetFilePath: '{URL}'"))),
        URL,
    ),
    "values of a plugin in another case": (
        base(inline("transformers", plugin("ValueAddTransformer", "value: a", f"TargetFilePath: '{URL}'"))),
        "TargetFilePath",
    ),
    "a list of plugins": (
        base(
            "transformers: [p.yaml]",
        )
        | {
            "base/p.yaml": "apiVersion: builtin\nkind: PatchTransformerList\nmetadata: {name: l}\nitems:\n"
            f"- {{apiVersion: builtin, kind: PatchTransformer, metadata: {{name: a}}, path: '{URL}'}}\n"
        },
        "PatchTransformerList",
    ),
    "a list of objects": (
        base("transformers: [p.yaml]")
        | {
            "base/p.yaml": "apiVersion: v1\nkind: List\nitems:\n"
            f"- {{apiVersion: builtin, kind: PatchTransformer, metadata: {{name: a}}, path: '{URL}'}}\n"
        },
        "List of v1",
    ),
    "charts of a plugin": (base(inline("generators", plugin("HelmChartInflationGenerator", "name: a"))), "Helm"),
    "a plugin without a name": (
        base(inline("transformers", "apiVersion: builtin\nkind: LabelTransformer\nlabels: {a: /../../../outside}\n")),
        "metadata.name",
    ),
    "a plugin that kustomize's reader refuses": (
        base(
            inline("transformers", plugin("LabelTransformer", "labels:", f"  ? {'a' * 1100}", "  : /../../../outside"))
        ),
        "labels must have keys of at most 1000 characters",
    ),
    "a document of plugins that is none": (
        base("transformers: [p.yaml]") | {"base/p.yaml": plugin("LabelTransformer", "labels: {a: b}") + "---\n- a\n"},
        "must be a mapping",
    ),
    "one line that is an object, and a file of that name": (
        {"base/kustomization.yaml": f"resources: [w.yaml]\ntransformers: ['{{path: {OUT}}}']\n"}
        | {f"base/{{path: {OUT}}}": plugin("LabelTransformer", "labels: {a: b}")},
        "is outside the repository",
    ),
    "a patch that is no object": (base('patchesStrategicMerge: ["x\\n/../../../outside/s.yaml"]'), "must be a mapping"),
    "two kustomizations": (base() | {"base/Kustomization": f"resources: [{OUT}]\n"}, "must be the only kustomization"),
    "a kustomization as data": (
        base("configMapGenerator: [{name: a, files: [kustomization.yaml]}]"),
        "a generator uses this file as data",
    ),
    "a file in the place of a component": (base("components: [w.yaml]"), "must be a folder with a kustomization"),
    "packwise beside a plugin": (
        base(inline("transformers", plugin("LabelTransformer", "labels: {a: b}") + "---\n" + FUNCTION)),
        "packwise must be a separate entry of",
    ),
    "a backslash": (base('crds: ["..\\\\x"]'), "between folders"),
    "a newline": (base('crds: ["x\\ny"]'), "has control characters"),
}


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, kustomize: Path) -> Iterator[tuple[int, list[str]]]:
    """Yield the port of a server on loopback, and the paths that it was asked for.

    The real kustomize is first on PATH.
    """
    paths: list[str] = []

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            paths.append(self.path)
            self.send_response(200)
            self.end_headers()
            self.wfile.write(OUTSIDE.encode())

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / ".cache"))
    monkeypatch.setenv("PATH", f"{kustomize.parent}{os.pathsep}{os.environ['PATH']}")
    module.kustomize_version.cache_clear()
    yield server.server_address[1], paths
    module.kustomize_version.cache_clear()
    server.shutdown()
    thread.join()
    server.server_close()


def write_attack(folder: Path, name: str, port: int) -> str:
    """Write the attack `name` and its target into a repository, and return the expected text."""
    attack, named = ATTACKS[name]
    files = {
        "a/kustomization.yaml": overlay(resources="../base"),
        "a/topology.yaml": FUNCTION,
        "base/w.yaml": WORKLOAD,
        "w.yaml": WORKLOAD,
    } | attack
    (folder / "repo/.git").mkdir(parents=True)
    write(folder / "repo", {path: text.replace("PORT", str(port)) for path, text in files.items()})
    write(folder, {"outside/kustomization.yaml": "resources: [s.yaml]\n", "outside/s.yaml": OUTSIDE})
    return named.replace("PORT", str(port))


@pytest.mark.client
@pytest.mark.parametrize("name", ATTACKS)
def test_kustomize_reads_and_fetches_nothing_that_packwise_did_not(
    call: Call, tmp_path: Path, asked: tuple[int, list[str]], name: str
) -> None:
    """The folder `outside` is next to the repository, and also at the same place next to kustomize's copy."""
    port, paths = asked
    named = write_attack(tmp_path, name, port)

    ran = call("fleet", "render", "repo/a", "-o", "out", "--no-cache")

    assert ran.code == 1, ran.stdout
    assert paths == []
    assert "[fleet-package]" in ran.stdout
    assert named in ran.stdout
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("name", [name for name in ATTACKS if name != "a kustomization as data"])
def test_it_is_refused_before_kustomize_is_looked_for(
    call: Call, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    named = write_attack(tmp_path, name, 9)
    monkeypatch.setenv("PATH", str(tmp_path))

    ran = call("fleet", "check", "repo/a", "--no-cache")

    assert ran.code == 1, ran.stdout
    assert named in ran.stdout


def test_a_kustomization_that_becomes_data_is_no_copy() -> None:
    attack, named = ATTACKS["a kustomization as data"]

    copy = copy_of(tree({"base/w.yaml": WORKLOAD} | attack), "base")

    assert [problem.message.split(",")[0] for problem in copy.problems] == [named]


def test_packwise_in_another_spelling_makes_no_other_folder() -> None:
    files = {"a/kustomization.yaml": "resources: []\nTranſformerS: [topology.yaml]\n", "a/topology.yaml": FUNCTION}

    (package,) = [Packages(tree(files), "").package(each) for each in Packages(tree(files), "").clients]

    assert package.problems == (
        ClientProblem(
            "a/kustomization.yaml",
            '[TranſformerS] must be a field of kustomize, with the same capitals; did you mean "transformers"?',
            2,
            1,
        ),
    )


def test_a_kustomization_is_written_out_again() -> None:
    """It is one line of JSON that YAML 1.1 and 1.2 read alike. Its paths can only be read as paths."""
    files = {
        "a/kustomization.yaml": (
            "resources: [../base, &w w.yaml]\ncrds: [*w]\nnamePrefix: 'yes'\nnameSuffix:\n"
            'commonAnnotations: {a: "\U0001f600\\u2028\\u0085\\u007f"}\n'
            "configMapGenerator: [{name: a, files: [k=d.txt, ./x/../d.txt]}]\n"
            "patchesStrategicMerge: [w.yaml, 'kind: A\n\n  ']\ntransformers: [../p, topology.yaml, './q: r.yaml']\n"
        )
        + inline("validators", plugin("LabelTransformer", "labels: {a: b}") + "---\n---\n" + plugin("HashTransformer")),
        "a/d.txt": "",
        "a/q: r.yaml": "---\n" + plugin("PrefixTransformer", "prefix: a").replace("p}", "p, labels: }"),
        "a/topology.yaml": FUNCTION,
        "a/w.yaml": WORKLOAD,
        "base/kustomization.yaml": "kind: Kustomization\nresources: []\n",
        **folder("kind: Kustomization"),
    }

    copy = copy_of(tree(files), "a")

    assert copy.problems == ()
    assert copy.data == {"a/d.txt"}
    assert copy.contents["a/kustomization.yaml"].decode() == (
        '{"resources": ["../base", "./w.yaml"], "crds": ["./w.yaml"], "namePrefix": "yes", '
        '"commonAnnotations": {"a": "\U0001f600\\u2028\\u0085\\u007f"}, '
        '"configMapGenerator": [{"name": "a", "files": ["k=./d.txt", "./d.txt"]}], '
        '"patchesStrategicMerge": ["./w.yaml", "kind: A\\n"], "transformers": ["../p", "./q: r.yaml"], '
        '"validators": ["{\\"apiVersion\\": \\"builtin\\", \\"kind\\": \\"LabelTransformer\\", '
        '\\"metadata\\": {\\"name\\": \\"p\\"}, \\"labels\\": {\\"a\\": \\"b\\"}}", '
        '"{\\"apiVersion\\": \\"builtin\\", \\"kind\\": \\"HashTransformer\\", '
        '\\"metadata\\": {\\"name\\": \\"p\\"}}"]}'
    )
    assert copy.contents["base/kustomization.yaml"] == b'{"kind": "Kustomization", "resources": []}'
    assert copy.contents["p/kustomization.yaml"] == b'{"resources": ["./plugin.yaml"], "kind": "Kustomization"}'
    assert copy.contents["a/q: r.yaml"] == (
        b'{"apiVersion": "builtin", "kind": "PrefixTransformer", "metadata": {"name": "p"}, "prefix": "a"}'
    )


def chain(depth: int) -> dict[str, str]:
    """Return kustomizations in a chain. Each names the next one twice, through two other ones."""
    files = {f"b{depth}/kustomization.yaml": "resources: [w.yaml]\n", f"b{depth}/w.yaml": WORKLOAD}
    for at in range(depth):
        files[f"b{at}/kustomization.yaml"] = f"resources: [../x{at}, ../y{at}]\n"
        for way in "xy":
            files[f"{way}{at}/kustomization.yaml"] = f"namePrefix: {way}-\nresources: [../b{at + 1}]\n"
    return files


def test_a_chain_of_doubling_kustomizations_is_refused_before_kustomize_starts(
    call: Call, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / ".git").mkdir()
    write(tmp_path, {"a/kustomization.yaml": overlay(resources="../b0"), "a/topology.yaml": FUNCTION, **chain(13)})
    program = tmp_path / "bin/kustomize"
    program.parent.mkdir()
    program.write_text('#!/bin/sh\nif [ "$1" = version ]; then echo v5; exit 0; fi; echo it ran >&2; exit 1\n', "utf-8")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{program.parent}{os.pathsep}{os.environ['PATH']}")
    module.kustomize_version.cache_clear()

    ran = call("fleet", "check", "a", "--no-cache")
    module.kustomize_version.cache_clear()

    assert ran.code == 1
    assert ran.stdout.splitlines()[-1] == (
        "  error: a/kustomization.yaml: a → b0 → x0 → b1 → x1 → b2 → x2 → b3 → x3 → b4 → x4 → … → b13 has 43 "
        "files, but kustomize reads 40,958, because it builds a base again for each entry that names the "
        "base. At most 4000 files may be read again; name each base once [fleet-package]"
    )


@pytest.mark.parametrize("depth", [0, 9])
def test_what_is_read_a_few_times_is_built(depth: int) -> None:
    assert copy_of(tree(chain(depth)), "b0").problems == ()


@pytest.mark.parametrize(
    "files",
    [
        {f"b{at}/kustomization.yaml": f"resources: [../b{at + 1}, ../b{at + 1}/.]\n" for at in range(90)}
        | {"b90/kustomization.yaml": "resources: []\n"},
        {
            f"b{at}/kustomization.yaml": "".join(
                [f"{field}: [../b{at + 1}]\n" for field in ("resources", "components", "bases")]
            )
            for at in range(90)
        }
        | {"b90/kustomization.yaml": "resources: []\n"},
        {"b0/kustomization.yaml": f"resources: [{', '.join(['../b'] * 5000)}]\n", "b/kustomization.yaml": "kind: x\n"},
    ],
    ids=["resources", "three fields", "one often"],
)
def test_what_is_read_too_often_is_not_built(files: dict[str, str]) -> None:
    (problem,) = copy_of(tree(files), "b0").problems

    assert problem.message.endswith("At most 4000 files may be read again; name each base once")


def test_folders_of_plugins_lead_through_a_hundred_others_at_most() -> None:
    files = {f"p{at}/kustomization.yaml": f"resources: [../p{at + 1}, ../p{at + 1}/.]\n" for at in range(90)}
    files |= {"p90/kustomization.yaml": "resources: [../p0]\n", "b/kustomization.yaml": "transformers: [../p0]\n"}

    problems = copy_of(tree(files), "b").problems

    assert [problem.message.rpartition('" ')[2] for problem in problems] == ["needs more than 100 folders"]


@pytest.mark.client
def test_the_system_shuts_kustomize_in(tmp_path: Path, asked: tuple[int, list[str]]) -> None:
    """Even if packwise passed an address, or a folder outside the copy, kustomize could not reach it."""
    port, paths = asked
    confinement = module.confinement_of(module.kustomize_program())
    if not confinement.landlock or not confinement.wrapper:
        pytest.skip("this system has no Landlock, or makes no network namespaces")
    write(tmp_path, {"outside/kustomization.yaml": "resources: [s.yaml]\n", "outside/s.yaml": OUTSIDE})
    up = "../" * 20

    with pytest.raises(module.KustomizeError, match=r"network is unreachable|permission denied"):
        module.build({}, "a/kustomization.yaml", {"resources": [f"http://127.0.0.1:{port}/x.yaml"]})
    with pytest.raises(module.KustomizeError, match=r"permission denied|must build at directory|unable to find one"):
        module.build({}, "a/kustomization.yaml", {"resources": [f"{up}{tmp_path}/outside"]})

    assert paths == []


@pytest.mark.client
@pytest.mark.usefixtures("asked")
@pytest.mark.parametrize("tried", confinements())
def test_each_confinement_builds_the_same_or_is_not_taken(monkeypatch: pytest.MonkeyPatch, tried: Confinement) -> None:
    monkeypatch.setattr(module, "confinements", lambda: [tried, NONE])
    taken = module.try_out(module.kustomize_program())[1]

    def take(program: str) -> Confinement:
        return taken if program else NONE

    monkeypatch.setattr(module, "confinement_of", take)

    built = module.build({"a/s.yaml": OUTSIDE.encode()}, "a/kustomization.yaml", {"resources": ["./s.yaml"]})

    assert taken in (tried, NONE)
    assert b"name: taken" in built


@pytest.mark.skipif(not any(each.landlock for each in confinements()), reason="this system has no Landlock")
@pytest.mark.parametrize(
    ("words", "may"),
    [
        (["/bin/cat", "inside"], True),
        (["/bin/cat", "../outside"], False),
        (["/bin/cat", "link"], False),
        (["/bin/ls", ".."], False),
        (["/bin/sh", "-c", "echo x > inside"], False),
        (["/bin/sh", "-c", "/bin/ls ."], False),
    ],
)
def test_a_program_that_is_shut_in_reads_its_folder_alone(tmp_path: Path, words: list[str], may: bool) -> None:
    """This process, which starts the program in a thread, can still read other files."""
    (tmp_path / "in").mkdir()
    write(tmp_path, {"in/inside": "x", "outside": "y"})
    (tmp_path / "in/link").symlink_to(tmp_path / "outside")

    program, folder, output = Program(words[0], (), Confinement(landlock=True)), tmp_path / "in", b""
    with nullcontext() if may else pytest.raises(ProgramError):
        output = run(program, words[1:], reads=[folder], cwd=folder)

    assert (b"x" in output) is may
    assert (tmp_path / "outside").read_text("utf-8") == "y"


def no_environment(_: object) -> dict[str, str]:
    return {}


def test_a_system_without_any_of_that_starts_programs_as_they_are(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "confinements", lambda: [Confinement(("/absent",)), NONE])
    monkeypatch.setattr(confinement, "environment", no_environment)

    assert module.try_out("/bin/echo") == ("version", NONE)
