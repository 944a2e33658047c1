//! The worst case of a frame on the timed bench, computed by `analysis`.
//!
//! The bench has two buses of one bit rate. The tester is one node on each of them and sends in the
//! order of its list. The gateway forwards frames from the first bus unchanged; the driver of its
//! controller (mscan) sends in order of arrival. Therefore both are nodes with one transmit buffer.
//! Once in many frames that driver lets its buffers become empty ([`analysis::refill`]). The time
//! that it then takes to fill one is not known beforehand; the gateway's own time is used for it,
//! because that includes the same steps (an interrupt, a softirq, the call that sends), and more.
//!
//! A frame's latency is at most the gateway's own time plus the time that it then waits in the
//! gateway's node. The own time is the longest latency of another experiment. That one includes the
//! time for which its frames waited for the bus, so it is no less than the gateway's own time
//! there; a measured value is not a bound of what could have happened.

mod set;

pub(crate) use set::played;

use crate::evidence::{ClaimEvidence, MissingEvidence};
use analysis::{
    Arrival, BufferRefill, BusSpec, CompiledBus, FrameShape, GatewayHop, HopFrames, LengthRule,
    LengthSearch, Message, MessagePlace, Network, NodeSpec, SendOrder,
};
use experiment::under_test::sent_id;
use experiment::{Experiment, TrafficPattern};
use frame::wire::BitRate;
use frame::{CanId, Header, Kind, Nanos};
use probe::FrameRecord;
use std::collections::BTreeMap;
use std::num::NonZeroU8;

/// The least number of frames that the driver mscan sends before it lets its three buffers become
/// empty (`cur_pri == 0xff` in `mscan_start_xmit`, drivers/net/can/mscan/mscan.c): at the 255th
/// time that the number of the buffer it fills is lower than the one before, of which there are at
/// most two in three frames.
const MSCAN_FRAMES: u32 = 382;

/// The frame of a run that comes nearest to its bound, and the counts of all frames.
pub(crate) struct BoundedFrame {
    /// Number of frames that were compared with a bound.
    pub(crate) frames: usize,
    /// Number of frames above their bound.
    pub(crate) above: usize,
    /// Latency of the frame that came nearest to its bound, or exceeded it the most, ns.
    pub(crate) latency: i64,
    /// The bound of that frame, ns.
    pub(crate) bound: i64,
}

/// Messages on the first bus, all of which go through the gateway, and other messages on the
/// second.
pub(crate) struct RouteTraffic {
    pub(crate) through: Vec<Message>,
    pub(crate) beside: Vec<Message>,
}

/// Compares each frame of `run` with its bound; the gateway's own time is the longest latency of
/// `own`.
///
/// # Errors
/// [`MissingEvidence`]: one of the two was not run, or there is no bound.
pub(crate) fn hold(
    evidence: &ClaimEvidence,
    run: &Experiment,
    own: &Experiment,
) -> Result<BoundedFrame, MissingEvidence> {
    let none = |why: String| MissingEvidence {
        experiment: run.name(),
        why,
    };
    let own = Nanos::try_from(evidence.summary(own)?.max).unwrap_or(0);
    // A verdict needs at least one frame.
    evidence.summary(run)?;
    let waiting = waiting(run, own).map_err(none)?;
    held(&evidence.results(run)?.records, &waiting, own).map_err(none)
}

fn held(
    records: &[FrameRecord],
    waiting: &BTreeMap<CanId, Nanos>,
    own: Nanos,
) -> Result<BoundedFrame, String> {
    let mut held: Option<BoundedFrame> = None;
    let (mut frames, mut above) = (0, 0);
    for record in records {
        let (Some(outgoing), Some(latency)) = (record.outgoing, record.latency()) else {
            continue;
        };
        let waits = waiting.get(&outgoing.id);
        let waits =
            waits.ok_or_else(|| format!("a frame {} that is not in the set", outgoing.id))?;
        let bound = i64::try_from(waits.saturating_add(own)).unwrap_or(i64::MAX);
        frames += 1;
        above += usize::from(latency > bound);
        // Compares two ratios without dividing.
        let nearer = |old: &BoundedFrame| {
            i128::from(latency) * i128::from(old.bound)
                > i128::from(old.latency) * i128::from(bound)
        };
        if held.as_ref().is_none_or(nearer) {
            held = Some(BoundedFrame {
                frames: 0,
                above: 0,
                latency,
                bound,
            });
        }
    }
    let held = held.ok_or("no frame came back")?;
    Ok(BoundedFrame {
        frames,
        above,
        ..held
    })
}

/// Returns, for each identifier, the greatest time that a frame waits in the gateway's node, ns.
/// The frames are those of the set, or of one kind, as close to one another as the bus allows.
fn waiting(run: &Experiment, own: Nanos) -> Result<BTreeMap<CanId, Nanos>, String> {
    if run.log.is_some() {
        return of_set(&set::traffic()?, own);
    }
    if matches!(run.traffic, TrafficPattern::Period(_)) || run.payload > 8 {
        return Err("there is no model of this traffic".to_owned());
    }
    let shape = free(sent_id(run), usize::from(run.payload))?;
    let alone = RouteTraffic {
        through: vec![message(shape, 1)?],
        beside: Vec::new(),
    };
    let network = network(&alone, own)?;
    let bus = CompiledBus::new(&network.buses[1], &mut LengthSearch::new());
    let bus = bus.map_err(|error| error.to_string())?;
    let frames = u64::from(run.frames);
    let waits = bus.passing(0, own, frames).ok_or("there is no message")?;
    Ok(BTreeMap::from([(sent_id(run), waits)]))
}

/// Returns the shape of frames whose payload bits are all unknown.
fn free(id: CanId, len: usize) -> Result<FrameShape, String> {
    let header = Header::new(Kind::Classic, id, len).map_err(|error| error.to_string())?;
    FrameShape::any(header).map_err(|error| error.to_string())
}

fn message(shape: FrameShape, period: Nanos) -> Result<Message, String> {
    Ok(Message {
        name: String::new(),
        node: 0,
        shape,
        arrival: Arrival::new(period, 0, 0).map_err(|error| error.to_string())?,
        offset: None,
        deadline: period,
    })
}

/// Returns, for each identifier of a set, the greatest time that a frame waits in the gateway's
/// node, ns.
fn of_set(traffic: &RouteTraffic, own: Nanos) -> Result<BTreeMap<CanId, Nanos>, String> {
    let network = network(traffic, own)?;
    let found = network.assess(&mut LengthSearch::new());
    let found = found.map_err(|error| error.to_string())?;
    let each = network.hops.iter().map(|hop| {
        let id = network.buses[hop.to.bus].messages[hop.to.message]
            .shape
            .header()
            .id();
        let bound = found.buses[hop.to.bus].messages[hop.to.message].bound;
        let bound = bound.map_err(|none| format!("a frame {id} has no bound: {none:?}"))?;
        Ok((id, bound.waiting))
    });
    each.collect()
}

fn network(traffic: &RouteTraffic, own: Nanos) -> Result<Network, String> {
    let rate = BitRate::new(experiment::spec::BITRATE, None).map_err(|error| error.to_string())?;
    let one = |name| NodeSpec::new(name, SendOrder::Mailboxes(NonZeroU8::MIN));
    let gateway = NodeSpec {
        refill: Some(BufferRefill {
            time: own,
            every: MSCAN_FRAMES,
        }),
        ..one("gateway")
    };
    let bus = |name: &str, nodes: Vec<NodeSpec>, messages: Vec<Message>| BusSpec {
        name: name.to_owned(),
        rate,
        lengths: LengthRule::Greatest,
        errors: None,
        random_errors: None,
        joins: BusSpec::bit(rate),
        nodes,
        messages,
    };
    let mut second = traffic.beside.clone();
    let passed = traffic.through.iter().map(|message| Message {
        node: 1,
        ..message.clone()
    });
    let first_passed = second.len();
    second.extend(passed);
    let hops = (0..traffic.through.len()).map(|message| GatewayHop {
        from: MessagePlace { bus: 0, message },
        to: MessagePlace {
            bus: 1,
            message: first_passed + message,
        },
        delay: own,
        unchanged: true,
        frames: HopFrames::Same,
        passage: None,
    });
    Ok(Network {
        hops: hops.collect(),
        tunnels: Vec::new(),
        buses: vec![
            bus("in", vec![one("tester")], traffic.through.clone()),
            bus("out", vec![one("tester"), gateway], second),
        ],
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use experiment::fake;

    #[test]
    fn a_flood_waits_for_the_gateways_time_and_the_difference_of_two_lengths() {
        let run = Experiment {
            traffic: TrafficPattern::Flood,
            payload: 8,
            ..crate::setups::board(10)
        };
        let waiting = waiting(&run, 30_000).unwrap();
        let [(_, waits)] = waiting.into_iter().collect::<Vec<_>>()[..] else {
            panic!("one message");
        };
        // At 1 Mbit/s a bit is 1000 ns. 8 bytes have at most 24 stuff bits. The buffers become
        // empty once.
        let empty = 30_000 - 3_000;
        assert!((30_000..=54_000).contains(&(waits - empty)), "{waits}");
        let long = Experiment {
            frames: 10_000,
            ..run
        };
        let longer = super::waiting(&long, 30_000).unwrap().into_values().next();
        assert_eq!(longer, Some(waits + 26 * empty));
    }

    #[test]
    fn a_frame_above_its_bound_is_counted() {
        let id = CanId::from_raw(0x123);
        let waiting = BTreeMap::from([(id, 5_000)]);
        let records = fake::with_latencies([9_000, 15_000, 15_001, 2_000]);
        let held = held(&records, &waiting, 10_000).unwrap();
        assert_eq!((held.frames, held.above), (4, 1));
        assert_eq!((held.latency, held.bound), (15_001, 15_000));
        assert!(super::held(&records, &BTreeMap::new(), 1).is_err());
    }

    #[test]
    fn each_message_of_the_set_has_a_bound() {
        let traffic = set::traffic().unwrap();
        assert_eq!(traffic.through.len() + traffic.beside.len(), 40);
        let waiting = of_set(&traffic, 60_000).unwrap();
        assert_eq!(waiting.len(), traffic.through.len());
        let log = played(100_000_000);
        let of_set = |id: &CanId| waiting.contains_key(id);
        let frames = log.frames(experiment::LogSide::Incoming);
        assert!(frames.iter().all(|(_, frame)| of_set(&frame.id())));
        // Each message of the set is in it.
        let ids: std::collections::BTreeSet<CanId> = frames.iter().map(|(_, f)| f.id()).collect();
        assert_eq!(ids.len(), waiting.len());
    }
}
