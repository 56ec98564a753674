"""The names of devices that known plugins give them, and what a misspelt one was meant to be."""

from __future__ import annotations

import re

from packwise.wording import letters_apart, near_miss

__all__ = ["misspelt_resource", "near_resource"]

_NAMES = (
    "nvidia.com/gpu", "nvidia.com/gpu.shared", "nvidia.com/pgpu", "nvidia.com/vgpu", "nvidia.com/hostdev",
    "amd.com/gpu", "gpu.intel.com/i915", "gpu.intel.com/xe", "habana.ai/gaudi", "intel.com/gpu", "google.com/tpu",
    "aws.amazon.com/neuron", "aws.amazon.com/neuroncore", "aws.amazon.com/neurondevice", "vpc.amazonaws.com/efa",
    "rdma/hca", "rdma/ib", "rdma/roce",
)  # fmt: skip
"""Names as the plugins' own documentation has them."""

_OTHER_PROCESSOR = re.compile(r"[a-z]{1,2}pu")
"""Another letter before `pu` is another kind of device: an LPU, a DPU, a pGPU."""

_FAMILIES = ("nvidia.com/mig-", "nvidia.com/gpu-")
"""What the names begin with that a plugin makes by the profile of the device."""

_VENDORS = ("nvidia", "amd", "intel")
"""Words of a domain that tell whose device is meant, where its last part is that of a GPU."""

_LETTERS_OF_A_SLIP = 2


def misspelt_resource(name: str) -> str:
    """`; did you mean "x"?` for a name that nearly is the one of a known device; "" for every other one."""
    if name in _NAMES or name.startswith(_FAMILIES) or "/" not in name:
        return ""
    domain, _, device = name.partition("/")
    is_other = _OTHER_PROCESSOR.fullmatch(device) is not None and device != "gpu"
    known = [] if is_other else [each for each in _NAMES if letters_apart(name.casefold(), each) <= _slip(each)]
    if not known and device.casefold() in ("gpu", "gpus"):
        words = domain.casefold().replace("-", ".").split(".")
        known = [f"{vendor}.com/gpu" for vendor in _VENDORS if any(_is_near(word, vendor) for word in words)]
    best = min(known, key=lambda each: (letters_apart(name.casefold(), each), each), default="")
    return f'; did you mean "{best}"?' if best else ""


def near_resource(name: str) -> str:
    """`; did you mean "x"?` for a name that no container may ask for."""
    short = name.casefold()
    if "gpu" in short:
        return '; did you mean "nvidia.com/gpu"?'
    return near_miss(name, ("cpu", "memory", "ephemeral-storage"))


def _slip(name: str) -> int:
    """Letters that a slip of the pen changes; of a short name one, which a second would make another name."""
    return _LETTERS_OF_A_SLIP if len(name) > len("nvidia.com/") else 1


def _is_near(word: str, vendor: str) -> bool:
    return letters_apart(word, vendor) <= (_LETTERS_OF_A_SLIP if len(vendor) > len("intel") else 0)
