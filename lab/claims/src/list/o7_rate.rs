//! O7: the highest rate without loss.

use super::bounds::LIST;
use crate::claim::{Claim, Judgement};
use crate::conditions::Conditions;
use crate::data_path::DataPath;
use crate::evidence::{Evidence, Missing};
use crate::extent::Extent;
use crate::papers::Origin;
use crate::setups::board;
use experiment::rate::{Bound, Rate};
use experiment::{Bench, Cpu, Experiment, Filters};

pub(super) const CLAIMS: &[Claim] = &[O7];

/// Returns the gateways whose highest rate is searched for: on both benches; on the timed one also
/// where the processor is so slow that it, and not the bus, is the limit, and with a long list.
fn rated(extent: Extent, path: DataPath) -> Vec<Experiment> {
    let timed = Experiment {
        payload: 2,
        ..board(extent.pick(2000, 10_000))
    };
    let kvaser = Experiment {
        bench: Bench::Kvaser,
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
    all.into_iter().map(|e| path.of(e)).collect()
}

const O7: Claim = Claim {
    id: "O7",
    origin: Origin::Bound("bound of routing in the kernel"),
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

fn judge(evidence: &Evidence, extent: Extent, _: DataPath) -> Result<Judgement, Missing> {
    let mut conditions = Conditions::default();
    let mut measured = Vec::new();
    for (bpf, cangw) in rated(extent, DataPath::Bpf)
        .iter()
        .zip(&rated(extent, DataPath::Cangw))
    {
        let mut place = format!("{} bench, {}", bpf.bench, bpf.cpu);
        if bpf.filters != Filters::None {
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

fn words(rate: &Rate) -> String {
    match rate.bound {
        Bound::Gateway => format!("{:.0}/s", rate.frames_per_s),
        Bound::Bus => format!("{:.0}/s (bus)", rate.frames_per_s),
        Bound::None => "none".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::claim::Verdict::{Differs, NotTestable, Reproduced};
    use experiment::Gateway;

    fn is_bpf(e: &Experiment) -> bool {
        e.gateway == Gateway::Bpf
    }

    #[test]
    fn o7_wants_bpf_to_be_no_slower_anywhere() {
        let with = |extent: Extent, of: fn(&Experiment) -> f64| {
            let mut evidence = Evidence::default();
            for e in O7.rates(extent) {
                let frames_per_s = of(&e);
                let rate = Rate {
                    frames_per_s,
                    bound: if frames_per_s > 0.0 {
                        Bound::Gateway
                    } else {
                        Bound::None
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
        let nothing = O7.judge(&Evidence::default(), Extent::Quick);
        assert_eq!(nothing.verdict, NotTestable);
    }
}
