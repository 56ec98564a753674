//! A writer of strings, as in `krmfn.yamltext.writer`. Every YAML reader reads the written text as the same string.

use std::fmt::Write;

use crate::text::Text;

const PLAIN: [bool; 256] = plain();

const fn plain() -> [bool; 256] {
    let mut table = [false; 256];
    let mut byte = 0;
    while byte < 256 {
        let char = byte as u8;
        table[byte] = char.is_ascii_alphanumeric()
            || matches!(char, b'_' | b'.' | b'/' | b'@' | b'+' | b'(' | b')' | b'=' | b'~' | b'$' | b'-');
        byte += 1;
    }
    table
}

/// Appends `text` on one line, for a block context.
pub fn scalar(out: &mut Text, text: &str) {
    if is_plain(text.as_bytes()) && !is_word(text) {
        out.push_str(text);
    } else if text.contains('"') && !text.contains('\'') && text.bytes().all(|byte| (b' '..0x7f).contains(&byte)) {
        out.push('\'');
        out.push_str(text);
        out.push('\'');
    } else {
        double_quoted(out, text);
    }
}

/// Returns true if every reader preserves `text`, which has several lines, in a literal block.
pub fn is_literal(text: &str) -> bool {
    !text.starts_with([' ', '\n'])
        && !text.ends_with("\n\n")
        && !text.chars().any(is_odd)
        && !text.split('\n').skip(1).any(|line| !line.is_empty() && line.bytes().all(|byte| byte == b' '))
}

fn is_plain(text: &[u8]) -> bool {
    match text.first() {
        Some(first) if first.is_ascii_alphabetic() || *first == b'/' => {
            let mut within = true;
            for &byte in &text[1..] {
                if PLAIN[usize::from(byte)] {
                    within = true;
                } else if within && (byte == b' ' || byte == b':') {
                    within = false;
                } else {
                    return false;
                }
            }
            within
        }
        Some(first) if first.is_ascii_digit() => is_quantity(text),
        _ => false,
    }
}

/// Returns true for a quantity such as 100m or 1.5Gi. It begins with digits, but no reader reads it as a number.
fn is_quantity(text: &[u8]) -> bool {
    let number = match text {
        [number @ .., b'K' | b'M' | b'G' | b'T' | b'P' | b'E', b'i'] => number,
        [number @ .., b'm' | b'k' | b'M' | b'G' | b'T' | b'P'] => number,
        _ => return false,
    };
    let mut parts = number.split(|&byte| byte == b'.');
    let is_number = |part: &[u8]| !part.is_empty() && part.iter().all(u8::is_ascii_digit);
    parts.by_ref().take(2).all(is_number) && parts.next().is_none()
}

/// Returns true if some reader reads `text` as a boolean, null or a float.
fn is_word(text: &str) -> bool {
    const WORDS: [&str; 12] = ["y", "n", "yes", "no", "on", "off", "true", "false", "null", "nan", "inf", "infinity"];
    if text.len() > 8 {
        return false;
    }
    let Some(word) = WORDS.iter().find(|word| word.eq_ignore_ascii_case(text)) else {
        return false;
    };
    let rest = &text[1..];
    rest == &word[1..] || text.bytes().all(|byte| byte.is_ascii_uppercase()) || text == "NaN"
}

fn double_quoted(out: &mut Text, text: &str) {
    out.push('"');
    for char in text.chars() {
        match char {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\t' => out.push_str("\\t"),
            '\r' => out.push_str("\\r"),
            char if is_odd(char) => {
                let _ = write!(out, "\\u{:04x}", u32::from(char));
            }
            char => out.push(char),
        }
    }
    out.push('"');
}

/// Returns true for control characters except LF, breaks that only some readers know, and code points that are not
/// characters.
fn is_odd(char: char) -> bool {
    (char.is_control() && char != '\n')
        || matches!(char, '\u{2028}' | '\u{2029}' | '\u{feff}' | '\u{fffe}' | '\u{ffff}')
}
