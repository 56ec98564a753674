"""The render of items of several clusters, each with the configuration nearest to its path.

Source: spec/packwise.md#3.
"""

from __future__ import annotations

import posixpath

from krmfn.hints import TYPE_CHECKING
from krmfn.result import exit_code
from packwise.findings import Finding
from packwise.nearest import Traits, nearest_folders
from packwise.objects.index import group_and_kind, is_generated
from packwise.objects.kinds import WORKLOADS
from packwise.pipeline.selection import function_config_of
from packwise.pipeline.steps import NO_WORKLOADS, Rendered, render
from packwise.settings.configuration import SOURCES, has_topology, is_settings

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from krmfn.kubeobject import KubeObject
    from packwise.pipeline.selection import Package

_WORKLOADS = frozenset(kind.key for kind in WORKLOADS)


def traits_of(items: Iterable[KubeObject]) -> Traits:
    """Return the traits of a file's `items` that matter in the search for the nearest configuration."""
    settings = topology = workloads = False
    for item in items:
        if group_and_kind(item.value) in _WORKLOADS:
            workloads = True
        else:
            settings = settings or is_settings(item)
            topology = topology or has_topology(item)
    return Traits(settings, topology, workloads)


def render_clusters(package: Package) -> Rendered | None:
    """Render the package with the configuration of each item's cluster.

    Return None if there is only one cluster, or if the client passes one configuration for all. If one cluster has an
    error, nothing is written for any. The result has no `selection` and nothing that depends on it.
    """
    if function_config_of(package) is not None:
        return None
    folders = _folders(package.items)
    if len(set(folders.values())) == 1:
        return None
    items: dict[str | None, list[KubeObject]] = {}
    for item in package.items:
        items.setdefault(folders[_path(item)], []).append(item)
    parts = [
        (folder, render(package.replace(items=tuple(own), folder=folder or "", is_part=folder is None), writes=True))
        for folder, own in items.items()
    ]
    has_workloads = any(part.workloads for _, part in parts)
    results = [result for _, part in parts for result in part.results if result.tags.get("rule") != NO_WORKLOADS.name]
    if not has_workloads:
        # Report only once that there are no workloads.
        results += [result for result in parts[0][1].results if result not in results]
    results += [finding.to_result() for folder, part in parts if folder is None for finding in _homeless_finding(part)]
    if exit_code(results):
        return Rendered(package.items, (), tuple(results))
    kept = {folder: iter(part.kept) for folder, part in parts}
    return Rendered(
        tuple(next(kept[folders[_path(item)]]) for item in package.items if not is_generated(item.value)),
        tuple(item for _, part in parts for item in part.generated),
        tuple(results),
    )


def _folders(items: Iterable[KubeObject]) -> dict[str, str | None]:
    """Return the path of each file, with the folder of the configuration for its items."""
    by_path: dict[str, list[KubeObject]] = {}
    for item in items:
        by_path.setdefault(_path(item), []).append(item)
    # Samples apply too, because a client sends operators' configurations on purpose.
    return nearest_folders({path: traits_of(own) for path, own in by_path.items()}, takes_samples=True)


def _path(item: KubeObject) -> str:
    """Return the file of an item. Items without a file are at the top."""
    return posixpath.normpath(item.file or "-")


def _homeless_finding(rendered: Rendered) -> Iterator[Finding]:
    """Yield one finding if there are workloads, because no configuration is in their folder or above it."""
    workloads = [plan.workload for plan in rendered.plans]
    if workloads:
        more = f"; also for {len(workloads) - 1} more" if len(workloads) > 1 else ""
        message = (
            "the input has several TopologyRenders, but none in the folder of this workload or above it. Move the "
            f"workload, or add one{more}"
        )
        yield Finding.of(SOURCES, workloads[0], (), message)
