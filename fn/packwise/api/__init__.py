"""`packwise.dev/v1alpha1`, packwise's own configuration."""

from __future__ import annotations

from packwise.api.topologyrender import API_VERSION, GROUP, KIND, Osmo, TopologyRender, load, no_configuration

__all__ = ["API_VERSION", "GROUP", "KIND", "Osmo", "TopologyRender", "load", "no_configuration"]
