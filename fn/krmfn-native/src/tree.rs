//! The nodes of a text, and searches for some of them: `krmfn.yamltext.reader`.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex};

use pyo3::prelude::*;
use pyo3::types::{PyInt, PyList, PyString, PyTuple};

use crate::events::{Kind, Style};
use crate::memory::{OutOfMemory, ensure};
use crate::outline;
use crate::source::Source;
use crate::tape::{Node, Tape};
use crate::value::{ask_scalars, is_merge, is_plain_string, new_list, read_error, value};

/// The first document of a text, as far as it can be read.
#[pyclass(frozen)]
pub struct Tree {
    text: Py<PyString>,
    tape: Tape,
    /// The entries of the mappings and lists on the paths of earlier searches.
    indexes: Mutex<HashMap<usize, Arc<Index>>>,
}

/// The entries of a mapping or a list, in order.
struct Index {
    /// The key (None in a list) and the value of each entry.
    entries: Vec<(Option<usize>, usize)>,
    /// The first entry with each name. It is empty if there are few entries.
    names: HashMap<String, usize>,
    /// The first entry with a key `<<`.
    merge: Option<usize>,
}

/// The largest numbers of bytes that Python uses: for a row of `find` without the texts of its node, and for a tuple of
/// three.
const ROW: usize = 2048;
const TRIPLE: usize = 256;

/// The largest number of entries that are searched one by one.
const FEW: usize = 16;

/// A node on a path, and the data about its entries before the next step of the path.
struct Step {
    node: usize,
    key: Option<usize>,
    in_flow: bool,
    first: Option<usize>,
    /// The value and the key of the entry before the next step of the path. If that step does not exist, they are the
    /// last entry's.
    previous: Option<(usize, Option<usize>)>,
    merges: bool,
    count: usize,
    /// The next key or item in the node's parent.
    next: Option<usize>,
}

#[pymethods]
impl Tree {
    /// Returns the nodes of `text`. More than `most` nodes are an error with the message `too_many`.
    #[new]
    fn new(text: Bound<'_, PyString>, most: usize, too_many: &str) -> PyResult<Tree> {
        let tape = Tape::of(&Source::of(text.to_str()?), most, too_many)?;
        Ok(Tree { text: text.unbind(), tape, indexes: Mutex::default() })
    }

    /// Returns the value of the one document. Raises YamlError if it is invalid.
    fn value<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        value(py, self.text.bind(py), &self.tape)
    }

    /// Returns the words of `wanted` that are the text of a scalar, or None if only the value shows that the document
    /// is valid.
    fn words<'py>(&self, py: Python<'py>, wanted: &Bound<'py, PyTuple>) -> PyResult<Option<Bound<'py, PyList>>> {
        let mut words = Vec::new();
        words.try_reserve_exact(wanted.len()).map_err(OutOfMemory::from)?;
        for word in wanted.iter() {
            words.push(word.cast_into::<PyString>()?);
        }
        let mut texts = Vec::new();
        texts.try_reserve_exact(words.len()).map_err(OutOfMemory::from)?;
        for word in &words {
            texts.push((word.to_str()?, false));
        }
        if !outline::words(&self.tape, &mut texts)? {
            return Ok(None);
        }
        let told = new_list(py)?;
        for (word, &(_, is_found)) in words.iter().zip(&texts) {
            if is_found {
                told.append(word)?;
            }
        }
        Ok(Some(told))
    }

    /// Returns the existing nodes along `path`, the root first, or an empty list for an empty document.
    ///
    /// With `rest`, the text after the last of them must be readable too. Raises YamlError if it is not.
    fn find<'py>(&self, py: Python<'py>, path: &Bound<'py, PyTuple>, rest: bool) -> PyResult<Bound<'py, PyList>> {
        let rows = new_list(py)?;
        if self.tape.nodes.is_empty() {
            self.check(py, self.tape.error.is_none())?;
            return Ok(rows);
        }
        let mut steps = Vec::new();
        steps.try_reserve_exact(path.len() + 1).map_err(OutOfMemory::from)?;
        let mut step = Step::root();
        for wanted in path.iter() {
            let Some(child) = self.child(py, &mut step, &wanted)? else {
                break;
            };
            self.check(py, !rest || !self.tape.is_open(step.node))?;
            steps.push(std::mem::replace(&mut step, child));
        }
        self.check(py, !self.tape.is_open(step.node))?;
        steps.push(step);
        ensure(steps.iter().map(|step| self.tape.size(step.node) + ROW).sum())?;
        for step in &steps {
            rows.append(self.row(py, step)?)?;
        }
        Ok(rows)
    }

    /// Returns the number, start and end of each entry of the list with the number `node`.
    fn entries<'py>(&self, py: Python<'py>, node: usize) -> PyResult<Bound<'py, PyList>> {
        let end = self.tape.next(node);
        let from = |at: usize| (at < end).then_some(at);
        let items = || std::iter::successors(from(node + 1), |&at| from(self.tape.next(at)));
        ensure(items().count() * TRIPLE)?;
        let spans = new_list(py)?;
        for at in items() {
            let row = &self.tape.nodes[at];
            spans.append((at, row.mark.start, row.end.max(row.mark.start)))?;
        }
        Ok(spans)
    }

    /// Returns the nodes of `text`, the lines of the list's entry `entry`, as if read alone. In the whole text, the
    /// lines begin at `start` and the dash is at `dash`.
    fn part(&self, text: Bound<'_, PyString>, entry: usize, start: usize, dash: usize) -> PyResult<Tree> {
        let length = text.len()?;
        let tape = self.tape.part(entry, start, dash, length)?;
        Ok(Tree { text: text.unbind(), tape, indexes: Mutex::default() })
    }

    /// Returns start, end and style of each scalar, by the parser's marks. Raises YamlError if the text is invalid.
    fn scalars<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        self.check(py, self.tape.error.is_none())?;
        let nodes = || self.tape.nodes.iter().filter(|node| node.kind == Kind::Scalar);
        ensure(nodes().count() * TRIPLE)?;
        let scalars = new_list(py)?;
        for node in nodes() {
            scalars.append((node.mark.start, node.mark.end, style(node)))?;
        }
        Ok(scalars)
    }

    /// Returns start and name of each anchor that an alias repeats. Raises YamlError if the text is invalid.
    fn shared_anchors<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        self.check(py, self.tape.error.is_none())?;
        let mut repeated = HashSet::new();
        for node in self.tape.nodes.iter().filter(|node| node.kind == Kind::Alias) {
            repeated.try_reserve(1).map_err(OutOfMemory::from)?;
            repeated.insert(self.tape.value(node));
        }
        let named = || self.tape.nodes.iter().filter(|node| node.kind != Kind::Alias);
        let shared = || {
            named().filter_map(|node| {
                Some((node.mark.start, self.tape.anchor(node).filter(|name| repeated.contains(name))?))
            })
        };
        ensure(shared().map(|(_, name)| TRIPLE + 4 * name.len()).sum())?;
        let anchors = new_list(py)?;
        for anchor in shared() {
            anchors.append(anchor)?;
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

    /// Returns the child of `step` with the key or index `wanted`, or None. Records in `step` the entries before the
    /// child.
    fn child(&self, py: Python<'_>, step: &mut Step, wanted: &Bound<'_, PyAny>) -> PyResult<Option<Step>> {
        let tape = &self.tape;
        let parent = &tape.nodes[step.node];
        if !matches!(parent.kind, Kind::Mapping | Kind::Sequence) {
            return Ok(None);
        }
        let index = self.index(py, step.node)?;
        let place = match (parent.kind, wanted.cast_exact::<PyString>(), wanted.cast_exact::<PyInt>()) {
            (Kind::Mapping, Ok(name), _) => self.place_of(py, &index, name.to_str().unwrap_or("\u{0}"))?,
            (Kind::Sequence, _, Ok(number)) => number.extract().ok().filter(|&number| number < index.entries.len()),
            _ => return Ok(None),
        };
        let before = place.unwrap_or(index.entries.len());
        step.first = index.entries.first().map(|&(key, value)| key.unwrap_or(value));
        step.previous = before.checked_sub(1).map(|last| (index.entries[last].1, index.entries[last].0));
        step.count = before;
        step.merges = index.merge.is_some_and(|merge| place.is_none_or(|place| merge <= place));
        let Some(place) = place else {
            return Ok(None);
        };
        let (key, node) = index.entries[place];
        let next = index.entries.get(place + 1).map(|&(key, value)| key.unwrap_or(value));
        let in_flow = step.in_flow || parent.style == Style::Flow;
        Ok(Some(Step { node, key, in_flow, next, ..Step::root() }))
    }

    /// Returns the place of the entry with the key `wanted`, or None.
    fn place_of(&self, py: Python<'_>, index: &Index, wanted: &str) -> PyResult<Option<usize>> {
        if index.entries.len() > FEW {
            return Ok(index.names.get(wanted).copied());
        }
        for (place, (key, _)) in index.entries.iter().enumerate() {
            if let Some(key) = key
                && self.name_of(py, *key, |name| name == wanted)? == Some(true)
            {
                return Ok(Some(place));
            }
        }
        Ok(None)
    }

    /// Returns the result of `use_of` for the name of a key, or None if the key cannot be a name.
    fn name_of<T>(&self, py: Python<'_>, key: usize, use_of: impl Fn(&str) -> T) -> PyResult<Option<T>> {
        let node = &self.tape.nodes[key];
        if node.kind != Kind::Scalar {
            return Ok(None);
        }
        let (text, tag) = (self.tape.value(node), self.tape.tag(node));
        if tag.is_none() && (node.style != Style::Plain || is_plain_string(text)) {
            return Ok(Some(use_of(text)));
        }
        let name = ask_scalars(py, "key_name", (text, tag, node.style == Style::Plain))?;
        Ok(name.cast_exact::<PyString>().ok().and_then(|name| name.to_str().ok().map(use_of)))
    }

    fn index(&self, py: Python<'_>, node: usize) -> PyResult<Arc<Index>> {
        if let Ok(known) = self.indexes.lock()
            && let Some(index) = known.get(&node)
        {
            return Ok(index.clone());
        }
        let index = self.new_index(py, node)?;
        ensure(0)?;
        let index = Arc::new(index);
        if let Ok(mut known) = self.indexes.lock()
            && known.try_reserve(1).is_ok()
        {
            known.insert(node, index.clone());
        }
        Ok(index)
    }

    fn new_index(&self, py: Python<'_>, node: usize) -> PyResult<Index> {
        let tape = &self.tape;
        let is_mapping = tape.nodes[node].kind == Kind::Mapping;
        let mut index = Index { entries: Vec::new(), names: HashMap::new(), merge: None };
        let end = tape.next(node);
        let mut at = node + 1;
        while at < end {
            let value = if is_mapping { tape.next(at) } else { at };
            if value >= end {
                break;
            }
            if is_mapping && index.merge.is_none() && is_merge(tape, &tape.nodes[at]) {
                index.merge = Some(index.entries.len());
            }
            index.entries.try_reserve(1).map_err(OutOfMemory::from)?;
            index.entries.push((is_mapping.then_some(at), value));
            at = tape.next(value);
        }
        if is_mapping && index.entries.len() > FEW {
            index.names.try_reserve(index.entries.len()).map_err(OutOfMemory::from)?;
            for (place, (key, _)) in index.entries.iter().enumerate() {
                if let Some(key) = key
                    && let Some(name) = self.name_of(py, *key, copy_of)?
                {
                    index.names.entry(name?).or_insert(place);
                }
            }
        }
        Ok(index)
    }

    /// Returns the fields of `krmfn.yamltext.reader.YamlNode`.
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

/// Returns a copy of `text`. Raises MemoryError.
fn copy_of(text: &str) -> PyResult<String> {
    let mut copy = String::new();
    copy.try_reserve_exact(text.len()).map_err(OutOfMemory::from)?;
    copy.push_str(text);
    Ok(copy)
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
