//! Where the nodes of a text stand: `krmfn.yamltext.places`, by the lines alone.

use crate::line::{self, Entry, Key, Line, Value};
use crate::structure::Structure;

/// `krmfn.yamltext.lineplaces._SOME`.
const SOME: usize = 16;

/// A step of a path: a key, or the place of an item.
pub enum Step {
    Key(String),
    Item(usize),
    /// A step that no node has: everything at the path is looked at.
    Nowhere,
}

/// Line and column, from 1 on, of the deepest part of `path` that exists; with `key`, of its key where all of it does.
///
/// None where Python must look: a line on the way is not usual, or is where it cannot be.
pub fn nearest(text: &str, path: &[Step], key: bool) -> Option<(usize, usize)> {
    let walk = Walk::along(text, path)?;
    let offset = match walk.key {
        Some(offset) if key && !path.is_empty() && walk.matched == path.len() => offset,
        _ => walk.start,
    };
    let line = line_start(text, offset);
    Some((line_number(text, offset), 1 + text[line..offset].chars().count()))
}

/// The lines of the first and the last key of the block mapping at `path`, from 1 on; None where Python must look.
///
/// `path` ends in `Nowhere`.
pub fn key_lines(text: &str, path: &[Step]) -> Option<(usize, usize)> {
    let fields = Walk::along(text, path)?.fields.filter(|fields| !fields.last_has_parts)?;
    Some((line_number(text, fields.first), line_number(text, fields.last)))
}

fn line_start(text: &str, offset: usize) -> usize {
    text[..offset].rfind('\n').map_or(0, |at| at + 1)
}

fn line_number(text: &str, offset: usize) -> usize {
    1 + text.as_bytes()[..offset].iter().filter(|&&byte| byte == b'\n').count()
}

/// An open mapping or list.
struct Open {
    /// How many steps of the path lead to it; None where it is not on the path.
    steps: Option<usize>,
    items: usize,
}

/// The offsets of the first and the last key of the mapping that `Nowhere` is looked for in.
struct Fields {
    first: usize,
    last: usize,
    last_has_parts: bool,
}

/// A walk over the lines of a text, as far as the deepest part of a path.
struct Walk<'a> {
    text: &'a str,
    path: &'a [Step],
    structure: Structure,
    open: Vec<Open>,
    /// How many steps of the path exist, and the offsets at which the value and the key of the last one start.
    matched: usize,
    start: usize,
    key: Option<usize>,
    /// The value of the last step is still to come.
    awaits: bool,
    is_settled: bool,
    fields: Option<Fields>,
}

impl<'a> Walk<'a> {
    fn along(text: &'a str, path: &'a [Step]) -> Option<Walk<'a>> {
        let mut walk = Walk {
            text,
            path,
            structure: Structure::default(),
            open: Vec::new(),
            matched: 0,
            start: 0,
            key: None,
            awaits: true,
            is_settled: false,
            fields: None,
        };
        let (mut at, mut lines) = (0, 0);
        // As many lines at a time as Python takes: what is wrong in them is no matter of where an answer stands.
        while at < text.len() && !(walk.is_settled && lines % SOME == 0) {
            lines += 1;
            at = match line::line(text.as_bytes(), at)? {
                Line::Nothing(end) => end,
                Line::Entry(entry) => walk.take(at, &entry)?,
            };
        }
        (!walk.open.is_empty()).then_some(walk)
    }

    /// The offset after the line that starts at `at`; None where it cannot be there.
    fn take(&mut self, at: usize, entry: &Entry) -> Option<usize> {
        let mut column = entry.column;
        for _ in 0..entry.dashes {
            self.enter(at, column, true)?;
            let list = self.open.last_mut()?;
            let item = list.items;
            list.items += 1;
            column += 2;
            self.step(at + column, None, |step| matches!(step, Step::Item(wanted) if *wanted == item));
            self.structure.await_value();
        }
        if let Some(key) = entry.key {
            self.enter(at, column, false)?;
            let name = key.name.of(self.text);
            self.step(key.colon + 1, Some(key.start), |step| matches!(step, Step::Key(wanted) if wanted == name));
            self.record(&key, entry.value);
            self.structure.await_value();
        }
        if let Some(start) = entry.value.start() {
            self.structure.has_value();
            self.end_at(start, entry.value);
        }
        Some(entry.end)
    }

    /// Goes to the mapping (or list) that a key (or dash) at `column` adds to; None where there can be none.
    fn enter(&mut self, at: usize, column: usize, is_list: bool) -> Option<()> {
        let container = self.structure.container(column, is_list)?;
        let kept = container.depth - usize::from(container.is_new);
        let closed = self.open.drain(kept..).any(|open| open.steps == Some(self.matched));
        if closed || (self.awaits && !container.is_new) {
            // What waited for a value until here has none.
            (self.is_settled, self.awaits) = (true, false);
        }
        if container.is_new {
            if let Some(fields) = self.parent_fields() {
                fields.last_has_parts = true;
            }
            let steps = self.awaits.then_some(self.matched);
            if self.awaits {
                self.start = at + column;
                self.awaits = false;
                self.is_settled |= self.matched == self.path.len();
            }
            self.open.try_reserve(1).ok()?;
            self.open.push(Open { steps, items: 0 });
        }
        Some(())
    }

    /// Takes the next step of the path, where the node that begins in the last open mapping or list is the next one.
    fn step(&mut self, start: usize, key: Option<usize>, is_next: impl Fn(&Step) -> bool) {
        let is_on_path = self.open.last().is_some_and(|open| open.steps == Some(self.matched));
        if !self.is_settled && is_on_path && self.path.get(self.matched).is_some_and(is_next) {
            self.matched += 1;
            (self.start, self.key, self.awaits) = (start, key, true);
        }
    }

    /// Ends the way at a value that is on its line, where the last step leads to it.
    fn end_at(&mut self, start: usize, value: Value) {
        if !self.awaits || self.is_settled {
            return;
        }
        (self.start, self.awaits, self.is_settled) = (start, false, true);
        let mut value = value;
        while let Some((key, part)) = self.path.get(self.matched).and_then(|step| self.part(value, step)) {
            let Some(start) = part.start() else { break };
            (self.start, self.key, value) = (start, key, part);
            self.matched += 1;
        }
    }

    /// The part of a flow collection that a step leads to, with the offset of its key.
    fn part(&self, value: Value, step: &Step) -> Option<(Option<usize>, Value)> {
        let text = self.text.as_bytes();
        match (value, step) {
            (Value::List(list), Step::Item(wanted)) => Some((None, line::items(text, list).nth(*wanted)?)),
            (Value::Mapping(mapping), Step::Key(wanted)) => line::fields(text, mapping)
                .find(|(key, _)| key.name.of(self.text) == wanted)
                .map(|(key, value)| (Some(key.start), value)),
            _ => None,
        }
    }

    /// Notes a key of the mapping that `Nowhere` is looked for in.
    fn record(&mut self, key: &Key, value: Value) {
        if self.is_settled
            || self.parent_steps().is_none_or(|steps| !matches!(self.path.get(steps), Some(Step::Nowhere)))
        {
            return;
        }
        let first = self.fields.as_ref().map_or(key.start, |fields| fields.first);
        self.fields = Some(Fields { first, last: key.start, last_has_parts: value.has_parts() });
    }

    fn parent_steps(&self) -> Option<usize> {
        self.open.last()?.steps
    }

    /// What is known of the fields, where the last open mapping is that of them.
    fn parent_fields(&mut self) -> Option<&mut Fields> {
        let steps = self.parent_steps()?;
        self.fields.as_mut().filter(|_| matches!(self.path.get(steps), Some(Step::Nowhere)))
    }
}
