"""The packed goldens: the same cases give the same bytes. Upstream's own cases are linked and never packed."""

from __future__ import annotations

import json
from pathlib import Path

from tests.golden.cases import GOLDEN
from tests.golden.packing import PACKED, UPSTREAMS, pack, read_lines, unpack


def files(folder: Path) -> dict[str, Path]:
    return {path.relative_to(folder).as_posix(): path for path in sorted(folder.rglob("*.gz"))}


def test_what_was_unpacked_is_packed_to_the_same(tmp_path: Path) -> None:
    for name in ("once", "again"):
        pack(GOLDEN, tmp_path / name)

    once, again, kept = files(tmp_path / "once"), files(tmp_path / "again"), files(PACKED)
    assert {name: path.read_bytes() for name, path in once.items()} == {n: p.read_bytes() for n, p in again.items()}
    assert {name: read_lines(path) for name, path in once.items()} == {n: read_lines(p) for n, p in kept.items()}


def test_no_case_of_the_repository_carries_upstreams_files() -> None:
    names = [json.loads(line).get("case", "") for path in files(PACKED).values() for line in read_lines(path)]

    assert len(names) > 1000
    assert [name for name in names if name.startswith(UPSTREAMS)] == []


def test_upstreams_own_cases_are_linked_where_they_stand_beside_the_clone(tmp_path: Path) -> None:
    beside = tmp_path / "beside"
    for name in ("repo-sample", "of-somebody-else"):
        (beside / "head" / name).mkdir(parents=True)
        (beside / "head" / name / "errors.json").write_text("{}", encoding="utf-8")
    said = {"cases": [{"case": "repo-sample", "kind": "create"}, {"case": "of-somebody-else", "kind": "create"}]}
    (beside / "head" / "manifest.json").write_text(json.dumps(said), encoding="utf-8")

    unpack(PACKED, beside, tmp_path / "all")

    head = tmp_path / "all" / "head"
    assert (head / "repo-sample").readlink() == beside / "head" / "repo-sample"
    assert not (head / "of-somebody-else").exists()
    listed = [case["case"] for case in json.loads((head / "manifest.json").read_text(encoding="utf-8"))["cases"]]
    assert [name for name in listed if name.startswith(UPSTREAMS)] == ["repo-sample"]
    pack(tmp_path / "all", tmp_path / "packed")
    assert read_lines(tmp_path / "packed" / "head.jsonl.gz") == read_lines(PACKED / "head.jsonl.gz")
