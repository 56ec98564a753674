//! Where the entries of a list begin, and where the list ends: `krmfn.envelope`.

use pyo3::prelude::*;
use pyo3::types::PyList;

use crate::value::new_list;

/// The offset of the first line from `start` on that is no entry, comment or blank at column 0, or the end of the text,
/// and the offsets of the lines before it that begin with `indent` spaces and a dash.
pub fn entries<'py>(py: Python<'py>, text: &str, start: usize, indent: usize) -> PyResult<(usize, Bound<'py, PyList>)> {
    let (lines, text) = (text, text.as_bytes());
    let starts = new_list(py)?;
    let mut at = start;
    while at < text.len() {
        if is_margin(text, at) {
            return Ok((at, starts));
        }
        let dash = at + indent;
        if is_dash(text, dash) && text[at..dash].iter().all(|&byte| byte == b' ') {
            starts.append(at)?;
        }
        at = lines[at..].find('\n').map_or(text.len(), |length| at + length + 1);
    }
    Ok((text.len(), starts))
}

fn is_margin(text: &[u8], at: usize) -> bool {
    match text[at] {
        b' ' | b'\t' | b'\r' | b'\n' | b'#' => false,
        b'-' => !matches!(text.get(at + 1), Some(b' ' | b'\t' | b'\r' | b'\n')),
        _ => true,
    }
}

fn is_dash(text: &[u8], at: usize) -> bool {
    text.get(at) == Some(&b'-') && matches!(text.get(at + 1), Some(b' ' | b'\n' | b'\r'))
}
