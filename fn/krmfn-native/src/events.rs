//! The events of libyaml for a text. Only this file handles pointers of libyaml's port to Rust.
//!
//! Every pointer that is read here comes from an event or a parser that exists. An `Event` owns the memory to which it
//! points until it is dropped. A `Parser` borrows its text.

use std::ffi::{CStr, c_char};
use std::marker::PhantomData;
use std::mem::MaybeUninit;

use libyaml_rs as libyaml;

/// The kind of an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    StreamStart,
    StreamEnd,
    DocumentStart,
    DocumentEnd,
    Scalar,
    Alias,
    Mapping,
    Sequence,
    /// The end of a mapping or a sequence.
    End,
}

/// The style in which a node is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Style {
    Plain,
    SingleQuoted,
    DoubleQuoted,
    Literal,
    Folded,
    Block,
    Flow,
}

/// An error in a text, and its place.
#[derive(Clone, Debug)]
pub struct Error {
    pub at: Place,
    pub message: String,
}

#[derive(Clone, Copy, Debug)]
pub enum Place {
    /// The offset of a character, from 0.
    Character(usize),
    /// The offset of a byte in the text without its byte order mark, from 0.
    Byte(usize),
}

/// A parser of one text.
pub struct Parser<'a> {
    parser: Box<MaybeUninit<libyaml::yaml_parser_t>>,
    text: PhantomData<&'a str>,
}

/// One event, and the memory that it owns.
pub struct Event {
    event: libyaml::yaml_event_t,
}

impl<'a> Parser<'a> {
    /// Returns a parser of `text`, or None if it cannot be initialized.
    pub fn new(text: &'a str) -> Option<Parser<'a>> {
        let mut parser = Box::new(MaybeUninit::uninit());
        // SAFETY: the port initializes the parser before anything else reads it, and the text outlives it.
        unsafe {
            if libyaml::yaml_parser_initialize(parser.as_mut_ptr()).fail {
                return None;
            }
            libyaml::yaml_parser_set_input_string(parser.as_mut_ptr(), text.as_ptr(), text.len() as u64);
        }
        Some(Parser { parser, text: PhantomData })
    }

    /// Returns the next event, or the error in the text.
    pub fn next(&mut self) -> Result<Event, Error> {
        let mut event = MaybeUninit::uninit();
        // SAFETY: the parser is initialized, and the port has written the event if it reports success.
        unsafe {
            if libyaml::yaml_parser_parse(self.parser.as_mut_ptr(), event.as_mut_ptr()).fail {
                return Err(self.error());
            }
            Ok(Event { event: event.assume_init() })
        }
    }

    fn error(&self) -> Error {
        // SAFETY: the parser is initialized, and its texts are constants of the port.
        unsafe {
            let parser = &**self.parser.as_ptr();
            let problem = constant(parser.problem).map(spelt_by_libyaml);
            let context = constant(parser.context);
            if parser.error == libyaml::YAML_READER_ERROR {
                let message = format!("must contain only printable characters; {}", problem.unwrap_or_default());
                return Error { at: Place::Byte(parser.problem_offset as usize), message };
            }
            let message = match (problem, context) {
                (Some(problem), Some(context)) => format!("{problem} ({context})"),
                (Some(one), None) | (None, Some(one)) => one.to_owned(),
                (None, None) => "is not YAML".to_owned(),
            };
            Error { at: Place::Byte(parser.problem_mark.index as usize), message }
        }
    }
}

impl Drop for Parser<'_> {
    fn drop(&mut self) {
        // SAFETY: the parser was initialized, and it is not used again.
        unsafe { libyaml::yaml_parser_delete(self.parser.as_mut_ptr()) }
    }
}

impl Event {
    pub fn kind(&self) -> Kind {
        match self.event.type_ {
            libyaml::YAML_STREAM_START_EVENT => Kind::StreamStart,
            libyaml::YAML_DOCUMENT_START_EVENT => Kind::DocumentStart,
            libyaml::YAML_DOCUMENT_END_EVENT => Kind::DocumentEnd,
            libyaml::YAML_ALIAS_EVENT => Kind::Alias,
            libyaml::YAML_SCALAR_EVENT => Kind::Scalar,
            libyaml::YAML_SEQUENCE_START_EVENT => Kind::Sequence,
            libyaml::YAML_MAPPING_START_EVENT => Kind::Mapping,
            libyaml::YAML_SEQUENCE_END_EVENT | libyaml::YAML_MAPPING_END_EVENT => Kind::End,
            _ => Kind::StreamEnd,
        }
    }

    /// Returns the offset of the event's first byte, from 0.
    pub fn start(&self) -> usize {
        self.event.start_mark.index as usize
    }

    /// Returns the offset after the event's last byte.
    pub fn end(&self) -> usize {
        self.event.end_mark.index as usize
    }

    pub fn style(&self) -> Style {
        // SAFETY: the type of the event determines which part of the union is set.
        unsafe {
            match self.kind() {
                Kind::Mapping if self.event.data.mapping_start.style == libyaml::YAML_FLOW_MAPPING_STYLE => Style::Flow,
                Kind::Sequence if self.event.data.sequence_start.style == libyaml::YAML_FLOW_SEQUENCE_STYLE => {
                    Style::Flow
                }
                Kind::Mapping | Kind::Sequence => Style::Block,
                Kind::Scalar => match self.event.data.scalar.style {
                    libyaml::YAML_SINGLE_QUOTED_SCALAR_STYLE => Style::SingleQuoted,
                    libyaml::YAML_DOUBLE_QUOTED_SCALAR_STYLE => Style::DoubleQuoted,
                    libyaml::YAML_LITERAL_SCALAR_STYLE => Style::Literal,
                    libyaml::YAML_FOLDED_SCALAR_STYLE => Style::Folded,
                    _ => Style::Plain,
                },
                _ => Style::Plain,
            }
        }
    }

    /// Returns the text of a scalar, or "" for other events.
    pub fn value(&self) -> &str {
        if self.kind() != Kind::Scalar {
            return "";
        }
        // SAFETY: the type of the event determines which part of the union is set. Its bytes live as long as the event.
        let bytes = unsafe {
            let scalar = &self.event.data.scalar;
            std::slice::from_raw_parts(scalar.value, scalar.length as usize)
        };
        str::from_utf8(bytes).unwrap_or_default()
    }

    /// Returns the name of a node's anchor, or of the anchor to which an alias refers.
    pub fn anchor(&self) -> Option<&str> {
        // SAFETY: the type of the event determines which part of the union is set.
        unsafe {
            let data = &self.event.data;
            self.name(match self.kind() {
                Kind::Scalar => data.scalar.anchor,
                Kind::Alias => data.alias.anchor,
                Kind::Mapping => data.mapping_start.anchor,
                Kind::Sequence => data.sequence_start.anchor,
                _ => std::ptr::null_mut(),
            })
        }
    }

    /// Returns a node's tag, with the handle written out.
    pub fn tag(&self) -> Option<&str> {
        // SAFETY: the type of the event determines which part of the union is set.
        unsafe {
            let data = &self.event.data;
            self.name(match self.kind() {
                Kind::Scalar => data.scalar.tag,
                Kind::Mapping => data.mapping_start.tag,
                Kind::Sequence => data.sequence_start.tag,
                _ => std::ptr::null_mut(),
            })
        }
    }

    /// # Safety
    ///
    /// `name` is null or a text of this event.
    unsafe fn name(&self, name: *mut u8) -> Option<&str> {
        if name.is_null() {
            return None;
        }
        // SAFETY: the port ends its texts with NUL, and they live as long as the event.
        Some(unsafe { CStr::from_ptr(name.cast::<c_char>()) }.to_str().unwrap_or_default())
    }
}

impl Drop for Event {
    fn drop(&mut self) {
        // SAFETY: the port made the event, and it is not used again.
        unsafe { libyaml::yaml_event_delete(&raw mut self.event) }
    }
}

/// # Safety
///
/// `text` is null or a constant of the port.
unsafe fn constant(text: *const i8) -> Option<&'static str> {
    if text.is_null() {
        return None;
    }
    // SAFETY: as above; the port ends its texts with NUL.
    unsafe { CStr::from_ptr(text.cast::<c_char>()) }.to_str().ok()
}

/// Returns a text of the port as libyaml and PyYAML spell it.
fn spelt_by_libyaml(problem: &'static str) -> &'static str {
    match problem {
        "did not find expected hexadecimal number" => "did not find expected hexdecimal number",
        problem => problem,
    }
}
