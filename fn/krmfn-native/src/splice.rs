//! A string set in a text by its lines: `krmfn.yamltext.lines`.

use crate::line::{self, Entry, Line, Value};
use crate::places::Step;
use crate::read::constant;
use crate::spell;
use crate::text::Text;

const LONGEST_KEY: usize = 900;
/// Deeper texts are left to Python.
const DEEPEST: usize = 100;

/// Where a path leads: how many of its keys are there, and the line of the last one.
///
/// Where not all are there, the last line of the mapping that lacks the next one. `column` is that of the mapping's keys.
struct Place {
    keys: usize,
    column: usize,
    entry: Entry,
}

/// `text` with `value` at the keys `steps` of its mapping, which a dash may begin; None where Python must set it.
pub fn set(text: &str, steps: &[Step], in_entry: bool, value: &str) -> Option<Text> {
    let mut names = Vec::new();
    names.try_reserve_exact(steps.len()).ok()?;
    for step in steps {
        match step {
            Step::Key(name) if name.len() <= LONGEST_KEY => names.push(name.as_str()),
            _ => return None,
        }
    }
    if names.is_empty() || value.contains('\n') {
        return None;
    }
    let place = find(text.as_bytes(), &names, in_entry)?;
    if place.keys == names.len() {
        return replaced(text, &place.entry, value);
    }
    let end = place.entry.end - 1;
    let mut out = Text::default();
    out.push_str(&text[..end]);
    for (depth, name) in names[place.keys..].iter().enumerate() {
        out.push('\n');
        out.push_spaces(place.column + 2 * depth);
        spell::scalar(&mut out, name);
        out.push(':');
    }
    out.push(' ');
    spell::scalar(&mut out, value);
    out.push_str(&text[end..]);
    Some(out)
}

/// Where `names` lead; None where a line is no usual field of a mapping, as far as the line after the place.
fn find(text: &[u8], names: &[&str], in_entry: bool) -> Option<Place> {
    let mut columns: Vec<usize> = Vec::new();
    columns.try_reserve_exact(DEEPEST).ok()?;
    let mut place: Option<Place> = None;
    let mut matched = 0;
    let (mut opened, mut complete, mut first) = (true, false, true);
    let mut at = 0;
    while at < text.len() {
        let entry = match line::line(text, at)? {
            Line::Nothing(end) => {
                at = end;
                continue;
            }
            Line::Entry(entry) => entry,
        };
        at = entry.end;
        let dashes = usize::from(first && in_entry);
        first = false;
        let key = entry.key.filter(|_| entry.dashes == dashes)?;
        let column = entry.column + 2 * dashes;
        let top = columns.last();
        if top.is_none_or(|top| column > *top) {
            // Only a key with nothing on its line can hold what stands deeper.
            if complete || !opened || columns.len() == DEEPEST {
                return None;
            }
            columns.push(column);
        } else {
            while columns.last().is_some_and(|last| *last > column) {
                columns.pop();
            }
            if columns.last() != Some(&column) {
                return None;
            }
        }
        if complete || columns.len() <= matched {
            break;
        }
        opened = entry.value == Value::Absent;
        if columns.len() == matched + 1 {
            let is_next = &text[key.name.start..key.name.end] == names[matched].as_bytes();
            matched += usize::from(is_next);
            complete = matched == names.len();
            if is_next && !(complete || opened) {
                return None;
            }
            place = (!is_next || complete).then_some(Place { keys: matched, column, entry });
        } else if let Some(place) = &mut place {
            // Within the mapping, behind the keys that are there.
            place.entry = entry;
        }
    }
    place
}

/// `text` with `value` for what the line of `entry` holds.
fn replaced(text: &str, entry: &Entry, value: &str) -> Option<Text> {
    let colon = entry.key?.colon + 1;
    let (start, end, space) = match entry.value {
        Value::Absent => (colon, colon, " "),
        Value::Plain(span) if constant(span.of(text)).is_none() && span.of(text) == value => {
            return Some(Text::of(text));
        }
        Value::Plain(span) | Value::Integer(span) | Value::Float(span) => (span.start, span.end, ""),
        Value::Quoted(span) if span.of(text) == value => return Some(Text::of(text)),
        // It looks like an anchor that another place may need.
        Value::Quoted(span) if span.of(text).contains('&') => return None,
        Value::Quoted(span) => (span.start - 1, span.end + 1, ""),
        Value::List(_) | Value::Mapping(_) => return None,
    };
    let mut out = Text::default();
    out.push_str(&text[..start]);
    out.push_str(space);
    spell::scalar(&mut out, value);
    out.push_str(&text[end..]);
    Some(out)
}
