//! Reading a configuration from a text.

use super::{
    GatewayConfig, LARGEST_FILE, MOST_PORTS, Offload, ProcessOptions, circles, options, passages,
    sharing,
};
use config::{
    Diagnostic, Diagnostics, SourceText, SpannedValue, TomlDocument, TomlTable, TomlValue,
};
use port::{FileOrStream, PortKinds, PortSpec};
use route::cangw::CanGwInexpressible;
use route::config::{ParsedRoutes, PortAlias};
use route::{KernelPort, PortId, RouteId, Routes, RoutingTable, parts};
use std::collections::HashMap;
use std::ops::Range;

/// Reads a `gateway.toml` with ports of these kinds. Returns the configuration and the warnings.
///
/// # Errors
/// All mistakes, sorted by place, warnings among them.
pub fn load(
    source: &SourceText,
    kinds: &PortKinds,
) -> Result<(GatewayConfig, Vec<Diagnostic>), Vec<Diagnostic>> {
    if source.text.len() > LARGEST_FILE {
        let message = format!(
            "the file has {} bytes; the maximum is {LARGEST_FILE}",
            source.text.len()
        );
        return Err(vec![Diagnostic::error(0..0, message)]);
    }
    let mut found = Diagnostics::new();
    let document = TomlDocument::parse(source, &mut found);
    let (gateway, ports, parsed) = read(document.root(), kinds, &mut found);

    let routes = Routes {
        mode: gateway.mode,
        max_hops: gateway.max_hops,
        routes: parsed.routes,
    };
    unused(&ports, &routes, &mut found);
    if !found.has_errors() {
        compile(&routes, ports.names.len(), &parsed.spans, &mut found);
    }
    if found.has_errors() {
        return Err(found.into_sorted());
    }
    let config = GatewayConfig {
        ports: ports.specs,
        routes,
        options: gateway.options,
    };
    let bus_of = same_bus(&config);
    let names = config.port_names();
    route::config::lint(&config.routes, &parsed.spans, &names, &bus_of, &mut found);
    passages::warn(&config, &parsed.spans, &mut found);
    in_kernel(&config, &parsed.spans, &mut found);
    error_frames(&config, &parsed.spans, &mut found);
    circles::warn(source, &config, &parsed.spans, &mut found);
    if found.has_errors() {
        return Err(found.into_sorted());
    }
    Ok((config, found.into_sorted()))
}

/// Reads the tables one by one; settings of several tables are checked against each other later.
fn read(
    mut root: TomlTable<'_>,
    kinds: &PortKinds,
    found: &mut Diagnostics,
) -> (options::GatewayTable, PortTables, ParsedRoutes) {
    root.misnomers(options::TOP);
    let gateway = options::parse(&mut root, found);
    if root.is_instead("messages", &TABLES) {
        let hint = "`cangate bound FILE` reads it; a gateway file has [ports.NAME] and [[routes]]";
        root.wrong_file(
            "messages",
            "this is a message set, not a gateway file",
            hint,
            found,
        );
        return (gateway, PortTables::default(), ParsedRoutes::default());
    }
    let ports = ports(&mut root, kinds, found);
    let meant = |name: &str| ports.find_similar(name);
    let parsed = route::config::parse(&mut root, &ports.names, &meant, &|_| None, found);
    root.finish(found);
    (gateway, ports, parsed)
}

/// Reads `[gateway]` of a file as far as possible, whatever other errors the file has: it may still
/// name the socket of a running gateway.
#[must_use]
pub fn readable_options(source: &SourceText) -> ProcessOptions {
    if source.text.len() > LARGEST_FILE {
        return ProcessOptions::default();
    }
    let mut found = Diagnostics::new();
    let document = TomlDocument::parse(source, &mut found);
    options::parse(&mut document.root(), &mut found).options
}

/// Reports routes that the file offloads to the kernel and that no kernel can run.
fn in_kernel(config: &GatewayConfig, spans: &[Range<usize>], found: &mut Diagnostics) {
    let ports = config.kernel_ports();
    let all: Vec<(Option<RouteId>, String)> = match config.options.offload {
        Offload::None | Offload::Auto => return,
        Offload::CanGw => {
            let Err(all) = route::cangw::rules(&config.kernel_routes(), &ports) else {
                return;
            };
            let words = |wrong: CanGwInexpressible| {
                let text = match wrong.route.and_then(|id| config.needs_process(id)) {
                    Some(why) => format!("route `{}`: {why}", wrong.name),
                    None => wrong.to_string(),
                };
                (wrong.route, format!("can-gw cannot run this: {text}"))
            };
            all.into_iter().map(words).collect()
        }
        Offload::Bpf => {
            let words = |wrong: offload::bpf::BpfInexpressible| {
                if let Some(why) = config.needs_process(wrong.route) {
                    let text = format!("BPF cannot run this: route `{}`: {why}", wrong.name);
                    return (Some(wrong.route), text);
                }
                let mut text = format!("BPF cannot run this: {wrong}");
                let port = wrong
                    .port
                    .and_then(|id| config.ports.get(usize::from(id.0)));
                if let Some(port) = port {
                    text.push_str(&format!(" (port {})", port.name));
                }
                (Some(wrong.route), text)
            };
            let all = offload::bpf::survey(&config.routes, &ports, &[]);
            all.into_iter().map(words).collect()
        }
    };
    for (route, message) in all {
        let span = route
            .and_then(|id| spans.get(usize::try_from(id.0).ok()?).cloned())
            .unwrap_or(0..0);
        let hint = "change it, or let such routes run in this process: `offload = \"auto\"`";
        found.push(Diagnostic::error(span, message).hint(hint));
    }
}

/// Warns of error frames that the kernel would send to a controller.
fn error_frames(config: &GatewayConfig, spans: &[Range<usize>], found: &mut Diagnostics) {
    if config.options.offload == Offload::None {
        return;
    }
    let ports = config.kernel_ports();
    for (route, span) in config.routes.routes.iter().zip(spans) {
        let mut to = route.to.iter();
        let interface = to.find_map(|port| KernelPort::interface_of(&ports, *port));
        if let Some(interface) = interface
            && parts::sorts(route) & parts::sort::ANY_ERR != 0
        {
            let message = format!(
                "route `{}` takes error frames; the kernel sends them to {interface}, whose \
                 controller makes other frames of them",
                route.name
            );
            let hint = "write `error = false`; this process (`offload = \"none\"`) sends none";
            found.push(Diagnostic::warning(span.clone(), message).hint(hint));
        }
    }
}

#[derive(Default)]
struct PortTables {
    /// Names of all port tables, those with mistakes too: routes may name them.
    names: Vec<String>,
    /// The places of the names in the file.
    keys: Vec<Range<usize>>,
    /// The ports without mistakes; as many as names if there are no errors.
    specs: Vec<PortSpec>,
}

impl PortTables {
    /// Returns the ports that a name may mean although it is not the name of a port: the ports with
    /// an interface, a bus or a file of that name.
    fn find_similar(&self, name: &str) -> Vec<PortAlias> {
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

/// Returns a function from each port to the first port on the same bus.
fn same_bus(config: &GatewayConfig) -> impl Fn(PortId) -> PortId + use<> {
    let mut first = HashMap::new();
    let numbers = (0..).map(PortId).zip(&config.ports);
    let all: Vec<PortId> = numbers
        .map(|(id, port)| match port.settings.bus() {
            Some(bus) => *first.entry(bus).or_insert(id),
            None => id,
        })
        .collect();
    move |port| all.get(usize::from(port.0)).copied().unwrap_or(port)
}

fn ports(root: &mut TomlTable<'_>, kinds: &PortKinds, found: &mut Diagnostics) -> PortTables {
    let mut ports = PortTables::default();
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
        ports.names.push(name.value.to_owned());
        ports.keys.push(name.span.clone());
        let Some(table) = value.table("", found) else {
            continue;
        };
        if let Some(spec) = PortSpec::parse(&name, table, kinds, found) {
            ports.specs.push(spec);
            spans.push(name.span);
        }
    }
    controllers(root, kinds, &mut ports, &mut spans, found);
    sharing::check(&ports.specs, &spans, kinds, found);
    needed(&ports, &spans, found);
    ports
}

/// Reads the tables `[controllers.NAME]`, which define ports, too.
fn controllers(
    root: &mut TomlTable<'_>,
    kinds: &PortKinds,
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
        ports.names.push(name.value.to_owned());
        ports.keys.push(name.span.clone());
        let Some(table) = value.table("", found) else {
            continue;
        };
        if let Some(spec) = PortSpec::parse_as("controller", &name, table, kinds, found) {
            ports.specs.push(spec);
            spans.push(name.span);
        }
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

/// The tables of a gateway file.
const TABLES: [&str; 4] = ["gateway", "ports", "controllers", "routes"];

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

/// Warns of ports that no route names.
fn unused(ports: &PortTables, routes: &Routes, found: &mut Diagnostics) {
    let mut used = vec![false; ports.names.len()];
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
    for (used, port) in used.iter_mut().zip(&ports.specs) {
        let shared = ports
            .specs
            .iter()
            .filter_map(|other| other.settings.needs());
        let mut shared = shared.map(|(_, name)| name);
        *used |= port.settings.needs().is_some() || shared.any(|name| name == port.name);
    }
    for ((name, key), _) in ports
        .names
        .iter()
        .zip(&ports.keys)
        .zip(&used)
        .filter(|(_, u)| !**u)
    {
        let message = format!("no route uses port `{name}`");
        let hint = format!("add a route, or leave out [ports.{name}]");
        found.push(Diagnostic::warning(key.clone(), message).hint(hint));
    }
}

/// Reports the errors of the routing table, at the route's place.
fn compile(routes: &Routes, ports: usize, spans: &[Range<usize>], found: &mut Diagnostics) {
    let Err(errors) = RoutingTable::compile(routes, ports) else {
        return;
    };
    for error in errors {
        let span = error
            .route
            .and_then(|id| spans.get(usize::try_from(id.0).ok()?).cloned())
            .unwrap_or(0..0);
        let message = match error.route {
            Some(_) => format!("route `{}`: {}", error.name, error.what),
            None => error.what,
        };
        found.push(Diagnostic::error(span, message));
    }
}
