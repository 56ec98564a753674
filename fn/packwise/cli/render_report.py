"""What stderr says of a render."""

from __future__ import annotations

import sys

from krmfn.hints import TYPE_CHECKING
from krmfn.record import NamedTuple
from krmfn.result import sort_results
from packwise.cli.arguments import Verbosity
from packwise.cli.console import is_coloured, say
from packwise.cli.coverage import ending
from packwise.cli.findings_text import count_of_causes, hidden_infos, stderr_lines
from packwise.cli.inputs import error_result

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from krmfn.errors import FieldError
    from krmfn.result import Result
    from packwise.cli.arguments import Render
    from packwise.cli.coverage import Coverage

__all__ = ["Report"]


class Report(NamedTuple):
    """What stderr says of a render: findings, and a last line of what was done, judged and left out.

    `coverage` is what that line says of the latter two.
    """

    command: Render
    coverage: Coverage

    @property
    def verbosity(self) -> Verbosity:
        """How much is said."""
        return self.command.verbosity

    def list_findings(self, results: Sequence[Result]) -> None:
        """Says what there is to say of `results`."""
        say(stderr_lines(results, self.verbosity, coloured=is_coloured(sys.stderr)), as_they_are=True)

    def end(self, results: Iterable[Result], done: str = "") -> None:
        """Says what was `done`, and the rest of the last line: what is not shown of `results`, what was judged."""
        hidden = hidden_infos(results) if self.verbosity is Verbosity.NORMAL else ""
        last = "; ".join([part for part in (done, hidden, self.coverage.line) if part])
        say(ending(last, self.coverage.listed, self.verbosity))

    def refuse(self, results: Iterable[Result], error: FieldError | None = None) -> int:
        """Says that nothing was written, and why, an `error` beside the results; returns the exit code."""
        ordered = sort_results([*results, *([] if error is None else [error_result(error)])])
        self.list_findings(ordered)
        refusal = f"{count_of_causes(ordered)}: nothing was written"
        if self.verbosity is Verbosity.QUIET:
            say([refusal])
        self.end((), refusal)
        return 1
