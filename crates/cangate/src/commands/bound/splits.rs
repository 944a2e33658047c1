//! The frames that ports of kind `"split"` make.

use analysis::tunnel::TunnelPassage;
use analysis::{Arrival, FrameShape, HopFrames, MessagePlace, NetworkFound};
use console::Failure;
use frame::{Header, Kind, Nanos};
use port::PortSpec;
use port::split::{SplitSettings, part_lens};
use std::collections::BTreeMap;
use std::num::NonZeroU8;

/// The FD frame of which a message has the parts.
#[derive(Clone, Copy)]
pub(super) struct SplitWhole {
    shape: FrameShape,
    /// The number of its parts.
    parts: NonZeroU8,
}

/// The frames that a port makes of those of a message.
pub(super) struct SplitFrames {
    pub(super) shape: FrameShape,
    pub(super) frames: HopFrames,
    /// The FD frame, if these are its parts.
    pub(super) whole: Option<SplitWhole>,
    /// All parts of a frame must come within this time, ns; `None` for a port that splits it.
    pub(super) within: Option<Nanos>,
}

/// The frames that a message causes in the queue of a port that splits or joins them.
#[derive(Clone)]
pub(super) struct SplitLoad {
    /// The number of the gateway. Two gateways can have ports of one name.
    pub(super) gateway: usize,
    /// The name of the port.
    pub(super) port: String,
    /// The most frames in its queue.
    pub(super) room: u32,
    pub(super) frames: HopFrames,
    pub(super) source: SplitSource,
    /// The longest time for which a made frame is in the queue, ns.
    pub(super) delay: Nanos,
}

/// The source of the frames that a port splits or joins.
#[derive(Clone)]
pub(super) enum SplitSource {
    /// A message on a bus, and the tunnel behind it.
    Received(MessagePlace, Option<TunnelPassage>),
    /// A port that makes messages, with their releases.
    Made(Arrival),
}

impl SplitLoad {
    /// Returns the most frames of the message that are in the queue at one time; `None` if it has
    /// no bound.
    ///
    /// A made frame leaves the queue at most `delay` after the frame of which it is made has ended
    /// on its bus. So those that are there at one time are of frames that ended within that time.
    fn most(&self, found: &NetworkFound) -> Option<u64> {
        let arrival = match &self.source {
            SplitSource::Made(arrival) => *arrival,
            SplitSource::Received(place, passage) => {
                let (least, most) = found.passage_times(*passage, 0).ok()?;
                found.ends(*place).ok()?.delayed(most - least, 0)
            }
        };
        Some(self.frames.of(arrival).most_within(self.delay))
    }
}

/// Returns the names of the ports whose queues can overflow.
pub(super) fn overflowing(loads: &[SplitLoad], found: &NetworkFound) -> Vec<String> {
    let mut sums: BTreeMap<(usize, &str), (u32, u64)> = BTreeMap::new();
    for load in loads {
        let (_, sum) = sums
            .entry((load.gateway, &load.port))
            .or_insert((load.room, 0));
        *sum = sum.saturating_add(load.most(found).unwrap_or(u64::MAX));
    }
    let full = sums
        .into_iter()
        .filter(|(_, (room, sum))| *sum > u64::from(*room));
    full.map(|((_, port), _)| port.to_owned()).collect()
}

/// The frames that a port makes, or the reason why there is none.
pub(super) enum SplitResult {
    Makes(Box<SplitFrames>),
    /// The port has no such frame.
    Nothing,
    /// The frames are parts of an FD frame that is not in the set.
    Unknown,
}

/// Returns the settings of a port that splits and joins frames; `None` for another one.
pub(super) fn settings(port: &PortSpec) -> Option<&SplitSettings> {
    port.settings.downcast_ref::<SplitSettings>()
}

impl SplitWhole {
    /// Returns the arrival of the parts of FD frames that come by this one.
    pub(super) fn parts_of(self, arrival: Arrival) -> Arrival {
        HopFrames::Split(self.parts).of(arrival)
    }
}

/// Returns the frames that a port makes of frames of this shape. `whole`: the FD frame of which
/// they are the parts.
pub(super) fn made(
    port: &SplitSettings,
    shape: &FrameShape,
    whole: Option<SplitWhole>,
) -> Result<SplitResult, Failure> {
    let header = shape.header();
    let id = header.id();
    let pair = port.pairs.iter().find(|pair| match header.kind() {
        Kind::Fd => id == pair.whole,
        Kind::Classic => id == pair.parts && !header.is_rtr(),
        Kind::Xl => false,
    });
    let Some(pair) = pair else {
        return Ok(SplitResult::Nothing);
    };
    if header.kind() == Kind::Classic {
        let Some(SplitWhole { shape, parts }) = whole else {
            return Ok(SplitResult::Unknown);
        };
        let joined = Header::new(Kind::Fd, pair.whole, shape.wire_len()).map_err(Failure::run)?;
        let joined = joined.with_flags(shape.header().flags());
        return Ok(SplitResult::Makes(Box::new(SplitFrames {
            shape: FrameShape::any(joined).map_err(Failure::run)?,
            frames: HopFrames::Joined(parts),
            whole: None,
            within: Some(port.timeout),
        })));
    }
    let lens: Vec<usize> = part_lens(shape.wire_len()).collect();
    let (least, most) = (lens.iter().min(), lens.iter().max());
    let count = u8::try_from(lens.len()).ok().and_then(NonZeroU8::new);
    let (Some(&least), Some(&most), Some(parts)) = (least, most, count) else {
        return Ok(SplitResult::Nothing);
    };
    let part = Header::new(Kind::Classic, pair.parts, most).map_err(Failure::run)?;
    let part = FrameShape::any(part).map_err(Failure::run)?;
    Ok(SplitResult::Makes(Box::new(SplitFrames {
        shape: part.or_shorter(least),
        frames: HopFrames::Split(parts),
        whole: Some(SplitWhole {
            shape: *shape,
            parts,
        }),
        within: None,
    })))
}

#[cfg(test)]
mod tests {
    use super::*;
    use analysis::{LengthSearch, Network};

    /// A queue with room for three parts, which come at once, and one without.
    #[test]
    fn ports_of_one_name_have_queues_of_their_own() {
        let found = Network::default().assess(&mut LengthSearch::new()).unwrap();
        let load = |gateway, room| SplitLoad {
            gateway,
            port: "parts".to_owned(),
            room,
            frames: HopFrames::Split(NonZeroU8::new(3).unwrap()),
            source: SplitSource::Made(Arrival::new(1_000_000, 0, 0).unwrap()),
            delay: 50_000,
        };
        for (rooms, full) in [([3, 3], 0), ([100, 2], 1), ([2, 100], 1), ([2, 2], 2)] {
            let loads = [load(0, rooms[0]), load(1, rooms[1])];
            assert_eq!(overflowing(&loads, &found).len(), full, "{rooms:?}");
        }
    }
}
