"""What an explanation prints, whatever the format."""

from __future__ import annotations

from krmfn.hints import TYPE_CHECKING
from krmfn.record import NamedTuple

if TYPE_CHECKING:
    from packwise.commands.explain import Chosen, Explanation

__all__ = ["Explained"]


class Explained(NamedTuple):
    """The explanation of the files that one configuration judges, and what of it is asked about; None: everything.

    `configurations` are the names of the configuration's files, empty where there is none.
    """

    explanation: Explanation
    configurations: tuple[str, ...] = ()
    chosen: Chosen | None = None
