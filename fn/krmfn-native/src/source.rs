//! A text whose characters are counted as Python counts them, and its lines as YAML 1.1 ends them.

use std::cell::Cell;

use crate::memory::OutOfMemory;

const MARK: char = '\u{feff}';

/// A text to read, without its byte order mark. Bytes are those of this text, from 0; characters are those of the whole, a
/// mark among them.
pub struct Source<'a> {
    pub text: &'a str,
    skipped: usize,
    is_ascii: bool,
    /// The byte that was asked for last, and the characters before it: most of those to come stand close behind.
    last: Cell<(usize, usize)>,
}

impl<'a> Source<'a> {
    pub fn of(text: &'a str) -> Source<'a> {
        let without_mark = text.strip_prefix(MARK).unwrap_or(text);
        let skipped = usize::from(without_mark.len() < text.len());
        Source { text: without_mark, skipped, is_ascii: text.is_ascii(), last: Cell::default() }
    }

    /// The character that starts at `byte`.
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

    /// The bytes from `start` on.
    fn from(&self, start: usize) -> &'a str {
        self.text.get(start..).unwrap_or_default()
    }

    /// The end of a block scalar, without the break after its last line; blank lines after it only where they count.
    pub fn block_scalar_end(&self, start: usize, end: usize) -> Result<usize, OutOfMemory> {
        let text = self.text.get(start..end).unwrap_or_default();
        if !has_odd_breaks(text) {
            return Ok(start + kept_lines(text).len());
        }
        let characters = kept_lines(&unified(text)?).chars().count();
        Ok(start + text.char_indices().nth(characters).map_or(text.len(), |(byte, _)| byte))
    }

    /// The same of a text in which LF ends every line.
    pub fn usual_block_scalar_end(&self, start: usize, end: usize) -> usize {
        start + kept_lines(&self.text[start..end]).len()
    }

    /// The end of an empty scalar: after the indicator that announces it; the parser may put it at the next token.
    pub fn empty_end(&self, mark: usize, before: usize) -> usize {
        let bytes = self.text.as_bytes();
        if mark > 0 && matches!(bytes.get(mark - 1), Some(b':' | b'-')) {
            return mark;
        }
        let colon = self.after_gap(before);
        if colon < mark && bytes.get(colon) == Some(&b':') { colon + 1 } else { before }
    }

    /// Whether a tag stands at `start`, after an anchor or not, and a comma right behind it.
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

    /// The first byte from `at` on that is neither white space nor in a comment.
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

/// A block scalar without what follows its last line that counts.
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
            // What follows the last break is no line.
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

/// How many characters start in `bytes`.
fn count(bytes: &[u8]) -> usize {
    bytes.iter().filter(|&&byte| byte & 0xc0 != 0x80).count()
}

/// Whether a line ends with something else than LF or CR LF.
fn has_odd_breaks(text: &str) -> bool {
    let bytes = text.as_bytes();
    let has_lone_return =
        || bytes.iter().enumerate().any(|(at, &byte)| byte == b'\r' && bytes.get(at + 1) != Some(&b'\n'));
    (bytes.contains(&b'\r') && has_lone_return())
        || (!text.is_ascii() && text.contains(['\u{85}', '\u{2028}', '\u{2029}']))
}

/// `text` with LF for each odd break: as many characters.
fn unified(text: &str) -> Result<String, OutOfMemory> {
    let mut lined = String::new();
    lined.try_reserve_exact(text.len())?;
    let mut chars = text.chars().peekable();
    while let Some(char) = chars.next() {
        lined.push(with_usual_break(char, chars.peek().copied()));
    }
    Ok(lined)
}

/// `char`, or LF where it is an odd break before `next`.
fn with_usual_break(char: char, next: Option<char>) -> char {
    match char {
        '\r' if next != Some('\n') => '\n',
        '\u{85}' | '\u{2028}' | '\u{2029}' => '\n',
        char => char,
    }
}
