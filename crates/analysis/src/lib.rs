//! Worst-case response times of CAN frames: bounds, and the releases that reach them.
//!
//! A [`BusSpec`] describes the traffic of a bus: messages with the known properties of their frames
//! ([`FrameShape`]) and of their releases ([`Arrival`]), and nodes with the order in which they
//! send ([`SendOrder`]). [`CompiledBus`] finds the greatest length of each frame, and
//! [`CompiledBus::assess`] a bound for each message, in whole nanoseconds: no frame takes longer
//! from its release to its end of frame, whatever the phases of the messages to one another.
//!
//! ```
//! use analysis::{Arrival, BusSpec, CompiledBus, LengthRule, LengthSearch};
//! use analysis::{Message, NodeSpec, SendOrder, FrameShape};
//! use frame::{CanId, Frame};
//!
//! let frame = |number| Frame::classic(CanId::sff(number).unwrap(), &[0xAA; 8]).unwrap();
//! let message = |number| Message {
//!     name: String::new(),
//!     node: 0,
//!     shape: FrameShape::exact(&frame(number)).unwrap(),
//!     arrival: Arrival::new(10_000_000, 0, 0).unwrap(),
//!     offset: None,
//!     deadline: 10_000_000,
//! };
//! let bus = BusSpec {
//!     name: "body".to_owned(),
//!     rate: "500k".parse()?,
//!     lengths: LengthRule::Greatest,
//!     errors: None,
//!     random_errors: None,
//!     joins: 0,
//!     nodes: vec![NodeSpec::new("ecu", SendOrder::Priority)],
//!     messages: vec![message(0x100), message(0x200)],
//! };
//! let compiled = CompiledBus::new(&bus, &mut LengthSearch::new())?;
//! let found = compiled.assess(&compiled.arrivals());
//! // Frame 100 waits for one frame 200, which has just started, and its intermission.
//! let bits = |number| frame::wire::length(frame(number).view()).unwrap().bits();
//! let latency = (bits(0x200) + bits(0x100) - 3) * 2_000;
//! assert_eq!(found.messages[0].bound.unwrap().latency, latency.into());
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Exact and safe bounds
//! * For nodes that send in order of priority the bound is exact: [`critical_instant`] gives
//!   releases that reach it, to the nanosecond by which a blocking frame has to be earlier, on the
//!   `bus` model of this project ([`replay`]), if [`BusSpec::joins`] is 0 and there are no errors.
//! * For nodes with a queue in order of arrival, and over gateways, it is safe, and not always
//!   reached: [`mod@queue`], [`Network`]. [`search()`] finds how close to it a frame comes.
//! * For messages with offsets it is safe, and mostly reached: [`mod@offset`].
//! * A bound covers each frame that conforms to the model. No model here covers nodes that go
//!   error-passive or bus-off, overload frames, or clocks that differ.
//!
//! # Where to find the derivations
//! [`mod@curve`]: arrival curves. [`mod@window`]: the busy period, the cost of an error.
//! [`mod@miss`]: errors at random. [`mod@train`]: frames that come from one bus. [`mod@queue`]:
//! queues in order of arrival. [`mod@refill`]: nodes that need time to put the next frame into a
//! buffer. [`mod@offset`]: messages that share a clock. [`CompiledBus::assess`]: nodes that depend
//! on one another. [`Network`]: gateways. [`mod@tunnel`]: networks between
//! them. [`mod@reception`]: the timeouts of receivers.

#![no_std]
#![forbid(unsafe_code)]
#![cfg_attr(not(test), deny(clippy::unwrap_used, clippy::expect_used))]

extern crate alloc;
#[cfg(any(test, feature = "config"))]
extern crate std;

mod arrival;
mod assess;
mod compiled;
mod conditional;
pub mod curve;
pub mod estimate;
mod length;
pub mod miss;
mod model;
mod network;
pub mod offset;
mod origins;
mod place;
mod priority;
pub mod queue;
pub mod reception;
pub mod refill;
mod search;
mod sent;
#[cfg(feature = "config")]
pub mod set;
mod shape;
mod simulated;
mod stream;
pub mod train;
pub mod tunnel;
pub mod window;
mod witness;
mod words;

pub use arrival::Arrival;
pub use assess::{Assessment, MessageBound, NodeBound};
pub use compiled::CompiledBus;
pub use conditional::StatedTunnels;
pub use curve::{ArrivalError, MAX_DISTANCES};
pub use length::{FrameBits, LengthRule, LengthSearch, by_formula};
pub use model::{BusSpec, Message, ModelError, NodeSpec, QueueService, SendOrder};
pub use network::{GatewayHop, HopFrames, Network, NetworkError, NetworkFound};
pub use origins::MessageOrigins;
pub use place::MessagePlace;
pub use priority::{BoundParts, LatencyBound};
pub use reception::ReceptionDistance;
pub use refill::BufferRefill;
pub use search::{PlacedRelease, SearchError, WorstFound, search};
pub use shape::{FrameShape, ShapeError};
pub use simulated::ReplayError;
pub use window::NoBound;
pub use witness::{FrameRelease, ReleaseOutcome, critical_instant, replay};
