"""The program of a function: it reads a ResourceList from stdin, writes one to stdout, and prints results on stderr.

Clients differ in their use of the streams. kustomize shows neither results nor stdout of a failed function. kpt shows
only results from stdout. A pipe into `kpt fn sink` writes all of stdout to files. Therefore the function writes:

- success: the list on stdout, warnings and infos on stderr, exit code 0;
- an error: the input's own items and the results on stdout, the errors on stderr, exit code 1;
- stdin that is not a ResourceList: nothing on stdout, the reason on stderr, exit code 1;
- a bug of the function (an unexpected exception): the same as for an error, but exit code 70.
"""

from __future__ import annotations

import gc
import os
import sys

from krmfn import NO_MEMORY
from krmfn.fieldpath import FieldError
from krmfn.hints import TYPE_CHECKING, cast, overload
from krmfn.resourcelist import ResourceList, ResourceListError, decode, pieces_of
from krmfn.result import Result, Severity, exit_code, sort_results

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from typing import IO, Any, TypeVar

    from pydantic import BaseModel

    ConfigT = TypeVar("ConfigT", bound=BaseModel)
    LinesOf = Callable[[Sequence[Result]], Sequence[str]]

__all__ = ["INTERNAL_ERROR", "MAX_INPUT", "internal_error", "read_input", "run"]

MAX_INPUT = 512 * 1024 * 1024
"""The largest number of bytes that are read from stdin. A longer input is an error."""

INTERNAL_ERROR = 70
"""The exit code after an unexpected exception. Source: sysexits.h, `EX_SOFTWARE`."""

_PIECE = 1 << 20


@overload
def run(
    function: Callable[[ResourceList], ResourceList],
    *,
    config: None = None,
    validator: bool = False,
    lines_of: LinesOf | None = None,
    stdin: IO[bytes] | None = None,
    stdout: IO[bytes] | None = None,
    stderr: IO[str] | None = None,
) -> int:
    """Run `function` with the list as its only argument. The function reads `function_config` itself if needed."""


@overload
def run(
    function: Callable[[ResourceList, ConfigT], ResourceList],
    *,
    config: type[ConfigT],
    validator: bool = False,
    lines_of: LinesOf | None = None,
    stdin: IO[bytes] | None = None,
    stdout: IO[bytes] | None = None,
    stderr: IO[str] | None = None,
) -> int:
    """Run `function` with the list and the functionConfig, which is read as the pydantic model `config`."""


def run(
    function: Callable[..., ResourceList],
    *,
    config: type[Any] | None = None,
    validator: bool = False,
    lines_of: LinesOf | None = None,
    stdin: IO[bytes] | None = None,
    stdout: IO[bytes] | None = None,
    stderr: IO[str] | None = None,
) -> int:
    """Run `function` on the ResourceList in stdin and return the process's exit code: 0, 1 or 70.

    With `config`, the functionConfig is read as that pydantic model and passed as the second argument. A FieldError or
    ConfigError of the function becomes an error result. Any other exception becomes an `internal error` result. A
    `validator` writes no items, even with an error, because kustomize treats a validator's items as a change.
    `lines_of` returns the lines for stderr, which must include the errors. By default each result has one line.
    `krmfn.result.grouped_lines` returns fewer lines. `results` on stdout always holds every result.
    """
    source = sys.stdin.buffer if stdin is None else stdin
    sink = sys.stdout.buffer if stdout is None else stdout
    messages = sys.stderr if stderr is None else stderr
    try:
        pieces, lines, code = _answer(function, config, source, lines_of or _lines_of_results, validator=validator)
    except MemoryError:
        pieces, lines, code = (), [NO_MEMORY], 1
    # Write stderr first, so that a reader that closed stdout early still gets the reason.
    _write_lines(messages, lines)
    return code if _write(sink, messages, pieces) else 1


def read_input(stream: IO[bytes]) -> bytes:
    """Return the content of `stream`, but at most MAX_INPUT bytes and one. A small input uses little memory."""
    pieces: list[bytes] = []
    left = MAX_INPUT + 1
    while left and (piece := stream.read(min(left, _PIECE))):
        pieces.append(piece)
        left -= len(piece)
    return b"".join(pieces)


def _answer(
    function: Callable[..., ResourceList],
    config: type[Any] | None,
    source: IO[bytes],
    lines_of: LinesOf,
    *,
    validator: bool,
) -> tuple[Iterable[bytes], list[str], int]:
    """Return the bytes for stdout, the lines for stderr and the exit code.

    Raise MemoryError if there is not enough memory.
    """
    try:
        read = _parse(decode(_input(source)))
    except ResourceListError as error:
        return (), [f"error: {error}"], 1
    answered, raised = _call(function, config, read)
    if validator:
        read, answered = read.with_items(()), answered.with_items(())
    answer, lines, code = _outcome(read, answered, raised, lines_of)
    return _encode(answer), lines, code


def _encode(pieces: Iterable[str]) -> Iterator[bytes]:
    block, size = list[str](), 0
    for piece in pieces:
        for start in range(0, len(piece), _PIECE):
            block.append(piece[start : start + _PIECE])
            size += len(block[-1])
            if size >= _PIECE:
                yield "".join(block).encode("utf-8")
                block, size = [], 0
    yield "".join(block).encode("utf-8")


def _parse(text: str) -> ResourceList:
    # The garbage collector would visit the list repeatedly, although it lives as long as the process. This takes half
    # of the time for 10,000 items.
    enabled = gc.isenabled()
    gc.disable()
    try:
        read = ResourceList.parse(text)
        gc.freeze()
        return read
    finally:
        if enabled:
            gc.enable()


def _input(stdin: IO[bytes]) -> bytes:
    try:
        data = read_input(stdin)
    except OSError as error:
        raise ResourceListError(f"cannot read the input: {error.strerror}") from None
    if len(data) > MAX_INPUT:
        raise ResourceListError(f"must be at most {MAX_INPUT >> 20} MiB; split the package into smaller ones")
    return data


def _call(
    function: Callable[..., ResourceList], config: type[Any] | None, read: ResourceList
) -> tuple[ResourceList, tuple[Result, ...]]:
    """Return the list that the function returns, and no results.

    Return `read` and the exception's results if it raises an exception.
    """
    try:
        if config is None:
            return function(read), ()
        from krmfn.config import load_config

        return function(read, load_config(read.function_config, config)), ()
    except FieldError as error:
        return read, (error.to_result(),)
    except MemoryError:
        raise
    except Exception as error:
        results = getattr(error, "results", None)
        if isinstance(results, tuple) and results and all(isinstance(item, Result) for item in cast("Any", results)):
            return read, cast("tuple[Result, ...]", results)
        return read, (_internal_result(error),)


def _internal_result(error: Exception) -> Result:
    return Result(internal_error(error))


def internal_error(error: Exception) -> str:
    """Return one line about an unexpected exception: its type, its text and the place that raised it."""
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    where = ""
    if trace is not None:
        code = trace.tb_frame.f_code
        name = code.co_filename.replace("\\", "/").rpartition("/")[2]
        where = f" at {name}:{trace.tb_lineno} in {code.co_name}"
    detail = " ".join(str(error).split())
    return f"{_BUG}{type(error).__name__}{': ' if detail else ''}{detail}{where}; this is a bug, please report it"


_BUG = "internal error: "


def _code(results: Sequence[Result]) -> int:
    """Return the exit code of a function with these results."""
    return INTERNAL_ERROR if any(result.message.startswith(_BUG) for result in results) else exit_code(results)


def _outcome(
    read: ResourceList, answered: ResourceList, raised: tuple[Result, ...], lines_of: LinesOf
) -> tuple[list[str], list[str], int]:
    """Return the pieces of the text for stdout, the lines for stderr and the exit code."""
    if not raised and answered.results is read.results:
        return _text_or_error(read, answered)
    old, new = _divide(read.results, raised or answered.results, keeps_old=not raised)
    code = _code(raised) or exit_code(new)
    kept = read if code else answered
    results = (*old, *new)
    pieces, lines, written = _text_or_error(read, kept.with_results(results))
    own = _lines(new, lines_of)
    return pieces, [*lines, *own] if written else own, code or written


def _divide(
    read: tuple[Result, ...], answered: tuple[Result, ...], *, keeps_old: bool
) -> tuple[list[Result], tuple[Result, ...]]:
    """Return the results of the input that stay, and the function's own results.

    If the function repeats a result of the input, it counts as the function's own.
    """
    handed_on = {id(result) for result in answered}
    came = {id(result) for result in read} if keeps_old else set[int]()
    new = sort_results([_escape_result(result) for result in answered if id(result) not in came])
    return [result for result in read if (not keeps_old or id(result) in handed_on) and result not in new], new


def _escape_result(result: Result) -> Result:
    """Return `result` with a message that clients such as kpt can print in the log of a CI job."""
    from krmfn.terminal import escape_commands

    message = escape_commands(result.message)
    return result if message == result.message else result.replace(message=message)


def _text_or_error(read: ResourceList, answer: ResourceList) -> tuple[list[str], list[str], int]:
    try:
        return pieces_of(answer), [], 0
    except MemoryError:
        raise
    except Exception as error:
        result = error.to_result() if isinstance(error, FieldError) else _internal_result(error)
        with_error = read.with_results([*read.results, result])
        return pieces_of(with_error), [result.line_of_text()], _code([result])


def _lines_of_results(results: Sequence[Result]) -> list[str]:
    return [result.line_of_text() for result in results]


def _lines(results: Sequence[Result], lines_of: LinesOf) -> list[str]:
    lines = list(lines_of(results))
    errors = [result for result in results if result.severity is Severity.ERROR]
    if errors and len(lines) > 1:
        # Users of kustomize and kpt often see only one line.
        first = errors[0].line_of_text().removeprefix("error: ")
        noun = f"{len(errors)} errors; first: " if len(errors) > 1 else ""
        return [f"error: {noun}{first}", *(lines if noun else [line for line in lines if not line.startswith("error")])]
    return lines


def _write_lines(stderr: IO[str], lines: Sequence[str]) -> None:
    if not lines:
        return
    from krmfn.terminal import escape_commands, escape_line

    text = escape_commands("".join([f"{escape_line(line)}\n" for line in lines]))
    try:
        stderr.write(text.encode("utf-8", "replace").decode("utf-8"))
        stderr.flush()
    except UnicodeEncodeError:
        stderr.write(text.encode("ascii", "backslashreplace").decode("ascii"))
        stderr.flush()
    except OSError:
        return


def _write(stdout: IO[bytes], stderr: IO[str], pieces: Iterable[bytes]) -> bool:
    """Write `pieces` to stdout, and return True if all were written.

    Otherwise print the reason on stderr, unless the reader closed the pipe.
    """
    try:
        for piece in pieces:
            stdout.write(piece)
        stdout.flush()
    except OSError as error:
        if not isinstance(error, BrokenPipeError):
            _write_lines(stderr, [f"error: <stdout>: cannot write the output: {error.strerror}"])
        if stdout is getattr(sys.stdout, "buffer", None):
            # The interpreter flushes stdout again when it exits, and would report an error.
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return False
    return True
