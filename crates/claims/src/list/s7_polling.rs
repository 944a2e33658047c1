//! S6 and S7: against no operating system at all, and the paper's future work.

use super::o9_direct::DIRECT;
use super::ways::{KERNEL, READ_WRITE, one_at_a_time};
use crate::claim::{Claim, Judgement, Verdict};
use crate::conditions::Conditions;
use crate::data_path::DataPath;
use crate::evidence::{Evidence, Missing};
use crate::extent::Extent;
use crate::own_share::own;
use crate::papers::{Origin, Paper};
use crate::stats::{ratio, us};
use experiment::Experiment;

pub(super) const CLAIMS: &[Claim] = &[S6, S7];

const S6: Claim = Claim {
    id: "S6",
    origin: Origin::Papers(&[(Paper::Syscalls2014, "§5")]),
    claim: "Against no operating system at all, the kernel gateway is about 3 times and a user-space \
        gateway up to 13 times slower",
    figure: "×3; ×13",
    criterion: "2 ≤ own share of can-gw / of a gateway without an operating system ≤ 4.5, and 6 ≤ that of \
        read-write ≤ 20",
    needs: |extent, _| needs(extent),
    judge: |evidence, extent, _| {
        let (direct, kernel, user) = shares(evidence, extent)?;
        Ok(Judgement {
            verdict: Verdict::NotTestable,
            measured: format!(
                "against direct polling: ×{:.1}; ×{:.1}",
                ratio(kernel, direct),
                ratio(user, direct)
            ),
            why:
                "There is no gateway without an operating system yet; the least software here is a \
                  process that polls the controllers."
                    .to_owned(),
        })
    },
    ..Claim::BLANK
};

const S7: Claim = Claim {
    id: "S7",
    origin: Origin::Papers(&[(Paper::Syscalls2014, "§5, future work")]),
    claim: "Polling the controller from the task itself, with frames in mapped memory, would bypass the \
        network stack and perform very well",
    figure: "not built",
    criterion: "own share of direct, polling, below that of can-gw and below half of read-write's",
    needs: |extent, _| needs(extent),
    judge,
    ..Claim::BLANK
};

fn needs(extent: Extent) -> Vec<Experiment> {
    [DIRECT, KERNEL, READ_WRITE]
        .map(|gateway| one_at_a_time(extent, gateway))
        .to_vec()
}

/// Of direct polling, of can-gw and of read-write.
fn shares(evidence: &Evidence, extent: Extent) -> Result<(i64, i64, i64), Missing> {
    let of = |gateway| own(evidence, &one_at_a_time(extent, gateway));
    Ok((of(DIRECT)?, of(KERNEL)?, of(READ_WRITE)?))
}

fn judge(evidence: &Evidence, extent: Extent, _: DataPath) -> Result<Judgement, Missing> {
    let (direct, kernel, user) = shares(evidence, extent)?;
    let mut conditions = Conditions::default();
    conditions.add(
        direct < kernel && 2 * direct < user,
        format!(
            "it takes {:.3} of can-gw's time and {:.3} of read-write's",
            ratio(direct, kernel),
            ratio(direct, user)
        ),
    );
    let measured = format!(
        "{} (can-gw {}, read-write {})",
        us(direct),
        us(kernel),
        us(user)
    );
    Ok(conditions.judge(measured, ""))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::claim::Verdict::{Differs, NotTestable, Reproduced};
    use crate::testing::verdict_with_floor;
    use experiment::{Gateway, fake};

    fn with(claim: &Claim, direct: u64) -> Verdict {
        verdict_with_floor(claim, Extent::Quick, 5_000, move |e| {
            let ns = match e.gateway {
                Gateway::Direct { .. } => direct,
                Gateway::User(_) => 60_000,
                _ => 21_000,
            };
            fake::records(9, ns)
        })
    }

    #[test]
    fn s7_wants_it_to_be_faster_than_the_kernel() {
        assert_eq!(with(&S7, 7_000), Reproduced);
        assert_eq!(with(&S7, 22_000), Differs);
        assert_eq!(with(&S6, 7_000), NotTestable);
    }
}
