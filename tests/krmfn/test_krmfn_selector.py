"""Selectors: kustomize's patterns, Kubernetes' label selectors."""

from __future__ import annotations

import pytest
from pydantic import BaseModel

from krmfn import ConfigError, KubeObject, ResourceList, Selector, load_config

ITEM = KubeObject.parse(
    "apiVersion: apps/v1\nkind: Deployment\nmetadata:\n  name: web-1\n  namespace: shop\n"
    "  labels: {app: web, tier: front, empty: ''}\n  annotations: {example.dev/owner: team-a}\n"
)
SERVICE = KubeObject.parse("apiVersion: v1\nkind: Service\nmetadata: {name: web}\n")


@pytest.mark.parametrize(
    ("selector", "item", "service"),
    [
        (Selector(), True, True),
        (Selector(kind="Deployment"), True, False),
        (Selector(kind="Deploy"), False, False),
        (Selector(kind="Deployment|Service"), True, True),
        (Selector(group="apps", version="v1"), True, False),
        (Selector(version="v1"), True, True),
        (Selector(group="()", version="v1"), False, True),
        (Selector(name="web-.*"), True, False),
        (Selector(namespace="shop"), True, False),
        (Selector(namespace="()"), False, True),
        (Selector(kind="Deployment", name="api"), False, False),
        (Selector(labels="app=web"), True, False),
        (Selector(labels="app==web,tier=front"), True, False),
        (Selector(labels="app = web , tier != db"), True, False),
        (Selector(labels="tier!=db"), True, True),
        (Selector(labels="tier in (front, back)"), True, False),
        (Selector(labels="tier notin (front,back)"), False, True),
        (Selector(labels="app"), True, False),
        (Selector(labels="!app"), False, True),
        (Selector(labels="empty="), True, False),
        (Selector(labels={"app": "web", "tier": "front"}), True, False),
        (Selector(labels={"app": "api"}), False, False),
        (Selector(annotations="example.dev/owner in (team-a)"), True, False),
        (Selector(annotations={"example.dev/owner": "team b"}), False, False),
    ],
    ids=str,
)
def test_matches(selector: Selector, item: bool, service: bool) -> None:
    assert (selector.matches(ITEM), selector.matches(SERVICE)) == (item, service)


def test_metadata_of_another_type_matches_what_absent_metadata_does() -> None:
    odd = KubeObject.parse("apiVersion: 1\nkind: [a]\nmetadata: {name: 1, labels: []}\n")

    assert [Selector(**part).matches(odd) for part in ({"name": "1"}, {"kind": "a"}, {"labels": "a"})] == [False] * 3
    assert Selector(labels="!a").matches(odd)


@pytest.mark.parametrize("text", ["=a", "a=b c", "a in b", "a,", "a,,b", "a in (b", "a>1", "-a=b", ","])
def test_no_label_selector(text: str) -> None:
    with pytest.raises(ValueError, match=r"must be a label selector such as app=web,tier in \(a, b\),!legacy; got "):
        Selector(labels=text)


def test_no_regular_expression() -> None:
    with pytest.raises(ValueError, match=r'must be a regular expression; got "\("'):
        Selector(name="(")


def test_a_list_gives_what_is_selected_and_changes_it() -> None:
    text = "apiVersion: config.kubernetes.io/v1\nkind: ResourceList\nitems:\n- kind: A # a\n- kind: B # b\n"
    rl = ResourceList.parse(text)

    assert rl.select(Selector(kind="B")) == (rl.items[1],)
    changed = rl.map(lambda item: item.set("x", 1), Selector(kind="B"))
    assert changed.to_text() == text + "  x: 1\n"
    assert rl.map(lambda item: item.set("x", 1)).to_text().count("x: 1") == 2


class Config(BaseModel, extra="forbid"):
    target: Selector = Selector(kind="Deployment")


HEAD = "kind: C\nmetadata: {name: c}\nspec:\n  target: "


def test_a_configuration_may_hold_a_selector() -> None:
    config = load_config(KubeObject.parse(HEAD + "{name: a, labels: {app: web}}\n"), Config)

    assert config == Config(target=Selector(name="a", labels={"app": "web"}))


@pytest.mark.parametrize(
    ("spec", "line"),
    [
        (
            "{knd: a}",
            'error: c.yaml:4:12: C c spec.target.knd: must be a known field; got "knd"; did you mean "kind"? known: '
            '"annotations", "group", "kind", "labels", "name", "namespace", "version"',
        ),
        ("{name: 1}", "error: c.yaml:4:18: C c spec.target.name: must be a string; got 1"),
        (
            "{name: (}",
            'error: c.yaml:4:11: C c spec.target: must be a regular expression; got "(": missing ), unterminated '
            "subpattern at position 0",
        ),
    ],
)
def test_a_wrong_selector_of_a_configuration_says_where(spec: str, line: str) -> None:
    with pytest.raises(ConfigError) as caught:
        load_config(KubeObject.parse(f"{HEAD}{spec}\n", file="c.yaml"), Config)
    assert [result.line_of_text() for result in caught.value.results] == [line]
