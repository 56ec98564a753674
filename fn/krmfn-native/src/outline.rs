//! Facts about a document that are known without its value.

use crate::events::{Kind, Style};
use crate::memory::OutOfMemory;
use crate::tape::{Node, Tape};
use crate::value::is_plain_string;

/// A mapping or list that the walk has entered.
struct Open {
    /// The number of the node after it and its content.
    end: usize,
    is_mapping: bool,
    /// The number of keys that the mappings around it have before its own keys.
    before: usize,
    awaits_key: bool,
}

/// Marks each of `words` that is the text of a scalar.
///
/// Returns false if only the value shows that the document is valid: if it cannot be parsed, or is not a mapping or a
/// list. Also returns false for an anchor, a tag, a question mark within brackets, a key that is not a string, and a
/// duplicate key.
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

/// Closes the mappings and lists that end before the node at `place`. Returns false if a mapping has a duplicate key.
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

/// Returns true if every reader reads a key without a tag as the string that it shows.
fn is_string_key(node: &Node, text: &str) -> bool {
    let is_plain = node.style == Style::Plain;
    node.kind == Kind::Scalar && !(is_plain && (text == "<<" || text.contains('?') || !is_plain_string(text)))
}
