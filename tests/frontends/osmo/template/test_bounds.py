"""Templates of strangers: each way to take more than there is, or to get at anything else, ends in an error."""

from __future__ import annotations

import pytest

from packwise.frontends.osmo.template.fill import Unfilled, fill

MUCH = "it takes more than 2000000 steps, entries and characters"
DOUBLED = "{% set n = namespace(x='ab') %}{% for i in range(99) %}{% set n.x = DOUBLE %}{% endfor %}"
HOSTILE: dict[str, tuple[str, str]] = {
    "loops in loops": ("{% for a in range(9999) %}{% for b in range(9999) %}{% endfor %}{% endfor %}", MUCH),
    "a loop that drops all": (
        "{% for a in range(9999) %}{% for b in range(9999) if false %}{% endfor %}{% endfor %}", MUCH),
    "text in a loop": ("{% for a in range(9999) %}" + "x" * 999 + "{% endfor %}", MUCH),
    "text in a loop in a value": (
        "{% set s %}{% for a in range(9999) %}" + "x" * 999 + "{% endfor %}{% endset %}", MUCH),
    "a large range": ("{{ range(9999999) }}", "Range too big. The sandbox blocks ranges larger than MAX_RANGE"),
    "doubled with ~": (DOUBLED.replace("DOUBLE", "n.x ~ n.x"), MUCH),
    "doubled with +": (DOUBLED.replace("DOUBLE", "n.x + n.x"), MUCH),
    "doubled in a list": (DOUBLED.replace("DOUBLE", "[n.x, n.x]"), MUCH),
    "doubled in a tuple": (DOUBLED.replace("DOUBLE", "(n.x, n.x)"), MUCH),
    "doubled in a mapping": (DOUBLED.replace("DOUBLE", "{1: n.x, 2: n.x}"), MUCH),
    "doubled by dict()": (DOUBLED.replace("DOUBLE", "dict(a=n.x, b=n.x)"), MUCH),
    "doubled by join": (DOUBLED.replace("DOUBLE", "[n.x, n.x] | join"), MUCH),
    "doubled by format": (DOUBLED.replace("DOUBLE", "'%s%s' | format(n.x, n.x)"), MUCH),
    "doubled by %": (DOUBLED.replace("DOUBLE", "'%s%s' % (n.x, n.x)"), MUCH),
    "doubled by replace": (DOUBLED.replace("DOUBLE", "n.x | replace('b', n.x)"), MUCH),
    "doubled by a macro": (
        "{% macro f(a) %}{{ a }}{{ a }}{% endmacro %}" + DOUBLED.replace("DOUBLE", "f(n.x)"), MUCH),
    "a repeated text": ("{{ 'a' * 999999999 }}", MUCH),
    "a repeated list": ("{{ 999999999 * [1] }}", MUCH),
    "a width": ("{{ 'a' | center(999999999) }}", MUCH),
    "an indent": ("{{ 'a\\nb' | indent(999999999) }}", MUCH),
    "an indent of JSON": ("{{ [1] | tojson(indent=999999999) }}", MUCH),
    "a width of %": ("{{ '%999999999d' % 1 }}", MUCH),
    "a width of % among values": ("{{ '%*d' % (999999999, 1) }}", MUCH),
    "a width of format": ("{{ '%.999999999f' | format(1.0) }}", MUCH),
    "a filled batch": ("{{ [1] | batch(9999999, 'x') | list }}", MUCH),
    "many slices": ("{{ [1] | slice(9999999) | list }}", MUCH),
    "a long separator": ("{{ range(9999) | join('x' * 999) }}", MUCH),
    "a large power": ("{{ 9 ** 99999 }}", MUCH),
    "a large product": (
        "{% set n = namespace(x=9) %}{% for i in range(99) %}{% set n.x = n.x * n.x %}{% endfor %}", MUCH),
    "large lists compared": (
        "{% set a = range(9999) | list %}{% for i in range(9999) %}{% if a == a + [] %}{% endif %}{% endfor %}", MUCH),
    "a text looked for": ("{% for i in range(9999) %}{% if 'ab' in 'a' * 999 %}{% endif %}{% endfor %}", MUCH),
    "a macro that calls itself": (
        "{% macro f() %}{{ f() }}{% endmacro %}{{ f() }}", "it is nested too deeply"),
    "a macro that calls itself twice": (
        "{% macro f(n) %}{% if n %}{{ f(n - 1) }}{{ f(n - 1) }}{% endif %}{% endmacro %}{{ f(99) }}", MUCH),
    "deep parentheses": ("{{ " + "(" * 9999 + "1", "it is nested too deeply"),
    "a class": ("{{ ''.__class__ }}", "access to attribute '__class__' of 'str' object is unsafe."),
    "a class as an item": ("{{ ''['__class__'] }}", "access to attribute '__class__' of 'str' object is unsafe."),
    "a class by format": ("{{ '{0.__class__}'.format(1) }}", "access to attribute 'format' of 'str' object is unsafe."),
    "a class by attr": ("{{ 1 | attr('__class__') }}", "No filter named 'attr'."),
    "a class by map": (
        "{{ [''] | map(attribute='__class__') | join }}", "access to attribute '__class__' of 'str' object is unsafe."),
    "a list changed": ("{{ [1].append(2) }}", "access to attribute 'append' of 'list' object is unsafe."),
    "globals of a function": (
        "{{ range.__globals__ }}", "access to attribute '__globals__' of 'function' object is unsafe."),
    "the blocks of a template": (
        "{{ self.__init__ }}", "access to attribute '__init__' of 'TemplateReference' object is unsafe."),
    "an address in memory": ("{{ range }}", "a function, a class or a set is no value"),
    "a call of a text": ("{{ 'a'() }}", "a str is not safely callable"),
    "chance": ("{{ [1, 2] | random }}", "No filter named 'random'."),
    "another file": ("{% include '/etc/passwd' %}", "it has `include`, which packwise does not fill in"),
    "another template": ("{% import 'x' as x %}", "it has `import`, which packwise does not fill in"),
}  # fmt: skip


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_template_is_an_error(name: str) -> None:
    body, message = HOSTILE[name]

    unfilled = fill("workflow:\n  name: " + body.replace("\n", "\n  ") + "\n", {})

    assert isinstance(unfilled, Unfilled)
    start = "must be a template that can be filled in: "
    assert unfilled.message.startswith(start + message)


def test_default_values_that_multiply_are_an_error() -> None:
    bomb = "\n".join([f"  b{n}: &b{n} [{', '.join([f'*b{n - 1}'] * 9)}]" for n in range(1, 9)])

    unfilled = fill(f"workflow:\n  name: {{{{ b8 }}}}\ndefault-values:\n  b0: &b0 [x]\n{bomb}\n", {})

    assert isinstance(unfilled, Unfilled)
    assert unfilled.message.startswith("must be YAML before anything is filled in: aliases expand to more than 1000000")


def test_a_set_has_no_order_to_rely_on() -> None:
    unfilled = fill("workflow:\n  name: {{ a }}\ndefault-values:\n  a: !!set {x, y}\n", {})

    assert isinstance(unfilled, Unfilled)
    assert unfilled.line == 1
