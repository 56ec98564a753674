from __future__ import annotations

import io
from typing import IO, TYPE_CHECKING, Any

import pytest
from pydantic import BaseModel

from krmfn import FieldError, KubeObject, ResourceList, Result, ResultFile, Severity
from krmfn.run import run

if TYPE_CHECKING:
    from collections.abc import Callable

LIST = (
    "apiVersion: config.kubernetes.io/v1\nkind: ResourceList\nitems:\n# a\n- kind: A # a\n  apiVersion: v1\n"
    "  metadata:\n    name: a\n  n: x\nfunctionConfig:\n  kind: F\n  spec: {size: 3}\n"
)
BAD = Result("bad", file=ResultFile("b.yaml"))
WORSE = Result("worse", file=ResultFile("a.yaml"))
WARNING = Result("look", Severity.WARNING)
INFO = Result("seen", Severity.INFO)


def call(function: Callable[..., ResourceList], text: str | bytes = LIST, **more: Any) -> tuple[int, str, str]:
    stdout, stderr = io.BytesIO(), io.StringIO()
    data = text.encode() if isinstance(text, str) else text
    code = run(function, stdin=io.BytesIO(data), stdout=stdout, stderr=stderr, **more)
    return code, stdout.getvalue().decode(), stderr.getvalue()


def unchanged(rl: ResourceList) -> ResourceList:
    return rl


def annotated(rl: ResourceList) -> ResourceList:
    return rl.with_items(item.with_annotation("a", "b") for item in rl.items)


def results(*found: Result) -> Callable[[ResourceList], ResourceList]:
    return lambda rl: annotated(rl).with_results(found)


def broken(rl: ResourceList) -> ResourceList:
    return rl.with_items([rl.items[7]])


def field_error(rl: ResourceList) -> ResourceList:
    rl.items[0].integer("n")
    return rl


EDITED = LIST.replace("    name: a\n", "    name: a\n    annotations:\n      a: b\n")
CASES: list[tuple[Callable[[ResourceList], ResourceList], tuple[int, str, str]]] = [
    (lambda rl: rl, (0, LIST, "")),
    (annotated, (0, EDITED, "")),
    (lambda rl: rl.with_items([]), (0, LIST[: LIST.index("items:")] + "items: []\n" + LIST[LIST.index("func") :], "")),
    (
        results(INFO, WARNING),
        (
            0,
            EDITED + "results:\n- message: look\n  severity: warning\n- message: seen\n  severity: info\n",
            "warning: look\ninfo: seen\n",
        ),
    ),
    (
        results(BAD),
        (
            1,
            LIST + "results:\n- message: bad\n  severity: error\n  file:\n    path: b.yaml\n",
            "error: b.yaml: bad\n",
        ),
    ),
    (
        results(BAD, WARNING, WORSE),
        (
            1,
            LIST + "results:\n- message: look\n  severity: warning\n"
            "- message: worse\n  severity: error\n  file:\n    path: a.yaml\n"
            "- message: bad\n  severity: error\n  file:\n    path: b.yaml\n",
            "error: 2 errors; first: a.yaml: worse\nwarning: look\nerror: a.yaml: worse\nerror: b.yaml: bad\n",
        ),
    ),
    (
        results(WARNING, BAD),
        (
            1,
            LIST + "results:\n- message: look\n  severity: warning\n"
            "- message: bad\n  severity: error\n  file:\n    path: b.yaml\n",
            "error: b.yaml: bad\nwarning: look\n",
        ),
    ),
    (
        broken,
        (
            70,
            LIST + "results:\n- message: 'internal error: IndexError: tuple index out of range at "
            "test_krmfn_run.py:LINE in broken; this is a bug, please report it'\n  severity: error\n",
            "error: internal error: IndexError: tuple index out of range at test_krmfn_run.py:LINE in broken; "
            "this is a bug, please report it\n",
        ),
    ),
    (
        field_error,
        (
            1,
            LIST + "results:\n- message: 'must be an integer; got \"x\"'\n  severity: error\n  resourceRef:\n"
            '    apiVersion: v1\n    kind: A\n    name: a\n  field:\n    path: "n"\n'
            '  tags:\n    line: "9"\n    column: "6"\n',
            'error: <stdin>:9:6: A a n: must be an integer; got "x"\n',
        ),
    ),
]


@pytest.mark.parametrize(("function", "outcome"), CASES)
def test_outcomes(function: Callable[[ResourceList], ResourceList], outcome: tuple[int, str, str]) -> None:
    line = str(broken.__code__.co_firstlineno + 1)
    code, stdout, stderr = outcome
    got = call(function)
    assert got == (code, got[1] if "internal" in stdout else stdout, stderr.replace("LINE", line))
    if "internal" in stdout:
        again = ResourceList.parse(got[1])
        assert got[1].startswith(LIST)
        assert [f"error: {result.message}\n" for result in again.results] == [got[2]]


class Config(BaseModel, extra="forbid"):
    size: int = 1


def sized(rl: ResourceList, config: Config) -> ResourceList:
    return rl.with_items([KubeObject.new({"apiVersion": "v1", "kind": "S", "size": config.size})])


def test_with_a_config() -> None:
    code, stdout, stderr = call(sized, config=Config)
    assert (code, stderr) == (0, "")
    assert [item.value for item in ResourceList.parse(stdout).items] == [{"apiVersion": "v1", "kind": "S", "size": 3}]


def test_with_a_wrong_config() -> None:
    text = LIST.replace("size: 3", "sise: 3")
    code, stdout, stderr = call(sized, text, config=Config)
    assert code == 1
    assert stderr == (
        'error: <stdin>:12:10: F spec.sise: must be a known field; got "sise"; did you mean "size"? known: "size"\n'
    )
    assert stdout.startswith(text + "results:\n- message: ")


@pytest.mark.parametrize("text", ["", "nonsense", "kind: ConfigMap\n", b"\xff\xfe", "kind: ResourceList\nitems: [\n"])
def test_what_is_no_list_gives_nothing_on_stdout(text: str | bytes) -> None:
    code, stdout, stderr = call(unchanged, text)
    assert (code, stdout) == (1, "")
    assert stderr.startswith("error: <stdin>:")
    assert stderr.count("\n") == 1


def test_old_results_stay_and_are_not_reported_again() -> None:
    text = LIST + "results:\n- message: old\n  severity: error\n"
    assert call(unchanged, text) == (0, text, "")

    def add(rl: ResourceList) -> ResourceList:
        return rl.with_results([*rl.results, INFO])

    code, stdout, stderr = call(add, text)
    assert (code, stdout, stderr) == (0, text + "- message: seen\n  severity: info\n", "info: seen\n")
    code, stdout, stderr = call(broken, text)
    assert (code, stdout.startswith(text)) == (70, True)


def test_too_much(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("krmfn.run.MAX_INPUT", 1 << 20)
    code, stdout, stderr = call(unchanged, b"x" * ((1 << 20) + 1))
    assert (code, stdout) == (1, "")
    assert stderr == "error: <stdin>:1:1: must be at most 1 MiB; split the package into smaller ones\n"


def test_nobody_reads() -> None:
    class Closed(io.BytesIO):
        def write(self, _: Any, /) -> int:
            raise BrokenPipeError

    stderr: IO[str] = io.StringIO()
    assert run(lambda rl: rl, stdin=io.BytesIO(LIST.encode()), stdout=Closed(), stderr=stderr) == 1


def test_an_item_without_a_written_form() -> None:
    deep: Any = "x"
    for _ in range(600):
        deep = [deep]

    def add(rl: ResourceList) -> ResourceList:
        return rl.with_items([KubeObject.new({"kind": "D", "deep": deep})])

    code, stdout, stderr = call(add)
    assert code == 1
    assert stdout.startswith(LIST)
    assert stderr == "error: <stdin>:1:1: D: nested deeper than 500 levels\n"


def test_field_error_is_public() -> None:
    assert issubclass(FieldError, ValueError)
