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
mod write;

use pyo3::prelude::*;
use pyo3::types::{PyInt, PyString, PyTuple};

use places::Step;

#[pymodule]
mod krmfn_native {
    use pyo3::prelude::*;
    use pyo3::types::{PyString, PyTuple};

    use crate::places::Step;
    use crate::{keys_of, printable, steps_of};

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
    fn write(value: &Bound<'_, PyAny>, indent: Option<usize>) -> PyResult<Option<String>> {
        crate::write::write(value, indent)
    }

    /// `text` with the string `value` at `path`; None where Python must set it.
    #[pyfunction]
    fn set_string(
        text: &Bound<'_, PyString>,
        path: &Bound<'_, PyTuple>,
        value: &Bound<'_, PyString>,
    ) -> PyResult<Option<String>> {
        let (Some(known), Ok(value), Some((keys, in_entry))) = (printable(text)?, value.to_str(), keys_of(path)) else {
            return Ok(None);
        };
        let names: Vec<&str> = keys.iter().map(String::as_str).collect();
        Ok(crate::splice::set(known, &names, in_entry, value))
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
    fn entries(text: &Bound<'_, PyString>, start: usize, indent: usize) -> Option<(usize, Vec<usize>)> {
        let text = text.to_str().ok().filter(|text| text.is_ascii() && start <= text.len())?;
        Some(crate::entries::entries(text, start, indent))
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

fn steps_of(path: &Bound<'_, PyTuple>) -> Option<Vec<Step>> {
    path.iter().map(|step| step_of(&step)).collect()
}

fn step_of(step: &Bound<'_, PyAny>) -> Option<Step> {
    if let Ok(name) = step.cast_exact::<PyString>() {
        return name.to_str().ok().map(|name| Step::Key(name.to_owned()));
    }
    step.cast_exact::<PyInt>().ok()?.extract().ok().map(Step::Item)
}

/// The keys of a path, and whether it leads into the entry of a list first; None where a step is something else.
fn keys_of(path: &Bound<'_, PyTuple>) -> Option<(Vec<String>, bool)> {
    let mut steps = steps_of(path)?.into_iter().peekable();
    let in_entry = steps.next_if(|step| matches!(step, Step::Item(0))).is_some();
    let keys = steps.map(|step| match step {
        Step::Key(name) => Some(name),
        Step::Item(_) | Step::Nowhere => None,
    });
    Some((keys.collect::<Option<Vec<_>>>()?, in_entry))
}
