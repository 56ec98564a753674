"""Values as decoders and API servers take them: by packwise's tables of fields, and by the cluster's own CRDs."""

from __future__ import annotations

__all__: list[str] = []
