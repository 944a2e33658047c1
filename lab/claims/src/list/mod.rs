//! The claims: one file each, named in this one.

mod bounds;
mod d1_no_load;
mod d2_slower;
mod d3_ethernet;
mod d5_tasks;
mod d7_virtual;
mod figures;
mod g10_hops;
mod g11_precision;
mod g12_totals;
mod g1_two_groups;
mod g2_flood;
mod g3_load;
mod g4_filters;
mod g5_overrun;
mod g6_changes;
mod g7_kernels;
mod g8_spikes;
mod g9_user_space;
mod o11_best_pair;
mod o12_best_rate;
mod o13_every_120;
mod o14_recording;
mod o16_no_os;
mod o1_one_route;
mod o26_worst_case;
mod o27_receiving;
mod o2_changes;
mod o3_list;
mod o4_list_length;
mod o5_many_routes;
mod o6_flood;
mod o7_rate;
mod o8_own_rules;
mod o9_direct;
mod round_trips;
mod s1_system_calls;
mod s2_one_at_a_time;
mod s3_every_120;
mod s4_saturation;
mod s5_busy_polling;
mod s7_polling;
mod v1_virtual_machines;
mod v5_several_machines;
mod v6_own_frames;
mod ways;

use crate::claim::Claim;

/// The claims of each file, in the order in which they are shown: each of the papers' claims,
/// followed by the same claim tested against other data paths; finally the bounds that cangate must
/// keep.
const LIST: &[&[Claim]] = &[
    g1_two_groups::CLAIMS,
    g2_flood::CLAIMS,
    g3_load::CLAIMS,
    g4_filters::CLAIMS,
    g5_overrun::CLAIMS,
    g6_changes::CLAIMS,
    g7_kernels::CLAIMS,
    g8_spikes::CLAIMS,
    g9_user_space::CLAIMS,
    g10_hops::CLAIMS,
    g11_precision::CLAIMS,
    g12_totals::CLAIMS,
    d1_no_load::CLAIMS,
    d2_slower::CLAIMS,
    d3_ethernet::CLAIMS,
    d5_tasks::CLAIMS,
    d7_virtual::CLAIMS,
    s1_system_calls::CLAIMS,
    s2_one_at_a_time::CLAIMS,
    s3_every_120::CLAIMS,
    s4_saturation::CLAIMS,
    s5_busy_polling::CLAIMS,
    s7_polling::CLAIMS,
    v1_virtual_machines::CLAIMS,
    v5_several_machines::CLAIMS,
    v6_own_frames::CLAIMS,
    o1_one_route::CLAIMS,
    o2_changes::CLAIMS,
    o3_list::CLAIMS,
    o4_list_length::CLAIMS,
    o5_many_routes::CLAIMS,
    o6_flood::CLAIMS,
    o7_rate::CLAIMS,
    o8_own_rules::CLAIMS,
    o9_direct::CLAIMS,
    o11_best_pair::CLAIMS,
    o12_best_rate::CLAIMS,
    o13_every_120::CLAIMS,
    o14_recording::CLAIMS,
    d1_no_load::BOUNDS,
    o16_no_os::CLAIMS,
    v1_virtual_machines::BOUNDS,
    v5_several_machines::BOUNDS,
    o26_worst_case::CLAIMS,
    o27_receiving::CLAIMS,
];

/// Returns all claims.
#[must_use]
pub fn all() -> Vec<Claim> {
    LIST.concat()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::claim::{ClaimKind, Verdict};
    use crate::evidence::ClaimEvidence;
    use crate::extent::Extent;
    use crate::testing;
    use experiment::trial::FailedGuest;
    use experiment::{Experiment, GatewayChoice, Kernel, fake};
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
