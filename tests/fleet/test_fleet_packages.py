"""The folders of a tree that are packages, and the files that each package reads."""

from __future__ import annotations

import pytest

from packwise.fleet.packages import PackageClient, Packages
from tests.cli.calling import CONFIG, SERVICE, WORKLOAD
from tests.fleet.trees import FLEET, FUNCTION, KPTFILE, overlay, tree

KUSTOMIZE, KPT, FOLDER = PackageClient.KUSTOMIZE, PackageClient.KPT, PackageClient.FOLDER
OPERATOR = "apiVersion: operator.config.grove.io/v1alpha1\nkind: OperatorConfiguration\n"


def test_a_fleet_has_packages_of_three_kinds_and_bases_are_none() -> None:
    assert Packages(tree(FLEET), "").clients == {
        "clusters/east": KUSTOMIZE,
        "clusters/north": KPT,
        "clusters/south": FOLDER,
        "clusters/west": KUSTOMIZE,
    }
    assert list(Packages(tree(FLEET), "clusters/west").clients) == ["clusters/west"]


@pytest.mark.parametrize(
    ("files", "clients"),
    [
        pytest.param({"a/w.yaml": WORKLOAD}, {}, id="without a configuration there is no package"),
        pytest.param({"topology.yaml": CONFIG}, {"": FOLDER}, id="the top itself"),
        pytest.param({"a/operator.yaml": OPERATOR}, {"a": FOLDER}, id="an operator's configuration"),
        pytest.param({"a/t.yaml": CONFIG, "a/b/t.yml": CONFIG}, {"a": FOLDER, "a/b": FOLDER}, id="one in another"),
        pytest.param(
            {"a/kustomization.yaml": "resources: [w.yaml]\n", "a/w.yaml": WORKLOAD, "a/t.yaml": CONFIG},
            {"a": KUSTOMIZE},
            id="a configuration beside a kustomization that does not name it",
        ),
        pytest.param({"a/t.yaml": FUNCTION}, {}, id="a configuration that others name as a function"),
        pytest.param(
            {
                "fn/kustomization.yaml": "resources: [t.yaml]\n",
                "fn/t.yaml": CONFIG,
                "a/kustomization.yaml": "transformers: [../fn]\n",
            },
            {"a": KUSTOMIZE},
            id="a folder with nothing but the function",
        ),
        pytest.param(
            {"a/kustomization.yaml": "validators: [t.yaml]\n", "a/t.yaml": FUNCTION},
            {"a": KUSTOMIZE},
            id="a validator",
        ),
        pytest.param(
            {"a/kustomization.yaml": f"transformers:\n- |\n  {FUNCTION.replace(chr(10), chr(10) + '  ')}"},
            {"a": KUSTOMIZE},
            id="a configuration within the kustomization",
        ),
        pytest.param(
            {
                "a/Kptfile": KPTFILE.replace("exec: packwise fn", "image: example.com/packwise:1"),
                "a/topology.yaml": CONFIG,
            },
            {"a": KPT},
            id="kpt runs packwise's image",
        ),
        pytest.param(
            {"a/Kptfile": KPTFILE.replace("configPath: t", "configPath: fn/t"), "a/fn/topology.yaml": CONFIG},
            {"a": KPT},
            id="a pipeline's configuration in a folder",
        ),
        pytest.param(
            {"a/Kptfile": KPTFILE.replace("packwise fn", "other 'fn"), "a/w.yaml": WORKLOAD}, {}, id="kpt runs others"
        ),
        pytest.param({"a/Kptfile": "[", "a/kustomization.yaml": "]"}, {}, id="clients' files that cannot be read"),
        pytest.param({"a/.packwise.sha256": "", "a/b/local/t.yaml": CONFIG}, {}, id="what packwise wrote"),
        pytest.param({"c/Chart.yaml": "", "c/templates/t.yaml": CONFIG}, {}, id="a template of a chart"),
        pytest.param(
            {"c/Chart.yaml": "", "c/crds/t.yaml": CONFIG}, {"c/crds": FOLDER}, id="beside a chart's templates"
        ),
    ],
)
def test_packages(files: dict[str, str], clients: dict[str, PackageClient]) -> None:
    assert Packages(tree(files), "").clients == clients


def test_a_plain_package_reads_its_folder_without_the_packages_in_it_and_what_says_what_is_there() -> None:
    files = {
        ".gitignore": "",
        "Chart.yaml": "",
        "a/.gitignore": "*.tmp\n",
        "a/notes.txt": "",
        "a/b/service.yaml": SERVICE,
        "a/c/topology.yaml": CONFIG,
        "a/c/w.yaml": WORKLOAD,
        "a/topology.yaml": CONFIG,
        "z.yaml": WORKLOAD,
    }

    package = Packages(tree(files), "").package("a")

    assert package.files == (".gitignore", "Chart.yaml", "a/.gitignore", "a/b/service.yaml", "a/topology.yaml")
    assert package.problems == ()


def test_an_overlay_reads_its_base_and_nothing_beside_it() -> None:
    package = Packages(tree(FLEET), "clusters").package("clusters/east")

    assert package.files == (
        "base/kustomization.yaml",
        "base/workload.yaml",
        "clusters/east/kustomization.yaml",
        "clusters/east/topology.yaml",
    )


EVERY_FIELD = """\
resources: [w.yaml, ../other]
bases: [../old]
components: [../component]
crds: [crd.yaml]
configurations: [names.yaml]
patches: [{path: patch.yaml}, {patch: "- op: remove"}]
patchesJson6902: [{path: json.yaml}]
patchesStrategicMerge: [merge.yaml, "kind: A\\n"]
replacements: [{path: replace.yaml}, {source: {}}]
openapi: {path: schema.json}
configMapGenerator:
- {files: [a.txt, key=b.txt], envs: [c.env], env: d.env}
secretGenerator: [{files: [e.txt]}]
generators: [maker.yaml]
transformers:
- topology.yaml
"""


def test_every_field_that_names_files_is_followed() -> None:
    names = (
        "w.yaml crd.yaml names.yaml patch.yaml json.yaml merge.yaml replace.yaml schema.json a.txt b.txt c.env d.env"
    )
    files = dict.fromkeys([f"a/{name}" for name in [*names.split(), "e.txt", "f.txt", *"ghij"]], "")
    files |= {
        "a/kustomization.yaml": EVERY_FIELD,
        "a/maker.yaml": (
            "apiVersion: builtin\nkind: ConfigMapGenerator\nmetadata: {name: a}\nfiles: [f.txt]\n---\n"
            "apiVersion: builtin\nkind: PatchTransformer\nmetadata: {name: a}\npath: g\n---\n"
            "apiVersion: builtin\nkind: PatchStrategicMergeTransformer\nmetadata: {name: a}\n"
            'paths: [h, "kind: B\\n"]\n---\n'
            "apiVersion: builtin\nkind: ReplacementTransformer\nmetadata: {name: a}\n"
            "replacements: [{path: i}]\n---\n"
            "apiVersion: builtin\nkind: ValueAddTransformer\nmetadata: {name: a}\nvalue: b\ntargetFilePath: j\n"
        ),
        "a/topology.yaml": FUNCTION,
        "other/kustomization.yaml": "",
        "old/Kustomization": "{}",
        "component/kustomization.yml": "kind: Component\n",
    }
    files["other/kustomization.yaml"] = "resources: []\n"

    package = Packages(tree({**files, "a/unused.yaml": WORKLOAD}), "").package("a")

    assert package.problems == ()
    assert package.files == tuple(sorted(files))


UNFIT = [
    ("../../../etc", "leads out of the repository"),
    ("../..", "leads out of the repository"),
    ("/etc/passwd", "leads out of the repository"),
    ("https://example.com/base", "packwise fetches nothing; copy it into the repository"),
    ("github.com/org/repo", "packwise fetches nothing; copy it into the repository"),
    ("git@example.com:org/repo", "packwise fetches nothing; copy it into the repository"),
    ("git::ssh", "packwise fetches nothing; copy it into the repository"),
    ("absent.yaml", "is not an existing file or folder, or is a link"),
    ('"a\\u0000b"', "the path has control characters: 'a\\x00b'"),
]


@pytest.mark.parametrize(("entry", "reason"), UNFIT)
@pytest.mark.parametrize("field", ["resources", "crds", "transformers"])
def test_nothing_outside_of_the_repository_is_read(field: str, entry: str, reason: str) -> None:
    lines = {"resources": "[]", "transformers": "[topology.yaml]"}
    lines[field] = f"[topology.yaml, {entry}]" if field == "transformers" else f"[{entry}]"
    text = "".join([f"{key}: {value}\n" for key, value in lines.items()])
    files = {"a/kustomization.yaml": text, "a/topology.yaml": FUNCTION, "github.com/org/repo/x.yaml": ""}

    package = Packages(tree(files), "").package("a")

    assert any(
        problem.file == "a/kustomization.yaml" and problem.message.endswith(reason) for problem in package.problems
    )
    assert set(package.files) <= set(files)


BASE = {"base/kustomization.yaml": "resources: [w.yaml]\n", "base/w.yaml": WORKLOAD}
SECOND = FUNCTION.replace("name: topology", "name: second")
BUILTIN = "apiVersion: builtin\nkind: LabelTransformer\nmetadata: {name: a}\n"
FOREIGN = "apiVersion: example.com/v1\nkind: Other\nmetadata: {name: a}\n"


@pytest.mark.parametrize(
    ("files", "problems"),
    [
        pytest.param(
            {
                "a/kustomization.yaml": overlay(resources="../b"),
                "b/kustomization.yaml": "resources: [../c]\n",
                "c/kustomization.yaml": "resources: [../b]\n",
            },
            [("b/kustomization.yaml", "the kustomization builds on itself: b → c → b")],
            id="a cycle",
        ),
        pytest.param(
            {"a/kustomization.yaml": overlay(resources="../b"), "b/w.yaml": WORKLOAD},
            [("b", "the folder has no kustomization")],
            id="a folder without one",
        ),
        pytest.param(
            {"a/kustomization.yaml": overlay(resources="../b"), "b/kustomization.yaml": "a: [\n"},
            [("b/kustomization.yaml", None)],
            id="a base that cannot be read",
        ),
        pytest.param(
            {"a/kustomization.yaml": overlay(resources="../b"), "b/kustomization.yaml": "- a\n"},
            [("b/kustomization.yaml", "is not readable YAML: must be a mapping")],
            id="a base that is a list",
        ),
        pytest.param(
            {
                **BASE,
                "a/kustomization.yaml": overlay(resources="../base"),
                "base/kustomization.yaml": "resources: [w.yaml]\ntransformers: [t.yaml]\n",
                "base/t.yaml": FUNCTION,
            },
            [
                (
                    "base/kustomization.yaml",
                    "packwise belongs in the outermost kustomization: a/kustomization.yaml builds on this one, "
                    "and changes objects after packwise",
                )
            ],
            id="a base that runs packwise",
        ),
        pytest.param(
            {**BASE, "a/kustomization.yaml": overlay("crds: [../base]", resources="../base")},
            [("a/kustomization.yaml", '"../base" must be a file, but it is a folder')],
            id="a folder in the place of a file",
        ),
        pytest.param(
            {**BASE, "a/kustomization.yaml": overlay("helmCharts: [{name: x}]", resources="../base")},
            [("a/kustomization.yaml", "helmCharts needs Helm, which does not run here")],
            id="a chart",
        ),
        pytest.param(
            {
                **BASE,
                "a/kustomization.yaml": "resources: [../base]\ntransformers: [other.yaml, topology.yaml]\n",
                "a/other.yaml": FOREIGN,
            },
            [
                (
                    "a/kustomization.yaml",
                    "transformers names Other of example.com/v1, but `packwise fleet` runs only packwise and "
                    "kustomize's own plugins. Build this package with kustomize itself",
                )
            ],
            id="another function",
        ),
        pytest.param(
            {
                **BASE,
                "a/kustomization.yaml": "resources: [../base]\ntransformers: [topology.yaml, labels.yaml]\n",
                "a/labels.yaml": BUILTIN,
            },
            [
                (
                    "a/kustomization.yaml",
                    "packwise must be the last transformer, because later ones change its output",
                )
            ],
            id="a transformer after packwise",
        ),
        pytest.param(
            {
                **BASE,
                "a/kustomization.yaml": "resources: [../base]\ntransformers: [second.yaml, topology.yaml]\n",
                "a/second.yaml": SECOND,
            },
            [("a/kustomization.yaml", "the transformers name packwise more than once; name it once")],
            id="packwise twice",
        ),
        pytest.param(
            {**BASE, "a/kustomization.yaml": overlay("buildMetadata: [managedByLabel]", resources="../base")},
            [
                (
                    "a/kustomization.yaml",
                    "buildMetadata must not have managedByLabel: kustomize adds that label after packwise",
                )
            ],
            id="a label that comes after all",
        ),
        pytest.param(
            {**BASE, "a/kustomization.yaml": "resources: [../base]\ngenerators: [topology.yaml]\n"},
            [
                (
                    "a/topology.yaml",
                    "a generator gets no workloads, so packwise renders none; list this file under transformers",
                )
            ],
            id="a generator",
        ),
        pytest.param(
            {
                **BASE,
                "a/kustomization.yaml": "resources: [../base]\ntransformers: [../fn, topology.yaml]\n",
                "fn/x.yaml": "",
            },
            [("a/kustomization.yaml", 'the folder "../fn" has no kustomization')],
            id="a folder of a function without a kustomization",
        ),
        pytest.param(
            {
                **BASE,
                "a/kustomization.yaml": "resources: [../base]\ntransformers: [../fn, topology.yaml]\n",
                "fn/kustomization.yaml": "{",
            },
            [("fn/kustomization.yaml", None)],
            id="a folder of a function that cannot be read",
        ),
    ],
)
def test_what_a_fleet_would_not_build_as_kustomize_does(
    files: dict[str, str], problems: list[tuple[str, str | None]]
) -> None:
    package = Packages(tree({"a/topology.yaml": FUNCTION, **files}), "").package("a")

    found = [(problem.file, problem.message) for problem in package.problems]
    assert [file for file, _ in found] == [file for file, _ in problems]
    assert [message for (_, message), (_, text) in zip(found, problems, strict=True) if text is not None] == [
        text for _, text in problems if text is not None
    ]


def test_kustomizations_build_on_each_other_a_hundred_times_at_most() -> None:
    files = {f"b{at}/kustomization.yaml": f"resources: [../b{at + 1}]\n" for at in range(200)}
    files |= {"a/kustomization.yaml": overlay(resources="../b0"), "a/topology.yaml": FUNCTION}

    (problem,) = Packages(tree(files), "").package("a").problems

    assert problem.file == "b99/kustomization.yaml"
    assert problem.message == ("at most 100 kustomizations may build on each other; there are more from a on")


def test_bases_that_share_bases_are_looked_at_once() -> None:
    """Otherwise the work would double with each of sixty levels."""
    files = {f"b{at}/kustomization.yaml": f"resources: [../b{at + 1}, ../c{at + 1}]\n" for at in range(60)} | {
        f"c{at}/kustomization.yaml": f"resources: [../b{at + 1}, ../c{at + 1}]\n" for at in range(1, 60)
    }
    files |= {"b60/kustomization.yaml": "resources: []\n", "c60/kustomization.yaml": "resources: []\n"}
    files |= {"a/kustomization.yaml": overlay(resources="../b0"), "a/topology.yaml": FUNCTION}

    package = Packages(tree(files), "").package("a")

    assert package.problems == ()
    assert len(package.files) == 123


@pytest.mark.parametrize(
    ("kptfile", "files", "problems"),
    [
        pytest.param(KPTFILE, {}, [], id="packwise alone"),
        pytest.param(
            KPTFILE + "  - image: example.com/set-labels:1\n",
            {},
            [
                "the pipeline runs example.com/set-labels:1, but `packwise fleet` runs only packwise. "
                "Render this package with kpt itself"
            ],
            id="another function",
        ),
        pytest.param(
            KPTFILE + "  validators:\n  - exec: packwise fn\n    configPath: topology.yaml\n",
            {},
            ["the pipeline runs packwise more than once; run it once"],
            id="packwise twice",
        ),
        pytest.param(
            KPTFILE + "    selectors: [{kind: A}]\n",
            {},
            ["packwise needs all objects; remove selectors and exclude from its entry in the pipeline"],
            id="selectors",
        ),
        pytest.param(
            KPTFILE,
            {"a/b/Kptfile": "pipeline: {mutators: [{image: x}]}\n"},
            ["only kpt can run this pipeline, because its package is within the package a"],
            id="a package in it",
        ),
        pytest.param(
            KPTFILE.replace("topology.yaml", "gone.yaml"),
            {},
            ['configPath "gone.yaml" must be a file of the package with a TopologyRender'],
            id="no configuration",
        ),
    ],
)
def test_what_a_fleet_would_not_render_as_kpt_does(kptfile: str, files: dict[str, str], problems: list[str]) -> None:
    package = Packages(tree({"a/Kptfile": kptfile, "a/topology.yaml": CONFIG, **files}), "").package("a")

    assert [problem.message for problem in package.problems] == problems


def test_a_broken_kptfile_that_speaks_of_packwise_is_an_error() -> None:
    files = {"a/Kptfile": KPTFILE + "  - ]\n", "a/topology.yaml": CONFIG, "b/Kptfile": "a: [\n"}
    packages = Packages(tree(files), "")

    assert packages.clients == {"a": KPT}
    assert [problem.file for problem in packages.package("a").problems] == ["a/Kptfile"]


ABOVE = {
    "c/x/topology.yaml": CONFIG,
    "c/x/llm/kustomization.yaml": "resources: [../base]\n",
    "c/x/base/kustomization.yaml": "resources: [w.yaml]\n",
    "c/x/base/w.yaml": WORKLOAD,
}


@pytest.mark.parametrize(
    ("more", "clients"),
    [
        pytest.param({}, {"c/x/llm": KUSTOMIZE}, id="above a kustomization"),
        pytest.param({"c/x/plain.yaml": WORKLOAD}, {"c/x": FOLDER, "c/x/llm": KUSTOMIZE}, id="and of plain files"),
        pytest.param({"c/topology.yaml": CONFIG}, {"c": FOLDER, "c/x/llm": KUSTOMIZE}, id="the nearest counts"),
        pytest.param(
            {"c/x/llm/topology.yaml": CONFIG}, {"c/x": FOLDER, "c/x/llm": KUSTOMIZE}, id="one beside it counts first"
        ),
        pytest.param(
            {"c/x/llm/kustomization.yaml": "kind: Component\nresources: [../base]\n"},
            {"c/x": FOLDER},
            id="a component is no package",
        ),
        pytest.param(
            {"c/x/llm/kustomization.yaml": "transformers: [t.yaml]\n", "c/x/llm/t.yaml": FUNCTION},
            {"c/x/base": KUSTOMIZE, "c/x/llm": KUSTOMIZE},
            id="one that runs packwise itself",
        ),
    ],
)
def test_a_configuration_is_that_of_the_kustomizations_below_it(
    more: dict[str, str], clients: dict[str, PackageClient]
) -> None:
    assert Packages(tree(ABOVE | more), "").clients == clients


def test_a_package_reads_the_configuration_above_it_and_what_is_built_is_in_no_other() -> None:
    packages = Packages(tree(ABOVE | {"c/x/plain.yaml": WORKLOAD}), "")

    assert packages.package("c/x/llm").files == (
        "c/x/base/kustomization.yaml",
        "c/x/base/w.yaml",
        "c/x/llm/kustomization.yaml",
        "c/x/topology.yaml",
    )
    assert packages.package("c/x").files == ("c/x/plain.yaml", "c/x/topology.yaml")


def test_the_configuration_above_configures_the_build() -> None:
    assert Packages(tree(ABOVE), "").package("c/x/llm").around == ("c/x/topology.yaml",)


@pytest.mark.parametrize(
    ("root", "more", "clients"),
    [
        pytest.param("c/x/llm", {}, {"c/x/llm": KUSTOMIZE}, id="the folder of a kustomization"),
        pytest.param("c/x", {}, {"c/x/llm": KUSTOMIZE}, id="the folder of the configuration"),
        pytest.param("c/x/app", {"c/x/app/w.yaml": WORKLOAD}, {"c/x/app": FOLDER}, id="plain files"),
        pytest.param("c/x/app", {"c/x/app/a/w.yaml": WORKLOAD}, {"c/x/app": FOLDER}, id="plain files further down"),
        pytest.param("c/x/app", {"c/x/app/w.yaml": SERVICE}, {}, id="plain files without a workload"),
        pytest.param(
            "c/x/app",
            {"c/x/app/w.yaml": WORKLOAD, "c/x/app/k/kustomization.yaml": "resources: [../w.yaml]\n"},
            {"c/x/app/k": KUSTOMIZE},
            id="files that are built",
        ),
        pytest.param(
            "c/x/app",
            {"c/x/app/w.yaml": WORKLOAD, "c/x/app/a/topology.yaml": CONFIG, "c/x/app/a/w.yaml": WORKLOAD},
            {"c/x/app": FOLDER, "c/x/app/a": FOLDER},
            id="a nearer one for some",
        ),
        pytest.param("c/x/llm", {"c/x/topology.yaml": CONFIG + "  - ]\n"}, {"c/x/llm": KUSTOMIZE}, id="broken"),
        pytest.param("c/x/llm", {"c/x/topology.yaml": FUNCTION}, {}, id="a function's"),
        pytest.param(
            "c/x/llm", {"c/x/topology.yaml": FUNCTION, "t.yaml": CONFIG}, {"c/x/llm": KUSTOMIZE}, id="at the top"
        ),
    ],
)
def test_a_configuration_above_the_root_counts(
    root: str, more: dict[str, str], clients: dict[str, PackageClient]
) -> None:
    packages = Packages(tree(ABOVE | more), root)

    assert packages.clients == clients
    for folder in clients:
        package = packages.package(folder)
        is_own = f"{folder}/topology.yaml" in more
        above = "t.yaml" if "t.yaml" in more else "c/x/topology.yaml"
        assert (above in package.files) is (root != "c/x/app" or not is_own)
        assert bool(package.problems) is ("- ]" in (ABOVE | more)["c/x/topology.yaml"])
        assert package.around == (() if is_own else (above,))


def test_an_unreadable_configuration_above_is_an_error_of_what_it_is_for() -> None:
    packages = Packages(tree(ABOVE | {"c/x/topology.yaml": CONFIG + "  - ]\n"}), "")

    assert [problem.file for problem in packages.package("c/x/llm").problems] == ["c/x/topology.yaml"]
