"""Check KAI's labels and annotations on pods that another tool describes, such as OSMO's pod templates."""

from __future__ import annotations

from krmfn.hints import TYPE_CHECKING
from packwise.keys import key_places, key_problems
from packwise.objects.kinds import POD

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from krmfn.value import Value
    from packwise.findings import Problem, Rule


def pod_key_problems(pod: Mapping[str, Value]) -> Iterator[tuple[Rule, Problem]]:
    """Yield problems of the labels and annotations of a Pod that KAI schedules, each with its rule."""
    # The import is lazy, because few inputs have Pods.
    from packwise.frontends.workloads.keys import WORKLOAD_KEYS

    for part in WORKLOAD_KEYS.parts:
        for place in key_places(pod, part) if part.kind == POD.key else ():
            yield from key_problems(place, WORKLOAD_KEYS, lambda _key, _place: "")
