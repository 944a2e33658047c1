//! The processor's time stamp counter.

/// Returns the counter's value, which the kernel can compare with its own; 0 on processors without
/// the counter.
#[cfg(target_arch = "x86_64")]
#[allow(unsafe_code, reason = "rdtsc")]
#[inline]
pub(crate) fn now() -> u64 {
    // SAFETY: every x86-64 processor has the instruction, and Linux lets processes use it unless
    // they forbid it to themselves (prctl PR_SET_TSC), which nothing here does. It reads no memory.
    unsafe { core::arch::x86_64::_rdtsc() }
}

/// Returns 0.
#[cfg(not(target_arch = "x86_64"))]
pub(crate) const fn now() -> u64 {
    0
}
