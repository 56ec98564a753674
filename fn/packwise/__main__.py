"""The command `packwise`."""

from __future__ import annotations

import gc
import sys

__all__ = ["main"]

_FUNCTION = (["fn"], ["fn", "--validate"])


def main() -> int:
    """Runs the command line; returns the exit code."""
    # Little is garbage in a run this short, and looking for it costs a tenth of the time.
    gc.disable()
    arguments = sys.argv[1:]
    if arguments in _FUNCTION:
        # Clients start the function thousands of times a day: the command line's own imports stay out of its way.
        from packwise.function import main as run_function

        return run_function(validate=len(arguments) > 1)
    from packwise.cli import main as run_command

    return run_command(arguments)


if __name__ == "__main__":
    sys.exit(main())
