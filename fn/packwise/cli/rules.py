"""Every rule by its name: the one sentence that explains a finding."""

from __future__ import annotations

from typing import TYPE_CHECKING

from packwise.cli.find import RULES as FIND_RULES
from packwise.cli.folder import RULES as FOLDER_RULES
from packwise.cli.write import RULES as WRITE_RULES
from packwise.migrate import RULES as MIGRATE_RULES
from packwise.pipeline.rules import rule_table

if TYPE_CHECKING:
    from packwise.finding import Rule

__all__ = ["RULES_BY_NAME"]

RULES_BY_NAME: dict[str, Rule] = {
    rule.name: rule for rule in (*rule_table(), *FIND_RULES, *FOLDER_RULES, *WRITE_RULES, *MIGRATE_RULES)
}
"""The rules of a render, of the command line, of migrations."""
