//! The assignment of routes to data paths, and the part that is left to this process.

use super::kernel_plan::KernelPlan;
use super::lines::RouteLine;
use super::site::RunPlan;
use crate::config::{GatewayConfig, Offload};
use offload::choose::{self, PathChoice, choose, choose_only, part, shares_entrances};
use offload::{DataPath, HostMachine, KERNEL_PATHS, bpf};
use port::PortSpec;
use route::{PortId, RouteId, Routes};
use std::collections::{BTreeSet, HashMap};
use std::path::Path;

/// Returns the data path of each route, by [`route::RouteId`], as `offload` specifies. For
/// [`Offload::Auto`] this machine is examined, and can-gw is loaded if it is missing.
#[must_use]
pub fn data_paths(config: &GatewayConfig) -> Vec<PathChoice> {
    let all = |data_path| {
        let choice = |route| PathChoice {
            data_path,
            because: Vec::new(),
            no_xl: config.begins_without_xl(route),
        };
        config.routes.routes.iter().map(choice).collect()
    };
    match config.options.offload {
        Offload::None => all(DataPath::Process),
        Offload::CanGw => all(DataPath::CanGw),
        Offload::Bpf => all(DataPath::Bpf),
        Offload::Auto => possible_data_paths(config),
    }
}

/// Returns, for each route, the data path that can run it on this machine as it is now: that of
/// `offload`, with [`Offload::Auto`] the fastest one; else this process.
pub(super) fn possible_data_paths(config: &GatewayConfig) -> Vec<PathChoice> {
    let (routes, ports) = (config.kernel_routes(), config.kernel_ports());
    let machine = HostMachine::inspect();
    let only = |data_path| choose_only(data_path, &routes, &ports, &machine);
    let mut choices = match config.options.offload {
        Offload::None => only(DataPath::Process),
        Offload::CanGw => only(DataPath::CanGw),
        Offload::Bpf => only(DataPath::Bpf),
        Offload::Auto => choose(&routes, &ports, &machine),
    };
    for (choice, route) in choices.iter_mut().zip(&config.routes.routes) {
        choice.no_xl |= config.begins_without_xl(route);
    }
    with_ports_named(config, choices)
}

/// Replaces the reasons of routes that a port keeps in this process, by its faults or its own
/// queue.
fn with_ports_named(config: &GatewayConfig, mut choices: Vec<PathChoice>) -> Vec<PathChoice> {
    for (id, choice) in (0..).map(RouteId).zip(&mut choices) {
        if let Some(reason) = config.needs_process(id) {
            for (_, why) in &mut choice.because {
                why.clone_from(&reason);
            }
        }
    }
    choices
}

/// Returns, for each route, the reason why it cannot run on this machine where `offload` puts it.
#[must_use]
pub fn objections(config: &GatewayConfig) -> Vec<Option<String>> {
    let data_path = match config.options.offload {
        Offload::None | Offload::Auto => DataPath::Process,
        Offload::CanGw => DataPath::CanGw,
        Offload::Bpf => DataPath::Bpf,
    };
    if data_path == DataPath::Process {
        return vec![None; config.routes.routes.len()];
    }
    choose::objections(
        &config.kernel_routes(),
        &config.kernel_ports(),
        &HostMachine::inspect(),
        data_path,
    )
}

/// Returns the interfaces of ports that are not CAN interfaces of this machine at the moment.
#[must_use]
pub fn absent_interfaces(config: &GatewayConfig) -> Vec<String> {
    let Ok(there) = bpf::interfaces() else {
        return Vec::new();
    };
    let is_absent = |name: &String| !there.iter().any(|link| link.name == *name);
    let all = config.kernel_ports().into_iter().flatten();
    all.map(|port| port.interface).filter(is_absent).collect()
}

/// Splits the configuration into the part that runs here and the part that runs in the kernel.
pub(super) fn plan(config: GatewayConfig, instance: &Path, persist: bool) -> RunPlan<PortSpec> {
    if config.options.offload == Offload::None {
        let names = config.port_names();
        let kernel = KernelPlan {
            instance: instance.display().to_string(),
            ..KernelPlan::default()
        };
        let is_interface = |port: &PortSpec| port.settings.interface().is_some();
        let interfaces = config.ports.iter().any(is_interface);
        return RunPlan {
            lines: route_lines(&config),
            kernel: interfaces.then_some(kernel),
            ports: names.into_iter().zip(config.ports).collect(),
            routes: config.routes,
            remarks: Vec::new(),
        };
    }
    let choices = data_paths(&config);
    plan_with(config, &choices, instance, persist)
}

/// Returns the lines of all routes, with the messages that they carry.
fn route_lines(config: &GatewayConfig) -> Vec<RouteLine> {
    let mut lines = RouteLine::all(&config.routes, &config.port_names());
    for (line, carried) in lines.iter_mut().zip(config.carried()) {
        line.set_messages(&carried);
    }
    lines
}

/// Splits the configuration by the data paths of its routes.
pub(super) fn plan_with(
    config: GatewayConfig,
    choices: &[PathChoice],
    instance: &Path,
    persist: bool,
) -> RunPlan<PortSpec> {
    let names = config.port_names();
    let mut lines = route_lines(&config);
    for (line, choice) in lines.iter_mut().zip(choices) {
        line.set_data_path(choice);
    }
    let kernel_ports = config.kernel_ports();
    let of = |data_path| part(&config.routes, choices, data_path).0;
    let kernel = KernelPlan {
        instance: instance.display().to_string(),
        routes: KERNEL_PATHS
            .into_iter()
            .map(|path| (path.data_path(), of(path.data_path())))
            .collect(),
        options: bpf::BpfOptions {
            // Routes in other data paths need the frames, too.
            tap: config.options.tap || shares_entrances(&config.routes, choices, DataPath::Bpf),
            exact: config.options.exact,
            ..bpf::BpfOptions::default()
        },
        names: names.clone(),
        ports: kernel_ports,
        persist,
    };
    let (ports, routes) = here(config.ports, names, of(DataPath::Process));
    RunPlan {
        lines,
        ports,
        routes,
        kernel: Some(kernel),
        remarks: Vec::new(),
    }
}

/// Returns the ports that this process opens, and its routes by their new numbers. An interface
/// that only the kernel serves is not opened: its frames need not come here.
fn here(
    ports: Vec<PortSpec>,
    names: Vec<String>,
    mut routes: Routes,
) -> (Vec<(String, PortSpec)>, Routes) {
    let used: BTreeSet<PortId> = routes
        .routes
        .iter()
        .flat_map(|route| route.from.iter().chain(&route.to).copied())
        .collect();
    let mut numbers: HashMap<PortId, PortId> = HashMap::new();
    let mut kept = Vec::new();
    for (id, (name, spec)) in (0..).map(PortId).zip(names.into_iter().zip(ports)) {
        if spec.settings.interface().is_some() && !used.contains(&id) {
            continue;
        }
        numbers.insert(id, PortId(u16::try_from(kept.len()).unwrap_or(u16::MAX)));
        kept.push((name, spec));
    }
    for route in &mut routes.routes {
        for port in route.from.iter_mut().chain(&mut route.to) {
            if let Some(number) = numbers.get(port) {
                *port = *number;
            }
        }
    }
    (kept, routes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use ::config::SourceText;
    use port::PortKinds;

    fn planned(text: &str) -> RunPlan<PortSpec> {
        let source = SourceText::new("test", text);
        let (config, _) = crate::config::load(&source, &PortKinds::standard()).unwrap();
        plan(config, Path::new("/nowhere"), false)
    }

    const PORTS: &str = r#"
        [ports.engine]
        kind = "socketcan"
        interface = "no-such0"
        [ports.body]
        kind = "socketcan"
        interface = "no-such1"
        [ports.record]
        kind = "log"
        write = "record.log"
    "#;

    #[test]
    fn all_routes_in_the_kernel_open_no_interface() {
        let plan = planned(&format!(
            r#"{PORTS}
            [gateway]
            offload = "can-gw"
            [[routes]]
            name = "one"
            from = "engine"
            to = "body"
            kind = "classic"
            "#
        ));
        let names: Vec<&str> = plan.ports.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(names, ["record"]);
        assert!(plan.routes.routes.is_empty());
        let kernel = plan.kernel.unwrap();
        assert_eq!(kernel.routes(DataPath::CanGw).routes.len(), 1);
        assert!(kernel.routes(DataPath::Bpf).routes.is_empty());
        assert_eq!(plan.lines[0].from, ["engine"]);
        assert!(plan.lines[0].words.contains("body"), "{:?}", plan.lines);
    }

    #[test]
    fn what_is_left_here_keeps_its_ports_under_new_numbers() {
        let plan = planned(&format!(
            r#"{PORTS}
            [gateway]
            offload = "auto"
            [[routes]]
            name = "recorded"
            from = "body"
            to = "record"
            "#
        ));
        let names: Vec<&str> = plan.ports.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(names, ["body", "record"]);
        let route = &plan.routes.routes[0];
        assert_eq!((route.from[0], route.to[0]), (PortId(0), PortId(1)));
        assert_eq!(
            (plan.lines.len(), &*plan.lines[0].from),
            (1, &["body".to_owned()][..])
        );
    }

    #[test]
    fn a_port_with_faults_gives_the_reason_its_routes_stay() {
        let text = format!(
            r#"{PORTS}
            [ports.engine.faults]
            receive = {{ drop = 0.5 }}
            [gateway]
            offload = "auto"
            [[routes]]
            name = "one"
            from = "engine"
            to = "body"
            kind = "classic"
            [[routes]]
            name = "back"
            from = "body"
            to = "record"
            "#
        );
        let source = SourceText::new("test", text.as_str());
        let (config, _) = crate::config::load(&source, &PortKinds::standard()).unwrap();
        let choices = data_paths(&config);
        assert_eq!(choices[0].data_path, DataPath::Process);
        assert_eq!(choices[0].because.len(), KERNEL_PATHS.len());
        for (_, why) in &choices[0].because {
            assert!(why.starts_with("port `engine` injects faults"), "{why}");
        }
        for (_, why) in &choices[1].because {
            assert!(!why.contains("faults"), "{why}");
        }
        let plan = planned(&text);
        assert_eq!(plan.ports.len(), 3);
        assert_eq!(plan.routes.routes.len(), 2);
    }
}
