"""Options of `packwise place`, as values."""

from __future__ import annotations

from krmfn.hints import TYPE_CHECKING, Record

if TYPE_CHECKING:
    from typing import Literal

    from packwise.inputs.request import Named

    PlaceFormat = Literal["text", "json", "markdown"]


PLACE_FORMATS: tuple[PlaceFormat, ...] = ("text", "json", "markdown")
"""The formats of a placement."""


class PlaceGangs(Record):
    """`packwise place`. `nodes` are files with a cluster's nodes and pods, or empty for a scenario.

    `add_nodes`, `drain` and `replicas` change the input before placement. `further` requests the number of additional
    replicas that fit. `exact` requests a solver's answer for gangs that do not fit.
    """

    named: Named
    nodes: tuple[str, ...] = ()
    output: PlaceFormat = "text"
    add_nodes: tuple[str, ...] = ()
    drain: tuple[str, ...] = ()
    replicas: tuple[str, ...] = ()
    further: bool = False
    exact: bool = False
