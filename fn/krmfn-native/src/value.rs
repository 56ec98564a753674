//! The value of a document, with kyaml's meaning of scalars, aliases and merges, as in `krmfn.yamltext.pyyaml`.

use std::collections::HashMap;

use pyo3::call::PyCallArgs;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyBool, PyDict, PyList, PyString};

use crate::events::{Kind, Place, Style};
use crate::memory::{OutOfMemory, ensure};
use crate::numbers::{Plain, float, integer};
use crate::strings::Strings;
use crate::tape::{Node, Tape};

/// The largest number of nodes in a document with aliases, after each alias is expanded.
const MOST_EXPANDED: usize = 1_000_000;
const MERGE: &str = "<<";
const MERGE_TAG: &str = "tag:yaml.org,2002:merge";
const NO_KEY: &str = "a key must be a string, a number or a boolean; got";

/// A mapping or list that is still being read.
struct Frame<'py> {
    node: usize,
    /// The number of nodes before it, including the nodes of expanded aliases.
    before: usize,
    items: Items<'py>,
}

enum Items<'py> {
    List(Bound<'py, PyList>),
    Mapping {
        fields: Bound<'py, PyDict>,
        key: Option<Key<'py>>,
        /// The value of the key `<<`, after it was read.
        merged: Option<Bound<'py, PyAny>>,
    },
}

enum Key<'py> {
    Name(Bound<'py, PyString>),
    Merge,
}

/// A node with an anchor.
struct Anchored<'py> {
    place: usize,
    /// Its value and its number of nodes, or None while the node is being read.
    value: Option<(Bound<'py, PyAny>, usize)>,
}

/// Returns the value of the only document of `text`. Raises YamlError if it is invalid.
pub fn value<'py>(py: Python<'py>, text: &Bound<'py, PyString>, tape: &Tape) -> PyResult<Bound<'py, PyAny>> {
    let mut builder = Builder {
        py,
        text,
        tape,
        open: Vec::new(),
        anchors: HashMap::new(),
        nodes: 0,
        strings: Strings::kept(),
        root: None,
    };
    for (place, node) in tape.nodes.iter().enumerate() {
        builder.close_before(place)?;
        builder.take(place, node)?;
    }
    builder.close_before(tape.nodes.len())?;
    if let Some(error) = &tape.error {
        return Err(read_error(py, text, error.at, &error.message));
    }
    if let Some(second) = tape.second {
        return Err(error_at(text, second, "a second YAML document starts here; only one is allowed"));
    }
    Ok(builder.root.unwrap_or_else(|| py.None().into_bound(py)))
}

struct Builder<'py, 'a> {
    py: Python<'py>,
    text: &'a Bound<'py, PyString>,
    tape: &'a Tape,
    open: Vec<Frame<'py>>,
    /// The last node with each anchor. As in kyaml, a node has its anchor from its start, so a node inside it may
    /// replace the anchor.
    anchors: HashMap<&'a str, Anchored<'py>>,
    nodes: usize,
    strings: Strings,
    root: Option<Bound<'py, PyAny>>,
}

impl<'py> Builder<'py, '_> {
    fn error(&self, node: &Node, message: &str) -> PyErr {
        error_at(self.text, node.mark.start as usize, message)
    }

    fn take(&mut self, place: usize, node: &Node) -> PyResult<()> {
        let awaits_key = matches!(self.open.last(), Some(Frame { items: Items::Mapping { key: None, .. }, .. }));
        match node.kind {
            Kind::Scalar if awaits_key => self.scalar_key(place, node),
            Kind::Alias if awaits_key => {
                let value = self.alias(node)?;
                let key = self.key_of(&value)?;
                let name = self.tape.value(node);
                let key = key.ok_or_else(|| self.error(node, &format!("{NO_KEY} \"*{name}\"")))?;
                self.put_key(node, Key::Name(key))
            }
            Kind::Mapping | Kind::Sequence if awaits_key => {
                Err(self.error(node, &format!("{NO_KEY} a mapping or a list")))
            }
            Kind::Scalar => {
                self.nodes += 1;
                let value = self.scalar(node)?;
                self.name(place, Some((&value, 1)))?;
                self.put(node, value)
            }
            Kind::Alias => {
                let value = self.alias(node)?;
                self.put(node, value)
            }
            _ => self.enter(place, node),
        }
    }

    fn enter(&mut self, place: usize, node: &Node) -> PyResult<()> {
        let before = self.nodes;
        self.nodes += 1;
        self.name(place, None)?;
        let items = if node.kind == Kind::Mapping {
            Items::Mapping { fields: new_mapping(self.py)?, key: None, merged: None }
        } else {
            Items::List(new_list(self.py)?)
        };
        self.open.try_reserve(1).map_err(OutOfMemory::from)?;
        self.open.push(Frame { node: place, before, items });
        Ok(())
    }

    /// Closes the mappings and lists that end before the node at `place`.
    fn close_before(&mut self, place: usize) -> PyResult<()> {
        while let Some(frame) = self.open.last()
            && !self.tape.is_open(frame.node)
            && self.tape.next(frame.node) <= place
            && let Some(frame) = self.open.pop()
        {
            let node = &self.tape.nodes[frame.node];
            let value = match frame.items {
                Items::List(list) => list.into_any(),
                Items::Mapping { fields, merged, .. } => {
                    if let Some(merged) = merged {
                        self.merge(node, &fields, &merged)?;
                    }
                    fields.into_any()
                }
            };
            if let Some(anchored) = self.tape.anchor(node).and_then(|anchor| self.anchors.get_mut(anchor))
                && anchored.place == frame.node
            {
                anchored.value = Some((value.clone(), self.nodes - frame.before));
            }
            self.put(node, value)?;
        }
        Ok(())
    }

    /// Adds to `fields` the fields of `merged`, a mapping or a list of mappings, that `fields` lacks.
    fn merge(&mut self, node: &Node, fields: &Bound<'py, PyDict>, merged: &Bound<'py, PyAny>) -> PyResult<()> {
        let mut sources = Vec::new();
        match merged.cast::<PyList>() {
            Ok(list) => {
                sources.try_reserve_exact(list.len()).map_err(OutOfMemory::from)?;
                sources.extend(list.iter());
            }
            Err(_) => sources.push(merged.clone()),
        }
        for source in sources {
            let source = source.cast_into::<PyDict>()?;
            self.count(node.mark.end as usize, source.len())?;
            for (name, value) in source.iter() {
                // To kyaml, the merge key is itself a field `<<` of this mapping.
                if !fields.contains(&name)? && !is_name(&name, MERGE) {
                    fields.set_item(name, value)?;
                }
            }
        }
        Ok(())
    }

    /// Records the node at `place` as the last node with its anchor, if it has one.
    fn name(&mut self, place: usize, value: Option<(&Bound<'py, PyAny>, usize)>) -> PyResult<()> {
        if let Some(anchor) = self.tape.anchor(&self.tape.nodes[place]) {
            self.anchors.try_reserve(1).map_err(OutOfMemory::from)?;
            let value = value.map(|(value, nodes)| (value.clone(), nodes));
            self.anchors.insert(anchor, Anchored { place, value });
        }
        Ok(())
    }

    fn alias(&mut self, node: &Node) -> PyResult<Bound<'py, PyAny>> {
        let name = self.tape.value(node);
        let (value, nodes) = match self.anchors.get(name).map(|anchored| &anchored.value) {
            Some(Some((value, nodes))) => (value.clone(), *nodes),
            Some(None) => return Err(self.error(node, &format!("anchor \"{name}\" must not contain itself"))),
            None => {
                return Err(self.error(node, &format!("anchor \"{name}\" must be defined before it is used")));
            }
        };
        self.count(node.mark.start as usize, nodes)?;
        Ok(value)
    }

    fn count(&mut self, at: usize, nodes: usize) -> PyResult<()> {
        self.nodes += nodes;
        if self.nodes > MOST_EXPANDED {
            return Err(error_at(self.text, at, &format!("aliases expand to more than {MOST_EXPANDED} nodes")));
        }
        Ok(())
    }

    fn scalar_key(&mut self, place: usize, node: &Node) -> PyResult<()> {
        self.nodes += 1;
        let value = self.scalar(node)?;
        self.name(place, Some((&value, 1)))?;
        if is_merge(self.tape, node) {
            return self.put_key(node, Key::Merge);
        }
        let text = self.tape.value(node);
        let key = self.key_of(&value)?.ok_or_else(|| self.error(node, &format!("{NO_KEY} \"{text}\"")))?;
        self.put_key(node, Key::Name(key))
    }

    /// Returns the string that a key becomes, or None if it cannot be a key.
    fn key_of(&self, value: &Bound<'py, PyAny>) -> PyResult<Option<Bound<'py, PyString>>> {
        if let Ok(name) = value.cast_exact::<PyString>() {
            return Ok(Some(name.clone()));
        }
        if value.is_exact_instance_of::<PyDict>() || value.is_exact_instance_of::<PyList>() {
            return Ok(None);
        }
        Ok(ask_scalars(self.py, "key_text", (value,))?.cast_into().ok())
    }

    fn put_key(&mut self, node: &Node, key: Key<'py>) -> PyResult<()> {
        let Some(Frame { items: Items::Mapping { fields, key: awaited, merged }, .. }) = self.open.last_mut() else {
            return Ok(());
        };
        // To kyaml, a merge key `<<` and a string key `<<` are the same.
        let repeated = match &key {
            Key::Name(name) if fields.contains(name)? || (merged.is_some() && is_name(name, MERGE)) => {
                Some(name.to_string())
            }
            Key::Merge if merged.is_some() || fields.contains(MERGE)? => Some(MERGE.to_owned()),
            _ => None,
        };
        *awaited = Some(key);
        match repeated {
            Some(name) => Err(self.error(node, &format!("duplicate key \"{name}\""))),
            None => Ok(()),
        }
    }

    /// Adds `value` to the innermost mapping or list. Without one, it is the value of the document.
    fn put(&mut self, node: &Node, value: Bound<'py, PyAny>) -> PyResult<()> {
        match self.open.last_mut().map(|frame| &mut frame.items) {
            None => self.root = Some(value),
            Some(Items::List(list)) => list.append(value)?,
            Some(Items::Mapping { fields, key, merged }) => match key.take() {
                Some(Key::Name(name)) => fields.set_item(name, value)?,
                _ => {
                    let is_mapping = |source: &Bound<'py, PyAny>| source.is_exact_instance_of::<PyDict>();
                    let are_mappings = |list: &Bound<'py, PyList>| list.iter().all(|source| is_mapping(&source));
                    let can_merge = is_mapping(&value)
                        || (node.kind != Kind::Alias && value.cast::<PyList>().is_ok_and(are_mappings));
                    *merged = Some(value);
                    if !can_merge {
                        let at = if matches!(node.kind, Kind::Scalar | Kind::Alias) {
                            node.mark.start
                        } else {
                            node.mark.end
                        };
                        let message = "\"<<\" must merge a mapping or a list of mappings";
                        return Err(error_at(self.text, at as usize, message));
                    }
                }
            },
        }
        Ok(())
    }

    /// Returns true if the innermost mapping or list is in brackets.
    fn is_in_flow(&self) -> bool {
        self.open.last().is_some_and(|frame| self.tape.nodes[frame.node].style == Style::Flow)
    }

    fn scalar(&mut self, node: &Node) -> PyResult<Bound<'py, PyAny>> {
        let py = self.py;
        let text = self.tape.value(node);
        let is_plain = node.style == Style::Plain;
        if is_plain && text.contains('?') && self.is_in_flow() {
            // The parser reads `?` as a character, and kyaml as the mark of a key.
            return Err(self.error(node, "a text with \"?\" within brackets must be in quotes"));
        }
        match self.tape.tag(node) {
            None | Some("!") if !is_plain => Ok(self.strings.get(py, text)?.into_any()),
            None => self.plain(text),
            Some(tag) => {
                if node.is_tag_and_comma {
                    // The parser ends the tag at the comma, and kyaml includes the comma in the tag.
                    return Err(self.error(node, "a tag and a comma must have a space between them"));
                }
                if tag == "!" {
                    return self.plain(text);
                }
                ask_scalars(py, "value_of_tag", (tag, text)).map_err(|error| {
                    let message = error.value(py).to_string();
                    self.error(node, &message)
                })
            }
        }
    }

    /// Returns the value of a text without quotes.
    fn plain(&mut self, text: &str) -> PyResult<Bound<'py, PyAny>> {
        let py = self.py;
        Ok(match text {
            "" | "~" | "null" | "Null" | "NULL" => py.None().into_bound(py),
            "true" | "True" | "TRUE" => PyBool::new(py, true).to_owned().into_any(),
            "false" | "False" | "FALSE" => PyBool::new(py, false).to_owned().into_any(),
            _ => match Plain::of(text) {
                Plain::Text => self.strings.get(py, text)?.into_any(),
                Plain::Integer(number) => integer(py, number)?,
                Plain::Float(number) => float(py, number)?,
                Plain::Odd => ask_scalars(py, "resolve", (text,))?,
            },
        })
    }
}

fn is_name(key: &Bound<'_, PyAny>, name: &str) -> bool {
    key.cast::<PyString>().is_ok_and(|key| *key == *name)
}

/// Returns true if a key is a merge key.
pub fn is_merge(tape: &Tape, key: &Node) -> bool {
    let is_plain = key.style == Style::Plain && matches!(tape.tag(key), None | Some("!"));
    key.kind == Kind::Scalar && tape.value(key) == MERGE && (is_plain || tape.tag(key) == Some(MERGE_TAG))
}

/// Returns true if a plain text is a string.
pub fn is_plain_string(text: &str) -> bool {
    let is_constant =
        matches!(text, "" | "~" | "null" | "Null" | "NULL" | "true" | "True" | "TRUE" | "false" | "False" | "FALSE");
    !is_constant && matches!(Plain::of(text), Plain::Text)
}

/// Returns the result of the function `name` in `krmfn.yamltext.scalars`, which defines the meaning of scalars.
pub fn ask_scalars<'py>(py: Python<'py>, name: &str, arguments: impl PyCallArgs<'py>) -> PyResult<Bound<'py, PyAny>> {
    ensure(0)?;
    static MODULE: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
    let module =
        MODULE.get_or_try_init(py, || PyResult::Ok(py.import("krmfn.yamltext.scalars")?.into_any().unbind()))?;
    module.bind(py).call_method1(name, arguments)
}

/// Returns a YamlError with `message` that points at the character at `at`.
pub fn error_at(text: &Bound<'_, PyString>, at: usize, message: &str) -> PyErr {
    raised(text.py(), "error_at", (text, at, message))
}

/// Returns the YamlError for an error of the parser.
pub fn read_error(py: Python<'_>, text: &Bound<'_, PyString>, at: Place, message: &str) -> PyErr {
    match at {
        Place::Character(at) => raised(py, "error_at", (text, at, message)),
        Place::Byte(at) => raised(py, "error_at_byte", (text, at, message)),
    }
}

fn raised<'py>(py: Python<'py>, name: &str, arguments: (&Bound<'py, PyString>, usize, &str)) -> PyErr {
    let error =
        ensure(0).map_err(PyErr::from).and_then(|()| py.import("krmfn.yamltext.reader")?.call_method1(name, arguments));
    error.map_or_else(|error| error, PyErr::from_value)
}

/// Returns an empty list. Raises MemoryError if there is not enough memory, instead of a panic.
pub fn new_list(py: Python<'_>) -> PyResult<Bound<'_, PyList>> {
    Ok(py.get_type::<PyList>().call0()?.cast_into()?)
}

fn new_mapping(py: Python<'_>) -> PyResult<Bound<'_, PyDict>> {
    Ok(py.get_type::<PyDict>().call0()?.cast_into()?)
}
