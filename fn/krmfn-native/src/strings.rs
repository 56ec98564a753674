//! Python's strings of short texts, kept from one read to the next: manifests repeat their keys and words.

use std::sync::{Mutex, MutexGuard};

use pyo3::prelude::*;
use pyo3::types::PyString;

const SLOTS: usize = 4096;
const LONGEST: usize = 64;

type Slot = Option<(Box<str>, Py<PyString>)>;

static KEPT: Mutex<Vec<Slot>> = Mutex::new(Vec::new());

/// The strings that are kept; none where another read has them, which a finalizer may have begun within this one.
pub struct Strings(Option<MutexGuard<'static, Vec<Slot>>>);

impl Strings {
    pub fn kept() -> Strings {
        let mut kept = KEPT.try_lock().ok();
        if let Some(slots) = &mut kept
            && slots.is_empty()
        {
            slots.resize_with(SLOTS, || None);
        }
        Strings(kept)
    }

    /// The string of `text`, a new one where none is kept.
    pub fn get<'py>(&mut self, py: Python<'py>, text: &str) -> Bound<'py, PyString> {
        let Some(slots) = self.0.as_mut().filter(|_| text.len() <= LONGEST) else {
            return PyString::new(py, text);
        };
        let slot = &mut slots[place(text.as_bytes())];
        if let Some((known, string)) = slot
            && **known == *text
        {
            return string.bind(py).clone();
        }
        let string = PyString::new(py, text);
        *slot = Some((text.into(), string.clone().unbind()));
        string
    }
}

/// The slot of a text, by its length and its ends: texts that share one cost each other their place, and no more.
fn place(text: &[u8]) -> usize {
    const ODD: u64 = 0x9e37_79b9_7f4a_7c15;
    let ends = match (text.first_chunk(), text.last_chunk()) {
        (Some(first), Some(last)) => u64::from_le_bytes(*first) ^ u64::from_le_bytes(*last).rotate_left(23),
        _ => text.iter().fold(0, |word, &byte| word << 8 | u64::from(byte)),
    };
    ((ends ^ text.len() as u64).wrapping_mul(ODD) >> 52) as usize
}
