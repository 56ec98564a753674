from __future__ import annotations

import subprocess
import sys

import pytest

import krmfn
from krmfn.yamltext.reader import CORE
from tests.places import NO_CORE


def loaded(code: str) -> set[str]:
    """Return the modules that are loaded after `code` in a new Python process."""
    script = f"{code}\nimport sys\nprint(*sys.modules)"
    ran = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    return set(ran.stdout.split())


def test_importing_krmfn_loads_nothing_of_it() -> None:
    assert {name for name in loaded("import krmfn") if name.startswith(("krmfn.", "yaml", "pydantic"))} == set()


HOT = """
import io
from krmfn.run import run
from krmfn import KubeObject
text = b"apiVersion: config.kubernetes.io/v1\\nkind: ResourceList\\nitems:\\n- kind: A\\nfunctionConfig:\\n  kind: F\\n"
new = KubeObject.new({"kind": "B"})


def edit(rl):
    return rl.with_items([*(item.with_annotation("a", '{"b": "c"}') for item in rl.items), new])


assert not run(edit, stdin=io.BytesIO(text), stdout=io.BytesIO())
"""


def test_a_plain_run_loads_nothing_that_takes_long() -> None:
    if CORE is None:
        pytest.skip(NO_CORE)
    unwanted = {"yaml", "pydantic", "json", "difflib", "argparse", "dataclasses", "inspect", "typing", "krmfn.config"}
    unwanted |= {f"krmfn.yamltext.{name}" for name in ("places", "pyyaml")}
    assert loaded(HOT) & unwanted == set()


@pytest.mark.parametrize("name", krmfn.__all__)
def test_every_public_name_is_there(name: str) -> None:
    assert getattr(krmfn, name) is not None
    assert name in dir(krmfn)


def test_other_names_are_not() -> None:
    with pytest.raises(AttributeError, match='has no attribute "nothing"'):
        _ = krmfn.nothing  # pyright: ignore[reportAttributeAccessIssue]
