//! The native core of krmfn: reads any text that libyaml reads, and writes values.
//!
//! Python's own code gives the same where the core is not installed: `krmfn.yamltext.pyyaml` and what stands on it.

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

    /// `krmfn.yamltext.reader.VERSION`.
    #[pymodule_export]
    const VERSION: u32 = 13;

    /// `value`, a mapping or list that is not empty, in block style; None where Python must write it.
    ///
    /// With `indent` it is the entry of a list whose dashes stand after so many spaces.
    #[pyfunction]
    #[pyo3(signature = (value, indent=None, /))]
    fn write<'py>(value: &Bound<'py, PyAny>, indent: Option<usize>) -> PyResult<Option<Bound<'py, PyString>>> {
        crate::write::write(value, indent)?.map(|text| text.into_python(value.py())).transpose()
    }

    /// True where `value`, a mapping or list, has one of `texts` as a value somewhere, and not only as a key.
    #[pyfunction]
    #[pyo3(signature = (value, texts, /))]
    fn has_text(value: &Bound<'_, PyAny>, texts: &Bound<'_, PyFrozenSet>) -> PyResult<bool> {
        crate::shape::has_text(value, texts)
    }
}
