//! The priorities in the gateway's machine.

use super::word::plain_words;

plain_words! {
    /// The scheduling of a gateway in user space, and of the kernel's soft interrupts. The guest
    /// has one processor, which these two share.
    pub enum Priority, "priority" {
        /// A gateway in user space has real-time priority 90, but not with a busy way.
        ///
        /// The priority is that of gateway-2011 §3.7. A gateway that polls for frames without
        /// pause has none, because nothing else would then run.
        Gateway = "gateway",
        /// It is an ordinary process.
        Ordinary = "ordinary",
        /// It is an ordinary process, and ksoftirqd has real-time priority 50.
        ///
        /// Work that the kernel defers (receiving, when many frames come) is done before the
        /// gateway continues. Thus a controller's FIFO is read in time, and the gateway finds
        /// several frames at once.
        Softirq = "softirq",
    }
}
