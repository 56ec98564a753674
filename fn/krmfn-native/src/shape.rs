//! Types of fields, and checks of values against them. If a type may be wrong, other code looks for the problem and
//! words it.

use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyBool, PyDict, PyFrozenSet, PyInt, PyList, PyString, PyTuple, PyType};

use crate::memory::{OutOfMemory, ensure};

/// The largest number of levels of a value that are checked.
const DEEPEST: usize = 128;

/// The types of a mapping's fields.
#[pyclass(frozen)]
pub struct Shape {
    /// Returns the types. It is called with the first value, because most shapes get no value.
    find: Py<PyAny>,
    fields: PyOnceLock<Fields>,
}

struct Fields {
    /// The place in `types` of each field's type.
    places: Py<PyDict>,
    types: Vec<Type>,
    /// True for each field that must not be null, although it may be absent.
    never_null: Vec<bool>,
    required: Vec<Py<PyString>>,
    /// Some fields with the place of their type, and the value that they have if absent or null.
    zeros: Vec<(Py<PyString>, usize, Py<PyAny>)>,
    rules: Vec<Py<PyAny>>,
}

/// A type of values. The comments show how Python writes it.
enum Type {
    /// `None`: any value.
    Open,
    /// `str`
    Text,
    /// `bool`
    Flag,
    /// An integer: the value is an integer with at most this number of bits.
    Integer(u32),
    /// A set of texts: the value is one of them.
    Choice(Py<PyFrozenSet>),
    Mapping(Py<Shape>),
    /// `(type,)`: a mapping of any names to values of the type, or null.
    Values(Box<Type>),
    /// `(type, zero, keys)`
    List(Box<List>),
    /// A function that returns True for a value of the type.
    Asked(Py<PyAny>),
}

struct List {
    item: Type,
    /// The value of an entry that is null, or None if no entry may be null.
    zero: Option<Py<PyAny>>,
    /// The fields that identify an entry, each with its value if it is absent, or None if this value is unknown.
    keys: Vec<(Py<PyString>, Option<Py<PyAny>>)>,
}

#[pymethods]
impl Shape {
    /// `find` returns five values:
    ///
    /// - a mapping of fields to their types;
    /// - the names of the fields that must not be null;
    /// - the names of the fields that must be set;
    /// - a mapping of the fields that are checked even if absent to their zero values;
    /// - functions that return True for a mapping that follows a rule.
    #[new]
    fn new(find: Py<PyAny>) -> Shape {
        Shape { find, fields: PyOnceLock::new() }
    }

    /// Returns true if all of `value` has its type, and false if something may be wrong.
    fn fits(&self, value: &Bound<'_, PyAny>) -> PyResult<bool> {
        self.has(value, DEEPEST)
    }
}

impl Shape {
    fn has(&self, value: &Bound<'_, PyAny>, depth: usize) -> PyResult<bool> {
        let py = value.py();
        let Ok(value) = value.cast_exact::<PyDict>() else {
            return Ok(false);
        };
        let fields = self.fields.get_or_try_init(py, || Fields::of(&self.find.bind(py).call0()?))?;
        let places = fields.places.bind(py);
        for (name, entry) in value.iter() {
            let Some(place) = places.get_item(name)? else {
                return Ok(false);
            };
            let place: usize = place.extract()?;
            let is_right =
                if entry.is_none() { !fields.never_null[place] } else { fields.types[place].has(&entry, depth)? };
            if !is_right {
                return Ok(false);
            }
        }
        for name in &fields.required {
            if value.get_item(name)?.is_none_or(|entry| entry.is_none()) {
                return Ok(false);
            }
        }
        for (name, place, zero) in &fields.zeros {
            let is_absent = value.get_item(name)?.is_none_or(|entry| entry.is_none());
            if is_absent && !fields.types[*place].has(zero.bind(py), depth)? {
                return Ok(false);
            }
        }
        for rule in &fields.rules {
            if !is_true(rule, value)? {
                return Ok(false);
            }
        }
        Ok(true)
    }
}

impl Fields {
    fn of(found: &Bound<'_, PyAny>) -> PyResult<Fields> {
        type Found<'py> = (Bound<'py, PyDict>, Vec<String>, Vec<Py<PyString>>, Bound<'py, PyDict>, Vec<Py<PyAny>>);
        // One question about memory is enough, because tables are small and few.
        ensure(0)?;
        let py = found.py();
        let (named, strict, required, absent, rules): Found<'_> = found.extract()?;
        let places = PyDict::new(py);
        let (mut types, mut never_null) = (Vec::new(), Vec::new());
        for (place, (name, written)) in named.iter().enumerate() {
            let name = name.cast_into::<PyString>()?;
            never_null.push(strict.iter().any(|each| name == each.as_str()));
            types.push(Type::of(&written)?);
            places.set_item(name, place)?;
        }
        let mut zeros = Vec::new();
        for (name, zero) in absent.iter() {
            let Some(place) = places.get_item(&name)? else {
                return Err(PyValueError::new_err("a zero value must be that of a field"));
            };
            zeros.push((name.cast_into::<PyString>()?.unbind(), place.extract()?, zero.unbind()));
        }
        Ok(Fields { places: places.unbind(), types, never_null, required, zeros, rules })
    }
}

impl Type {
    fn of(written: &Bound<'_, PyAny>) -> PyResult<Type> {
        let py = written.py();
        if written.is_none() {
            return Ok(Type::Open);
        }
        if written.is(PyType::new::<PyString>(py)) {
            return Ok(Type::Text);
        }
        if written.is(PyType::new::<PyBool>(py)) {
            return Ok(Type::Flag);
        }
        if let Ok(bits) = written.cast_exact::<PyInt>() {
            return Ok(Type::Integer(bits.extract()?));
        }
        if let Ok(texts) = written.cast_exact::<PyFrozenSet>() {
            return Ok(Type::Choice(texts.clone().unbind()));
        }
        if let Ok(shape) = written.cast::<Shape>() {
            return Ok(Type::Mapping(shape.clone().unbind()));
        }
        if let Ok(parts) = written.cast_exact::<PyTuple>() {
            return match parts.len() {
                1 => Ok(Type::Values(Box::new(Type::of(&parts.get_item(0)?)?))),
                _ => Ok(Type::List(Box::new(List::of(parts)?))),
            };
        }
        if written.is_callable() {
            return Ok(Type::Asked(written.clone().unbind()));
        }
        Err(PyTypeError::new_err("no type of values"))
    }

    fn has(&self, value: &Bound<'_, PyAny>, depth: usize) -> PyResult<bool> {
        let py = value.py();
        let Some(depth) = depth.checked_sub(1) else {
            return Ok(false);
        };
        match self {
            Type::Open => Ok(true),
            Type::Text => Ok(value.is_exact_instance_of::<PyString>()),
            Type::Flag => Ok(value.is_exact_instance_of::<PyBool>()),
            Type::Integer(bits) => Ok(value.is_exact_instance_of::<PyInt>() && is_within(value, *bits)),
            Type::Choice(texts) => Ok(value.is_exact_instance_of::<PyString>() && texts.bind(py).contains(value)?),
            Type::Mapping(shape) => shape.get().has(value, depth),
            Type::Values(item) => {
                let Ok(value) = value.cast_exact::<PyDict>() else {
                    return Ok(false);
                };
                for (_, entry) in value.iter() {
                    if !entry.is_none() && !item.has(&entry, depth)? {
                        return Ok(false);
                    }
                }
                Ok(true)
            }
            Type::List(list) => list.has(value, depth),
            Type::Asked(is_right) => is_true(is_right, value),
        }
    }
}

impl List {
    fn of(parts: &Bound<'_, PyTuple>) -> PyResult<List> {
        let (item, zero, named): (Bound<'_, PyAny>, Option<Py<PyAny>>, Bound<'_, PyDict>) = parts.extract()?;
        let mut keys = Vec::new();
        for (name, default) in named.iter() {
            keys.push((name.cast_into::<PyString>()?.unbind(), default.extract()?));
        }
        Ok(List { item: Type::of(&item)?, zero, keys })
    }

    fn has(&self, value: &Bound<'_, PyAny>, depth: usize) -> PyResult<bool> {
        let py = value.py();
        let Ok(entries) = value.cast_exact::<PyList>() else {
            return Ok(false);
        };
        for entry in entries.iter() {
            let is_right = match &self.zero {
                Some(zero) if entry.is_none() => self.item.has(zero.bind(py), depth)?,
                _ => !entry.is_none() && self.item.has(&entry, depth)?,
            };
            if !is_right {
                return Ok(false);
            }
        }
        if self.keys.is_empty() || entries.len() < 2 {
            return Ok(true);
        }
        self.are_different(entries)
    }

    /// Returns true if all entries have different keys, and false if two may have the same keys.
    fn are_different(&self, entries: &Bound<'_, PyList>) -> PyResult<bool> {
        let mut hashes: Vec<u64> = Vec::new();
        hashes.try_reserve_exact(entries.len()).map_err(OutOfMemory::from)?;
        for entry in entries.iter() {
            let Some(hash) = self.hash_of(&entry)? else {
                return Ok(false);
            };
            hashes.push(hash);
        }
        hashes.sort_unstable();
        Ok(hashes.windows(2).all(|pair| pair[0] != pair[1]))
    }

    /// Returns a hash of an entry's keys, or None if a key is unusual. Entries with the same keys have the same hash.
    fn hash_of(&self, entry: &Bound<'_, PyAny>) -> PyResult<Option<u64>> {
        const ODD: u64 = 0x9e37_79b9_7f4a_7c15;
        let py = entry.py();
        let Ok(entry) = entry.cast_exact::<PyDict>() else {
            return Ok(None);
        };
        let mut hash = 0u64;
        for (name, default) in &self.keys {
            let part = match entry.get_item(name)?.filter(|part| !part.is_none()) {
                Some(part) => part,
                None => match default {
                    Some(default) => default.bind(py).clone(),
                    None => return Ok(None),
                },
            };
            if !part.is_exact_instance_of::<PyString>() && !part.is_exact_instance_of::<PyInt>() {
                return Ok(None);
            }
            hash = (hash.rotate_left(23) ^ part.hash()? as u64).wrapping_mul(ODD);
        }
        Ok(Some(hash))
    }
}

/// Returns true if `function` returns True for `value`.
fn is_true(function: &Py<PyAny>, value: &Bound<'_, PyAny>) -> PyResult<bool> {
    Ok(function.bind(value.py()).call1((value,))?.is(PyBool::new(value.py(), true)))
}

fn is_within(value: &Bound<'_, PyAny>, bits: u32) -> bool {
    match value.extract::<i64>() {
        Ok(number) => bits >= 64 || (-(1i64 << (bits - 1))..1i64 << (bits - 1)).contains(&number),
        Err(_) => false,
    }
}

/// Returns true if `value` has one of `texts` as a value at any depth. Keys do not count.
pub fn has_text(value: &Bound<'_, PyAny>, texts: &Bound<'_, PyFrozenSet>) -> PyResult<bool> {
    let mut left = Vec::new();
    push(&mut left, value.clone())?;
    while let Some(part) = left.pop() {
        if let Ok(mapping) = part.cast::<PyDict>() {
            for (_, entry) in mapping.iter() {
                if is_one(entry, texts, &mut left)? {
                    return Ok(true);
                }
            }
        } else if let Ok(list) = part.cast::<PyList>() {
            for entry in list.iter() {
                if is_one(entry, texts, &mut left)? {
                    return Ok(true);
                }
            }
        }
    }
    Ok(false)
}

/// Returns true if `entry` is one of `texts`. A mapping or a list is added to `left`, for later.
fn is_one<'py>(
    entry: Bound<'py, PyAny>,
    texts: &Bound<'py, PyFrozenSet>,
    left: &mut Vec<Bound<'py, PyAny>>,
) -> PyResult<bool> {
    if entry.is_exact_instance_of::<PyString>() {
        return texts.contains(entry);
    }
    if entry.is_instance_of::<PyDict>() || entry.is_instance_of::<PyList>() {
        push(left, entry)?;
    }
    Ok(false)
}

fn push<'py>(left: &mut Vec<Bound<'py, PyAny>>, value: Bound<'py, PyAny>) -> PyResult<()> {
    left.try_reserve(1).map_err(OutOfMemory::from)?;
    left.push(value);
    Ok(())
}
