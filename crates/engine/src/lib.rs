//! Moves frames between ports according to a routing table, and counts each one.
//!
//! * A **port** is one attachment to a bus. It has two halves, because an engine receives from one
//!   port while it transmits on others and, for can-gw's `-i`, on the same one: [`Receive`] and
//!   [`Transmit`].
//! * [`Engine`] receives from every port in turn, lets the [`route::RoutingTable`] decide and hands
//!   the copies to their ports. It counts each frame under exactly one [`Fate`].
//! * [`CounterSnapshot`] holds all counters, and [`CounterSnapshot::check`] proves that they add
//!   up.
//! * [`LayoutChange`] switches an engine from one table and set of ports to the next without losing
//!   a frame.
//! * [`NullReceiver`] and [`NullTransmitter`] are halves for ports that work in one direction only;
//!   [`wrap`] has halves around halves, which show the passing frames or fail on purpose.
//!
//! This crate depends on no operating system: no descriptor, no thread, no clock, no log. Time is
//! passed in. So the same code runs in a process, on a simulated bus, in a test and on bare metal.
//!
//! # How frames pass
//!
//! Both halves work in batches and never block.
//!
//! * Receiving hands each frame to a closure *in place*: in the buffer that a system call filled,
//!   in a ring, in a controller's mailbox. A frame that the routes do not change is not copied.
//! * Transmitting writes each frame directly to the place from which it leaves (a slot of a ring, a
//!   mailbox). A flush after the batch notifies the other side.
//!
//! The engine does not know what an idle half waits for, except for a time: [`Receive::deadline`],
//! [`Transmit::deadline`]. `Engine<R, T>` is generic over its halves, so that the caller can use
//! halves with more properties, a file descriptor for example.
//!
//! # Example
//!
//! Two ports in memory, and a route from the first to the second:
//!
//! ```
//! use engine::{
//!     Accepted, Engine, Fate, FlushReport, NamedPort, OutgoingFrame, PortError, Receive,
//!     ReceiveStamp, ReceivedFrame, RxCounters, RxReport, Transmit, TransmitRefusal, TxCounters,
//! };
//! use frame::{CanId, Frame, Nanos};
//! use route::{PortId, Route, Routes, RoutingTable};
//! use std::{cell::RefCell, rc::Rc, sync::Arc};
//!
//! /// A queue that is both halves of a port: what was put in comes in, what goes out is kept.
//! #[derive(Clone, Default)]
//! struct Memory {
//!     incoming: Rc<RefCell<Vec<Frame>>>,
//!     sent: Rc<RefCell<Vec<(Nanos, Frame)>>>,
//! }
//!
//! impl Receive for Memory {
//!     fn receive(
//!         &mut self,
//!         now: Nanos,
//!         budget: usize,
//!         take: &mut dyn FnMut(ReceivedFrame<'_>),
//!     ) -> Result<RxReport, PortError> {
//!         let mut incoming = self.incoming.borrow_mut();
//!         let frames = budget.min(incoming.len());
//!         for frame in incoming.drain(..frames) {
//!             let stamp = ReceiveStamp { ns: now, ..ReceiveStamp::default() };
//!             take(ReceivedFrame { frame: frame.view(), stamp, hops: 0, token: 0 });
//!         }
//!         Ok(RxReport { frames, more: !incoming.is_empty(), ..RxReport::default() })
//!     }
//!
//!     fn deadline(&self) -> Option<Nanos> {
//!         None // only the test puts frames in
//!     }
//!
//!     fn counters(&self) -> RxCounters {
//!         RxCounters::default()
//!     }
//! }
//!
//! impl Transmit for Memory {
//!     fn transmit(
//!         &mut self,
//!         now: Nanos,
//!         outgoing: OutgoingFrame<'_>,
//!     ) -> Result<Accepted, TransmitRefusal> {
//!         let frame = Frame::from_view(outgoing.frame).ok_or(TransmitRefusal::Unsupported)?;
//!         self.sent.borrow_mut().push((now, frame));
//!         Ok(Accepted)
//!     }
//!
//!     fn flush(&mut self, _now: Nanos) -> Result<FlushReport, PortError> {
//!         Ok(FlushReport::default()) // nothing is ever held
//!     }
//!
//!     fn deadline(&self) -> Option<Nanos> {
//!         None
//!     }
//!
//!     fn counters(&self) -> TxCounters {
//!         let sent = self.sent.borrow().len() as u64;
//!         TxCounters { taken: sent, sent, ..TxCounters::default() }
//!     }
//! }
//!
//! let routes = Routes {
//!     routes: vec![Route::new("everything", vec![PortId(0)], vec![PortId(1)])],
//!     max_hops: 1,
//!     ..Routes::default()
//! };
//! let table = Arc::new(RoutingTable::compile(&routes, 2).unwrap());
//! let (left, right) = (Memory::default(), Memory::default());
//! let port = |name: &str, memory: &Memory| NamedPort {
//!     name: name.into(),
//!     rx: memory.clone(),
//!     tx: memory.clone(),
//! };
//! let ports = vec![port("left", &left), port("right", &right)];
//! let mut engine = Engine::new(ports, table, &routes).unwrap();
//!
//! let frame = Frame::classic(CanId::sff(0x123).unwrap(), &[1, 2, 3]).unwrap();
//! left.incoming.borrow_mut().push(frame);
//! let step = engine.step(1_000); // it is 1000 ns
//!
//! assert_eq!(step.frames, 1);
//! assert_eq!(*right.sent.borrow(), [(1_000, frame)]);
//! let snapshot = engine.snapshot();
//! assert_eq!(snapshot.frames(Fate::Routed), 1);
//! assert!(snapshot.check().is_ok());
//! ```

#![no_std]
#![forbid(unsafe_code)]
#![cfg_attr(not(test), deny(clippy::unwrap_used, clippy::expect_used))]

extern crate alloc;
#[cfg(test)]
extern crate std;

mod apply;
mod batch;
mod change;
mod client;
mod counters;
mod definition;
mod engine;
mod error;
mod event;
mod fate;
mod faults;
mod half;
mod lane;
mod layout;
mod link;
mod losses;
mod one_way;
mod passing;
mod report;
mod room;
mod setup;
mod snapshot;
mod take;
mod tally;
pub mod wrap;

pub use apply::Unapplied;
pub use change::{ChangeLeftover, LayoutChange, LeavingPort, PortChange};
pub use counters::{
    CopyCounters, EngineCounts, PortCount, PortState, RouteCount, RouteVerifications,
};
pub use definition::{CounterDefinition, CounterRole};
pub use engine::{BUDGET, Engine, StepResult};
pub use error::{EngineError, PortError};
pub use event::PortEvent;
pub use fate::{Fate, Fates, Stops, Verifications};
pub use faults::FaultCounters;
pub use half::{Receive, Transmit};
pub use lane::{NamedPort, SettledFrames};
pub use layout::{CounterNames, interest};
pub use link::LinkState;
pub use losses::LossCounters;
pub use one_way::{NullReceiver, NullTransmitter};
pub use passing::{OutgoingFrame, ReceiveStamp, ReceivedFrame, StampSource, Token};
pub use report::{Accepted, FlushReport, RxCounters, RxReport, TransmitRefusal, TxCounters};
pub use route::{FrameInterest, InterestIds, RawFilter};
pub use snapshot::{CounterImbalance, CounterSnapshot, PortRow, RouteRow};
pub use tally::{FateReason, FateTally};
