"""Why a file of a folder is left out, and how a summary counts the reasons."""

from __future__ import annotations

from collections import Counter
from enum import Enum

from krmfn.hints import TYPE_CHECKING
from krmfn.record import NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["LeftOut", "Reason", "summary"]


class Reason(Enum):
    """Each reason with its noun for one file and for several; summaries count in this order."""

    HELM_TEMPLATE = ("Helm template", "Helm templates")
    HELM_CHART = ("Helm chart", "Helm charts")
    VALUES = ("values file", "values files")
    PATCH = ("patch", "patches")
    COMPONENT = ("file of a component", "files of components")
    TEMPLATE = ("template", "templates")
    ENCRYPTED = ("encrypted file", "encrypted files")
    FOREIGN = ("foreign file", "foreign files")
    RENDERED = ("rendered file", "rendered files")
    IGNORED = ("ignored path", "ignored paths")
    EXCLUDED = ("excluded path", "excluded paths")

    @property
    def noun(self) -> str:
        """What a file is that is left out for this reason."""
        return self.value[0]

    @property
    def plural(self) -> str:
        """The noun for several files."""
        return self.value[1]

    @property
    def is_of_the_package(self) -> bool:
        """Whether the file belongs to the package though it is not judged: `render` copies it."""
        return self not in (Reason.RENDERED, Reason.IGNORED, Reason.EXCLUDED)


class LeftOut(NamedTuple):
    """A file that is not judged. `by` is the file that says so, or "" where its own content does."""

    reason: Reason
    by: str = ""

    @property
    def description(self) -> str:
        """`patch (overlays/east/kustomization.yaml)`."""
        return f"{self.reason.noun} ({self.by})" if self.by else self.reason.noun


def summary(reasons: Iterable[Reason]) -> str:
    """`14 Helm templates, 3 patches`; nothing where no file is left out."""
    counted = Counter(reasons)
    return ", ".join(
        f"{counted[reason]} {reason.noun if counted[reason] == 1 else reason.plural}"
        for reason in Reason
        if counted[reason]
    )
