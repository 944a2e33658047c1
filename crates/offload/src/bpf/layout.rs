//! The layout of the table in the maps: the same as in `crates/offload/bpf/table.h`.
//!
//! Each size is checked here, and the loader compares it with the size in the object.

// Names and numbers are explained in table.h.
#![allow(missing_docs)]

/// Bounds of the program's loops, as in table.h.
pub(crate) const GROUPS: usize = 32;
pub(crate) const PROBES: usize = 4;
pub(crate) const CANDIDATES: usize = 32;
pub(crate) const MERGED: usize = 32;
pub(crate) const DESTINATIONS: usize = 8;
pub(crate) const OPS: usize = 4;
pub(crate) const TESTS: usize = 8;

/// Flag: the list consists of one route.
pub(crate) const DIRECT: u32 = 1 << 31;
/// No route, no pattern, no limit.
pub(crate) const NONE: u32 = u32::MAX;

/// Flag: the destination carries FD frames.
pub(crate) const TO_FD: u32 = 1 << 31;
/// Flag: FD frames do not pass the destination's port.
pub(crate) const TO_CLASSIC: u32 = 1 << 28;
/// The bits of a destination for the number of its interface.
pub(crate) const TO_INDEX: u32 = TO_CLASSIC - 1;

pub(crate) const PORT_ROOMY: u32 = 1;
pub(crate) const PORT_CLASSIC: u32 = 2;

pub(crate) const ROUTE_DROP: u8 = 1;
pub(crate) const ROUTE_SAME_PORT: u8 = 2;
pub(crate) const ROUTE_ECHO: u8 = 4;

pub(crate) const CHANGES_NONE: u8 = 0;
pub(crate) const CHANGES_MASKS: u8 = 1;
pub(crate) const CHANGES_SUM: u8 = 2;

pub(crate) const OP_MODIFY: u32 = 0;
pub(crate) const OP_OFFSET: u32 = 1;
pub(crate) const OP_MAP: u32 = 2;
pub(crate) const OP_COPY: u32 = 3;
pub(crate) const OP_CRC8: u32 = 4;
pub(crate) const OP_XOR: u32 = 5;
pub(crate) const OP_WRITE: u32 = 6;

/// The end of a test behind the last alternative: no frame has that many bytes.
pub(crate) const TEST_NONE: u8 = u8::MAX;

pub(crate) const WRITE_SWAP_FROM: u8 = 1;
pub(crate) const WRITE_SWAP_TO: u8 = 2;
pub(crate) const WRITE_SIGNED: u8 = 4;

pub(crate) const OUTSIDE_SATURATE: u8 = 0;
pub(crate) const OUTSIDE_DROP: u8 = 1;
pub(crate) const OUTSIDE_SUBSTITUTE: u8 = 2;

/// A type that may be written into a map and read from one byte by byte.
///
/// # Safety
/// The type has no padding, and every bit pattern is a valid value.
#[allow(unsafe_code)]
pub(crate) unsafe trait Plain: Copy {}

macro_rules! plain {
    ($($type:ty: $size:expr),* $(,)?) => {$(
        const _: () = assert!(size_of::<$type>() == $size);
        // SAFETY: `repr(C)` of integers only, and the sum of their sizes is the type's size,
        // which is asserted above: no padding.
        #[allow(unsafe_code)]
        unsafe impl Plain for $type {}
    )*};
}

#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Group {
    pub(crate) mask: u32,
    pub(crate) multiplier: u32,
    pub(crate) shift: u32,
    pub(crate) base: u32,
}

#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Class {
    pub(crate) always: u32,
    pub(crate) first: u32,
    pub(crate) count: u32,
    pub(crate) sort: u32,
    pub(crate) group: Group,
}

#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Port {
    pub(crate) of: [Class; 8],
    pub(crate) ifindex: u32,
    pub(crate) number: u32,
    pub(crate) flags: u32,
    pub(crate) pad: u32,
}

#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Slot {
    pub(crate) value: u32,
    pub(crate) list: u32,
}

#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Route {
    pub(crate) sorts: u8,
    pub(crate) flags: u8,
    pub(crate) hop_limit: u8,
    pub(crate) ops: u8,
    pub(crate) len: [u8; 2],
    pub(crate) short_sorts: u8,
    pub(crate) changes: u8,
    pub(crate) pattern: u32,
    pub(crate) limit: u32,
    pub(crate) to: u32,
    pub(crate) first_to: u32,
    pub(crate) destinations: u16,
    pub(crate) sum: u16,
    pub(crate) first_op: u32,
    pub(crate) and: [u64; 2],
    pub(crate) xor: [u64; 2],
}

#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Pattern {
    pub(crate) mask: [u64; 8],
    pub(crate) value: [u64; 8],
    pub(crate) len: u32,
    pub(crate) condition: u32,
}

#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Test {
    pub(crate) low: u64,
    pub(crate) span: u64,
    pub(crate) at: u8,
    pub(crate) shift: u8,
    pub(crate) is_motorola: u8,
    pub(crate) is_last: u8,
    pub(crate) end: u8,
    pub(crate) pad: [u8; 3],
}

#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Condition {
    pub(crate) test: [Test; TESTS],
}

/// `body` holds one of the members of the union.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Op {
    pub(crate) kind: u32,
    pub(crate) words: u16,
    pub(crate) need: u16,
    pub(crate) body: [u64; 18],
}

#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub(crate) struct CrcTable(pub(crate) [u8; 256]);

#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Sum {
    pub(crate) keep: u64,
    pub(crate) weight: u64,
    pub(crate) table: [[u8; 256]; 8],
}

#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Limit {
    pub(crate) lock: u32,
    pub(crate) frames: u32,
    pub(crate) per_id: u32,
    pub(crate) ids: u32,
    pub(crate) per: u64,
    pub(crate) depth: [u64; 2],
    pub(crate) full: [u64; 2],
    pub(crate) clock: u64,
}

#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct RouteCount {
    pub(crate) taken: u64,
    pub(crate) sent: u64,
    pub(crate) stopped: [u64; 8],
    pub(crate) failed: u64,
}

#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct PortCount {
    pub(crate) seen: u64,
    pub(crate) unrouted: u64,
    pub(crate) local: u64,
    pub(crate) odd: u64,
}

plain! {
    u64: 8,
    Port: 272,
    Group: 16,
    Slot: 8,
    Route: 64,
    Pattern: 136,
    Test: 24,
    Condition: 192,
    Op: 152,
    CrcTable: 256,
    Sum: 2064,
    Limit: 64,
    RouteCount: 88,
    PortCount: 32,
}

/// The compiler and `kernel.h` agree on the position of a byte in a word only on these machines.
#[cfg(target_endian = "big")]
compile_error!("the BPF object is built for little-endian machines");
