//! The measurements of each scope, and the settings that have no meaning in a measurement.

use super::Conflicts;
use crate::choices::{MachineOrder, Nesting};
use crate::measurement::{GatewayUnderTest, Measurement, ProgramTask};
use crate::scope::SettingScope as Scope;
use crate::settings::{Experiment, Setting};
use guest::machine::BenchKind;

/// Returns whether the measurement is in the scope, and the settings that decide it.
pub(super) fn has(scope: Scope, m: &Measurement, e: &Experiment) -> (bool, &'static [Setting]) {
    use GatewayUnderTest::{Bpf, Cangw, Chardev, Mapped, OwnRules, User};
    use Measurement::{Gateway, Image, Program, RoundTrip};
    use Setting as S;
    let guest = matches!(m, Gateway(_));
    let timed = e.bench == BenchKind::Timed;
    let routes = e.gateway.has_routes();
    // The way of round trips to a controller of the hypervisor.
    let trips = match m {
        Program(program) if program.task == ProgramTask::RoundTrip => Some(program.way),
        _ => None,
    };
    let beside = trips.filter(|_| e.machines > 1);
    // The component that shares the controller handles each machine's frames apart.
    let apart = match beside {
        Some(Nesting::Function) => true,
        Some(Nesting::Host | Nesting::Own) => e.order == MachineOrder::Priority,
        _ => false,
    };
    match scope {
        Scope::Routes => (
            (guest || matches!(m, Image(_))) && routes,
            &[S::Task, S::Gateway],
        ),
        Scope::Hops => (
            matches!(m, Gateway(Cangw | OwnRules | Bpf | User(_))),
            &[S::Task, S::Gateway],
        ),
        Scope::Replay => (guest && routes && timed, &[S::Bench, S::Task, S::Gateway]),
        Scope::Stamps => (guest && timed, &[S::Bench, S::Task, S::Gateway]),
        Scope::Apart | Scope::Plain => (guest || matches!(m, RoundTrip(_)), &[S::Gateway]),
        Scope::Guest => (!matches!(m, Image(_)), &[S::Gateway]),
        Scope::Process => (
            matches!(m, Gateway(User(_) | Mapped | Chardev) | RoundTrip(_)),
            &[S::Gateway],
        ),
        Scope::Inner => (
            matches!(m, Program(program) if program.way.has_machines()),
            &[S::Gateway],
        ),
        Scope::Shared => (
            trips.is_some_and(|way| !way.is_card()),
            &[S::Task, S::Gateway],
        ),
        Scope::Others => (beside.is_some(), &[S::Machines]),
        Scope::Order => (
            beside.is_some_and(|way| way != Nesting::Function),
            &[S::Machines, S::Gateway],
        ),
        Scope::Budget => (apart, &[S::Machines, S::Gateway, S::Order]),
        Scope::Incident => (
            apart && beside != Some(Nesting::Own),
            &[S::Machines, S::Gateway, S::Order],
        ),
    }
}

impl Conflicts<'_> {
    /// Refuses a bench without the measurement, and settings that have no meaning in it.
    pub(super) fn scopes(&mut self, measurement: &Measurement) {
        let e = self.experiment;
        let (benches, why) = measurement.benches();
        self.refuse(
            !benches.contains(&e.bench),
            &[Setting::Bench, Setting::Gateway],
            why,
        );
        for &setting in Setting::ALL {
            let Some(scope) = setting.definition().scope else {
                continue;
            };
            let (is_in_scope, by) = has(scope, measurement, e);
            // The default task explains nothing.
            let by = by.iter().filter(|&&by| by != Setting::Task || by.is_set(e));
            let settings: Vec<_> = std::iter::once(&setting).chain(by).copied().collect();
            self.refuse(
                setting.is_set(e) && !is_in_scope,
                &settings,
                &format!("only {}", scope.only()),
            );
        }
    }
}
