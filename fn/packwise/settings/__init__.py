"""`packwise.dev/v1alpha1`, packwise's own configuration."""

from __future__ import annotations

from packwise.settings.topologyrender import (
    API_VERSION,
    GROUP,
    KIND,
    Osmo,
    TopologyRender,
    load,
    no_configuration,
    settings_place,
)

__all__ = ["API_VERSION", "GROUP", "KIND", "Osmo", "TopologyRender", "load", "no_configuration", "settings_place"]
