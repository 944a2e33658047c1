//! A CAN bus simulated in bit time: arbitration, errors, many nodes; the caller passes the time in.
//!
//! A [`Bus`] has any number of nodes. The caller hands frames to a node with [`Bus::send`] and lets
//! time pass with [`Bus::run_until`], which reports all activity as [`NodeEvent`]s. There is no
//! wall clock and no hidden state: the same calls with the same seed give the same events on any
//! machine.
//!
//! ```
//! use bus::{Bus, BusConfig, NodeEvent, NodeConfig};
//! # use cangate_bus as bus;
//! use frame::{CanId, Frame};
//!
//! let mut bus = Bus::new(BusConfig::classic(500_000))?;
//! let sender = bus.attach(NodeConfig::new("sender"))?;
//! let _receiver = bus.attach(NodeConfig::new("receiver"))?;
//! bus.send(sender, 0, &Frame::classic(CanId::sff(0x123)?, &[])?, 7)?;
//! let mut ends = Vec::new();
//! bus.run_until(1_000_000, |event| {
//!     if let NodeEvent::Frame { end, tag, .. } = event {
//!         ends.push((*end, *tag));
//!     }
//! });
//! assert_eq!(ends, [(90_000, 7)]); // 45 bits of 2 µs; the intermission comes after it
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! Titles in italics are those of clauses of ISO 11898-1, whose numbers differ from edition to
//! edition. Rules of fault confinement have their numbers from Bosch's CAN specification 2.0, which
//! ISO took them over from.
//!
//! # Time
//! Times are nanoseconds since the bus was made. A frame's duration is rounded to a nanosecond
//! once, as is the place of each error in it; intervals tile time exactly, and [`BusStats`] has
//! the sum of each kind of interval. At equal times the order is:
//!
//! 1. the end of a frame, or the effects of an error in that bit, with the changes of counters,
//!    state and queues that follow, in the order of the events;
//! 2. restarts and recoveries, by node;
//! 3. frames that fall due, in the order in which they were handed in;
//! 4. frames that the caller sends after [`Bus::run_until`] has returned;
//! 5. the start of a frame, with arbitration among all frames that are ready by then. It happens
//!    when time *passes* that point, not before.
//!
//! Nodes start a frame the moment it is ready if the bus is idle: there is no grid of bits across
//! frames (nodes synchronize hard on the start of frame: *synchronization*). A frame that becomes
//! ready after a start of frame, however shortly, waits; real nodes still join within the
//! propagation delay and the first bit.
//!
//! # Frames
//! * **Length**: exact, with stuff bits, from [`frame::wire::length`] (*data frame*, *remote
//!   frame*, *frame coding*). The data phase of an FD frame with BRS has the second bit rate, as
//!   whole bits.
//! * **End**: sender and receivers are done at the end of the seventh recessive bit of the end of
//!   frame. (Receivers take a frame as valid one bit earlier: *frame validation*.)
//! * **Arbitration** (*medium access*): of all nodes that have something to send, the one with the
//!   lowest arbitration field starts, bit for bit: SFF before EFF, data before remote at the same
//!   number ([`frame::wire::arbitration_key`]).
//! * **Intermission** of 3 bits after every frame and error frame (*interframe space*); no frame
//!   starts in it.
//! * **Suspend transmission** (*interframe space*): an error-passive node that has just sent, with
//!   or without success, waits 8 bits more. Others may start meanwhile.
//! * **ESI** (*control field*): an error-passive sender sends it recessive; an error-active one
//!   sends what it was given, as a gateway must.
//! * **One identifier from several nodes**: where the rest of the frames differs, the node that
//!   sends the first recessive bit against a dominant one has a bit error, and flags it. If it is
//!   error-active, both frames are lost; if it is error-passive, the other frame continues. Frames
//!   that are identical in every bit are one frame on the wire, and both senders have sent it.
//!
//! # Nodes
//! A node has `mailboxes` transmit buffers and a queue in front of them. The buffer with the
//! highest priority competes (of equal arbitration fields the oldest); the queue moves up in order
//! of arrival whenever a buffer becomes free. **The node takes no frame back from a buffer**: once
//! all buffers hold frames of low priority, a frame of high priority waits in the queue behind
//! them, as with real controllers under Linux. That is priority inversion, and the reason why
//! response times on real nodes can exceed the analysis that assumes a sorted queue.
//!
//! A node repeats a failed attempt until it succeeds (*recovery management*); a `one_shot` node
//! drops the frame instead. Losing arbitration is not a failure, but a `one_shot` node drops the
//! frame then, too, as controllers do in single-shot mode: at the start of the frame that wins.
//! Memory is bounded by `mailboxes`, `queue` and `scheduled` of all nodes.
//!
//! * **Acknowledge** (*ACK field*): every node on the bus acknowledges that receives the frame
//!   without error and is not listen-only. If there is none, the sender has an acknowledge error.
//! * **Listen-only nodes** send nothing at all, their counters do not change, and they receive
//!   frames that others acknowledge.
//! * **Classic nodes** (`fd: false`) do not support FD: they have a form error at FDF, and their
//!   flag destroys the frame. Error-passive and listen-only classic nodes only miss it.
//!
//! # Errors
//! A frame in which an error is possible is simulated bit by bit, all nodes at once; everything
//! else follows from these rules:
//!
//! * A node that detects an error sends a flag from the next bit on, 6 bits, dominant if it was
//!   error-active at the start of frame, else recessive (*error frame*); for a wrong checksum
//!   from the bit after the acknowledge delimiter (*error signalling*). Other nodes see the flag,
//!   detect an error themselves (six equal bits, a dominant bit in a fixed field) and flag too: 6
//!   to 12 dominant bits in all.
//! * When a node sees the bus recessive after its flag, it counts that bit and 7 more as the
//!   error delimiter (*error frame*). A dominant bit in it is another form error.
//! * A recessive flag of a receiver disturbs no other node: the frame continues without that node.
//! * **Counters** (*fault confinement*): TEC + 8 for a sender that flags (rule 3, and its exception
//!   1: not for an error-passive sender that no node acknowledges and that sees no dominant bit
//!   during its flag, so that a lone node never goes bus-off); REC + 1 for a receiver that detects
//!   an error (rule 1), + 8 if it sees a dominant bit right after its flag (rule 2); TEC − 1 for a
//!   frame sent (rule 7), REC − 1 for a frame received, from above 127 to 127 (rule 8).
//!   Rules 4 to 6 (bit errors inside flags, bus stuck dominant) and exception 2 of rule 3 (stuff
//!   error during arbitration) never apply in this model.
//! * Error-passive from 128 of either counter (rule 9), error-active again below (rule 11),
//!   bus-off from a TEC of 256 (rule 10). The warning at 96 changes only the reported state.
//! * **Bus-off**: the node drops its waiting frames and no longer takes part in bus traffic. After
//!   [`Bus::restart`], or on its own after [`NodeConfig::restart`], it is back with counters of 0
//!   after 128 runs of 11 recessive bits (rule 12). Each frame's end with its intermission is one
//!   run; an idle bus gives one every 11 bits.
//! * In the calculation of times, all bits after the first dominant flag bit have the nominal
//!   rate, even while a sender in its data phase has not noticed the flag yet.
//!
//! # Faults
//! [`BusFaults`] and [`Bus::inject`] disturb chosen or random frames. A [`FrameFault`] is named
//! after the error that it makes nodes detect, and acts as follows:
//!
//! * [`ErrorKind::Bit`]: a bit between arbitration field and CRC delimiter is inverted for
//!   all nodes. The sender detects it.
//! * [`ErrorKind::Stuff`]: a receiver, or all of them, see a stuff error at a bit in that part of
//!   the frame where stuff bits are possible. The sender has an error when it sees their flags.
//! * [`ErrorKind::Form`]: a bit of CRC delimiter, acknowledge delimiter or end of frame (not its
//!   last) is dominant for all nodes.
//! * [`ErrorKind::Crc`]: a receiver, or all of them, find the checksum wrong and do not
//!   acknowledge. If no other node acknowledges, an acknowledge error ends the frame.
//! * [`ErrorKind::Ack`]: the acknowledge slot is recessive for all nodes.
//!
//! A fault for a node that does not receive the frame has no effect.
//!
//! # What is not modelled
//! * Overload frames, and with them a dominant last bit of the end of frame, after
//!   which receivers have a frame that the sender repeats.
//! * Bit timing: sample points, propagation delay, clock tolerance, resynchronization. The rate
//!   switch falls on whole bits instead of sample points: 1 nominal less 1 data bit time longer
//!   than on the wire.
//! * Faults in the arbitration field; a bus that is stuck.
//! * On a real bus, listen-only nodes receive a frame of an error-passive sender completely, again
//!   and again, even if no node acknowledges it. Here no node receives it.
//! * A node whose recessive flag did not end the frame is back in step at the frame's end; a real
//!   node can miss the next start of frame too.
//! * A node that is attached to a busy bus takes part from the next start of frame on, without
//!   the 11 recessive bits of bus integration.
//! * A node that goes bus-off while its flag is on the wire still ends that flag.
//! * CAN XL; transceiver delays; the time between a controller's interrupt and the next frame in
//!   its buffer.

#![no_std]
#![forbid(unsafe_code)]

extern crate alloc;
#[cfg(test)]
extern crate std;

mod bus;
mod clock;
mod config;
mod confinement;
mod disturbed;
mod error;
mod event;
mod fault;
mod node;
mod schedule;
mod stats;
pub mod vcontroller;
mod wire;

pub use bus::Bus;
pub use config::{BusConfig, NodeConfig};
pub use error::{ConfigError, NodeId, SendError};
pub use event::{DropReason, NodeEvent, ReceiverSet};
pub use fault::{BusFaults, ErrorKind, FaultTime, FrameFault};
pub use frame::ErrorState;
pub use node::NodeState;
pub use stats::BusStats;
