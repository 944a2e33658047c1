//! Halves around halves, in an engine that holds them without a box. Scenarios as in `fates.rs`.

use crate::common::{Handle, MemoryRx, MemoryTx, all, memory_halves, numbered, route};
use alloc::boxed::Box;
use alloc::format;
use alloc::rc::Rc;
use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec;
use alloc::vec::Vec;
use core::cell::RefCell;
use engine::wrap::{FaultChances, FaultyHalf, HalfTap, TappedHalf};
use engine::{
    Accepted, Engine, Fate, FlushReport, FrameInterest, InterestIds, LinkState, NamedPort,
    NullReceiver, NullTransmitter, OutgoingFrame, PortError, Receive, ReceivedFrame, RxCounters,
    RxReport, Transmit, TransmitRefusal, TxCounters,
};
use frame::Frame;
use route::RoutingTable;

type FaultyEngine = Engine<FaultyHalf<MemoryRx>, FaultyHalf<MemoryTx>>;

/// Two ports with injected faults, and a route from the first to the second.
fn faulty(on_receiving: FaultChances, on_sending: FaultChances) -> (FaultyEngine, Vec<Handle>) {
    let routes = all(vec![route("r", &[0], &[1])]);
    let table = Arc::new(RoutingTable::compile(&routes, 2).unwrap());
    let port = |seed: u64| {
        let (rx, tx, handle) = memory_halves();
        let port = NamedPort {
            name: format!("p{seed}"),
            rx: FaultyHalf::new(rx, on_receiving, seed).unwrap(),
            tx: FaultyHalf::new(tx, on_sending, seed).unwrap(),
        };
        (port, handle)
    };
    let (ports, handles) = (0..2).map(port).unzip();
    (Engine::new(ports, table, &routes).unwrap(), handles)
}

/// Time and token of each passing frame, and the answer of a half to which it was offered.
#[derive(Clone, Default)]
struct Shown(Rc<RefCell<Vec<Passed>>>);

type Passed = (u64, u64, Option<Result<Accepted, TransmitRefusal>>);

impl HalfTap for Shown {
    fn came(&mut self, now: u64, received: &ReceivedFrame<'_>) {
        self.0.borrow_mut().push((now, received.token, None));
    }

    fn offered(
        &mut self,
        now: u64,
        outgoing: &OutgoingFrame<'_>,
        answer: Result<Accepted, TransmitRefusal>,
    ) {
        self.0
            .borrow_mut()
            .push((now, outgoing.token, Some(answer)));
    }
}

fn outgoing(frame: &Frame) -> OutgoingFrame<'_> {
    OutgoingFrame::new(frame.view(), 0)
}

/// A half whose answers all differ from the defaults of the traits.
struct Telling;

fn refused() -> PortError {
    PortError {
        port: "p".into(),
        what: "no".into(),
        source: None,
    }
}

impl Receive for Telling {
    fn receive(
        &mut self,
        _: u64,
        _: usize,
        _: &mut dyn FnMut(ReceivedFrame<'_>),
    ) -> Result<RxReport, PortError> {
        Err(refused())
    }

    fn deadline(&self) -> Option<u64> {
        Some(5)
    }

    fn counters(&self) -> RxCounters {
        RxCounters::default()
    }

    fn set_interest(&mut self, _: &FrameInterest) -> Result<(), PortError> {
        Err(refused())
    }

    fn is_up(&self) -> bool {
        false
    }

    fn can_wait(&self) -> bool {
        true
    }

    fn link(&self) -> LinkState {
        LinkState::BusOff
    }

    fn take_alarm(&mut self) -> Option<String> {
        Some("a".into())
    }

    fn remarks(&self) -> Vec<String> {
        vec!["r".into()]
    }
}

impl Transmit for Telling {
    fn transmit(&mut self, _: u64, _: OutgoingFrame<'_>) -> Result<Accepted, TransmitRefusal> {
        Err(TransmitRefusal::Down)
    }

    fn flush(&mut self, _: u64) -> Result<FlushReport, PortError> {
        Err(refused())
    }

    fn deadline(&self) -> Option<u64> {
        Some(6)
    }

    fn counters(&self) -> TxCounters {
        TxCounters::default()
    }

    fn room(&self) -> usize {
        3
    }

    fn refuses(&mut self, _: u64, _: &OutgoingFrame<'_>) -> Option<TransmitRefusal> {
        Some(TransmitRefusal::Down)
    }

    fn recall(&mut self) -> bool {
        true
    }

    fn makes_wait(&self) -> bool {
        true
    }

    fn retry_at(&self) -> Option<u64> {
        Some(7)
    }

    fn remarks(&self) -> Vec<String> {
        vec!["r".into()]
    }
}

scenarios! {
    /// For any faults on receiving and sending, every sum adds up, and the same seed gives the same
    /// faults.
    fn mishaps_are_accounted_for() {
        let coming = FaultChances { drop: 0.2, duplicate: 0.2, corrupt: 0.2, refuse: 0.0 };
        let going = FaultChances { refuse: 0.2, ..coming };
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
        let (came, went) = (from.rx.faults, to.tx.faults);
        assert!(came.dropped > 100 && came.duplicated > 100 && came.corrupted > 100);
        assert_eq!(from.received, 1_000 - came.dropped + came.duplicated);
        assert_eq!((from.rx.overrun, came.refused), (0, 0));
        assert!(went.dropped > 100 && went.duplicated > 100 && went.corrupted > 100);
        assert_eq!((to.tx.lost, to.copies.refused), (went.dropped, went.refused));
        assert_eq!(to.tx.sent, to.tx.taken - went.dropped + went.duplicated);
        assert_eq!(run(), snapshot);
    }

    /// A probability of one is certain.
    fn all_frames_vanish_where_that_is_certain() {
        let certain = FaultChances { drop: 1.0, ..FaultChances::default() };
        let (mut engine, ports) = faulty(FaultChances::default(), certain);
        ports[0].feed(0..10);
        engine.step(0);
        let snapshot = engine.snapshot();
        snapshot.check().unwrap();
        assert_eq!(snapshot.port("p1").unwrap().tx.lost, 10);
        assert!(ports[1].sent_tokens().is_empty());
    }

    /// A second frame that waits is held like any other, but is not a copy of a route.
    fn what_goes_out_twice_waits_twice() {
        let twice = FaultChances { duplicate: 1.0, ..FaultChances::default() };
        let (mut engine, ports) = faulty(FaultChances::default(), twice);
        ports[1].inside().queue = 100;
        ports[1].inside().room = 0;
        ports[0].feed(0..3);
        engine.step(0);
        let count = |engine: &FaultyEngine| {
            let snapshot = engine.snapshot();
            snapshot.check().unwrap();
            let port = *snapshot.port("p1").unwrap();
            (port.copies.accepted, port.tx.taken, port.tx.sent, port.tx.held)
        };
        assert_eq!(count(&engine), (3, 3, 0, 6));
        ports[1].inside().room = 5;
        engine.step(1);
        assert_eq!(count(&engine), (3, 3, 5, 1));
    }

    /// A tap is shown the received frames, and the offered frames with their answers; a port that
    /// only receives refuses frames that are sent to it.
    fn a_tap_is_shown_what_passes() {
        let mut routes = all(vec![route("r", &[0], &[0])]);
        routes.routes[0].allow_same_port = true;
        let table = Arc::new(RoutingTable::compile(&routes, 1).unwrap());
        let (rx, _, source) = memory_halves();
        let (came, offered) = (Shown::default(), Shown::default());
        let port = NamedPort {
            name: "p".into(),
            rx: TappedHalf::new(rx, came.clone()),
            tx: TappedHalf::new(NullTransmitter, offered.clone()),
        };
        let mut engine = Engine::new(vec![port], table, &routes).unwrap();
        source.feed(0..3);
        engine.step(7);
        let snapshot = engine.snapshot();
        snapshot.check().unwrap();
        assert_eq!(snapshot.frames(Fate::Undeliverable), 3);
        assert_eq!(snapshot.port("p").unwrap().copies.unsupported, 3);
        assert_eq!(*came.0.borrow(), [(7, 0, None), (7, 1, None), (7, 2, None)]);
        let refused = Some(Err(TransmitRefusal::Unsupported));
        assert_eq!(*offered.0.borrow(), [(7, 0, refused), (7, 1, refused), (7, 2, refused)]);
    }

    /// The only held frame comes back from the half inside. If it had been changed, the fault is
    /// undone, too: the frame will come again.
    fn a_wrapper_recalls_what_its_half_recalls() {
        let frame = numbered(1);
        let outgoing = outgoing(&frame);
        let half = || {
            let (_, tx, handle) = memory_halves();
            handle.inside().recalls = true;
            tx
        };
        let changes = FaultChances { corrupt: 1.0, ..FaultChances::default() };
        let mut faulty = FaultyHalf::new(half(), changes, 1).unwrap();
        faulty.transmit(0, outgoing).unwrap();
        assert_eq!((faulty.counters().held, faulty.faults().corrupted), (1, 1));
        assert!(faulty.recall() && !faulty.recall());
        assert_eq!((faulty.counters().taken, faulty.faults().corrupted), (0, 0));
        let mut tapped = TappedHalf::new(half(), Shown::default());
        tapped.transmit(0, outgoing).unwrap();
        assert!(tapped.recall() && !tapped.recall());
        let mut boxed: Box<dyn Transmit> = Box::new(tapped);
        boxed.transmit(0, outgoing).unwrap();
        assert!(boxed.recall() && !boxed.recall());
    }

    /// No answer of a wrapped half is the default of the trait.
    fn wrapped_halves_answer_as_the_half_inside() {
        let nothing = FrameInterest {
            ids: InterestIds::Nothing,
            fd: false,
            xl: false,
            error_frames: false,
        };
        let receives = |half: &mut dyn Receive| {
            assert!(!half.is_up() && half.can_wait());
            assert_eq!((half.link(), half.take_alarm()), (LinkState::BusOff, Some("a".into())));
            assert_eq!((half.deadline(), half.remarks().len()), (Some(5), 1));
            half.set_interest(&nothing).unwrap_err();
        };
        let transmits = |half: &mut dyn Transmit| {
            let frame = numbered(1);
            let outgoing = outgoing(&frame);
            assert_eq!(half.refuses(0, &outgoing), Some(TransmitRefusal::Down));
            assert!(half.makes_wait() && half.recall());
            assert_eq!((half.room(), half.retry_at()), (3, Some(7)));
            assert_eq!((half.deadline(), half.remarks().len()), (Some(6), 1));
        };
        let none = FaultChances::default();
        receives(&mut Box::new(Telling));
        receives(&mut TappedHalf::new(Telling, Shown::default()));
        receives(&mut FaultyHalf::new(Telling, none, 1).unwrap());
        transmits(&mut Box::new(Telling));
        transmits(&mut TappedHalf::new(Telling, Shown::default()));
        transmits(&mut FaultyHalf::new(Telling, none, 1).unwrap());
    }

    fn from_nothing_nothing_comes() {
        let mut frames = 0;
        let report = NullReceiver.receive(0, 64, &mut |_| frames += 1).unwrap();
        assert!(report.finished && frames == 0 && NullReceiver.deadline().is_none());
    }
}
