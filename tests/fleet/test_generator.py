"""The synthetic fleet of the benchmark: the same seed gives the same bytes, and packwise reports no errors."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from benchmarks.fleet_files import generate, paths_and_texts
from tests.cli.calling import Call

CLUSTERS = 40


def fleet(seed: int = 0, clusters: int = CLUSTERS) -> dict[str, str]:
    return dict(paths_and_texts(clusters, 4, seed))


def test_a_seed_gives_the_same_bytes() -> None:
    assert list(fleet().items()) == list(fleet().items())
    assert fleet() != fleet(seed=1)


def test_a_smaller_fleet_is_the_beginning_of_a_larger() -> None:
    fewer = fleet(clusters=10)

    assert fewer == {path: text for path, text in fleet().items() if path in fewer}


def test_clusters_are_overlays_of_shared_bases_plain_folders_and_packages_of_kpt() -> None:
    files = fleet()
    markers = {"kustomization.yaml": "overlay", "Kptfile": "kpt"}
    folders = {str(Path(path).parent) for path in files if path.startswith("clusters/")}
    kinds = dict.fromkeys(folders, "plain")
    kinds |= {str(Path(path).parent): markers[name] for path in files if (name := Path(path).name) in markers}
    counted = Counter(kinds[folder] for folder in folders)

    assert len(folders) == CLUSTERS
    assert counted == {"overlay": 30, "plain": 4, "kpt": 6}
    assert len([path for path in files if path.startswith("bases/") and path.endswith("workload.yaml")]) == 12


def test_a_folder_that_is_not_empty_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "mine").touch()

    with pytest.raises(SystemExit, match="must be empty"):
        generate(tmp_path, 1, 1, 0)


def test_packwise_has_nothing_against_it(tmp_path: Path, call: Call) -> None:
    generate(tmp_path / "fleet", 6, 2, 5)
    folders = [path.parent for path in (tmp_path / "fleet").glob("clusters/*/*/inference-*.yaml")]

    assert folders
    assert call("check", str(folders[0])).code == 0
