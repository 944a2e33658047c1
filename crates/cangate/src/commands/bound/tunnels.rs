//! The tunnels between the gateways of a set.

use super::copies::SentCopy;
use analysis::MessagePlace;
use analysis::set::GatewayTunnel;
use analysis::tunnel::{PlayOutSpec, TunnelFlow, TunnelPassage, TunnelPort, TunnelSpec};
use console::Failure;
use frame::{Nanos, wire};
use gateway::config::GatewayConfig;
use port::{PlayOutTimes, PortSpec, TunnelEnd};
use route::PortId;
use std::collections::BTreeMap;

/// A port of a gateway: the number of the gateway, and of the port in it.
type GatewayPort = (usize, u16);

/// The ends of an association in one direction.
#[derive(Clone)]
pub(super) struct TunnelEnds {
    /// The port that sends, and the one that receives.
    pub(super) near: String,
    pub(super) far: String,
    /// The play-out of the port that receives.
    pub(super) play_out: Option<PlayOutTimes>,
    /// The most by which the clocks are wrong, where the set states it, ns.
    pub(super) clock_error: Option<Nanos>,
}

/// The entry of a tunnel in one direction.
struct TunnelEntry<'c> {
    tunnel: usize,
    /// An index into [`TunnelSpec::ports`].
    port: usize,
    far: GatewayPort,
    end: &'c dyn TunnelEnd,
}

/// A message in a tunnel.
pub(super) struct EnteredTunnel {
    pub(super) passage: TunnelPassage,
    /// The gateway at the far side, and its port.
    pub(super) gateway: usize,
    pub(super) port: PortId,
    /// The name of the tunnel.
    pub(super) name: String,
}

/// The tunnels, two for each network: one in each direction.
pub(super) struct TunnelPlan<'c> {
    specs: Vec<TunnelSpec>,
    ends: Vec<Vec<TunnelEnds>>,
    entries: BTreeMap<GatewayPort, TunnelEntry<'c>>,
    delay: Nanos,
}

impl<'c> TunnelPlan<'c> {
    /// Finds the ports of all tunnels. `delay`: the longest time of a gateway.
    pub(super) fn new(
        tunnels: &[GatewayTunnel],
        configs: &'c [GatewayConfig],
        delay: Nanos,
    ) -> Result<Self, Failure> {
        check_names(configs)?;
        let mut plan = Self {
            specs: Vec::new(),
            ends: Vec::new(),
            entries: BTreeMap::new(),
            delay,
        };
        for tunnel in tunnels {
            let first = plan.specs.len();
            for _ in 0..2 {
                plan.specs.push(TunnelSpec {
                    name: tunnel.name.clone(),
                    link: tunnel.link,
                    stated: tunnel.stated,
                    ports: Vec::new(),
                    flows: Vec::new(),
                });
                plan.ends.push(Vec::new());
            }
            for (one, other) in &tunnel.ports {
                let one = find(tunnel, configs, one)?;
                let other = find(tunnel, configs, other)?;
                check_pair(tunnel, &one, &other)?;
                plan.add(tunnel, first, &one, &other)?;
                plan.add(tunnel, first + 1, &other, &one)?;
            }
        }
        Ok(plan)
    }

    /// Adds an association in one direction.
    fn add(
        &mut self,
        tunnel: &GatewayTunnel,
        number: usize,
        near: &FoundPort<'c>,
        far: &FoundPort<'c>,
    ) -> Result<(), Failure> {
        let (Some(spec), Some(ends)) = (self.specs.get_mut(number), self.ends.get_mut(number))
        else {
            return Ok(());
        };
        let play_out = far.end.play_out();
        let play_out = play_out.and_then(|times| times.from_end(near.end));
        // Both compare the time with a stamp of the other machine.
        let timed = play_out.filter(|times| times.delay.is_some() || times.max_age.is_some());
        let delay = match (timed, tunnel.clock_error) {
            (None, _) => None,
            (Some(times), Some(clock_error)) => times.delay.map(|delay| PlayOutSpec {
                delay,
                common_clock: times.common_clock,
                clock_error,
            }),
            (Some(times), None) => {
                let key = match times.delay {
                    Some(_) => "delay",
                    None => "max_age",
                };
                let what = match times.common_clock {
                    true => "the most by which the two clocks differ",
                    false => {
                        "the most by which the sender's clock drifts against the own one in ten seconds"
                    }
                };
                return Err(Failure::input(format!(
                    "[tunnels.{}]: port {} has `{key}`, so that the bound depends on clocks: add \
                     `clock_error = \"1ms\"`, {what}",
                    tunnel.name, far.spec.name
                )));
            }
        };
        let entry = TunnelEntry {
            tunnel: number,
            port: spec.ports.len(),
            far: far.place,
            end: near.end,
        };
        if self.entries.insert(near.place, entry).is_some() {
            return Err(Failure::input(format!(
                "[tunnels.{}]: port {} is in `ports` of a tunnel already: a port has one other side",
                tunnel.name, near.spec.name
            )));
        }
        spec.ports.push(TunnelPort {
            name: near.spec.name.clone(),
            window: near.end.pack(),
            timer: self.delay,
            header: near.end.header_bytes().saturating_add(tunnel.overhead),
            room: near.end.room_bytes(),
            reports: near.end.reports(),
            play_out: delay,
        });
        ends.push(TunnelEnds {
            near: near.spec.name.clone(),
            far: far.spec.name.clone(),
            play_out,
            clock_error: tunnel.clock_error,
        });
        Ok(())
    }

    /// Sends a copy into a tunnel, if it goes to a port of one.
    ///
    /// # Errors
    /// The port has another side, of which the set knows nothing.
    pub(super) fn enter(
        &mut self,
        gateway: usize,
        sent: &SentCopy,
        from: MessagePlace,
        route: &str,
    ) -> Result<Option<EnteredTunnel>, Failure> {
        let Some(entry) = self.entries.get(&(gateway, sent.to.0)) else {
            return Ok(None);
        };
        let Some(spec) = self.specs.get_mut(entry.tunnel) else {
            return Ok(None);
        };
        let header = sent.shape.header();
        let flow = spec.flows.len();
        if flow >= MOST_FLOWS {
            return Err(Failure::input(format!(
                "[tunnels.{}]: route {route} sends more than {MOST_FLOWS} messages into it",
                spec.name
            )));
        }
        spec.flows.push(TunnelFlow {
            from,
            port: entry.port,
            before: self.delay,
            bytes: entry.end.frame_bytes(header),
            urgent: entry.end.is_urgent(header.id()),
            key: wire::arbitration_key(header),
        });
        Ok(Some(EnteredTunnel {
            passage: TunnelPassage {
                tunnel: entry.tunnel,
                flow,
            },
            gateway: entry.far.0,
            port: PortId(entry.far.1),
            name: spec.name.clone(),
        }))
    }

    /// Refuses a copy that goes from one tunnel into another one.
    pub(super) fn refuse_second(
        &self,
        entered: &EnteredTunnel,
        behind: &SentCopy,
        route: &str,
    ) -> Result<(), Failure> {
        let Some(entry) = self.entries.get(&(entered.gateway, behind.to.0)) else {
            return Ok(());
        };
        let next = self.specs.get(entry.tunnel);
        Err(Failure::input(format!(
            "route {route} sends {} from tunnel {} on into tunnel {}: bounds cover one tunnel between two buses; \
             describe both networks as one tunnel from the first gateway to the last one, with the sum of their \
             times as `stated`",
            behind.shape.header().id(),
            entered.name,
            next.map_or("", |next| next.name.as_str())
        )))
    }

    /// Returns the ports of which the set describes no network, in sentences.
    pub(super) fn notes(&self, configs: &[GatewayConfig]) -> Vec<String> {
        let ports = configs.iter().enumerate().flat_map(|(gateway, config)| {
            let ports = (0_u16..).zip(&config.ports);
            ports.map(move |(port, spec)| ((gateway, port), spec))
        });
        let unknown = ports.filter(|(place, spec)| {
            spec.settings.tunnel_end().is_some() && !self.entries.contains_key(place)
        });
        let note = |(_, spec): (GatewayPort, &PortSpec)| {
            format!(
                "messages to and from port {}, a tunnel: describe its network in [tunnels.NAME] of the set",
                spec.name
            )
        };
        unknown.map(note).collect()
    }

    /// Returns the tunnels with their ends.
    pub(super) fn finish(self) -> (Vec<TunnelSpec>, Vec<Vec<TunnelEnds>>) {
        (self.specs, self.ends)
    }
}

/// The maximum number of messages in a tunnel: more are a mistake of the routes.
const MOST_FLOWS: usize = 10_000;

/// A port of a tunnel.
struct FoundPort<'c> {
    place: GatewayPort,
    spec: &'c PortSpec,
    end: &'c dyn TunnelEnd,
}

/// Reports names that two gateway files have in common.
fn check_names(configs: &[GatewayConfig]) -> Result<(), Failure> {
    let mut known: BTreeMap<&str, usize> = BTreeMap::new();
    for (number, config) in configs.iter().enumerate() {
        for spec in &config.ports {
            let before = known.insert(spec.name.as_str(), number);
            if before.is_some_and(|before| before != number) {
                return Err(Failure::input(format!(
                    "two gateway files have a port {}: rename one of them, because the set names ports of all files",
                    spec.name
                )));
            }
        }
    }
    Ok(())
}

fn find<'c>(
    tunnel: &GatewayTunnel,
    configs: &'c [GatewayConfig],
    name: &str,
) -> Result<FoundPort<'c>, Failure> {
    let ports = configs.iter().enumerate().flat_map(|(gateway, config)| {
        let ports = (0_u16..).zip(&config.ports);
        ports.map(move |(port, spec)| ((gateway, port), spec))
    });
    let found = ports.clone().find(|(_, spec)| spec.name == name);
    let Some((place, spec)) = found else {
        let names = ports.clone().map(|(_, spec)| spec.name.as_str());
        let hint = config::did_you_mean(name, names);
        let hint = match hint.is_empty() {
            true => {
                "give the files of both gateways: --gateway NEAR.toml --gateway FAR.toml".to_owned()
            }
            false => hint,
        };
        return Err(Failure::input(format!(
            "[tunnels.{}]: no gateway file has a port {name}; {hint}",
            tunnel.name
        )));
    };
    let Some(end) = spec.settings.tunnel_end() else {
        return Err(Failure::input(format!(
            "[tunnels.{}]: port {name} is of kind \"{}\": bounds cover datagrams, of kind \"ieee1722\", and of kind \
             \"cannelloni\" over UDP; a stream repeats lost frames, and has no bound",
            tunnel.name,
            spec.settings.kind()
        )));
    };
    Ok(FoundPort { place, spec, end })
}

fn check_pair(
    tunnel: &GatewayTunnel,
    one: &FoundPort<'_>,
    other: &FoundPort<'_>,
) -> Result<(), Failure> {
    let (name, one_name, other_name) = (&tunnel.name, &one.spec.name, &other.spec.name);
    if one.place.0 == other.place.0 {
        return Err(Failure::input(format!(
            "[tunnels.{name}]: ports {one_name} and {other_name} are of one gateway; a tunnel is between two: give \
             both files, --gateway NEAR.toml --gateway FAR.toml"
        )));
    }
    let (here, there) = (one.end.protocol(), other.end.protocol());
    if here != there {
        return Err(Failure::input(format!(
            "[tunnels.{name}]: port {one_name} is {here}, and port {other_name} is {there}: they do not understand \
             each other; give both the same kind, `stream` and `bus`"
        )));
    }
    Ok(())
}
