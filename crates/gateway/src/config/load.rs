//! Reading a configuration from a text.

use super::databases::{DatabaseTables, FileReader};
use super::ports::{PortTables, TABLES};
use super::{
    GatewayConfig, LARGEST_FILE, Offload, ProcessOptions, circles, message_check, options, passages,
};
use config::{Diagnostic, Diagnostics, SourceText, TomlDocument, TomlTable};
use port::PortKinds;
use route::cangw::CanGwInexpressible;
use route::config::ParsedRoutes;
use route::{KernelPort, PortId, RouteId, Routes, parts};
use std::collections::HashMap;
use std::io;
use std::ops::Range;
use std::path::Path;

/// The configuration and the warnings, or all mistakes, sorted by place, warnings among them.
pub type LoadResult = Result<(GatewayConfig, Vec<Diagnostic>), Vec<Diagnostic>>;

/// Reads a `gateway.toml` with ports of these kinds that names no other files: a database of
/// messages is an error. [`load_with`] reads them.
///
/// # Errors
/// All mistakes, sorted by place, warnings among them.
pub fn load(source: &SourceText, kinds: &PortKinds) -> LoadResult {
    load_with(source, kinds, &|_: &Path| {
        Err(io::Error::other("other files are not read here"))
    })
}

/// Reads a `gateway.toml` with ports of these kinds; `files` reads the databases that it names.
///
/// # Errors
/// All mistakes, sorted by place, warnings among them.
pub fn load_with(source: &SourceText, kinds: &PortKinds, files: &FileReader<'_>) -> LoadResult {
    if source.text.len() > LARGEST_FILE {
        let message = format!(
            "the file has {} bytes; the maximum is {LARGEST_FILE}",
            source.text.len()
        );
        return Err(vec![Diagnostic::error(0..0, message)]);
    }
    let mut found = Diagnostics::new();
    let document = TomlDocument::parse(source, &mut found);
    let (gateway, ports, parsed) = read(document.root(), kinds, files, &mut found);

    let routes = Routes {
        mode: gateway.mode,
        max_hops: gateway.max_hops,
        routes: parsed.routes,
    };
    ports.unused(&routes, &mut found);
    if !found.has_errors() {
        route::config::compile(&routes, ports.names.len(), &parsed.spans, &mut found);
    }
    if found.has_errors() {
        return Err(found.into_sorted());
    }
    let config = GatewayConfig {
        ports: ports.specs,
        databases: ports.databases,
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
    message_check::report(&config, &parsed.spans, &mut found);
    if found.has_errors() {
        return Err(found.into_sorted());
    }
    Ok((config, found.into_sorted()))
}

/// Reads the tables one by one; settings of several tables are checked against each other later.
fn read(
    mut root: TomlTable<'_>,
    kinds: &PortKinds,
    files: &FileReader<'_>,
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
    let mut databases = DatabaseTables::parse(&mut root, files, found);
    let ports = PortTables::parse(&mut root, kinds, &mut databases, found);
    databases.unused(found);
    let meant = |name: &str| ports.find_similar(name);
    let of = |port: PortId| ports.databases.get(usize::from(port.0))?.clone();
    let parsed = route::config::parse(&mut root, &ports.names, &meant, &of, found);
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
