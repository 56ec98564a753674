//! The native core of krmfn: the reading, locating, splicing and writing of the texts that most manifests are.
//!
//! Python's own code is the reference, and does whatever these functions leave to it: each answers None then.

#![forbid(unsafe_code)]

mod entries;
mod line;
mod places;
mod read;
mod spell;
mod splice;
mod strings;
mod structure;
mod text;
mod write;

use pyo3::prelude::*;
use pyo3::types::{PyInt, PyString, PyTuple};

use places::Step;

#[pymodule]
mod krmfn_native {
    use pyo3::prelude::*;
    use pyo3::types::{PyList, PyString, PyTuple};

    use crate::places::Step;
    use crate::{printable, steps_of};

    /// `krmfn.yamltext.native.VERSION`.
    #[pymodule_export]
    const VERSION: u32 = 1;

    /// The value of `text`, a mapping or list; None where Python must read it.
    #[pyfunction]
    #[pyo3(signature = (text, /))]
    fn read<'py>(py: Python<'py>, text: &Bound<'py, PyString>) -> PyResult<Option<Bound<'py, PyAny>>> {
        match printable(text)? {
            Some(text) => crate::read::read(py, text),
            None => Ok(None),
        }
    }

    /// `value`, a mapping or list that is not empty, in block style; None where Python must write it.
    ///
    /// With `indent` it is the entry of a list whose dashes stand after so many spaces.
    #[pyfunction]
    #[pyo3(signature = (value, indent=None, /))]
    fn write<'py>(value: &Bound<'py, PyAny>, indent: Option<usize>) -> PyResult<Option<Bound<'py, PyString>>> {
        crate::write::write(value, indent)?.map(|text| text.into_python(value.py())).transpose()
    }

    /// `text` with the string `value` at `path`; None where Python must set it.
    #[pyfunction]
    fn set_string<'py>(
        text: &Bound<'py, PyString>,
        path: &Bound<'_, PyTuple>,
        value: &Bound<'_, PyString>,
    ) -> PyResult<Option<Bound<'py, PyString>>> {
        let (Some(known), Ok(value), Some(steps)) = (printable(text)?, value.to_str(), steps_of(path)) else {
            return Ok(None);
        };
        let (in_entry, steps) = match steps.split_first() {
            Some((Step::Item(0), rest)) => (true, rest),
            _ => (false, steps.as_slice()),
        };
        crate::splice::set(known, steps, in_entry, value).map(|edited| edited.into_python(text.py())).transpose()
    }

    /// Line and column of the deepest part of `path` that exists, of its key with `key`; None where Python must look.
    #[pyfunction]
    fn nearest(text: &Bound<'_, PyString>, path: &Bound<'_, PyTuple>, key: bool) -> PyResult<Option<(usize, usize)>> {
        Ok(match (printable(text)?, steps_of(path)) {
            (Some(text), Some(steps)) => crate::places::nearest(text, &steps, key),
            _ => None,
        })
    }

    /// The lines of the first and the last key of the block mapping at `path`; None where Python must look.
    #[pyfunction]
    fn key_lines(text: &Bound<'_, PyString>, path: &Bound<'_, PyTuple>) -> PyResult<Option<(usize, usize)>> {
        Ok(match (printable(text)?, steps_of(path)) {
            (Some(text), Some(mut steps)) => {
                steps.push(Step::Nowhere);
                crate::places::key_lines(text, &steps)
            }
            _ => None,
        })
    }

    /// Where the list whose lines go on at `start` ends, and where its entries begin, with dashes after `indent` spaces.
    ///
    /// None where offsets count characters that are no bytes.
    #[pyfunction]
    fn entries<'py>(
        text: &Bound<'py, PyString>,
        start: usize,
        indent: usize,
    ) -> PyResult<Option<(usize, Bound<'py, PyList>)>> {
        match text.to_str() {
            Ok(known) if known.is_ascii() && start <= known.len() => {
                crate::entries::entries(text.py(), known, start, indent).map(Some)
            }
            _ => Ok(None),
        }
    }
}

/// The text, where characters beyond ASCII are such as can be printed; what is ASCII is looked at line by line.
fn printable<'a>(text: &'a Bound<'_, PyString>) -> PyResult<Option<&'a str>> {
    let Ok(known) = text.to_str() else {
        return Ok(None);
    };
    if known.is_ascii() {
        return Ok(Some(known));
    }
    let line = text.call_method1("replace", ("\n", ""))?;
    Ok(line.call_method0("isprintable")?.extract::<bool>()?.then_some(known))
}

/// The steps of a path, with room for one more; None where one is no key and no place of an item.
fn steps_of(path: &Bound<'_, PyTuple>) -> Option<Vec<Step>> {
    let mut steps = Vec::new();
    steps.try_reserve_exact(path.len() + 1).ok()?;
    for step in path.iter() {
        steps.push(step_of(&step)?);
    }
    Some(steps)
}

fn step_of(step: &Bound<'_, PyAny>) -> Option<Step> {
    if let Ok(name) = step.cast_exact::<PyString>() {
        let name = name.to_str().ok()?;
        let mut key = String::new();
        key.try_reserve_exact(name.len()).ok()?;
        key.push_str(name);
        return Some(Step::Key(key));
    }
    step.cast_exact::<PyInt>().ok()?.extract().ok().map(Step::Item)
}
