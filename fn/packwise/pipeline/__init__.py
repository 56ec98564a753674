"""The steps of a package from front ends to schedulers. Only this folder imports both."""

from __future__ import annotations

from packwise.pipeline.steps import Rendered, Renderer, SharedRenders, render

__all__ = ["Rendered", "Renderer", "SharedRenders", "render"]
