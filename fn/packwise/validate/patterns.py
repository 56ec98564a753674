"""Patterns are RE2, as in Kubernetes: whatever a CRD asks for, the time is linear in the text."""

from __future__ import annotations

from functools import cache, lru_cache

from krmfn.hints import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["matches"]


@lru_cache(maxsize=4096)
def matches(pattern: str, text: str) -> bool | None:
    """Whether `pattern` is found in `text`; None where it is no pattern."""
    return _matcher()(pattern, text)


@cache
def _matcher() -> Callable[[str, str], bool | None]:
    # CEL's own `matches` is RE2: one library serves rules and patterns.
    from cel_expr_python import cel  # pyright: ignore[reportMissingTypeStubs]

    texts = {"text": cel.Type.STRING, "pattern": cel.Type.STRING}
    program = cel.NewEnv(variables=texts).compile("text.matches(pattern)")

    def match(pattern: str, text: str) -> bool | None:
        try:
            answer = program.eval(data={"text": text, "pattern": pattern}).value()
        except (RuntimeError, ValueError):
            return None
        return answer if isinstance(answer, bool) else None

    return match
