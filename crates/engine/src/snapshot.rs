//! All counters of a gateway at one moment, with names, and the proof that they add up.

use crate::counters::{CopyCounters, EngineCounts, PortCount, RouteCount};
use crate::fate::{Fate, Verifications};
use crate::layout::CounterNames;
use alloc::borrow::ToOwned;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use serde::{Deserialize, Serialize};

/// All counters of a gateway at one moment between two batches.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct CounterSnapshot {
    /// The gateway's time at its last step, ns; the epoch is the caller's (bus time, or the
    /// start of the run).
    pub at_ns: u64,
    /// Number of reloads since the start.
    pub reloads: u64,
    /// The ports, in the order of the file.
    pub ports: Vec<PortRow>,
    /// The routes, in the order of the file.
    pub routes: Vec<RouteRow>,
    /// Sums of all ports that reloads removed.
    pub retired_ports: PortCount,
    /// Sums of all routes that reloads removed.
    pub retired_routes: RouteCount,
    /// Sums of the end-to-end checks of all routes that reloads removed.
    #[serde(default, skip_serializing_if = "Verifications::is_zero")]
    pub retired_verifications: Verifications,
}

/// The counters of a port.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct PortRow {
    /// The port's name.
    pub name: String,
    /// The port's counters.
    #[serde(flatten)]
    pub count: PortCount,
    /// Reason why it is out of service.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failure: Option<String>,
}

/// The counters of a route.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct RouteRow {
    /// The route's name.
    pub name: String,
    /// The route's counters.
    #[serde(flatten)]
    pub count: RouteCount,
    /// Frames whose end-to-end protection it checked, by the result. They are among those taken.
    #[serde(default, skip_serializing_if = "Verifications::is_zero")]
    pub e2e: Verifications,
}

/// Two numbers that must be equal and are not: a bug in cangate, never a user's mistake.
#[derive(thiserror::Error, Clone, PartialEq, Eq, Debug)]
#[error("{place}: {what} ({left} against {right})")]
pub struct CounterImbalance {
    /// The port or route, a fate, or the key of a counter of copies.
    pub place: String,
    /// The condition that must hold.
    pub what: &'static str,
    /// The first number.
    pub left: u128,
    /// The second number.
    pub right: u128,
}

impl CounterSnapshot {
    /// Combines counters with the names to which they belong.
    #[must_use]
    pub fn new(layout: &CounterNames, counts: &EngineCounts) -> Self {
        let ports = layout.ports.iter().zip(&counts.ports).enumerate();
        let routes = layout.routes.iter().zip(&counts.routes);
        let mut snapshot = Self {
            at_ns: counts.at,
            reloads: counts.reloads,
            ports: ports
                .map(|(i, (name, &count))| PortRow {
                    name: name.clone(),
                    count,
                    failure: counts
                        .failures
                        .get(i)
                        .cloned()
                        .flatten()
                        .map(|why| why.to_string()),
                })
                .collect(),
            routes: routes
                .map(|(name, &count)| RouteRow {
                    name: name.clone(),
                    count,
                    e2e: Verifications::default(),
                })
                .collect(),
            retired_ports: counts.retired_ports,
            retired_routes: counts.retired_routes,
            retired_verifications: counts.retired_verifications,
        };
        for count in &counts.verifications {
            if let Some(row) = snapshot.routes.get_mut(count.route) {
                row.e2e = count.results;
            }
        }
        snapshot
    }

    /// Returns the port of this name.
    #[must_use]
    pub fn port(&self, name: &str) -> Option<&PortCount> {
        self.ports
            .iter()
            .find(|row| row.name == name)
            .map(|row| &row.count)
    }

    /// Returns the route of this name.
    #[must_use]
    pub fn route(&self, name: &str) -> Option<&RouteCount> {
        self.routes
            .iter()
            .find(|row| row.name == name)
            .map(|row| &row.count)
    }

    /// Returns the number of frames received by all ports since the start.
    #[must_use]
    pub fn received(&self) -> u128 {
        self.port_sum(|port| port.received.into())
    }

    /// Returns the number of frames with one fate, of all ports since the start.
    #[must_use]
    pub fn frames(&self, fate: Fate) -> u128 {
        self.port_sum(|port| port.fates.get(fate).into())
    }

    pub(crate) fn all_ports(&self) -> impl Iterator<Item = (&str, &PortCount)> {
        let rows = self.ports.iter().map(|row| (row.name.as_str(), &row.count));
        rows.chain([("retired ports", &self.retired_ports)])
    }

    fn all_routes(&self) -> impl Iterator<Item = (&str, &RouteCount)> {
        let rows = self
            .routes
            .iter()
            .map(|row| (row.name.as_str(), &row.count));
        rows.chain([("retired routes", &self.retired_routes)])
    }

    fn port_sum(&self, part: impl Fn(&PortCount) -> u128) -> u128 {
        self.all_ports().map(|(_, count)| part(count)).sum()
    }

    fn route_sum(&self, part: impl Fn(&RouteCount) -> u128) -> u128 {
        self.all_routes().map(|(_, count)| part(count)).sum()
    }

    /// Checks that all sums add up.
    ///
    /// * A port: the frames that it handed over, as counted on arrival, equal the port's own
    ///   report, and the sum of the fates. Copies offered equal copies answered; copies accepted
    ///   and frames injected equal those that the port reports to have taken, and these, with the
    ///   second frames of those that it duplicated on purpose, equal the sum of their outcomes.
    /// * A route: frames taken equal frames forwarded or ended there; copies offered equal copies
    ///   answered.
    /// * All: copies by destination equal copies by route, for each kind of answer; and for each
    ///   fate there are at least as many copies, or ends in routes, as frames.
    ///
    /// # Errors
    /// The first [`CounterImbalance`].
    pub fn check(&self) -> Result<(), CounterImbalance> {
        for (name, port) in self.all_ports() {
            let same = |what, left, right| equal(name, what, left, right);
            same(
                "frames handed over and frames reported by the port differ",
                port.received.into(),
                port.reported.into(),
            )?;
            same(
                "frames received and the sum of their fates differ",
                port.received.into(),
                port.fates.total(),
            )?;
            same(
                "copies offered and copies answered differ",
                port.copies.offered.into(),
                port.copies.answered(),
            )?;
            same(
                "copies accepted, with frames injected, and those that the port reports as taken differ",
                u128::from(port.copies.accepted) + u128::from(port.injected),
                port.tx.taken.into(),
            )?;
            let tx = &port.tx;
            same(
                "copies taken (or duplicated on purpose) and the sum of their outcomes differ",
                u128::from(tx.taken) + u128::from(tx.faults.duplicated),
                tx.outcomes(),
            )?;
        }
        for (name, route) in self.all_routes() {
            let same = |what, left, right| equal(name, what, left, right);
            same(
                "frames taken and frames forwarded or ended differ",
                route.taken.into(),
                route.ended(),
            )?;
            same(
                "copies offered and copies answered differ",
                route.copies.offered.into(),
                route.copies.answered(),
            )?;
        }
        self.check_across()
    }

    /// Checks the conditions between ports and routes.
    fn check_across(&self) -> Result<(), CounterImbalance> {
        let keys = CopyCounters::default();
        for (i, (key, _)) in keys.iter().enumerate() {
            let part = |copies: &CopyCounters| {
                let number = copies.iter().nth(i);
                number.map_or(0, |(_, number)| u128::from(number))
            };
            let ports = self.port_sum(|port| part(&port.copies));
            let routes = self.route_sum(|route| part(&route.copies));
            equal(key, "copies by port and by route differ", ports, routes)?;
        }
        for fate in Fate::ALL {
            let (what, most) = match fate {
                Fate::Routed => (
                    "more frames than copies accepted",
                    self.route_sum(|r| r.copies.accepted.into()),
                ),
                Fate::Refused => (
                    "more frames than copies refused",
                    self.route_sum(|r| r.copies.refused.into()),
                ),
                Fate::Undeliverable => (
                    "more frames than copies undeliverable",
                    self.route_sum(|r| r.copies.undeliverable()),
                ),
                Fate::Stopped(why) => (
                    "more frames than routes stopped",
                    self.route_sum(|r| r.stopped.get(why).into()),
                ),
                Fate::NoRoute => continue,
            };
            let frames = self.frames(fate);
            if frames > most {
                return Err(imbalance(fate.words(), what, frames, most));
            }
        }
        Ok(())
    }
}

fn equal(place: &str, what: &'static str, left: u128, right: u128) -> Result<(), CounterImbalance> {
    if left == right {
        Ok(())
    } else {
        Err(imbalance(place, what, left, right))
    }
}

fn imbalance(place: &str, what: &'static str, left: u128, right: u128) -> CounterImbalance {
    CounterImbalance {
        place: place.to_owned(),
        what,
        left,
        right,
    }
}
