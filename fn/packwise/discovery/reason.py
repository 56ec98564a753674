"""Why a file of a folder is left out, and how a summary counts the reasons."""

from __future__ import annotations

from collections import Counter
from enum import Enum

from krmfn.hints import TYPE_CHECKING
from krmfn.record import NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["LeftOut", "Reason", "passed_over", "summary"]


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
    """A file that is not judged. `by` is the file that says so, or "" where its own content does.

    `workloads` is how many its text seems to hold, as far as it was read.
    """

    reason: Reason
    by: str = ""
    workloads: int = 0

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


_ADVICE = {
    Reason.HELM_TEMPLATE: "helm template … | packwise check -",
    Reason.COMPONENT: "kustomize build … | packwise check -",
    Reason.ENCRYPTED: "sops --decrypt … | packwise check -",
}
"""How workloads that are left out get judged."""


def passed_over(numbers: Iterable[tuple[str, int]], verb: str = "judged") -> list[str]:
    """`3 Helm templates hold workloads that were not judged: helm template … | packwise check -`, for each reason.

    The reasons are nouns of files, each with a number of these; what is none stands for errors, and its number for
    workloads.
    """
    by_noun = {reason.noun: reason for reason in Reason}
    lines: list[str] = []
    for noun, number in numbers:
        reason = by_noun.get(noun)
        if reason is None:
            words = "workload was" if number == 1 else "workloads were"
            lines.append(f"{number} {words} not {verb}, because of errors")
            continue
        words = f"{noun} holds" if number == 1 else f"{reason.plural} hold"
        advice = f": {_ADVICE[reason]}" if reason in _ADVICE else ""
        lines.append(f"{number} {words} workloads that were not {verb}{advice}")
    return lines
