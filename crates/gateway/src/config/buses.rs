//! Ports that share something have to agree on it.

use config::{Diagnostic, Diagnostics};
use port::spec::{BusSpec, LogSpec, Place, PortKind, PortSpec};
use std::collections::HashMap;
use std::ops::Range;

/// Checks ports against one another; `spans` are where each stands.
pub(super) fn check(ports: &[PortSpec], spans: &[Range<usize>], found: &mut Diagnostics) {
    let mut buses: HashMap<&str, (&str, &BusSpec)> = HashMap::new();
    let mut interfaces: HashMap<&str, &str> = HashMap::new();
    let mut files: HashMap<&Place, &str> = HashMap::new();
    let mut stdin: Option<&str> = None;
    for (port, span) in ports.iter().zip(spans) {
        let mut clash = |message: String, hint: &str| {
            found.push(Diagnostic::error(span.clone(), message).hint(hint));
        };
        match &port.kind {
            PortKind::Bus(spec) => {
                let (other, first) = *buses
                    .entry(spec.bus.as_str())
                    .or_insert((port.name.as_str(), spec));
                if (first.bitrate, first.data_bitrate) != (spec.bitrate, spec.data_bitrate) {
                    let message = format!(
                        "ports `{other}` and `{}` share bus `{}` and do not agree on its bit rate",
                        port.name, spec.bus
                    );
                    clash(message, "give both the same `bitrate` and `data_bitrate`");
                }
            }
            PortKind::SocketCan(spec) => {
                if let Some(other) = interfaces.insert(&spec.interface, &port.name) {
                    let message = format!(
                        "ports `{other}` and `{}` are both interface {}",
                        port.name, spec.interface
                    );
                    clash(message, "use one port: a port both receives and sends");
                }
            }
            PortKind::Log(spec) => {
                if let Some(place) = &spec.write
                    && let Some(other) = files.insert(place, &port.name)
                {
                    let message = format!("ports `{other}` and `{}` write one log", port.name);
                    clash(message, "write to different files");
                }
                let reads = |other: &&PortSpec| {
                    matches!((&other.kind, &spec.write),
                        (PortKind::Log(LogSpec { read: Some(Place::File(read)), .. }),
                            Some(Place::File(write))) if read == write)
                };
                // Within one port, the port's own parser says it.
                if let Some(other) = ports.iter().find(reads)
                    && other.name != port.name
                {
                    let message = format!(
                        "port `{}` writes the log that port `{}` reads",
                        port.name, other.name
                    );
                    clash(message, "write to another file: this one would be emptied");
                }
                if spec.read == Some(Place::Standard)
                    && let Some(other) = stdin.replace(&port.name)
                {
                    let message = format!("ports `{other}` and `{}` both read stdin", port.name);
                    clash(message, "only one port can");
                }
            }
        }
    }
}
