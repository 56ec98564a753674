//! The value of a text whose lines are usual ones.

use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDict, PyFloat, PyInt, PyList, PyString};

use crate::line::{self, Line, Value};
use crate::strings::Strings;
use crate::structure::{DEEPEST, Structure};

/// A mapping or list that lines can still add to.
enum Node<'py> {
    Mapping {
        fields: Bound<'py, PyDict>,
        /// How many fields the lines have, of which two may have one name.
        count: usize,
        /// The key whose value is still to come.
        key: Option<Bound<'py, PyString>>,
    },
    List(Bound<'py, PyList>),
}

/// The value of `text`; None where a line is not usual, or one is where it cannot be, or a key stands twice.
pub fn read<'py>(py: Python<'py>, text: &str) -> PyResult<Option<Bound<'py, PyAny>>> {
    let mut reader = Reader {
        py,
        text,
        structure: Structure::default(),
        open: Vec::new(),
        root: None,
        strings: Strings::kept(),
        repeats: false,
    };
    if reader.open.try_reserve_exact(DEEPEST).is_err() {
        return Ok(None);
    }
    let mut at = 0;
    while at < text.len() {
        at = match line::line(text.as_bytes(), at) {
            Some(Line::Nothing(end)) => end,
            Some(Line::Entry(entry)) if reader.take(&entry)? => entry.end,
            _ => return Ok(None),
        };
    }
    let is_whole = reader.close(0)? && !reader.repeats;
    Ok(reader.root.filter(|_| is_whole))
}

struct Reader<'py, 'a> {
    py: Python<'py>,
    text: &'a str,
    structure: Structure,
    open: Vec<Node<'py>>,
    root: Option<Bound<'py, PyAny>>,
    strings: Strings,
    /// A key stands twice in a mapping in braces.
    repeats: bool,
}

impl<'py> Reader<'py, '_> {
    /// Whether the line can be where it is; its value is added then.
    fn take(&mut self, entry: &line::Entry) -> PyResult<bool> {
        let mut column = entry.column;
        for _ in 0..entry.dashes {
            if !self.enter(column, true)? {
                return Ok(false);
            }
            self.structure.await_value();
            column += 2;
        }
        match entry.key {
            Some(key) => Ok(self.enter(column, false)? && self.add_field(&key, entry.value)?),
            None => self.add_item(entry.value),
        }
    }

    fn add_field(&mut self, key: &line::Key, value: Value) -> PyResult<bool> {
        let name = self.strings.get(self.py, key.name.of(self.text))?;
        let value = match value {
            Value::Absent => None,
            value => Some(self.value(value)?),
        };
        let Some(Node::Mapping { fields, count, key }) = self.open.last_mut() else {
            return Ok(false);
        };
        *count += 1;
        match value {
            Some(value) => fields.set_item(name, value)?,
            None => {
                *key = Some(name);
                self.structure.await_value();
            }
        }
        Ok(true)
    }

    fn add_item(&mut self, value: Value) -> PyResult<bool> {
        let value = self.value(value)?;
        self.structure.has_value();
        match self.open.last() {
            Some(Node::List(list)) => list.append(value).map(|()| true),
            _ => Ok(false),
        }
    }

    /// Whether a key (or a dash) can stand at `column`; the mapping (or list) that it adds to is the last open one then.
    fn enter(&mut self, column: usize, is_list: bool) -> PyResult<bool> {
        let Some(container) = self.structure.container(column, is_list) else {
            return Ok(false);
        };
        if !self.close(container.depth - usize::from(container.is_new))? {
            return Ok(false);
        }
        if !container.is_new {
            self.no_value()?;
            return Ok(true);
        }
        let (node, value) = if is_list {
            let list = new_list(self.py)?;
            (Node::List(list.clone()), list.into_any())
        } else {
            let fields = new_mapping(self.py)?;
            (Node::Mapping { fields: fields.clone(), count: 0, key: None }, fields.into_any())
        };
        match self.open.last_mut() {
            None => self.root = Some(value),
            Some(Node::List(list)) => list.append(value)?,
            Some(Node::Mapping { fields, key, .. }) => match key.take() {
                Some(key) => fields.set_item(key, value)?,
                None => return Ok(false),
            },
        }
        self.open.push(node);
        Ok(true)
    }

    /// Whether all open mappings and lists beyond the first `depth` are whole; they are open no more.
    fn close(&mut self, depth: usize) -> PyResult<bool> {
        while self.open.len() > depth {
            self.no_value()?;
            if let Some(Node::Mapping { fields, count, .. }) = self.open.pop()
                && fields.len() != count
            {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Gives the last key of the last open mapping null, where it waits for a value.
    fn no_value(&mut self) -> PyResult<()> {
        if let Some(Node::Mapping { fields, key, .. }) = self.open.last_mut()
            && let Some(key) = key.take()
        {
            return fields.set_item(key, self.py.None());
        }
        Ok(())
    }

    fn value(&mut self, value: Value) -> PyResult<Bound<'py, PyAny>> {
        let (py, text) = (self.py, self.text);
        Ok(match value {
            Value::Absent => py.None().into_bound(py),
            Value::Plain(span) => match constant(span.of(text)) {
                Some(Some(truth)) => PyBool::new(py, truth).to_owned().into_any(),
                Some(None) => py.None().into_bound(py),
                None => self.strings.get(py, span.of(text))?.into_any(),
            },
            Value::Quoted(span) => self.strings.get(py, span.of(text))?.into_any(),
            // At most 15 digits, which both types hold.
            Value::Integer(span) => PyInt::new(py, span.of(text).parse::<i64>()?).into_any(),
            Value::Float(span) => PyFloat::new(py, span.of(text).parse::<f64>()?).into_any(),
            Value::Mapping(span) => {
                let fields = new_mapping(py)?;
                for (count, (key, item)) in line::fields(text.as_bytes(), span).enumerate() {
                    let name = self.strings.get(py, key.name.of(text))?;
                    fields.set_item(name, self.value(item)?)?;
                    self.repeats |= fields.len() == count;
                }
                fields.into_any()
            }
            Value::List(span) => {
                let list = new_list(py)?;
                for item in line::items(text.as_bytes(), span) {
                    list.append(self.value(item)?)?;
                }
                list.into_any()
            }
        })
    }
}

/// What a constant means: a truth value, or null. None where the words are none, and so a string.
pub fn constant(words: &str) -> Option<Option<bool>> {
    match words {
        "true" | "True" | "TRUE" => Some(Some(true)),
        "false" | "False" | "FALSE" => Some(Some(false)),
        "null" | "Null" | "NULL" => Some(None),
        _ => None,
    }
}

/// An empty list, made such that the lack of memory is Python's error.
pub fn new_list(py: Python<'_>) -> PyResult<Bound<'_, PyList>> {
    Ok(py.get_type::<PyList>().call0()?.cast_into()?)
}

fn new_mapping(py: Python<'_>) -> PyResult<Bound<'_, PyDict>> {
    Ok(py.get_type::<PyDict>().call0()?.cast_into()?)
}
