//! A CAN controller that shares itself among virtual machines.
//!
//! After the self-virtualizing controller of virtualization-2015 §4: one **physical function**
//! (PF), which the host keeps, and **virtual functions** (VF), one for each virtual machine. Each
//! VF has a transmit queue of its own that is ordered by CAN priority; the **arbitration module**
//! offers the bus the frame with the highest priority of all queues just before each arbitration,
//! and again after a lost one. So frames leave as they would if each virtual machine had a
//! controller of its own, and none can hold up another one by what waits in a buffer.
//!
//! This is the device without a host or a machine: time is passed in, ns; whoever drives it stands
//! between it and a bus. [`Attached`] does so for a simulated one.
//!
//! * [`Controller`]: what the PF may do ([`Controller::set_rights`]), what a VF may do
//!   ([`Controller::request`], [`Controller::abort`], [`Controller::receive`],
//!   [`Controller::completion`], [`Controller::reset`]), and what the bus does
//!   ([`Controller::best`], [`Controller::on_wire`], [`Controller::off_wire`],
//!   [`Controller::sent`], [`Controller::heard`], [`Controller::set_state`]).
//! * [`Rights`]: which identifiers a VF receives and, beyond the paper, which it may send and how
//!   much of the bus ([`Budget`]). Only the PF sets them.
//! * [`Counters`]: every request and every reception has one fate, and [`Counters::check`] proves
//!   that the sums add up.
//!
//! # Rules
//! * **Order**: the lowest arbitration field first ([`frame::wire::arbitration_key`]). Within one
//!   identifier of one VF frames leave in the order of their requests. Of equal arbitration fields
//!   of several VFs the oldest request is first; on a bus of their own they would collide.
//! * **A frame on the wire** stays: it is neither aborted nor overtaken. If its attempt fails it
//!   competes again, unless its VF has asked for the abort meanwhile.
//! * **Functions hear one another** as nodes on a bus do: what one sends, the others receive as far
//!   as their rights go; the sender gets a confirmation instead.
//! * **Confirmations are never lost**: a frame has its place in the queue until its VF has read
//!   what became of it.
//! * **Bit rate, error states and bus-off are the PF's**; VFs are told. The error counters are
//!   those of the one controller: a VF whose frames fail brings all others nearer to bus-off. That
//!   is where the shared controller differs from controllers of their own.
//! * **A budget delays**: a frame above it waits, in its place in its own queue, and all frames of
//!   its VF with it. Each attempt on the wire is charged, failed ones too: they cost the bus as
//!   much.
//! * **Nothing allocates** after [`Controller::new`].
#![no_std]
#![forbid(unsafe_code)]
#![cfg_attr(not(test), deny(clippy::unwrap_used, clippy::expect_used))]

extern crate alloc;
#[cfg(test)]
extern crate std;

mod budget;
mod controller;
mod counters;
mod function;
mod on_bus;
mod rights;

pub use ::controller::State;
pub use budget::{Budget, Unit};
pub use controller::{Candidate, Config, Controller, NoFunction, Refused, Vf};
pub use counters::{Counters, Imbalance};
pub use function::{Completion, Outcome, Received, Ticket};
pub use on_bus::{Attached, Happened};
pub use rights::{IdRule, Rights};
