//! The counters of an interface.

/// An interface's counts since it was created (`struct rtnl_link_stats64` of
/// `uapi/linux/if_link.h`), in frames unless stated otherwise.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct LinkCounters {
    /// `rx_packets`. A vcan counts here the frames that local programs sent on it; kernels before
    /// 5.17 count error frames here as well.
    pub received: u64,
    /// `tx_packets`.
    pub sent: u64,
    /// `rx_dropped`: there was no memory for the frames, or the kernel's backlog was full.
    pub receive_dropped: u64,
    /// `tx_dropped`: the interface did not accept the frames.
    pub send_dropped: u64,
    /// `rx_bytes`: payload, as drivers count it.
    pub received_bytes: u64,
    /// `tx_bytes`.
    pub sent_bytes: u64,
    /// `rx_errors`.
    pub receive_errors: u64,
    /// `tx_errors`.
    pub send_errors: u64,
}

impl LinkCounters {
    /// Parses the structure, whose end may be missing in older kernels.
    pub(super) fn read(bytes: &[u8]) -> Option<Self> {
        let number = |index: usize| {
            let bytes = bytes.get(index * size_of::<u64>()..)?;
            Some(u64::from_ne_bytes(*bytes.first_chunk()?))
        };
        Some(Self {
            received: number(0)?,
            sent: number(1)?,
            receive_dropped: number(6)?,
            send_dropped: number(7)?,
            received_bytes: number(2)?,
            sent_bytes: number(3)?,
            receive_errors: number(4)?,
            send_errors: number(5)?,
        })
    }

    /// Returns the counts since the counters had the values of `base`.
    #[must_use]
    pub const fn since(&self, base: &Self) -> Self {
        Self {
            received: self.received.saturating_sub(base.received),
            sent: self.sent.saturating_sub(base.sent),
            receive_dropped: self.receive_dropped.saturating_sub(base.receive_dropped),
            send_dropped: self.send_dropped.saturating_sub(base.send_dropped),
            received_bytes: self.received_bytes.saturating_sub(base.received_bytes),
            sent_bytes: self.sent_bytes.saturating_sub(base.sent_bytes),
            receive_errors: self.receive_errors.saturating_sub(base.receive_errors),
            send_errors: self.send_errors.saturating_sub(base.send_errors),
        }
    }
}
