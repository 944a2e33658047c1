//! V5, and the bounds of several machines that send at once (virtualization-2015 §5.3, which leaves
//! it open).
//!
//! One machine asks, with the highest priority of all; the others send frames of 8 bytes as fast as
//! they can. The node that answers is next to the hypervisor, as in V1 to V4. Natively each program
//! has a controller of its own on the bus; according to the paper, virtual functions behave like
//! this. In the quick run there are two machines.

use super::round_trips::overhead;
use super::v1_virtual_machines::{LONGEST, O18, PLAIN, over};
use crate::claim::{Claim, ClaimJudgement};
use crate::conditions::Conditions;
use crate::data_path::DataPath;
use crate::evidence::{ClaimEvidence, MissingEvidence};
use crate::extent::Extent;
use crate::papers::{ClaimOrigin, Paper};
use crate::stats::us;
use experiment::nested::{OtherRoundTrips, beside};
use experiment::{Experiment, Nesting, OtherTraffic};
use probe::Status;

pub(super) const CLAIMS: &[Claim] = &[V5, O22, O23, O24];

const V5: Claim = Claim {
    id: "V5",
    origin: ClaimOrigin::Papers(&[(Paper::Virtualization2015, "§5.3")]),
    claim: "Several machines that send at once: expected to add more where software shares",
    figure: "not measured",
    criterion: "what the others add to the median round trip (8 bytes, 2 machines; in the full run also 4 and 8; the others send \
        as fast as they can) is more by vm:driver than by vm:vf",
    needs: |extent, _| {
        let counts = with_alone(counts(extent));
        ways(
            &[Nesting::Driver, Nesting::Function],
            &counts,
            |way, count| flooded(extent, way, count),
        )
    },
    judge: interference,
    ..Claim::BLANK
};

const O22: Claim = Claim {
    id: "O22",
    claim: "Whatever other machines send, the highest priority waits for one frame more than natively",
    figure: "≤ native worst + 1 frame",
    criterion: "with 8 machines (quick: 2) of which all but one send as fast as they can, the worst round trip by vm:host, \
        vm:driver and vm:vf is at most the worst native one beside as many controllers that send, and the longest frame of the \
        others; none is lost",
    needs: |extent, _| {
        let all = [
            Nesting::Native,
            Nesting::Host,
            Nesting::Driver,
            Nesting::Function,
        ];
        ways(&all, &[most(extent)], |way, count| {
            flooded(extent, way, count)
        })
    },
    judge: one_frame,
    ..O18
};

const O23: Claim = Claim {
    id: "O23",
    claim: "A machine that babbles and has a budget costs the others at most one frame",
    figure: "≤ 1 frame",
    criterion: "by vm:vf (in the full run also by vm:host), the worst round trip beside one machine that babbles with a higher priority and 500 frames a \
        second as its budget is at most one frame more than without it (quick: one machine alone; in the full run also with 4 \
        machines, of which the others send as fast as they can)",
    needs: |extent, _| {
        let mut all = ways(budgeted(extent), babbled(extent), |way, count| {
            babbling(extent, way, count, BUDGET)
        });
        all.extend(ways(budgeted(extent), babbled(extent), |way, count| {
            flooded(extent, way, quiet(count))
        }));
        all.extend(ways(budgeted(extent), unheld(extent), |way, count| {
            unbounded(extent, way, count)
        }));
        all
    },
    judge: babble,
    ..O18
};

const O24: Claim = Claim {
    id: "O24",
    claim: "A machine sends at the rate of the bus, and nothing is lost",
    figure: "≥ 99 %, 0 lost",
    criterion: "while one machine sends as fast as it can (8 bytes) and another is silent, a frame is on the bus for at least 99 % of \
        the time by vm:host, vm:driver and vm:vf, and no frame is lost, also while the other asks",
    needs: |extent, _| {
        let all = [
            Nesting::Native,
            Nesting::Host,
            Nesting::Driver,
            Nesting::Function,
        ];
        ways(&all, &[2], |way, count| flooded(extent, way, count))
    },
    judge: line_rate,
    ..O18
};

/// Returns the ways by which a machine has a budget.
fn budgeted(extent: Extent) -> &'static [Nesting] {
    extent.pick(&[Nesting::Function], &[Nesting::Host, Nesting::Function])
}

/// The budget of a babbling machine, frames per second.
const BUDGET: u32 = 500;
/// Number of round trips next to a machine that babbles without a budget: each may be lost after a
/// tenth of a second.
const FEW: u32 = 20;

/// Returns the numbers of machines of which all but one send.
fn counts(extent: Extent) -> &'static [u8] {
    extent.pick(&[2], &[2, 4, 8])
}

/// Returns the greatest of these numbers.
fn most(extent: Extent) -> u8 {
    extent.pick(2, 8)
}

/// Returns the numbers of machines of which one babbles.
fn babbled(extent: Extent) -> &'static [u8] {
    extent.pick(&[2], &[2, 4])
}

/// Returns the same without a budget, which takes long: each round trip waits until it is given up.
fn unheld(extent: Extent) -> &'static [u8] {
    extent.pick(&[], &[2])
}

fn with_alone(counts: &[u8]) -> Vec<u8> {
    [&[1], counts].concat()
}

/// Returns the number of machines, of which none babbles, to compare with: of two machines of which
/// one babbles, one remains.
fn quiet(count: u8) -> u8 {
    if count == 2 { 1 } else { count }
}

fn ways(
    ways: &[Nesting],
    counts: &[u8],
    one: impl Fn(Nesting, u8) -> Experiment,
) -> Vec<Experiment> {
    let pairs = counts.iter().flat_map(|c| ways.iter().map(|w| (*w, *c)));
    pairs.map(|(way, count)| one(way, count)).collect()
}

/// Returns the experiment in which one machine asks and the others send as fast as they can.
fn flooded(extent: Extent, way: Nesting, count: u8) -> Experiment {
    Experiment {
        machines: count,
        ..over(extent, PLAIN, way, LONGEST)
    }
}

/// Returns the experiment in which one of them babbles.
fn babbling(extent: Extent, way: Nesting, count: u8, budget: u32) -> Experiment {
    let mut experiment = flooded(extent, way, count);
    experiment.others = OtherTraffic::Babble;
    experiment.budget = budget;
    experiment
}

/// Returns the same experiment without a budget.
fn unbounded(extent: Extent, way: Nesting, count: u8) -> Experiment {
    Experiment {
        frames: FEW,
        ..babbling(extent, way, count, 0)
    }
}

/// Returns the figures of the other machines.
fn others(
    evidence: &ClaimEvidence,
    experiment: &Experiment,
) -> Result<OtherRoundTrips, MissingEvidence> {
    beside(evidence.results(experiment)?).ok_or_else(|| MissingEvidence {
        experiment: experiment.name(),
        why: "its results do not contain the figures of the other machines".to_owned(),
    })
}

/// Returns the number of round trips without an answer.
fn unanswered(evidence: &ClaimEvidence, experiment: &Experiment) -> Result<usize, MissingEvidence> {
    let records = &evidence.results(experiment)?.records;
    Ok(records.iter().filter(|r| r.status == Status::Lost).count())
}

fn interference(
    evidence: &ClaimEvidence,
    extent: Extent,
    _: DataPath,
) -> Result<ClaimJudgement, MissingEvidence> {
    let mut conditions = Conditions::default();
    let mut measured = Vec::new();
    for count in counts(extent) {
        let of = |way| -> Result<(i64, i64), MissingEvidence> {
            let alone = overhead(evidence, &flooded(extent, way, 1))?;
            let with = overhead(evidence, &flooded(extent, way, *count))?;
            Ok((with.p50 - alone.p50, with.max - alone.max))
        };
        let (driver, function) = (of(Nesting::Driver)?, of(Nesting::Function)?);
        conditions.add(
            driver.0 > function.0,
            format!(
                "{count} machines add {} by vm:driver and {} by vm:vf (worst cases: {} and {})",
                us(driver.0),
                us(function.0),
                us(driver.1),
                us(function.1)
            ),
        );
        measured.push(format!(
            "{count} machines: {} against {}",
            us(driver.0),
            us(function.0)
        ));
    }
    Ok(conditions.judge(measured.join("; "), ""))
}

fn one_frame(
    evidence: &ClaimEvidence,
    extent: Extent,
    _: DataPath,
) -> Result<ClaimJudgement, MissingEvidence> {
    let count = most(extent);
    let natively = flooded(extent, Nesting::Native, count);
    let native = overhead(evidence, &natively)?.max;
    let frame = i64::try_from(others(evidence, &natively)?.frame).unwrap_or(i64::MAX);
    let mut conditions = Conditions::default();
    let mut measured = Vec::new();
    for way in [Nesting::Host, Nesting::Driver, Nesting::Function] {
        let experiment = flooded(extent, way, count);
        let worst = overhead(evidence, &experiment)?.max;
        let lost = unanswered(evidence, &experiment)?;
        let load = others(evidence, &experiment)?.asking;
        measured.push(format!("vm:{way} {}", us(worst - native)));
        conditions.add(
            lost == 0 && worst <= native.saturating_add(frame),
            format!(
                "the worst by vm:{way} is {} more than the native one ({} at most; {lost} lost; the bus is busy for {load:.0} %)",
                us(worst - native),
                us(frame)
            ),
        );
    }
    Ok(conditions.judge(
        measured.join("; "),
        "round trips, with the time on the bus taken off both",
    ))
}

fn babble(
    evidence: &ClaimEvidence,
    extent: Extent,
    _: DataPath,
) -> Result<ClaimJudgement, MissingEvidence> {
    let mut conditions = Conditions::default();
    let (mut measured, mut without) = (Vec::new(), Vec::new());
    for way in budgeted(extent).iter().copied() {
        for count in babbled(extent) {
            let experiment = babbling(extent, way, *count, BUDGET);
            let worst = overhead(evidence, &experiment)?.max;
            let quiet = overhead(evidence, &flooded(extent, way, quiet(*count)))?.max;
            let frame = i64::try_from(others(evidence, &experiment)?.frame).unwrap_or(i64::MAX);
            let lost = unanswered(evidence, &experiment)?;
            measured.push(format!("vm:{way}, {count} machines: {}", us(worst - quiet)));
            conditions.add(
                lost == 0 && worst - quiet <= frame,
                format!(
                    "the worst by vm:{way} with {count} machines grows by {} ({} at most; {lost} lost)",
                    us(worst - quiet),
                    us(frame)
                ),
            );
        }
        for count in unheld(extent) {
            let lost = unanswered(evidence, &unbounded(extent, way, *count))?;
            without.push(format!(
                "without a budget {lost} of {FEW} were not answered by vm:{way}"
            ));
        }
    }
    Ok(conditions.judge(measured.join("; "), &without.join(", ")))
}

fn line_rate(
    evidence: &ClaimEvidence,
    extent: Extent,
    _: DataPath,
) -> Result<ClaimJudgement, MissingEvidence> {
    let mut conditions = Conditions::default();
    let mut measured = Vec::new();
    for way in [Nesting::Host, Nesting::Driver, Nesting::Function] {
        let experiment = flooded(extent, way, 2);
        let figures = others(evidence, &experiment)?;
        let exits = figures.exits.iter().find(|(kind, _)| kind == "exits");
        let exits = exits.map_or(0.0, |(_, each)| *each);
        measured.push(format!(
            "vm:{way} {:.1} %, {} lost",
            figures.load, figures.lost
        ));
        conditions.add(
            figures.load >= 99.0 && figures.lost == 0 && figures.refused == 0 && figures.unheard == 0,
            format!(
                "by vm:{way} the bus is busy for {:.1} %, {} of {} frames are lost, {} refused; the processor is idle for {:.0} %, \
                 and machines are left {exits:.1} times a frame",
                figures.load, figures.lost, figures.sent, figures.refused, figures.idle
            ),
        );
    }
    let native = others(evidence, &flooded(extent, Nesting::Native, 2))?;
    Ok(conditions.judge(
        measured.join("; "),
        &format!("natively the bus is busy for {:.1} %", native.load),
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::claim::Verdict::{self, Differs, NotTestable, Reproduced};
    use experiment::Machines;
    use experiment::{GatewayChoice, fake};

    const BUS: u64 = 249_000;

    /// Returns the verdict where worst round trips take these times in addition to the bus, and the
    /// others had these figures.
    fn with(
        claim: &Claim,
        extent: Extent,
        worst: impl Fn(Nesting, &Machines) -> u64,
        did: impl Fn(Nesting) -> Option<OtherRoundTrips>,
    ) -> Verdict {
        let mut evidence = ClaimEvidence::default();
        for e in claim.needs(extent) {
            let GatewayChoice::Vm(way) = e.gateway else {
                panic!("{}", e.name());
            };
            let latencies = vec![BUS + worst(way, &e.sharing()); 3];
            let mut results = fake::results(fake::with_latencies(latencies));
            let more = &mut results.description.more;
            more.push(("time on the bus, ns".to_owned(), BUS.to_string()));
            if let Some(did) = did(way) {
                more.extend(experiment::nested::entries(&did));
            }
            evidence.add(e, Ok(results));
        }
        claim.judge(&evidence, extent).verdict
    }

    fn busy(load: f64, lost: u64) -> Option<OtherRoundTrips> {
        Some(OtherRoundTrips {
            frame: 115_000,
            load,
            lost,
            ..OtherRoundTrips::default()
        })
    }

    #[test]
    fn v5_compares_what_the_others_add() {
        let more = |driver: u64| {
            move |way: Nesting, m: &Machines| {
                let each = if way == Nesting::Driver {
                    driver
                } else {
                    20_000
                };
                50_000 + u64::from(m.beside()) * each
            }
        };
        for extent in [Extent::Quick, Extent::Full] {
            assert_eq!(with(&V5, extent, more(21_000), |_| None), Reproduced);
            assert_eq!(with(&V5, extent, more(20_000), |_| None), Differs);
        }
    }

    #[test]
    fn o22_allows_one_frame() {
        let worst = |host: u64| {
            move |way: Nesting, _: &Machines| match way {
                Nesting::Native => 100_000,
                Nesting::Host => host,
                _ => 200_000,
            }
        };
        let full = |_| busy(100.0, 0);
        assert_eq!(with(&O22, Extent::Full, worst(215_000), full), Reproduced);
        assert_eq!(with(&O22, Extent::Full, worst(215_001), full), Differs);
        assert_eq!(
            with(&O22, Extent::Quick, worst(100_000), |_| None),
            NotTestable
        );
    }

    #[test]
    fn o23_is_about_what_a_babbler_adds() {
        let worst = |added: u64| {
            move |_: Nesting, m: &Machines| match m.others {
                OtherTraffic::Babble if m.budget > 0 => 100_000 + added,
                _ => 100_000,
            }
        };
        let full = |_| busy(100.0, 0);
        for extent in [Extent::Quick, Extent::Full] {
            assert_eq!(with(&O23, extent, worst(115_000), full), Reproduced);
            assert_eq!(with(&O23, extent, worst(115_001), full), Differs);
        }
    }

    #[test]
    fn o24_is_about_the_bus_and_losses() {
        let verdict = |load, lost| {
            let did = move |way| match way {
                Nesting::Driver => busy(load, lost),
                _ => busy(99.9, 0),
            };
            with(&O24, Extent::Quick, |_, _| 0, did)
        };
        assert_eq!(verdict(99.0, 0), Reproduced);
        assert_eq!(verdict(98.9, 0), Differs);
        assert_eq!(verdict(100.0, 1), Differs);
    }
}
