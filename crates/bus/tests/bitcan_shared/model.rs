//! The result of a schedule with `vcontroller` and `bus`, in the format of shared.c.

use crate::schedule::{Do, Schedule};
use cangate_bus::vcontroller::{AttachedController, ControllerEvent, VfNumber, VirtualController};
use cangate_bus::{Bus, FaultTime, FrameFault, NodeConfig, NodeEvent, NodeId};
use frame::{Kind, Nanos, flags};
use std::fmt::Write as _;

impl Schedule {
    /// Returns this crate's result, in the format of shared.c.
    pub(crate) fn play(&self) -> String {
        let mut bus = Bus::new(self.config.clone()).unwrap();
        let mut node = NodeConfig::new("shared");
        (node.fd, node.restart) = (self.controller.fd, self.restart);
        let mut model = Model {
            one: AttachedController::new(&mut bus, VirtualController::new(self.controller), node)
                .unwrap(),
            bus,
            out: String::new(),
            statuses: String::new(),
            requests: 0,
        };
        for _ in 0..self.others {
            let mut node = NodeConfig::new("");
            (node.mailboxes, node.queue, node.fd) = (3, 0, self.controller.fd);
            model.bus.attach(node).unwrap();
        }
        for (start, kind, bit) in &self.faults {
            model.bus.inject(
                FaultTime::Start(*start),
                FrameFault::new(*kind).at_bit(*bit),
            );
        }
        for (at, what) in &self.actions {
            model.run_to(*at);
            model.act(what);
            model.one.controller.check().unwrap();
        }
        model.run_to(self.until);
        model.finish(self.controller.functions)
    }
}

struct Model {
    bus: Bus,
    one: AttachedController,
    out: String,
    statuses: String,
    requests: u32,
}

impl Model {
    fn run_to(&mut self, until: Nanos) {
        loop {
            let budget = self.one.controller.deadline(self.bus.now());
            let next = self.bus.next().into_iter().chain(budget).min();
            let to = next.unwrap_or(until).min(until);
            let (node, out) = (self.one.node, &mut self.out);
            let mut happened = Vec::new();
            self.bus.run_until(to, |e| {
                event(out, e, node);
                happened.extend(ControllerEvent::from_event(e, node));
            });
            happened.iter().for_each(|what| self.one.react(what));
            self.one.offer(&mut self.bus);
            if to == until {
                return;
            }
        }
    }

    fn act(&mut self, what: &Do) {
        let (out, now) = (&mut self.out, self.bus.now());
        let c = &mut self.one.controller;
        match what {
            Do::Rights(n, rights) => c.set_rights(VfNumber(*n), rights.clone(), now).unwrap(),
            Do::Start(n, listen) => c.start(VfNumber(*n), *listen).unwrap(),
            Do::Reset(n) => c.reset(VfNumber(*n)).unwrap(),
            Do::Request(n, _, frame, ticket) => {
                let status = match c.request(VfNumber(*n), frame, *ticket) {
                    Ok(()) => "Taken".to_owned(),
                    Err(refused) => format!("{refused:?}"),
                };
                writeln!(self.statuses, "Q {} {status}", self.requests).unwrap();
                self.requests += 1;
            }
            Do::Abort(n, ticket) => {
                c.abort(VfNumber(*n), *ticket, now).unwrap();
                writeln!(self.statuses, "Q {} Taken", self.requests).unwrap();
                self.requests += 1;
            }
            Do::Receive(n) => match c.receive(VfNumber(*n)).unwrap() {
                None => writeln!(out, "R {n} -").unwrap(),
                Some(received) => {
                    let frame = &received.frame;
                    let fd = u8::from(frame.kind() == Kind::Fd);
                    let esi = frame.header().flags() & flags::ESI;
                    let id = frame.id().raw();
                    write!(out, "R {n} {} {id:x} {fd} {esi} ", received.at).unwrap();
                    for byte in frame.data() {
                        write!(out, "{byte:02x}").unwrap();
                    }
                    out.push_str(".\n");
                }
            },
            Do::Completion(n) => match c.completion(VfNumber(*n)).unwrap() {
                None => writeln!(out, "C {n} -").unwrap(),
                Some(done) => {
                    let (ticket, outcome, at) = (done.ticket, done.outcome, done.at);
                    writeln!(out, "C {n} {ticket} {outcome:?} {at}").unwrap();
                }
            },
            // No free buffer, or bus-off: ignored in both.
            Do::Send(n, frame) => _ = self.bus.send(NodeId(*n), now, frame, 0),
            Do::Restart => self.bus.restart(self.one.node),
        }
        self.one.offer(&mut self.bus);
    }

    fn finish(mut self, functions: u8) -> String {
        self.out.push_str(&self.statuses);
        for n in 0..functions {
            let c = self.one.controller.counters(VfNumber(n)).unwrap();
            let all = [
                c.requested,
                c.accepted,
                c.full,
                c.not_permitted,
                c.unsupported,
                c.down,
                c.sent,
                c.aborted,
                c.dropped,
                c.reset,
                c.attempts,
                c.heard,
                c.received,
                c.overrun,
                c.read,
                c.discarded,
            ];
            let all = all.map(|count| count.to_string());
            writeln!(self.out, "N {n} {}", all.join(" ")).unwrap();
        }
        self.out
    }
}

fn event(out: &mut String, event: &NodeEvent<'_>, node: NodeId) {
    match event {
        NodeEvent::Frame {
            start,
            end,
            node,
            frame,
            ..
        } => {
            let (id, fd) = (frame.id().raw(), u8::from(frame.kind() == Kind::Fd));
            writeln!(
                out,
                "F {start} {end} {} {id:x} {fd} {}",
                node.0,
                frame.len()
            )
            .unwrap();
        }
        NodeEvent::Error {
            start,
            end,
            node,
            kind,
            ..
        } => writeln!(out, "E {start} {end} {} {kind:?}", node.0).unwrap(),
        NodeEvent::State {
            at,
            node: of,
            state,
        } if *of == node => {
            writeln!(out, "S {at} {state:?}").unwrap();
        }
        NodeEvent::State { .. } | NodeEvent::Dropped { .. } => {}
    }
}
