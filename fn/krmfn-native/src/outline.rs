//! What can be told of a document without its value.

use crate::events::{Kind, Style};
use crate::memory::OutOfMemory;
use crate::tape::{Node, Tape};
use crate::value::is_plain_string;

/// A mapping or list that is being walked through.
struct Open {
    /// The node behind it.
    end: usize,
    is_mapping: bool,
    /// How many keys of those around it stand before its own.
    before: usize,
    awaits_key: bool,
}

/// Notes which of `words` are the text of a scalar.
///
/// False where only the value shows whether the document can be read: it is not a mapping or a list, it cannot be parsed,
/// or it has an anchor, a tag, a question mark within brackets, a key that is no string, or one twice.
pub fn words(tape: &Tape, words: &mut [(&str, bool)]) -> Result<bool, OutOfMemory> {
    let is_collection = tape.nodes.first().is_some_and(|node| matches!(node.kind, Kind::Mapping | Kind::Sequence));
    if !is_collection || tape.error.is_some() || tape.second.is_some() {
        return Ok(false);
    }
    let mut open: Vec<Open> = Vec::new();
    let mut keys: Vec<&str> = Vec::new();
    for (place, node) in tape.nodes.iter().enumerate() {
        if !close_before(place, &mut open, &mut keys) || tape.anchor(node).is_some() || tape.tag(node).is_some() {
            return Ok(false);
        }
        let is_scalar = node.kind == Kind::Scalar;
        let text = if is_scalar { tape.value(node) } else { "" };
        if let Some(within) = open.last_mut() {
            if within.is_mapping && within.awaits_key {
                if !is_string_key(node, text) {
                    return Ok(false);
                }
                keys.try_reserve(1)?;
                keys.push(text);
            } else if node.style == Style::Plain && text.contains('?') {
                return Ok(false);
            }
            within.awaits_key = !within.awaits_key;
        }
        if is_scalar {
            for (word, is_found) in words.iter_mut() {
                *is_found = *is_found || *word == text;
            }
        } else {
            open.try_reserve(1)?;
            open.push(Open {
                end: tape.next(place),
                is_mapping: node.kind == Kind::Mapping,
                before: keys.len(),
                awaits_key: true,
            });
        }
    }
    Ok(close_before(tape.nodes.len(), &mut open, &mut keys))
}

/// Closes what ends before the node at `place`; false where a mapping has a key twice.
fn close_before(place: usize, open: &mut Vec<Open>, keys: &mut Vec<&str>) -> bool {
    while let Some(last) = open.pop_if(|last| last.end <= place) {
        if last.is_mapping {
            let own = &mut keys[last.before..];
            own.sort_unstable();
            if own.windows(2).any(|pair| pair[0] == pair[1]) {
                return false;
            }
        }
        keys.truncate(last.before);
    }
    true
}

/// Whether a key without a tag is the string that it shows, to every reader.
fn is_string_key(node: &Node, text: &str) -> bool {
    let is_plain = node.style == Style::Plain;
    node.kind == Kind::Scalar && !(is_plain && (text == "<<" || text.contains('?') || !is_plain_string(text)))
}
