"""The command `packwise`."""

import sys

if __name__ == "__main__" and not sys.flags.safe_path and not __file__.startswith(sys.path[0]):
    # `python -m` looks into the working directory first, which may contain any `yaml.py`.
    del sys.path[0]

import gc
import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import NoReturn

_FUNCTION = (["fn"], ["fn", "--validate"])
_OF_FILES = (["check"], ["render"])


def program() -> "NoReturn":
    """Run the command line, and end the process with its exit code."""
    code = main()
    if sys.argv[1:] in _FUNCTION or sys.argv[1:2] in _OF_FILES:
        # Freeing a large list takes a fiftieth of a run and has no effect at its end.
        sys.stderr.flush()
        os._exit(code)
    sys.exit(code)


def main() -> int:
    """Run the command line and return the exit code."""
    # A short run makes little garbage, and collecting it takes a tenth of the time.
    gc.disable()
    if os.getpid() == 1:
        _be_stoppable()
    try:
        return _run(sys.argv[1:])
    except KeyboardInterrupt:
        return _end_by_signal()


def _run(arguments: list[str]) -> int:
    if None in (sys.stdin, sys.stdout, sys.stderr):
        from packwise.console import open_closed

        open_closed()
    if arguments in _FUNCTION:
        # Clients start the function thousands of times a day, so it does not load the imports of the command line.
        from packwise.function import main as run_function

        return run_function(validate=len(arguments) > 1)
    from packwise.cli.command_line import main as run_command

    return run_command(arguments)


def _be_stoppable() -> None:
    """Install a handler for SIGTERM that ends packwise.

    Without a handler, SIGTERM has no effect on the first process of a container.
    """
    import signal

    signal.signal(signal.SIGTERM, lambda number, _: os._exit(128 + number))


def _end_by_signal() -> int:
    """End the process as Ctrl-C itself does, so that a shell also stops the script that runs it."""
    import signal

    signal.signal(signal.SIGINT, signal.SIG_DFL)
    os.kill(os.getpid(), signal.SIGINT)
    return 130


if __name__ == "__main__":
    program()
