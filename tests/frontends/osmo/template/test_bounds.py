"""Untrusted templates: any excess ends in one error, and a template reaches only its values."""

from __future__ import annotations

import resource
import sys
from collections.abc import Iterator

import pytest

from packwise.frontends.osmo import account as accounts
from packwise.frontends.osmo import confined
from packwise.frontends.osmo.account import Account
from packwise.frontends.osmo.template import Filled, Unfilled, fill

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(sys.platform != "linux", reason="the system must hold a process to all limits"),
]

START = "cannot fill in the template: "
EXCEEDED = START + (
    "it needs more than 1 seconds of processor time or 128 MiB of memory, is nested too deep, or becomes more than "
    "1000000 characters"
)
GROWING = "{% set n = namespace(x=START) %}{% for i in range(99) %}{% set n.x = NEXT %}{% endfor %}{{ n.x | length }}"


def growing(after: str, start: str = "'ab'") -> str:
    return GROWING.replace("START", start).replace("NEXT", after)


QUICK: dict[str, str] = {
    "text in a loop": "{% for a in range(99999) %}" + "x" * 999 + "{% endfor %}",
    "doubled with ~": growing("n.x ~ n.x"),
    "doubled with +": growing("n.x + n.x"),
    "doubled as a list": growing("n.x + n.x", "[1]"),
    "doubled as a tuple": growing("n.x * 2", "(1, 2)"),
    "doubled with *": growing("n.x * 2"),
    "doubled by join": growing("[n.x, n.x] | join"),
    "doubled by a separator": growing("range(3) | join(n.x)"),
    "doubled by format": growing("'%s%s' | format(n.x, n.x)"),
    "doubled by %": growing("'%s%s' % (n.x, n.x)"),
    "doubled by names of %": growing("'%(a)s%(a)s' % {'a': n.x}"),
    "doubled by the method format": growing("'{0}{0}'.format(n.x)"),
    "doubled by format_map": growing("'{a}{a}'.format_map({'a': n.x})"),
    "doubled by replace": growing("n.x | replace('b', n.x)"),
    "doubled by replace, by keyword": growing("n.x | replace(new=n.x, old='b')"),
    "doubled by the method replace": growing("n.x.replace('b', n.x)"),
    "doubled by indent": growing("('a\\n' * 9 + n.x) | indent(n.x)"),
    "doubled by a macro": "{% macro f(a) %}{{ a }}{{ a }}{% endmacro %}" + growing("f(n.x)"),
    "doubled by a call block": (
        "{% macro f() %}{{ caller() }}{{ caller() }}{% endmacro %}{% set n = namespace(x='ab') %}"
        "{% for i in range(99) %}{% set y %}{% call f() %}{{ n.x }}{% endcall %}{% endset %}{% set n.x = y %}"
        "{% endfor %}"),
    "doubled by a filter block": growing("n.x ~ n.x") + "{% filter upper %}{{ n.x }}{% endfilter %}",
    "doubled by sum": growing("[n.x, n.x] | sum(start=[])", "[1]"),
    "doubled by extend": "{% set l = [1] %}{% for i in range(99) %}{% set _ = l.extend(l) %}{% endfor %}",
    "views of mappings": growing("dict(a=n.x, b=n.x).values() | list | string"),
    "namespaces in a namespace": (
        "{% set ns = namespace(v=1) %}{% for i in range(99) %}{% set ns.v = namespace(a=ns.v, b=ns.v) %}{% endfor %}"
        "{{ ns.v }}"),
    "a repeated text": "{{ 'a' * 999999999 }}",
    "a repeated text, folded at compile time": "{% if 'a' * 999999999 == 'b' %}{% endif %}",
    "a text repeated to the limit": "{{ 'a' * 1000001 }}",
    "a repeated list": "{{ 999999999 * [1] }}",
    "a repeated tuple": "{{ (999999999 * (1,)) | length }}",
    "a width": "{{ 'a' | center(999999999) }}",
    "the method ljust": "{{ 'a'.ljust(999999999) }}",
    "the method zfill": "{{ 'a'.zfill(999999999) }}",
    "the method expandtabs": "{{ '\\t'.expandtabs(999999999) }}",
    "an indent": "{{ 'a\\nb' | indent(999999999) }}",
    "an indent of JSON": "{{ [1] | tojson(indent=999999999) }}",
    "an indent of much JSON": "{{ range(99999) | list | tojson(indent=2500) }}",
    "a width of %": "{{ '%999999999d' % 1 }}",
    "a width of % among values": "{{ '%*d' % (999999999, 1) }}",
    "a width of format": "{{ '%.999999999f' | format(1.0) }}",
    "a width of the method format": "{{ '{:>999999999}'.format(1) }}",
    "a width among values of the method format": "{{ '{:{}}'.format(1, 999999999) }}",
    "a width of an object": "{{ '{0:{1}}'.format('a', 10 ** 9) }}",
    "a width of wordwrap": "{{ ('a ' * 99999) | wordwrap(1, wrapstring='x' * 999) }}",
    "a filled batch": "{{ [1] | batch(999999999, 'x') | list }}",
    "slices filled": "{{ [1] | slice(99999, 'x' * 9999) | map('join') | join }}",
    "a long separator": "{{ range(99999) | join('x' * 9999) }}",
    "attributes of XML": "{{ {'a': 'x' * 99999999} | xmlattr }}",
    "bytes": "{{ (9).to_bytes(999999999, 'big') }}",
    "a macro that calls itself": "{% macro f() %}{{ f() }}{% endmacro %}{{ f() }}",
    "macros that call each other": (
        "{% macro f() %}{{ g() }}{% endmacro %}{% macro g() %}{{ f() }}{% endmacro %}{{ f() }}"),
    "a recursive loop on itself": (
        "{% set l = [1] %}{% set _ = l.append(l) %}{% for i in l recursive %}"
        "{% if loop.index == 2 %}{{ loop(i) }}{% endif %}{% endfor %}"),
    "a list in itself as JSON of a tree": growing("[n.x]", "[]").replace("99", "9999") + "{{ n.x | tojson }}",
    "deep parentheses": "{{ " + "(" * 9999 + "1",
    "deep parentheses, closed": "{{ " + "(" * 9999 + "1" + ")" * 9999 + " }}",
    "deep lists": "{{ " + "[" * 9999 + "]" * 9999 + " }}",
    "deep mappings": "{{ " + "{1:" * 9999 + "1" + "}" * 9999 + " }}",
    "deep indices": "{{ " + "a[" * 9999 + "1" + "]" * 9999 + " }}",
    "deep calls": "{{ " + "a(" * 9999 + "1" + ")" * 9999 + " }}",
    "many negations": "{{ " + "not " * 9999 + "1 }}",
    "many signs": "{{ " + "-" * 9999 + "1 }}",
    "many conditions": "{{ " + "1 if 1 else " * 9999 + "1 }}",
    "many powers": "{{ " + "1 ** " * 9999 + "1 }}",
    "many filters": "{{ 1" + " | string" * 9999 + " }}",
    "many attributes": "{{ a" + ".b" * 9999 + " }}",
    "deep conditions": "{% if 1 %}" * 9999 + "{% endif %}" * 9999,
    "deep macros": "".join([f"{{% macro f{n}() %}}" for n in range(999)]) + "{% endmacro %}" * 999,
    "deep filter blocks": "{% filter upper %}" * 999 + "{% endfilter %}" * 999,
}  # fmt: skip
"""Templates that use too much memory, depth or output in a short time."""

SLOW: dict[str, str] = {
    "loops in loops": "{% for a in range(99999) %}{% for b in range(99999) %}{% endfor %}{% endfor %}",
    "a loop that drops all": "{% for a in range(99999) %}{% for b in range(99999) if false %}{% endfor %}{% endfor %}",
    "many slices": "{{ [1] | slice(999999999) | list }}",
    "a large power": "{{ (9 ** (9 ** 9)) % 7 }}",
    "a large power, compared": "{% if 9 ** (9 ** 9) > 1 %}{% endif %}",
    "a large product": growing("n.x * n.x", "9").replace("n.x | length", "n.x % 7"),
    "large lists compared": (
        "{% set a = range(99999) | list %}{% for i in range(99999) %}{% if a == a + [] %}{% endif %}{% endfor %}"),
    "a text looked for": (
        "{% set s = 'a' * 999999 %}{% for i in range(99999) %}{% if 'ab' in s %}{% endif %}{% endfor %}"),
    "values looked for by select": (
        "{% set l = range(99999) | list %}{{ l | select('in', l | reverse | list) | list | length }}"),
    "values looked for by reject": "{% set l = range(99999) | list %}{{ l | reject('in', l) | list | length }}",
    "many counts": "{% set s = 'a' * 999999 %}{% for i in range(99999) %}{% if s.count('b') %}{% endif %}{% endfor %}",
    "sorted again": (
        "{% set l = range(99999) | list %}{% for i in range(9999) %}{% set _ = l | sort(reverse=true) %}{% endfor %}"),
    "unique again": (
        "{% set l = range(99999) | list %}{% for i in range(9999) %}{% set _ = l | unique | list %}{% endfor %}"),
    "grouped again": (
        "{% set l = [{'a': 1}] * 9999 %}{% for i in range(99999) %}{% set _ = l | groupby('a') %}{% endfor %}"),
    "wrapped words": "{{ ('a' * 999999) | wordwrap(1) | length }}",
    "a macro that calls itself twice": (
        "{% macro f(n) %}{% if n %}{{ f(n - 1) }}{{ f(n - 1) }}{% endif %}{% endmacro %}{{ f(99) }}"),
    "a recursive loop that calls itself twice": (
        "{% set l = [1, 2] %}{% for i in l recursive %}{% if loop.depth < 99 %}{{ loop(l) }}{% endif %}{% endfor %}"),
    "taken apart from the front": (
        "{% set l = range(99999) | list %}{% for a in range(99999) %}{% for b in range(9) %}"
        "{% set _ = l.insert(0, l.pop()) %}{% endfor %}{% endfor %}"),
    "a block over and over": (
        "{% block b %}{% endblock %}{% for a in range(99999) %}{% for c in range(99) %}{{ self.b() }}{% endfor %}"
        "{% endfor %}"),
    "a tree of lists printed": growing("[n.x, n.x]") + "{{ n.x }}",
    "many variables": "".join([f"{{% set a{n} = {n} %}}" for n in range(40_000)]),
    "deep elifs": "{% if 0 %}" + "{% elif 0 %}" * 9999 + "{% endif %}" + "{{ 'a' * 999999999 }}",
    "a tree of mappings": growing("{1: n.x, 2: n.x}") + "{{ n.x }}",
    "doubled by JSON": growing("n.x | tojson", "'\"\\\\'"),
    "doubled by pprint": growing("n.x | pprint", "'\\'\"\\\\'"),
    "links": "{{ ('http://a.b ' * 99999) | urlize }}",
    "many sums": "{{ " + "a + " * 9999 + "1 }}",
    "a tree of lists as JSON": growing("[n.x, n.x]") + "{{ n.x | tojson }}",
    "an indent over carriage returns": "{{ ('a\\r' * 99999) | indent(9999) }}",
    "an indent of many lines": "{{ ('a\\n' * 99999) | indent(9999) }}",
    "text in loops, in a value": (
        "{% set s %}{% for a in range(99999) %}{% for b in range(9) %}" + "x" * 999
        + "{% endfor %}{% endfor %}{% endset %}"),
}  # fmt: skip
"""Templates that use too much processor time."""

REFUSED: dict[str, tuple[str, str]] = {
    "a large range": ("{{ range(9999999) }}", "Range too big. The sandbox blocks ranges larger than MAX_RANGE"),
    "a long number as a text": ("{{ 9 ** 9999 }}", "Exceeds the limit (4300 digits) for integer string conversion"),
    "a class": ("{{ ''.__class__ }}", "access to attribute '__class__' of 'str' object is unsafe."),
    "a class as an item": ("{{ ''['__class__'] }}", "access to attribute '__class__' of 'str' object is unsafe."),
    "a class by format": (
        "{{ '{0.__class__}'.format(1) }}", "access to attribute '__class__' of 'int' object is unsafe."),
    "a class by format_map": (
        "{{ '{a.__class__}'.format_map({'a': 1}) }}", "access to attribute '__class__' of 'int' object is unsafe."),
    "a class by a format that is taken aside": (
        "{% set f = '{0.__class__}'.format %}{{ f(1) }}", "access to attribute '__class__' of 'int' object is unsafe."),
    "a class by attr": ("{{ 1 | attr('__class__') }}", "access to attribute '__class__' of 'int' object is unsafe."),
    "a class by map": (
        "{{ [''] | map(attribute='__class__') | join }}", "access to attribute '__class__' of 'str' object is unsafe."),
    "globals of a function": (
        "{{ range.__globals__ }}", "access to attribute '__globals__' of 'function' object is unsafe."),
    "globals of a class": ("{{ cycler.__init__ }}", "access to attribute '__init__' of 'type' object is unsafe."),
    "a frame": (
        "{{ ([1] | map('string')).gi_frame }}", "access to attribute 'gi_frame' of 'generator' object is unsafe."),
    "the blocks of a template": (
        "{{ self.__init__ }}", "access to attribute '__init__' of 'TemplateReference' object is unsafe."),
    "an address in memory": ("{{ range }}", "a function, a class or a set is no value"),
    "an address in a list": ("{{ [range] }}", "a function, a class or a set is no value"),
    "an address of a method": ("{{ ('a'.upper ~ '') | length }}", "a function, a class or a set is no value"),
    "an address by %": ("{{ '%r' % dict.fromkeys }}", "a function, a class or a set is no value"),
    "an address by format": ("{{ '{0.upper}'.format('a') }}", "a function, a class or a set is no value"),
    "an address of a generator": ("{{ [1] | map('string') }}", "a function, a class or a set is no value"),
    "an address of a joiner": ("{{ joiner() }}", "a function, a class or a set is no value"),
    "an address of a block": (
        "{% block b %}{% endblock %}{{ self.b }}", "a function, a class or a set is no value"),
    "an order by chance": ("{{ {'a': 1, 'b': 2}.keys() - ['a'] }}", "a function, a class or a set is no value"),
    "chance": ("{{ [1, 2] | random }}", "No filter named 'random'."),
    "a call of a text": ("{{ 'a'() }}", "'str' object is not callable"),
    "the clock": ("{{ day.today() }}", "access to attribute 'today' of 'date' object is unsafe."),
    "the clock by map": (
        "{{ [day] | map(attribute='today') | join }}", "access to attribute 'today' of 'date' object is unsafe."),
    "half a character": ("{{ '\\ud800' }}", "'utf-8' codec can't encode character '\\ud800'"),
    "another file": ("{% include '/etc/passwd' %}", "it has `include`, which packwise does not fill in"),
    "another template": ("{% import 'x' as x %}", "it has `import`, which packwise does not fill in"),
    "a template of files": ("{% extends '/etc/passwd' %}", "it has `extends`, which packwise does not fill in"),
    "a mapping that grows while it is read": (
        "{% set d = {1: 1} %}{% for k in d %}{% set _ = d.update({k + 1: 1}) %}{% endfor %}",
        "dictionary changed size during iteration"),
}  # fmt: skip


@pytest.fixture(autouse=True)
def bounded(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Limit each template to a second, and the process to 4 GiB of memory."""
    monkeypatch.setattr(confined, "MAX_SECONDS", 1)
    soft, hard = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (4 << 30, hard))
    yield
    resource.setrlimit(resource.RLIMIT_AS, (soft, hard))


def workflow(body: str) -> str:
    return "version: 2\nworkflow:\n  name: " + body + "\ndefault-values: {day: 2026-01-02}\n"


@pytest.mark.parametrize("name", QUICK)
def test_a_template_that_takes_too_much_is_one_error(name: str) -> None:
    assert fill(workflow(QUICK[name]), {}) == Unfilled(EXCEEDED, 2)


@pytest.mark.parametrize("name", SLOW)
def test_a_template_that_takes_too_long_is_the_same_error(name: str) -> None:
    assert fill(workflow(SLOW[name]), {}) == Unfilled(EXCEEDED, 2)


@pytest.mark.parametrize("name", REFUSED)
def test_a_template_gets_at_nothing_but_its_values(name: str) -> None:
    body, message = REFUSED[name]

    unfilled = fill(workflow(body), {})

    assert isinstance(unfilled, Unfilled)
    assert unfilled.message.startswith(START + message)


def test_text_that_a_template_makes_is_no_mark_of_packwise() -> None:
    filled = fill("workflow:\n  name: {{ '\\ue0001\\ue001x\\ue001' }}\n  b: {{ m }}\n", {"m": "\ue0007\ue001"})

    assert filled == Filled("workflow:\n  name: \ue0001\ue001x\ue001\n  b: \ue0007\ue001", (1, 2, 3))


def hostile_account(monkeypatch: pytest.MonkeyPatch, seconds: int, characters: int) -> Account:
    monkeypatch.setattr(accounts, "MAX_SECONDS_TOGETHER", seconds)
    monkeypatch.setattr(accounts, "MAX_CHARACTERS_TOGETHER", characters)
    return Account()


@pytest.mark.parametrize(
    ("body", "seconds", "characters", "refused"),
    [("{{ 'a' * 999999999 }}", 0, 9_999_999, False), (SLOW["loops in loops"], 0, 0, True)],
    ids=["much, at once", "long"],
)
def test_many_hostile_templates_take_no_longer_than_a_few(
    body: str, seconds: int, characters: int, refused: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    account = hostile_account(monkeypatch, seconds, characters)

    answers = [fill(workflow(text), {}, account) for text in (body, "{{ 1 }}", "plain")]

    spent = (
        "packwise did not fill in this template. The templates before it need more than 0 seconds of "
        f"processor time or become more than {characters} characters. Fix the earlier templates first"
    )
    assert answers == [
        Unfilled(EXCEEDED, 2),
        Unfilled(spent, 2) if refused else Filled("\nworkflow:\n  name: 1", (1, 2, 3)),
        Filled(workflow("plain")),
    ]


def test_what_templates_become_is_bounded_together(monkeypatch: pytest.MonkeyPatch) -> None:
    account = hostile_account(monkeypatch, 20, 100_000)

    answers = [fill(workflow(f"{{{{ 'a' * {60_000 + each} }}}}"), {}, account) for each in range(6)]

    assert [type(each) for each in answers] == [Filled, Filled, Filled, Unfilled, Unfilled, Unfilled]


def test_a_template_is_filled_in_once(monkeypatch: pytest.MonkeyPatch) -> None:
    account = hostile_account(monkeypatch, 0, 0)

    answers = [fill(workflow(SLOW["loops in loops"]), {}, account) for _ in range(3)]

    assert answers == [Unfilled(EXCEEDED, 2)] * 3
    assert fill(workflow("{{ a }}"), {"a": 1}) != fill(workflow("{{ a }}"), {"a": 2})
