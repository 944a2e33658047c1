//! The configuration of a gateway under test: a script of can-gw rules, or a `gateway.toml`.

use super::interfaces::interfaces;
use super::routes::routes;
use super::sharing;
use crate::choices::{GatewayChoice, HopChoice, Priority, TransmitChoice, WayPair};
use crate::settings::Experiment;
use crate::spec::{BITRATE, DATA_BITRATE};
use route::KernelPort;
use route::cangw::CanGwInexpressible;

/// The control socket of `cangate run`, in the guest.
pub const SOCKET: &str = "/run/gateway.sock";
/// More routes than this are not all written into a result.
const KEPT: usize = 4096;

/// The reasons why a gateway cannot be set up.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum GatewayError {
    /// can-gw has no rule for these routes: the settings were not checked.
    #[error("can-gw cannot do it: {}", joined(.0))]
    Inexpressible(Vec<CanGwInexpressible>),
}

fn joined(all: &[CanGwInexpressible]) -> String {
    let all: Vec<_> = all.iter().map(ToString::to_string).collect();
    all.join("; ")
}

/// Returns the configuration of the gateway; empty where there is none.
///
/// # Errors
/// [`GatewayError`] where can-gw has no rule for the requested settings.
pub fn config(experiment: &Experiment) -> Result<String, GatewayError> {
    match &experiment.gateway {
        GatewayChoice::Cangw => cangw_script(experiment),
        GatewayChoice::User(_)
        | GatewayChoice::OwnRules
        | GatewayChoice::Bpf
        | GatewayChoice::Direct { .. }
        | GatewayChoice::Chardev
        | GatewayChoice::Baremetal { .. } => Ok(gateway_toml(experiment).unwrap_or_default()),
        GatewayChoice::Vm(nesting) => Ok(sharing::file(*nesting, experiment.sharing())),
        GatewayChoice::Ideal | GatewayChoice::BaremetalIdeal | GatewayChoice::None => {
            Ok(String::new())
        }
    }
}

/// Returns a script of `cangw` lines, for the shell of the namespace.
///
/// # Errors
/// [`GatewayError`] where can-gw has no rule for the requested settings.
pub fn cangw_script(experiment: &Experiment) -> Result<String, GatewayError> {
    let ports = interfaces(experiment).into_iter().map(KernelPort::new);
    let ports: Vec<_> = ports.map(Some).collect();
    route::cangw::export(&routes(experiment), &ports).map_err(GatewayError::Inexpressible)
}

/// Returns the `gateway.toml` of `cangate run`; `None` where the experiment has another gateway.
#[must_use]
pub fn gateway_toml(experiment: &Experiment) -> Option<String> {
    let (how, keys) = match &experiment.gateway {
        GatewayChoice::User(ways) => (
            process(ways.receive.is_busy(), experiment.priority),
            keys(*ways),
        ),
        GatewayChoice::Direct { irq } => (process(!irq, experiment.priority), String::new()),
        GatewayChoice::Chardev => (process(false, experiment.priority), String::new()),
        GatewayChoice::Baremetal { .. } => (String::new(), String::new()),
        other => (
            format!("offload = \"{}\"\n", other.offload()?),
            String::new(),
        ),
    };
    let names = interfaces(experiment);
    let mut text = format!("[gateway]\ncontrol = \"{SOCKET}\"\n{how}");
    if experiment.hops != HopChoice::NONE {
        text.push_str(&format!("max_hops = {}\n", experiment.hops.count + 1));
    }
    for name in &names {
        match experiment.gateway {
            GatewayChoice::Direct { irq } | GatewayChoice::Baremetal { irq } => {
                text.push_str(&direct(name, irq, experiment.is_fd()));
                continue;
            }
            GatewayChoice::Chardev => {
                text.push_str(&chardev(name, experiment.is_fd()));
                continue;
            }
            _ => {}
        }
        text.push_str(&format!(
            "\n[ports.{name}]\nkind = \"socketcan\"\ninterface = \"{name}\"\n{keys}"
        ));
        if experiment.is_fd() {
            text.push_str("fd = true\n");
        }
    }
    text.push('\n');
    text.push_str(&route::config::to_toml(&routes(experiment).routes, &names));
    Some(text)
}

/// Returns the settings of the gateway's process. The priority is the papers' (gateway-2011 §3.7).
/// A gateway that polls for frames without pause has none: the guest has one processor, on which
/// nothing else would then run, not even the tester.
fn process(is_busy: bool, priority: Priority) -> String {
    // Without this setting it would have priority 50.
    let realtime = match priority {
        Priority::Gateway if !is_busy => "realtime = 90\n",
        _ => "realtime = false\n",
    };
    format!("{realtime}lock_memory = true\n")
}

/// Returns the keys of each port.
fn keys(ways: WayPair) -> String {
    let bypass = match ways.transmit {
        TransmitChoice::RingBypass => "qdisc_bypass = true\n",
        _ => "",
    };
    let (receive, transmit) = (ways.receive.key(), ways.transmit.key());
    format!("receive = \"{receive}\"\ntransmit = \"{transmit}\"\n{bypass}")
}

/// Returns a port on a mapped controller.
fn direct(name: &str, irq: bool, fd: bool) -> String {
    let mode = if irq { "interrupt" } else { "poll" };
    let mut text = format!(
        "\n[ports.{name}]\nkind = \"direct\"\ndevice = \"/dev/bitcan-{name}\"\nbitrate = {BITRATE}\n\
         mode = \"{mode}\"\n"
    );
    if fd {
        text.push_str(&format!("data_bitrate = {DATA_BITRATE}\n"));
    }
    text
}

/// Returns a port on a character device.
fn chardev(name: &str, fd: bool) -> String {
    let mut text = format!(
        "\n[ports.{name}]\nkind = \"chardev\"\ndevice = \"/dev/{name}\"\nbitrate = {BITRATE}\n"
    );
    if fd {
        text.push_str(&format!("data_bitrate = {DATA_BITRATE}\n"));
    }
    text
}

/// Shortens a configuration for results: of very many routes it keeps the first two and the last.
/// The others follow from the experiment.
#[must_use]
pub fn abridged(text: &str) -> String {
    const ROUTE: &str = "[[routes]]";
    let count = text.matches(ROUTE).count();
    if count <= KEPT {
        return text.to_owned();
    }
    let parts: Vec<&str> = text.split(ROUTE).collect();
    let [head, first, second, .., last] = parts.as_slice() else {
        return text.to_owned();
    };
    format!(
        "{head}{ROUTE}{first}{ROUTE}{second}# {} more, of the identifiers between\n\n{ROUTE}{last}",
        count - 3
    )
}
