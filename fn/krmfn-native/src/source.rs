//! A text with the offsets of its characters as in Python, and with the line breaks of YAML 1.1.

use std::cell::Cell;

use crate::memory::OutOfMemory;

const MARK: char = '\u{feff}';

/// A text to read, without its byte order mark. Offsets of bytes refer to this text. Offsets of characters refer to the
/// whole text, which may begin with the mark.
pub struct Source<'a> {
    pub text: &'a str,
    skipped: usize,
    is_ascii: bool,
    /// The last requested byte, and the number of characters before it. The next request is usually about a byte close
    /// to it.
    last: Cell<(usize, usize)>,
}

impl<'a> Source<'a> {
    pub fn of(text: &'a str) -> Source<'a> {
        let without_mark = text.strip_prefix(MARK).unwrap_or(text);
        let skipped = usize::from(without_mark.len() < text.len());
        Source { text: without_mark, skipped, is_ascii: text.is_ascii(), last: Cell::default() }
    }

    /// Returns the offset of the character that starts at `byte`.
    pub fn character(&self, byte: usize) -> usize {
        if self.is_ascii {
            return byte;
        }
        let (bytes, byte) = (self.text.as_bytes(), byte.min(self.text.len()));
        let (last, before) = self.last.get();
        let characters =
            if byte < last { before - count(&bytes[byte..last]) } else { before + count(&bytes[last..byte]) };
        self.last.set((byte, characters));
        self.skipped + characters
    }

    /// Returns the text from the byte `start`.
    fn from(&self, start: usize) -> &'a str {
        self.text.get(start..).unwrap_or_default()
    }

    /// Returns the end of a block scalar without the break after its last line. Blank lines at the end are included
    /// only if they are part of the value.
    pub fn block_scalar_end(&self, start: usize, end: usize) -> Result<usize, OutOfMemory> {
        let text = self.text.get(start..end).unwrap_or_default();
        if !has_odd_breaks(text) {
            return Ok(start + kept_lines(text).len());
        }
        let characters = kept_lines(&unified(text)?).chars().count();
        Ok(start + text.char_indices().nth(characters).map_or(text.len(), |(byte, _)| byte))
    }

    /// Returns the same end as `block_scalar_end` for a text in which LF ends every line.
    pub fn usual_block_scalar_end(&self, start: usize, end: usize) -> usize {
        start + kept_lines(&self.text[start..end]).len()
    }

    /// Returns the end of an empty scalar: the place after its colon or dash. The parser may report the place of the
    /// next token.
    pub fn empty_end(&self, mark: usize, before: usize) -> usize {
        let bytes = self.text.as_bytes();
        if mark > 0 && matches!(bytes.get(mark - 1), Some(b':' | b'-')) {
            return mark;
        }
        let colon = self.after_gap(before);
        if colon < mark && bytes.get(colon) == Some(&b':') { colon + 1 } else { before }
    }

    /// Returns true if a tag is at `start`, or after an anchor there, and a comma directly follows the tag.
    pub fn has_tag_and_comma(&self, start: usize) -> bool {
        let is_name = |char: char| !char.is_whitespace() && !matches!(char, ',' | '[' | ']' | '{' | '}');
        let mut rest = self.from(start);
        if let Some(anchor) = rest.strip_prefix('&') {
            let after = anchor.trim_start_matches(is_name);
            rest = after.trim_start();
            if rest.len() == after.len() {
                return false;
            }
        }
        let tag = rest.strip_prefix('!').filter(|tag| !tag.starts_with('<'));
        tag.is_some_and(|tag| tag.trim_start_matches(is_name).starts_with(','))
    }

    /// Returns the first byte from `at` that is neither white space nor in a comment.
    fn after_gap(&self, at: usize) -> usize {
        let mut in_comment = false;
        let mut rest = self.from(at).char_indices().peekable();
        while let Some((byte, char)) = rest.next() {
            let char = with_usual_break(char, rest.peek().map(|&(_, next)| next));
            in_comment = if in_comment { char != '\n' } else { char == '#' };
            if !in_comment && !matches!(char, ' ' | '\t' | '\r' | '\n' | MARK) {
                return at + byte;
            }
        }
        self.text.len()
    }
}

/// Returns a block scalar without the text after the last line that is part of its value.
fn kept_lines(text: &str) -> &str {
    let (header, body) = text.split_once('\n').map_or((text, None), |(header, body)| (header, Some(body)));
    let mark = if header.contains('|') { '|' } else { '>' };
    let said = header.split('#').next().unwrap_or_default();
    let keeps = said.rsplit_once(mark).map_or(said, |(_, rest)| rest).contains('+');
    let mut kept = text;
    if let Some(body) = body {
        let first = body.split('\n').find(|line| !line.trim_matches([' ', '\r']).is_empty()).unwrap_or_default();
        let indent = first.len() - first.trim_start_matches(' ').len();
        let mut is_last = true;
        while let Some((before, line)) = kept.rsplit_once('\n') {
            // The text after the last break is not a line.
            let is_none = is_last && line.trim_matches(' ').is_empty();
            let is_blank = line.trim_matches([' ', '\r']).is_empty();
            if !is_none && (keeps || !is_blank || line.trim_end_matches('\r').len() > indent) {
                break;
            }
            kept = before;
            is_last = false;
        }
    }
    kept.strip_suffix('\r').unwrap_or(kept)
}

/// Returns the number of characters that start in `bytes`.
fn count(bytes: &[u8]) -> usize {
    bytes.iter().filter(|&&byte| byte & 0xc0 != 0x80).count()
}

/// Returns true if a line ends with another character than LF or CR LF.
fn has_odd_breaks(text: &str) -> bool {
    let bytes = text.as_bytes();
    let has_lone_return =
        || bytes.iter().enumerate().any(|(at, &byte)| byte == b'\r' && bytes.get(at + 1) != Some(&b'\n'));
    (bytes.contains(&b'\r') && has_lone_return())
        || (!text.is_ascii() && text.contains(['\u{85}', '\u{2028}', '\u{2029}']))
}

/// Returns `text` with LF for each unusual break. The number of characters is the same.
fn unified(text: &str) -> Result<String, OutOfMemory> {
    let mut lined = String::new();
    lined.try_reserve_exact(text.len())?;
    let mut chars = text.chars().peekable();
    while let Some(char) = chars.next() {
        lined.push(with_usual_break(char, chars.peek().copied()));
    }
    Ok(lined)
}

/// Returns `char`, or LF if `char` is an unusual break before `next`.
fn with_usual_break(char: char, next: Option<char>) -> char {
    match char {
        '\r' if next != Some('\n') => '\n',
        '\u{85}' | '\u{2028}' | '\u{2029}' => '\n',
        char => char,
    }
}
