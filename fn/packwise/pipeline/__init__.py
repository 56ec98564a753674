"""The way of a package from front ends to schedulers. Only this package knows both."""

from __future__ import annotations

from packwise.pipeline.steps import Rendered, Renderer, SharedRenders, render

__all__ = ["Rendered", "Renderer", "SharedRenders", "render"]
