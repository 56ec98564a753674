"""Workflow templates are filled in as OSMO does it. Each line is mapped to the line of the template that made it."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Mapping

import jinja2
import jinja2.sandbox
import pytest
from hypothesis import given
from hypothesis import strategies as st

from krmfn.value import Value
from packwise.frontends.osmo.template import Filled, Unfilled, fill, replace_tokens
from packwise.inputs.groups import read_assignments

CONDITIONS = """\
# The header.
version: 2
workflow:
  name: "{{ name }}"
  labels:
    {% if nested %}
    team: {inner: value}
    {% elif team %}
    team: {{ team }}
    {% endif %}
    # Each of the machines:
    {%- for rack in racks %}
    rack-{{ loop.index }}: {{ rack | upper }}
    {%- endfor %}
  tasks: []

default-values:
  name: one
  nested: false
  team: vision
  racks: [a, b]
"""


def test_loops_and_conditions_keep_the_lines_of_the_template() -> None:
    filled = fill(CONDITIONS, {"name": "two"})

    assert isinstance(filled, Filled)
    lines = filled.text.split("\n")
    assert list(zip(filled.lines, lines, strict=True)) == [
        (1, ""),
        (2, ""),
        (3, "workflow:"),
        (4, '  name: "two"'),
        (5, "  labels:"),
        (6, "    "),
        (9, "    team: vision"),
        (10, "    "),
        (11, "    # Each of the machines:"),
        (13, "    rack-1: A"),
        (13, "    rack-2: B"),
        (15, "  tasks: []"),
        (16, ""),
    ]


@pytest.mark.parametrize("text", [
    "workflow: {name: plain}\n",
    "workflow:\n  name: w\n  args: ['{{output}}', '{{input:0}}', '{{host:one}}', '{{uuid}}', '{{workflow_id}}']\n",
    "workflow:\n  name: w\ndefault-values: {a: '{{ b }}'}\n",
    "pools: '{{ a }}'\n",
    "",
])  # fmt: skip
def test_a_text_without_templates_of_a_workflow_is_unchanged(text: str) -> None:
    assert fill(text, {"a": 1}) == Filled(text)


def test_what_osmo_fills_in_while_a_workflow_runs_stays() -> None:
    filled = fill("workflow:\n  name: {{ n }}-{{workflow_id}}\n  args: ['{{input:0}}/{{n}}']\n", {"n": "x"})

    assert filled == Filled("workflow:\n  name: x-{{workflow_id}}\n  args: ['{{input:0}}/x']", (1, 2, 3))


@pytest.mark.parametrize(("text", "line", "column", "message"), [
    ("  name: {{ a }}\n  args: [{{ b }}, {{ a }}]\n", 2, 12,
     "no value for the variables `a`, `b`. Add them to `default-values`, or set them with --set "
     "a=VALUE --set b=VALUE or with `osmo: {values: …}` in a TopologyRender"),
    ("  name: {{ d | default('q') }}\n  args: {{ e is defined }} {{ k }}\n", 3, 31,
     "no value for the variable `k`. Add it to `default-values`, or set it with --set k=VALUE or "
     "with `osmo: {values: …}` in a TopologyRender"),
    ("  name: {{ v.x }}\n", 2, 1, "cannot fill in the template: 'dict object' has no attribute 'x'"),
    ("  name: {{ v\n  args: x\n", 3, 1,
     "cannot fill in the template: expected token 'end of print statement', got 'args'"),
    ("  name: {% if v %}\n", 2, 1, "cannot fill in the template: Unexpected end of template. Jinja was looking for the "
                                   "following tags: 'elif' or 'else' or 'endif'. The innermost block that needs to be "
                                   "closed is 'if'."),
    ("  name: {{ 1 / 0 }}\n", 2, 1, "cannot fill in the template: division by zero"),
    ("  args:\n  - {% include 'x' %}\n", 3, 1,
     "cannot fill in the template: it has `include`, which packwise does not fill in"),
    ("  name: {{ v }}\ndefault-values: [1]\n", 3, 1, "must be a mapping of variables to values"),
    ("  name: {{ v }}\ndefault-values:\n  a: [\n", 5, 1,
     "the template is not YAML before it is filled in: did not find expected node content (while parsing a flow node)"),
])  # fmt: skip
def test_what_cannot_be_filled_in_is_reported_at_its_line(text: str, line: int, column: int, message: str) -> None:
    unfilled = fill(f"workflow:\n{text}", {"v": {}})

    assert isinstance(unfilled, Unfilled)
    assert (unfilled.line, unfilled.column, unfilled.message) == (line, column, message)


def test_osmos_own_text_is_kept() -> None:
    unfilled = fill("workflow:\n  name: {{ a }}\n", {})

    assert isinstance(unfilled, Unfilled)
    assert unfilled.error == "Jinja substitution failure: <class 'jinja2.exceptions.UndefinedError'>: 'a' is undefined"


@pytest.mark.parametrize(("body", "text", "lines"), [
    ("a: [{% for i in v recursive %}{{ i }}\n{% if i == 1 %}{{ loop([2]) }}{% endif %}{% endfor %}]\n  b: 1",
     "a: [1\n2\n3\n]\n  b: 1", (2, 2, 2, 3, 4)),
    ("a: {% block b %}x{% endblock %}\n  b: {{ self.b() | length }}", "a: x\n  b: 1", (2, 3)),
    ("{% set l = [] %}{% set _ = l.append(v) %}a: {{ l }}", "a: [[1, 3]]", (2,)),
    ("{% set c = cycler('x', 'y') %}a: {{ c.next() }}{{ c.next() }}{{ c.current }}", "a: xyx", (2,)),
    ("a: {{ ['x', 'y'] | map('upper') | reverse | join }}", "a: YX", (2,)),
    ("a: {{ (v | map('string')) is iterable }}{{ v | select('odd') | first }}", "a: True1", (2,)),
    ("a: {{ '<b>&amp;</b>' | striptags }}{{ 'a b' | wordwrap(1) | urlencode }}{{ v | pprint }}",
     "a: &a%0Ab[1, 3]", (2,)),
    ("{% autoescape true %}a: {{ '<' }}{% endautoescape %}", "a: &lt;", (2,)),
    ("a: {{ '\\N{EM DASH}' }}{{ {'x': 1}.keys() | list }}", "a: —['x']", (2,)),
])  # fmt: skip
def test_what_osmo_fills_in_is_filled_in(body: str, text: str, lines: tuple[int, ...]) -> None:
    assert fill(f"workflow:\n  {body}", {"v": [1, 3]}) == Filled(f"workflow:\n  {text}", (1, *lines))


TOKEN = re.compile(r"\{\{(uuid|workflow_id|output|input:[^}]+|host:[^}]+)\}\}")
"""OSMO's own pattern of a token."""


@given(st.lists(st.sampled_from(["{{", "{", "}}", "}", "input:", "host:", "uuid", "output", "0", "\n"])).map("".join))
def test_tokens_are_those_of_osmos_pattern(text: str) -> None:
    assert replace_tokens(text, lambda token: f"<{token}>") == TOKEN.sub(r"<\g<0>>", text)


@pytest.mark.parametrize("text", [
    "{{input:" * 200_000, "{{input:x" * 200_000 + "}", "{{host:x} " * 200_000, "{{uuid" * 200_000, "a:\n" * 400_000,
    "{{ a }}" + "{{input:" * 100_000,
], ids=["inputs", "inputs and a brace", "hosts", "uuids", "sections", "a template"])  # fmt: skip
def test_a_long_text_is_looked_at_in_one_pass(text: str) -> None:
    """A search with quadratic time would take hours."""
    code = (
        "import resource, sys; resource.setrlimit(resource.RLIMIT_CPU, (20, 20))\n"
        "from packwise.frontends.osmo.template import fill, sections\n"
        "text = 'workflow:\\n  a: ' + sys.stdin.read()\n"
        "print(len(list(sections(text))), type(fill(text, {})).__name__)"
    )

    done = subprocess.run([sys.executable, "-c", code], input=text, capture_output=True, text=True, check=False)

    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.split()[1] in ("Filled", "Unfilled")


def test_a_long_template_is_refused() -> None:
    unfilled = fill("workflow:\n  name: {{ a }}\n" + "# x" * 400_000, {"a": 1})

    assert isinstance(unfilled, Unfilled)
    assert unfilled.message == "the template has more than 1000000 characters"


def test_values_of_the_command_line_are_read_as_osmo_reads_them() -> None:
    values = read_assignments(["a=4", "b=0.5", "c=4Gi", "d=", "e=x=y", "a=5"])

    assert values == {"a": 5, "b": 0.5, "c": "4Gi", "d": "", "e": "x=y"}


# A key at the start of a line would end the section.
WORDS = st.text("ab \n-", max_size=4)
PARTS = st.one_of(
    WORDS,
    st.sampled_from([
        "{{ n }}", "{{ t }}", "{{- t }}", "{{ t -}}", "{# c #}", "{%- if n > 1 %}", "{% if t %}", "{% else %}",
        "{% endif %}", "{% for x in l %}", "{%- for x in l -%}", "{{ x }}", "{{ loop.index }}", "{% endfor %}",
        "{% set t = t ~ n %}", "{{ m.k }}", "{{ l | join('-') }}", "{{ m['k'] * n }}", "{{ (n, t) }}", "{{ t[1:] }}",
        "{{ t.split('b') }}", "{{ missing }}", "{{ n in l }}", "{% raw %}{{{% endraw %}", "{% macro f(a) %}<{{ a }}>",
        "{% endmacro %}", "{{ f(n) }}", "{% set s %}", "{% endset %}", "{{ s }}", "{{ m | tojson }}",
        "{{ '%03d' % n }}",
    ]),
)  # fmt: skip
VALUES: Mapping[str, Value] = {"n": 2, "t": "abc", "l": [1, "b", 3], "m": {"k": "v"}}


@pytest.mark.slow
@given(st.lists(PARTS, max_size=9).map("".join))
def test_a_template_becomes_what_jinja_makes_of_it(body: str) -> None:
    text = f"workflow: x\n{body}\n"
    environment = jinja2.sandbox.SandboxedEnvironment(undefined=jinja2.StrictUndefined)
    try:
        expected = environment.from_string(text).render(VALUES)
    except (jinja2.TemplateError, TypeError):
        expected = None

    filled = fill(text, VALUES)

    if isinstance(filled, Filled):
        # A text without a template keeps the end of its last line.
        assert expected == (filled.text if filled.lines else text[:-1])
        assert len(filled.lines) in (0, filled.text.count("\n") + 1)
        assert all(1 <= line <= text.count("\n") + 1 for line in filled.lines)
        assert list(filled.lines) == sorted(filled.lines) or "{% for" in body or "{%- for" in body
    else:
        assert expected is None
    assert fill(text, VALUES) == filled
