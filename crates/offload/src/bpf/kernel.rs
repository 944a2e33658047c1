//! The features of this kernel.

use super::{MissingFeature, tc};
use aya::programs::{ProgramType, SchedClassifier, TcAttachType};
use aya::sys::{BpfHelper, is_helper_supported};
use linux::netlink::NetlinkSocket;
use rustix::thread::CapabilitySet;
use std::sync::OnceLock;

/// The differences between the kernels that can route by BPF.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct BpfFeatures {
    /// `bpf_check_mtu` (5.12): checks for every FD frame whether its destination carries FD.
    /// Without it, the state at the time when the table was made counts.
    pub check_mtu: bool,
    /// Frames have private headroom (before 7.0): frames of local programs then need more of it
    /// than they have, see [`super::PortCounts::local`].
    pub private_headroom: bool,
}

/// Returns the features of this kernel.
///
/// # Errors
/// The missing feature and its remedy.
pub fn features() -> Result<BpfFeatures, MissingFeature> {
    // The verifier allows pointer arithmetic on a frame's position only for processes that may also
    // read kernel memory (CAP_PERFMON); its own error message would be incomprehensible.
    let enough = [
        CapabilitySet::SYS_ADMIN,
        CapabilitySet::BPF | CapabilitySet::PERFMON,
    ];
    if let Ok(have) = rustix::thread::capabilities(None)
        && !enough.iter().any(|set| have.effective.contains(*set))
    {
        return Err(MissingFeature::Permission);
    }
    let helper = |helper| {
        is_helper_supported(ProgramType::SchedClassifier, helper).map_err(|error| {
            let text = super::error::whole(&error);
            if text.contains("os error 1)") || text.contains("os error 13)") {
                MissingFeature::Permission
            } else {
                MissingFeature::Bpf(text)
            }
        })
    };
    if !helper(BpfHelper::BPF_FUNC_csum_level)? {
        return Err(MissingFeature::Bpf("no bpf_csum_level".to_owned()));
    }
    if !has_entrances() {
        return Err(MissingFeature::Entrance(
            "neither tcx nor clsact".to_owned(),
        ));
    }
    Ok(BpfFeatures {
        check_mtu: helper(BpfHelper::BPF_FUNC_check_mtu)?,
        private_headroom: private_headroom(),
    })
}

/// Returns whether the kernel has a hook for programs. If the kernel does not answer, the start
/// will find out.
fn has_entrances() -> bool {
    let tcx = SchedClassifier::query_tcx("lo", TcAttachType::Ingress);
    tcx.is_ok()
        || NetlinkSocket::open()
            .and_then(|mut netlink| tc::knows_clsact(&mut netlink))
            .unwrap_or(true)
}

/// Returns whether frames have private headroom. Since 7.0 the data of a CAN frame are in an
/// extension of its skb. The name of the extension is in the kernel's BTF; without BTF we assume an
/// older kernel, which costs virtual interfaces some time and has no other effect.
fn private_headroom() -> bool {
    // The file has megabytes, and the answer never changes.
    static KNOWN: OnceLock<bool> = OnceLock::new();
    *KNOWN.get_or_init(|| {
        std::fs::read("/sys/kernel/btf/vmlinux").map_or(true, |types| {
            !types
                .split(|byte| *byte == 0)
                .any(|name| name == b"SKB_EXT_CAN")
        })
    })
}
