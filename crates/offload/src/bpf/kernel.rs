//! What this kernel can do.

use super::{Missing, tc};
use aya::programs::{ProgramType, SchedClassifier, TcAttachType};
use aya::sys::{BpfHelper, is_helper_supported};
use linux::netlink::Netlink;
use rustix::thread::CapabilitySet;
use std::sync::OnceLock;

/// What differs among kernels that can route by BPF at all.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Features {
    /// `bpf_check_mtu` (5.12): asks at every FD frame whether its destination carries FD. Before,
    /// what it was when the table was made counts.
    pub check_mtu: bool,
    /// Frames have private headroom (before 7.0): those of local programs need more of it than
    /// they have, see [`super::PortCounts::local`].
    pub private_headroom: bool,
}

/// What this kernel can do.
///
/// # Errors
/// What it lacks, and what to do about it.
pub fn features() -> Result<Features, Missing> {
    // The verifier lets only those compute where a frame lies that may also look at the kernel's
    // own (CAP_PERFMON); what it says else nobody understands.
    let enough = [
        CapabilitySet::SYS_ADMIN,
        CapabilitySet::BPF | CapabilitySet::PERFMON,
    ];
    if let Ok(have) = rustix::thread::capabilities(None)
        && !enough.iter().any(|set| have.effective.contains(*set))
    {
        return Err(Missing::Permission);
    }
    let helper = |helper| {
        is_helper_supported(ProgramType::SchedClassifier, helper).map_err(|error| {
            let text = super::error::whole(&error);
            if text.contains("os error 1)") || text.contains("os error 13)") {
                Missing::Permission
            } else {
                Missing::Bpf(text)
            }
        })
    };
    if !helper(BpfHelper::BPF_FUNC_csum_level)? {
        return Err(Missing::Bpf("no bpf_csum_level".to_owned()));
    }
    if !has_entrances() {
        return Err(Missing::Entrance("neither tcx nor clsact".to_owned()));
    }
    Ok(Features {
        check_mtu: helper(BpfHelper::BPF_FUNC_check_mtu)?,
        private_headroom: private_headroom(),
    })
}

/// Is there a place for programs? Where the kernel does not tell, the start will.
fn has_entrances() -> bool {
    let tcx = SchedClassifier::query_tcx("lo", TcAttachType::Ingress);
    tcx.is_ok()
        || Netlink::open()
            .and_then(|mut netlink| tc::knows_clsact(&mut netlink))
            .unwrap_or(true)
}

/// Since 7.0 what belongs to a frame lies in an extension of its skb. Its name is in the kernel's
/// own description of its types; without that we take the kernel for an older one, which costs
/// virtual interfaces some time and nothing else.
fn private_headroom() -> bool {
    // Megabytes to read, and never another answer.
    static KNOWN: OnceLock<bool> = OnceLock::new();
    *KNOWN.get_or_init(|| {
        std::fs::read("/sys/kernel/btf/vmlinux").map_or(true, |types| {
            !types
                .split(|byte| *byte == 0)
                .any(|name| name == b"SKB_EXT_CAN")
        })
    })
}
