//! The counts of tables: in their maps while the tables exist, by name afterwards.

use super::layout::{PortCount, RouteCount};
use super::{Error, PortCounts, maps};
use crate::RouteCounts;
use aya::maps::Map;
use std::collections::BTreeMap;

/// The counters of one table. They outlive its program.
pub(super) struct TableLedger {
    /// The routes, by number.
    pub(super) routes: Vec<String>,
    /// The ports' interfaces, by number; empty for a port without one.
    pub(super) ports: Vec<String>,
    pub(super) route_counts: Map,
    pub(super) port_counts: Map,
}

impl TableLedger {
    /// Returns the counts of each route.
    fn of_routes(&self) -> Result<Vec<RouteCounts>, Error> {
        let sums = maps::sums(
            &self.route_counts,
            "route_counts",
            self.routes.len(),
            |sum: &mut RouteCount, more| {
                sum.taken += more.taken;
                sum.sent += more.sent;
                sum.failed += more.failed;
                for (sum, more) in sum.stopped.iter_mut().zip(more.stopped) {
                    *sum += more;
                }
            },
        )?;
        let counts = |sum: RouteCount| RouteCounts {
            taken: Some(sum.taken),
            sent: sum.sent,
            stopped: sum.stopped,
            failed: sum.failed,
        };
        Ok(sums.into_iter().map(counts).collect())
    }

    /// Returns the counts of each port.
    fn of_ports(&self) -> Result<Vec<PortCounts>, Error> {
        let sums = maps::sums(
            &self.port_counts,
            "port_counts",
            self.ports.len(),
            |sum: &mut PortCount, more| {
                sum.seen += more.seen;
                sum.unrouted += more.unrouted;
                sum.local += more.local;
                sum.odd += more.odd;
            },
        )?;
        let counts = |sum: PortCount| PortCounts {
            seen: sum.seen,
            unrouted: sum.unrouted,
            local: sum.local,
            odd: sum.odd,
        };
        Ok(sums.into_iter().map(counts).collect())
    }
}

/// The counts, by the names of routes and interfaces.
#[derive(Clone, Debug, Default)]
pub(super) struct LedgerTotals {
    routes: BTreeMap<String, RouteCounts>,
    ports: BTreeMap<String, PortCounts>,
}

impl LedgerTotals {
    /// Adds the counts of a table so far.
    pub(super) fn add(&mut self, ledger: &TableLedger) -> Result<(), Error> {
        let (routes, ports) = (ledger.of_routes()?, ledger.of_ports()?);
        self.add_all(&ledger.routes, &routes, &ledger.ports, &ports);
        Ok(())
    }

    /// Adds the counts of routes and ports.
    pub(super) fn add_all(
        &mut self,
        routes: &[String],
        counted: &[RouteCounts],
        ports: &[String],
        port_counted: &[PortCounts],
    ) {
        for (name, more) in routes.iter().zip(counted) {
            let sum = self.routes.entry(name.clone()).or_default();
            sum.taken = Some(sum.taken.unwrap_or(0) + more.taken.unwrap_or(0));
            sum.sent += more.sent;
            sum.failed += more.failed;
            for (sum, more) in sum.stopped.iter_mut().zip(more.stopped) {
                *sum += more;
            }
        }
        for (name, more) in ports.iter().zip(port_counted) {
            let sum = self.ports.entry(name.clone()).or_default();
            sum.seen += more.seen;
            sum.unrouted += more.unrouted;
            sum.local += more.local;
            sum.odd += more.odd;
        }
    }

    /// Returns the counts of these routes.
    pub(super) fn routes(&self, names: &[String]) -> Vec<RouteCounts> {
        let none = RouteCounts {
            taken: Some(0),
            ..RouteCounts::default()
        };
        let of = |name| self.routes.get(name).copied().unwrap_or(none);
        names.iter().map(of).collect()
    }

    /// Returns the counts of these interfaces.
    pub(super) fn ports(&self, names: &[String]) -> Vec<PortCounts> {
        let of = |name| self.ports.get(name).copied().unwrap_or_default();
        names.iter().map(of).collect()
    }
}
