"""What a rulebook is: the rules of one webhook, in its order. Source: operator.md 4 and 5."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from packwise.frontends.grove.rules.rule import CliqueAt, Context, GroupAt, Node

if TYPE_CHECKING:
    from collections.abc import Iterable

    from packwise.frontends.grove.podcliqueset import PodCliqueSet

__all__ = ["Rulebook", "cliques_of", "groups_of"]


class Rulebook(NamedTuple):
    """The rules of one webhook, in its order: `constraints`, then `whole`, `mnnvl`, `backend` of a new PodCliqueSet.

    `whole`, `mnnvl_update` and `backend` of an updated one, and where these find nothing, `update`.
    """

    constraints: tuple[Node, ...]
    whole: tuple[Node, ...]
    mnnvl: tuple[Node, ...]
    mnnvl_update: tuple[Node, ...]
    update: tuple[Node, ...]
    backend: tuple[Node, ...] = ()

    @property
    def create(self) -> tuple[Node, ...]:
        """The rules of a new PodCliqueSet."""
        return (*self.constraints, *self.whole, *self.mnnvl, *self.backend)


def cliques_of(pcs: PodCliqueSet, _context: Context) -> Iterable[CliqueAt]:
    """The cliques where they stand: the parts of a scope."""
    grouped = pcs.grouped_cliques()
    return [CliqueAt(pcs, index, clique, clique.name in grouped) for index, clique in enumerate(pcs.cliques)]


def groups_of(pcs: PodCliqueSet, _context: Context) -> Iterable[GroupAt]:
    """The scaling groups where they stand."""
    return [GroupAt(pcs, index, group) for index, group in enumerate(pcs.groups)]
