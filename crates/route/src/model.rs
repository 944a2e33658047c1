//! What a user asks for: the routes as they stand in `gateway.toml`, resolved but not compiled.

use alloc::{string::String, vec::Vec};
use frame::Nanos;

/// A port, as an index into the configuration's list of ports.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct PortId(pub u16);

/// A route, as an index into [`Routes::routes`].
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct RouteId(pub u32);

/// How many routes a frame may take.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Mode {
    /// Every route that matches gets its copy, in the order of the file: can-gw's way. A route
    /// that drops ends the search.
    #[default]
    All,
    /// Only the first route that matches.
    First,
}

/// All routes and how they are searched.
#[derive(Clone, PartialEq, Debug)]
pub struct Routes {
    /// How many routes a frame may take.
    pub mode: Mode,
    /// A frame that has passed this many gateways is dropped (can-gw's module parameter
    /// `max_hops`); 1 to 6, can-gw's default is 1.
    pub max_hops: u8,
    /// The routes in the order in which they are tried.
    pub routes: Vec<Route>,
}

impl Default for Routes {
    /// No routes, every match taken, can-gw's default of one hop.
    fn default() -> Self {
        Self {
            mode: Mode::default(),
            max_hops: 1,
            routes: Vec::new(),
        }
    }
}

/// From which ports, matching what, changed how, to which ports.
#[derive(Clone, PartialEq, Debug)]
pub struct Route {
    /// Its name, unique in the file; counters and messages use it.
    pub name: String,
    /// Where frames come from.
    pub from: Vec<PortId>,
    /// Where they go; empty for a route that drops.
    pub to: Vec<PortId>,
    /// Which frames it takes.
    pub matching: Match,
    /// What is done to them, in this order. can-gw's order is AND, OR, XOR, SET, CRC8, XOR
    /// checksum.
    pub actions: Vec<Action>,
    /// Takes the frame and sends it nowhere.
    pub drop: bool,
    /// At most so many frames; those above are dropped and counted.
    pub limit: Option<RateLimit>,
    /// can-gw's `limit_hops`: the frame may pass at most so many gateways from here.
    pub hop_limit: Option<u8>,
    /// A frame may go back to the port that it came from (can-gw's `-i`).
    pub allow_same_port: bool,
    /// can-gw's `-e`: local listeners on the outgoing interface see the frame too.
    pub echo: bool,
    /// can-gw's `-t`: the outgoing frame keeps the receive time stamp.
    pub keep_stamp: bool,
}

impl Route {
    /// A route that takes every frame but error frames and changes nothing; its fields say the
    /// rest.
    #[must_use]
    pub fn new(name: impl Into<String>, from: Vec<PortId>, to: Vec<PortId>) -> Self {
        Self {
            name: name.into(),
            from,
            to,
            matching: Match::default(),
            actions: Vec::new(),
            drop: false,
            limit: None,
            hop_limit: None,
            allow_same_port: false,
            echo: false,
            keep_stamp: false,
        }
    }
}

/// Which frames a route takes: all parts must agree.
#[derive(Clone, PartialEq, Debug)]
pub struct Match {
    /// Any of these must hold; none at all means every ID.
    pub ids: Vec<IdFilter>,
    /// Kinds of frame; none set means the default, classic and FD and XL.
    pub kinds: KindSet,
    /// Remote frames: only, none, or either.
    pub rtr: Tri,
    /// Error frames of the controller: only, none, or either. The default is none, as for a
    /// raw socket without an error mask and for can-gw.
    pub err: Tri,
    /// All of these must hold. A frame that is too short for one does not match.
    pub payload: Vec<PayloadPattern>,
    /// Payload length from and to, both included.
    pub len: Option<(u16, u16)>,
}

impl Default for Match {
    /// Every frame of every kind, but no error frames.
    fn default() -> Self {
        Self {
            ids: Vec::new(),
            kinds: KindSet::default(),
            rtr: Tri::Either,
            err: Tri::No,
            payload: Vec::new(),
            len: None,
        }
    }
}

/// One way of naming IDs.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct IdFilter {
    /// The IDs that are named.
    pub set: IdSet,
    /// The others are meant, of the same frame format for [`IdSet::Range`]. Not possible with a
    /// mask that holds the error flag.
    pub inverted: bool,
}

/// A set of IDs.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum IdSet {
    /// Numbers from `first` to `last`, both included, of one frame format. A single ID has
    /// `first == last`. RTR and error flags do not matter here; an error frame has the format
    /// that its EFF flag says, and one whose number is above the format's maximum is neither in
    /// a range nor among a range's others.
    Range {
        /// EFF, else SFF.
        eff: bool,
        /// Lowest number.
        first: u32,
        /// Highest number.
        last: u32,
    },
    /// `(frame & mask) == (id & mask)` on SocketCAN's raw 32 bits, flags included: can-gw's
    /// and the raw socket's filter. An XL frame is matched by its priority, as an SFF ID.
    ///
    /// Two rules come from the kernel (`net/can/af_can.c`, `can_rcv_list_find`): a mask with the
    /// EFF flag beside an ID without it looks at no number bits above 11; and a mask with the
    /// error flag (2000_0000) takes error frames only, those that have any of the mask's other
    /// bits. Such a filter needs [`Match::err`] to let error frames in.
    Masked {
        /// `can_id` with flag bits.
        id: u32,
        /// Mask with flag bits.
        mask: u32,
    },
}

/// Kinds of frame.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct KindSet {
    /// Classic frames.
    pub classic: bool,
    /// FD frames.
    pub fd: bool,
    /// XL frames.
    pub xl: bool,
}

impl Default for KindSet {
    fn default() -> Self {
        Self {
            classic: true,
            fd: true,
            xl: true,
        }
    }
}

/// Only those, none of those, or either.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Tri {
    /// Either (for error frames the default is [`Tri::No`]; the configuration says so).
    #[default]
    Either,
    /// Only those.
    Yes,
    /// None of those.
    No,
}

/// Bytes that must stand in the payload.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PayloadPattern {
    /// Index of the first byte.
    pub at: u16,
    /// The bytes.
    pub value: Vec<u8>,
    /// Which bits of them matter; as long as `value`.
    pub mask: Vec<u8>,
}

/// One change of a frame.
// Read once when a table is compiled; a box would only be in the way of whoever writes one.
#[allow(clippy::large_enum_variant)]
#[derive(Clone, PartialEq, Debug)]
pub enum Action {
    /// can-gw's AND, OR, XOR or SET.
    Modify(Modify),
    /// Adds to the ID's number. A result outside the frame's format (11 bits for SFF and XL, 29
    /// for EFF) stops the route: wrapping round would put the frame among IDs of quite another
    /// priority. Error frames have no ID and are left alone.
    OffsetId {
        /// What is added.
        by: i64,
    },
    /// Moves a block of IDs: number `from + i` becomes `to + i` for `i < count`; others stay. A
    /// result that does not fit into the format stops the route. The RTR flag is kept; error
    /// frames are left alone. An XL frame cannot become EFF.
    MapId {
        /// First number of the block.
        from: u32,
        /// What it becomes.
        to: u32,
        /// How many.
        count: u32,
        /// The new frame format; `None` keeps the frame's.
        eff: Option<bool>,
    },
    /// Copies payload bytes as they are at this point; ranges may overlap. The length does not
    /// change; bytes past it are part of the buffer, as in can-gw. What lies outside the
    /// buffer of the frame at hand (8, 64 or 2048 bytes) is neither read nor written.
    CopyBytes {
        /// First byte to read.
        from: u16,
        /// First byte to write.
        to: u16,
        /// How many bytes.
        count: u16,
        /// Write zeros where the bytes came from and were not overwritten: a move.
        clear: bool,
    },
    /// can-gw's CRC8 checksum.
    Crc8(Crc8),
    /// can-gw's XOR checksum.
    XorSum(XorSum),
}

/// Which operation a [`Modify`] does.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum ModifyOp {
    /// Bitwise and.
    And,
    /// Bitwise or.
    Or,
    /// Bitwise exclusive or.
    Xor,
    /// Replace.
    Set,
}

/// can-gw's modification: one operation on any of ID, length, flags, data. `None` leaves a part
/// alone.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Modify {
    /// The operation.
    pub op: ModifyOp,
    /// Operand for SocketCAN's raw 32-bit ID, flags included. Of an XL frame only the 11 bits of
    /// its priority can change.
    pub id: Option<u32>,
    /// Operand for the length. On a classic frame it works on the raw DLC as can-gw does since
    /// Linux 5.11: 9 to 15 are 8 bytes with that DLC. What does not fit in the end stops the
    /// route.
    pub len: Option<u8>,
    /// Operand for the FD flags; no effect on other frames.
    pub flags: Option<u8>,
    /// Operand for the payload from byte 0: up to 8 bytes for a rule on classic frames, 64 for
    /// others. Shorter operands leave the bytes past them alone; of longer ones a classic frame
    /// takes the first 8 bytes. The bytes past the frame's length are changed too. A remote
    /// frame's buffer starts as zeros.
    pub data: Option<Vec<u8>>,
}

/// CRC8 as can-gw computes it (`cgw_csum_crc8_rel`). Negative indices count from the end of the
/// payload: −1 is the last byte. An index that then lies outside the frame's buffer leaves the
/// frame as it is. `from` above `to` sums downwards.
///
/// can-gw computes checksums only in a rule that modifies something; here they are computed
/// wherever they are asked for, and the importer leaves out those that can-gw would not compute.
///
/// Kernels without the fix of CVE-2026-31570 take negative indices unresolved here; this is the
/// fixed behaviour.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Crc8 {
    /// First byte of the sum.
    pub from: i16,
    /// Last byte of the sum.
    pub to: i16,
    /// Where the result goes.
    pub result: i16,
    /// Start value.
    pub init: u8,
    /// XORed into the result.
    pub final_xor: u8,
    /// The 256-entry table.
    pub table: [u8; 256],
    /// What is added after the bytes.
    pub profile: Crc8Profile,
}

impl Crc8 {
    /// The table of a polynomial, most significant bit first, as [`Crc8::table`] takes it.
    #[must_use]
    pub fn table_of(polynomial: u8) -> [u8; 256] {
        let mut table = [0; 256];
        for (value, entry) in (0_u8..=255).zip(&mut table) {
            let mut crc = value;
            for _ in 0..8 {
                let carry = crc & 0x80 != 0;
                crc <<= 1;
                if carry {
                    crc ^= polynomial;
                }
            }
            *entry = crc;
        }
        table
    }
}

/// can-gw's CRC8 profiles (`CGW_CRC8PRF_*`).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Crc8Profile {
    /// Nothing.
    None,
    /// One more byte.
    OneByte(u8),
    /// One of sixteen bytes, chosen by the low four bits of payload byte 1.
    Sixteen([u8; 16]),
    /// One more byte: the XOR of the ID's lowest byte and the next one (`SFFID_XOR`).
    SffIdXor,
}

/// XOR checksum as can-gw computes it (`cgw_csum_xor_rel`).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct XorSum {
    /// First byte of the sum.
    pub from: i16,
    /// Last byte of the sum.
    pub to: i16,
    /// Where the result goes.
    pub result: i16,
    /// Start value.
    pub init: u8,
}

/// A token bucket.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RateLimit {
    /// Frames in `per`.
    pub frames: u32,
    /// The time in which they are allowed, ns.
    pub per: Nanos,
    /// How many may come at once after a pause; at least 1.
    pub burst: u32,
    /// A bucket for each ID instead of one for the route. At most `max_ids` are kept; IDs above
    /// that share one bucket, so that memory stays bounded.
    pub per_id: Option<u32>,
}
