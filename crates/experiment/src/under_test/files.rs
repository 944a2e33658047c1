//! What a gateway under test is set up with: a script of can-gw rules, or a `gateway.toml`.

use super::interfaces::interfaces;
use super::routes::routes;
use crate::choices::{Gateway, Hops};
use crate::experiment::Experiment;
use crate::spec::{BITRATE, DATA_BITRATE};
use route::cangw::Inexpressible;

/// The control socket of `cangate run`, in the guest.
pub const SOCKET: &str = "/run/gateway.sock";
/// More routes than this are not all written into a result.
const KEPT: usize = 4096;

/// A gateway that cannot be set up.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum GatewayError {
    /// can-gw has no rule for these routes: the settings were not checked.
    #[error("can-gw cannot do it: {}", joined(.0))]
    Inexpressible(Vec<Inexpressible>),
}

fn joined(all: &[Inexpressible]) -> String {
    let all: Vec<_> = all.iter().map(ToString::to_string).collect();
    all.join("; ")
}

/// What the gateway is set up with; nothing where there is none.
///
/// # Errors
/// [`GatewayError`] where can-gw has no rule for what is asked.
pub fn config(experiment: &Experiment) -> Result<String, GatewayError> {
    match &experiment.gateway {
        Gateway::Cangw => cangw_script(experiment),
        Gateway::User(_) | Gateway::OwnRules | Gateway::Bpf | Gateway::Direct { .. } => {
            Ok(gateway_toml(experiment).unwrap_or_default())
        }
        Gateway::Ideal | Gateway::None => Ok(String::new()),
    }
}

/// A script of `cangw` lines, to be run with the namespace's shell.
///
/// # Errors
/// [`GatewayError`] where can-gw has no rule for what is asked.
pub fn cangw_script(experiment: &Experiment) -> Result<String, GatewayError> {
    let interfaces: Vec<_> = interfaces(experiment).into_iter().map(Some).collect();
    route::cangw::export(&routes(experiment), &interfaces).map_err(GatewayError::Inexpressible)
}

/// The `gateway.toml` of `cangate run`; `None` where the experiment's gateway is another.
#[must_use]
pub fn gateway_toml(experiment: &Experiment) -> Option<String> {
    // The papers' priority (gateway-2011 §3.7).
    let realtime = "realtime = 90\nlock_memory = true\n".to_owned();
    let (how, ways) = match &experiment.gateway {
        Gateway::User(pair) => (realtime, ways(pair)),
        Gateway::Direct { .. } => (realtime, String::new()),
        other => (
            format!("offload = \"{}\"\n", other.offload()?),
            String::new(),
        ),
    };
    let names = interfaces(experiment);
    let mut text = format!("[gateway]\ncontrol = \"{SOCKET}\"\n{how}");
    if experiment.hops != Hops::NONE {
        text.push_str(&format!("max_hops = {}\n", experiment.hops.count + 1));
    }
    for name in &names {
        if let Gateway::Direct { irq } = experiment.gateway {
            text.push_str(&direct(name, irq, experiment.is_fd()));
            continue;
        }
        text.push_str(&format!(
            "\n[ports.{name}]\nkind = \"socketcan\"\ninterface = \"{name}\"\n{ways}"
        ));
        if experiment.is_fd() {
            text.push_str("fd = true\n");
        }
    }
    text.push('\n');
    text.push_str(&route::config::to_toml(&routes(experiment).routes, &names));
    Some(text)
}

/// A port on a mapped controller.
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

/// The keys of a port for a pair of ways to receive and to transmit.
fn ways(pair: &str) -> String {
    match pair {
        "read-write" => "receive = \"read\"\ntransmit = \"write\"\n".to_owned(),
        _ => String::new(),
    }
}

/// A configuration as results keep it: of very many routes the first two and the last. The others
/// follow from the experiment.
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
