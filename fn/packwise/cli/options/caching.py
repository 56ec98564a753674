"""Options of the command `cache`, and the size that a cache keeps to."""

from __future__ import annotations

import argparse
import re
from typing import Any

from packwise.cli import help_texts

__all__ = ["add_cache", "add_size", "refuse_without_prune", "size_in_bytes"]

_SIZE = re.compile(r"([0-9]{1,15})(|[kMGT]|[KMGT]i)")
_POWERS = {"": 0, "k": 1, "K": 1, "M": 2, "G": 3, "T": 4}


def add_cache(commands: Any) -> None:
    """Adds the command `cache`."""
    text = "say how large the cache of a fleet is, or prune it"
    cache = commands.add_parser("cache", help=text, description=help_texts.CACHE, epilog=help_texts.CACHE_EPILOG)
    cache.add_argument("action", nargs="?", choices=("prune",), help="remove entries; without it, they are counted")
    cache.add_argument(
        "--cache", metavar="DIR|URL", dest="place", help="which cache it is (default: the user's cache folder)"
    )
    add_size(cache, "--max-size", "what to leave with prune")


def add_size(parser: argparse.ArgumentParser, option: str, text: str) -> None:
    """Adds an option for the bytes of a cache at most."""
    parser.add_argument(option, metavar="SIZE", type=size_in_bytes, help=f"{text}, as in 500Mi (default: 2Gi)")


def refuse_without_prune(parser: argparse.ArgumentParser, parsed: argparse.Namespace) -> None:
    """Ends with usage where a size is given and nothing is pruned."""
    if parsed.action is None and parsed.max_size is not None:
        parser.error("--max-size goes with prune: packwise cache prune --max-size SIZE")


def size_in_bytes(text: str) -> int:
    """The bytes of a quantity as Kubernetes writes it: 500Mi, 2Gi, 1G, 1000000. Raises ArgumentTypeError."""
    match = _SIZE.fullmatch(text)
    if match is None:
        raise argparse.ArgumentTypeError(f'must be a size as in 500Mi or 2Gi; got "{text}"')
    return int(match[1]) * (1024 if match[2].endswith("i") else 1000) ** _POWERS[match[2][:1]]
