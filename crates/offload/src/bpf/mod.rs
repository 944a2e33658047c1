//! The table as a BPF program at the entrance of every interface that frames come from.

mod attach;
mod check;
mod compile;
mod error;
mod generation;
mod index;
mod interfaces;
mod kernel;
mod layout;
mod maps;
mod ops;

pub use check::{Inexpressible, inexpressible};
pub use error::{Error, Missing};
pub use interfaces::{Interface, interfaces};
pub use kernel::{Features, features};

use crate::RouteCounts;
use attach::Entrance;
use compile::{Image, Place};
use generation::{Generation, Settings};
use route::{Routes, Table};
use std::collections::BTreeMap;

/// How the table is to work.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Options {
    /// Local programs on the incoming interface see frames that a route takes, too. Costs a copy
    /// of each.
    pub tap: bool,
    /// Every copy's fate is asked for, so that [`RouteCounts::failed`] has also those that a full
    /// queue or an interface that is down refused. Costs a copy of each frame; without it they
    /// are among the interface's own counters only (`tc -s qdisc`, `ip -s link`).
    pub exact: bool,
    /// For tests: rate limits see the time that [`Offload::set_clock`] says.
    #[doc(hidden)]
    pub test_clock: bool,
}

/// What was counted of one port.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct PortCounts {
    /// Classic and FD frames that came in.
    pub seen: u64,
    /// Of these, those that no route took; they went on to local programs.
    pub unrouted: u64,
    /// Frames that a local program sent through this interface and that were left alone, because
    /// they have no room before them that BPF needs (kernels before 7.0, and only on interfaces of
    /// hardware).
    pub local: u64,
    /// What is no classic or FD frame: XL, or malformed.
    pub odd: u64,
}

/// All that was counted since the table was put into the kernel.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Counts {
    /// By the route's number.
    pub routes: Vec<RouteCounts>,
    /// By the port's number.
    pub ports: Vec<PortCounts>,
}

/// A routing table in the kernel. It goes when this is dropped.
pub struct Offload {
    options: Options,
    settings: Settings,
    features: Features,
    routes: Routes,
    /// The ports' interfaces, by name.
    ports: Vec<String>,
    entrances: BTreeMap<u32, Entrance>,
    current: Generation,
    /// What former tables have counted, by the names of routes and ports.
    former: BTreeMap<String, RouteCounts>,
    former_ports: BTreeMap<String, PortCounts>,
}

impl Offload {
    /// Puts a table into the kernel. Ports without an interface are left out until
    /// [`Offload::replace`] finds it, with the same table or another.
    ///
    /// # Errors
    /// Routes without meaning or that BPF cannot express; what this kernel lacks; what it says.
    pub fn new(routes: &Routes, ports: &[String], options: Options) -> Result<Self, Error> {
        let features = features().map_err(Error::Kernel)?;
        let settings = Settings {
            mark: mark(),
            check_mtu: features.check_mtu,
        };
        let mut entrances = BTreeMap::new();
        let found = prepare(routes, ports, &features, &mut entrances)?;
        let image = compile::compile(routes, &found);
        let mut current = Generation::load(&image, routes, ports.len(), &options, &settings)?;
        for entrance in entrances.values_mut() {
            if features.private_headroom && entrance.interface.is_virtual() {
                entrance.make_room(&mut current)?;
            }
            entrance.enter(&mut current)?;
        }
        Ok(Self {
            options,
            settings,
            features,
            routes: routes.clone(),
            ports: ports.to_vec(),
            entrances,
            current,
            former: BTreeMap::new(),
            former_ports: BTreeMap::new(),
        })
    }

    /// Takes another table in place of this one: each frame is routed by the one or by the other.
    /// Counters are kept by the names of routes and ports. Rate limits begin anew.
    ///
    /// # Errors
    /// As [`Offload::new`]. Unless an interface refuses the new program while others have it
    /// already, the table before goes on.
    pub fn replace(&mut self, routes: &Routes, ports: &[String]) -> Result<(), Error> {
        let mut entrances = BTreeMap::new();
        std::mem::swap(&mut entrances, &mut self.entrances);
        let found = prepare(routes, ports, &self.features, &mut entrances);
        std::mem::swap(&mut entrances, &mut self.entrances);
        let found = found?;
        let image: Image = compile::compile(routes, &found);
        let mut next =
            Generation::load(&image, routes, ports.len(), &self.options, &self.settings)?;
        for entrance in self.entrances.values_mut() {
            if self.features.private_headroom && entrance.interface.is_virtual() {
                entrance.make_room(&mut next)?;
            }
            entrance.enter(&mut next)?;
        }
        let counts = self.counts()?;
        self.current = next;
        self.former = by_name(&self.routes, &counts.routes);
        self.former_ports = self.ports.iter().cloned().zip(counts.ports).collect();
        self.routes = routes.clone();
        self.ports = ports.to_vec();
        Ok(())
    }

    /// What was counted.
    ///
    /// # Errors
    /// What the kernel says.
    pub fn counts(&self) -> Result<Counts, Error> {
        let mut routes = self.current.route_counts()?;
        for (counts, route) in routes.iter_mut().zip(&self.routes.routes) {
            if let Some(former) = self.former.get(&route.name) {
                counts.taken = counts.taken.zip(former.taken).map(|(a, b)| a + b);
                counts.sent += former.sent;
                counts.failed += former.failed;
                for (sum, more) in counts.stopped.iter_mut().zip(former.stopped) {
                    *sum += more;
                }
            }
        }
        let ports = self.current.port_counts()?;
        let ports = ports.into_iter().zip(&self.ports).map(|(counts, name)| {
            let former = self.former_ports.get(name).copied().unwrap_or_default();
            PortCounts {
                seen: counts.seen + former.seen,
                unrouted: counts.unrouted + former.unrouted,
                local: counts.local + former.local,
                odd: counts.odd + former.odd,
            }
        });
        Ok(Counts {
            routes,
            ports: ports.collect(),
        })
    }

    /// For tests: the time that rate limits see, with [`Options::test_clock`].
    ///
    /// # Errors
    /// What the kernel says.
    #[doc(hidden)]
    pub fn set_clock(&self, now: u64) -> Result<(), Error> {
        self.current.set_clock(now)
    }
}

/// The ports as they are now. Interfaces that frames come from are claimed, those that are there
/// already are kept, and others are given up.
fn prepare(
    routes: &Routes,
    ports: &[String],
    features: &Features,
    entrances: &mut BTreeMap<u32, Entrance>,
) -> Result<Vec<Place>, Error> {
    Table::compile(routes, ports.len()).map_err(Error::Compile)?;
    let all = interfaces().map_err(Error::Interfaces)?;
    let found: Vec<Option<Interface>> = ports
        .iter()
        .map(|name| all.iter().find(|there| there.name == *name).cloned())
        .collect();
    let wrong = inexpressible(routes, &found);
    if !wrong.is_empty() {
        return Err(Error::Inexpressible(wrong));
    }
    let mut wanted = Vec::new();
    for (number, interface) in found.iter().enumerate() {
        let port = route::PortId(number as u16);
        if let Some(interface) = interface
            && routes.routes.iter().any(|route| route.from.contains(&port))
        {
            wanted.push(interface.clone());
        }
    }
    let mut fresh = Vec::new();
    for interface in &wanted {
        if !entrances.contains_key(&interface.ifindex) {
            fresh.push(Entrance::claim(interface.clone())?);
        }
    }
    entrances.retain(|ifindex, _| wanted.iter().any(|there| there.ifindex == *ifindex));
    entrances.extend(
        fresh
            .into_iter()
            .map(|there| (there.interface.ifindex, there)),
    );
    let place = |interface: &Option<Interface>| {
        interface
            .as_ref()
            .map_or_else(Place::default, |there| Place {
                ifindex: there.ifindex,
                fd: there.carries_fd(),
                roomy: !features.private_headroom || there.is_virtual(),
            })
    };
    Ok(found.iter().map(place).collect())
}

fn by_name(routes: &Routes, counts: &[RouteCounts]) -> BTreeMap<String, RouteCounts> {
    let names = routes.routes.iter().map(|route| route.name.clone());
    names.zip(counts.iter().copied()).collect()
}

/// A mark of this gateway alone: its low byte counts the gateways that a frame has passed.
fn mark() -> u32 {
    use std::hash::{BuildHasher, Hasher, RandomState};
    // Random keys from the system.
    let random = RandomState::new().build_hasher().finish();
    (random as u32 & !0xFF) | 0x8000_0000
}
