//! A text whose characters are counted as Python counts them, with LF for the odd breaks of YAML 1.1.

use std::borrow::Cow;

const MARK: char = '\u{feff}';
/// Bytes, or characters, between two whose place is known in the other unit.
const STRIDE: usize = 64;

/// A text to read. All places are numbers of characters, from 0; a byte order mark is one.
pub struct Source<'a> {
    text: &'a str,
    /// The text with LF for each odd break: as many characters.
    lined: Cow<'a, str>,
    is_ascii: bool,
    /// The byte of each `STRIDE`th character of `lined`; none where it is ASCII.
    bytes: Vec<usize>,
    /// How many characters start before each `STRIDE`th byte of the text without its mark; none where it is ASCII.
    characters: Vec<usize>,
}

impl<'a> Source<'a> {
    /// The text; None without memory.
    pub fn of(text: &'a str) -> Option<Source<'a>> {
        let is_ascii = text.is_ascii();
        let lined = if has_odd_breaks(text) { Cow::Owned(unified(text)?) } else { Cow::Borrowed(text) };
        let (mut bytes, mut characters) = (Vec::new(), Vec::new());
        if !is_ascii {
            bytes.try_reserve_exact(lined.len() / STRIDE + 1).ok()?;
            bytes.extend(lined.char_indices().step_by(STRIDE).map(|(byte, _)| byte));
            characters.try_reserve_exact(text.len() / STRIDE + 1).ok()?;
            let mut before = 0;
            for chunk in text.strip_prefix(MARK).unwrap_or(text).as_bytes().chunks(STRIDE) {
                characters.push(before);
                before += count(chunk);
            }
        }
        Some(Source { text, lined, is_ascii, bytes, characters })
    }

    /// The character that starts at `byte` of the text without its byte order mark.
    pub fn character(&self, byte: usize) -> usize {
        let skipped = usize::from(self.text.starts_with(MARK));
        if self.is_ascii {
            return byte;
        }
        let text = self.without_mark().as_bytes();
        let byte = byte.min(text.len());
        let stride = byte / STRIDE;
        let before = self.characters.get(stride).copied().unwrap_or_else(|| count(text));
        skipped + before + count(&text[(stride * STRIDE).min(byte)..byte])
    }

    /// The text without its byte order mark.
    pub fn without_mark(&self) -> &'a str {
        self.text.strip_prefix(MARK).unwrap_or(self.text)
    }

    /// The characters [start, end), with LF for odd breaks.
    fn slice(&self, start: usize, end: usize) -> &str {
        &self.lined[self.byte(start)..self.byte(end)]
    }

    fn byte(&self, character: usize) -> usize {
        if self.is_ascii {
            return character.min(self.lined.len());
        }
        let Some(&byte) = self.bytes.get(character / STRIDE) else {
            return self.lined.len();
        };
        let mut rest = self.lined[byte..].char_indices();
        rest.nth(character % STRIDE).map_or(self.lined.len(), |(more, _)| byte + more)
    }

    /// The end of a block scalar, without the break after its last line; blank lines after it only where they count.
    pub fn block_scalar_end(&self, start: usize, end: usize) -> usize {
        let text = self.slice(start, end);
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
        start + kept.strip_suffix('\r').unwrap_or(kept).chars().count()
    }

    /// The end of an empty scalar: after the indicator that announces it; the parser may put it at the next token.
    pub fn empty_end(&self, mark: usize, before: usize) -> usize {
        if mark > 0 && matches!(self.slice(mark - 1, mark), ":" | "-") {
            return mark;
        }
        let colon = self.after_gap(before);
        if colon < mark && self.slice(colon, colon + 1) == ":" { colon + 1 } else { before }
    }

    /// Whether a tag stands at `start`, after an anchor or not, and a comma right behind it.
    pub fn has_tag_and_comma(&self, start: usize) -> bool {
        let is_name = |char: char| !char.is_whitespace() && !matches!(char, ',' | '[' | ']' | '{' | '}');
        let mut rest = &self.lined[self.byte(start)..];
        if let Some(anchor) = rest.strip_prefix('&') {
            let after = anchor.trim_start_matches(is_name);
            rest = after.trim_start();
            if rest.len() == after.len() {
                return false;
            }
        }
        rest.strip_prefix('!').is_some_and(|tag| tag.trim_start_matches(is_name).starts_with(','))
    }

    /// The first character from `at` on that is neither white space nor in a comment.
    fn after_gap(&self, at: usize) -> usize {
        let rest = &self.lined[self.byte(at)..];
        let mut in_comment = false;
        let gap = rest.chars().take_while(|&char| {
            in_comment = if in_comment { char != '\n' } else { char == '#' };
            in_comment || matches!(char, ' ' | '\t' | '\r' | '\n' | MARK)
        });
        at + gap.count()
    }
}

/// How many characters start in `bytes`.
fn count(bytes: &[u8]) -> usize {
    bytes.iter().filter(|&&byte| byte & 0xc0 != 0x80).count()
}

fn has_odd_breaks(text: &str) -> bool {
    let bytes = text.as_bytes();
    let has_lone_return =
        || bytes.iter().enumerate().any(|(at, &byte)| byte == b'\r' && bytes.get(at + 1) != Some(&b'\n'));
    (bytes.contains(&b'\r') && has_lone_return())
        || (!text.is_ascii() && text.contains(['\u{85}', '\u{2028}', '\u{2029}']))
}

/// `text` with LF for each odd break; None without memory.
fn unified(text: &str) -> Option<String> {
    let mut lined = String::new();
    lined.try_reserve_exact(text.len()).ok()?;
    let mut chars = text.chars().peekable();
    while let Some(char) = chars.next() {
        let is_odd = match char {
            '\r' => chars.peek() != Some(&'\n'),
            '\u{85}' | '\u{2028}' | '\u{2029}' => true,
            _ => false,
        };
        lined.push(if is_odd { '\n' } else { char });
    }
    Some(lined)
}
