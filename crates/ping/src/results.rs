//! Every round trip as a row of `probe`'s results: drawn by `cangate report`, read by any data tool.

use crate::{Part, Played};
use frame::Kind;
use probe::{Description, Incoming, Outgoing, Record, Results, Status};

/// What the stamps of a round trip mark. No other results are described so.
pub const STAMP: &str =
    "just before the call that sends; just after the call that brings the answer";

/// The rows of all masters. A row's latency is the round trip: what came in is the frame as it was
/// sent, what went out is the answer, and no frame's duration is taken off.
#[must_use]
pub fn of(played: &[Played], description: Description) -> Results {
    let mut results = Results {
        description: Description {
            stamp: STAMP.to_owned(),
            time_base: "time of the machine (CLOCK_MONOTONIC)".to_owned(),
            blind_spots: "both frames' time on the bus is in a round trip".to_owned(),
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
                    duration: 0,
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

/// The place of a name; it is added where it is not there.
fn index(names: &mut Vec<String>, name: String) -> u16 {
    let place = names.iter().position(|known| *known == name);
    let place = place.unwrap_or_else(|| {
        names.push(name);
        names.len() - 1
    });
    u16::try_from(place).unwrap_or(u16::MAX)
}
