//! O6: a flood through 2048 filters.

use crate::claim::{Claim, ClaimJudgement};
use crate::conditions::Conditions;
use crate::data_path::DataPath;
use crate::evidence::{ClaimEvidence, MissingEvidence};
use crate::extent::Extent;
use crate::papers::ClaimOrigin;
use crate::setups::overrun;
use crate::stats::{loss, lost};
use experiment::{Cpu, Experiment};

pub(super) const CLAIMS: &[Claim] = &[O6];

/// Returns the experiment with a flood of the shortest frames through 2048 filters.
fn flood(extent: Extent, path: DataPath, cpu: Cpu) -> Experiment {
    Experiment {
        payload: 2,
        cpu,
        ..overrun(extent, path)
    }
}

/// Returns the processors that are examined: the papers' board and, in a full run, one on which the
/// walk through the list costs as much as on that board.
fn boards(extent: Extent) -> &'static [Cpu] {
    extent.pick(&[Cpu::Board], &[Cpu::Board, Cpu::BoardAt(4)])
}

const O6: Claim = Claim {
    id: "O6",
    origin: ClaimOrigin::Bound("bound of routing in the kernel"),
    claim: "In a flood of 2-byte frames through 2048 list filters on the board, can-gw loses \
        frames and BPF none",
    figure: "at least what G5 finds here with 4 bytes; 0",
    criterion: "timed bench, 1 Mbit/s, 6.1, --cpu board, list:2048, 2 bytes: lost(bpf) = 0; \
        lost(cangw) > 0; lost(cangw) / sent ≥ the same of this run's G5, whose 4-byte frames \
        come slower. The paper's ≈80 % are not asked for: its board took about four times as \
        long for the walk (full run: --cpu board:4 beside it)",
    needs: |extent, _| {
        let both = |cpu: &Cpu| [DataPath::Bpf, DataPath::Cangw].map(|w| flood(extent, w, *cpu));
        let floods = boards(extent).iter().flat_map(both);
        floods.chain([overrun(extent, DataPath::Cangw)]).collect()
    },
    judge,
    ..Claim::BLANK
};

fn judge(
    evidence: &ClaimEvidence,
    extent: Extent,
    _: DataPath,
) -> Result<ClaimJudgement, MissingEvidence> {
    let of = |e: &Experiment| {
        evidence.profile(e)?;
        let results = evidence.results(e)?;
        Ok((lost(results), 100.0 * loss(results)))
    };
    let on = |path, cpu| of(&flood(extent, path, cpu));
    let (cangw, share) = on(DataPath::Cangw, Cpu::Board)?;
    let (bpf, _) = on(DataPath::Bpf, Cpu::Board)?;
    let (_, g5) = of(&overrun(extent, DataPath::Cangw))?;
    let mut conditions = Conditions::default();
    conditions.add(
        cangw > 0 && share >= g5,
        format!("can-gw loses {share:.1} %, and with 4 bytes (G5) {g5:.1} %"),
    );
    conditions.add(bpf == 0, format!("BPF loses {bpf} frames"));
    let measured = format!("can-gw loses {cangw} ({share:.1} %), BPF {bpf}");
    let mut remark = Vec::new();
    for &cpu in boards(extent).iter().filter(|&&cpu| cpu != Cpu::Board) {
        let ((_, cangw), (_, bpf)) = (on(DataPath::Cangw, cpu)?, on(DataPath::Bpf, cpu)?);
        remark.push(format!(
            "at {cpu} can-gw loses {cangw:.1} % (paper: ≈80 %), BPF {bpf:.1} %"
        ));
    }
    Ok(conditions.judge(measured, &remark.join("; ")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::claim::Verdict::{Differs, Reproduced};
    use crate::testing::judge;
    use experiment::{GatewayChoice, fake};

    fn is_bpf(e: &Experiment) -> bool {
        e.gateway == GatewayChoice::Bpf
    }

    #[test]
    fn o6_wants_loss_here_and_none_there() {
        let with = |extent, bpf: u64, cangw: u64| {
            judge(&O6, extent, move |e| {
                let every = match (is_bpf(e), e.payload, e.cpu) {
                    (_, _, Cpu::BoardAt(4)) => 85,
                    (true, ..) => bpf,
                    (false, 2, _) => cangw,
                    (false, ..) => 14,
                };
                fake::losing(fake::records(1000, 40_000), |n| n % 100 < every)
            })
        };
        let good = with(Extent::Quick, 0, 30);
        assert_eq!(good.verdict, Reproduced);
        assert_eq!(good.measured, "can-gw loses 300 (30.0 %), BPF 0");
        assert!(good.why.contains("(G5) 14.0 %"), "{}", good.why);
        let full = with(Extent::Full, 0, 30);
        assert_eq!(
            full.verdict, Reproduced,
            "a slower processor is no condition"
        );
        assert!(
            full.why.contains("at board:4 can-gw loses 85.0 %"),
            "{}",
            full.why
        );
        assert_eq!(with(Extent::Quick, 1, 30).verdict, Differs);
        assert_eq!(with(Extent::Quick, 0, 13).verdict, Differs);
        assert_eq!(with(Extent::Quick, 0, 0).verdict, Differs);
    }
}
