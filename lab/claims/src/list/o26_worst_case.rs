//! O26: the worst case, computed before it is measured.

use crate::claim::{Claim, ClaimJudgement};
use crate::conditions::Conditions;
use crate::data_path::DataPath;
use crate::evidence::{ClaimEvidence, MissingEvidence};
use crate::extent::Extent;
use crate::papers::ClaimOrigin;
use crate::setups::board;
use crate::stats::us;
use crate::worst_case::{hold, played};
use experiment::{Experiment, MachineLoad, TrafficPattern};

pub(super) const CLAIMS: &[Claim] = &[O26];

const O26: Claim = Claim {
    id: "O26",
    origin: ClaimOrigin::Bound("bound of worst cases"),
    claim: "In floods, under load and with a set of 40 messages, no frame takes longer than the bound of `cangate bound`",
    figure: "measured ≤ bound",
    criterion: "each latency ≤ the gateway's own time + the bound of what a frame waits in its node on the outgoing \
        bus, of which the driver lets all buffers become empty once in 382 frames. The own time is the longest latency of another \
        run with the same load, at 90 % of the bus",
    needs: |extent, _| {
        let pairs = pairs(extent).into_iter();
        pairs.flat_map(|pair| [pair.run, pair.own]).collect()
    },
    judge,
    ..Claim::BLANK
};

/// A run, and the run from which the gateway's own time is taken.
struct RunPair {
    run: Experiment,
    own: Experiment,
}

fn at(
    extent: Extent,
    path: DataPath,
    load: MachineLoad,
    payload: u8,
    traffic: TrafficPattern,
) -> Experiment {
    path.apply_to(Experiment {
        traffic,
        payload,
        load,
        ..board(extent.pick(1000, 10_000))
    })
}

/// Returns the experiment with the same load and payload, on a bus in which frames hardly wait for
/// one another.
fn own(extent: Extent, path: DataPath, load: MachineLoad, payload: u8) -> Experiment {
    at(extent, path, load, payload, TrafficPattern::Load(90))
}

fn pairs(extent: Extent) -> Vec<RunPair> {
    let mut all = Vec::new();
    let mut pair = |path, load, payload, traffic| {
        all.push(RunPair {
            run: at(extent, path, load, payload, traffic),
            own: own(extent, path, load, payload),
        });
    };
    let paths = [DataPath::Cangw, DataPath::Bpf, DataPath::User];
    for path in paths {
        // G2's flood, with 4 bytes. A quick run has the other experiments for can-gw only.
        pair(path, MachineLoad::None, 4, TrafficPattern::Flood);
        if extent == Extent::Full || path == DataPath::Cangw {
            // G3's loads.
            for load in [MachineLoad::Cpu, MachineLoad::EthRx] {
                pair(path, load, 4, TrafficPattern::OneAtATime);
            }
            // G12's floods.
            for payload in extent.pick(vec![2, 8], (2..=8).collect()) {
                pair(path, MachineLoad::None, payload, TrafficPattern::Flood);
            }
        }
        if extent == Extent::Full {
            for load in [MachineLoad::Cpu, MachineLoad::EthRx] {
                pair(path, load, 8, TrafficPattern::Flood);
            }
        }
    }
    for path in paths {
        let run = at(
            extent,
            path,
            MachineLoad::None,
            8,
            TrafficPattern::OneAtATime,
        );
        all.push(RunPair {
            run: run.playing(played(extent.pick(300_000_000, 2_000_000_000))),
            own: own(extent, path, MachineLoad::None, 8),
        });
    }
    all
}

fn judge(
    evidence: &ClaimEvidence,
    extent: Extent,
    _: DataPath,
) -> Result<ClaimJudgement, MissingEvidence> {
    let mut conditions = Conditions::default();
    let (mut frames, mut above) = (0, 0);
    let mut nearest = (0.0_f64, String::new());
    for RunPair { run, own } in pairs(extent) {
        let held = hold(evidence, &run, &own)?;
        frames += held.frames;
        above += held.above;
        let words = format!(
            "{}: {} of {}",
            run.title(),
            us(held.latency),
            us(held.bound)
        );
        if held.above > 0 {
            conditions.add(false, format!("{} above ({words})", held.above));
        }
        let share = held.latency as f64 / held.bound.max(1) as f64;
        if share > nearest.0 {
            nearest = (share, words);
        }
    }
    conditions.add(above == 0, format!("{above} of {frames} frames are above"));
    let measured = format!(
        "{above} of {frames} above; the nearest at {:.0} %",
        100.0 * nearest.0
    );
    Ok(conditions.judge(measured, &format!("nearest: {}", nearest.1)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::claim::Verdict::{Differs, NotTestable, Reproduced};
    use crate::testing::verdict;
    use experiment::fake;

    #[test]
    fn o26_wants_each_frame_within_its_bound() {
        // Generated frames have the identifier of generated traffic; the set's own identifiers are
        // tested in `worst_case`.
        let with = |latency: u64| {
            verdict(&O26, Extent::Quick, move |e| {
                let latency = match e.traffic {
                    TrafficPattern::Load(_) => 30_000,
                    _ => latency,
                };
                let mut records = fake::with_latencies([20_000, latency]);
                let of_set = e.log.frames(experiment::LogSide::Incoming);
                for (record, (_, frame)) in records.iter_mut().zip(of_set) {
                    if let Some(outgoing) = &mut record.outgoing {
                        outgoing.id = frame.id();
                    }
                }
                records
            })
        };
        assert_eq!(with(30_000), Reproduced);
        // Own time, as much to catch up with it, as much for each time that all buffers are empty,
        // and the difference of two lengths.
        assert_eq!(with(60_000), Reproduced);
        assert_eq!(with(140_000), Reproduced);
        assert_eq!(with(180_000), Differs);
        let nothing = O26.judge(&ClaimEvidence::default(), Extent::Quick);
        assert_eq!(nothing.verdict, NotTestable);
    }
}
