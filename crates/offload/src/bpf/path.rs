//! BPF as one of the data paths in the kernel.

use super::{BpfOffload, BpfOutcome, Error, can_persist, remove, show, survey};
use crate::RouteCounts;
use crate::data_path::DataPath;
use crate::instance::GatewayInstance;
use crate::kernel_path::{self, KernelPath, PathAssignment, PathListing, PathReport, PathRun};
use crate::machine::HostMachine;
use route::{KernelPort, Routes};

/// The data path through BPF.
#[derive(Clone, Copy, Debug)]
pub struct BpfPath;

impl KernelPath for BpfPath {
    fn data_path(&self) -> DataPath {
        DataPath::Bpf
    }

    fn objections(
        &self,
        routes: &Routes,
        ports: &[Option<KernelPort>],
        machine: &HostMachine,
    ) -> Vec<Option<String>> {
        if let Err(why) = &machine.bpf {
            return vec![Some(why.to_string()); routes.routes.len()];
        }
        let mut reasons = vec![None; routes.routes.len()];
        for wrong in survey(routes, ports, &machine.interfaces) {
            if let Some(reason) = reasons.get_mut(wrong.route.0 as usize) {
                reason.get_or_insert(wrong.why);
            }
        }
        reasons
    }

    fn without_xl(&self) -> bool {
        false
    }

    fn reaches_vcan(&self) -> bool {
        false
    }

    fn remove_leftovers(
        &self,
        instance: &GatewayInstance,
    ) -> Result<Option<String>, kernel_path::Error> {
        match remove(instance) {
            Ok(0) | Err(Error::Socket { .. } | Error::Kernel(_)) => Ok(None),
            Ok(some) => Ok(Some(format!(
                "bpf: an earlier run's table removed at {some} interfaces"
            ))),
            Err(error) => Err(kernel_path::Error::BpfStays(error)),
        }
    }

    fn start(
        &self,
        instance: &GatewayInstance,
        assignment: PathAssignment<'_>,
    ) -> Result<(Box<dyn PathRun>, PathReport), kernel_path::Error> {
        if assignment.persist {
            // Checked now, so that the failure is not discovered only at the end.
            can_persist()?;
        }
        let PathAssignment {
            routes,
            ports,
            options,
            ..
        } = assignment;
        let (running, outcome) = BpfOffload::start(instance, routes, ports, options.clone())?;
        Ok((Box::new(running), report(outcome, routes)))
    }

    fn list(&self) -> Result<PathListing, kernel_path::Error> {
        Ok(PathListing::Tables(show()?))
    }
}

fn report(outcome: BpfOutcome, routes: &Routes) -> PathReport {
    let adopted = if outcome.adopted {
        ", taken over from an earlier run"
    } else {
        ""
    };
    PathReport {
        words: Some(format!(
            "bpf: {} routes at {} interfaces{adopted}",
            routes.routes.len(),
            outcome.entrances
        )),
        missing: outcome.missing,
        restored: 0,
    }
}

impl PathRun for BpfOffload {
    fn reload(&mut self, assignment: PathAssignment<'_>) -> Result<PathReport, kernel_path::Error> {
        self.set_options(assignment.options.clone());
        let outcome = self.reload(assignment.routes, assignment.ports)?;
        Ok(report(outcome, assignment.routes))
    }

    fn links_changed(&mut self) -> Result<Option<PathReport>, kernel_path::Error> {
        let outcome = self.links_changed()?;
        Ok(outcome.map(|outcome| PathReport {
            words: Some(format!("bpf: at {} interfaces now", outcome.entrances)),
            missing: outcome.missing,
            restored: 0,
        }))
    }

    fn maintain(&mut self) -> Result<Option<PathReport>, kernel_path::Error> {
        if let Some(report) = PathRun::links_changed(self)? {
            return Ok(Some(report));
        }
        let restored = self.taken_away()?;
        if restored == 0 {
            return Ok(None);
        }
        let outcome = self.reconcile()?;
        Ok(Some(PathReport {
            words: None,
            missing: outcome.missing,
            restored,
        }))
    }

    fn counts(&mut self) -> Result<Vec<RouteCounts>, kernel_path::Error> {
        Ok(self.counts()?.routes)
    }

    fn persist(self: Box<Self>) -> Result<(), kernel_path::Error> {
        Ok((*self).persist()?)
    }
}
