"""The lines of templates that make the lines of a built text."""

from __future__ import annotations

import pytest

from packwise.build.lines import template_line

TEMPLATE = """\
kind: A
metadata:
  name: {{ .Release.Name }}
spec:
  first:
    gpus: {{ .Values.first }}
  second:
    gpus: {{ .Values.second }}
{{- range .Values.rows }}
  - name: {{ . }}
{{- end }}
{{ toYaml .Values.rest | indent 2 }}
"""
BUILT = """\
kind: A
metadata:
  name: x
spec:
  first:
    gpus: 8
  second:
    gpus: 4
  - name: a
  - name: b
  other: 1
"""


@pytest.mark.parametrize(("line", "expected"), [(1, 1), (3, 3), (6, 6), (8, 8), (9, 10), (10, 10), (11, 4), (99, None)])
def test_the_line_that_makes_a_line(line: int, expected: int | None) -> None:
    """A function makes line 11. The finding names its parent line by indentation."""
    assert template_line(TEMPLATE, BUILT, line) == expected


def test_a_line_that_two_lines_may_make_is_not_told() -> None:
    assert template_line("a: {{ .x }}\na: {{ .y }}\n", "a: 1\n", 1) is None
