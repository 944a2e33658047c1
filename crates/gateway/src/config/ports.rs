//! The tables `[ports.NAME]` and `[controllers.NAME]`.

use super::databases::{DatabaseTables, MessageKeys};
use super::{MOST_PORTS, sharing};
use config::{Diagnostic, Diagnostics, SpannedValue, TomlTable, TomlValue};
use port::{FileOrStream, PortKinds, PortSpec};
use route::Routes;
use route::config::{NamedDatabase, PortAlias};
use std::ops::Range;
use std::sync::Arc;

/// The ports of a file.
#[derive(Default)]
pub(super) struct PortTables {
    /// Names of all port tables, those with mistakes too: routes may name them.
    pub(super) names: Vec<String>,
    /// The places of the names in the file.
    keys: Vec<Range<usize>>,
    /// The databases of all of them, by index.
    pub(super) databases: Vec<Option<Arc<NamedDatabase>>>,
    /// The ports without mistakes; as many as names if there are no errors.
    pub(super) specs: Vec<PortSpec>,
}

impl PortTables {
    /// Reads the tables.
    pub(super) fn parse(
        root: &mut TomlTable<'_>,
        kinds: &PortKinds,
        databases: &mut DatabaseTables,
        found: &mut Diagnostics,
    ) -> Self {
        let mut ports = Self::default();
        let given = root.get("ports");
        let mut tables: Vec<TomlTable<'_>> = Vec::new();
        tables.extend(
            given
                .as_ref()
                .and_then(|value| value.table("[ports]", found)),
        );
        let misnamed = misnamed_ports(root, found);
        if given.is_none() && misnamed.is_empty() {
            let hint = "describe one in a table such as [ports.can0]";
            root.missing("ports", hint, found);
            return ports;
        }
        let all = tables.iter().flat_map(TomlTable::all).chain(misnamed);
        let all: Vec<_> = all.collect();
        if all.len() > MOST_PORTS {
            let message = format!(
                "the file has {} ports; the maximum is {MOST_PORTS}",
                all.len()
            );
            let span = given.map_or(0..0, |value| value.span());
            found.push(Diagnostic::error(span, message));
            return ports;
        }
        let mut spans = Vec::new();
        for (name, value) in all {
            let at = name.clone();
            let read = |table: TomlTable<'_>, found: &mut Diagnostics| {
                PortSpec::parse(&at, table, kinds, found)
            };
            spans.extend(ports.add(name, &value, databases, found, read));
        }
        controllers(root, kinds, databases, &mut ports, &mut spans, found);
        sharing::check(&ports.specs, &spans, kinds, found);
        needed(&ports, &spans, found);
        ports
    }

    /// Warns of ports that no route names.
    pub(super) fn unused(&self, routes: &Routes, found: &mut Diagnostics) {
        let mut used = vec![false; self.names.len()];
        for id in routes
            .routes
            .iter()
            .flat_map(|r| r.from.iter().chain(&r.to))
        {
            if let Some(used) = used.get_mut(usize::from(id.0)) {
                *used = true;
            }
        }
        if found.has_errors() {
            return;
        }
        // Machines and the controller that they share need no route.
        for (used, port) in used.iter_mut().zip(&self.specs) {
            let shared = self.specs.iter().filter_map(|other| other.settings.needs());
            let mut shared = shared.map(|(_, name)| name);
            // Clients may send by a port without a route.
            *used |= port.clients.inject;
            *used |= port.settings.needs().is_some() || shared.any(|name| name == port.name);
        }
        for ((name, key), _) in self
            .names
            .iter()
            .zip(&self.keys)
            .zip(&used)
            .filter(|(_, u)| !**u)
        {
            let message = format!("no route uses port `{name}`");
            let hint = format!("add a route, or leave out [ports.{name}]");
            found.push(Diagnostic::warning(key.clone(), message).hint(hint));
        }
    }

    /// Adds a port; `read` reads its table.
    fn add(
        &mut self,
        name: SpannedValue<&str>,
        value: &TomlValue<'_>,
        databases: &mut DatabaseTables,
        found: &mut Diagnostics,
        read: impl FnOnce(TomlTable<'_>, &mut Diagnostics) -> Option<PortSpec>,
    ) -> Option<Range<usize>> {
        self.names.push(name.value.to_owned());
        self.keys.push(name.span.clone());
        self.databases.push(None);
        let table = value.table("", found)?;
        let keys = MessageKeys::of(&table);
        let mut spec = read(table, found)?;
        if let Some(database) = self.databases.last_mut() {
            *database = databases.of_port(&spec.name, &spec.messages, &keys, found);
        }
        if let Some(bound) = databases.bind(&*spec.settings, found) {
            spec.settings = bound;
        }
        self.specs.push(spec);
        Some(name.span)
    }

    /// Returns the ports that a name may mean although it is not the name of a port: the ports with
    /// an interface, a bus or a file of that name.
    pub(super) fn find_similar(&self, name: &str) -> Vec<PortAlias> {
        let of = |port: &PortSpec| {
            let settings = &port.settings;
            let bus = settings
                .bus()
                .is_some_and(|bus| bus == format!("bus `{name}`"));
            let streams = [settings.reads(), settings.writes()];
            let is_file = |stream: &&FileOrStream| matches!(stream, FileOrStream::File(path) if path.as_os_str() == name);
            let as_what = if settings.interface() == Some(name) {
                "its interface"
            } else if bus {
                "its bus"
            } else if streams.iter().flatten().any(is_file) {
                "its file"
            } else {
                return None;
            };
            Some(PortAlias {
                port: port.name.clone(),
                as_what: as_what.to_owned(),
            })
        };
        self.specs.iter().filter_map(of).collect()
    }
}

/// Reads the tables `[controllers.NAME]`, which define ports, too.
fn controllers(
    root: &mut TomlTable<'_>,
    kinds: &PortKinds,
    databases: &mut DatabaseTables,
    ports: &mut PortTables,
    spans: &mut Vec<Range<usize>>,
    found: &mut Diagnostics,
) {
    let Some(given) = root.get("controllers") else {
        return;
    };
    let Some(table) = given.table("[controllers]", found) else {
        return;
    };
    for (name, value) in table.all() {
        if ports.names.iter().any(|port| port == name.value) {
            let message = format!("`{}` is a port already", name.value);
            let hint = "a controller is a port, too: give each a name of its own";
            found.push(Diagnostic::error(name.span, message).hint(hint));
            continue;
        }
        let at = name.clone();
        let read = |table: TomlTable<'_>, found: &mut Diagnostics| {
            PortSpec::parse_as("controller", &at, table, kinds, found)
        };
        spans.extend(ports.add(name, &value, databases, found, read));
    }
}

/// Reports ports that need another port which is missing.
fn needed(ports: &PortTables, spans: &[Range<usize>], found: &mut Diagnostics) {
    for (port, span) in ports.specs.iter().zip(spans) {
        let Some((kind, name)) = port.settings.needs() else {
            continue;
        };
        let is = |other: &PortSpec| other.name == name && other.settings.kind() == kind;
        if !ports.specs.iter().any(is) {
            let message = format!(
                "port `{}` needs {kind} `{name}`, which does not exist",
                port.name
            );
            let hint = format!("describe it in [{kind}s.{name}]");
            found.push(Diagnostic::error(span.clone(), message).hint(hint));
        }
    }
}

/// The tables of a gateway file.
pub(super) const TABLES: [&str; 6] = [
    "gateway",
    "databases",
    "ports",
    "controllers",
    "e2e",
    "routes",
];

/// Names of tables that are probably meant as `[ports.NAME]`.
const FOR_PORTS: [&str; 10] = [
    "port",
    "interface",
    "interfaces",
    "bus",
    "buses",
    "channel",
    "channels",
    "device",
    "devices",
    "can",
];

/// Returns the ports under a wrong header, so that their other mistakes are found, too.
fn misnamed_ports<'t>(
    root: &mut TomlTable<'t>,
    found: &mut Diagnostics,
) -> Vec<(SpannedValue<&'t str>, TomlValue<'t>)> {
    let mut ports = Vec::new();
    for (key, value) in root.all() {
        if TABLES.contains(&key.value) {
            continue;
        }
        let mut inside = value.is_table().then(|| value.table("", found)).flatten();
        let is_port = inside.as_mut().is_some_and(|it| it.get("kind").is_some());
        if is_port {
            let hint = |_: &TomlValue<'_>| format!("did you mean [ports.{}]?", key.value);
            let _ = root.misnamed(key.value, hint, found);
            ports.push((key, value));
        } else if FOR_PORTS.contains(&key.value) {
            let _ = root.misnamed(key.value, port_headers, found);
            let all = inside.iter().flat_map(TomlTable::all);
            ports.extend(all.filter(|(_, value)| value.is_table()));
        }
    }
    ports
}

/// Returns the headers that a table under a wrong name should have.
fn port_headers(value: &TomlValue<'_>) -> String {
    let names: Vec<String> = match value.table("", &mut Diagnostics::new()) {
        Some(table) => {
            let all = table.all();
            let tables = all.iter().filter(|(_, value)| value.is_table());
            let header = |(name, _): &(SpannedValue<&str>, _)| format!("[ports.{}]", name.value);
            tables.take(3).map(header).collect()
        }
        None => Vec::new(),
    };
    match names.as_slice() {
        [] => "did you mean [ports.NAME]?".to_owned(),
        names => format!("did you mean {}?", names.join(", ")),
    }
}
