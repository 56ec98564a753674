//! A writer of values in block style, as in `krmfn.yamltext.writer`.

use std::fmt::Write;

use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDict, PyInt, PyList, PyString, PyTuple};

use crate::spell;
use crate::text::Text;

/// The largest depth of a value. Python writes deeper values.
const DEEPEST: usize = 100;
/// Readers look for the colon of a plain `key: value` only within 1,024 characters.
const LONGEST_KEY: usize = 900;

/// Returns `value` in block style, or None if Python must write it. With `dash`, the text begins with that many spaces
/// and a dash.
pub fn write(value: &Bound<'_, PyAny>, dash: Option<usize>) -> PyResult<Option<Text>> {
    if !holds_lines(value) {
        return Ok(None);
    }
    let mut writer = Writer { out: Text::default(), depth: 0 };
    let column = match dash {
        Some(indent) => {
            writer.out.push_spaces(indent);
            writer.out.push_str("- ");
            indent + 2
        }
        None => 0,
    };
    if !writer.held(value, column, Lead::Begun)? {
        return Ok(None);
    }
    writer.out.push('\n');
    Ok(Some(writer.out))
}

/// The place of the first line of a mapping or list.
#[derive(Clone, Copy, PartialEq)]
enum Lead {
    /// On a line of its own.
    Own,
    /// At the end of the text so far: after a dash, or at the start.
    Begun,
}

struct Writer {
    out: Text,
    depth: usize,
}

impl Writer {
    /// Writes the value of a key or dash, or the whole value. Returns false if Python must write it.
    fn held(&mut self, value: &Bound<'_, PyAny>, column: usize, lead: Lead) -> PyResult<bool> {
        if let Ok(text) = value.cast_exact::<PyString>() {
            return Ok(self.string(text, column));
        }
        if let Ok(fields) = value.cast_exact::<PyDict>() {
            if fields.is_empty() {
                self.out.push_str(" {}");
                return Ok(true);
            }
            return self.mapping(fields, column, lead);
        }
        if let Ok(list) = value.cast_exact::<PyList>() {
            return self.sequence(list.iter(), column, lead);
        }
        if let Ok(tuple) = value.cast_exact::<PyTuple>() {
            return self.sequence(tuple.iter(), column, lead);
        }
        self.constant(value)
    }

    fn mapping(&mut self, fields: &Bound<'_, PyDict>, column: usize, lead: Lead) -> PyResult<bool> {
        if self.depth >= DEEPEST {
            return Ok(false);
        }
        self.depth += 1;
        let mut lead = lead;
        for (name, item) in fields.iter() {
            self.begin(column, lead);
            lead = Lead::Own;
            let Ok(name) = name.cast_exact::<PyString>() else {
                return Ok(false);
            };
            match name.to_str() {
                Ok(name) if name.len() <= LONGEST_KEY => spell::scalar(&mut self.out, name),
                _ => return Ok(false),
            }
            self.out.push(':');
            let below = if item.is_exact_instance_of::<PyDict>() || item.is_exact_instance_of::<PyString>() {
                column + 2
            } else {
                column
            };
            if !self.held(&item, below, Lead::Own)? {
                return Ok(false);
            }
        }
        self.depth -= 1;
        Ok(true)
    }

    fn sequence<'py>(
        &mut self,
        items: impl ExactSizeIterator<Item = Bound<'py, PyAny>>,
        column: usize,
        lead: Lead,
    ) -> PyResult<bool> {
        if items.len() == 0 {
            self.out.push_str(" []");
            return Ok(true);
        }
        if self.depth >= DEEPEST {
            return Ok(false);
        }
        self.depth += 1;
        let mut lead = lead;
        for item in items {
            self.begin(column, lead);
            lead = Lead::Own;
            self.out.push('-');
            if holds_lines(&item) {
                self.out.push(' ');
            }
            if !self.held(&item, column + 2, Lead::Begun)? {
                return Ok(false);
            }
        }
        self.depth -= 1;
        Ok(true)
    }

    fn begin(&mut self, column: usize, lead: Lead) {
        if lead == Lead::Own {
            self.out.push('\n');
            self.out.push_spaces(column);
        }
    }

    /// Writes a string after a colon or dash. The lines of a literal block start at `column`. Returns false if Python
    /// must write it.
    fn string(&mut self, text: &Bound<'_, PyString>, column: usize) -> bool {
        // Python reports the error of a text with half of a surrogate pair.
        let Ok(text) = text.to_str() else {
            return false;
        };
        if !text.contains('\n') || !spell::is_literal(text) {
            self.out.push(' ');
            spell::scalar(&mut self.out, text);
            return true;
        }
        self.out.push_str(if text.ends_with('\n') { " |" } else { " |-" });
        for line in text.strip_suffix('\n').unwrap_or(text).split('\n') {
            self.out.push('\n');
            if !line.is_empty() {
                self.out.push_spaces(column);
                self.out.push_str(line);
            }
        }
        true
    }

    fn constant(&mut self, value: &Bound<'_, PyAny>) -> PyResult<bool> {
        if let Ok(truth) = value.cast_exact::<PyBool>() {
            self.out.push_str(if truth.is_true() { " true" } else { " false" });
        } else if let Ok(number) = value.cast_exact::<PyInt>() {
            let Ok(number) = number.extract::<i64>() else {
                return Ok(false);
            };
            let _ = write!(self.out, " {number}");
        } else if value.is_none() {
            self.out.push_str(" null");
        } else {
            return Ok(false);
        }
        Ok(true)
    }
}

/// Returns true if a value is a mapping or list that is not empty.
fn holds_lines(value: &Bound<'_, PyAny>) -> bool {
    if let Ok(fields) = value.cast_exact::<PyDict>() {
        return !fields.is_empty();
    }
    if let Ok(list) = value.cast_exact::<PyList>() {
        return !list.is_empty();
    }
    value.cast_exact::<PyTuple>().is_ok_and(|tuple| !tuple.is_empty())
}
