//! The kernel as a program sees it: a frame, and the helpers that the program calls.

use super::memory::{self, CONTEXT, Memory, PACKET};

/// The beginning of `struct __sk_buff`; see `kernel.h`.
mod context {
    pub(super) const LEN: usize = 0;
    pub(super) const MARK: usize = 8;
    pub(super) const PROTOCOL: usize = 16;
    pub(super) const IFINDEX: usize = 40;
    pub(super) const DATA: usize = 76;
    pub(super) const DATA_END: usize = 80;
    pub(super) const SIZE: usize = 84;
}

/// Bytes before a frame: the private headroom of drivers (`struct can_skb_priv`).
const HEADROOM: usize = 16;
/// Room before that, which `bpf_skb_change_head` takes.
const ROOM: usize = 128;
/// `TC_ACT_REDIRECT`.
const REDIRECT: u32 = 7;

/// A kernel with one frame.
pub(super) struct EmulatedKernel {
    pub(super) memory: Memory,
    /// The first byte of the packet, and the one behind its end.
    packet: (usize, usize),
    /// The interface to which `bpf_redirect` has sent the frame.
    redirected: u32,
    /// The copies that left.
    pub(super) sent: Vec<(u32, Vec<u8>)>,
}

impl EmulatedKernel {
    pub(super) const fn new(memory: Memory) -> Self {
        Self {
            memory,
            packet: (0, 0),
            redirected: 0,
            sent: Vec::new(),
        }
    }

    /// Puts a frame at the entrance of an interface.
    pub(super) fn arrive(&mut self, ifindex: u32, frame: &[u8]) {
        let packet = self.memory.region(PACKET);
        packet.clear();
        packet.resize(ROOM + HEADROOM, 0);
        packet.extend_from_slice(frame);
        self.packet = (ROOM, packet.len());
        let context = self.memory.region(CONTEXT);
        context.clear();
        context.resize(context::SIZE, 0);
        let protocol: u32 = match frame.len() {
            16 => 0x0C00,
            _ => 0x0D00,
        };
        for (at, number) in [(context::PROTOCOL, protocol), (context::IFINDEX, ifindex)] {
            context[at..at + 4].copy_from_slice(&number.to_le_bytes());
        }
        self.redirected = 0;
    }

    /// Carries out the verdict of the program.
    pub(super) fn finish(&mut self, verdict: u32) {
        if verdict == REDIRECT {
            self.leave(self.redirected);
        }
    }

    fn leave(&mut self, ifindex: u32) {
        let (start, end) = self.packet;
        let frame = self.memory.region(PACKET)[start..end].to_vec();
        self.sent.push((ifindex, frame));
    }

    #[inline]
    pub(super) fn load(&self, address: u64, size: usize) -> u64 {
        const LEN: u64 = memory::address(CONTEXT, context::LEN);
        const DATA: u64 = memory::address(CONTEXT, context::DATA);
        const DATA_END: u64 = memory::address(CONTEXT, context::DATA_END);
        let (start, end) = self.packet;
        match address {
            LEN => (end - start) as u64,
            DATA => memory::address(PACKET, start),
            DATA_END => memory::address(PACKET, end),
            _ => self.memory.load(address, size),
        }
    }

    #[inline]
    pub(super) fn store(&mut self, address: u64, size: usize, number: u64) {
        const FIRST: u64 = memory::address(CONTEXT, 0);
        const MARK: u64 = memory::address(CONTEXT, context::MARK);
        const LAST: u64 = memory::address(CONTEXT, context::SIZE);
        assert!(
            address == MARK || !(FIRST..LAST).contains(&address),
            "only the mark of a frame may be written"
        );
        self.memory.store(address, size, number);
    }

    /// Calls a helper.
    pub(super) fn call(&mut self, helper: u64, arguments: [u64; 5]) -> u64 {
        let [_, second, ..] = arguments;
        let (start, end) = self.packet;
        match helper {
            // bpf_map_lookup_elem
            1 => {
                let key = self.memory.load(second, 4) as u32;
                self.memory.element(arguments[0], key)
            }
            // bpf_clone_redirect
            13 => {
                self.leave(second as u32);
                0
            }
            // bpf_redirect
            23 => {
                self.redirected = arguments[0] as u32;
                REDIRECT.into()
            }
            // bpf_skb_change_tail
            38 => {
                self.packet.1 = start + second as usize;
                let packet = self.memory.region(PACKET);
                packet.resize(self.packet.1.max(end), 0);
                0
            }
            // bpf_skb_change_head
            43 => {
                self.packet.0 = start - second as usize;
                0
            }
            // bpf_csum_level
            135 => 0,
            other => panic!("the helper {other} is not emulated"),
        }
    }
}
