//! O14: the cost of recording many buses.

use crate::claim::{Claim, ClaimJudgement};
use crate::conditions::Conditions;
use crate::data_path::DataPath;
use crate::evidence::{ClaimEvidence, MissingEvidence};
use crate::extent::Extent;
use crate::papers::ClaimOrigin;
use experiment::recorders::{RecorderMeasurement, RecorderRun};
use experiment::{Cpu, Kernel};

pub(super) const CLAIMS: &[Claim] = &[O14];

/// Frames per second over 32 interfaces: one rate with which every recorder keeps up, and one at
/// which candump loses frames.
const RATES: [u32; 2] = [10_000, 60_000];
/// Recorders with the same text output, so that both do the same work.
const OURS: &str = "cangate-log";
const THEIRS: &str = "candump";

const O14: Claim = Claim {
    id: "O14",
    origin: ClaimOrigin::Bound("bound of recording"),
    claim: "Recording 32 interfaces costs cangate capture at most half of candump's processor time a \
        frame, and it loses none at a rate at which candump loses",
    figure: "≤ 0.50; 0",
    criterion: "both write candump's log format: processor time a frame (capture) / (candump) ≤ 0.50 at \
        10 000 frames/s, where neither loses; at 60 000 frames/s lost(capture) = 0 and lost(candump) > 0",
    recorders: |extent| {
        Some(RecorderMeasurement {
            kernel: Kernel::V6_1,
            cpu: Cpu::Pc,
            rates: RATES.to_vec(),
            frames: extent.pick(20_000, 100_000),
            names: [OURS, THEIRS, "tcpdump"].map(str::to_owned).to_vec(),
        })
    },
    judge,
    ..Claim::BLANK
};

fn judge(
    evidence: &ClaimEvidence,
    _: Extent,
    _: DataPath,
) -> Result<ClaimJudgement, MissingEvidence> {
    let all = evidence.recordings()?;
    let of = |name: &str, rate: u32| -> Result<&RecorderRun, MissingEvidence> {
        let found = all.iter().find(|r| r.recorder == name && r.rate == rate);
        found.ok_or_else(|| MissingEvidence {
            experiment: format!("{name} at {rate} frames/s"),
            why: "it was not made".to_owned(),
        })
    };
    let [slow, fast] = RATES;
    let (ours, theirs) = (of(OURS, slow)?, of(THEIRS, slow)?);
    let times = ours.recorder_ns / theirs.recorder_ns;
    let mut conditions = Conditions::default();
    conditions.add(
        times <= 0.5,
        format!("capture takes {times:.3} of candump's time a frame"),
    );
    for recording in [ours, theirs] {
        conditions.add(
            recording.lost() == 0,
            format!(
                "{} loses {} of {} frames at {slow}/s",
                recording.recorder,
                recording.lost(),
                recording.sent
            ),
        );
    }
    let (ours_fast, theirs_fast) = (of(OURS, fast)?, of(THEIRS, fast)?);
    conditions.add(
        ours_fast.lost() == 0 && theirs_fast.lost() > 0,
        format!(
            "at {fast}/s capture loses {} and candump {} of {}",
            ours_fast.lost(),
            theirs_fast.lost(),
            theirs_fast.sent
        ),
    );
    let measured = format!(
        "{times:.3} ({:.0} against {:.0} ns a frame; tcpdump {:.0}); lost at {fast}/s: {} against {}",
        ours.recorder_ns,
        theirs.recorder_ns,
        of("tcpdump", slow)?.recorder_ns,
        ours_fast.lost(),
        theirs_fast.lost()
    );
    Ok(conditions.judge(measured, ""))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::claim::Verdict::{self, Differs, NotTestable, Reproduced};

    fn with(ours_ns: f64, ours_lost: u64, theirs_lost: u64) -> Verdict {
        let one = |name: &str, rate: u32| {
            let (ns, lost) = match name {
                OURS => (ours_ns, ours_lost),
                _ => (1000.0, theirs_lost),
            };
            let lost = if rate == RATES[1] { lost } else { 0 };
            RecorderRun {
                recorder: name.to_owned(),
                rate,
                sent: 100,
                recorded: Some(100 - lost),
                recorder_ns: ns,
            }
        };
        let names = [OURS, THEIRS, "tcpdump"];
        let all = RATES.iter().flat_map(|rate| names.map(|n| one(n, *rate)));
        let mut evidence = ClaimEvidence::default();
        evidence.add_recordings(Ok(all.collect()));
        O14.judge(&evidence, Extent::Quick).verdict
    }

    #[test]
    fn o14_wants_half_the_time_and_no_loss() {
        assert_eq!(with(499.0, 0, 9), Reproduced);
        assert_eq!(with(501.0, 0, 9), Differs);
        assert_eq!(with(300.0, 1, 9), Differs);
        assert_eq!(with(300.0, 0, 0), Differs);
        assert_eq!(
            O14.judge(&ClaimEvidence::default(), Extent::Quick).verdict,
            NotTestable
        );
    }
}
