//! The processor's time stamp counter.

/// Its value, as the kernel can compare it with its own; 0 where there is none.
#[cfg(target_arch = "x86_64")]
#[allow(unsafe_code, reason = "rdtsc")]
#[inline]
pub(crate) fn now() -> u64 {
    // SAFETY: every x86-64 processor has the instruction, and Linux lets processes use it unless
    // they forbid it to themselves (prctl PR_SET_TSC), which nothing here does. It reads no memory.
    unsafe { core::arch::x86_64::_rdtsc() }
}

/// 0.
#[cfg(not(target_arch = "x86_64"))]
pub(crate) const fn now() -> u64 {
    0
}
