"""The image in a registry: pushed with its documents, read back, and run by its digest."""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from supplychain.engine import engine_environment
from supplychain.registry import BILL, PROVENANCE, Repository, attach_documents, image_faults
from tests.clients.running import files_of
from tests.image.containers import CONFINED, Ran, call
from tests.places import ROOT

pytestmark = pytest.mark.image

RESOURCE_LIST = (ROOT / "testdata" / "clients" / "image" / "input.yaml").read_bytes()


@pytest.fixture(scope="module")
def elsewhere(registry: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, str]]:
    """Yield the variables of an engine without images, which must pull every image."""
    folder = tmp_path_factory.mktemp("elsewhere")
    environment = engine_environment(folder, registry)
    assert call(["podman", "images", "--quiet"], environment=environment) == Ran(0, b"", "")
    yield environment
    call(["podman", "rmi", "--all", "--force"], environment=environment)
    call(["umount", folder / "store/overlay"])


def test_what_is_not_there_is_told(repository: Repository, digest: str) -> None:
    another = Repository(repository.host, "platform/another")

    assert image_faults(another, digest) == [
        f"the registry does not have the manifest {digest}, or it has another digest"
    ]
    assert image_faults(repository, digest) == [
        f"no referrer {kind}; the image has none" for kind in (BILL, PROVENANCE)
    ]


def test_the_image_and_what_refers_to_it_are_read_back(repository: Repository, digest: str) -> None:
    attach_documents(repository, digest)
    first = repository.referrers(digest)
    attach_documents(repository, digest)

    assert image_faults(repository, digest) == []
    assert [one["artifactType"] for one in repository.referrers(digest)] == [BILL, PROVENANCE]
    assert repository.referrers(digest) == first


def test_a_referrer_of_another_content_is_told(repository: Repository, digest: str) -> None:
    repository.attach(digest, BILL, b"{}")

    assert image_faults(repository, digest) == [f"referrer {BILL}: the content differs from the file of this commit"]


@pytest.fixture
def by_digest(repository: Repository, digest: str) -> str:
    return f"{repository.host}/{repository.name}@{digest}"


def test_the_image_is_pulled_and_run_by_its_digest(
    function: str, by_digest: str, elsewhere: dict[str, str], digest: str
) -> None:
    words = ["podman", "run", "--rm", "--interactive", *CONFINED]

    pulled = call([*words, by_digest], RESOURCE_LIST, environment=elsewhere)

    assert (pulled.code, pulled.stdout) == (0, call([*words, function], RESOURCE_LIST).stdout)
    listed = call(["podman", "images", "--digests", "--format", "{{.Digest}}"], environment=elsewhere)
    assert listed.stdout.decode() == f"{digest}\n"


def test_kpt_renders_by_the_digest(by_digest: str, elsewhere: dict[str, str], kpt: Path, tmp_path: Path) -> None:
    package = Path(shutil.copytree(ROOT / "kpt-package", tmp_path / "inference"))
    kptfile = package / "Kptfile"
    text = kptfile.read_text(encoding="utf-8")
    kptfile.write_text(text.replace("exec: packwise fn", f"image: {by_digest}"), encoding="utf-8")

    rendered = call([kpt, "fn", "render", "inference"], cwd=tmp_path, environment=elsewhere)

    assert rendered.code == 0, rendered.stderr
    assert "kind: PodGang\n" in "".join(files_of(package).values())


def test_kustomize_builds_by_the_digest(
    by_digest: str, elsewhere: dict[str, str], kustomize: Path, tmp_path: Path
) -> None:
    plugin = Path(shutil.copytree(ROOT / "kustomize-plugin", tmp_path / "plugin"))
    for file, old, new in (
        ("function-container/topology.yaml", r"image: packwise:.*", f"image: {by_digest}"),
        ("kustomization.yaml", r"\bfunction$", "function-container"),
    ):
        text = (plugin / file).read_text(encoding="utf-8")
        (plugin / file).write_text(re.sub(old, new, text, flags=re.MULTILINE), encoding="utf-8")

    built = call([kustomize, "build", "--enable-alpha-plugins", plugin], environment=elsewhere)

    assert built.code == 0, built.stderr
    assert built.stdout.decode() == (ROOT / "testdata/clients/kustomize/base.yaml").read_text(encoding="utf-8")
