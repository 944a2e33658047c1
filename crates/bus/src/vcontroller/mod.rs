//! A CAN controller that shares itself among virtual machines.
//!
//! Modelled on the self-virtualizing controller of virtualization-2015 §4: one **physical
//! function** (PF), which the host keeps, and **virtual functions** (VF), one for each virtual
//! machine. Each VF has its own transmit queue, ordered by CAN priority; the **arbitration module**
//! offers the bus the frame with the highest priority of all queues just before each arbitration,
//! and again after a lost one. So frames leave as if each virtual machine had its own controller,
//! and no virtual machine can delay another one by frames that wait in a buffer.
//!
//! This is the device without a host or a machine: time is passed in, ns; the caller connects it
//! with a bus. [`AttachedController`] does so for a simulated one.
//!
//! * [`VirtualController`]: the operations of the PF ([`VirtualController::set_rights`]), of a VF
//!   ([`VirtualController::request`], [`VirtualController::abort`], [`VirtualController::receive`],
//!   [`VirtualController::completion`], [`VirtualController::reset`]), and the events of the bus
//!   ([`VirtualController::best`], [`VirtualController::on_wire`], [`VirtualController::off_wire`],
//!   [`VirtualController::sent`], [`VirtualController::deliver`] and
//!   [`VirtualController::set_state`]).
//! * [`FunctionRights`]: the identifiers that a VF receives and, beyond the paper, those that it
//!   may send, and its share of the bus ([`SendBudget`]). Only the PF sets them.
//! * [`FunctionCounters`]: every request and every reception has one fate, and
//!   [`FunctionCounters::check`] proves that the sums add up.
//!
//! # Rules
//! * **Order**: the lowest arbitration field first ([`frame::wire::arbitration_key`]). Frames with
//!   the same identifier of one VF leave in the order of their requests. Among equal arbitration
//!   fields of several VFs the oldest request is first; from separate controllers, such frames
//!   would collide on the bus.
//! * **A frame on the wire** stays there: it is neither aborted nor overtaken. If its attempt fails
//!   it competes again, unless its VF has requested the abort meanwhile.
//! * **Functions hear one another** like nodes on a bus: frames that one sends, the others receive
//!   as far as their rights allow; the sender gets a confirmation instead.
//! * **Confirmations are never lost**: a frame occupies its place in the queue until its VF has
//!   read its confirmation.
//! * **Bit rate, error states and bus-off belong to the PF**; VFs are notified. The error counters
//!   are those of the one controller: a VF whose frames fail brings all others closer to bus-off.
//!   In this, the shared controller differs from separate controllers.
//! * **A budget delays**: a frame above it waits at its place in its own queue, and all frames of
//!   its VF wait with it. Each attempt on the wire is charged, including failed ones: they occupy
//!   the bus as well.
//! * **Nothing allocates** after [`VirtualController::new`].

mod budget;
mod controller;
mod counters;
mod function;
mod on_bus;
mod rights;

pub use budget::{BudgetUnit, SendBudget};
pub use controller::{
    ControllerConfig, NextFrame, NoFunction, RequestRefusal, VfNumber, VirtualController,
};
pub use counters::{FunctionCounters, FunctionImbalance};
pub use frame::ErrorState;
pub use function::{FunctionFrame, RequestCompletion, RequestOutcome, Ticket};
pub use on_bus::{AttachedController, ControllerEvent};
pub use rights::{FunctionRights, IdRule};
