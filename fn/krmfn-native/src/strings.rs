//! A cache of Python's strings for short texts. It lasts from one read to the next, because manifests repeat their keys
//! and words.

use std::sync::{Mutex, MutexGuard};

use pyo3::prelude::*;
use pyo3::types::PyString;

const SLOTS: usize = 4096;
const LONGEST: usize = 64;

type Slot = Option<Py<PyString>>;

static KEPT: Mutex<Vec<Slot>> = Mutex::new(Vec::new());

/// The cached strings, or None if another read uses them. A finalizer of Python can begin a read within another one.
pub struct Strings(Option<MutexGuard<'static, Vec<Slot>>>);

impl Strings {
    pub fn kept() -> Strings {
        let mut kept = KEPT.try_lock().ok();
        if let Some(slots) = kept.as_mut().filter(|slots| slots.is_empty()) {
            // If there is no memory for the cache, it stays empty.
            let count = slots.try_reserve_exact(SLOTS).map_or(0, |()| SLOTS);
            slots.resize_with(count, || None);
        }
        Strings(kept)
    }

    /// Returns the string of `text`, from the cache if possible. Raises MemoryError.
    pub fn get<'py>(&mut self, py: Python<'py>, text: &str) -> PyResult<Bound<'py, PyString>> {
        let slots = self.0.as_mut().filter(|_| text.len() <= LONGEST);
        let Some(slot) = slots.and_then(|slots| slots.get_mut(place(text.as_bytes()))) else {
            return PyString::from_bytes(py, text.as_bytes());
        };
        if let Some(known) = slot.as_ref().map(|known| known.bind(py)).filter(|known| **known == *text) {
            return Ok(known.clone());
        }
        let string = PyString::from_bytes(py, text.as_bytes())?;
        *slot = Some(string.clone().unbind());
        Ok(string)
    }
}

/// Returns the slot of a text, by its length and its ends. Two texts with the same slot only displace each other.
fn place(text: &[u8]) -> usize {
    const ODD: u64 = 0x9e37_79b9_7f4a_7c15;
    let ends = match (text.first_chunk(), text.last_chunk()) {
        (Some(first), Some(last)) => u64::from_le_bytes(*first) ^ u64::from_le_bytes(*last).rotate_left(23),
        _ => text.iter().fold(0, |word, &byte| (word << 8) | u64::from(byte)),
    };
    ((ends ^ text.len() as u64).wrapping_mul(ODD) >> 52) as usize
}
