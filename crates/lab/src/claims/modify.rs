//! What changing a frame costs.

use super::simple::simple;
use super::stats::us;
use super::{Claim, Conditions, Evidence, Extent, Judgement, Missing, Way};
use crate::experiment::{Experiment, Modify};

fn changing(extent: Extent, way: Way, modify: Modify) -> Experiment {
    way.of(Experiment {
        payload: 8,
        modify,
        frames: extent.pick(200, 10_000),
        ..simple(extent)
    })
}

const CHANGES: [Modify; 7] = [
    Modify::Id,
    Modify::And,
    Modify::Or,
    Modify::Xor,
    Modify::Set,
    Modify::Crc8,
    Modify::Xorsum,
];

/// On all ways.
pub(super) const ALL: [Claim; 3] = [G6, G6_USER, G6_BPF];

const G6: Claim = Claim {
    id: "G6",
    paper: "gateway-2011 §3.5",
    claim: "The cost of modifying a frame is the copy; AND, OR, XOR, SET and checksums hardly differ",
    figure: "—",
    criterion: "writing back what is there (only the copy is paid for) costs at least half of what any change \
        costs, and the changes' medians are within 5 % of one another",
    needs: |extent| needs_g6(extent, Way::Cangw),
    bursts: |_| None,
    rates: |_| vec![],
    judge: |evidence, extent| judge_g6(evidence, extent, Way::Cangw),
};

const G6_USER: Claim = Claim {
    id: "G6/user",
    needs: |extent| needs_g6(extent, Way::User),
    judge: |evidence, extent| judge_g6(evidence, extent, Way::User),
    ..G6
};

const G6_BPF: Claim = Claim {
    id: "G6/bpf",
    needs: |extent| needs_g6(extent, Way::Bpf),
    judge: |evidence, extent| judge_g6(evidence, extent, Way::Bpf),
    ..G6
};

fn needs_g6(extent: Extent, way: Way) -> Vec<Experiment> {
    let all = || [Modify::None, Modify::Copy].into_iter().chain(CHANGES);
    way.beside(extent, |way| {
        all().map(|m| changing(extent, way, m)).collect()
    })
}

fn judge_g6(evidence: &Evidence, extent: Extent, way: Way) -> Result<Judgement, Missing> {
    let p50_of = |way, m| Ok(evidence.summary(&changing(extent, way, m))?.p50);
    let p50 = |m| p50_of(way, m);
    let plain = p50(Modify::None)?;
    let copy = p50(Modify::Copy)? - plain;
    let mut costs = Vec::new();
    for m in CHANGES {
        costs.push((m, p50(m)? - plain));
    }
    let least = costs
        .iter()
        .copied()
        .min_by_key(|c| c.1)
        .unwrap_or((Modify::Id, 0));
    let most = costs
        .iter()
        .copied()
        .max_by_key(|c| c.1)
        .unwrap_or((Modify::Id, 0));
    let beside = way.against(|| {
        let [plain, id] = [Modify::None, Modify::Id].map(|m| p50_of(Way::Cangw, m));
        let (plain, id) = (plain?, id?);
        Ok(format!("{}, id +{}", us(plain), us(id - plain)))
    })?;
    let measured = format!(
        "{} without{beside}; copy +{}, changes +{} ({}) to +{} ({})",
        us(plain),
        us(copy),
        us(least.1),
        least.0,
        us(most.1),
        most.0
    );
    let mut conditions = Conditions::default();
    let share = 100.0 * copy as f64 / most.1.max(1) as f64;
    conditions.add(
        share >= 50.0,
        format!(
            "the copy is {share:.0} % of what the dearest change ({}) costs",
            most.0
        ),
    );
    let spread = 100.0 * (most.1 - least.1) as f64 / (plain + least.1).max(1) as f64;
    conditions.add(
        spread <= 5.0,
        format!("the changes' medians differ by {spread:.1} %"),
    );
    Ok(conditions.judge(measured, ""))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::claims::Verdict::{self, Differs, Reproduced};
    use crate::claims::testing::verdict;
    use crate::fake;

    fn with(copy: u64, crc: u64) -> Verdict {
        verdict(&G6, Extent::Quick, move |e| {
            let cost = match e.modify {
                Modify::None => 0,
                Modify::Crc8 => crc,
                _ => copy,
            };
            fake::records(10, 35_000 + cost)
        })
    }

    #[test]
    fn g6_wants_the_copy_to_be_most_of_it() {
        assert_eq!(with(2_000, 2_800), Reproduced);
        assert_eq!(with(2_000, 4_800), Differs);
        assert_eq!(with(1_000, 2_100), Differs);
    }
}
