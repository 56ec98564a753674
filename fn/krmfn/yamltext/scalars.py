"""The values of scalars by the rules of go yaml.v3, the reader of kyaml, kustomize and kpt.

Source: gopkg.in/yaml.v3 resolve.go (`resolve`), decode.go (`scalar`); sigs.k8s.io/yaml yaml.go (keys).
"""

from __future__ import annotations

import math
import re
from functools import cache

from krmfn.hints import TYPE_CHECKING

if TYPE_CHECKING:
    from krmfn.value import Scalar

__all__ = ["key_name", "key_text", "resolve", "scalar_value", "value_of_tag"]

_INF = math.inf
_TAG = "tag:yaml.org,2002:"
_WORDS: dict[str, Scalar] = {
    "": None,
    **dict.fromkeys(("~", "null", "Null", "NULL"), None),
    **dict.fromkeys(("true", "True", "TRUE"), True),
    **dict.fromkeys(("false", "False", "FALSE"), False),
    **dict.fromkeys((".nan", ".NaN", ".NAN"), math.nan),
    **dict.fromkeys((".inf", ".Inf", ".INF", "+.inf", "+.Inf", "+.INF"), _INF),
    **dict.fromkeys(("-.inf", "-.Inf", "-.INF"), -_INF),
}
_NUMERIC_START = frozenset("+-.0123456789")
_AFTER_SIGN = frozenset(".0123456789")
_SIGN_AFTER_PREFIX = r"0(?:b([-+][01]+)|o([-+][0-7]+))"
_LOOSE_UNDERSCORE = r"(?<![0-9])_|_(?![0-9])"
_BASES = {"x": 16, "b": 2, "o": 8, "d": 10}
# The most digits of a 64-bit integer in any base. The time to read more digits is quadratic.
_MAX_DIGITS = 64


def resolve(plain: str) -> Scalar:
    """Return the value of the plain (unquoted, untagged) scalar `plain`.

    `012` is 10, and `0o14` is 12. `yes`, `on`, dates and `1:30` are strings. `1_000` is 1000. An integer outside 64
    bits becomes a float. A float beyond a double's range stays a string.
    """
    if plain in _WORDS:
        return _WORDS[plain]
    if plain[0] not in _NUMERIC_START:
        return plain
    digits = plain.replace("_", "")
    is_word = digits.lstrip("+-")[:1] not in _AFTER_SIGN
    if is_word or (plain[0] == "." and re.search(_LOOSE_UNDERSCORE, plain)):
        return plain
    integer = _integer(digits)
    if integer is not None:
        return integer
    if _float_pattern().fullmatch(digits):
        number = float(digits)
        return plain if math.isinf(number) else number
    return plain


def scalar_value(text: str, tag: str | None, *, is_plain: bool) -> Scalar:
    """Return the value of the scalar `text` by its tag, or by its text without a tag.

    Raise ValueError if they do not match.
    """
    if tag is None or tag == "!":
        return resolve(text) if is_plain else text
    return value_of_tag(tag, text)


def value_of_tag(tag: str, text: str) -> Scalar:
    """Return the value of the scalar `text` with the tag `tag`. Raise ValueError if they do not match."""
    kind = tag.removeprefix(_TAG)
    if kind in ("str", "timestamp", tag):
        return text
    if kind == "binary":
        import base64

        # Go's decoder skips line ends, but no other white space. It refuses wrong padding that Python's decoder skips.
        encoded = text.replace("\n", "").replace("\r", "")
        if _base64_pattern().fullmatch(encoded) is None:
            raise ValueError("must be base64, with padding, to match its tag !!binary")
        text = base64.b64decode(encoded).decode("utf-8", "surrogateescape")
        # Go's JSON replaces each byte that is not UTF-8 by this character.
        return re.sub("[\udc80-\udcff]", "\ufffd", text)
    value = resolve(text)
    expected = {"int": int, "float": float, "bool": bool, "null": type(None)}.get(kind)
    if expected is None:
        return text
    if expected is float and type(value) is int and value < 1 << 63:
        return float(value)
    if type(value) is not expected or (isinstance(value, float) and math.isnan(value) and kind == "int"):
        raise ValueError(f'must match its tag !!{kind}; got "{text}"')
    return value


def key_name(text: str, tag: str | None, is_plain: bool) -> str | None:
    """Return the JSON object key that a scalar becomes. Return None if it cannot be one."""
    try:
        return key_text(scalar_value(text, tag, is_plain=is_plain))
    except ValueError:
        return None


# The native core reads usual numbers itself, so most runs compile none of these patterns.
@cache
def _integer_pattern() -> re.Pattern[str]:
    return re.compile(r"([-+]?)(?:0[xX](?P<x>[0-9a-fA-F]+)|0[bB](?P<b>[01]+)|0[oO]?(?P<o>[0-7]+)|(?P<d>0|[1-9][0-9]*))")


@cache
def _base64_pattern() -> re.Pattern[str]:
    return re.compile(r"(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?")


@cache
def _float_pattern() -> re.Pattern[str]:
    return re.compile(r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?")


def _integer(digits: str) -> int | None:
    """Return the integer in `digits` as yaml.v3 reads it. Return None if it is not one.

    yaml.v3 uses Go's strconv.ParseInt and ParseUint with base 0, and its own rules for `0b` and `0o`.
    """
    match = _integer_pattern().fullmatch(digits)
    if match is None:
        # yaml.v3 passes the text after `0b` and `0o` to ParseInt, which accepts a sign there.
        odd = re.fullmatch(_SIGN_AFTER_PREFIX, digits)
        return None if odd is None else _bounded_number(odd[1] or odd[2], 2 if odd[1] else 8)
    kind = match.lastgroup or "d"
    number = _number(match[kind], _BASES[kind])
    sign = match[1]
    if number is None:
        return None
    if sign == "-":
        return -number if number <= 1 << 63 else None
    return number if number < 1 << (63 if sign else 64) else None


def _bounded_number(digits: str, base: int) -> int | None:
    """Return the signed number in `digits` as ParseInt reads it, or None beyond 64 bits."""
    number = _number(digits[1:], base)
    if number is None:
        return None
    number = -number if digits[0] == "-" else number
    return number if -(1 << 63) <= number < 1 << 63 else None


def _number(digits: str, base: int) -> int | None:
    """Return `digits` as a number. Return None if they exceed 64 bits."""
    digits = digits.lstrip("0") or "0"
    return int(digits, base) if len(digits) <= _MAX_DIGITS else None


def key_text(key: Scalar) -> str | None:
    """Return the JSON object key for a YAML key, or None if it cannot be one (null, not a number, infinite)."""
    if isinstance(key, str):
        return key
    if isinstance(key, bool):
        return "true" if key else "false"
    if isinstance(key, int):
        return str(key)
    if key is None or math.isnan(key) or math.isinf(key):
        return None
    return _float_key(key)


def _float_key(number: float) -> str:
    # sigs.k8s.io/yaml: strconv.FormatFloat(key, 'g', -1, 32), the shortest digits that give the same 32-bit float.
    number = _round_to_single(number)
    if math.isinf(number):
        return ".inf" if number > 0 else "-.inf"
    text = next(
        (t for t in (f"{number:.{p}e}" for p in range(9)) if _round_to_single(float(t)) == number), f"{number:e}"
    )
    mantissa, _, exponent = text.partition("e")
    power = int(exponent)
    if -4 <= power < 6:
        return f"{float(text):.{max(0, len(mantissa.partition('.')[2]) - power)}f}"
    return f"{mantissa}e{'-' if power < 0 else '+'}{abs(power):02d}"


def _round_to_single(number: float) -> float:
    """Return the 32-bit float that is nearest to `number`, or infinity beyond the range of such floats."""
    import struct

    try:
        return struct.unpack("<f", struct.pack("<f", number))[0]
    except OverflowError:
        return math.copysign(_INF, number)
