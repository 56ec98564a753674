//! All nodes of a document in the order of the text, each with its span. Values and places are made from them.

use std::mem::{replace, take};
use std::sync::Mutex;

use crate::events::{Error, Event, Kind, Parser, Place, Style};
use crate::lines;
use crate::memory::{OutOfMemory, ensure};
use crate::source::Source;

/// The largest depth of mappings and lists in a document.
pub const MAX_DEPTH: usize = 500;

const PARSER_BUFFERS: usize = 1 << 18;

/// The value of `Node::next` if the text ends within the node.
const OPEN: u32 = u32::MAX;

/// A range of the characters of the text, or of the bytes of `Tape::values`.
#[derive(Clone, Copy, Debug, Default)]
pub struct Span {
    pub start: u32,
    pub end: u32,
}

/// One node. Offsets count characters from 0, including a byte order mark.
#[derive(Clone, Copy, Debug)]
pub struct Node {
    pub kind: Kind,
    pub style: Style,
    /// The marks of the parser. The start is the place of the anchor, the tag or the node itself. The end is the end of
    /// a scalar or alias, or the start of the closing token of a mapping or list.
    pub mark: Span,
    /// The offset after the last character that belongs to the node.
    pub end: u32,
    /// The number of the node after this one and its content, or `OPEN` if the text ends within this one.
    next: u32,
    /// The range of a scalar's text in `Tape::values`.
    value: Span,
    /// The numbers of its anchor and tag in `Tape::names`, from 1, or 0 for none.
    anchor: u32,
    tag: u32,
    /// True if the node is only a tag, and a comma directly follows it.
    pub is_tag_and_comma: bool,
}

/// The end of the nodes that were read: the byte and the character after the last one that belongs to them.
#[derive(Clone, Copy, Default)]
pub struct Reach {
    byte: usize,
    character: usize,
}

impl Reach {
    fn to(source: &Source, byte: usize) -> Reach {
        Reach { byte, character: source.character(byte) }
    }
}

/// A node as a reader finds it, with offsets of bytes.
pub struct Entry {
    pub kind: Kind,
    pub style: Style,
    pub start: usize,
    pub end: usize,
    /// The offset after the last byte that belongs to the node.
    pub own: usize,
    pub value: Span,
    pub anchor: u32,
    pub tag: u32,
    pub is_tag_and_comma: bool,
}

impl Entry {
    /// Returns a scalar without an anchor or tag. All its bytes belong to it.
    pub fn scalar(style: Style, start: usize, end: usize, value: Span) -> Entry {
        Entry { kind: Kind::Scalar, style, start, end, own: end, value, anchor: 0, tag: 0, is_tag_and_comma: false }
    }
}

/// The first document of a text.
#[derive(Default)]
pub struct Tape {
    pub nodes: Vec<Node>,
    values: String,
    names: Vec<String>,
    /// The error after the last node, if there is one.
    pub error: Option<Error>,
    /// The start of a second document, if there is one.
    pub second: Option<usize>,
}

impl Tape {
    /// Returns the nodes of `source`. More than `most` nodes are an error with the message `too_many`.
    pub fn of(source: &Source, most: usize, too_many: &str) -> Result<Tape, OutOfMemory> {
        let mut tape = match lines::read(source, most)? {
            Some(tape) => tape,
            None => Tape::parsed(source, most, too_many)?,
        };
        tape.settle();
        Ok(tape)
    }

    /// Returns a tape without nodes. It uses the buffers of an earlier tape if some are kept.
    pub fn empty() -> Tape {
        let spare = SPARE.try_lock().ok().map(|mut spare| take(&mut *spare));
        let Buffers { nodes, values } = spare.unwrap_or_default();
        Tape { nodes, values, names: Vec::new(), error: None, second: None }
    }

    /// Moves a small tape, or one that fills less than half of its buffers, to buffers of its own size.
    fn settle(&mut self) {
        const SMALL: usize = 64 << 10;
        let used = size_of_val(self.nodes.as_slice()) + self.values.len();
        if used > SMALL && used * 2 > bytes(&self.nodes, &self.values) {
            return;
        }
        let mut own = Buffers::default();
        let has_room = own.nodes.try_reserve_exact(self.nodes.len()).is_ok()
            && own.values.try_reserve_exact(self.values.len()).is_ok();
        if has_room {
            own.nodes.extend_from_slice(&self.nodes);
            own.values.push_str(&self.values);
            keep(replace(&mut self.nodes, own.nodes), replace(&mut self.values, own.values));
        }
    }

    /// Returns the nodes of `source` as `of` does, from the parser's events.
    fn parsed(source: &Source, most: usize, too_many: &str) -> Result<Tape, OutOfMemory> {
        // The parser holds one scalar at a time in buffers that double in size, and some small buffers.
        ensure(PARSER_BUFFERS + 4 * source.text.len())?;
        let mut tape = Tape::empty();
        let Some(mut parser) = Parser::new(source.text) else {
            return Err(OutOfMemory);
        };
        if let Err(stop) = tape.fill(source, &mut parser, most, too_many) {
            match stop {
                Stop::Error(error) => tape.error = Some(error),
                Stop::OutOfMemory => return Err(OutOfMemory),
            }
        }
        Ok(tape)
    }

    /// Returns the nodes of the lines of `entry`, as if read alone: a list with this entry. In the whole text, the
    /// lines begin at `start` and the dash is at `dash`. The lines have `length` characters.
    pub fn part(&self, entry: usize, start: usize, dash: usize, length: usize) -> Result<Tape, OutOfMemory> {
        let moved = |at: u32| (at as usize).saturating_sub(start).min(length) as u32;
        let nodes = &self.nodes[entry..self.next(entry)];
        let mut part = Tape::default();
        part.nodes.try_reserve_exact(nodes.len() + 1)?;
        part.nodes.push(Node {
            kind: Kind::Sequence,
            style: Style::Block,
            mark: Span { start: moved(dash as u32), end: length as u32 },
            end: moved(self.nodes[entry].end),
            next: nodes.len() as u32 + 1,
            value: Span::default(),
            anchor: 0,
            tag: 0,
            is_tag_and_comma: false,
        });
        for node in nodes {
            let value = part.add_value(&self.values[node.value.start as usize..node.value.end as usize])?;
            let anchor = part.add_name(self.anchor(node))?;
            let tag = part.add_name(self.tag(node))?;
            part.nodes.push(Node {
                mark: Span { start: moved(node.mark.start), end: moved(node.mark.end) },
                end: moved(node.end),
                next: node.next - entry as u32 + 1,
                value,
                anchor,
                tag,
                ..*node
            });
        }
        Ok(part)
    }

    pub fn is_open(&self, node: usize) -> bool {
        self.nodes[node].next == OPEN
    }

    /// Returns the number of the node after `node` and its content.
    pub fn next(&self, node: usize) -> usize {
        match self.nodes[node].next {
            OPEN => self.nodes.len(),
            next => next as usize,
        }
    }

    /// Returns the text of a scalar, or the name of an alias.
    pub fn value(&self, node: &Node) -> &str {
        if node.kind == Kind::Alias {
            return self.anchor(node).unwrap_or_default();
        }
        &self.values[node.value.start as usize..node.value.end as usize]
    }

    pub fn anchor(&self, node: &Node) -> Option<&str> {
        self.name(node.anchor)
    }

    pub fn tag(&self, node: &Node) -> Option<&str> {
        self.name(node.tag)
    }

    /// Returns the largest number of bytes that Python's strings of a node use.
    pub fn size(&self, node: usize) -> usize {
        let node = &self.nodes[node];
        let names = [self.anchor(node), self.tag(node)].into_iter().flatten();
        4 * names.map(str::len).fold(self.value(node).len(), usize::saturating_add)
    }

    fn name(&self, number: u32) -> Option<&str> {
        let place = (number as usize).checked_sub(1)?;
        self.names.get(place).map(String::as_str)
    }

    fn fill(&mut self, source: &Source, parser: &mut Parser, most: usize, too_many: &str) -> Result<(), Stop> {
        let mut open: Vec<usize> = Vec::new();
        open.try_reserve_exact(MAX_DEPTH).map_err(OutOfMemory::from)?;
        let mut reach = Reach::default();
        let mut is_over = false;
        loop {
            let event = parser.next().map_err(Stop::Error)?;
            let kind = event.kind();
            match kind {
                Kind::StreamStart | Kind::DocumentEnd => continue,
                Kind::StreamEnd => return Ok(()),
                Kind::DocumentStart if is_over => {
                    self.second = Some(source.character(event.start()));
                    return Ok(());
                }
                Kind::DocumentStart => continue,
                Kind::End => {
                    if let Some(node) = open.pop() {
                        let bracket_end = (event.start() != event.end()).then(|| event.end());
                        self.close(source, node, event.start(), bracket_end, &mut reach);
                    }
                }
                _ => {
                    let node = self.nodes.len();
                    if node >= most {
                        return Err(at_start(&event, source, too_many.to_owned()));
                    }
                    let is_collection = matches!(kind, Kind::Mapping | Kind::Sequence);
                    if is_collection && open.len() >= MAX_DEPTH {
                        return Err(at_start(&event, source, format!("nested deeper than {MAX_DEPTH} levels")));
                    }
                    self.add(source, &event, &mut reach)?;
                    if is_collection {
                        open.push(node);
                    }
                }
            }
            is_over = open.is_empty();
        }
    }

    fn add(&mut self, source: &Source, event: &Event, reach: &mut Reach) -> Result<(), Stop> {
        let (kind, style) = (event.kind(), event.style());
        let value = self.add_value(event.value())?;
        let anchor = self.add_name(event.anchor())?;
        let tag = self.add_name(event.tag())?;
        let is_empty = kind == Kind::Scalar && style == Style::Plain && value.start == value.end;
        let own = match style {
            _ if matches!(kind, Kind::Mapping | Kind::Sequence) => event.start(),
            Style::Literal | Style::Folded => source.block_scalar_end(event.start(), event.end())?,
            _ if is_empty && event.start() == event.end() => source.empty_end(event.end(), reach.byte),
            _ => event.end(),
        };
        let is_tag_and_comma = is_empty && tag > 0 && source.has_tag_and_comma(event.start());
        let (start, end) = (event.start(), event.end());
        let entry = Entry { kind, style, start, end, own, value, anchor, tag, is_tag_and_comma };
        Ok(self.push(source, entry, reach)?)
    }

    /// Adds a node. A mapping or list stays open until `close`.
    pub fn push(&mut self, source: &Source, entry: Entry, reach: &mut Reach) -> Result<(), OutOfMemory> {
        let Entry { kind, style, start, end, own, value, anchor, tag, is_tag_and_comma } = entry;
        let mark = Span { start: source.character(start) as u32, end: source.character(end) as u32 };
        if own > reach.byte {
            *reach = Reach::to(source, own);
        }
        self.nodes.try_reserve(1)?;
        let is_collection = matches!(kind, Kind::Mapping | Kind::Sequence);
        let next = if is_collection { OPEN } else { self.nodes.len() as u32 + 1 };
        let end = reach.character as u32;
        self.nodes.push(Node { kind, style, mark, end, next, value, anchor, tag, is_tag_and_comma });
        Ok(())
    }

    /// Closes the mapping or list `node`. Its closing token starts at `at`. A single pair in a list, `[a: b]`, has no
    /// bracket of its own.
    pub fn close(&mut self, source: &Source, node: usize, at: usize, bracket_end: Option<usize>, reach: &mut Reach) {
        let next = self.nodes.len() as u32;
        let open = &mut self.nodes[node];
        if open.style == Style::Flow
            && let Some(bracket_end) = bracket_end
        {
            *reach = Reach::to(source, bracket_end);
        }
        open.mark.end = source.character(at) as u32;
        open.end = reach.character as u32;
        open.next = next;
    }

    /// Adds the text of a scalar, or a part of it, and returns its range.
    pub fn add_value(&mut self, value: &str) -> Result<Span, OutOfMemory> {
        let start = self.values.len() as u32;
        self.values.try_reserve(value.len())?;
        self.values.push_str(value);
        Ok(Span { start, end: self.values.len() as u32 })
    }

    fn add_name(&mut self, name: Option<&str>) -> Result<u32, OutOfMemory> {
        let Some(name) = name else {
            return Ok(0);
        };
        let mut copy = String::new();
        copy.try_reserve_exact(name.len())?;
        copy.push_str(name);
        self.names.try_reserve(1)?;
        self.names.push(copy);
        Ok(self.names.len() as u32)
    }
}

impl Drop for Tape {
    fn drop(&mut self) {
        keep(take(&mut self.nodes), take(&mut self.values));
    }
}

/// The buffers of a tape, which grow while it is read.
#[derive(Default)]
struct Buffers {
    nodes: Vec<Node>,
    values: String,
}

/// Buffers for the next tape. Without them, the allocator returns a large block to the system, which clears each page
/// of the next block.
static SPARE: Mutex<Buffers> = Mutex::new(Buffers { nodes: Vec::new(), values: String::new() });

/// Keeps these buffers for the next tape if they are larger than the ones that are kept, but not huge.
fn keep(mut nodes: Vec<Node>, mut values: String) {
    const HUGE: usize = 8 << 20;
    let size = bytes(&nodes, &values);
    if let Ok(mut spare) = SPARE.try_lock()
        && size <= HUGE
        && size > bytes(&spare.nodes, &spare.values)
    {
        nodes.clear();
        values.clear();
        *spare = Buffers { nodes, values };
    }
}

/// Returns the number of bytes of the buffers.
fn bytes(nodes: &Vec<Node>, values: &String) -> usize {
    nodes.capacity() * size_of::<Node>() + values.capacity()
}

enum Stop {
    Error(Error),
    OutOfMemory,
}

impl From<OutOfMemory> for Stop {
    fn from(_: OutOfMemory) -> Stop {
        Stop::OutOfMemory
    }
}

fn at_start(event: &Event, source: &Source, message: String) -> Stop {
    Stop::Error(Error { at: Place::Character(source.character(event.start())), message })
}
