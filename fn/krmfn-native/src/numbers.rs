//! The meaning of most plain texts that look like numbers, and the numbers of Python.
//!
//! The `unsafe` code makes a number, because PyO3 panics if Python has no memory for it.

use std::num::IntErrorKind;

use pyo3::ffi;
use pyo3::prelude::*;

/// The meaning of a text without quotes. The text is neither empty nor a word for null or a boolean.
pub enum Plain {
    Text,
    Integer(i64),
    Float(f64),
    /// A text for `krmfn.yamltext.scalars.resolve`: an integer beyond 63 bits, a sign after `0b`, infinity.
    Odd,
}

impl Plain {
    pub fn of(text: &str) -> Plain {
        let Some(b'+' | b'-' | b'.' | b'0'..=b'9') = text.bytes().next() else {
            return Plain::Text;
        };
        if text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'.' | b'+' | b'-' | b'e' | b'E')) {
            return decimal(text);
        }
        let digits = text.strip_prefix(['+', '-']).unwrap_or(text).as_bytes();
        match digits {
            _ if digits.contains(&b'_') && digits.iter().all(is_numeric) => without_underscores(text),
            [b'0', b'x' | b'X' | b'b' | b'B' | b'o' | b'O', ..] => based(text),
            // `.inf`, `-.NaN`.
            [b'.', _, _, _] => Plain::Odd,
            _ => Plain::Text,
        }
    }
}

/// Returns true if a number in some base may have the byte. It may have underscores too.
fn is_numeric(byte: &u8) -> bool {
    byte.is_ascii_hexdigit() || matches!(byte, b'_' | b'x' | b'X' | b'o' | b'O' | b'.' | b'+' | b'-')
}

/// Returns the meaning of a text with underscores. A number ignores them if it does not start with a point.
fn without_underscores(text: &str) -> Plain {
    let mut kept = [0; 72];
    let mut length = 0;
    for byte in text.bytes().filter(|&byte| byte != b'_') {
        let Some(next) = kept.get_mut(length) else {
            return Plain::Odd;
        };
        *next = byte;
        length += 1;
    }
    match str::from_utf8(&kept[..length]) {
        Ok(digits) if !text.starts_with('.') => Plain::of(digits),
        _ => Plain::Odd,
    }
}

/// Returns the meaning of a text with a prefix for base 16, 2 or 8 after its sign.
fn based(text: &str) -> Plain {
    let (sign, digits) = text.split_at(usize::from(text.starts_with(['+', '-'])));
    let (prefix, digits) = digits.split_at(2);
    let base = match prefix {
        "0x" | "0X" => 16,
        "0b" | "0B" => 2,
        _ => 8,
    };
    if digits.starts_with(['+', '-']) {
        return Plain::Odd;
    }
    match (i64::from_str_radix(digits, base), sign) {
        (Ok(number), "-") => Plain::Integer(-number),
        (Ok(number), _) => Plain::Integer(number),
        (Err(error), _) if matches!(error.kind(), IntErrorKind::PosOverflow) => Plain::Odd,
        (Err(_), _) => Plain::Text,
    }
}

/// Returns the meaning of a text of digits, signs, points and `e`.
fn decimal(text: &str) -> Plain {
    let unsigned = text.strip_prefix(['+', '-']).unwrap_or(text);
    let (mantissa, exponent) =
        unsigned.split_once(['e', 'E']).map_or((unsigned, None), |(before, after)| (before, Some(after)));
    let (whole, fraction) = mantissa.split_once('.').map_or((mantissa, None), |(before, after)| (before, Some(after)));
    let is_digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    let is_exponent = |text: &str| {
        let digits = text.strip_prefix(['+', '-']).unwrap_or(text);
        !digits.is_empty() && is_digits(digits)
    };
    let has_digits = !whole.is_empty() || fraction.is_some_and(|fraction| !fraction.is_empty());
    if !has_digits || !is_digits(whole) || !fraction.is_none_or(is_digits) || !exponent.is_none_or(is_exponent) {
        return Plain::Text;
    }
    if fraction.is_none() && exponent.is_none() {
        // Go reads a number with a leading zero, such as the mode `0755` of a file, in base 8.
        let base = if whole.starts_with('0') { 8 } else { 10 };
        return i64::from_str_radix(text, base).map_or(Plain::Odd, Plain::Integer);
    }
    match text.parse::<f64>() {
        Ok(number) if number.is_finite() => Plain::Float(number),
        Ok(_) => Plain::Text,
        Err(_) => Plain::Odd,
    }
}

/// Returns `number` as an integer of Python. Raises MemoryError.
pub fn integer(py: Python<'_>, number: i64) -> PyResult<Bound<'_, PyAny>> {
    // SAFETY: the interpreter is attached. The call returns a new reference, or null with an error set.
    unsafe { Bound::from_owned_ptr_or_err(py, ffi::PyLong_FromLongLong(number)) }
}

/// Returns `number` as a float of Python. Raises MemoryError.
pub fn float(py: Python<'_>, number: f64) -> PyResult<Bound<'_, PyAny>> {
    // SAFETY: as above.
    unsafe { Bound::from_owned_ptr_or_err(py, ffi::PyFloat_FromDouble(number)) }
}
