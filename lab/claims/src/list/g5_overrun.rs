//! G5: the effect when filters take longer than the bus leaves time for.

use crate::claim::{Claim, ClaimJudgement};
use crate::conditions::Conditions;
use crate::data_path::DataPath;
use crate::evidence::{ClaimEvidence, MissingEvidence};
use crate::extent::Extent;
use crate::papers::{ClaimOrigin, Paper};
use crate::setups::overrun;
use crate::stats::{loss, median, received_runs, us};
use experiment::{Cpu, Experiment};
use probe::FrameRecord;

pub(super) const CLAIMS: &[Claim] = &[
    G5,
    G5.on("G5/user", DataPath::User),
    G5.on("G5/bpf", DataPath::Bpf),
];

/// Returns the flood through a long list on a processor that is slow enough for the walk to cost as
/// much as on the papers' board.
fn overrun_slower(extent: Extent, path: DataPath) -> Experiment {
    Experiment {
        cpu: Cpu::BoardAt(4),
        ..overrun(extent, path)
    }
}

/// Frames that the receive FIFO of the papers' controller holds.
const FIFO: usize = 4;

const G5: Claim = Claim {
    id: "G5",
    origin: ClaimOrigin::Papers(&[(Paper::Gateway2010Draft, "§IV-C2")]),
    claim: "With 2048 list filters at 100 % bus load most frames are dropped, in runs that \
        follow the controller's receive FIFO",
    figure: "≈80 % lost; 4 frames a run",
    criterion: "0.7 ≤ lost / sent ≤ 0.9; the first run of frames that come through = 5, the 4 \
        that the FIFO holds and the one in work (the paper's chart shows the FIFO filling at \
        the beginning of each chunk)",
    needs,
    judge,
    ..Claim::BLANK
};

fn needs(extent: Extent, path: DataPath) -> Vec<Experiment> {
    path.beside(extent, |path| {
        vec![overrun(extent, path), overrun_slower(extent, path)]
    })
}

fn judge(
    evidence: &ClaimEvidence,
    extent: Extent,
    path: DataPath,
) -> Result<ClaimJudgement, MissingEvidence> {
    let board = OverrunCounts::from_evidence(evidence, &overrun(extent, path))?;
    let slower = OverrunCounts::from_evidence(evidence, &overrun_slower(extent, path))?;
    let mut conditions = Conditions::default();
    conditions.add(
        (0.7..=0.9).contains(&board.share),
        format!("{:.1} % of the frames were lost", 100.0 * board.share),
    );
    conditions.add(
        board.first == FIFO + 1,
        format!(
            "the first {} came through, then runs of {}",
            board.first, board.run
        ),
    );
    let remark = format!(
        "the gateway needs {} µs a frame, the bus {}, the paper's board needed about 400: four times \
         as slow (board:4) it needs {}, and loses {:.1} % after the first {}",
        us(board.each),
        us(board.frame),
        us(slower.each),
        100.0 * slower.share,
        slower.first
    );
    let beside = path.against(|| {
        let cangw = OverrunCounts::from_evidence(evidence, &overrun(extent, DataPath::Cangw))?;
        Ok(format!("{:.1} % lost", 100.0 * cangw.share))
    })?;
    let measured = format!(
        "{:.1} % lost{beside}; the first {}, then runs of {}",
        100.0 * board.share,
        board.first,
        board.run
    );
    Ok(conditions.judge(measured, &remark))
}

/// The effects of a flood that overloads the gateway.
struct OverrunCounts {
    /// Share of frames lost, from 0 to 1.
    share: f64,
    /// The median number of frames that came through in succession.
    run: usize,
    /// Number of frames that came through before the first was lost.
    first: usize,
    /// Time that the gateway needed for a frame, ns.
    each: i64,
    /// Time that a frame takes on the bus, ns.
    frame: i64,
}

impl OverrunCounts {
    fn from_evidence(
        evidence: &ClaimEvidence,
        experiment: &Experiment,
    ) -> Result<Self, MissingEvidence> {
        let results = evidence.results(experiment)?;
        evidence.profile(experiment)?;
        let runs = received_runs(&results.records);
        let durations = results
            .records
            .iter()
            .filter_map(|r| i64::try_from(r.outgoing?.duration).ok());
        Ok(Self {
            share: loss(results),
            run: median(&runs).unwrap_or(0),
            first: runs.first().copied().unwrap_or(0),
            each: spacing(&results.records),
            frame: median(&durations.collect::<Vec<_>>()).unwrap_or(0),
        })
    }
}

/// Returns the median time from the end of one outgoing frame to the end of the next, ns: the time
/// per frame of a gateway that always has work.
fn spacing(records: &[FrameRecord]) -> i64 {
    let mut ends: Vec<u64> = records
        .iter()
        .filter_map(|r| Some(r.outgoing?.end))
        .collect();
    ends.sort_unstable();
    let apart = ends
        .windows(2)
        .filter_map(|w| i64::try_from(w.last()? - w.first()?).ok());
    median(&apart.collect::<Vec<_>>()).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::claim::Verdict::{Differs, Reproduced};
    use crate::testing::{judge, verdict};
    use experiment::{GatewayChoice, fake};

    #[test]
    fn the_same_is_asked_of_the_other_data_paths_with_can_gw_beside_them() {
        let judged = judge(&CLAIMS[2], Extent::Quick, |e| {
            let lossy = e.gateway != GatewayChoice::Bpf;
            fake::losing(fake::records(1000, 40_000), |n| lossy && n % 25 >= 5)
        });
        assert_eq!(judged.verdict, Differs);
        assert!(
            judged
                .measured
                .starts_with("0.0 % lost (can-gw: 80.0 % lost)"),
            "{}",
            judged.measured
        );
    }

    #[test]
    fn g5_wants_the_share_and_the_runs() {
        let with = |passed: u64, of: u64| {
            verdict(&G5, Extent::Quick, move |_| {
                fake::losing(fake::records(1000, 400_000), |n| n % of >= passed)
            })
        };
        assert_eq!(with(5, 25), Reproduced);
        assert_eq!(with(1, 5), Differs, "right share, another beginning");
        assert_eq!(with(5, 10), Differs, "right beginning, another share");
    }
}
