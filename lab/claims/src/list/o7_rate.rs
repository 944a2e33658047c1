//! O7: the highest rate without loss.

use super::bounds::LIST;
use crate::claim::{Claim, ClaimJudgement};
use crate::conditions::Conditions;
use crate::data_path::DataPath;
use crate::evidence::{ClaimEvidence, MissingEvidence};
use crate::extent::Extent;
use crate::papers::ClaimOrigin;
use crate::setups::board;
use experiment::rate::{RateLimitedBy, SearchedRate};
use experiment::{BenchKind, Cpu, Experiment, FilterChoice};

pub(super) const CLAIMS: &[Claim] = &[O7];

/// Returns the gateways whose highest rate is searched for: on both benches; on the timed one also
/// where the processor is so slow that it, and not the bus, is the limit, and with a long list.
fn rated(extent: Extent, path: DataPath) -> Vec<Experiment> {
    let timed = Experiment {
        payload: 2,
        ..board(extent.pick(2000, 10_000))
    };
    let kvaser = Experiment {
        bench: BenchKind::Kvaser,
        cpu: Cpu::Pc,
        ..timed.clone()
    };
    let slow = Experiment {
        cpu: Cpu::BoardAt(4),
        ..timed.clone()
    };
    let mut all = vec![kvaser, slow];
    if extent == Extent::Full {
        let listed = Experiment {
            filters: LIST,
            ..timed.clone()
        };
        all.extend([timed, listed]);
    }
    all.into_iter().map(|e| path.apply_to(e)).collect()
}

const O7: Claim = Claim {
    id: "O7",
    origin: ClaimOrigin::Bound("bound of routing in the kernel"),
    claim: "The highest rate of frames without loss is not lower with BPF than with can-gw",
    figure: "≥ 1.00",
    criterion: "rate(bpf) / rate(cangw) ≥ 1.00 on both benches, 2 bytes",
    rates: |extent| {
        let both = [DataPath::Bpf, DataPath::Cangw].map(|path| rated(extent, path));
        both.into_iter().flatten().collect()
    },
    judge,
    ..Claim::BLANK
};

fn judge(
    evidence: &ClaimEvidence,
    extent: Extent,
    _: DataPath,
) -> Result<ClaimJudgement, MissingEvidence> {
    let mut conditions = Conditions::default();
    let mut measured = Vec::new();
    for (bpf, cangw) in rated(extent, DataPath::Bpf)
        .iter()
        .zip(&rated(extent, DataPath::Cangw))
    {
        let mut place = format!("{} bench, {}", bpf.bench, bpf.cpu);
        if bpf.filters != FilterChoice::None {
            place.push_str(&format!(", {}", bpf.filters));
        }
        let (bpf, cangw) = (evidence.rate(bpf)?, evidence.rate(cangw)?);
        let text = format!("{} against {}", words(bpf), words(cangw));
        let holds = bpf.frames_per_s > 0.0 && bpf.frames_per_s >= cangw.frames_per_s;
        conditions.add(
            holds,
            format!("{place}: {:.3}", bpf.frames_per_s / cangw.frames_per_s),
        );
        measured.push(format!("{place}: {text}"));
    }
    let remark = "\"bus\" where a flood loses nothing: the bus, or on the kvaser bench the sender, \
                   brings no more";
    Ok(conditions.judge(measured.join("; "), remark))
}

fn words(rate: &SearchedRate) -> String {
    match rate.bound {
        RateLimitedBy::Gateway => format!("{:.0}/s", rate.frames_per_s),
        RateLimitedBy::Bus => format!("{:.0}/s (bus)", rate.frames_per_s),
        RateLimitedBy::None => "none".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::claim::Verdict::{Differs, NotTestable, Reproduced};
    use experiment::GatewayChoice;

    fn is_bpf(e: &Experiment) -> bool {
        e.gateway == GatewayChoice::Bpf
    }

    #[test]
    fn o7_wants_bpf_to_be_no_slower_anywhere() {
        let with = |extent: Extent, of: fn(&Experiment) -> f64| {
            let mut evidence = ClaimEvidence::default();
            for e in O7.rates(extent) {
                let frames_per_s = of(&e);
                let rate = SearchedRate {
                    frames_per_s,
                    bound: if frames_per_s > 0.0 {
                        RateLimitedBy::Gateway
                    } else {
                        RateLimitedBy::None
                    },
                    passed: None,
                    failed: None,
                    tries: 9,
                };
                evidence.add_rate(e, Ok(rate));
            }
            O7.judge(&evidence, extent)
        };
        let good = with(
            Extent::Full,
            |e| if is_bpf(e) { 12_000.0 } else { 11_000.0 },
        );
        assert_eq!(good.verdict, Reproduced);
        let list = "timed bench, board, list:2048: 12000/s against 11000/s";
        assert!(good.measured.contains(list), "{}", good.measured);
        let slow = |e: &Experiment| f64::from(u8::from(!is_bpf(e) || e.cpu == Cpu::Pc));
        assert_eq!(with(Extent::Quick, slow).verdict, Differs);
        assert_eq!(with(Extent::Quick, |_| 0.0).verdict, Differs);
        let nothing = O7.judge(&ClaimEvidence::default(), Extent::Quick);
        assert_eq!(nothing.verdict, NotTestable);
    }
}
