//! Preparations that take long enough for a prepared guest to be worth saving.

use crate::choices::{GatewayChoice, Incident, LogTraffic, MachineLoad, OtherTraffic};
use crate::settings::Experiment;
use crate::under_test;
use probe::traffic::TrafficPattern;

/// The number of rules from which adding them takes longer than saving a guest: Debian's cangw is
/// started for each of them.
const MANY_RULES: u32 = 64;
/// The same for routes in a file, all of which cangate reads at once.
const MANY_ROUTES: u32 = 4096;

/// Returns the configuration of an experiment's gateway, where setting it up takes long enough for
/// a guest in this state to be worth saving: many rules or routes. Experiments with the same text
/// can start from the same prepared guest.
fn preparation(experiment: &Experiment) -> Option<String> {
    // Inner machines take a minute of the host's time to boot.
    if let GatewayChoice::Vm(nesting) = experiment.gateway
        && nesting.has_machines()
    {
        return under_test::config(experiment).ok();
    }
    let many = match experiment.gateway {
        GatewayChoice::Cangw => MANY_RULES,
        _ => MANY_ROUTES,
    };
    if experiment.filters.count()? < many {
        return None;
    }
    under_test::config(experiment).ok()
}

/// Returns the experiment with which a guest is prepared for this one and others: settings that do
/// not affect the preparation are set to the same values for all, so that the prepared guest is the
/// same whichever came first. `None` if no preparation is worthwhile.
pub(crate) fn model(experiment: &Experiment) -> Option<Experiment> {
    let text = preparation(experiment)?;
    // Above 8 bytes routes are those of FD frames; a budget can be in the gateway's configuration.
    let choices = [
        (2, 0),
        (experiment.payload, 0),
        (2, experiment.budget),
        (experiment.payload, experiment.budget),
    ];
    let plain = choices.map(|(payload, budget)| Experiment {
        traffic: TrafficPattern::OneAtATime,
        log: LogTraffic::NONE,
        load: MachineLoad::None,
        frames: 1,
        payload,
        seed: 0,
        stamp_every: 1,
        exit_cost: 0,
        // Other machines exist, and are silent.
        others: OtherTraffic::Flood,
        budget,
        incident: Incident::None,
        ..experiment.clone()
    });
    let same = |plain: &Experiment| preparation(plain).as_ref() == Some(&text);
    if let Some(plain) = plain.into_iter().find(same) {
        return Some(plain);
    }
    Some(experiment.clone())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::choices::FilterChoice;

    fn filtered(filters: FilterChoice) -> Experiment {
        Experiment {
            filters,
            load: MachineLoad::Cpu,
            frames: 9,
            seed: 7,
            ..Experiment::default()
        }
    }

    #[test]
    fn only_many_rules_are_worth_a_prepared_guest() {
        assert_eq!(model(&Experiment::default()), None);
        assert_eq!(model(&filtered(FilterChoice::List(63))), None);
        assert!(model(&filtered(FilterChoice::List(64))).is_some());
        let user = Experiment {
            gateway: GatewayChoice::Bpf,
            ..filtered(FilterChoice::Eff(4095))
        };
        assert_eq!(model(&user), None);
    }

    #[test]
    fn what_does_not_matter_to_the_gateway_is_the_same_in_the_model() {
        let one = filtered(FilterChoice::List(64));
        let other = Experiment {
            traffic: TrafficPattern::Flood,
            load: MachineLoad::None,
            payload: 8,
            ..one.clone()
        };
        assert_eq!(model(&one), model(&other));
        // FD frames need rules of their own.
        let fd = Experiment {
            payload: 12,
            ..one.clone()
        };
        assert_ne!(model(&one), model(&fd));
    }
}
