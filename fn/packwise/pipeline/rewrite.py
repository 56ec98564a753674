"""Objects rewritten where they stand: mended, or carried to a later revision of the design."""

from __future__ import annotations

from typing import TYPE_CHECKING

from krmfn.errors import FieldError
from packwise.pipeline.front_ends import FRONT_ENDS
from packwise.schedulers.kai import KAI
from packwise.select import select

if TYPE_CHECKING:
    from krmfn.kubeobject import KubeObject
    from packwise.migrate.step import Step
    from packwise.select import Package

__all__ = ["mend", "migrate_workload"]


def mend(package: Package) -> tuple[KubeObject, ...]:
    """The items with what can be mended without a decision.

    Those that need none come back as they are, and so do those where an anchor or alias is in the way.
    """
    selection = select(package)
    mended: list[KubeObject] = []
    for item in package.items:
        found = item
        try:
            for front_end in FRONT_ENDS:
                found = front_end.mend(found, selection.revision)
            if selection.schedulers is not None:
                from packwise.schedulers.references import with_reference

                found = with_reference(found, KAI, selection)
        except FieldError:
            # The finding stays, and says what to mend by hand.
            found = item
        mended.append(found)
    return tuple(mended)


def migrate_workload(item: KubeObject, step: Step) -> KubeObject:
    """`item` in the words of the step's later revision; itself where it is no workload, or says the same in both.

    Raises FieldError where an anchor is in the way, or a comment could not stay.
    """
    for front_end in FRONT_ENDS:
        item = front_end.migrate(item, step)
    return item
