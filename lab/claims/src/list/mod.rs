//! The claims: one file each, named in this one.

mod bounds;
mod round_trips;
mod ways;

use crate::claim::{Claim, ClaimKind};

/// Declares the files with claims.
macro_rules! claims {
    ($($file:ident,)*) => {
        $(mod $file;)*

        /// The claims of each file, in the order of the list.
        const LIST: &[&[Claim]] = &[$($file::CLAIMS,)*];
    };
}

claims! {
    g1_two_groups,
    g2_flood,
    g3_load,
    g4_filters,
    g5_overrun,
    g6_changes,
    g7_kernels,
    g8_spikes,
    g9_user_space,
    g10_hops,
    g11_precision,
    g12_totals,
    d1_no_load,
    d2_slower,
    d3_ethernet,
    d5_tasks,
    d7_virtual,
    s1_system_calls,
    s2_one_at_a_time,
    s3_every_120,
    s4_saturation,
    s5_busy_polling,
    s7_polling,
    v1_virtual_machines,
    v5_several_machines,
    v6_own_frames,
    o1_one_route,
    o2_changes,
    o3_list,
    o4_list_length,
    o5_many_routes,
    o6_flood,
    o7_rate,
    o8_own_rules,
    o9_direct,
    o11_best_pair,
    o12_best_rate,
    o13_every_120,
    o14_recording,
    o16_no_os,
    o26_worst_case,
    o27_receiving,
}

/// Returns all claims in the order in which they are shown: each of the papers' claims, followed by
/// the same claim tested against other data paths; finally the bounds that cangate must keep, by
/// their numbers.
#[must_use]
pub fn all() -> Vec<Claim> {
    let is_bound = |claim: &Claim| claim.kind() == ClaimKind::Bound;
    let (mut bounds, mut all): (Vec<_>, Vec<_>) = LIST.concat().into_iter().partition(is_bound);
    bounds.sort_by_key(|bound| bound.id.trim_start_matches('O').parse::<u32>().ok());
    all.extend(bounds);
    all
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::claim::Verdict;
    use crate::evidence::ClaimEvidence;
    use crate::extent::Extent;
    use crate::testing;
    use experiment::trial::FailedGuest;
    use experiment::{Experiment, GatewayChoice, Kernel, MachineLoad, fake};
    use std::collections::BTreeSet;

    #[test]
    fn every_claim_needs_what_can_be_made() {
        for claim in all() {
            for extent in [Extent::Quick, Extent::Full] {
                for e in claim.needs(extent).into_iter().chain(claim.rates(extent)) {
                    assert_eq!(e.check(), Ok(()), "{}: {}", claim.id, e.name());
                }
            }
            let bursts =
                claim.bursts(Extent::Full).is_some() || claim.recorders(Extent::Full).is_some();
            let rates = !claim.rates(Extent::Full).is_empty();
            assert!(
                bursts || rates || !claim.needs(Extent::Full).is_empty(),
                "{}",
                claim.id
            );
        }
    }

    #[test]
    fn the_quick_extent_is_one_kernel_and_few_guests() {
        let all = all();
        let needs = all.iter().flat_map(|c| c.needs(Extent::Quick));
        let needs: BTreeSet<_> = needs.collect();
        assert!(
            needs
                .iter()
                .all(|e| e.kernel == Kernel::V6_1 && e.frames <= 3200)
        );
        // Three guests a claim, most of them shared.
        assert!(needs.len() <= 3 * all.len(), "{}", needs.len());
        // Thousands of processes are started for what O3 and O8 share, once.
        let many = needs.iter().filter(|e| {
            e.gateway == GatewayChoice::Cangw && e.filters.count().is_some_and(|n| n > 1)
        });
        assert_eq!(many.count(), 1);
        let rates: BTreeSet<_> = all.iter().flat_map(|c| c.rates(Extent::Quick)).collect();
        assert!(rates.len() <= 6, "{}", rates.len());
        let needs = all.iter().flat_map(|c| c.needs(Extent::Full));
        let needs: BTreeSet<_> = needs.collect();
        assert!(needs.len() <= 8 * all.len(), "{}", needs.len());
    }

    #[test]
    fn names_are_used_once_and_other_data_paths_have_can_gw_beside_them() {
        let all = all();
        let names: BTreeSet<_> = all.iter().map(|c| c.id).collect();
        assert_eq!(names.len(), all.len());
        let of = |kind| all.iter().filter(|c| c.kind() == kind).count();
        assert_eq!((of(ClaimKind::Paper), of(ClaimKind::Bound)), (33, 27));
        for id in ["G4", "G5", "G6", "G7", "G8", "G10"] {
            for path in ["user", "bpf"] {
                let name = format!("{id}/{path}");
                let claim = all.iter().find(|c| c.id == name).unwrap();
                let papers = all.iter().find(|c| c.id == id).unwrap();
                let needs = claim.needs(Extent::Full);
                let of = |gateway: &GatewayChoice| {
                    needs.iter().filter(|e| e.gateway == *gateway).count()
                };
                assert_eq!(of(&GatewayChoice::Cangw), of(&needs[0].gateway), "{name}");
                for e in papers.needs(Extent::Full) {
                    assert!(needs.contains(&e), "{name}: {}", e.name());
                }
            }
        }
    }

    /// The other end of the papers' Ethernet traffic was another computer; everything else is in
    /// one guest.
    #[test]
    fn the_ethernet_load_of_papers_comes_from_another_machine() {
        for (id, loads) in [("G3", 1), ("G12", 1), ("D3", 5), ("D4", 2), ("D5", 0)] {
            let claim = all().into_iter().find(|claim| claim.id == id).unwrap();
            let needs = claim.needs(Extent::Full);
            let ethernet =
                |e: &&Experiment| matches!(e.load, MachineLoad::EthRx | MachineLoad::EthTx);
            assert_eq!(needs.iter().filter(ethernet).count(), loads, "{id}");
            for e in &needs {
                assert_eq!(e.is_apart(), ethernet(&e), "{id}: {}", e.name());
            }
        }
    }

    #[test]
    fn a_failed_experiment_is_no_verdict() {
        for claim in all() {
            let mut evidence = ClaimEvidence::default();
            let failed = FailedGuest::without_console("the guest hung");
            for e in claim.needs(Extent::Full) {
                evidence.add(e, Err(failed.clone()));
            }
            for e in claim.rates(Extent::Full) {
                evidence.add_rate(e, Err(failed.clone()));
            }
            evidence.add_points(Err(failed.clone()));
            evidence.add_recordings(Err(failed));
            let judgement = claim.judge(&evidence, Extent::Full);
            assert_eq!(judgement.verdict, Verdict::NotTestable);
            assert!(
                judgement.why.contains("the guest hung"),
                "{}",
                judgement.why
            );
            // Nor is one that was not made, or in which no frame came back.
            let judgement = claim.judge(&ClaimEvidence::default(), Extent::Full);
            assert_eq!(judgement.verdict, Verdict::NotTestable);
            let nothing = |_: &Experiment| fake::losing(fake::records(20, 1), |_| true);
            let verdict = testing::verdict(&claim, Extent::Full, nothing);
            assert_ne!(verdict, Verdict::Reproduced, "{}", claim.id);
        }
    }
}
