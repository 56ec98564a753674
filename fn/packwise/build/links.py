"""Links in a repository. Argo CD, Helm and kustomize follow links within it. Flux omits links from its archives.

Source: Argo CD 3.6, util/app/path CheckOutOfBoundsSymlinks; source-controller v1.9.1, internal/storage Archive.
"""

from __future__ import annotations

import posixpath

from krmfn.hints import TYPE_CHECKING, Record
from packwise.build.sources import Obstacle, SourceError
from packwise.build.tree import folders_above, paths_below

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from packwise.build.sources import Owner
    from packwise.build.tree import FileTree

_FLUX = frozenset({"HelmRelease", "Kustomization"})
_MAX_FILES = 10_000
"""The largest number of files that links may add. A link to a folder above itself adds all files of that folder."""


class LinkedTree:
    """A tree with the files behind its links, as if they were copies. `outside` are links that lead out of the tree."""

    def __init__(self, tree: FileTree) -> None:
        self._tree = tree
        self._targets: dict[str, str] = {}
        self.outside: list[str] = []
        files = set(tree.files_below(""))
        for link, target in sorted(tree.links().items()):
            added = None if target is None else self._files_behind(link, target, files)
            if added is None or len(added) + len(self._targets) > _MAX_FILES:
                self.outside.append(link)
            else:
                self._targets |= added
        self._files = sorted(files | self._targets.keys())
        self._folders = folders_above(self._targets)

    def _files_behind(self, link: str, target: str, files: set[str]) -> dict[str, str] | None:
        """Map each file behind a link to its target. Return None if the link leads to no listed file or folder."""
        if target in files:
            return {link: target}
        if target and not self._tree.is_folder(target):
            return None
        return {posixpath.join(link, path[len(target) :].lstrip("/")): path for path in self._tree.files_below(target)}

    def is_file(self, path: str) -> bool:
        """See `FileTree.is_file`."""
        return path in self._targets or self._tree.is_file(path)

    def is_folder(self, path: str) -> bool:
        """See `FileTree.is_folder`."""
        return path in self._folders or self._tree.is_folder(path)

    def read(self, path: str) -> bytes:
        """See `FileTree.read`."""
        return self._tree.read(self._targets.get(path, path))

    def files_below(self, folder: str) -> Sequence[str]:
        """See `FileTree.files_below`."""
        return paths_below(self._files, folder)

    def files_in(self, folder: str) -> Sequence[str]:
        """See `FileTree.files_in`."""
        return self._tree.files_in(folder)

    def listing(self, root: str) -> FileTree:
        """See `FileTree.listing`."""
        return self._tree.listing(root)

    def links(self) -> dict[str, str | None]:
        """Return no link, because all of them are followed."""
        return {}

    def with_targets(self, paths: Iterable[str]) -> frozenset[str]:
        """Return `paths`, and the target of each path behind a link."""
        return frozenset([each for path in paths for each in (path, self._targets.get(path, path))])


class Trees(Record):
    """The files of a repository as they are, and with followed links."""

    plain: FileTree
    linked: LinkedTree | None = None

    @classmethod
    def of(cls, tree: FileTree) -> Trees:
        """Return both views of a tree. Most trees have no links and need only the plain view."""
        return cls(tree, LinkedTree(tree) if tree.links() else None)

    def view(self, owner: Owner) -> FileTree:
        """Return the files as the owner's controller sees them."""
        return self.plain if self.linked is None or owner.kind in _FLUX else self.linked

    def with_targets(self, paths: frozenset[str]) -> frozenset[str]:
        """Return `paths`, and the target of each path behind a link."""
        return paths if self.linked is None else self.linked.with_targets(paths)


def links_outside(tree: FileTree) -> Sequence[str]:
    """Return the sorted links that lead out of the repository."""
    return tree.outside if isinstance(tree, LinkedTree) else ()


def refuse_links(tree: FileTree, folder: str) -> None:
    """Raise SourceError if a source has a link that leads out of the repository. Argo CD refuses such a source too."""
    outside = paths_below(links_outside(tree), folder)
    if outside:
        message = (
            f"{outside[0]} is a link that leads out of the repository; packwise reads nothing there: copy its target"
        )
        raise SourceError(Obstacle.FAILED, message, is_wrong=True)
