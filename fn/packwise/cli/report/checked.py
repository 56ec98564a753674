"""What a check found, as every format is given it."""

from __future__ import annotations

from krmfn.hints import TYPE_CHECKING
from krmfn.record import NamedTuple
from packwise.cli.arguments import Verbosity
from packwise.cli.coverage import Coverage
from packwise.cli.report.lines import count_of_causes

if TYPE_CHECKING:
    from collections.abc import Callable

    from krmfn.result import Result

__all__ = ["Checked"]


class Checked(NamedTuple):
    """The sorted results of a check of that many `files`.

    `text_of` gives the text of a file by its name, of stdin by None, and None for what was not read. `coloured` asks
    for the colours of a terminal, where a format has any. `coverage` is what was judged by which configuration and
    what was left out. `verbosity` is how much of the results people read; `known` counts those that are left out since
    they were there before. With `changed_since`, files are those that the change since this commit reaches.
    """

    results: tuple[Result, ...]
    files: int
    text_of: Callable[[str | None], str | None]
    coloured: bool = False
    coverage: Coverage = Coverage()
    verbosity: Verbosity = Verbosity.NORMAL
    known: int = 0
    changed_since: str | None = None

    @property
    def last_line(self) -> str:
        """The line for stderr: how many results there are, those that are not shown too, and what was judged."""
        counted = count_of_causes(self.results) or "no findings"
        if self.known:
            counted += f", {self.known} known"
        where = "1 file" if self.files == 1 else f"{self.files} files"
        if self.changed_since is not None:
            if not self.files and not self.results and not self.known:
                return f"no findings: the change since {self.changed_since} reaches nothing that is checked"
            where += f" that the change since {self.changed_since} reaches"
        return f"{counted} in {where}; {self.coverage.line}"
