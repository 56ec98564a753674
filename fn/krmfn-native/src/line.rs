//! The lines that most manifests are made of: the grammar of `krmfn.yamltext.plainlines`.
//!
//! A line is taken only where the Python module takes it; of what this module refuses, Python is asked.

/// A part of a text, as offsets of bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Span {
    pub start: usize,
    pub end: usize,
}

impl Span {
    pub fn of<'a>(&self, text: &'a str) -> &'a str {
        &text[self.start..self.end]
    }
}

/// What stands on a line after its key or dash.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Value {
    /// Nothing, or a comment.
    Absent,
    /// Words without quotes; a constant such as `true` is one too.
    Plain(Span),
    /// What stands within quotes.
    Quoted(Span),
    /// An integer of at most 15 digits.
    Integer(Span),
    /// A decimal number with a point.
    Float(Span),
    /// `[a, b]`, with its brackets.
    List(Span),
    /// `{a: b}`, with its braces.
    Mapping(Span),
}

impl Value {
    /// Whether it is a list or mapping that is not empty.
    pub fn has_parts(&self) -> bool {
        matches!(self, Value::List(span) | Value::Mapping(span) if span.end > span.start + 2)
    }

    /// Where the value starts, its quote included.
    pub fn start(&self) -> Option<usize> {
        match self {
            Value::Absent => None,
            Value::Quoted(span) => Some(span.start - 1),
            Value::Plain(span)
            | Value::Integer(span)
            | Value::Float(span)
            | Value::List(span)
            | Value::Mapping(span) => Some(span.start),
        }
    }
}

/// A key without its quotes; `start` is that of the quote, where it has some, and `colon` the offset of its colon.
#[derive(Clone, Copy, Debug)]
pub struct Key {
    pub name: Span,
    pub start: usize,
    pub colon: usize,
}

/// A line with a key, a dash, or both.
#[derive(Clone, Copy, Debug)]
pub struct Entry {
    /// The column of the first dash or of the key, from 0.
    pub column: usize,
    pub dashes: usize,
    pub key: Option<Key>,
    pub value: Value,
    /// The offset after its line break.
    pub end: usize,
}

pub enum Line {
    Entry(Entry),
    /// A comment or nothing; with the offset after its line break.
    Nothing(usize),
}

const DEEPEST: usize = 90;
const LONGEST_KEY: usize = 250;
const MOST_DIGITS: usize = 15;
const DEEPEST_FLOW: usize = 8;

const WORD: u8 = 1;
const KEY: u8 = 2;
const CLASSES: [u8; 256] = classes();

const fn classes() -> [u8; 256] {
    let mut table = [0; 256];
    let mut byte = 0;
    while byte < 256 {
        let char = byte as u8;
        if char.is_ascii_alphanumeric() || matches!(char, b'_' | b'.' | b'/' | b'-') {
            table[byte] = WORD | KEY;
        } else if matches!(char, b'@' | b'+' | b'(' | b')' | b'=' | b'~' | b'$' | b':') {
            table[byte] = WORD;
        }
        byte += 1;
    }
    table
}

/// The line that starts at offset `at`; None where it is no usual one, or lacks its line break.
pub fn line(text: &[u8], at: usize) -> Option<Line> {
    let start = skip_spaces(text, at);
    let column = start - at;
    match *text.get(start)? {
        b'\n' if column == 0 => return Some(Line::Nothing(start + 1)),
        b'#' if column <= DEEPEST => return Some(Line::Nothing(comment(text, start)?)),
        _ if column > DEEPEST => return None,
        _ => (),
    }
    let mut dashes = 0;
    while dashes < 2 && text[start + 2 * dashes..].starts_with(b"- ") {
        dashes += 1;
    }
    let content = start + 2 * dashes;
    let key = key(text, content);
    let (value, end) = match key {
        Some(key) => {
            let first = skip_spaces(text, key.colon + 1);
            match *text.get(first)? {
                b'\n' | b'#' => (Value::Absent, key.colon + 1),
                _ => value(text, first)?,
            }
        }
        None if dashes > 0 => value(text, content)?,
        None => return None,
    };
    let end = rest(text, end)?;
    Some(Line::Entry(Entry { column, dashes, key, value, end }))
}

/// The items of a list in brackets, which `line` has taken: each value, in order.
pub fn items(text: &[u8], list: Span) -> impl Iterator<Item = Value> + '_ {
    let within = &text[..list.end - 1];
    let mut at = list.start + 1;
    std::iter::from_fn(move || {
        let (value, end) = part(within, at, DEEPEST_FLOW)?;
        at = end + 2;
        Some(value)
    })
}

/// The fields of a mapping in braces, which `line` has taken: each key with its value, in order.
pub fn fields(text: &[u8], mapping: Span) -> impl Iterator<Item = (Key, Value)> + '_ {
    let within = &text[..mapping.end - 1];
    let mut at = mapping.start + 1;
    std::iter::from_fn(move || {
        let (key, value, end) = field(within, at, DEEPEST_FLOW)?;
        at = end + 2;
        Some((key, value))
    })
}

fn skip_spaces(text: &[u8], mut at: usize) -> usize {
    const SPACES: u64 = u64::from_le_bytes([b' '; 8]);
    while let Some(eight) = text.get(at..).and_then(<[u8]>::first_chunk) {
        let others = u64::from_le_bytes(*eight) ^ SPACES;
        if others != 0 {
            return at + others.trailing_zeros() as usize / 8;
        }
        at += 8;
    }
    while text.get(at) == Some(&b' ') {
        at += 1;
    }
    at
}

/// The offset after the line break, where nothing, or a comment after a space, stands before it.
fn rest(text: &[u8], at: usize) -> Option<usize> {
    if *text.get(at)? == b'\n' {
        return Some(at + 1);
    }
    let mark = skip_spaces(text, at);
    (mark > at && *text.get(mark)? == b'#').then(|| comment(text, mark))?
}

/// The offset after the line break that ends the comment at `mark`.
fn comment(text: &[u8], mark: usize) -> Option<usize> {
    let end = mark + text[mark..].iter().position(|&byte| byte < b' ' || byte == 0x7f)?;
    (text[end] == b'\n').then_some(end + 1)
}

fn key(text: &[u8], start: usize) -> Option<Key> {
    let first = *text.get(start)?;
    let (name, colon) = if first == b'"' || first == b'\'' {
        let name = quoted(text, start)?;
        (name, name.end + 1)
    } else if first.is_ascii_alphabetic() {
        let end = scan(text, start + 1, KEY);
        (Span { start, end }, end)
    } else {
        return None;
    };
    let is_key = text.get(colon) == Some(&b':')
        && matches!(text.get(colon + 1), Some(b' ' | b'\n'))
        && name.end - name.start <= LONGEST_KEY
        && (name.start > start || !is_constant(&text[name.start..name.end]));
    is_key.then_some(Key { name, start, colon })
}

/// Whether a plain key may be no string to some reader.
fn is_constant(name: &[u8]) -> bool {
    matches!(name.first(), Some(b't' | b'T' | b'f' | b'F' | b'n' | b'N'))
        && matches!(&name[1..], b"rue" | b"RUE" | b"alse" | b"ALSE" | b"ull" | b"ULL")
}

/// The value that starts at `start`, and the offset after it.
fn value(text: &[u8], start: usize) -> Option<(Value, usize)> {
    match *text.get(start)? {
        b'A'..=b'Z' | b'a'..=b'z' | b'/' => words(text, start),
        b'[' | b'{' => part(text, start, DEEPEST_FLOW),
        _ => simple(text, start),
    }
}

/// Quoted text or a number.
fn simple(text: &[u8], start: usize) -> Option<(Value, usize)> {
    match *text.get(start)? {
        b'"' | b'\'' => {
            let span = quoted(text, start)?;
            Some((Value::Quoted(span), span.end + 1))
        }
        b'-' | b'0'..=b'9' => number(text, start),
        _ => None,
    }
}

/// An item or value within a flow collection, which holds `depth` levels more at most, and the offset after it.
fn part(text: &[u8], start: usize, depth: usize) -> Option<(Value, usize)> {
    match *text.get(start)? {
        b'A'..=b'Z' | b'a'..=b'z' => {
            let end = scan(text, start + 1, KEY);
            Some((Value::Plain(Span { start, end }), end))
        }
        b'[' if depth > 0 => {
            let end = parts(text, start + 1, b']', |at| Some(part(text, at, depth - 1)?.1))?;
            Some((Value::List(Span { start, end }), end))
        }
        b'{' if depth > 0 => {
            let end = parts(text, start + 1, b'}', |at| Some(field(text, at, depth - 1)?.2))?;
            Some((Value::Mapping(Span { start, end }), end))
        }
        _ => simple(text, start),
    }
}

fn field(text: &[u8], start: usize, depth: usize) -> Option<(Key, Value, usize)> {
    let key = key(text, start).filter(|key| text[key.colon + 1] == b' ')?;
    let (value, end) = part(text, key.colon + 2, depth)?;
    Some((key, value, end))
}

/// The offset after the mark that closes what opened before `at`; `skip` gives the offset after a part.
fn parts(text: &[u8], mut at: usize, close: u8, skip: impl Fn(usize) -> Option<usize>) -> Option<usize> {
    if *text.get(at)? != close {
        loop {
            at = skip(at)?;
            if text.get(at..at + 2) != Some(b", ") {
                break;
            }
            at += 2;
        }
    }
    (*text.get(at)? == close).then_some(at + 1)
}

fn words(text: &[u8], start: usize) -> Option<(Value, usize)> {
    let mut end = start;
    loop {
        end = scan(text, end + 1, WORD);
        if text[end - 1] == b':' {
            return None;
        }
        match text.get(end..end + 2) {
            Some([b' ', next]) if next.is_ascii_alphabetic() || *next == b'(' => end += 1,
            _ => return Some((Value::Plain(Span { start, end }), end)),
        }
    }
}

/// What stands within the quotes that open at `start`.
fn quoted(text: &[u8], start: usize) -> Option<Span> {
    let quote = text[start];
    let within = start + 1;
    let is_end = |&byte: &u8| byte == quote || byte < b' ' || byte == 0x7f || (byte == b'\\' && quote == b'"');
    let end = within + text[within..].iter().position(is_end)?;
    (text[end] == quote).then_some(Span { start: within, end })
}

/// A decimal number, or a quantity, which is a text: 100m, 64Gi.
fn number(text: &[u8], start: usize) -> Option<(Value, usize)> {
    let first = if text[start] == b'-' { start + 1 } else { start };
    let mut end = digits(text, first);
    if end == first || end - first > MOST_DIGITS || (text[first] == b'0' && end > first + 1) {
        return None;
    }
    let mut value: fn(Span) -> Value = Value::Integer;
    if text.get(end) == Some(&b'.') {
        let point = end + 1;
        end = digits(text, point);
        if end == point || end - point > MOST_DIGITS {
            return None;
        }
        value = Value::Float;
    }
    let suffix = match (text.get(end), text.get(end + 1)) {
        (Some(b'm' | b'h' | b's' | b'k'), _) => 1,
        (Some(b'K' | b'M' | b'G' | b'T' | b'P'), Some(b'i')) => 2,
        _ => 0,
    };
    end += suffix;
    if suffix > 0 {
        value = Value::Plain;
    }
    Some((value(Span { start, end }), end))
}

fn digits(text: &[u8], at: usize) -> usize {
    at + text[at..].iter().take_while(|byte| byte.is_ascii_digit()).count()
}

fn scan(text: &[u8], mut at: usize, class: u8) -> usize {
    while at < text.len() && CLASSES[usize::from(text[at])] & class != 0 {
        at += 1;
    }
    at
}
