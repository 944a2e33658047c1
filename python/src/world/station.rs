//! A station: the node of one bus object of Python.

use bus::{Bus, BusStats, ErrorState, NodeId, NodeState};
use frame::{Frame, Nanos};
use std::collections::{BTreeMap, VecDeque};

/// The open stations of a world by their numbers. A number is given once.
pub(super) type StationStates = BTreeMap<usize, StationState>;

/// The settings of a station.
#[derive(Clone, Copy, Debug)]
pub(crate) struct StationSettings {
    /// Number of transmit buffers that take part in arbitration.
    pub(crate) mailboxes: u8,
    /// Number of frames that wait for a mailbox.
    pub(crate) queue: usize,
    /// Whether it only receives, without acknowledging.
    pub(crate) listen_only: bool,
    /// Whether it hears the frames that it sends itself.
    pub(crate) own: bool,
    /// Whether it hears error frames.
    pub(crate) errors: bool,
    /// Number of frames that it keeps until they are taken.
    pub(crate) depth: usize,
    /// Time from bus-off to the restart, ns.
    pub(crate) restart: Option<Nanos>,
}

/// A filter of IDs as python-can has it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct IdFilter {
    /// The ID.
    pub(crate) id: u32,
    /// The bits of the ID that are compared.
    pub(crate) mask: u32,
    /// Whether IDs have 29 bits; `None` for both.
    pub(crate) extended: Option<bool>,
}

/// A frame that a station has heard.
#[derive(Clone, Copy, Debug)]
pub(crate) struct HeardFrame {
    /// End of frame, or the detection of an error, ns.
    pub(crate) at: Nanos,
    /// The frame.
    pub(crate) frame: Frame,
    /// Whether the station has sent it.
    pub(crate) own: bool,
}

/// A station.
pub(crate) struct StationState {
    /// The index of its bus.
    pub(crate) slot: usize,
    /// Its node.
    pub(crate) node: NodeId,
    settings: StationSettings,
    filters: Option<Vec<IdFilter>>,
    heard: VecDeque<HeardFrame>,
    /// Tags of frames that the node has taken and not sent yet, oldest first.
    pending: VecDeque<u64>,
    state: ErrorState,
    counts: StationCounts,
}

/// Counts of a station.
#[derive(Clone, Copy, Default, Debug)]
pub(crate) struct StationCounts {
    /// Frames sent.
    pub(crate) sent: u64,
    /// Frames heard from others.
    pub(crate) received: u64,
    /// Frames taken and not sent: the node went bus-off.
    pub(crate) dropped: u64,
    /// Frames heard that had no place.
    pub(crate) overruns: u64,
}

/// The counts of a station, its node's error state, and the counts of its bus.
#[derive(Clone, Copy, Debug)]
pub(crate) struct StationReport {
    /// Counts of the station.
    pub(crate) counts: StationCounts,
    /// The error state of the node with its counters.
    pub(crate) node: NodeState,
    /// Counts of the bus.
    pub(crate) bus: BusStats,
    /// Real time that the bus has left out, ns.
    pub(crate) skipped: Nanos,
}

impl StationState {
    pub(super) fn new(slot: usize, node: NodeId, settings: StationSettings) -> Self {
        Self {
            slot,
            node,
            settings,
            filters: None,
            heard: VecDeque::new(),
            pending: VecDeque::new(),
            state: ErrorState::Active,
            counts: StationCounts::default(),
        }
    }

    /// Sets the filters; `None` for all frames. They apply to the frames that wait, too.
    pub(crate) fn set_filters(&mut self, filters: Option<Vec<IdFilter>>) {
        self.filters = filters;
    }

    /// Returns its counts.
    pub(crate) const fn counts(&self) -> StationCounts {
        self.counts
    }

    /// Returns whether a frame waits that passes the filters; the others before it are gone.
    pub(crate) fn is_ready(&mut self) -> bool {
        while let Some(heard) = self.heard.front() {
            if passes(self.filters.as_deref(), &heard.frame) {
                return true;
            }
            self.heard.pop_front();
        }
        false
    }

    /// Takes the oldest frame that passes the filters.
    pub(crate) fn take(&mut self) -> Option<HeardFrame> {
        match self.is_ready() {
            true => self.heard.pop_front(),
            false => None,
        }
    }

    pub(super) fn taken(&mut self, tag: u64) {
        self.pending.push_back(tag);
    }

    pub(super) fn cancel_all(&mut self, bus: &mut Bus) -> usize {
        let before = self.pending.len();
        let node = self.node;
        self.pending.retain(|tag| !bus.cancel(node, *tag));
        before - self.pending.len()
    }

    pub(super) const fn state(&self) -> ErrorState {
        self.state
    }

    pub(super) fn set_state(&mut self, state: ErrorState) {
        self.state = state;
    }

    pub(super) fn hear(&mut self, at: Nanos, frame: &Frame) {
        self.counts.received += 1;
        self.keep(HeardFrame {
            at,
            frame: *frame,
            own: false,
        });
    }

    pub(super) fn sent(&mut self, at: Nanos, tag: u64, frame: &Frame) {
        self.counts.sent += 1;
        self.forget(tag);
        if self.settings.own {
            self.keep(HeardFrame {
                at,
                frame: *frame,
                own: true,
            });
        }
    }

    pub(super) fn dropped(&mut self, tag: u64) {
        self.counts.dropped += 1;
        self.forget(tag);
    }

    /// Adds an error frame.
    pub(super) fn report(&mut self, at: Nanos, frame: Option<Frame>) {
        if let Some(frame) = frame.filter(|_| self.settings.errors) {
            let own = false;
            self.keep(HeardFrame { at, frame, own });
        }
    }

    fn forget(&mut self, tag: u64) {
        if let Some(place) = self.pending.iter().position(|known| *known == tag) {
            self.pending.remove(place);
        }
    }

    fn keep(&mut self, heard: HeardFrame) {
        if self.heard.len() >= self.settings.depth {
            self.counts.overruns += 1;
            return;
        }
        self.heard.push_back(heard);
    }
}

/// Error frames pass any filter, as in SocketCAN, where they have a mask of their own.
fn passes(filters: Option<&[IdFilter]>, frame: &Frame) -> bool {
    let (Some(filters), false) = (filters, frame.id().is_err()) else {
        return true;
    };
    let (number, is_eff) = (frame.id().number(), frame.id().is_eff());
    filters.iter().any(|filter| {
        filter.extended.is_none_or(|extended| extended == is_eff)
            && (number ^ filter.id) & filter.mask == 0
    })
}
