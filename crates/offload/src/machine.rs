//! What a machine offers to data paths.

use crate::{bpf, cangw};

/// What there is on a machine.
#[derive(Debug)]
pub struct Machine {
    /// Its CAN interfaces.
    pub interfaces: Vec<bpf::Interface>,
    /// Can BPF be had? If not, why.
    pub bpf: Result<(), bpf::Missing>,
    /// Can can-gw be had, and what does it do? If not, why.
    pub can_gw: Result<cangw::Limits, cangw::Error>,
}

impl Machine {
    /// This machine, as far as it shows itself to this process. Loads can-gw where it is missing
    /// and this process is allowed to.
    #[must_use]
    pub fn look() -> Self {
        let can_gw = || {
            let mut kernel = cangw::Kernel::open()?;
            kernel.ready()?;
            Ok(kernel.limits())
        };
        let interfaces = bpf::interfaces().unwrap_or_default();
        Self {
            // BPF itself does without AF_CAN, but there is no CAN interface for it.
            bpf: if interfaces.is_empty() && !linux::can::is_in_kernel() {
                Err(bpf::Missing::Can)
            } else {
                bpf::features().map(drop)
            },
            interfaces,
            can_gw: can_gw(),
        }
    }

    /// Its CAN interface with this name.
    #[must_use]
    pub fn find(&self, name: &str) -> Option<&bpf::Interface> {
        self.interfaces.iter().find(|there| there.name == name)
    }
}
