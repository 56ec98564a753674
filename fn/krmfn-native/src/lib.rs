//! The native core of krmfn reads any text that libyaml reads, and writes values.
//!
//! If the core is not installed, Python code gives the same results: `krmfn.yamltext.pyyaml` and
//! `krmfn.yamltext.writer`.

#![deny(unsafe_code)]

#[allow(unsafe_code)]
mod events;
mod lines;
#[allow(unsafe_code)]
mod memory;
#[allow(unsafe_code)]
mod numbers;
mod outline;
mod shape;
mod source;
mod spell;
mod strings;
mod tape;
mod text;
mod tree;
mod value;
mod write;

use pyo3::prelude::*;

#[pymodule]
mod krmfn_native {
    use pyo3::prelude::*;
    use pyo3::types::{PyFrozenSet, PyString};

    #[pymodule_export]
    use crate::shape::Shape;
    #[pymodule_export]
    use crate::tree::Tree;

    /// The version of the interface. It equals `krmfn.yamltext.reader.VERSION`.
    #[pymodule_export]
    const VERSION: u32 = 14;

    /// Returns `value`, a mapping or list that is not empty, in block style, or None if Python must write it.
    ///
    /// With `indent`, the result is an entry of a list with dashes after that many spaces.
    #[pyfunction]
    #[pyo3(signature = (value, indent=None, /))]
    fn write<'py>(value: &Bound<'py, PyAny>, indent: Option<usize>) -> PyResult<Option<Bound<'py, PyString>>> {
        crate::write::write(value, indent)?.map(|text| text.into_python(value.py())).transpose()
    }

    /// Returns True if `value`, a mapping or list, has one of `texts` as a value at any depth. Keys do not count.
    #[pyfunction]
    #[pyo3(signature = (value, texts, /))]
    fn has_text(value: &Bound<'_, PyAny>, texts: &Bound<'_, PyFrozenSet>) -> PyResult<bool> {
        crate::shape::has_text(value, texts)
    }
}
