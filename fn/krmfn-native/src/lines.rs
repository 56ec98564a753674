//! A reader of usual lines, which need no parser: `docs/decisions/0014-usual-lines.md`.
//!
//! Usual lines have mappings and lists in block style, block scalars, comments, and a marker before the document. Their
//! scalars and brackets end on the line on which they start. At any other text, and at any possible error, this reader
//! gives up, and the parser reads the whole text. Every node of this reader's tape equals the parser's.

use std::collections::TryReserveError;

use crate::events::{Kind, Style};
use crate::memory::OutOfMemory;
use crate::source::Source;
use crate::tape::{Entry, MAX_DEPTH, Reach, Span, Tape};

/// The largest number of bytes from the start of a key to its colon.
const LONGEST_KEY: usize = 1024;

/// Marks of the bytes at which a plain scalar may end, in block style and within brackets.
const IN_BLOCK: u8 = 1;
const IN_FLOW: u8 = 2;
const ENDS: [u8; 256] = ends();

const fn ends() -> [u8; 256] {
    const BLOCK: &[u8] = b" \t\n:#";
    const FLOW: &[u8] = b",[]{}";
    let mut ends = [0; 256];
    let mut at = 0;
    while at < BLOCK.len() {
        ends[BLOCK[at] as usize] = IN_BLOCK | IN_FLOW;
        at += 1;
    }
    let mut at = 0;
    while at < FLOW.len() {
        ends[FLOW[at] as usize] = IN_FLOW;
        at += 1;
    }
    ends
}

/// The reason why a text was not read to its end.
enum Stop {
    Unusual,
    OutOfMemory,
}

impl From<OutOfMemory> for Stop {
    fn from(_: OutOfMemory) -> Stop {
        Stop::OutOfMemory
    }
}

impl From<TryReserveError> for Stop {
    fn from(_: TryReserveError) -> Stop {
        Stop::OutOfMemory
    }
}

type Step<T = ()> = Result<T, Stop>;

#[derive(Clone, Copy, PartialEq, Eq)]
enum Level {
    Mapping,
    Sequence,
    /// A list with its dashes in the column of the key that holds it.
    Indentless,
    FlowMapping,
    FlowSequence,
}

/// A mapping or list that is being read.
#[derive(Clone, Copy)]
struct Open {
    node: usize,
    level: Level,
    /// The column of its keys or dashes, or 0 within brackets.
    column: usize,
}

/// A scalar that is not yet on the tape. Its text already is.
struct Scalar {
    style: Style,
    start: usize,
    end: usize,
    value: Span,
}

struct Reader<'a> {
    source: &'a Source<'a>,
    bytes: &'a [u8],
    at: usize,
    tape: Tape,
    reach: Reach,
    most: usize,
    open: Vec<Open>,
    /// The byte after a colon or dash, until its value is read.
    awaits: Option<usize>,
}

/// Returns the nodes of `source`, or None if it is not usual, or has more than `most` nodes.
pub fn read(source: &Source, most: usize) -> Result<Option<Tape>, OutOfMemory> {
    if !is_clean(source.text) {
        return Ok(None);
    }
    let mut reader = Reader {
        source,
        bytes: source.text.as_bytes(),
        at: 0,
        tape: Tape::empty(),
        reach: Reach::default(),
        most,
        open: Vec::new(),
        awaits: None,
    };
    match reader.document() {
        Ok(()) => Ok(Some(reader.tape)),
        Err(Stop::Unusual) => Ok(None),
        Err(Stop::OutOfMemory) => Err(OutOfMemory),
    }
}

/// Returns true if all characters are printable, LF ends every line, and the text has no byte order mark.
fn is_clean(text: &str) -> bool {
    let is_odd = |byte: u8| (byte < b' ') & (byte != b'\n') & (byte != b'\t') | (byte == 0x7f);
    if text.bytes().fold(false, |odd, byte| odd | is_odd(byte)) {
        return false;
    }
    text.is_ascii() || !has_odd_character(text.as_bytes())
}

/// Returns true if the bytes of a text have one of U+0080 to U+009F, U+2028, U+2029, U+FEFF, U+FFFE and U+FFFF.
fn has_odd_character(bytes: &[u8]) -> bool {
    const CHUNK: usize = 32;
    let is_odd = |at: usize| {
        matches!(
            bytes[at..],
            [0xc2, 0x80..=0x9f, ..]
                | [0xe2, 0x80, 0xa8 | 0xa9, ..]
                | [0xef, 0xbb, 0xbf, ..]
                | [0xef, 0xbf, 0xbe | 0xbf, ..]
        )
    };
    let chunks = bytes.chunks(CHUNK).enumerate().filter(|(_, chunk)| !chunk.is_ascii());
    chunks
        .map(|(number, chunk)| (number * CHUNK, chunk.len()))
        .any(|(start, length)| (start..start + length).any(is_odd))
}

impl Reader<'_> {
    fn byte(&self, at: usize) -> Option<u8> {
        self.bytes.get(at).copied()
    }

    /// Returns true if the line or a word ends at `at`. A tab is not usual.
    fn is_blank(&self, at: usize) -> Step<bool> {
        match self.byte(at) {
            Some(b'\t') => Err(Stop::Unusual),
            byte => Ok(matches!(byte, None | Some(b' ' | b'\n'))),
        }
    }

    fn document(&mut self) -> Step {
        let mut is_marked = false;
        while let Some((at, column)) = self.next_content() {
            if column == 0 && self.is_marker(at, b"---")? {
                if !self.tape.nodes.is_empty() {
                    self.finish(at)?;
                    self.tape.second = Some(self.source.character(at));
                    return Ok(());
                }
                if is_marked {
                    return Err(Stop::Unusual);
                }
                is_marked = true;
                self.at = at + 3;
                self.end_line()?;
            } else if column == 0 && (self.byte(at) == Some(b'%') || self.is_marker(at, b"...")?) {
                return Err(Stop::Unusual);
            } else {
                self.line(at, column)?;
            }
        }
        if is_marked && self.tape.nodes.is_empty() {
            return Err(Stop::Unusual);
        }
        self.finish(self.bytes.len())
    }

    fn is_marker(&self, at: usize, marker: &[u8; 3]) -> Step<bool> {
        Ok(self.bytes[at..].starts_with(marker) && self.is_blank(at + 3)?)
    }

    /// Returns the next byte that is neither blank nor in a comment, and its column. The reader must be at the start of
    /// a line.
    fn next_content(&mut self) -> Option<(usize, usize)> {
        loop {
            let start = self.at;
            self.skip_spaces();
            match self.byte(self.at)? {
                b'\n' => self.at += 1,
                b'#' => self.skip_comment(),
                _ => return Some((self.at, self.at - start)),
            }
        }
    }

    fn skip_spaces(&mut self) {
        while self.byte(self.at) == Some(b' ') {
            self.at += 1;
        }
    }

    fn skip_comment(&mut self) {
        self.at = self.line_end(self.at);
        self.at = self.bytes.len().min(self.at + 1);
    }

    fn line_end(&self, from: usize) -> usize {
        self.bytes[from..].iter().position(|&byte| byte == b'\n').map_or(self.bytes.len(), |length| from + length)
    }

    /// Goes to the next line. The rest of this line must be blank or a comment.
    fn end_line(&mut self) -> Step {
        self.skip_spaces();
        match self.byte(self.at) {
            None => {}
            Some(b'\n') => self.at += 1,
            Some(b'#') if self.bytes[self.at - 1] == b' ' => self.skip_comment(),
            _ => return Err(Stop::Unusual),
        }
        Ok(())
    }

    /// Returns true if a dash at `at` starts an entry of a list.
    fn is_dash(&self, at: usize) -> Step<bool> {
        Ok(self.byte(at) == Some(b'-') && self.is_blank(at + 1)?)
    }

    /// Reads the line with the first byte `at`. It closes the mappings and lists to which it does not belong.
    fn line(&mut self, at: usize, column: usize) -> Step {
        let is_dash = self.is_dash(at)?;
        match (self.awaits.take(), self.open.last()) {
            (None, None) if self.tape.nodes.is_empty() => return self.start(at, column, is_dash),
            (Some(_), Some(top)) if column > top.column => return self.start(at, column, is_dash),
            (Some(_), Some(top)) if column == top.column && top.level == Level::Mapping && is_dash => {
                self.enter(Level::Indentless, at, column)?;
                return self.items(at, column);
            }
            (Some(mark), Some(_)) => self.add_empty(mark)?,
            (None, Some(top)) if column <= top.column => {}
            _ => return Err(Stop::Unusual),
        }
        while let Some(top) = self.open.last().copied() {
            match top.level {
                _ if top.column > column => self.close(at, None),
                _ if top.column < column => return Err(Stop::Unusual),
                Level::Mapping if !is_dash => return self.field(at),
                Level::Sequence | Level::Indentless if is_dash => return self.items(at, column),
                Level::Indentless => self.close(at, None),
                _ => return Err(Stop::Unusual),
            }
        }
        Err(Stop::Unusual)
    }

    /// Opens the mapping or list that starts with the line at `at`.
    fn start(&mut self, at: usize, column: usize, is_dash: bool) -> Step {
        if is_dash {
            self.enter(Level::Sequence, at, column)?;
            return self.items(at, column);
        }
        self.enter(Level::Mapping, at, column)?;
        self.field(at)
    }

    /// Reads from the dash at `dash` to the end of its line.
    fn items(&mut self, mut dash: usize, mut column: usize) -> Step {
        loop {
            self.at = dash + 1;
            self.skip_spaces();
            let at = self.at;
            if self.awaits_next_line(dash + 1)? {
                return Ok(());
            }
            column += at - dash;
            if !self.is_dash(at)? {
                return self.item(at, column);
            }
            self.enter(Level::Sequence, at, column)?;
            dash = at;
        }
    }

    /// Returns true if the line has no value after the indicator that ends at `mark`. The value may be on the next
    /// line.
    fn awaits_next_line(&mut self, mark: usize) -> Step<bool> {
        let is_over = match self.byte(self.at) {
            None | Some(b'\n') => true,
            Some(b'#') => self.at > mark,
            _ => false,
        };
        if is_over {
            self.end_line()?;
            self.awaits = Some(mark);
        }
        Ok(is_over)
    }

    /// Reads the content after a dash: a value, or the first field of a mapping.
    fn item(&mut self, at: usize, column: usize) -> Step {
        if self.is_not_scalar(at)? {
            return Ok(());
        }
        let scalar = self.scalar(at, IN_BLOCK)?;
        if self.byte(self.at) == Some(b':') {
            self.enter(Level::Mapping, at, column)?;
            return self.field_after(scalar);
        }
        self.add(scalar)?;
        self.end_line()
    }

    fn field(&mut self, at: usize) -> Step {
        let key = self.scalar(at, IN_BLOCK)?;
        self.field_after(key)
    }

    /// Reads the colon and the value after a key.
    fn field_after(&mut self, key: Scalar) -> Step {
        let mark = self.colon_after(&key)?;
        self.add(key)?;
        self.skip_spaces();
        let at = self.at;
        if self.awaits_next_line(mark)? || self.is_not_scalar(at)? {
            return Ok(());
        }
        if self.is_dash(at)? {
            return Err(Stop::Unusual);
        }
        let value = self.scalar(at, IN_BLOCK)?;
        self.add(value)?;
        self.end_line()
    }

    /// Goes to the place after the colon of a key, and returns it.
    fn colon_after(&mut self, key: &Scalar) -> Step<usize> {
        let colon = self.at;
        if self.byte(colon) != Some(b':') || !self.is_blank(colon + 1)? || colon - key.start > LONGEST_KEY {
            return Err(Stop::Unusual);
        }
        self.at = colon + 1;
        Ok(self.at)
    }

    /// Reads the value at `at` to the end of its lines and returns true, if it is in brackets or a block scalar.
    fn is_not_scalar(&mut self, at: usize) -> Step<bool> {
        match self.byte(at) {
            Some(b'[' | b'{') => {
                self.flow(at)?;
                self.end_line()?;
            }
            Some(b'|') => self.block_scalar(at, Style::Literal)?,
            Some(b'>') => self.block_scalar(at, Style::Folded)?,
            _ => return Ok(false),
        }
        Ok(true)
    }

    /// Reads the scalar at `at`, and goes to the text after it.
    fn scalar(&mut self, at: usize, place: u8) -> Step<Scalar> {
        let scalar = match self.byte(at) {
            Some(b'\'') => self.single_quoted(at)?,
            Some(b'"') => self.double_quoted(at)?,
            None
            | Some(
                b'\n' | b'\t' | b' ' | b'?' | b':' | b',' | b'[' | b']' | b'{' | b'}' | b'#' | b'&' | b'*' | b'!'
                | b'|' | b'>' | b'%' | b'@' | b'`',
            ) => return Err(Stop::Unusual),
            Some(b'-')
                if place == IN_FLOW && matches!(self.byte(at + 1), None | Some(b' ' | b'\n' | b',' | b']' | b'}')) =>
            {
                return Err(Stop::Unusual);
            }
            Some(_) => return self.plain(at, place),
        };
        self.skip_spaces();
        Ok(scalar)
    }

    /// Reads a plain scalar to a colon, a comment or the end of the line. Within brackets, it also ends at a comma or
    /// bracket.
    fn plain(&mut self, start: usize, place: u8) -> Step<Scalar> {
        let (mut at, mut end) = (start, start);
        while let Some(byte) = self.byte(at) {
            if ENDS[byte as usize] & place != 0 {
                match (byte, self.byte(at + 1)) {
                    (b' ', _) => {
                        at += 1;
                        continue;
                    }
                    (b'\t', _) | (b':', Some(b'\t')) => return Err(Stop::Unusual),
                    (b':', Some(b',' | b'?' | b'[' | b']' | b'{' | b'}')) if place == IN_FLOW => {
                        return Err(Stop::Unusual);
                    }
                    (b':', None | Some(b' ' | b'\n')) => break,
                    (b':', _) => {}
                    (b'#', _) if end == at => {}
                    _ => break,
                }
            }
            at += 1;
            end = at;
        }
        self.at = at;
        let value = self.tape.add_value(&self.source.text[start..end])?;
        Ok(Scalar { style: Style::Plain, start, end, value })
    }

    fn single_quoted(&mut self, start: usize) -> Step<Scalar> {
        let text = self.source.text;
        let (mut at, mut from) = (start + 1, start + 1);
        let mut value = self.tape.add_value("")?;
        loop {
            match self.byte(at) {
                None | Some(b'\n') => return Err(Stop::Unusual),
                Some(b'\'') => {
                    let is_escape = self.byte(at + 1) == Some(b'\'');
                    value.end = self.tape.add_value(&text[from..at + usize::from(is_escape)])?.end;
                    if !is_escape {
                        break;
                    }
                    at += 2;
                    from = at;
                }
                Some(_) => at += 1,
            }
        }
        self.at = at + 1;
        Ok(Scalar { style: Style::SingleQuoted, start, end: self.at, value })
    }

    fn double_quoted(&mut self, start: usize) -> Step<Scalar> {
        let text = self.source.text;
        let (mut at, mut from) = (start + 1, start + 1);
        let mut value = self.tape.add_value("")?;
        loop {
            match self.byte(at) {
                None | Some(b'\n') => return Err(Stop::Unusual),
                Some(b'"') => break,
                Some(b'\\') => {
                    self.tape.add_value(&text[from..at])?;
                    let meant = match self.byte(at + 1) {
                        Some(b'n') => "\n",
                        Some(b't') => "\t",
                        Some(b'r') => "\r",
                        Some(b'"') => "\"",
                        Some(b'\\') => "\\",
                        Some(b'/') => "/",
                        _ => return Err(Stop::Unusual),
                    };
                    self.tape.add_value(meant)?;
                    at += 2;
                    from = at;
                }
                Some(_) => at += 1,
            }
        }
        value.end = self.tape.add_value(&text[from..at])?.end;
        self.at = at + 1;
        Ok(Scalar { style: Style::DoubleQuoted, start, end: self.at, value })
    }

    /// Reads the content of the brackets that open at `at`, all on one line, and goes to the place after them.
    fn flow(&mut self, at: usize) -> Step {
        let around = self.open.len();
        self.at = at;
        loop {
            let at = self.at;
            let level = match self.byte(at) {
                Some(b'{') => Some(Level::FlowMapping),
                Some(b'[') => Some(Level::FlowSequence),
                _ => None,
            };
            let mut is_over = true;
            if let Some(level) = level {
                self.enter(level, at, 0)?;
                self.at += 1;
                self.skip_spaces();
                is_over = self.byte(self.at) == Some(closing(level));
            } else {
                let scalar = self.scalar(at, IN_FLOW)?;
                self.add(scalar)?;
            }
            while is_over && self.open.len() > around {
                self.skip_spaces();
                let level = self.open[self.open.len() - 1].level;
                match self.byte(self.at) {
                    Some(b',') => is_over = false,
                    Some(byte) if byte == closing(level) => self.close(self.at, Some(self.at + 1)),
                    _ => return Err(Stop::Unusual),
                }
                self.at += 1;
            }
            let Some(within) = self.open[around..].last() else {
                return Ok(());
            };
            let level = within.level;
            self.skip_spaces();
            if level == Level::FlowMapping {
                let key = self.scalar(self.at, IN_FLOW)?;
                self.colon_after(&key)?;
                self.add(key)?;
                self.skip_spaces();
            }
        }
    }

    /// Reads the block scalar with its mark at `start`, and goes to the line after it.
    fn block_scalar(&mut self, start: usize, style: Style) -> Step {
        self.at = start + 1;
        let chomping = self.byte(self.at).filter(|byte| matches!(byte, b'-' | b'+'));
        self.at += usize::from(chomping.is_some());
        self.end_line()?;
        let indent = self.block_indent()?;
        let text = self.source.text;
        let mut value = self.tape.add_value("")?;
        // True after a line with a break; the number of blank lines since then; true if that line started with white
        // space.
        let (mut is_after_line, mut breaks, mut was_blank) = (false, 0, false);
        loop {
            let line = self.at;
            let from = self.bytes[line..].iter().take(indent).take_while(|&&byte| byte == b' ').count() + line;
            match self.byte(from) {
                Some(b'\n') => {
                    breaks += 1;
                    self.at = from + 1;
                    continue;
                }
                Some(b'\t') if from < line + indent => return Err(Stop::Unusual),
                Some(_) if from == line + indent => {}
                _ => break,
            }
            let is_blank = matches!(self.byte(from), Some(b' ' | b'\t'));
            if is_after_line {
                let is_folded = style == Style::Folded && !was_blank && !is_blank;
                match (is_folded, breaks) {
                    (false, _) => self.tape.add_value("\n")?,
                    (true, 0) => self.tape.add_value(" ")?,
                    (true, _) => Span::default(),
                };
            }
            self.add_breaks(breaks)?;
            let end = self.line_end(from);
            self.tape.add_value(&text[from..end])?;
            (is_after_line, breaks, was_blank) = (end < text.len(), 0, is_blank);
            self.at = text.len().min(end + 1);
        }
        if is_after_line && chomping != Some(b'-') {
            self.tape.add_value("\n")?;
        }
        if chomping == Some(b'+') {
            self.add_breaks(breaks)?;
        }
        value.end = self.tape.add_value("")?.end;
        let own = self.source.usual_block_scalar_end(start, self.at);
        self.push(Entry { own, ..Entry::scalar(style, start, self.at, value) })
    }

    /// Returns the column of a block scalar's first line. The reader is at the start of its lines.
    fn block_indent(&self) -> Step<usize> {
        let within = self.open.last().map_or(0, |open| open.column);
        let (mut line, mut widest) = (self.at, 0);
        loop {
            let width = self.bytes[line..].iter().take_while(|&&byte| byte == b' ').count();
            match self.byte(line + width) {
                Some(b'\n') => {
                    widest = widest.max(width);
                    line += width + 1;
                }
                Some(byte) if byte != b'\t' && width > within && width >= widest => return Ok(width),
                _ => return Err(Stop::Unusual),
            }
        }
    }

    fn add_breaks(&mut self, count: usize) -> Step {
        for _ in 0..count {
            self.tape.add_value("\n")?;
        }
        Ok(())
    }

    /// Adds a mapping or list that starts at `at` to the tape.
    fn enter(&mut self, level: Level, at: usize, column: usize) -> Step {
        if self.open.len() >= MAX_DEPTH {
            return Err(Stop::Unusual);
        }
        let (kind, style) = match level {
            Level::Mapping => (Kind::Mapping, Style::Block),
            Level::Sequence | Level::Indentless => (Kind::Sequence, Style::Block),
            Level::FlowMapping => (Kind::Mapping, Style::Flow),
            Level::FlowSequence => (Kind::Sequence, Style::Flow),
        };
        let node = self.tape.nodes.len();
        self.push(Entry { kind, ..Entry::scalar(style, at, at, Span::default()) })?;
        self.open.try_reserve(1)?;
        self.open.push(Open { node, level, column });
        Ok(())
    }

    /// Closes the innermost mapping or list. Its closing bracket, or the text after it, starts at `at`.
    fn close(&mut self, at: usize, bracket_end: Option<usize>) {
        if let Some(open) = self.open.pop() {
            self.tape.close(self.source, open.node, at, bracket_end, &mut self.reach);
        }
    }

    /// Closes all open mappings and lists before `at`.
    fn finish(&mut self, at: usize) -> Step {
        if let Some(mark) = self.awaits.take() {
            self.add_empty(mark)?;
        }
        while !self.open.is_empty() {
            self.close(at, None);
        }
        Ok(())
    }

    fn add(&mut self, scalar: Scalar) -> Step {
        self.push(Entry::scalar(scalar.style, scalar.start, scalar.end, scalar.value))
    }

    /// Adds the empty scalar after the colon or dash that ends at `mark`.
    fn add_empty(&mut self, mark: usize) -> Step {
        self.push(Entry::scalar(Style::Plain, mark, mark, Span::default()))
    }

    fn push(&mut self, entry: Entry) -> Step {
        if self.tape.nodes.len() >= self.most {
            return Err(Stop::Unusual);
        }
        Ok(self.tape.push(self.source, entry, &mut self.reach)?)
    }
}

fn closing(level: Level) -> u8 {
    if level == Level::FlowMapping { b'}' } else { b']' }
}
