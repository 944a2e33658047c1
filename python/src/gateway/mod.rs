//! A gateway file as buses in bit time with the gateway between them.
//!
//! Each port is a node of a bus, whatever its kind: keys that tell how a port reaches its hardware,
//! its peer or its file have no effect. Routes are read by `route`, as everywhere else. Keys that
//! would change the traffic and are not available here are refused, with the place and the reason.

mod databases;
mod kinds;
mod ports;

use crate::world::{GateSpec, WorldGateway, WorldState, make_gate};
use bus::{BusConfig, NodeConfig};
use config::read::{self, ReadKey as _};
use config::{Diagnostic, Diagnostics, LARGEST_FILE, SourceText, TomlDocument, TomlTable, render};
use databases::FileDatabases;
use engine::wrap::{QueueRules, QueuedTransmitter};
use engine::{Engine, NamedPort};
use frame::dlc;
use ports::{FilePort, FilePorts};
use route::config::ParsedRoutes;
use route::{PortId, RouteMode, Routes, RoutingTable};
use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;

/// can-gw's highest `max_hops`.
const MOST_HOPS: u8 = 6;

/// The values of `match`.
const MATCHES: [(&str, RouteMode); 2] = [("all", RouteMode::All), ("first", RouteMode::First)];

/// Keys of `[gateway]` that concern the process of a gateway.
const OF_THE_PROCESS: [&str; 8] = [
    "control",
    "inject",
    "metrics",
    "realtime",
    "lock_memory",
    "offload",
    "tap",
    "exact",
];

/// Bit rates of ports whose file gives none.
#[derive(Clone, Copy, Debug)]
pub(crate) struct DefaultRates {
    /// Nominal bit rate, bit/s.
    pub(crate) nominal: u32,
    /// Bit rate of the data phase, bit/s.
    pub(crate) data: Option<u32>,
}

/// Puts the buses and the gateway of a file into a world; returns the warnings as text. Databases
/// that the file names are relative to `folder`.
///
/// # Errors
/// All mistakes of the file as text, with the lines.
pub(crate) fn build(
    world: &mut WorldState,
    source: &SourceText,
    folder: &Path,
    rates: DefaultRates,
) -> Result<String, String> {
    if source.text.len() > LARGEST_FILE {
        let size = source.text.len();
        return Err(format!(
            "{}: the file has {size} bytes; the maximum is {LARGEST_FILE}",
            source.name
        ));
    }
    let mut found = Diagnostics::new();
    let document = TomlDocument::parse(source, &mut found);
    let parsed = parse(document.root(), folder, rates, &mut found);
    let table = match found.has_errors() {
        true => None,
        false => {
            let (ports, spans) = (parsed.ports.len(), &parsed.places.spans);
            route::config::compile(&parsed.routes, ports, spans, &mut found)
        }
    };
    let Some(table) = table.filter(|_| !found.has_errors()) else {
        return Err(render(source, &found.into_sorted(), false));
    };
    lint(&parsed, &mut found);
    connect(world, &parsed, table).map_err(|why| format!("{}: {why}", source.name))?;
    Ok(render(source, &found.into_sorted(), false))
}

/// A file that was read.
struct GatewayFile {
    ports: Vec<FilePort>,
    names: Vec<String>,
    routes: Routes,
    places: ParsedRoutes,
}

fn parse(
    mut root: TomlTable<'_>,
    folder: &Path,
    rates: DefaultRates,
    found: &mut Diagnostics,
) -> GatewayFile {
    let (mode, max_hops) = options(&mut root, found);
    if let Some(value) = root.get("controllers") {
        let message = "a controller that machines share is not available in Python";
        let hint = "leave out [controllers] and the ports of its machines";
        found.push(Diagnostic::error(value.span(), message).hint(hint));
    }
    let databases = FileDatabases::parse(&mut root, folder, found);
    let ports = FilePorts::parse(&mut root, rates, &databases, found);
    let database = |port: PortId| ports.databases.get(usize::from(port.0))?.clone();
    let places = route::config::parse(&mut root, &ports.names, &|_| Vec::new(), &database, found);
    root.finish(found);
    GatewayFile {
        ports: ports.all,
        names: ports.names,
        routes: Routes {
            mode,
            max_hops,
            routes: places.routes.clone(),
        },
        places,
    }
}

/// Reads `[gateway]`.
fn options(root: &mut TomlTable<'_>, found: &mut Diagnostics) -> (RouteMode, u8) {
    let (mut mode, mut max_hops) = (RouteMode::All, 1);
    let Some(mut table) = root.table("gateway", "[gateway]", found) else {
        return (mode, max_hops);
    };
    if let Some(value) = table.get("match") {
        mode = read::words(&MATCHES)
            .read(&value, table.place(), found)
            .unwrap_or(mode);
    }
    if let Some(value) = table.get("max_hops") {
        let hops = read::integer(1..=MOST_HOPS).read(&value, table.place(), found);
        max_hops = hops.unwrap_or(max_hops);
    }
    for key in OF_THE_PROCESS {
        let _ = table.get(key);
    }
    table.finish(found);
    (mode, max_hops)
}

/// Adds the warnings about routes.
fn lint(file: &GatewayFile, found: &mut Diagnostics) {
    let bus_of = |port: PortId| {
        let bus = |port: PortId| Some(&file.ports.get(usize::from(port.0))?.bus);
        let mine = bus(port);
        let first = (0..).map(PortId).take(file.ports.len());
        first.into_iter().find(|p| bus(*p) == mine).unwrap_or(port)
    };
    let spans = &file.places.spans;
    route::config::lint(&file.routes, spans, &file.names, &bus_of, found);
}

/// Makes the buses, and the engine between them.
fn connect(world: &mut WorldState, file: &GatewayFile, table: RoutingTable) -> Result<(), String> {
    let text = |error: bus::ConfigError| error.to_string();
    let mut buses = BTreeSet::new();
    for port in &file.ports {
        if buses.insert(&port.bus) {
            world
                .add_bus(channels(file, &port.bus), bus_config(port), true)
                .map_err(text)?;
        }
    }
    let (mut gates, mut ports) = (Vec::new(), Vec::new());
    for (index, port) in file.ports.iter().enumerate() {
        let without = || format!("port `{0}` has no bus: no bus is named `{0}`", port.name);
        let slot = world.find(&port.name).ok_or_else(without)?;
        let bus = world.slot_mut(slot).ok_or_else(without)?;
        let node = NodeConfig {
            mailboxes: port.mailboxes,
            queue: port.queue,
            one_shot: port.one_shot,
            listen_only: port.listen_only,
            fd: port.data_bitrate.is_some(),
            restart: port.restart,
            ..NodeConfig::new(port.name.clone())
        };
        let (gate, rx, tx) = make_gate(index, GateSpec { slot, node }, bus).map_err(text)?;
        gates.push(gate);
        let tx = match port.queueing {
            None => Box::new(tx) as _,
            Some(rules) => Box::new(QueuedTransmitter::new(tx, queue_rules(rules, port))) as _,
        };
        let name = port.name.clone();
        ports.push(NamedPort { name, rx, tx });
    }
    let engine =
        Engine::new(ports, Arc::new(table), &file.routes).map_err(|error| error.to_string())?;
    world.set_gateway(WorldGateway::new(engine, gates));
    Ok(())
}

/// Returns the names of a bus: those of its ports, and its own unless a port on another bus has it.
fn channels(file: &GatewayFile, bus: &str) -> Vec<String> {
    let on_it = file.ports.iter().filter(|port| port.bus == bus);
    let mut names: Vec<String> = on_it.map(|port| port.name.clone()).collect();
    if !file.names.iter().any(|name| name == bus) {
        names.push(bus.to_owned());
    }
    names
}

fn bus_config(port: &FilePort) -> BusConfig {
    BusConfig {
        data: port.data_bitrate,
        ..BusConfig::classic(port.bitrate)
    }
}

const fn queue_rules(rules: ports::QueueKeys, port: &FilePort) -> QueueRules {
    QueueRules {
        order: rules.order,
        max_age: rules.max_age,
        when_full: rules.when_full,
        frames: if port.queue > 0 { port.queue } else { 1 },
        longest: dlc::FD_MAX,
    }
}
