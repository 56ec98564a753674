"""The configuration of KAI in the input: the Config of its operator, the values of its chart, its SchedulingShards.

The operator reads a Config. The chart renders a Config from its values. GPU sharing is off by default. Source:
spec/kai.md#6.3, spec/kai.md#8; KAI Scheduler v0.17.0, deployments/kai-scheduler and pkg/apis/kai/v1.
"""

from __future__ import annotations

import re

from krmfn.hints import TYPE_CHECKING, Record
from krmfn.yamltext import YamlError, read
from packwise.findings import Place
from packwise.lenient import entries, mapping, mappings, mappings_by_place, text, text_at, texts, value_at
from packwise.objects.kinds import KAI_CONFIG, SCHEDULING_SHARD

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from krmfn.fieldpath import FieldPath
    from krmfn.kubeobject import KubeObject
    from krmfn.value import Value
    from packwise.objects.index import Index

NODE_POOL = "kai.scheduler/node-pool"
"""The label by which a SchedulingShard selects nodes, queues and PodGroups, unless the Config sets another label."""

_CHART = re.compile(r"(^|[/_-])kai-scheduler([/:_.-]|$)", re.IGNORECASE)
_SHARING = ("global", "gpuSharing")
_POOL_LABEL = ("global", "nodePoolLabelKey")


class Installation(Record):
    """KAI as the input configures it.

    `sharing` is True if the input permits shared GPUs, False if it forbids them, and None if it does not decide.
    `sharing_place` is the place that decides. With `blocks_visible_devices`, the webhook refuses pods that set
    NVIDIA_VISIBLE_DEVICES. `pool_label` is the label of node pools. `pod_labels` and `namespace_labels` select the pods
    that the webhook checks. `shards` lists the `partitionLabelValue` of each SchedulingShard, "" for the default pool.
    """

    sharing: bool | None = None
    sharing_place: Place | None = None
    blocks_visible_devices: bool = False
    pool_label: str = NODE_POOL
    pod_labels: Mapping[str, str] = {}
    namespace_labels: Mapping[str, str] = {}
    shards: tuple[str, ...] = ()


def installation_of(index: Index) -> Installation:
    """Return KAI's installation, as the input describes it. A Config takes precedence over chart values."""
    shards = tuple(text_at(item.value, "spec", "partitionLabelValue") for item in index.of_kind(*SCHEDULING_SHARD.key))
    configs = index.of_kind(*KAI_CONFIG.key)
    if configs:
        return _read_config(configs[0]).replace(shards=shards)
    charts = [values for key, find in _CHARTS.items() for item in index.of_kind(*key) for values in find(item)]
    return (_read_values(charts[0]) if charts else Installation()).replace(shards=shards)


def _read_config(item: KubeObject) -> Installation:
    value = item.value
    sharing = value_at(value, "spec", "admission", "gpuSharing")
    return Installation(
        # The operator's default is false. Source: pkg/apis/kai/v1/admission, SetDefaultsWhereNeeded.
        sharing=sharing is True,
        sharing_place=_deepest_place(item, ("spec", "admission", "gpuSharing")),
        blocks_visible_devices=value_at(value, "spec", "admission", "blockNvidiaVisibleDevices") is True,
        pool_label=text_at(value, "spec", *_POOL_LABEL) or NODE_POOL,
        pod_labels=texts(value_at(value, "spec", "global", "podLabelSelector")),
        namespace_labels=texts(value_at(value, "spec", "global", "namespaceLabelSelector")),
    )


def _deepest_place(item: KubeObject, path: FieldPath) -> Place:
    """Return the place at `path`, or at the longest part of it that exists."""
    while path and item.get(path) is None:
        path = path[:-1]
    return Place(item, path)


class _ChartValues(Record):
    """The values that an object sets for KAI's chart, at `place`. `is_whole` is true if no other file adds values."""

    place: Place
    values: Mapping[str, Value]
    is_whole: bool = True


def _read_values(chart: _ChartValues) -> Installation:
    written = value_at(chart.values, *_SHARING)
    sharing = None if written is None and not chart.is_whole else str(written).casefold() == "true"
    return Installation(
        sharing=sharing,
        sharing_place=chart.place,
        blocks_visible_devices=value_at(chart.values, "global", "blockNvidiaVisibleDevices") is True,
        pool_label=text_at(chart.values, *_POOL_LABEL) or NODE_POOL,
        pod_labels=texts(value_at(chart.values, "global", "podLabelSelector")),
        namespace_labels=texts(value_at(chart.values, "global", "namespaceLabelSelector")),
    )


def _helm_release(item: KubeObject) -> Iterator[_ChartValues]:
    """Yield the chart values of a Flux HelmRelease if it installs KAI."""
    value = item.value
    names = (text_at(value, "spec", "chart", "spec", "chart"), text_at(value, "spec", "chartRef", "name"))
    if any(_CHART.search(name) for name in names):
        whole = not value_at(value, "spec", "valuesFrom") and not value_at(
            value, "spec", "chart", "spec", "valuesFiles"
        )
        yield _ChartValues(_deepest_place(item, ("spec", "values")), mapping(value_at(value, "spec", "values")), whole)


def _helm_chart(item: KubeObject) -> Iterator[_ChartValues]:
    """Yield the chart values of a k3s HelmChart if it installs KAI."""
    if _CHART.search(text_at(item.value, "spec", "chart")):
        place = _deepest_place(item, ("spec", "valuesContent"))
        values = {
            **_read(text_at(item.value, "spec", "valuesContent")),
            **_global_values(value_at(item.value, "spec", "set")),
        }
        yield _ChartValues(place, values)


def _application(item: KubeObject) -> Iterator[_ChartValues]:
    """Yield the chart values of each source of an Argo CD Application or ApplicationSet that installs KAI."""
    base: FieldPath = ("spec", "template", "spec") if item.kind == "ApplicationSet" else ("spec",)
    spec = mapping(item.get(base))
    sources = [((*base, "source"), mapping(spec.get("source")))]
    sources += [((*base, "sources", place), each) for place, each in mappings_by_place(spec.get("sources"))]
    for path, source in sources:
        if not any(_CHART.search(text(source.get(field))) for field in ("chart", "repoURL")):
            continue
        helm = mapping(source.get("helm"))
        parameters = {text(each.get("name")): each.get("value") for each in mappings(helm.get("parameters"))}
        values = {**_read(text(helm.get("values"))), **mapping(helm.get("valuesObject")), **_global_values(parameters)}
        # Without the field `chart`, the source is a folder of a repository, and its values.yaml is unknown.
        whole = bool(source.get("chart")) and not helm.get("valueFiles")
        yield _ChartValues(_deepest_place(item, (*path, "helm")), values, whole)


def _kustomization(item: KubeObject) -> Iterator[_ChartValues]:
    """Yield the values of each chart of KAI that kustomize renders."""
    for index, chart in mappings_by_place(item.get(("helmCharts",))):
        if _CHART.search(text(chart.get("name"))):
            whole = not chart.get("valuesFile") and not entries(chart.get("additionalValuesFiles"))
            place = _deepest_place(item, ("helmCharts", index, "valuesInline"))
            yield _ChartValues(place, mapping(chart.get("valuesInline")), whole)


_CHARTS = {
    ("helm.toolkit.fluxcd.io", "HelmRelease"): _helm_release,
    ("helm.cattle.io", "HelmChart"): _helm_chart,
    ("argoproj.io", "Application"): _application,
    ("argoproj.io", "ApplicationSet"): _application,
    ("kustomize.config.k8s.io", "Kustomization"): _kustomization,
}
"""The kinds of objects that deploy charts, each with the function that reads the chart's values."""


def _read(written: str) -> Mapping[str, Value]:
    try:
        return mapping(read(written)) if written else {}
    except YamlError:
        return {}


def _global_values(parameters: Value) -> dict[str, Value]:
    """Return the chart values below `global` that Helm parameters such as `global.gpuSharing` set."""
    below = {name.partition(".")[2]: value for name, value in mapping(parameters).items() if name.startswith("global.")}
    return {"global": below} if below else {}
