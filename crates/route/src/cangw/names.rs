//! Names of imported ports and routes.

use crate::PortId;
use crate::config::LONGEST_NAME;
use alloc::{borrow::ToOwned, collections::BTreeMap, format, string::String, vec::Vec};

/// The interfaces in the order in which they appear; each becomes a port.
#[derive(Default)]
pub(super) struct InterfaceList {
    /// The names, by [`PortId`].
    pub(super) names: Vec<String>,
    numbers: BTreeMap<String, PortId>,
}

impl InterfaceList {
    pub(super) fn port(&mut self, name: &str) -> PortId {
        if let Some(id) = self.numbers.get(name) {
            return *id;
        }
        // At most MOST_INTERFACES, which `import` has checked.
        let id = PortId(self.names.len() as u16);
        self.names.push(name.to_owned());
        self.numbers.insert(name.to_owned(), id);
        id
    }
}

/// Returns the names of the ports: each is its interface's name, as far as a port's name allows.
pub(super) fn port_names(interfaces: &[String]) -> Vec<String> {
    let mut taken = TakenNames::default();
    interfaces
        .iter()
        .map(|interface| {
            let plain: String = interface
                .chars()
                .map(|c| {
                    if c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.') {
                        c
                    } else {
                        '_'
                    }
                })
                .collect();
            taken.unique(&plain, "_", "")
        })
        .collect()
}

pub(super) fn route_name(comment: &str, index: usize, taken: &mut TakenNames) -> String {
    let name: String = comment.chars().filter(|c| !c.is_control()).collect();
    let name = cut(&name, LONGEST_NAME).trim();
    if name.is_empty() {
        taken.unique(&format!("route {}", index + 1), " (", ")")
    } else {
        taken.unique(name, " (", ")")
    }
}

/// Returns the longest prefix of a text that fits into `most` bytes.
fn cut(text: &str, most: usize) -> &str {
    let end = (0..=most.min(text.len()))
        .rev()
        .find(|&end| text.is_char_boundary(end));
    text.get(..end.unwrap_or(0)).unwrap_or_default()
}

/// Names that are taken, and for each of them the number that made the last one unique.
#[derive(Default)]
pub(super) struct TakenNames(BTreeMap<String, usize>);

impl TakenNames {
    fn unique(&mut self, name: &str, before: &str, after: &str) -> String {
        let Some(mut n) = self.0.get(name).copied() else {
            self.0.insert(name.to_owned(), 1);
            return name.to_owned();
        };
        loop {
            n += 1;
            let number = format!("{before}{n}{after}");
            let unique = format!("{}{number}", cut(name, LONGEST_NAME - number.len()));
            if !self.0.contains_key(&unique) {
                self.0.insert(name.to_owned(), n);
                self.0.insert(unique.clone(), 1);
                return unique;
            }
        }
    }
}
