//! A text that is being written. It records a lack of memory, which would otherwise end the process.

use std::fmt;

use pyo3::prelude::*;
use pyo3::types::PyString;

use crate::memory::OutOfMemory;

/// A text to which parts are added. If the system has no memory for a part, the text lacks it, and Python never gets
/// the text.
#[derive(Default)]
pub struct Text {
    text: String,
    lacks: bool,
}

impl Text {
    pub fn push_str(&mut self, more: &str) {
        self.lacks |= self.text.try_reserve(more.len()).is_err();
        if !self.lacks {
            self.text.push_str(more);
        }
    }

    pub fn push(&mut self, char: char) {
        self.push_str(char.encode_utf8(&mut [0; 4]));
    }

    pub fn push_spaces(&mut self, count: usize) {
        const SPACES: &str = "                                                                ";
        let mut left = count;
        while left > 0 {
            let some = left.min(SPACES.len());
            self.push_str(&SPACES[..some]);
            left -= some;
        }
    }

    /// Returns the text as a string of Python. Raises MemoryError if a part is missing.
    pub fn into_python(self, py: Python<'_>) -> PyResult<Bound<'_, PyString>> {
        if self.lacks {
            return Err(OutOfMemory.into());
        }
        PyString::from_bytes(py, self.text.as_bytes())
    }
}

impl fmt::Write for Text {
    fn write_str(&mut self, more: &str) -> fmt::Result {
        self.push_str(more);
        Ok(())
    }
}
