//! No allocation for a frame, and none when a reader gets the counters.
#![allow(clippy::unwrap_used)]

use engine::wrap::{QueueOrder, QueueRules, QueuedTransmitter, WhenFull};
use engine::{
    Accepted, Engine, EngineCounts, FlushReport, NamedPort, OutgoingFrame, PortError, Receive,
    ReceiveStamp, ReceivedFrame, RxCounters, RxReport, Transmit, TransmitRefusal, TxCounters,
};
use frame::{CanId, Frame, Nanos};
use route::{
    Action, FrameMatch, Modify, ModifyOp, PortId, RateLimit, Route, RouteMode, Routes,
    RoutingTable, StopReason, XorSum,
};
use stats_alloc::{INSTRUMENTED_SYSTEM, Region, StatsAlloc};
use std::sync::Arc;

#[global_allocator]
static ALLOCATOR: &StatsAlloc<std::alloc::System> = &INSTRUMENTED_SYSTEM;

struct Source(Frame);
#[derive(Default)]
struct Drain(TxCounters);

impl Receive for Source {
    fn receive(
        &mut self,
        _: Nanos,
        budget: usize,
        take: &mut dyn FnMut(ReceivedFrame<'_>),
    ) -> Result<RxReport, PortError> {
        for token in 0..budget as u64 {
            take(ReceivedFrame {
                frame: self.0.view(),
                stamp: ReceiveStamp::default(),
                hops: 0,
                token,
            });
        }
        Ok(RxReport {
            frames: budget,
            more: true,
            ..RxReport::default()
        })
    }

    fn deadline(&self) -> Option<Nanos> {
        None
    }

    fn counters(&self) -> RxCounters {
        RxCounters::default()
    }
}

impl Transmit for Drain {
    fn transmit(
        &mut self,
        _: Nanos,
        outgoing: OutgoingFrame<'_>,
    ) -> Result<Accepted, TransmitRefusal> {
        if outgoing.token.is_multiple_of(3) {
            return Err(TransmitRefusal::Full);
        }
        self.0.taken += 1;
        self.0.sent += 1;
        Ok(Accepted)
    }

    fn flush(&mut self, _: Nanos) -> Result<FlushReport, PortError> {
        Ok(FlushReport::default())
    }

    fn deadline(&self) -> Option<Nanos> {
        None
    }

    fn counters(&self) -> TxCounters {
        self.0
    }
}

fn port(name: &str) -> NamedPort {
    NamedPort {
        name: name.into(),
        rx: Box::new(Source(
            Frame::classic(CanId::from_raw(0x123), &[1; 8]).unwrap(),
        )),
        tx: Box::new(Drain::default()),
    }
}

/// Changed, limited and checksummed frames to two destinations, some of them refused.
fn routes() -> Routes {
    let route = Route {
        name: "r".into(),
        from: vec![PortId(0), PortId(1)],
        to: vec![PortId(1), PortId(2)],
        matching: FrameMatch::default(),
        actions: vec![
            Action::Modify(Modify {
                op: ModifyOp::Set,
                id: Some(route::IdOperand::Raw(0x321)),
                len: None,
                flags: None,
                data: Some(vec![7; 4]),
            }),
            Action::XorSum(XorSum {
                from: 0,
                to: -2,
                result: -1,
                init: 0,
            }),
        ],
        drop: false,
        limit: Some(RateLimit {
            frames: 1_000,
            per: 1_000,
            burst: 10,
            per_id: Some(4),
        }),
        hop_limit: None,
        allow_same_port: false,
        echo: false,
        keep_stamp: false,
        verify: None,
        protect: None,
    };
    Routes {
        mode: RouteMode::All,
        max_hops: 1,
        routes: vec![route],
    }
}

#[test]
fn a_frame_allocates_nothing() {
    let routes = routes();
    let table = Arc::new(RoutingTable::compile(&routes, 3).unwrap());
    let ports = ["a", "b", "c"].map(port).into();
    let mut engine = Engine::new(ports, table, &routes).unwrap();
    assert_eq!(allocations(&mut engine), 0);
    let snapshot = engine.snapshot();
    snapshot.check().unwrap();
    let count = snapshot.route("r").unwrap();
    assert!(
        count.stopped.get(StopReason::RateLimit) > 0
            && count.copies.refused > 0
            && count.copies.accepted > 0
    );
}

#[test]
fn a_queue_in_front_allocates_nothing() {
    let mut routes = routes();
    routes.routes[0].limit = None;
    for order in [QueueOrder::Fifo, QueueOrder::Priority] {
        let table = Arc::new(RoutingTable::compile(&routes, 3).unwrap());
        let rules = QueueRules {
            order,
            max_age: Some(5),
            when_full: WhenFull::DropOldest,
            frames: 10,
            longest: 8,
        };
        let queued = |name: &str| {
            let mut port = port(name);
            port.tx = Box::new(QueuedTransmitter::new(Drain::default(), rules));
            port
        };
        let ports = ["a", "b", "c"].map(queued).into();
        let mut engine = Engine::new(ports, table, &routes).unwrap();
        assert_eq!(allocations(&mut engine), 0);
        let snapshot = engine.snapshot();
        snapshot.check().unwrap();
        let tx = snapshot.port("c").unwrap().tx;
        assert!(tx.sent > 0 && tx.expired > 0 && tx.displaced > 0, "{tx:?}");
    }
}

/// Returns the minimum number of allocations of many rounds.
fn allocations(engine: &mut Engine) -> usize {
    let mut counts = EngineCounts::default();
    engine.step(0);
    engine.count(&mut counts);
    // The allocator counts for the whole process, and the test harness has its own thread that
    // allocates occasionally: an engine that allocated would do so in every round.
    let mut least = usize::MAX;
    for round in 1..20 {
        let region = Region::new(ALLOCATOR);
        let mut frames = 0;
        for now in 0..100 {
            frames += engine.step((round * 100 + now) * 10).frames;
            engine.count(&mut counts);
        }
        let change = region.change();
        assert!(frames > 10_000);
        least = least.min(change.allocations + change.reallocations);
    }
    least
}
