//! XML files: elements by their local names, with the lines of their beginnings.

use crate::DatabaseError;
use crate::decimal::Decimal;
use crate::define::one_line;
use crate::signal::SignalKind;
use alloc::format;
use alloc::string::{String, ToString as _};
use alloc::vec::Vec;
use roxmltree::{Document, Node, ParsingOptions};

/// The most elements, attributes and texts of a file; each takes about 100 bytes of memory.
const MAX_NODES: u32 = 8 << 20;

/// Parses a text. Files with a document type definition are refused: its entities could make a text
/// of any length.
pub(crate) fn parse(text: &str) -> Result<Document<'_>, DatabaseError> {
    let options = ParsingOptions {
        allow_dtd: false,
        nodes_limit: MAX_NODES,
        ..ParsingOptions::default()
    };
    Document::parse_with_options(text, options).map_err(|error| {
        let place = error.pos();
        let problem = match error {
            roxmltree::Error::NodesLimitReached => {
                format!("more than {MAX_NODES} elements and texts")
            }
            // The place is written before the text.
            error => {
                let words = error.to_string();
                let end = words.rfind(" at ").unwrap_or(words.len());
                format!("not XML: {}", &words[..end])
            }
        };
        DatabaseError {
            line: place.row as usize,
            column: place.col as usize,
            problem: one_line(&problem),
        }
    })
}

/// Finds the lines of elements.
pub(crate) struct LineTable(Vec<usize>);

impl LineTable {
    pub(crate) fn new(text: &str) -> Self {
        let ends = text.bytes().enumerate().filter(|(_, byte)| *byte == b'\n');
        Self(ends.map(|(index, _)| index).collect())
    }

    /// Returns the line in which an element begins, from 1.
    pub(crate) fn of(&self, node: Node<'_, '_>) -> usize {
        let start = node.range().start;
        self.0.partition_point(|end| *end < start) + 1
    }

    /// Returns the error at the beginning of an element.
    pub(crate) fn error(&self, node: Node<'_, '_>, problem: &str) -> DatabaseError {
        let start = node.range().start;
        let before = self.0.partition_point(|end| *end < start);
        let line_start = before.checked_sub(1).map_or(0, |index| self.0[index] + 1);
        DatabaseError {
            line: before + 1,
            column: start - line_start + 1,
            problem: one_line(problem),
        }
    }
}

/// Returns the child elements of this name.
pub(crate) fn children<'a, 'input: 'a>(
    node: Node<'a, 'input>,
    name: &'static str,
) -> impl Iterator<Item = Node<'a, 'input>> {
    let all = node.children();
    all.filter(move |child| child.is_element() && child.tag_name().name() == name)
}

/// Returns the first child element of this name.
pub(crate) fn child<'a, 'input: 'a>(
    node: Node<'a, 'input>,
    name: &'static str,
) -> Option<Node<'a, 'input>> {
    children(node, name).next()
}

/// Returns all text in an element, without the blanks around it.
pub(crate) fn text(node: Node<'_, '_>) -> String {
    let texts = node.descendants().filter(Node::is_text);
    let all: String = texts.filter_map(|node| node.text()).collect();
    all.trim().to_string()
}

/// Parses a number as XML files have it: decimal, or hexadecimal or binary with `0x` or `0b`.
pub(crate) fn number(text: &str) -> Option<Decimal> {
    let text = text.trim();
    let (sign, digits) = match text.strip_prefix('-') {
        Some(digits) => (-1, digits),
        None => (1, text.strip_prefix('+').unwrap_or(text)),
    };
    let lower = digits.to_ascii_lowercase();
    let integer = |digits, radix| {
        let number = u64::from_str_radix(digits, radix).ok()?;
        Some(Decimal::new(sign * i128::from(number), 0))
    };
    if let Some(hex) = lower.strip_prefix("0x") {
        return integer(hex, 16);
    }
    if let Some(binary) = lower.strip_prefix("0b") {
        return integer(binary, 2);
    }
    text.parse().ok()
}

/// Returns the kind of a floating-point number of so many bits; `None` if there is none.
pub(crate) const fn float_kind(bits: u8) -> Option<SignalKind> {
    match bits {
        32 => Some(SignalKind::Float32),
        64 => Some(SignalKind::Float64),
        _ => None,
    }
}
