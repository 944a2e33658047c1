//! The source of a run's configuration and ports.

use super::error::{LoadError, RoutesError, StartError};
use super::kernel_plan::KernelPlan;
use super::lines::RouteLine;
use engine::{FrameInterest, PortError};
use port::InterfaceFinder;
use route::{Routes, RoutingTable};
use worker::Port;

/// The configuration of a run.
#[derive(Clone, PartialEq, Debug)]
pub struct RunPlan<S> {
    /// The ports, each with its specification, in the order in which routes number them.
    pub ports: Vec<(String, S)>,
    /// The routes.
    pub routes: Routes,
    /// All routes of the gateway, wherever they run, for people who query it; in the order of the
    /// file.
    pub lines: Vec<RouteLine>,
    /// The routes that run in the kernel; they are not in `routes`.
    pub kernel: Option<KernelPlan>,
    /// Further remarks for the client that requests a reload.
    pub remarks: Vec<String>,
}

impl<S> RunPlan<S> {
    /// Compiles the routing table of [`RunPlan::routes`].
    ///
    /// # Errors
    /// All errors of the compilation.
    pub(crate) fn compile(&self) -> Result<RoutingTable, RoutesError> {
        RoutingTable::compile(&self.routes, self.ports.len()).map_err(RoutesError)
    }
}

/// The source of a run's configuration and ports. The run time does not depend on files or kinds of
/// port; [`crate::run`] uses `gateway.toml` and the ports of the `port` crate.
pub trait PlanSource {
    /// The specification of a port. Ports with equal specifications before and after a reload stay
    /// open.
    type Spec: PartialEq;

    /// Reads the configuration again.
    ///
    /// # Errors
    /// All mistakes in it, for the client that requested it.
    fn load(&mut self) -> Result<RunPlan<Self::Spec>, LoadError>;

    /// Notes that the configuration of the last [`PlanSource::load`] is in force now.
    fn put_in_force(&mut self) {}

    /// Returns the configuration in force, for the interfaces that exist now: a route that its data
    /// path cannot run any more is in another one. Returns `None` if the source cannot change that.
    fn choose_again(&self) -> Option<RunPlan<Self::Spec>> {
        None
    }

    /// Opens a port, which must deliver at least the frames that `interest` names.
    ///
    /// # Errors
    /// [`PortError`] with a remedy.
    fn open(
        &mut self,
        name: &str,
        spec: &Self::Spec,
        interest: &FrameInterest,
    ) -> Result<Port, PortError>;

    /// Starts all ports that were opened since the last call; nothing else can fail now. Actions
    /// that must not happen before (emptying a log) happen now.
    ///
    /// # Errors
    /// [`StartError`]; the start or the reload fails after all.
    fn start(&mut self) -> Result<(), StartError> {
        Ok(())
    }

    /// Gives up the ports that were opened for a reload that failed: the actions of
    /// [`PlanSource::start`] never happen.
    fn give_up(&mut self) {}

    /// Returns whether the resources of a port, such as its interface, are still as its
    /// specification requires. If not, a reload opens the port anew.
    fn is_in_force(&self, spec: &Self::Spec) -> bool {
        let _ = spec;
        true
    }

    /// Returns the description of a port, in words.
    fn describe(&self, spec: &Self::Spec) -> String {
        let _ = spec;
        String::new()
    }

    /// Returns whether clients of the control socket may send frames by a port.
    fn takes_frames_of_clients(&self, spec: &Self::Spec) -> bool {
        let _ = spec;
        false
    }

    /// Returns a finder of the interface of a port that is chosen by its device.
    fn interface_finder(&self, spec: &Self::Spec) -> Option<InterfaceFinder> {
        let _ = spec;
        None
    }

    /// Returns the Linux interface behind a port.
    fn interface<'s>(&self, spec: &'s Self::Spec) -> Option<&'s str> {
        let _ = spec;
        None
    }
}
