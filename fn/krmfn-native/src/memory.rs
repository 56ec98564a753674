//! The lack of memory, which is an answer and not the end of the process.

use std::collections::TryReserveError;

use pyo3::exceptions::PyMemoryError;
use pyo3::prelude::*;

/// There is not enough memory.
pub struct OutOfMemory;

impl From<TryReserveError> for OutOfMemory {
    fn from(_: TryReserveError) -> OutOfMemory {
        OutOfMemory
    }
}

impl From<OutOfMemory> for PyErr {
    fn from(_: OutOfMemory) -> PyErr {
        PyMemoryError::new_err(())
    }
}

/// Whether `bytes` more can be had: asked before what does not answer where it gets none. The port of libyaml ends the
/// process, and so does Rust; PyO3 panics where it makes a tuple or a string.
pub fn ensure(bytes: usize) -> Result<(), OutOfMemory> {
    // More than malloc ever keeps for itself: it comes from the system and goes back, so that Python's allocator can have it.
    const LEAST: usize = (32 << 20) + 1;
    let mut probe: Vec<u8> = Vec::new();
    Ok(probe.try_reserve_exact(bytes.max(LEAST))?)
}
