"""Generated objects: marked, in order, put together with what an earlier render left."""

from __future__ import annotations

from packwise.render.render import RULES, Rendering, render

__all__ = ["RULES", "Rendering", "render"]
