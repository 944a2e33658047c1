//! References: elements by their paths of short names.

use crate::decimal::Decimal;
use crate::xml::{self, child, children};
use alloc::borrow::ToOwned as _;
use alloc::collections::BTreeMap;
use alloc::format;
use alloc::string::String;
use alloc::vec;
use alloc::vec::Vec;
use roxmltree::{Document, Node, NodeId};

/// The most elements around a reference in which its base is searched for.
const MAX_AROUND: usize = 64;

/// The index of an element in the document.
type Index = u32;

/// The elements that have a short name.
pub(super) struct ArxmlPaths<'a, 'input> {
    document: &'a Document<'input>,
    /// For each element the nearest one around it that has a name, or the root.
    around: Vec<Index>,
    /// Elements by the named one around them, and their name. Of elements with one path, such as
    /// two parts of a package, it is the first.
    by_name: BTreeMap<(Index, &'a str), Index>,
    /// Parts of a package that are not its first one.
    first_part: BTreeMap<Index, Index>,
}

impl<'a, 'input> ArxmlPaths<'a, 'input> {
    pub(super) fn new(document: &'a Document<'input>) -> Self {
        let root = document.root_element();
        let mut paths = Self {
            document,
            around: Vec::new(),
            by_name: BTreeMap::new(),
            first_part: BTreeMap::new(),
        };
        let mut named: Vec<bool> = Vec::new();
        for element in root.descendants().filter(Node::is_element) {
            let index = element.id().get();
            let parent = element.parent().map_or(index, |parent| parent.id().get());
            let around = match named.get(parent as usize) {
                Some(true) => parent,
                Some(false) if element != root => paths.around[parent as usize],
                _ => root.id().get(),
            };
            let around = paths.first_part.get(&around).copied().unwrap_or(around);
            paths.around.resize(index as usize, 0);
            paths.around.push(around);
            let name = child(element, "SHORT-NAME").and_then(|name| name.text());
            named.resize(index as usize, false);
            named.push(name.is_some());
            if let Some(name) = name.map(str::trim) {
                let first = *paths.by_name.entry((around, name)).or_insert(index);
                if first != index {
                    paths.first_part.insert(index, first);
                }
            }
        }
        paths
    }

    fn node(&self, index: Index) -> Option<Node<'a, 'input>> {
        self.document.get_node(NodeId::from(index))
    }

    /// Returns the element to which the reference in the child of this name leads: `None` without
    /// such a child.
    ///
    /// # Errors
    /// The reference as it is written, if it leads to no element.
    pub(super) fn follow(
        &self,
        element: Node<'a, 'input>,
        name: &'static str,
    ) -> Result<Option<Node<'a, 'input>>, String> {
        match child(element, name) {
            Some(reference) => self.target(reference).map(Some),
            None => Ok(None),
        }
    }

    /// Returns the elements to which the references of this name in an element lead, without those
    /// that lead nowhere.
    pub(super) fn follow_all(
        &self,
        element: Node<'a, 'input>,
        name: &'static str,
    ) -> impl Iterator<Item = Node<'a, 'input>> {
        children(element, name).filter_map(|reference| self.target(reference).ok())
    }

    /// Returns the element to which a reference leads.
    ///
    /// # Errors
    /// The reference as it is written, if it leads to no element.
    pub(super) fn target(&self, reference: Node<'a, 'input>) -> Result<Node<'a, 'input>, String> {
        let path = reference.text().unwrap_or_default().trim();
        let found = match path.strip_prefix('/') {
            Some(path) => self.find(self.document.root_element().id().get(), path),
            None => self.bases(reference).into_iter().find_map(|base| {
                let at = self.find(self.document.root_element().id().get(), &base)?;
                self.find(at.id().get(), path)
            }),
        };
        let name = reference.tag_name().name();
        found.ok_or_else(|| format!("{name} `{path}` leads to no element of the file"))
    }

    /// Returns the element with this path below a named one.
    fn find(&self, from: Index, path: &str) -> Option<Node<'a, 'input>> {
        let mut at = from;
        for name in path.split('/') {
            let around = self.first_part.get(&at).copied().unwrap_or(at);
            at = *self.by_name.get(&(around, name))?;
        }
        self.node(at)
    }

    /// Returns the paths to which a reference without `/` at its beginning can be relative: those
    /// of the packages around it, from the inside to the outside.
    fn bases(&self, reference: Node<'a, 'input>) -> Vec<String> {
        let label = reference.attribute("BASE");
        let mut found = vec![];
        for package in reference.ancestors().take(MAX_AROUND) {
            let bases = child(package, "REFERENCE-BASES");
            for base in bases
                .into_iter()
                .flat_map(|all| children(all, "REFERENCE-BASE"))
            {
                let text = |name| {
                    child(base, name)
                        .and_then(|node| node.text())
                        .map(str::trim)
                };
                let is_meant = match label {
                    Some(label) => text("SHORT-LABEL") == Some(label),
                    None => text("IS-DEFAULT") == Some("true"),
                };
                if let (true, Some(path)) = (is_meant, text("PACKAGE-REF")) {
                    found.push(path.trim_start_matches('/').to_owned());
                }
            }
        }
        found
    }
}

/// Returns the element at the end of a way of children.
pub(super) fn walk<'a, 'input: 'a>(
    element: Node<'a, 'input>,
    way: &[&'static str],
) -> Option<Node<'a, 'input>> {
    way.iter().try_fold(element, |at, name| child(at, name))
}

/// Returns the text of the element at the end of a way of children.
pub(super) fn text_at<'a>(element: Node<'a, '_>, way: &[&'static str]) -> Option<&'a str> {
    walk(element, way)?.text().map(str::trim)
}

/// Returns the short name of an element; empty if it has none.
pub(super) fn short_name<'a>(element: Node<'a, '_>) -> &'a str {
    text_at(element, &["SHORT-NAME"]).unwrap_or_default()
}

/// Returns the description of an element in its first language, without the blanks around each
/// line.
pub(super) fn description(element: Node<'_, '_>) -> String {
    let text = walk(element, &["DESC", "L-2"]).map(xml::text);
    let text = text.unwrap_or_default();
    let lines: Vec<&str> = text.split('\n').map(str::trim).collect();
    lines.join("\n")
}

/// Parses a number as AUTOSAR has it: decimal; hexadecimal, binary or octal with `0x`, `0b` or `0`;
/// or a truth value.
pub(super) fn number(text: &str) -> Option<Decimal> {
    let text = text.trim();
    let digits = text.strip_prefix(['-', '+']).unwrap_or(text);
    let is_octal = |digits: &str| !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit());
    match digits.strip_prefix('0') {
        Some(octal) if is_octal(octal) => {
            let number = i128::from(u64::from_str_radix(octal, 8).ok()?);
            let is_negative = text.starts_with('-');
            Some(Decimal::new(if is_negative { -number } else { number }, 0))
        }
        _ => match text {
            "true" => Some(Decimal::ONE),
            "false" => Some(Decimal::ZERO),
            _ => xml::number(text),
        },
    }
}

/// Parses an integer; see [`number`].
pub(super) fn integer(text: &str) -> Option<i128> {
    number(text)?.to_i128()
}
