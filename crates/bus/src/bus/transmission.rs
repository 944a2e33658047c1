//! One frame on the wire, from arbitration to its end.

use super::{Bus, BusPhase};
use crate::node::SendingNode;
use crate::{
    DropReason, ErrorKind, ErrorState, FrameFault, NodeEvent, NodeId, ReceiverSet,
    confinement::ConfinementCounters,
    disturbed::{BusStation, Disturbance, StationAction, StationStep},
    fault::below,
    node::{BusOffRecovery, NO_KEY},
    wire::{self, BitRole, MOST_BITS},
};
use alloc::vec::Vec;
use frame::{
    Frame, Kind, Nanos, flags,
    wire::{INTERMISSION_BITS, SUSPEND_BITS},
};

/// Recessive bits at the end of a frame: acknowledge delimiter and end of frame.
const RECESSIVE_END: u32 = 8;

impl Bus {
    /// Starts a frame now.
    pub(super) fn arbitrate(&mut self, observer: &mut impl FnMut(&NodeEvent<'_>)) {
        self.choose_senders();
        self.start = self.now;
        if self.one_shots && !self.senders.is_empty() {
            self.give_up(observer);
        }
        self.starts += 1;
        self.deaf.clear();
        for s in 0..self.senders.len() {
            let node = &mut self.nodes[self.senders[s].node];
            let passive = node.state == ErrorState::Passive;
            if let Some(pending) = node.launch() {
                self.senders[s].frame = force_esi(&pending.frame, passive);
            }
        }
        if self.off > 0 {
            self.end_recessive();
        }
        let Some(&sender) = self.senders.first() else {
            return;
        };
        let Some(pending) = self.nodes[sender.node].in_flight() else {
            return;
        };
        let frame = sender.frame.as_ref().unwrap_or(&pending.frame);
        let understood = frame.kind() != Kind::Fd || self.classic == 0;
        let (nominal, data) = length(frame);
        let fault = if self.injector.quiet {
            None
        } else {
            let starts = self.senders.iter().map(|s| {
                let id = NodeId(s.node as u16);
                (id, self.nodes[s.node].starts)
            });
            self.injector
                .draw(self.starts, starts, u64::from(nominal + data))
        };
        if self.senders.len() == 1 && understood && self.ackers > 1 && fault.is_none() {
            let end = self.now.saturating_add(self.clock.span(nominal, data));
            self.phase = BusPhase::Frame(end);
        } else {
            self.simulate(fault);
        }
    }

    /// Chooses the nodes with the lowest arbitration field among those that may send now.
    fn choose_senders(&mut self) {
        let mut lowest = NO_KEY;
        let some_wait = self.suspended_until > self.now;
        self.senders.clear();
        for (node, &key) in self.heads.iter().enumerate() {
            if key > lowest || key == NO_KEY {
                continue;
            }
            if some_wait && self.nodes[node].suspended_until > self.now {
                continue;
            }
            if key < lowest {
                lowest = key;
                self.senders.clear();
            }
            self.senders.push(SendingNode {
                node,
                frame: None,
                failed: false,
            });
        }
    }

    /// Drops the frames of one-shot nodes that have lost this arbitration.
    fn give_up(&mut self, observer: &mut impl FnMut(&NodeEvent<'_>)) {
        for n in 0..self.nodes.len() {
            let node = &mut self.nodes[n];
            let competes = self.heads[n] != NO_KEY && node.suspended_until <= self.now;
            let sends = self.senders.iter().any(|s| s.node == n);
            if !node.config.one_shot || !competes || sends {
                continue;
            }
            let Some(pending) = node.remove_best() else {
                continue;
            };
            node.dropped += 1;
            self.update_head(n);
            observer(&NodeEvent::Dropped {
                at: self.now,
                node: NodeId(n as u16),
                tag: pending.tag,
                why: DropReason::OneShot,
                frame: &pending.frame,
            });
        }
    }

    /// Simulates the frame bit by bit.
    fn simulate(&mut self, fault: Option<(FrameFault, u64)>) {
        let sim = &mut self.simulator;
        sim.clear();
        for (i, sender) in self.senders.iter().enumerate() {
            if sim.frames.len() <= i {
                sim.frames.push(Vec::with_capacity(MOST_BITS));
            }
            if let Some(pending) = self.nodes[sender.node].in_flight() {
                let frame = sender.frame.as_ref().unwrap_or(&pending.frame);
                wire::encode(frame, &mut sim.frames[i]);
            }
        }
        for (i, node) in self.nodes.iter().enumerate() {
            if node.on_bus(self.start) {
                sim.stations.push(BusStation {
                    node: i,
                    sends: self.senders.iter().position(|s| s.node == i),
                    passive: node.state == ErrorState::Passive,
                    listen_only: node.config.listen_only,
                    fd: node.config.fd,
                });
            }
        }
        let disturbance = fault.and_then(|(f, random)| self.place(f, random));
        let used = self.senders.len();
        self.simulator
            .run(self.start, &self.clock, used, disturbance);
        self.phase = BusPhase::Disturbed(0, self.simulator.end);
    }

    /// Puts a fault at a bit where it can happen.
    fn place(&self, fault: FrameFault, random: u64) -> Option<Disturbance> {
        let bits = self.simulator.frames.first()?;
        let victim = fault.victim.map(|v| usize::from(v.0));
        let last = bits.len().saturating_sub(1);
        let possible = |i: usize| {
            let role = bits.get(i).map(|b| b.role);
            match fault.kind {
                ErrorKind::Bit => matches!(
                    role,
                    Some(BitRole::Fdf | BitRole::Stuffed | BitRole::FdCrc | BitRole::FixedStuff)
                ),
                ErrorKind::Stuff => matches!(role, Some(BitRole::Fdf | BitRole::Stuffed)),
                _ => i < last && role.is_some_and(BitRole::is_fixed_form),
            }
        };
        let places = || (0..bits.len()).filter(|&i| possible(i));
        let bit = match fault.bit {
            Some(bit) => {
                let later = places().find(|&i| i >= usize::from(bit));
                later.or_else(|| places().next_back())
            }
            None => {
                let n = below(random, places().count() as u64);
                places().nth(n as usize)
            }
        };
        match fault.kind {
            ErrorKind::Bit => bit.map(Disturbance::Invert),
            ErrorKind::Form => bit.map(Disturbance::Dominant),
            ErrorKind::Stuff => bit.map(|b| Disturbance::Stuff(b, victim)),
            ErrorKind::Crc => Some(Disturbance::Crc(victim)),
            ErrorKind::Ack => Some(Disturbance::NoAck),
        }
    }

    /// Applies the steps of a disturbed frame that are due now, and ends it if its end is due.
    pub(super) fn disturbed_steps(&mut self, observer: &mut impl FnMut(&NodeEvent<'_>)) {
        while let BusPhase::Disturbed(next, end) = self.phase {
            match self.simulator.steps.get(next).copied() {
                Some(step) if step.at == self.now => {
                    self.phase = BusPhase::Disturbed(next + 1, end);
                    self.apply(step, end, observer);
                }
                None if end == self.now && self.simulator.success => self.complete(observer),
                None if end == self.now => {
                    self.stats.errors += 1;
                    self.finish(self.simulator.recessive_since);
                }
                _ => return,
            }
        }
    }

    fn apply(&mut self, step: StationStep, end: Nanos, observer: &mut impl FnMut(&NodeEvent<'_>)) {
        self.uneasy = true;
        let node = &mut self.nodes[step.node];
        match step.what {
            StationAction::Failed(kind, by) => {
                self.fail(step, (kind, by), end, observer);
                return;
            }
            StationAction::Deaf => self.deaf.push(step.node),
            StationAction::TransmitError => node.counters.transmit_error(),
            StationAction::ReceiveError => node.counters.receive_error(),
            StationAction::ReceiveErrorFirst => node.counters.receive_error_first(),
        }
        self.update_state(step.node, observer);
    }

    /// Reports that a sender's attempt has failed; a one-shot node drops the frame.
    fn fail(
        &mut self,
        step: StationStep,
        (kind, by): (ErrorKind, usize),
        end: Nanos,
        observer: &mut impl FnMut(&NodeEvent<'_>),
    ) {
        let first = !self.senders.iter().any(|s| s.failed);
        let Some(sender) = self.senders.iter_mut().find(|s| s.node == step.node) else {
            return;
        };
        sender.failed = true;
        let wire_frame = sender.frame;
        let node = &mut self.nodes[step.node];
        node.failed_attempts += 1;
        let Some(pending) = node.in_flight().copied() else {
            return;
        };
        let id = NodeId(step.node as u16);
        observer(&NodeEvent::Error {
            start: self.start,
            at: step.at,
            end,
            node: id,
            by: NodeId(by as u16),
            tag: pending.tag,
            kind,
            primary: first && !self.simulator.success,
            frame: wire_frame.as_ref().unwrap_or(&pending.frame),
        });
        if node.config.one_shot {
            node.dropped += 1;
            node.remove_in_flight();
            self.update_head(step.node);
            observer(&NodeEvent::Dropped {
                at: self.now,
                node: id,
                tag: pending.tag,
                why: DropReason::OneShot,
                frame: &pending.frame,
            });
        }
    }

    /// Ends the frame on the wire now, acknowledged.
    pub(super) fn complete(&mut self, observer: &mut impl FnMut(&NodeEvent<'_>)) {
        self.stats.frames += 1;
        let mut primary = true;
        for s in 0..self.senders.len() {
            let sender = self.senders[s];
            if sender.failed {
                continue;
            }
            if let Some(pending) = self.nodes[sender.node].in_flight() {
                observer(&NodeEvent::Frame {
                    start: self.start,
                    end: self.now,
                    node: NodeId(sender.node as u16),
                    tag: pending.tag,
                    ready: pending.ready,
                    attempts: pending.attempts,
                    primary,
                    frame: sender.frame.as_ref().unwrap_or(&pending.frame),
                    receivers: ReceiverSet {
                        nodes: &self.nodes,
                        senders: &self.senders,
                        deaf: &self.deaf,
                        start: self.start,
                        primary,
                    },
                });
                primary = false;
            }
            let node = &mut self.nodes[sender.node];
            node.remove_in_flight();
            node.sent += 1;
            self.update_head(sender.node);
        }
        self.count_reception(observer);
        let recessive = self.clock.bits(RECESSIVE_END);
        self.finish(self.now.saturating_sub(recessive));
    }

    /// Counts a frame that was sent for its receivers, and updates the error counters.
    fn count_reception(&mut self, observer: &mut impl FnMut(&NodeEvent<'_>)) {
        let all_hear = self.off == 0 && self.joined <= self.start && self.deaf.is_empty();
        if let ([sender], true, false) = (&self.senders[..], all_hear, self.uneasy) {
            // The usual case, which does not visit every node.
            for received in &mut self.received {
                *received += 1;
            }
            self.received[sender.node] -= 1;
            return;
        }
        self.uneasy = false;
        for i in 0..self.nodes.len() {
            let node = &mut self.nodes[i];
            match self.senders.iter().find(|s| s.node == i) {
                Some(sender) if sender.failed => {}
                Some(_) => node.counters.transmitted(),
                None if node.on_bus(self.start) && !self.deaf.contains(&i) => {
                    self.received[i] += 1;
                    node.counters.received();
                }
                None => {}
            }
            self.uneasy |= node.counters != ConfinementCounters::default();
            self.update_state(i, observer);
        }
    }

    /// Begins the intermission.
    fn finish(&mut self, recessive_since: Nanos) {
        self.phase = BusPhase::Free;
        self.free_from = self.now.saturating_add(self.clock.bits(INTERMISSION_BITS));
        for sender in &self.senders {
            let node = &mut self.nodes[sender.node];
            if node.state == ErrorState::Passive {
                let bits = self.clock.bits(INTERMISSION_BITS + SUSPEND_BITS);
                node.suspended_until = self.now.saturating_add(bits);
                self.suspended_until = node.suspended_until;
            }
        }
        if self.off > 0 {
            self.begin_recessive(recessive_since);
        }
    }

    /// Updates a node's state after its counters have changed.
    #[inline]
    fn update_state(&mut self, index: usize, observer: &mut impl FnMut(&NodeEvent<'_>)) {
        let node = &mut self.nodes[index];
        let state = node.counters.state();
        if state == node.state || node.state == ErrorState::BusOff {
            return;
        }
        node.state = state;
        let at = self.now;
        let id = NodeId(index as u16);
        observer(&NodeEvent::State {
            at,
            node: id,
            state,
        });
        if state != ErrorState::BusOff {
            return;
        }
        self.off += 1;
        node.recovery = BusOffRecovery::Waiting(node.config.restart.map(|r| at.saturating_add(r)));
        node.drain(|pending| {
            observer(&NodeEvent::Dropped {
                at,
                node: id,
                tag: pending.tag,
                why: DropReason::BusOff,
                frame: &pending.frame,
            });
        });
        self.update_head(index);
        self.count_nodes();
    }
}

/// Returns the frame as an error-passive node sends it, where that differs: FD with ESI recessive
/// (ISO 11898-1, control field of FD frames).
fn force_esi(frame: &Frame, passive: bool) -> Option<Frame> {
    let header = frame.header();
    if !passive || header.kind() != Kind::Fd || header.is_esi() {
        return None;
    }
    Frame::fd(frame.id(), header.flags() | flags::ESI, frame.data()).ok()
}

/// Returns the numbers of bits at the nominal and at the data rate, start of frame to end of frame.
#[inline]
fn length(frame: &Frame) -> (u32, u32) {
    match frame::wire::length(frame.view()) {
        Some(l) => (l.nominal_bits() - INTERMISSION_BITS, l.data_phase_bits()),
        // Error frames and XL frames, which `Bus::send` refuses.
        None => (0, 0),
    }
}
