"""Renders the example next to this script and says what came out: examples/demo.py COMMAND-OF-PACKWISE."""

import difflib
import re
import shutil
import subprocess
import sys
from collections import Counter
from pathlib import Path

PACKWISE = sys.argv[1:]
INPUT, OUTPUT = Path("examples/disaggregated-inference"), Path("build/demo")


def say(*lines: str) -> None:
    """Prints at once: what packwise says itself comes in between."""
    sys.stdout.write("".join([f"{line}\n" for line in lines]))
    sys.stdout.flush()


def diff(name: str) -> list[str]:
    """The difference between a file of the user's and what came back of it."""
    before, after = [(folder / name).read_text(encoding="utf-8").splitlines() for folder in (INPUT, OUTPUT)]
    return list(difflib.unified_diff(before, after, str(INPUT / name), str(OUTPUT / name), lineterm="", n=1))


shutil.rmtree(OUTPUT, ignore_errors=True)
OUTPUT.parent.mkdir(exist_ok=True)
say(f"$ packwise render {INPUT} -o {OUTPUT}")
done = subprocess.run([*PACKWISE, "render", str(INPUT), "-o", str(OUTPUT)], check=False)  # noqa: S603
if done.returncode != 0:
    sys.exit(done.returncode)

say(
    "",
    f"packwise read {INPUT}:",
    "  topology.yaml    the cluster's topology levels: zone, block, rack, host",
    "  inference.yaml   a multi-node prefill/decode workload (a PodCliqueSet) with topology constraints",
    f"and wrote {OUTPUT}:",
)
texts = {
    path: path.read_text(encoding="utf-8")
    for path in sorted(OUTPUT.rglob("*"))
    if path.is_file() and not path.name.startswith(".")
}
for path, text in texts.items():
    kinds = Counter(re.findall(r"^kind: *(.*)", text, re.MULTILINE))
    say(f"  {path}: " + ", ".join([f"{count} {kind}" for kind, count in sorted(kinds.items())]))

say("", "Your own files come back as they are, comments and all, but for annotations that packwise adds to workloads:")
say(*[line for path in sorted(INPUT.iterdir()) if (OUTPUT / path.name).is_file() for line in diff(path.name)])

say("", "The gang of the whole workload, as the scheduler is told:")
gang = max(path for path, text in texts.items() if re.search(r"^kind: PodGang$", text, re.MULTILINE))
say(f"  {gang}")
say(*[f"    {line}" for line in texts[gang][texts[gang].index("\nspec:") + 1 :].splitlines()])
