//! The nodes of a text, for those who look for some of them: `krmfn.yamltext.tree`.

use std::collections::HashSet;

use pyo3::prelude::*;
use pyo3::types::{PyInt, PyList, PyString, PyTuple};

use crate::events::{Kind, Style};
use crate::source::Source;
use crate::tape::{Node, Tape};
use crate::value::{new_list, no_memory, is_plain_string, read_error, scalars};

/// The first document of a text, as far as it can be read.
#[pyclass(frozen)]
pub struct Tree {
    text: Py<PyString>,
    tape: Tape,
}

/// What is known of a node on a path beside its own row.
struct Step {
    node: usize,
    key: Option<usize>,
    in_flow: bool,
    first: Option<usize>,
    /// The entry before the one on the path, or the last one where there is none on it: its last node and its key.
    previous: Option<(usize, Option<usize>)>,
    merges: bool,
    count: usize,
    /// The key or item behind it.
    next: Option<usize>,
}

#[pymethods]
impl Tree {
    /// The nodes of `text`, at most `most`; more are an error that says `too_many`.
    #[new]
    fn new(text: Bound<'_, PyString>, most: usize, too_many: &str) -> PyResult<Tree> {
        let source = Source::of(text.to_str()?).ok_or_else(no_memory)?;
        let tape = Tape::of(&source, most, too_many).map_err(|_| no_memory())?;
        drop(source);
        Ok(Tree { text: text.unbind(), tape })
    }

    /// The nodes along `path`, as far as they exist, the root first; empty for an empty document.
    ///
    /// With `rest`, what stands behind the last one must be readable too. Raises YamlError.
    fn find<'py>(&self, py: Python<'py>, path: &Bound<'py, PyTuple>, rest: bool) -> PyResult<Bound<'py, PyList>> {
        let rows = new_list(py)?;
        if self.tape.nodes.is_empty() {
            self.check(py, self.tape.error.is_none())?;
            return Ok(rows);
        }
        let mut step = Step::root();
        for wanted in path.iter() {
            let Some(child) = self.child(py, &mut step, &wanted)? else {
                self.check(py, !self.tape.is_open(step.node))?;
                rows.append(self.row(py, &step)?)?;
                return Ok(rows);
            };
            self.check(py, !rest || !self.tape.is_open(step.node))?;
            rows.append(self.row(py, &step)?)?;
            step = child;
        }
        self.check(py, !self.tape.is_open(step.node))?;
        rows.append(self.row(py, &step)?)?;
        Ok(rows)
    }

    /// The first and the last character of each entry of the mapping or list at the last node of `path`; raises YamlError.
    fn entries<'py>(&self, py: Python<'py>, node: usize) -> PyResult<Bound<'py, PyList>> {
        let spans = new_list(py)?;
        let mut at = node + 1;
        while at < self.tape.next(node) {
            let row = &self.tape.nodes[at];
            spans.append((row.mark.start, row.end.max(row.mark.start)))?;
            at = self.tape.next(at);
        }
        Ok(spans)
    }

    /// Start, end and style of each scalar, by the parser's marks. Raises YamlError.
    fn scalars<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        self.check(py, self.tape.error.is_none())?;
        let scalars = new_list(py)?;
        for node in self.tape.nodes.iter().filter(|node| node.kind == Kind::Scalar) {
            scalars.append((node.mark.start, node.mark.end, style(node)))?;
        }
        Ok(scalars)
    }

    /// Start and name of each anchor that an alias repeats. Raises YamlError.
    fn shared_anchors<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        self.check(py, self.tape.error.is_none())?;
        let anchors = new_list(py)?;
        let mut repeated = HashSet::new();
        for node in self.tape.nodes.iter().filter(|node| node.kind == Kind::Alias) {
            repeated.try_reserve(1).map_err(|_| no_memory())?;
            repeated.insert(self.tape.value(node));
        }
        for node in &self.tape.nodes {
            let Some(name) = self.tape.anchor(node).filter(|_| node.kind != Kind::Alias) else {
                continue;
            };
            if repeated.contains(name) {
                anchors.append((node.mark.start, name))?;
            }
        }
        Ok(anchors)
    }
}

impl Step {
    fn root() -> Step {
        Step { node: 0, key: None, in_flow: false, first: None, previous: None, merges: false, count: 0, next: None }
    }
}

impl Tree {
    /// Raises the error of the text unless `holds`.
    fn check(&self, py: Python<'_>, holds: bool) -> PyResult<()> {
        match &self.tape.error {
            Some(error) if !holds => Err(read_error(py, self.text.bind(py), error.at, &error.message)),
            _ => Ok(()),
        }
    }

    /// The node at `wanted` below that of `step`, of which it is said what stands before; None where there is none.
    fn child(&self, py: Python<'_>, step: &mut Step, wanted: &Bound<'_, PyAny>) -> PyResult<Option<Step>> {
        let tape = &self.tape;
        let parent = &tape.nodes[step.node];
        let name = wanted.cast_exact::<PyString>().ok();
        let number = wanted.cast_exact::<PyInt>().ok().map(|number| number.extract::<usize>().unwrap_or(usize::MAX));
        let is_mapping = match (parent.kind, &name, number) {
            (Kind::Mapping, Some(_), _) => true,
            (Kind::Sequence, None, Some(_)) => false,
            _ => return Ok(None),
        };
        let end = tape.next(step.node);
        let mut at = step.node + 1;
        while at < end {
            step.first = step.first.or(Some(at));
            let value = if is_mapping { tape.next(at) } else { at };
            let key = is_mapping.then_some(at);
            self.check(py, !is_mapping || (!tape.is_open(at) && value < end))?;
            if value >= end {
                break;
            }
            step.merges |= is_mapping && is_merge(tape, &tape.nodes[at]);
            let is_wanted = match (&name, number) {
                (Some(name), _) => self.is_key(py, &tape.nodes[at], name.to_str().unwrap_or("\u{0}"))?,
                (None, number) => number == Some(step.count),
            };
            let after = tape.next(value);
            if is_wanted {
                let in_flow = step.in_flow || parent.style == Style::Flow;
                let next = (after < end).then_some(after);
                return Ok(Some(Step { node: value, key, in_flow, next, ..Step::root() }));
            }
            self.check(py, !tape.is_open(value))?;
            step.previous = Some((value, key));
            step.count += 1;
            at = after;
        }
        Ok(None)
    }

    fn is_key(&self, py: Python<'_>, node: &Node, wanted: &str) -> PyResult<bool> {
        if node.kind != Kind::Scalar {
            return Ok(false);
        }
        let (text, tag) = (self.tape.value(node), self.tape.tag(node));
        if tag.is_none() && (node.style != Style::Plain || is_plain_string(text)) {
            return Ok(text == wanted);
        }
        let name = scalars(py)?.call_method1("key_name", (text, tag, node.style == Style::Plain))?;
        Ok(name.cast_exact::<PyString>().is_ok_and(|name| *name == *wanted))
    }

    /// The fields of `krmfn.yamltext.tree.Node`.
    fn row<'py>(&self, py: Python<'py>, step: &Step) -> PyResult<Bound<'py, PyTuple>> {
        let tape = &self.tape;
        let node = &tape.nodes[step.node];
        let key = step.key.map(|key| &tape.nodes[key]);
        let last_key = step.previous.and_then(|(_, key)| key).map(|key| style(&tape.nodes[key]));
        let start = if tape.is_open(step.node) { node.mark.start } else { node.mark.start.min(node.end) };
        let place = |place: Option<u32>| place.map_or(-1, i64::from).into_pyobject(py).map(Bound::into_any);
        let fields = [
            step.node.into_pyobject(py)?.into_any(),
            kind(node).into_pyobject(py)?.into_any(),
            style(node).into_pyobject(py)?.into_any(),
            tape.value(node).into_pyobject(py)?.into_any(),
            tape.anchor(node).into_pyobject(py)?.into_any(),
            tape.tag(node).into_pyobject(py)?.into_any(),
            place(Some(start))?,
            place((!tape.is_open(step.node)).then_some(node.end))?,
            place(Some(node.mark.end))?,
            (step.in_flow as i64).into_pyobject(py)?.into_any(),
            place(key.map(|key| key.mark.start))?,
            place(key.map(|key| key.end))?,
            place(step.first.map(|first| tape.nodes[first].mark.start))?,
            place(step.previous.map(|(value, _)| tape.nodes[value].end))?,
            last_key.into_pyobject(py)?.into_any(),
            (step.merges as i64).into_pyobject(py)?.into_any(),
            step.count.into_pyobject(py)?.into_any(),
            place(step.next.map(|next| tape.nodes[next].mark.start))?,
        ];
        PyTuple::new(py, fields)
    }
}

fn is_merge(tape: &Tape, key: &Node) -> bool {
    key.kind == Kind::Scalar && key.style == Style::Plain && tape.value(key) == "<<"
}

fn kind(node: &Node) -> &'static str {
    match node.kind {
        Kind::Mapping => "mapping",
        Kind::Sequence => "list",
        Kind::Alias => "alias",
        _ => "scalar",
    }
}

fn style(node: &Node) -> &'static str {
    match node.style {
        Style::Plain => "",
        Style::SingleQuoted => "'",
        Style::DoubleQuoted => "\"",
        Style::Literal => "|",
        Style::Folded => ">",
        Style::Block => "block",
        Style::Flow => "flow",
    }
}
