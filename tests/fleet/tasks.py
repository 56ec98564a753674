"""Functions that tests pass to workers. Other processes can import them."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from time import sleep

__all__ = [
    "OddError",
    "double",
    "end_once",
    "end_the_third",
    "exit_with",
    "fill_memory",
    "keep_busy",
    "nothing_to_pickle",
    "open_fifo",
    "refuse",
    "refuse_oddly",
    "size",
]


def double(number: int) -> int:
    return 2 * number


def size(data: bytes) -> int:
    return len(data)


def end_the_third(number: int) -> int:
    """If the number is 3, kill this process, as the kernel does if memory runs out."""
    if number == 3:
        os.kill(os.getpid(), signal.SIGKILL)
    return number


def end_once(task: tuple[int, str]) -> int:
    """If the number is 3 and the file does not exist, create the file and kill this process."""
    number, marker = task
    if number == 3 and not Path(marker).exists():
        Path(marker).touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return number


def exit_with(code: int) -> None:
    os._exit(code)


def fill_memory(number: int) -> int:
    if number == 1:
        raise MemoryError
    return number


def refuse(number: int) -> int:
    raise ValueError(f"no {number}")


class OddError(Exception):
    """An error that pickle can write but cannot read."""

    def __init__(self, text: str, number: int) -> None:
        super().__init__(text)
        self.number = number


def refuse_oddly(number: int) -> int:
    raise OddError("odd", number)


def nothing_to_pickle(number: int) -> object:
    return lambda: number


def keep_busy(folder: str) -> None:
    """Start a program, record both processes and a temporary folder below `folder`, and wait forever."""
    with TemporaryDirectory(dir=folder) as temporary:
        program = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(1000)"])
        note = Path(folder, f"{os.getpid()}.part")
        note.write_text(f"{os.getpid()} {program.pid} {temporary}", encoding="utf-8")
        note.rename(note.with_suffix(".busy"))
        sleep(1000)


def open_fifo(task: tuple[str, str]) -> None:
    """Record the process in the folder, and return when a reader opens the FIFO."""
    folder, fifo = task
    note = Path(folder, f"{os.getpid()}.part")
    note.write_text(str(os.getpid()), encoding="utf-8")
    note.rename(note.with_suffix(".busy"))
    with Path(fifo).open("w", encoding="utf-8"):
        pass
