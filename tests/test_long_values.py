"""Long values take time in proportion to their length. The kernel ends a run that uses too much processor time."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.places import ROOT

CHILD = """
import resource
resource.setrlimit(resource.RLIMIT_CPU, (20, 20))
N = 1_000_000
"""
VALUES = {
    "a quantity": "from packwise.kubernetes import quantity_fault as f\n"
    "assert f('1' * N + '!') and f('.' + '1' * N + '!')",
    "a label selector": "from krmfn.selector import Selector\n"
    "try: Selector(labels='a in (' + ' ' * N + '!')\n"
    "except ValueError: pass\n"
    "else: raise AssertionError",
    "a duration": "from packwise.kubernetes import duration_fault as f\nassert f('1h' * N + '!') and f('1' * N + '!')",
    "topology.conf": "from packwise.topology import topograph\n"
    "assert topograph._CONF.match(' #a\\r\\n' * N + ' ') is None\n"
    "assert not list(topograph._PAIR.finditer('a' * N))",
    "a quantity of a pod": "from packwise.kubernetes import amounts as f\nassert f({'cpu': '1' * N + '!'}) == {}",
}


@pytest.mark.parametrize("code", VALUES.values(), ids=VALUES)
def test_a_long_value_is_answered(code: str) -> None:
    assert subprocess.run([sys.executable, "-c", CHILD + code], cwd=ROOT, check=False).returncode == 0


LEVELS = """
import pathlib
from packwise.cli.command_line import main
levels = ", ".join(f"{{domain: rack, key: example.com/{n}}}" for n in range(25_000))
head = "apiVersion: packwise.dev/v1alpha1\\nkind: TopologyRender\\nmetadata: {name: a}\\n"
pathlib.Path("a.yaml").write_text(f"{head}spec: {{topologyAwareScheduling: {{enabled: true, levels: [{levels}]}}}}\\n")
assert main(["check", "a.yaml"]) == 1
"""


@pytest.mark.slow
def test_many_errors_of_a_configuration_are_told(tmp_path: Path) -> None:
    """The errors are not compared with one another."""
    done = subprocess.run([sys.executable, "-c", CHILD + LEVELS], cwd=tmp_path, stdout=subprocess.DEVNULL, check=False)
    assert done.returncode == 0


CRD = """\
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: x}
spec:
  group: grove.io
  names: {kind: {}}
"""


def test_a_definition_whose_kind_is_no_text_is_that_of_no_kind(tmp_path: Path) -> None:
    (tmp_path / "crd.yaml").write_text(CRD, encoding="utf-8")

    done = subprocess.run(
        [sys.executable, "-m", "packwise", "check", "--crds", str(tmp_path), str(ROOT / "examples" / "first-design")],
        capture_output=True, text=True, check=False,
    )  # fmt: skip

    assert done.returncode in (0, 1, 2)
    assert "Traceback" not in done.stderr
    assert "internal error" not in done.stderr
