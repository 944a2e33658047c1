//! What the worker counts: plain numbers in its own memory, no atomics, no locks.

use crate::fate::Fate;
use port::{RxCounters, TxCounters};
use serde::{Deserialize, Serialize};

/// How many frames came to which end. Every frame that a port handed over is in exactly one of
/// these; see [`Fate`] for their meaning and precedence.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Fates {
    /// [`Fate::Routed`]
    pub routed: u64,
    /// [`Fate::Refused`]
    pub refused: u64,
    /// [`Fate::Undeliverable`]
    pub undeliverable: u64,
    /// [`Fate::RateLimited`]
    pub rate_limited: u64,
    /// [`Fate::DroppedByRule`]
    pub dropped_by_rule: u64,
    /// [`Fate::HopLimit`]
    pub hop_limit: u64,
    /// [`Fate::TooLong`]
    pub too_long: u64,
    /// [`Fate::IdRange`]
    pub id_range: u64,
    /// [`Fate::NoRoute`]
    pub no_route: u64,
}

impl Fates {
    /// Counts one frame.
    pub(crate) fn count(&mut self, fate: Fate) {
        *match fate {
            Fate::Routed => &mut self.routed,
            Fate::Refused => &mut self.refused,
            Fate::Undeliverable => &mut self.undeliverable,
            Fate::RateLimited => &mut self.rate_limited,
            Fate::DroppedByRule => &mut self.dropped_by_rule,
            Fate::HopLimit => &mut self.hop_limit,
            Fate::TooLong => &mut self.too_long,
            Fate::IdRange => &mut self.id_range,
            Fate::NoRoute => &mut self.no_route,
        } += 1;
    }

    /// The frames of one fate.
    #[must_use]
    pub const fn of(&self, fate: Fate) -> u64 {
        match fate {
            Fate::Routed => self.routed,
            Fate::Refused => self.refused,
            Fate::Undeliverable => self.undeliverable,
            Fate::RateLimited => self.rate_limited,
            Fate::DroppedByRule => self.dropped_by_rule,
            Fate::HopLimit => self.hop_limit,
            Fate::TooLong => self.too_long,
            Fate::IdRange => self.id_range,
            Fate::NoRoute => self.no_route,
        }
    }

    /// All frames. 128 bits, because a snapshot may come from a stranger's JSON.
    #[must_use]
    pub fn total(&self) -> u128 {
        Fate::ALL.iter().map(|&f| u128::from(self.of(f))).sum()
    }

    fn add(&mut self, other: &Self) {
        self.routed += other.routed;
        self.refused += other.refused;
        self.undeliverable += other.undeliverable;
        self.rate_limited += other.rate_limited;
        self.dropped_by_rule += other.dropped_by_rule;
        self.hop_limit += other.hop_limit;
        self.too_long += other.too_long;
        self.id_range += other.id_range;
        self.no_route += other.no_route;
    }
}

/// What became of copies: one frame that a route sends to three ports is three copies.
/// `offered` is counted before the port is asked, the others after it has answered.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Copies {
    /// Copies made.
    pub offered: u64,
    /// Taken by the port. What became of them then, [`TxCount`] says.
    pub accepted: u64,
    /// Refused by a full queue.
    pub refused: u64,
    /// Not delivered because the port is down, bus-off or out of service.
    pub down: u64,
    /// Not delivered because the port cannot carry this kind of frame.
    pub unsupported: u64,
}

impl Copies {
    /// Copies that were answered.
    #[must_use]
    pub fn answered(&self) -> u128 {
        [self.accepted, self.refused, self.down, self.unsupported]
            .iter()
            .map(|&n| u128::from(n))
            .sum()
    }

    /// Copies for a port that was down or cannot carry them.
    #[must_use]
    pub fn undeliverable(&self) -> u128 {
        u128::from(self.down) + u128::from(self.unsupported)
    }

    fn add(&mut self, other: &Self) {
        self.offered += other.offered;
        self.accepted += other.accepted;
        self.refused += other.refused;
        self.down += other.down;
        self.unsupported += other.unsupported;
    }
}

/// What a route did.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct RouteCount {
    /// Frames that it took: `forwarded` and the five ways of ending one here add up to this.
    pub taken: u64,
    /// Frames of which it made copies.
    pub forwarded: u64,
    /// Frames that its `drop` ended.
    pub dropped_by_rule: u64,
    /// Frames above its rate limit.
    pub rate_limited: u64,
    /// Frames that had passed too many gateways.
    pub hop_limit: u64,
    /// Frames whose new length does not fit their kind (can-gw's "deleted").
    pub too_long: u64,
    /// Frames whose new ID does not fit their format.
    pub id_range: u64,
    /// What became of its copies.
    pub copies: Copies,
}

impl RouteCount {
    /// Frames whose end with this route is known.
    #[must_use]
    pub fn ended(&self) -> u128 {
        [
            self.forwarded,
            self.dropped_by_rule,
            self.rate_limited,
            self.hop_limit,
            self.too_long,
            self.id_range,
        ]
        .iter()
        .map(|&n| u128::from(n))
        .sum()
    }

    pub(crate) fn add(&mut self, other: &Self) {
        self.taken += other.taken;
        self.forwarded += other.forwarded;
        self.dropped_by_rule += other.dropped_by_rule;
        self.rate_limited += other.rate_limited;
        self.hop_limit += other.hop_limit;
        self.too_long += other.too_long;
        self.id_range += other.id_range;
        self.copies.add(&other.copies);
    }
}

/// [`RxCounters`] since the port came to this gateway.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct RxCount {
    /// Lost before the gateway because a receive queue was full.
    pub overrun: u64,
    /// Input that was no frame.
    pub malformed: u64,
    /// The controller's error frames that were not handed on.
    pub error_frames: u64,
    /// How often the port was lost and taken up again.
    pub reopened: u64,
}

impl RxCount {
    pub(crate) fn since(base: &RxCounters, now: &RxCounters) -> Self {
        Self {
            overrun: now.overrun.saturating_sub(base.overrun),
            malformed: now.malformed.saturating_sub(base.malformed),
            error_frames: now.error_frames.saturating_sub(base.error_frames),
            reopened: now.reopened.saturating_sub(base.reopened),
        }
    }
}

/// [`TxCounters`] since the port came to this gateway: the fate of copies after the port took
/// them. `taken = sent + lost + held`.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct TxCount {
    /// Copies that the port says it took.
    pub taken: u64,
    /// Sent.
    pub sent: u64,
    /// Taken and then lost, or still waiting when the port failed or was closed.
    pub lost: u64,
    /// Taken and still waiting.
    pub held: u64,
    /// Times that the other side had no room and the frame was kept.
    pub stalled: u64,
}

impl TxCount {
    /// `over`: the port will send nothing more, so what it holds is lost.
    pub(crate) fn since(base: &TxCounters, now: &TxCounters, over: bool) -> Self {
        // Frames that were held when the port came belong to whoever handed them in. They leave
        // first, so the port's `sent`, `lost` and `held` of before count as one: gone.
        let before = base.sent + base.lost + base.held;
        let held = now.held.min(now.taken.saturating_sub(base.taken));
        let lost = now.lost.saturating_sub(base.lost);
        let gone = (now.sent + now.lost + now.held).saturating_sub(before);
        let (lost, held) = if over { (lost + held, 0) } else { (lost, held) };
        Self {
            taken: now.taken.saturating_sub(base.taken),
            sent: gone.saturating_sub(lost + held),
            lost,
            held,
            stalled: now.stalled.saturating_sub(base.stalled),
        }
    }
}

/// Is a port at work?
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PortState {
    /// In service.
    #[default]
    Up,
    /// In service, but nothing can come in at the moment: an interface that is down or gone.
    Down,
    /// Closed in good order, at the gateway's end.
    Closed,
    /// Its input has ended (a file); it can still transmit.
    Finished,
    /// Out of service after an error that it could not survive.
    Failed,
}

/// What one port received and was given to send.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct PortCount {
    /// Is it at work?
    pub state: PortState,
    /// Frames that it handed over, counted one by one when they came.
    pub received: u64,
    /// Frames that it says it handed over.
    pub reported: u64,
    /// What became of them.
    pub fates: Fates,
    /// What it lost before the gateway saw it.
    pub rx: RxCount,
    /// Copies that were offered to it as a destination.
    pub copies: Copies,
    /// What became of those that it accepted.
    pub tx: TxCount,
}

impl PortCount {
    pub(crate) fn add(&mut self, other: &Self) {
        self.received += other.received;
        self.reported += other.reported;
        self.fates.add(&other.fates);
        self.rx.overrun += other.rx.overrun;
        self.rx.malformed += other.rx.malformed;
        self.rx.error_frames += other.rx.error_frames;
        self.rx.reopened += other.rx.reopened;
        self.copies.add(&other.copies);
        self.tx.taken += other.tx.taken;
        self.tx.sent += other.tx.sent;
        self.tx.lost += other.tx.lost;
        self.tx.held += other.tx.held;
        self.tx.stalled += other.tx.stalled;
    }
}

/// All numbers of an engine at one moment between two batches. Names are in the layout: the
/// worker copies numbers only.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Counts {
    /// The engine's time at its last step.
    pub at: frame::Nanos,
    /// Routing tables taken over since the start.
    pub reloads: u64,
    /// One for each port.
    pub ports: Vec<PortCount>,
    /// Why a port failed, by port.
    pub failures: Vec<Option<std::sync::Arc<str>>>,
    /// One for each route.
    pub routes: Vec<RouteCount>,
    /// Ports that a reload took away.
    pub retired_ports: PortCount,
    /// Routes that a reload took away.
    pub retired_routes: RouteCount,
}
