//! Every round trip as a row of `probe`'s results: drawn by `cangate report`, read by any data
//! tool.

use crate::plan::on_the_bus;
use crate::{Part, Played};
use frame::Kind;
use frame::wire::BitRate;
use probe::{Description, Incoming, Outgoing, Record, Results, Status};

/// What the stamps of a round trip mark. No other results are described so.
pub const STAMP: &str =
    "just before the call that sends; just after the call that brings the answer";

/// The entry of a description that says how long the first frame that came back by itself was on
/// the bus, ns.
pub const FRAME: &str = "own frame on the bus, ns";

/// The rows of all masters. A row's latency is the round trip: what came in is the frame as it was
/// sent, what went out is the answer, and no frame's duration is taken off.
///
/// Of a frame that comes back by itself ([`Plan::own`](crate::Plan::own)) it is what sending takes
/// beside its time on the bus, which differs with the stuff bits of its number and is taken off;
/// `rate` is the bus's, `None` where frames take no time.
#[must_use]
pub fn of(played: &[Played], rate: Option<BitRate>, description: Description) -> Results {
    let mut results = Results {
        description: Description {
            stamp: STAMP.to_owned(),
            time_base: "time of the machine (CLOCK_MONOTONIC)".to_owned(),
            blind_spots: blind_spots(played).to_owned(),
            ..description
        },
        ..Results::default()
    };
    for master in played.iter().filter(|one| one.part == Part::Master) {
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
            .extend(master.kept.iter().map(|trip| Record {
                tag: trip.number,
                route: Some(route),
                incoming: Some(Incoming {
                    port,
                    id: master.plan.id,
                    kind: Some(kind),
                    len,
                    end: trip.sent,
                }),
                outgoing: trip.answered.map(|end| Outgoing {
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

/// What cannot be seen in the figures.
fn blind_spots(played: &[Played]) -> &'static str {
    if played.iter().any(|one| one.plan.own) {
        "the frame's time on the bus is taken off; what comes back is the driver's echo of the frame, which says that it was \
         sent, and not what a controller has received"
    } else {
        "both frames' time on the bus is in a round trip"
    }
}

/// The place of a name; it is added where it is not there.
fn index(names: &mut Vec<String>, name: String) -> u16 {
    let place = names.iter().position(|known| *known == name);
    let place = place.unwrap_or_else(|| {
        names.push(name);
        names.len() - 1
    });
    u16::try_from(place).unwrap_or(u16::MAX)
}
