//! Lack of memory as an error that functions return. Otherwise it would end the process.

use std::collections::TryReserveError;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use pyo3::exceptions::PyMemoryError;
use pyo3::prelude::*;

/// The error that there is not enough memory.
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

/// The number of bytes that are granted without a question to the system. The last question was about more bytes.
static GRANTED: AtomicUsize = AtomicUsize::new(0);

/// Returns an error if the system does not have `bytes` more bytes. It is called before code that cannot report a lack of
/// memory. The port of libyaml and Rust end the process, and PyO3 panics if it makes a tuple or a string.
///
/// A question needs two system calls, and a file may have a million small documents. So one question is about 32 MiB,
/// and a part of them grants the next calls. The rest is for the memory that Python uses between two questions.
pub fn ensure(bytes: usize) -> Result<(), OutOfMemory> {
    // More than malloc keeps for itself. The memory comes from the system and returns to it, so Python's allocator can
    // use it.
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

/// Returns an error if the system does not have this many bytes. The bytes are not touched: malloc would write to a
/// page, which is a page fault, and a large list asks about ten thousand times.
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
    // SAFETY: the kernel chooses the place of the new mapping, no pointer leads into it, and it is removed at once.
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
