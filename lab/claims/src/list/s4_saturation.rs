//! S4: the period at which each gateway is saturated.

use super::ways::{READ_WRITE, SOURCE, saturated, user, word};
use crate::claim::{Claim, ClaimJudgement};
use crate::conditions::Conditions;
use crate::data_path::DataPath;
use crate::evidence::{ClaimEvidence, MissingEvidence};
use crate::figure::{FigureForm, FigureKind, FigurePlan, StatedValue, axis, name, one};
use crate::extent::Extent;
use crate::papers::{ClaimOrigin, Paper};
use experiment::rate::{RateLimitedBy, SearchedRate};
use experiment::{Experiment, GatewayChoice, ReceiveChoice, TransmitChoice};

pub(super) const CLAIMS: &[Claim] = &[S4];

/// The gateways that saturate first, next and last.
const GROUPS: [(&str, &[GatewayChoice]); 3] = [
    (
        "read*-write",
        &[
            READ_WRITE,
            user(ReceiveChoice::ReadNonblock, TransmitChoice::Write),
        ],
    ),
    (
        "mmap*-write",
        &[
            user(ReceiveChoice::Ring, TransmitChoice::Write),
            user(ReceiveChoice::RingBusy, TransmitChoice::Write),
        ],
    ),
    (
        "mmap/mmsg",
        &[
            user(ReceiveChoice::Ring, TransmitChoice::Ring),
            user(ReceiveChoice::Recvmmsg, TransmitChoice::Sendmmsg),
        ],
    ),
];

const S4: Claim = Claim {
    id: "S4",
    origin: ClaimOrigin::Papers(&[(Paper::Syscalls2014, "§4.2, Figure 4.4")]),
    claim: "Gateways that read and write are saturated first, those with a ring and write() later, \
        those with rings or mmsg calls on both sides not at all",
    figure: "read*-write 150–155; mmap*-write 127; mmap/mmsg never (above 120)",
    criterion: "on a processor that read-write saturates at 140 to 160 µs: the shortest period without \
        loss of each group is longer than each of the next group's, and the last group's is at most \
        120 µs",
    rates: |extent| match extent {
        // read-write alone takes ten experiments.
        Extent::Quick => vec![],
        Extent::Full => searched(extent),
    },
    judge,
    picture: Some(figure),
    ..Claim::BLANK
};

fn searched(extent: Extent) -> Vec<Experiment> {
    let all = GROUPS.iter().flat_map(|(_, all)| all.iter());
    all.map(|gateway| saturated(extent, gateway.clone()))
        .collect()
}

/// Returns the interval between frames, µs; infinite where even the slowest traffic loses some.
fn period(rate: &SearchedRate) -> f64 {
    match rate.bound {
        RateLimitedBy::None => f64::INFINITY,
        RateLimitedBy::Gateway | RateLimitedBy::Bus => 1e6 / rate.frames_per_s,
    }
}

fn judge(
    evidence: &ClaimEvidence,
    extent: Extent,
    _: DataPath,
) -> Result<ClaimJudgement, MissingEvidence> {
    let mut conditions = Conditions::default();
    let mut measured = Vec::new();
    let mut before = f64::INFINITY;
    for (group, gateways) in GROUPS {
        let (mut least, mut most) = (f64::INFINITY, 0.0f64);
        for gateway in gateways {
            let rate = evidence.rate(&saturated(extent, gateway.clone()))?;
            let period = period(rate);
            (least, most) = (least.min(period), most.max(period));
            let by = match rate.bound {
                RateLimitedBy::Bus => " (the bus)",
                RateLimitedBy::Gateway | RateLimitedBy::None => "",
            };
            measured.push(format!("{} {period:.0}{by}", word(gateway)));
            if *gateway == READ_WRITE {
                conditions.add(
                    (140.0..=160.0).contains(&period),
                    format!("read-write is saturated by a frame every {period:.1} µs"),
                );
            }
        }
        conditions.add(
            most < before,
            format!("{group} loses nothing from {most:.0} µs on"),
        );
        before = least;
    }
    conditions.add(
        before <= 120.0,
        format!("the last group carries a frame every {before:.0} µs"),
    );
    Ok(conditions.judge(measured.join(", "), ""))
}

fn figure() -> FigurePlan {
    let stated = |receive, transmit, y| {
        let column = word(&user(receive, transmit));
        StatedValue::beside(&column, y, FigureKind::Value, SOURCE)
    };
    FigurePlan {
        title: "Shortest period of frames without loss",
        form: FigureForm::Bars,
        x: axis("gateway", ""),
        y: axis("period of frames", "µs"),
        of: |evidence, e| {
            let rate = evidence.rate(e)?;
            match rate.bound {
                RateLimitedBy::None => Ok(vec![]),
                RateLimitedBy::Gateway | RateLimitedBy::Bus => {
                    one("", name(word(&e.gateway)), 1e6 / rate.frames_per_s)
                }
            }
        },
        paper: vec![
            stated(ReceiveChoice::Read, TransmitChoice::Write, 155.0),
            stated(ReceiveChoice::ReadNonblock, TransmitChoice::Write, 155.0),
            stated(ReceiveChoice::Ring, TransmitChoice::Write, 127.0),
            stated(ReceiveChoice::RingBusy, TransmitChoice::Write, 127.0),
            stated(ReceiveChoice::Ring, TransmitChoice::Ring, 120.0),
            stated(ReceiveChoice::Recvmmsg, TransmitChoice::Sendmmsg, 120.0),
        ],
        note: "the paper states 150 to 155 for read*-write, and that rings and mmsg lose nothing at its shortest period, 120",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::claim::Verdict::{self, Differs, NotTestable, Reproduced};

    fn with(of: impl Fn(&GatewayChoice) -> f64) -> Verdict {
        let mut evidence = ClaimEvidence::default();
        for e in S4.rates(Extent::Full) {
            let rate = SearchedRate {
                frames_per_s: 1e6 / of(&e.gateway),
                bound: RateLimitedBy::Gateway,
                passed: None,
                failed: None,
                tries: 9,
            };
            evidence.add_rate(e, Ok(rate));
        }
        S4.judge(&evidence, Extent::Full).verdict
    }

    fn papers(gateway: &GatewayChoice) -> f64 {
        match gateway {
            GatewayChoice::User(w) if w.transmit != TransmitChoice::Write => 90.0,
            GatewayChoice::User(w)
                if matches!(w.receive, ReceiveChoice::Ring | ReceiveChoice::RingBusy) =>
            {
                127.0
            }
            _ => 150.0,
        }
    }

    #[test]
    fn s4_wants_three_groups_in_order() {
        assert_eq!(with(papers), Reproduced);
        let all_alike = |_: &GatewayChoice| 150.0;
        assert_eq!(with(all_alike), Differs);
        let slow = |g: &GatewayChoice| 2.0 * papers(g);
        assert_eq!(with(slow), Differs);
        assert_eq!(
            S4.judge(&ClaimEvidence::default(), Extent::Quick).verdict,
            NotTestable
        );
    }

    #[test]
    fn periods_are_those_of_the_rates_that_were_found() {
        let mut evidence = ClaimEvidence::default();
        for e in S4.rates(Extent::Full) {
            let rate = experiment::rate::SearchedRate {
                frames_per_s: 8_000.0,
                bound: RateLimitedBy::Gateway,
                passed: None,
                failed: None,
                tries: 1,
            };
            evidence.add_rate(e, Ok(rate));
        }
        let periods = S4.picture(&evidence, Extent::Full).unwrap();
        let points: Vec<_> = periods.series.iter().flat_map(|s| &s.points).collect();
        assert!(points.iter().all(|p| p.median == 125.0), "{points:?}");
        for stated in &periods.paper {
            assert!(points.iter().any(|p| p.x == stated.x), "{:?}", stated.x);
        }
    }
}
