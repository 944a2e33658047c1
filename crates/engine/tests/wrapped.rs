//! Halves around halves, in an engine that holds them without a box. Scenarios as in `engine.rs`.
#![allow(clippy::unwrap_used, unused_attributes)]

extern crate alloc;

#[macro_use]
mod common;

use alloc::format;
use alloc::sync::Arc;
use alloc::vec;
use alloc::vec::Vec;
use common::{Handle, MemoryRx, MemoryTx, all, memory_halves, route};
use engine::wrap::{Chances, Faulty, Traced};
use engine::{Engine, Fate, NamedPort, Nothing, Nowhere, Receive};
use route::Table;

type FaultyEngine = Engine<Faulty<MemoryRx>, Faulty<MemoryTx>>;

/// Two ports with which things go wrong, and a route from the first to the second.
fn faulty(on_receiving: Chances, on_sending: Chances) -> (FaultyEngine, Vec<Handle>) {
    let routes = all(vec![route("r", &[0], &[1])]);
    let table = Arc::new(Table::compile(&routes, 2).unwrap());
    let port = |seed: u64| {
        let (rx, tx, handle) = memory_halves();
        let port = NamedPort {
            name: format!("p{seed}"),
            rx: Faulty::new(rx, on_receiving, seed).unwrap(),
            tx: Faulty::new(tx, on_sending, seed).unwrap(),
        };
        (port, handle)
    };
    let (ports, handles) = (0..2).map(port).unzip();
    (Engine::new(ports, table, &routes).unwrap(), handles)
}

scenarios! {
    /// Whatever goes wrong on the way in and out, every sum adds up, and the same seed gives the
    /// same mishaps.
    fn mishaps_are_accounted_for() {
        let coming = Chances { lose: 0.2, double: 0.2, corrupt: 0.2, refuse: 0.0 };
        // A frame that goes out twice counts as taken twice, which no engine asked for.
        let going = Chances { double: 0.0, refuse: 0.2, ..coming };
        let run = || {
            let (mut engine, ports) = faulty(coming, going);
            ports[0].feed(0..1_000);
            while engine.step(0).more {}
            let snapshot = engine.snapshot();
            snapshot.check().unwrap();
            snapshot
        };
        let snapshot = run();
        let (from, to) = (snapshot.port("p0").unwrap(), snapshot.port("p1").unwrap());
        assert!(from.rx.overrun > 100 && from.received != 1_000);
        assert!(to.tx.lost > 100 && to.copies.refused > 100);
        assert_eq!(run(), snapshot);
    }

    /// A chance of one is certain.
    fn all_frames_vanish_where_that_is_certain() {
        let certain = Chances { lose: 1.0, ..Chances::default() };
        let (mut engine, ports) = faulty(Chances::default(), certain);
        ports[0].feed(0..10);
        engine.step(0);
        let snapshot = engine.snapshot();
        snapshot.check().unwrap();
        assert_eq!(snapshot.port("p1").unwrap().tx.lost, 10);
        assert!(ports[1].sent_tokens().is_empty());
    }

    /// A trace has what came in; a port that only receives refuses what is sent to it.
    fn a_trace_has_what_came_in() {
        let routes = all(vec![route("r", &[0], &[0])]);
        let mut routes = routes;
        routes.routes[0].allow_same_port = true;
        let table = Arc::new(Table::compile(&routes, 1).unwrap());
        let (rx, _, source) = memory_halves();
        let (_, trace, traced) = memory_halves();
        let port = NamedPort { name: "p".into(), rx: Traced::new(rx, trace), tx: Nowhere };
        let mut engine = Engine::new(vec![port], table, &routes).unwrap();
        source.feed(0..3);
        engine.step(0);
        let snapshot = engine.snapshot();
        snapshot.check().unwrap();
        assert_eq!(snapshot.frames(Fate::Undeliverable), 3);
        assert_eq!(snapshot.port("p").unwrap().copies.unsupported, 3);
        assert_eq!(traced.sent_tokens(), [0, 1, 2]);
    }

    fn from_nothing_nothing_comes() {
        let mut frames = 0;
        let report = Nothing.receive(0, 64, &mut |_| frames += 1).unwrap();
        assert!(report.finished && frames == 0 && Nothing.deadline().is_none());
    }
}
