//! Every round trip as a row of `probe`'s results: drawn by `cangate report`, and readable by any
//! data tool.

use super::plan::on_the_bus;
use super::{PartyEnd, PartyRole};
use frame::Kind;
use frame::wire::BitRate;
use probe::{
    FrameRecord, IncomingFrame, ROUND_TRIP_STAMP, RunDescription, RunResults, SentCopy, Status,
};

/// The entry of a description with the time that the first frame that came back on its own was on
/// the bus, ns.
pub(crate) const FRAME: &str = "own frame on the bus, ns";

/// Returns the rows of all masters. The latency of a row is the round trip: the incoming frame is
/// the frame as it was sent, the outgoing one is the answer, and no frame's duration is subtracted.
///
/// For a frame that comes back on its own ([`Plan::own`](super::PingPlan::own)), the latency is the
/// time that sending takes in addition to the frame's time on the bus, which differs with the stuff
/// bits of its number and is subtracted; `rate` is the rate of the bus, `None` if frames take no
/// time.
#[must_use]
pub(crate) fn build(
    played: &[PartyEnd],
    rate: Option<BitRate>,
    description: RunDescription,
) -> RunResults {
    let mut results = RunResults {
        description: RunDescription {
            stamp: ROUND_TRIP_STAMP.to_owned(),
            time_base: "time of the machine (CLOCK_MONOTONIC)".to_owned(),
            blind_spots: blind_spots(played).to_owned(),
            ..description
        },
        ..RunResults::default()
    };
    for master in played.iter().filter(|one| one.part == PartyRole::Master) {
        let port = index(&mut results.ports, master.name.clone());
        let route = format!(
            "{} {} > {}",
            master.name, master.plan.id, master.plan.answer
        );
        let route = index(&mut results.routes, route);
        let kind = if master.plan.fd.is_some() {
            Kind::Fd
        } else {
            Kind::Classic
        };
        let len = u16::try_from(master.plan.len).unwrap_or(u16::MAX);
        let plan = &master.plan;
        let own = rate.filter(|_| plan.own);
        let duration = |number| {
            let known = own.and_then(|rate| on_the_bus(plan, plan.id, number, rate, false));
            known.unwrap_or(0)
        };
        results
            .records
            .extend(master.kept.iter().map(|trip| FrameRecord {
                tag: trip.number,
                route: Some(route),
                incoming: Some(IncomingFrame {
                    port,
                    id: master.plan.id,
                    kind: Some(kind),
                    len,
                    end: trip.sent,
                }),
                outgoing: trip.answered.map(|end| SentCopy {
                    port,
                    id: master.plan.answer,
                    kind: Some(kind),
                    len,
                    end,
                    duration: duration(trip.number),
                }),
                status: if trip.answered.is_some() {
                    Status::Delivered
                } else {
                    Status::Lost
                },
                processing: None,
                accesses: None,
            }));
    }
    results
}

/// Returns a description of the aspects that the figures cannot show.
fn blind_spots(played: &[PartyEnd]) -> &'static str {
    if played.iter().any(|one| one.plan.own) {
        "the frame's time on the bus is subtracted; the answer is the driver's echo of the frame, which shows that it was \
         sent, not what a controller has received"
    } else {
        "both frames' time on the bus is in a round trip"
    }
}

/// Returns the index of a name, which is added if it is missing.
fn index(names: &mut Vec<String>, name: String) -> u16 {
    let place = names.iter().position(|known| *known == name);
    let place = place.unwrap_or_else(|| {
        names.push(name);
        names.len() - 1
    });
    u16::try_from(place).unwrap_or(u16::MAX)
}
