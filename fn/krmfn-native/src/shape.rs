//! Types of fields, and whether a value has them: a value that may lack one is left to the code that words what is wrong.

use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyBool, PyDict, PyFrozenSet, PyInt, PyList, PyString, PyTuple, PyType};

use crate::memory::{OutOfMemory, ensure};

/// The levels of a value that are looked through.
const DEEPEST: usize = 128;

/// The types of a mapping's fields.
#[pyclass(frozen)]
pub struct Shape {
    /// Returns the types at the first value: most shapes have none.
    find: Py<PyAny>,
    fields: PyOnceLock<Fields>,
}

struct Fields {
    /// The place of each field's type.
    places: Py<PyDict>,
    types: Vec<Type>,
    /// Fields that must not be null, though they may be absent.
    never_null: Vec<bool>,
    required: Vec<Py<PyString>>,
    /// What stands for a field that is absent or null, and the place of its type.
    zeros: Vec<(Py<PyString>, usize, Py<PyAny>)>,
    rules: Vec<Py<PyAny>>,
}

/// A type of values, as Python writes it down.
enum Type {
    /// None: any value.
    Open,
    /// `str`
    Text,
    /// `bool`
    Flag,
    /// An integer: the number of its bits.
    Integer(u32),
    /// A set of texts: one of them.
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
    /// What stands for an entry that is null; None where none may be null.
    zero: Option<Py<PyAny>>,
    /// The fields that make an entry another one, with what stands for an absent one; None where that is not known.
    keys: Vec<(Py<PyString>, Option<Py<PyAny>>)>,
}

#[pymethods]
impl Shape {
    /// `find` returns a mapping of fields to their types, the names of those that must not be null, the names of those that
    /// must be set, a mapping of those that are checked when absent to their zero values, and functions that return True
    /// for a mapping that follows a rule.
    #[new]
    fn new(find: Py<PyAny>) -> Shape {
        Shape { find, fields: PyOnceLock::new() }
    }

    /// True where all of `value` has its type. False where something may be wrong.
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
        // A table is small, and there are few.
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

    /// True where no two entries have the same keys. False where two may have.
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

    /// The same for entries with the same keys; None where an entry has an unusual one.
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

/// True if `function` returns True for `value`.
fn is_true(function: &Py<PyAny>, value: &Bound<'_, PyAny>) -> PyResult<bool> {
    Ok(function.bind(value.py()).call1((value,))?.is(PyBool::new(value.py(), true)))
}

fn is_within(value: &Bound<'_, PyAny>, bits: u32) -> bool {
    match value.extract::<i64>() {
        Ok(number) => bits >= 64 || (-(1i64 << (bits - 1))..1i64 << (bits - 1)).contains(&number),
        Err(_) => false,
    }
}

/// True where `value` has one of `texts` as a value somewhere, and not only as a key.
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

/// True if `entry` is one of `texts`; a mapping or a list is `left` for later.
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
