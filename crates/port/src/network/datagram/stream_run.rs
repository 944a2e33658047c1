//! A run of a stream: the numbers and the sums of its datagrams, which the ports of its buses
//! share.

use super::identity::own_number;
#[cfg(feature = "ieee1722")]
use crate::PortOpener;
#[cfg(feature = "ieee1722")]
use std::collections::HashMap;
#[cfg(feature = "ieee1722")]
use std::net::SocketAddr;
#[cfg(feature = "ieee1722")]
use std::sync::Weak;
#[cfg(feature = "ieee1722")]
use std::sync::atomic::AtomicU32;
use std::sync::{Arc, Mutex, PoisonError};

/// The sums of the datagrams that left.
#[derive(Clone, Copy, Default)]
pub(super) struct SentTotals {
    pub(super) datagrams: u64,
    pub(super) frames: u64,
}

struct RunParts {
    /// A number that distinguishes this run from others.
    run: u64,
    #[cfg(feature = "ieee1722")]
    numbers: Arc<AtomicU32>,
    totals: Mutex<SentTotals>,
}

/// A run of a stream. Its numbers begin at 0.
#[derive(Clone)]
pub(crate) struct StreamRun(Arc<RunParts>);

impl Default for StreamRun {
    fn default() -> Self {
        Self(Arc::new(RunParts {
            run: own_number(),
            #[cfg(feature = "ieee1722")]
            numbers: Arc::default(),
            totals: Mutex::default(),
        }))
    }
}

/// The end of a stream: the gateway's address and the other side's, as the file has it (empty on
/// Ethernet, where the address is the other side's), and the stream's ID. A receiver counts the
/// numbers of a stream, so ports with other receivers have numbers of their own.
#[cfg(feature = "ieee1722")]
#[derive(PartialEq, Eq, Hash)]
pub(crate) struct StreamKey {
    pub(crate) address: SocketAddr,
    pub(crate) peer: String,
    pub(crate) stream: u64,
}

/// The streams that ports of a gateway send.
#[cfg(feature = "ieee1722")]
#[derive(Default)]
struct StreamRuns(HashMap<StreamKey, Weak<RunParts>>);

impl StreamRun {
    /// Returns the run of a stream: that of another port which sends the same one, or a new one.
    #[cfg(feature = "ieee1722")]
    pub(crate) fn of(opener: &mut PortOpener, end: StreamKey) -> Self {
        let known = &mut opener.shared(StreamRuns::default).0;
        let place = known.entry(end).or_default();
        place.upgrade().map_or_else(
            || {
                let run = Self::default();
                *place = Arc::downgrade(&run.0);
                run
            },
            Self,
        )
    }

    /// Returns the number that distinguishes this run.
    pub(super) fn run(&self) -> u64 {
        self.0.run
    }

    /// Returns the numbers of its datagrams.
    #[cfg(feature = "ieee1722")]
    pub(crate) fn numbers(&self) -> Arc<AtomicU32> {
        Arc::clone(&self.0.numbers)
    }

    /// Adds a datagram with this number of frames.
    pub(super) fn add(&self, frames: u64) {
        let mut totals = self.0.totals.lock().unwrap_or_else(PoisonError::into_inner);
        totals.datagrams += 1;
        totals.frames += frames;
    }

    /// Returns the sums.
    pub(super) fn totals(&self) -> SentTotals {
        *self.0.totals.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
