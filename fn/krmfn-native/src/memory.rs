//! The lack of memory, which is an answer and not the end of the process.

use std::collections::TryReserveError;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

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

/// What may be taken before the system is asked again: the last question was about more than that.
static GRANTED: AtomicUsize = AtomicUsize::new(0);

/// Whether `bytes` more can be had: asked before what does not answer where it gets none. The port of libyaml ends the
/// process, and so does Rust; PyO3 panics where it makes a tuple or a string.
///
/// A question costs two calls of the system, and a file may have a million small documents: so one question is about
/// 32 MiB, and some of these answer the next ones. The rest is for what Python takes between two of them.
pub fn ensure(bytes: usize) -> Result<(), OutOfMemory> {
    // More than malloc ever keeps for itself: it comes from the system and goes back, so that Python's allocator can have it.
    const LEAST: usize = (32 << 20) + 1;
    const GRANT: usize = 256 << 10;
    const CHARGE: usize = 4 << 10;
    let charge = bytes.max(CHARGE);
    let granted = GRANTED.swap(0, Relaxed);
    if charge <= granted {
        GRANTED.store(granted - charge, Relaxed);
        return Ok(());
    }
    probe(bytes.max(LEAST))?;
    GRANTED.store(if charge < GRANT { GRANT } else { 0 }, Relaxed);
    Ok(())
}

/// Whether the system has so many bytes. Nothing touches them: a page that malloc writes its own figures to is a fault, and
/// a large list asks some ten thousand times.
#[cfg(all(target_os = "linux", target_pointer_width = "64"))]
fn probe(bytes: usize) -> Result<(), OutOfMemory> {
    use std::ffi::{c_int, c_void};
    use std::ptr::null_mut;

    const READ_AND_WRITE: c_int = 1 | 2;
    const PRIVATE_AND_ANONYMOUS: c_int = 0x02 | 0x20;
    unsafe extern "C" {
        fn mmap(at: *mut c_void, bytes: usize, access: c_int, flags: c_int, file: c_int, offset: i64) -> *mut c_void;
        fn munmap(at: *mut c_void, bytes: usize) -> c_int;
    }
    // SAFETY: a new mapping of the kernel's choice, which nothing points into, and which goes at once.
    unsafe {
        let mapping = mmap(null_mut(), bytes, READ_AND_WRITE, PRIVATE_AND_ANONYMOUS, -1, 0);
        if mapping.addr() == usize::MAX {
            return Err(OutOfMemory);
        }
        munmap(mapping, bytes);
    }
    Ok(())
}

#[cfg(not(all(target_os = "linux", target_pointer_width = "64")))]
fn probe(bytes: usize) -> Result<(), OutOfMemory> {
    let mut probe: Vec<u8> = Vec::new();
    Ok(probe.try_reserve_exact(bytes)?)
}
