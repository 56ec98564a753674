"""For all names that OSMO accepts, packwise makes names that Kubernetes accepts."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from packwise.frontends.osmo.model import label_text, unique_names
from packwise.kubernetes import dns_label, label_value


def named(*wanted: str) -> list[str]:
    return list(unique_names([(place, text, f"{place}/{text}") for place, text in enumerate(wanted)]).values())


def test_a_name_that_kubernetes_takes_stays() -> None:
    assert named("training-workers", "b") == ["training-workers", "b"]


def test_other_characters_become_dashes() -> None:
    assert named("My_Pool", "a b", "_x_", "é") == ["my-pool", "a-b", "x", "unnamed"]


def test_of_two_names_that_become_one_the_owner_keeps_it() -> None:
    first, second = named("My_Pool", "my-pool")

    assert second == "my-pool"
    assert first.startswith("my-pool-")
    assert len(first) == len("my-pool-") + 8


def test_of_two_owners_both_give_way() -> None:
    first, second = named("a-b", "a-b")

    assert first != second
    assert {first[:4], second[:4]} == {"a-b-"}


def test_a_long_name_ends_in_a_hash() -> None:
    (name,) = named("x" * 64)

    assert (len(name), name[:55]) == (63, "x" * 54 + "-")


@given(st.lists(st.text(max_size=80), unique=True, max_size=8))
def test_every_name_is_a_label_and_no_two_are_the_same(wanted: list[str]) -> None:
    found = named(*wanted)

    assert [name for name in found if dns_label(name)] == []
    assert len(set(found)) == len(found)


@given(st.lists(st.text(max_size=80), unique=True, max_size=8))
def test_their_order_does_not_count(wanted: list[str]) -> None:
    entries = [(text, text, text) for text in wanted]

    assert unique_names(entries) == unique_names(reversed(entries))


@given(st.text(max_size=80))
def test_every_text_becomes_a_value_of_a_label(text: str) -> None:
    found = label_text(text)

    assert label_value(found) == ()
    assert found == text or label_value(text) != ()
