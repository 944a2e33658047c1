//! Conflicts between ports that use the same interface, the same other resource, or the same file.

use config::{Diagnostic, Diagnostics};
use port::{ExclusiveResource, FileOrStream, PlacedPort, PortKinds, PortSpec};
use std::collections::HashMap;
use std::ops::Range;

/// Checks ports against one another; `spans` are their places in the file.
pub(super) fn check(
    ports: &[PortSpec],
    spans: &[Range<usize>],
    kinds: &PortKinds,
    found: &mut Diagnostics,
) {
    for kind in kinds.iter() {
        let of_kind = ports.iter().zip(spans).filter_map(|(port, span)| {
            let settings = &*port.settings;
            (settings.kind() == kind.keyword()).then(|| PlacedPort {
                name: &port.name,
                settings,
                span: span.clone(),
            })
        });
        let ports: Vec<PlacedPort<'_>> = of_kind.collect();
        kind.check(&ports, found);
    }
    let mut taken: HashMap<String, Vec<(ExclusiveResource, &str)>> = HashMap::new();
    let mut written: HashMap<&FileOrStream, &str> = HashMap::new();
    let mut stdin: Option<&str> = None;
    for (port, span) in ports.iter().zip(spans) {
        let mut clash = |message: String, hint: &str| {
            found.push(Diagnostic::error(span.clone(), message).hint(hint));
        };
        let name = port.name.as_str();
        if let Some(resource) = port.settings.exclusive() {
            let others = taken.entry(resource.name.clone()).or_default();
            let mut conflicts = others.iter().rev().filter_map(|(of_other, other)| {
                let what = resource.conflict(of_other)?;
                Some(format!("ports `{other}` and `{name}` both use {what}"))
            });
            if let Some(message) = conflicts.next() {
                clash(message, resource.hint);
            }
            others.push((resource, name));
        }
        let writes = port.settings.writes();
        if let Some(stream) = writes
            && let Some(other) = written.insert(stream, name)
        {
            clash(
                format!("ports `{other}` and `{name}` write one log"),
                "write to different files",
            );
        }
        let is_file = matches!(writes, Some(FileOrStream::File(_)));
        let reads_it = |other: &&PortSpec| is_file && other.settings.reads() == writes;
        // Within one port, the port's own parser reports it.
        if let Some(other) = ports.iter().find(reads_it)
            && other.name != port.name
        {
            clash(
                format!(
                    "port `{name}` writes the log that port `{}` reads",
                    other.name
                ),
                "write to another file: this one would be emptied",
            );
        }
        if port.settings.reads() == Some(&FileOrStream::Standard)
            && let Some(other) = stdin.replace(name)
        {
            clash(
                format!("ports `{other}` and `{name}` both read stdin"),
                "only one port can read it",
            );
        }
    }
}
