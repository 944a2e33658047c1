//! Frames that come from one bus, one after another.
//!
//! # The argument
//! Consider the messages of a bus that gateways pass on from one other bus. Of the frames that are
//! released here in an interval of length t, both ends included, let f be the one that ended first
//! on the previous bus. Each of the others ended there at least its own length, intermission
//! included, after the one before it: two frames cannot be on a bus at one time. A frame is
//! released here at most Δ after its end of frame there (the gateway's own time, and its wait in a
//! queue, if the frame is considered from the end of that wait on). So f ended at most Δ before the
//! interval, the last one at most at its end, and all lengths there but that of f add up to at most
//! t + Δ. If each takes at least δ, as over a tunnel, all ends move by δ: Δ is the longest time
//! less the least one. If a frame takes at most ρ times as long here as there, then together they
//! occupy this bus for at most
//!
//! > the longest of them here + ρ · (t + Δ).
//!
//! Where this is less than what their periods allow, it counts. A frame that several routes pass on
//! to the same bus counts with all its copies, and with all its parts
//! ([`HopFrames::Split`](crate::HopFrames)). Of this time, the frame itself takes at least its
//! shortest length, if it is one of them and not f; if it is f, then the first term includes it,
//! and the same may be subtracted.
//!
//! Two frames are assumed to be separated by three bits of intermission, as on the `bus` model. (A
//! node may begin its frame in the third bit, if it sees another one begin there.)
//!
//! # A bus that only passes on
//! Let a bus carry nothing but the frames of one message that come unchanged from a bus of the same
//! bit rate, so that ρ is 1. A frame that is released a after the beginning of the busy period then
//! starts at most at longest + (a + Δ) less its own shortest length, and waits at most longest −
//! shortest + Δ, however long the busy period is. So there is a bound for a bus that is full all
//! the time, too: [`crate::CompiledBus::passing`].

use crate::stream::RivalStream;
use alloc::vec;
use alloc::vec::Vec;
use frame::Nanos;

/// 1, as the ratio of a source.
pub(crate) const ONE: u64 = 1 << 32;

/// The origin of the frames of a message.
#[derive(Clone, Copy, Debug)]
pub(crate) struct FrameSource {
    /// The index of the bus.
    pub(crate) bus: usize,
    /// The greatest ratio of a frame's length here to its length there, in parts of [`ONE`]; for
    /// all its copies together.
    pub(crate) ratio: u64,
    /// The longest frame with all its copies, intermissions included, ns.
    pub(crate) longest: Nanos,
    /// Number of its copies that come here.
    pub(crate) copies: u64,
    /// The least time that a frame occupies the bus there, intermission included, ns.
    pub(crate) shortest: Nanos,
    /// The least and the longest time from its end of frame there to its release here, ns.
    pub(crate) least: Nanos,
    pub(crate) delay: Nanos,
}

/// Returns a ratio in parts of [`ONE`], rounded up.
pub(crate) fn ratio(here: Nanos, there: Nanos) -> u64 {
    let parts = (u128::from(here) << 32).div_ceil(u128::from(there.max(1)));
    u64::try_from(parts).unwrap_or(u64::MAX)
}

/// Messages that come from one bus.
#[derive(Clone, Copy, Debug)]
pub(crate) struct FrameTrain {
    bus: usize,
    pub(crate) ratio: u64,
    longest: Nanos,
    /// The longest time from an end of frame to the time at which it is considered, ns, and the
    /// least one. Their difference is Δ.
    latest: Nanos,
    earliest: Nanos,
    /// The greatest number of copies of a frame.
    copies: u64,
    /// The shortest frame there, ns.
    shortest: Nanos,
    /// The longest time that pauses of its nodes add to each frame, ns.
    pause: Nanos,
}

impl FrameTrain {
    /// Returns the longest time that they occupy this bus, of those released in an interval, ns.
    pub(crate) fn work(&self, span: Nanos) -> Nanos {
        let time = u128::from(span.saturating_add(self.latest - self.earliest));
        let parts = time.saturating_mul(u128::from(self.ratio));
        // Plus one, because the amount of the rounding differs from time to time.
        let work = parts.div_ceil(u128::from(ONE)) + 1;
        u64::try_from(work)
            .unwrap_or(u64::MAX)
            .saturating_add(self.longest)
    }
}

/// Returns the trains of some messages, and for each message the train that it belongs to. Each
/// message is given with the time from its release to the time at which it is considered, and the
/// time that pauses of its node add to each of its frames ([`mod@crate::refill`]).
pub(crate) fn trains(
    messages: impl Iterator<Item = (Option<FrameSource>, Nanos, Nanos)>,
) -> (Vec<FrameTrain>, Vec<Option<usize>>) {
    let mut all: Vec<FrameTrain> = Vec::new();
    let places = messages.map(|(source, later, pause)| {
        let source = source?;
        let latest = source.delay.saturating_add(later);
        let place = all.iter().position(|train| train.bus == source.bus);
        let place = place.unwrap_or_else(|| {
            all.push(FrameTrain {
                bus: source.bus,
                ratio: 0,
                longest: 0,
                latest: 0,
                earliest: Nanos::MAX,
                copies: 0,
                shortest: Nanos::MAX,
                pause: 0,
            });
            all.len() - 1
        });
        let train = all.get_mut(place)?;
        train.ratio = train.ratio.max(source.ratio);
        train.longest = train.longest.max(source.longest);
        train.latest = train.latest.max(latest);
        train.earliest = train.earliest.min(source.least.min(latest));
        train.copies = train.copies.max(source.copies);
        train.shortest = train.shortest.min(source.shortest);
        train.pause = train.pause.max(pause);
        Some(place)
    });
    let places = places.collect();
    for train in &mut all {
        let pauses = train.pause.saturating_mul(train.copies);
        train.longest = train.longest.saturating_add(pauses);
        let more = ratio(pauses, train.shortest);
        train.ratio = train.ratio.saturating_add(more);
    }
    (all, places)
}

/// Returns the time that streams occupy: each stream at most that of `count` of its frames, and
/// each train no more than is possible in `span`.
pub(crate) fn occupied<'s>(
    streams: impl Iterator<Item = &'s RivalStream>,
    trains: &[FrameTrain],
    span: Nanos,
    count: impl Fn(&RivalStream) -> u64,
) -> Nanos {
    let mut sums: Vec<Nanos> = vec![0; trains.len()];
    let mut all: Nanos = 0;
    for stream in streams {
        let work = count(stream).saturating_mul(stream.occupied);
        let sum = stream.train.and_then(|place| sums.get_mut(place));
        let sum = sum.unwrap_or(&mut all);
        *sum = sum.saturating_add(work);
    }
    let capped = sums.iter().zip(trains);
    capped.fold(all, |all, (sum, train)| {
        all.saturating_add((*sum).min(train.work(span)))
    })
}
