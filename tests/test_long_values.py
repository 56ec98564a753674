"""Long values take time in proportion to their length: the kernel ends what takes more processor time than it may."""

from __future__ import annotations

import subprocess
import sys

import pytest

from tests.places import ROOT

CHILD = """
import resource
resource.setrlimit(resource.RLIMIT_CPU, (20, 20))
N = 1_000_000
"""
VALUES = {
    "a quantity": "from packwise.kubernetes.quantity import quantity_fault as f\n"
    "assert f('1' * N + '!') and f('.' + '1' * N + '!')",
    "a quantity of a pod": "from packwise.kubernetes.pod_requests import amounts as f\n"
    "assert f({'cpu': '1' * N + '!'}) == {}",
}


@pytest.mark.parametrize("code", VALUES.values(), ids=VALUES)
def test_a_long_value_is_answered(code: str) -> None:
    subprocess.run([sys.executable, "-c", CHILD + code], cwd=ROOT, check=True)
