//! Two ports with presentation times, and clocks that the tests set.

use super::super::presentation::{
    PresentationClock, PresentationReader, PresentationWriter, TimeScale, TransitRules,
};
use super::*;
use crate::{ReceiveStamp, StampSource};
use linux::clock::{ClockLead, ClockState};

/// The Unix time of the gateways' time 0.
pub(super) const EPOCH: Nanos = 1_700_000_000_123_456_789;

/// A clock that a program synchronises, and whose kernel knows TAI.
pub(super) const GOOD: ClockState = ClockState {
    is_synchronised: Some(true),
    tai_offset: 37,
    lead: ClockLead { ns: 0, error: 50 },
};

pub(super) type ReadClock = fn() -> ClockState;

pub(super) const fn good() -> ClockState {
    GOOD
}

pub(super) const fn without_tai() -> ClockState {
    ClockState {
        tai_offset: 0,
        ..GOOD
    }
}

/// The rules of frames that are handed on at their presentation times.
pub(super) const PRESENTED: PlayOutRules = PlayOutRules {
    delay: Some(0),
    clock: StampClock::Common(EPOCH),
    orders_unstamped: true,
    ..RULES
};

pub(super) const TRANSIT: TransitRules = TransitRules {
    max_transit: 20 * MS,
    span: 100 * MS,
};

/// The particulars of a tunnel.
pub(super) struct TunnelParts {
    pub(super) scale: TimeScale,
    pub(super) near: ReadClock,
    pub(super) far: ReadClock,
    pub(super) transit: TransitRules,
    pub(super) pack: Nanos,
    pub(super) rules: PlayOutRules,
}

impl Default for TunnelParts {
    fn default() -> Self {
        Self {
            scale: TimeScale::Tai,
            near: good,
            far: good,
            transit: TRANSIT,
            pack: 0,
            rules: PRESENTED,
        }
    }
}

/// A port that sends presentation times, and one that hands frames on at them.
pub(super) struct TimedTunnel {
    pub(super) near: MemorySocket,
    pub(super) far: MemorySocket,
    pub(super) out: DatagramTransmit<MemorySocket>,
    pub(super) into: DatagramReceive<MemorySocket>,
}

impl TunnelParts {
    pub(super) fn open(self) -> TimedTunnel {
        let (near, far) = (MemorySocket::default(), MemorySocket::default());
        let clock = |read| PresentationClock::reading(self.scale, (EPOCH, GOOD.lead), read);
        let brief = self.transit.span == 0;
        let writer = AcfWriter::new(DEFAULT_STREAM, MessageVersion::V1, 0, brief);
        let writer = Box::new(writer.with_presentation());
        let pack = PackRules {
            pack: self.pack,
            ..PackRules::default()
        };
        let (run, guard) = (StreamRun::default(), guard(LoopRules::default()));
        let out = DatagramTransmit::new(near.clone(), PEER, writer, pack, run, guard, EPOCH);
        let into = receiver(far.clone(), Some(self.rules), None);
        TimedTunnel {
            near,
            far,
            out: out.presenting(Some(PresentationWriter::new(
                clock(self.near),
                self.transit,
            ))),
            into: into.presented(Some(PresentationReader::new(clock(self.far)))),
        }
    }
}

impl TimedTunnel {
    /// Sends a frame with a stamp of the kernel, or without one.
    pub(super) fn send(&mut self, number: u64, stamp: Option<Nanos>, now: Nanos) {
        let frame = numbered(number);
        let mut outgoing = OutgoingFrame::new(frame.view(), 0);
        outgoing.stamp = stamp.map(|ns| ReceiveStamp {
            ns,
            source: StampSource::Kernel,
        });
        self.out.transmit(now, outgoing).unwrap();
    }

    /// Lets all datagrams that left arrive; returns their number.
    pub(super) fn deliver(&mut self) -> usize {
        let mut datagrams = 0;
        while let Some(datagram) = self.near.take() {
            self.far.put(datagram);
            datagrams += 1;
        }
        datagrams
    }

    /// Returns the numbers of the frames that are handed on now.
    pub(super) fn receive(&mut self, now: Nanos) -> Vec<u64> {
        let mut came = Vec::new();
        let mut more = true;
        while more {
            let report = self.into.receive(now, 64, &mut |frame| {
                came.push(u64::from_be_bytes(frame.frame.data().try_into().unwrap()));
            });
            more = report.unwrap().more;
        }
        came
    }

    /// Returns all frames that wait, each with the time at which it is handed on.
    pub(super) fn play(&mut self) -> Vec<(u64, Nanos)> {
        let mut came = Vec::new();
        while self.into.counters().waiting > 0 {
            let due = self.into.deadline().unwrap();
            came.extend(self.receive(due).into_iter().map(|number| (number, due)));
        }
        came
    }
}
