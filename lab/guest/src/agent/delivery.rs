//! The job that the host left.

use super::error::AgentError;
use super::system::modprobe;
use crate::linked::LinkedMachine;
use crate::machine::GuestJob;
use crate::program;
use std::fs;
use std::path::Path;

/// The file with the job, once its driver is loaded.
const JOB: &str = "/sys/firmware/qemu_fw_cfg/by_name/opt/cangate/job/raw";

/// The content that the host leaves in fw_cfg.
#[derive(Debug, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum HostDelivery {
    /// Do this job.
    Job(GuestJob),
    /// Set the machine up as one of several, and do this job at the common start.
    Linked(LinkedMachine, GuestJob),
    /// Prepare the guest for this task and others like it ([`crate::machine::GuestSpec::prepare`]),
    /// stop the machine to be saved, and go on with the delivery that is there then.
    Prepare {
        /// One of these tasks.
        task: serde_json::Value,
    },
}

impl HostDelivery {
    /// Reads the current delivery.
    pub(super) fn read() -> Result<Self, AgentError> {
        // The driver reads the sizes of fw_cfg's files once, when it is loaded.
        modprobe(&["qemu_fw_cfg"])?;
        let text = fs::read(JOB).map_err(AgentError::file("read", Path::new(JOB)))?;
        program::output(None, &["rmmod", "qemu_fw_cfg"])?;
        serde_json::from_slice(&text).map_err(AgentError::Job)
    }
}
