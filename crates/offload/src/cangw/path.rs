//! can-gw as one of the data paths in the kernel.

use super::{CanGwKernel, CanGwOffload, CanGwOutcome, Error, show, survey};
use crate::RouteCounts;
use crate::data_path::DataPath;
use crate::instance::GatewayInstance;
use crate::kernel_path::{self, KernelPath, PathAssignment, PathListing, PathReport, PathRun};
use crate::machine::HostMachine;
use route::{KernelPort, Routes};

/// The data path through can-gw.
#[derive(Clone, Copy, Debug)]
pub struct CanGw;

impl KernelPath for CanGw {
    fn data_path(&self) -> DataPath {
        DataPath::CanGw
    }

    fn objections(
        &self,
        routes: &Routes,
        ports: &[Option<KernelPort>],
        machine: &HostMachine,
    ) -> Vec<Option<String>> {
        match &machine.can_gw {
            Err(why) => vec![Some(why.to_string()); routes.routes.len()],
            Ok(limits) => survey(routes, ports, &machine.interfaces, limits)
                .into_iter()
                .map(|reason| reason.map(|wrong| wrong.why))
                .collect(),
        }
    }

    fn without_xl(&self) -> bool {
        true
    }

    fn reaches_vcan(&self) -> bool {
        true
    }

    fn remove_leftovers(
        &self,
        instance: &GatewayInstance,
    ) -> Result<Option<String>, kernel_path::Error> {
        let Ok(mut kernel) = CanGwKernel::open() else {
            return Ok(None); // no netlink, no rules
        };
        match kernel.delete_ours(instance) {
            Ok(0) | Err(Error::NoModule | Error::Socket { .. }) => Ok(None),
            Ok(some) => Ok(Some(format!(
                "can-gw: {some} rules of an earlier run removed"
            ))),
            Err(error) => Err(kernel_path::Error::CanGwStays(error)),
        }
    }

    fn start(
        &self,
        instance: &GatewayInstance,
        assignment: PathAssignment<'_>,
    ) -> Result<(Box<dyn PathRun>, PathReport), kernel_path::Error> {
        let (running, outcome) =
            CanGwOffload::start(instance, assignment.routes, assignment.ports)?;
        Ok((Box::new(running), report(outcome)))
    }

    fn list(&self) -> Result<PathListing, kernel_path::Error> {
        let mut kernel = CanGwKernel::open()?;
        Ok(PathListing::Rules(show(&mut kernel)?))
    }
}

fn report(outcome: CanGwOutcome) -> PathReport {
    let mut text = format!(
        "can-gw: {} rules as before, {} changed in place, {} new, {} removed",
        outcome.unchanged, outcome.updated, outcome.added, outcome.removed
    );
    if outcome.adopted > 0 {
        text.push_str(&format!(
            " ({} taken over from an earlier run)",
            outcome.adopted
        ));
    }
    PathReport {
        words: Some(text),
        missing: outcome.missing,
        restored: 0,
    }
}

impl PathRun for CanGwOffload {
    fn reload(&mut self, assignment: PathAssignment<'_>) -> Result<PathReport, kernel_path::Error> {
        let outcome = self.reload(assignment.routes, assignment.ports)?;
        Ok(report(outcome))
    }

    fn links_changed(&mut self) -> Result<Option<PathReport>, kernel_path::Error> {
        let outcome = self.links_changed()?;
        Ok(outcome.map(|outcome| PathReport {
            words: (outcome.added > 0).then(|| {
                let added = outcome.added;
                format!("an interface is back: {added} rules of can-gw with it")
            }),
            missing: outcome.missing,
            restored: 0,
        }))
    }

    fn maintain(&mut self) -> Result<Option<PathReport>, kernel_path::Error> {
        // Handled first: rules that are added with their interface were not removed by another
        // program.
        if let Some(report) = PathRun::links_changed(self)? {
            return Ok(Some(report));
        }
        let outcome = self.reconcile()?;
        let restored = outcome.added + outcome.updated;
        let is_as_before = restored + outcome.removed == 0;
        Ok((!is_as_before).then_some(PathReport {
            words: None,
            missing: outcome.missing,
            restored,
        }))
    }

    fn counts(&mut self) -> Result<Vec<RouteCounts>, kernel_path::Error> {
        Ok(self.counts()?)
    }

    fn persist(self: Box<Self>) -> Result<(), kernel_path::Error> {
        (*self).persist();
        Ok(())
    }
}
