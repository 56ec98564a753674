"""A cache: every job reads its entries, incomplete entries do not count, and no failure of the cache stops a run."""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from packwise.build.cache import (
    DEFAULT_SIZE,
    LARGEST,
    Cache,
    CacheError,
    Contents,
    build,
    contents_of,
    default_place,
    entry_of,
    name_of,
    open_cache,
    open_store,
    prune,
)
from tests.absent import env_without
from tests.cli.calling import Call

fsspec: Any = pytest.importorskip("fsspec")

Open = Callable[[], Cache]


def refuse(line: str) -> None:
    raise AssertionError(line)


@pytest.fixture(params=["folder", "memory"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """Return the place of a cache: a folder, or an object store."""
    if request.param == "folder":
        return str(tmp_path / "cache")
    fsspec.filesystem("memory").store.clear()
    return "memory://bucket/cache"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "cache"


def opened(place: str | Path, size: int = DEFAULT_SIZE) -> Cache:
    return open_cache(str(place), refuse, size)


# --- The build of packwise that made the results ---


def test_another_native_core_or_none_is_another_build(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def digest_with(core: bytes | None) -> str:
        (tmp_path / "krmfn_native.abi3.so").write_bytes(core or b"")
        monkeypatch.setitem(sys.modules, "krmfn_native", SimpleNamespace(__path__=[str(tmp_path)]))
        monkeypatch.setattr("packwise.build.cache.CORE", core)
        return build.__wrapped__().digest

    assert len({digest_with(b"one"), digest_with(b"other"), digest_with(None)}) == 3
    assert digest_with(b"one") == digest_with(b"one")


# --- Cached results ---


def test_what_was_put_is_there_for_everyone(place: str) -> None:
    with opened(place) as cache:
        assert cache.get("key") is None
        cache.put("key", b"value")
        cache.put("another/../key \0 \N{GREEK SMALL LETTER ALPHA}", b"")

    with opened(place) as other:
        assert (other.get("key"), other.get("another/../key \0 \N{GREEK SMALL LETTER ALPHA}")) == (b"value", b"")
        assert other.dropped == 0


def test_the_last_of_two_writers_counts(place: str) -> None:
    cache, other = opened(place), opened(place)
    cache.put("key", b"first")
    other.put("key", b"second")

    assert (cache.get("key"), other.get("key")) == (b"second", b"second")


def test_a_folder_is_for_its_owner_alone_and_says_what_it_is(folder: Path) -> None:
    opened(folder).put("key", b"value")

    modes = {path.name: path.stat().st_mode & 0o777 for path in folder.iterdir()}
    assert folder.stat().st_mode & 0o777 == 0o700
    assert modes == {name_of("key"): 0o600, "CACHEDIR.TAG": modes["CACHEDIR.TAG"]}
    assert (folder / "CACHEDIR.TAG").read_text().startswith("Signature: 8a477f597d28d172789f06886806bc55\n")


def test_reading_makes_no_folder(folder: Path) -> None:
    with opened(folder) as cache:
        assert cache.get("key") is None

    assert not folder.exists()


def test_a_value_that_is_too_large_is_not_kept(folder: Path) -> None:
    with opened(folder) as cache:
        cache.put("key", bytes(LARGEST))

    assert contents_of(open_store(str(folder))) == Contents(0, 0)


# --- Incomplete entries ---

WHOLE = entry_of("key", b"value")


@pytest.mark.parametrize(
    "entry",
    [
        b"",
        WHOLE[:10],
        WHOLE[:-1],
        WHOLE + b"!",
        WHOLE.replace(b"value", b"other"),
        entry_of("another", b"value"),
        pickle.dumps({"result": 1}),
        b"packwise-cache-0" + WHOLE[16:],
        bytes(LARGEST + 1),
    ],
    ids=["empty", "head cut", "cut", "longer", "changed", "of another key", "pickle", "other format", "huge"],
)
def test_an_entry_that_is_not_whole_is_absent_and_goes(place: str, entry: bytes) -> None:
    opened(place).put("key", b"value")
    store = open_store(place)
    store.write(name_of("key"), entry)

    with opened(place) as cache:
        assert (cache.get("key"), cache.dropped) == (None, 1)
        assert store.read(name_of("key")) is None
        cache.put("key", b"value")
        assert (cache.get("key"), cache.dropped) == (b"value", 1)


def test_links_and_what_is_no_file_are_not_followed(folder: Path, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.write_bytes(entry_of("link", b"value"))
    opened(folder).put("key", b"value")
    (folder / name_of("link")).symlink_to(outside)
    os.mkfifo(folder / name_of("fifo"))

    with opened(folder) as cache:
        assert (cache.get("link"), cache.get("fifo"), cache.dropped) == (None, None, 2)
        cache.put("link", b"mine")
        assert cache.get("link") == b"mine"

    assert outside.read_bytes() == entry_of("link", b"value")
    assert not (folder / name_of("link")).is_symlink()


def test_a_folder_in_the_place_of_an_entry_is_a_warning(folder: Path) -> None:
    (folder / name_of("key")).mkdir(parents=True)
    warned: list[str] = []
    cache = open_cache(str(folder), warned.append)

    assert cache.get("key") is None
    cache.put("key", b"value")

    assert warned == [f"warning: cannot write the cache {folder}: Is a directory; reading it only"]


# --- Size ---


def aged(folder: Path, keys: dict[str, int]) -> None:
    """Write entries of 100 bytes. Each was last used this number of hours before 1 January 2026."""
    with opened(folder) as cache:
        for key, hours in keys.items():
            cache.put(key, bytes(100 - len(entry_of(key, b""))))
            used = 1767225600 - 3600 * hours
            os.utime(folder / name_of(key), (used, used))


def test_pruning_takes_what_was_not_used_for_longest(folder: Path) -> None:
    aged(folder, {"a": 3, "b": 4, "c": 1, "d": 2})
    opened(folder).get("b")

    assert prune(open_store(str(folder)), 250) == Contents(2, 200)
    kept = opened(folder)
    assert [kept.get(key) is not None for key in "abcd"] == [False, True, True, False]


@pytest.mark.parametrize(("size", "left"), [(400, 4), (399, 3), (100, 1), (99, 0), (0, 0)])
def test_a_cache_keeps_to_its_size_when_it_is_closed(folder: Path, size: int, left: int) -> None:
    aged(folder, {"a": 3, "b": 4, "c": 1})
    with opened(folder, size) as cache:
        cache.put("d", bytes(100 - len(entry_of("d", b""))))
        assert contents_of(open_store(str(folder))).entries == 4

    assert contents_of(open_store(str(folder))) == Contents(left, 100 * left)


def test_a_run_that_wrote_nothing_does_not_look_at_all_entries(folder: Path) -> None:
    aged(folder, {"a": 3, "b": 4})
    with opened(folder, 0) as cache:
        cache.get("a")

    assert contents_of(open_store(str(folder))).entries == 2


def test_a_second_use_within_the_hour_writes_nothing(folder: Path) -> None:
    aged(folder, {"a": 3})
    opened(folder).get("a")
    used = (folder / name_of("a")).stat().st_mtime_ns
    opened(folder).get("a")

    assert (folder / name_of("a")).stat().st_mtime_ns == used > 1767225600 * 10**9


def test_pruning_leaves_what_is_not_the_cache_s(folder: Path) -> None:
    aged(folder, {"a": 3})
    (folder / "notes.txt").write_text("mine")
    (folder / "part-new").write_text("being written")
    (folder / "part-old").write_text("by a run that was killed")
    os.utime(folder / "part-old", (0, 0))
    (folder / ("0" * 64)).mkdir()

    prune(open_store(str(folder)), 0)

    assert sorted(path.name for path in folder.iterdir()) == ["0" * 64, "CACHEDIR.TAG", "notes.txt", "part-new"]


def test_an_object_store_is_pruned_where_that_is_asked_for() -> None:
    fsspec.filesystem("memory").store.clear()
    with opened("memory://bucket/cache", 0) as cache:
        for number in range(4):
            cache.put(str(number), bytes(100 - len(entry_of(str(number), b""))))
    store = open_store("memory://bucket/cache")

    assert contents_of(store) == Contents(4, 400)
    assert prune(store, 250) == Contents(2, 200)
    assert contents_of(store) == Contents(2, 200)


# --- Stores that fail ---


def test_a_place_that_cannot_be_written_is_one_warning(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    warned: list[str] = []
    with open_cache(str(tmp_path / "file" / "cache"), warned.append) as cache:
        for key in "abc":
            assert cache.get(key) is None
            cache.put(key, b"value")

    name = (tmp_path / "file" / "cache").as_posix()
    assert warned == [
        f"warning: cannot read the cache {name}: Not a directory; continuing without it",
        f"warning: cannot write the cache {name}: Not a directory; reading it only",
    ]


def test_an_object_store_that_fails_is_one_warning(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each library has its own errors: botocore's error about credentials is not an OSError."""

    def fail(*_: object, **__: object) -> None:
        raise RuntimeError("no credentials\nand more")

    for name in ("cat_file", "pipe_file"):
        monkeypatch.setattr(f"fsspec.implementations.memory.MemoryFileSystem.{name}", fail)
    warned: list[str] = []
    with open_cache("memory://bucket/cache", warned.append) as cache:
        for key in "abc":
            assert cache.get(key) is None
            cache.put(key, b"value")

    assert warned == [
        "warning: cannot read the cache memory://bucket/cache: no credentials; continuing without it",
        "warning: cannot write the cache memory://bucket/cache: no credentials; reading it only",
    ]


@pytest.mark.parametrize(
    ("place", "reason"),
    [("s3://bucket/packwise", "Install s3fs to access S3"), ("nosuch://x", "Protocol not known: nosuch")],
)
def test_a_url_without_its_library_is_refused(place: str, reason: str) -> None:
    with pytest.raises(CacheError) as raised:
        open_store(place)

    assert str(raised.value) == f"cannot open --cache {place}: {reason}. Pass a folder, or a URL that fsspec can open"


def test_without_fsspec_the_error_names_the_extra() -> None:
    command = [sys.executable, "-m", "packwise", "cache", "--cache", "s3://bucket/packwise"]
    done = subprocess.run(command, env=env_without("fsspec"), capture_output=True, text=True, check=False)

    assert (done.returncode, done.stdout, done.stderr) == (
        2,
        "",
        'error: cannot use --cache s3://bucket/packwise: fsspec is not installed; add the extra "fsspec": pip install '
        '"packwise[fsspec] @ git+https://git.example.com/platform/packwise@COMMIT"\n',
    )


def test_a_folder_needs_no_library(folder: Path) -> None:
    command = [sys.executable, "-m", "packwise", "cache", "--cache", str(folder)]
    done = subprocess.run(command, env=env_without("fsspec"), capture_output=True, text=True, check=False)

    assert (done.returncode, done.stdout) == (0, f"{folder}: 0 entries, 0 bytes\n")


# --- Several jobs at once ---

JOB = """\
import sys
from packwise.build.cache import open_cache
with open_cache(sys.argv[1], print, 20_000) as cache:
    for number in range(300):
        key = str((number * int(sys.argv[2])) % 100)
        value = cache.get(key)
        if value is None:
            cache.put(key, (key * 300).encode())
        elif value != (key * 300).encode():
            print("got the value of another key")
    print("dropped", cache.dropped)
"""


def test_jobs_that_share_a_folder_see_whole_entries_only(folder: Path) -> None:
    """Each job also prunes the folder, to a size below the one that the jobs write."""
    jobs = [
        subprocess.Popen([sys.executable, "-c", JOB, folder, str(step)], stdout=subprocess.PIPE, text=True)
        for step in (1, 3, 7, 11)
    ]

    assert [(job.communicate()[0], job.returncode) for job in jobs] == [("dropped 0\n", 0)] * 4
    assert contents_of(open_store(str(folder))).size <= 20_000
    assert [path.name for path in folder.iterdir() if path.name.startswith("part-")] == []


# --- The user's own folder ---


@pytest.mark.parametrize(
    ("variables", "place"),
    [
        ({"XDG_CACHE_HOME": "/var/cache/me", "HOME": "/home/me"}, "/var/cache/me/packwise"),
        ({"XDG_CACHE_HOME": "", "HOME": "/home/me"}, "/home/me/.cache/packwise"),
        ({"XDG_CACHE_HOME": "relative", "HOME": "/home/me"}, "/home/me/.cache/packwise"),
    ],
)
def test_the_default_is_the_user_s_cache(
    variables: dict[str, str], place: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in variables.items():
        monkeypatch.setenv(name, value)

    assert default_place() == place


# --- packwise cache ---


def test_the_command_counts_and_prunes(folder: Path, call: Call) -> None:
    aged(folder, {"a": 3, "b": 4, "c": 1})

    assert call("cache", "--cache", str(folder)).stdout == f"{folder}: 3 entries, 300 bytes\n"
    assert call("cache", "prune", "--cache", str(folder), "--max-size", "100").stdout == (
        f"{folder}: 1 entry, 100 bytes; 2 entries, 200 bytes removed\n"
    )
    assert call("cache", "prune", "--cache", str(folder)).stdout == (
        f"{folder}: 1 entry, 100 bytes; 0 entries, 0 bytes removed\n"
    )


def test_the_command_takes_the_user_s_folder(folder: Path, call: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(folder))
    aged(folder / "packwise", {"a": 3})

    assert call("cache").stdout == f"{folder}/packwise: 1 entry, 100 bytes\n"


@pytest.mark.parametrize(
    ("text", "size"),
    [("0", 0), ("1500", 1500), ("2k", 2000), ("2Ki", 2048), ("3M", 3 * 10**6), ("3Mi", 3 * 2**20), ("1Ti", 2**40)],
)
def test_sizes_are_quantities(text: str, size: int, folder: Path, call: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[int] = []

    def prune_to(_: object, size: int) -> Contents:
        asked.append(size)
        return Contents(0, 0)

    monkeypatch.setattr("packwise.commands.cache.prune", prune_to)
    call("cache", "prune", "--cache", str(folder), "--max-size", text)

    assert asked == [size]


@pytest.mark.parametrize("text", ["", "-1", "1.5Gi", "2x", "Gi", "2 Gi", "2K", "1e3"])
def test_what_is_no_size_is_wrong_usage(text: str, call: Call) -> None:
    ran = call("cache", "prune", f"--max-size={text}")

    assert (ran.code, ran.stderr.splitlines()[-1]) == (
        2,
        f'packwise cache: error: argument --max-size: must be a size such as 500Mi or 2Gi; got "{text}"',
    )


def test_a_size_goes_with_prune(call: Call) -> None:
    ran = call("cache", "--max-size", "1Gi")

    assert (ran.code, ran.stderr.splitlines()[-1]) == (
        2,
        "packwise cache: error: --max-size needs prune: packwise cache prune --max-size SIZE",
    )


def test_a_place_that_is_no_folder_is_an_error(tmp_path: Path, call: Call) -> None:
    (tmp_path / "file").touch()
    ran = call("cache", "--cache", str(tmp_path / "file"))

    assert (ran.code, ran.stdout, ran.stderr) == (
        1,
        "",
        f"error: cannot read or write --cache {tmp_path}/file: Not a directory\n",
    )
