"""The names that Kubernetes accepts, by the patterns in its texts."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from packwise.kubernetes import dns_label, dns_subdomain, env_name, label_value, qualified_name

PATTERN = r"regex used for validation is '(.*)'\)"


@pytest.mark.parametrize(
    ("errors", "wrong"),
    [(dns_label, "A"), (dns_subdomain, "A"), (env_name, "1"), (label_value, "-"), (qualified_name, "-")],
)
@given(name=st.text(alphabet="aZ09-_.é\n ", max_size=8))
def test_a_name_is_valid_if_it_matches_the_pattern_of_the_text(
    errors: Callable[[str], tuple[str, ...]], wrong: str, name: str
) -> None:
    pattern = re.search(PATTERN, "".join(errors(wrong)))
    assert pattern is not None
    # An environment variable has two more rules.
    is_valid = re.fullmatch(pattern[1], name) is not None and not (errors is env_name and re.match(r"\.(\.|$)", name))
    assert (errors(name) == ()) is is_valid
