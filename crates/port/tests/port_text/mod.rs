//! The reader of a port in a text of TOML.

use config::{Diagnostics, SourceText, TomlDocument};
use port::{PortKinds, PortSpec};

/// Reads the only port of a text; returns it and the messages.
pub(crate) fn read(text: &str) -> (Option<PortSpec>, Vec<String>) {
    let source = SourceText::new("t", text);
    let mut found = Diagnostics::new();
    let document = TomlDocument::parse(&source, &mut found);
    let mut root = document.root();
    let ports = root.table("ports", "ports", &mut found).unwrap();
    let (name, value) = ports.all().remove(0);
    let table = value.table("port", &mut found).unwrap();
    let spec = PortSpec::parse(&name, table, &PortKinds::standard(), &mut found);
    let messages = found.list().iter().map(|d| d.message.clone()).collect();
    (spec, messages)
}
