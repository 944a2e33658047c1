//! The step from decisions to ports: copies, their answers, and the marks that make a frame's fate.

use crate::counters::{RouteCount, RouteVerifications};
use crate::fate::{Fate, FateSet};
use crate::half::Transmit;
use crate::lane::CountedTransmitter;
use crate::passing::{OutgoingFrame, ReceiveStamp, Token};
use crate::report::TransmitRefusal;
use alloc::vec::Vec;
use e2e::ReceptionKind;
use frame::Nanos;
use route::{DecisionSink, ForwardedCopy, RouteId, Routes, StopReason};

/// The options of a route's copies that are passed to ports.
#[derive(Clone, Copy, Default, Debug)]
pub(crate) struct CopyOptions {
    /// [`OutgoingFrame::echo`].
    pub(crate) echo: bool,
    /// Whether to set [`OutgoingFrame::stamp`].
    pub(crate) keep_stamp: bool,
}

/// Returns the options, indexed by [`RouteId`].
pub(crate) fn copy_options(routes: &Routes) -> Vec<CopyOptions> {
    let options = |route: &route::Route| CopyOptions {
        echo: route.echo,
        keep_stamp: route.keep_stamp,
    };
    routes.routes.iter().map(options).collect()
}

/// The receiver of the table's decisions about one batch.
pub(crate) struct DecisionBatch<'e, T> {
    pub(crate) now: Nanos,
    pub(crate) token: Token,
    pub(crate) stamp: ReceiveStamp,
    pub(crate) tx: &'e mut [CountedTransmitter<T>],
    pub(crate) routes: &'e mut [RouteCount],
    pub(crate) verifications: &'e mut [RouteVerifications],
    pub(crate) options: &'e [CopyOptions],
    pub(crate) marks: FateSet,
    /// The route whose copies of this frame are being made.
    pub(crate) forwarding: Option<RouteId>,
}

impl<T: Transmit> DecisionSink for DecisionBatch<'_, T> {
    #[inline]
    fn taken(&mut self, route: RouteId) {
        self.forwarding = None;
        if let Some(count) = self.routes.get_mut(route.0 as usize) {
            count.taken += 1;
        }
    }

    fn stopped(&mut self, route: RouteId, why: StopReason) {
        self.marks.mark(Fate::from(why));
        if let Some(count) = self.routes.get_mut(route.0 as usize) {
            count.stopped.count(why);
        }
    }

    fn verified(&mut self, route: RouteId, kind: ReceptionKind) {
        if let Some(results) = RouteVerifications::of_route(self.verifications, route.0 as usize) {
            results.count(kind);
        }
    }

    #[inline]
    fn forward(&mut self, copy: ForwardedCopy<'_>) {
        let at = copy.route.0 as usize;
        // Layout::new made sure that all three exist; a bug there would show as an imbalance, not
        // as a panic.
        let (Some(route), Some(port), Some(options)) = (
            self.routes.get_mut(at),
            self.tx.get_mut(usize::from(copy.to.0)),
            self.options.get(at),
        ) else {
            self.marks.mark(Fate::Undeliverable);
            return;
        };
        if self.forwarding != Some(copy.route) {
            self.forwarding = Some(copy.route);
            route.forwarded += 1;
        }
        route.copies.offered += 1;
        port.copies.offered += 1;
        let answer = if port.in_service {
            let outgoing = OutgoingFrame {
                frame: copy.frame,
                token: self.token,
                hops: copy.hops,
                stamp: options.keep_stamp.then_some(self.stamp),
                echo: options.echo,
            };
            port.half.transmit(self.now, outgoing)
        } else {
            Err(TransmitRefusal::Down)
        };
        match answer {
            Ok(_) => {
                self.marks.mark(Fate::Routed);
                port.touched = true;
                route.copies.accepted += 1;
                port.copies.accepted += 1;
            }
            Err(TransmitRefusal::Full) => {
                self.marks.mark(Fate::Refused);
                // A flush may make room; held frames are flushed again with the next step.
                port.touched = true;
                route.copies.refused += 1;
                port.copies.refused += 1;
            }
            Err(TransmitRefusal::Down) => {
                self.marks.mark(Fate::Undeliverable);
                route.copies.down += 1;
                port.copies.down += 1;
            }
            Err(TransmitRefusal::Unsupported) => {
                self.marks.mark(Fate::Undeliverable);
                route.copies.unsupported += 1;
                port.copies.unsupported += 1;
            }
        }
    }
}
