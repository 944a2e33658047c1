//! Where a run gets its configuration and its ports from.

use super::error::{LoadError, RoutesError, StartError};
use super::halves::Port;
use super::kernel_plan::KernelPlan;
use super::lines::RouteLine;
use engine::{Interest, PortError};
use route::{Routes, Table};

/// What is to run.
#[derive(Clone, PartialEq, Debug)]
pub struct Plan<S> {
    /// Ports with what each is made from, in the order in which routes count them.
    pub ports: Vec<(String, S)>,
    /// The routes.
    pub routes: Routes,
    /// All routes of the gateway, wherever they run, for people who ask it; in the order of the
    /// file.
    pub lines: Vec<RouteLine>,
    /// What runs in the kernel; its routes are none of `routes`.
    pub kernel: Option<KernelPlan>,
    /// What the one who asks for a reload is to be told besides.
    pub remarks: Vec<String>,
}

impl<S> Plan<S> {
    /// The routing table of [`Plan::routes`].
    ///
    /// # Errors
    /// All that it refuses.
    pub(crate) fn compile(&self) -> Result<Table, RoutesError> {
        Table::compile(&self.routes, self.ports.len()).map_err(RoutesError)
    }
}

/// Where a run gets its configuration and its ports from. The run time knows neither files nor
/// kinds of port; [`crate::run`] uses `gateway.toml` and the ports of the `port` crate.
pub trait Site {
    /// What a port is made from. Ports whose spec is equal before and after a reload stay open.
    type Spec: PartialEq;

    /// Reads the configuration again.
    ///
    /// # Errors
    /// Everything that is wrong with it, for the one who asked.
    fn load(&mut self) -> Result<Plan<Self::Spec>, LoadError>;

    /// Opens a port, which is to hand over at least what `interest` names.
    ///
    /// # Errors
    /// [`PortError`] with what to do.
    fn open(
        &mut self,
        name: &str,
        spec: &Self::Spec,
        interest: &Interest,
    ) -> Result<Port, PortError>;

    /// All ports that were opened since the last call are to run, and nothing else can fail: what
    /// must not happen before (emptying a log) happens now.
    ///
    /// # Errors
    /// [`StartError`]; the start or the reload fails after all.
    fn start(&mut self) -> Result<(), StartError> {
        Ok(())
    }

    /// The reload for which ports were opened has failed: what [`Site::start`] would do never
    /// happens.
    fn give_up(&mut self) {}

    /// Is what a port stands on still as its spec says? Where it is not, a reload opens the port
    /// anew.
    fn is_in_force(&self, spec: &Self::Spec) -> bool {
        let _ = spec;
        true
    }

    /// What a port is, in words.
    fn describe(&self, spec: &Self::Spec) -> String {
        let _ = spec;
        String::new()
    }

    /// The Linux interface behind a port.
    fn interface<'s>(&self, spec: &'s Self::Spec) -> Option<&'s str> {
        let _ = spec;
        None
    }
}
