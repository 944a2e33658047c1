//! The features of a machine that the data paths use.

use crate::{bpf, cangw};

/// The interfaces and kernel features of a machine.
#[derive(Debug)]
pub struct HostMachine {
    /// Its CAN interfaces.
    pub interfaces: Vec<bpf::Interface>,
    /// Whether BPF is available; the reason if it is not.
    pub bpf: Result<(), bpf::MissingFeature>,
    /// The limits of can-gw if it is available; the reason if it is not.
    pub can_gw: Result<cangw::KernelLimits, cangw::Error>,
}

impl HostMachine {
    /// Examines this machine, as far as this process has access. Loads can-gw if it is missing and
    /// this process has the permission.
    #[must_use]
    pub fn inspect() -> Self {
        let can_gw = || {
            let mut kernel = cangw::CanGwKernel::open()?;
            kernel.ready()?;
            Ok(kernel.limits())
        };
        let interfaces = bpf::interfaces().unwrap_or_default();
        Self {
            // BPF itself does not need AF_CAN, but without AF_CAN there is no CAN interface for it.
            bpf: if interfaces.is_empty() && !linux::can::is_in_kernel() {
                Err(bpf::MissingFeature::Can)
            } else {
                bpf::features().map(drop)
            },
            interfaces,
            can_gw: can_gw(),
        }
    }

    /// Returns its CAN interface with this name.
    #[must_use]
    pub fn find(&self, name: &str) -> Option<&bpf::Interface> {
        self.interfaces.iter().find(|there| there.name == name)
    }
}
