//! A value in block style: `krmfn.yamltext.writer`.

use std::fmt::Write;

use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDict, PyInt, PyList, PyString, PyTuple};

use crate::spell;
use crate::text::Text;

/// Deeper values are left to Python.
const DEEPEST: usize = 100;
/// Readers look for the colon of a plain `key: value` within 1,024 characters only.
const LONGEST_KEY: usize = 900;

/// `value` in block style, after `indent` and a dash where there is one; None where Python must write it.
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

/// Where the first line of a mapping or list stands.
#[derive(Clone, Copy, PartialEq)]
enum Lead {
    /// On a line of its own.
    Own,
    /// Where the text ends: after a dash, or at the start.
    Begun,
}

struct Writer {
    out: Text,
    depth: usize,
}

impl Writer {
    /// Whether a mapping, list or scalar could be written that a key or dash holds, or that is the whole.
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

    /// Whether a string could be written after a colon or dash; the lines of a literal block stand at `column`.
    fn string(&mut self, text: &Bound<'_, PyString>, column: usize) -> bool {
        // Half of a surrogate pair, which Python refuses by name.
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

/// Whether a value is a mapping or list with lines of its own.
fn holds_lines(value: &Bound<'_, PyAny>) -> bool {
    if let Ok(fields) = value.cast_exact::<PyDict>() {
        return !fields.is_empty();
    }
    if let Ok(list) = value.cast_exact::<PyList>() {
        return !list.is_empty();
    }
    value.cast_exact::<PyTuple>().is_ok_and(|tuple| !tuple.is_empty())
}
