"""What `packwise init` writes: a package to begin with, by what is known of the cluster. Pure: texts by their paths."""

from __future__ import annotations

from packwise.commands.init.package import GUESSED, Facts, Place, Plan, client_files, facts_of, package_files

__all__ = ["GUESSED", "Facts", "Place", "Plan", "client_files", "facts_of", "package_files"]
