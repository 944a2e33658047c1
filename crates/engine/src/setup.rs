//! Ports and routes of an engine, as one value: a reload exchanges it as a whole.

use crate::batch::{CopyOptions, copy_options};
use crate::counters::{RouteCount, RouteVerifications};
use crate::error::EngineError;
use crate::fate::Verifications;
use crate::half::{Receive, Transmit};
use crate::lane::{CountedReceiver, CountedTransmitter, PortHalves};
use crate::layout::CounterNames;
use crate::room::{Destination, destinations};
use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec;
use alloc::vec::Vec;
use route::{Routes, RoutingTable, TableMemory};

/// Ports, routing table and counters, by the index of a port or of a route.
pub(crate) struct EngineSetup<R, T> {
    pub(crate) table: Arc<RoutingTable>,
    pub(crate) memory: TableMemory,
    pub(crate) layout: Arc<CounterNames>,
    pub(crate) rx: Vec<CountedReceiver<R>>,
    pub(crate) tx: Vec<CountedTransmitter<T>>,
    pub(crate) routes: Vec<RouteCount>,
    /// One for each route that checks end-to-end protections, in their order.
    pub(crate) verifications: Vec<RouteVerifications>,
    pub(crate) options: Vec<CopyOptions>,
    /// Destinations of each port.
    pub(crate) destinations: Vec<Vec<Destination>>,
}

impl<R: Receive, T: Transmit> EngineSetup<R, T> {
    /// Prepares a setup for ports of these names, with memory for their halves: they are added by
    /// [`Self::push`]. `table` is compiled from `routes`.
    pub(crate) fn new(
        names: Vec<String>,
        table: Arc<RoutingTable>,
        routes: &Routes,
    ) -> Result<Self, EngineError> {
        let ports = names.len();
        let layout = CounterNames::new(names, &table, routes)?;
        Ok(Self {
            memory: table.memory(),
            table,
            rx: Vec::with_capacity(ports),
            tx: Vec::with_capacity(ports),
            routes: vec![RouteCount::default(); layout.routes.len()],
            layout: Arc::new(layout),
            verifications: verifications(routes),
            options: copy_options(routes),
            destinations: destinations(routes, ports),
        })
    }

    /// Adds the halves of the next port.
    pub(crate) fn push(&mut self, port: PortHalves<R, T>) {
        let (rx, tx) = port.split();
        self.rx.push(rx);
        self.tx.push(tx);
    }

    /// Records which ports are asked only for as many frames as a destination that makes them wait
    /// has room for.
    pub(crate) fn note_held_back(&mut self) {
        for (source, to) in self.rx.iter_mut().zip(&self.destinations) {
            let mut to = to.iter().filter_map(|to| self.tx.get(to.port));
            source.held_back = to.any(|port| port.half.makes_wait());
        }
    }
}

/// Returns the counters of the routes that check, at zero.
fn verifications(routes: &Routes) -> Vec<RouteVerifications> {
    let each = routes.routes.iter().enumerate();
    let checking = each.filter(|(_, route)| route.verify.is_some());
    let counters = checking.map(|(route, _)| RouteVerifications {
        route,
        results: Verifications::default(),
    });
    counters.collect()
}
