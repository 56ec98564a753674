"""From one design revision to a later one: configuration, topologies and workloads rewritten, every comment kept."""

from __future__ import annotations

from packwise.commands.migrate.rewrite import RULES, Migrated, NewFile, migrate, migrate_objects

__all__ = ["RULES", "Migrated", "NewFile", "migrate", "migrate_objects"]
