//! Jobs of can-gw as they cross the netlink socket (`uapi/linux/can/gw.h`, rtnetlink of `PF_CAN`).

pub use linux::netlink::Malformed;
use linux::netlink::{Message, Request, attribute, attributes};

/// `AF_CAN`, the family of `struct rtcanmsg`.
const AF_CAN: u8 = 29;
/// `CGW_TYPE_CAN_CAN`, the only kind of job there is.
const CAN_TO_CAN: u8 = 1;

pub(super) const RTM_NEWROUTE: u16 = 24;
pub(super) const RTM_DELROUTE: u16 = 25;
const RTM_GETROUTE: u16 = 26;

/// Bytes of `struct rtcanmsg`.
const RTCANMSG: usize = 4;

/// Local listeners on the destination see the frames (`CGW_FLAGS_CAN_ECHO`).
pub const ECHO: u16 = 1;
/// Frames keep their time stamp (`CGW_FLAGS_CAN_SRC_TSTAMP`).
pub const STAMP: u16 = 2;
/// Frames may go back to where they came in (`CGW_FLAGS_CAN_IIF_TX_OK`).
pub const SAME_PORT: u16 = 4;
/// FD frames instead of classic ones (`CGW_FLAGS_CAN_FD`).
pub const FD: u16 = 8;

/// A modification works on the ID (`CGW_MOD_ID`).
pub const MOD_ID: u8 = 1;
/// … on the length (`CGW_MOD_LEN`).
pub const MOD_LEN: u8 = 2;
/// … on the payload (`CGW_MOD_DATA`).
pub const MOD_DATA: u8 = 4;
/// … on the FD flags (`CGW_MOD_FLAGS`).
pub const MOD_FLAGS: u8 = 8;

// Attributes, `CGW_*`.
const CS_XOR: u16 = 5;
const CS_CRC8: u16 = 6;
const HANDLED: u16 = 7;
const DROPPED: u16 = 8;
const SRC_IF: u16 = 9;
const DST_IF: u16 = 10;
const FILTER: u16 = 11;
const DELETED: u16 = 12;
const LIM_HOPS: u16 = 13;
const MOD_UID: u16 = 14;
/// `CGW_MOD_AND`, `OR`, `XOR`, `SET` and their FD sisters, in the order of [`route::cangw::OPS`].
const MODS: [u16; 4] = [1, 2, 3, 4];
const FD_MODS: [u16; 4] = [15, 16, 17, 18];

/// Bytes of `struct cgw_frame_mod` and of `struct cgw_fdframe_mod`.
const MOD_SIZE: usize = 17;
const FD_MOD_SIZE: usize = 73;
/// Bytes of `struct cgw_csum_crc8`.
const CRC8_SIZE: usize = 282;

/// One modification.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub struct Modification {
    /// What it works on: [`MOD_ID`] and so on.
    pub kinds: u8,
    /// Operand for the ID with its flags.
    pub id: u32,
    /// Operand for the length.
    pub len: u8,
    /// Operand for the FD flags; 0 in a job for classic frames.
    pub flags: u8,
    /// Operand for the payload: 8 bytes, or 64 in a job for FD frames.
    pub data: Vec<u8>,
}

/// `struct cgw_csum_crc8`
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Crc8 {
    /// First byte of the sum, last byte, place of the result; negative from the frame's end.
    pub indices: [i8; 3],
    /// Start value.
    pub init: u8,
    /// XORed into the result.
    pub final_xor: u8,
    /// The table.
    pub table: [u8; 256],
    /// `CGW_CRC8PRF_*`
    pub profile: u8,
    /// What the profile needs.
    pub profile_data: [u8; 20],
}

/// `struct cgw_csum_xor`
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Xor {
    /// As those of [`Crc8`].
    pub indices: [i8; 3],
    /// Start value.
    pub init: u8,
}

/// A rule as the kernel has it: interfaces are indices, operands are raw.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub struct Job {
    /// Index of the interface where frames come in.
    pub source: u32,
    /// Index of the interface where they go out.
    pub destination: u32,
    /// [`ECHO`], [`STAMP`], [`SAME_PORT`], [`FD`].
    pub flags: u16,
    /// `limit_hops`; 0 for none.
    pub hops: u8,
    /// ID and mask of the filter; both 0 for none.
    pub filter: (u32, u32),
    /// AND, OR, XOR, SET.
    pub modify: [Option<Modification>; 4],
    /// CRC8 checksum.
    pub crc8: Option<Crc8>,
    /// XOR checksum.
    pub xor: Option<Xor>,
    /// Its mark; 0 for none. The kernel keeps it only in a job that modifies something.
    pub uid: u32,
}

/// What the kernel counted of a job; 32 bits that wrap.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Counters {
    /// Handed to the destination.
    pub handled: u32,
    /// Not taken by the destination: down, or its queue was full.
    pub dropped: u32,
    /// Too many hops, or a length that does not fit.
    pub deleted: u32,
}

/// A job in the kernel's list.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Listed {
    /// The job.
    pub job: Job,
    /// Its counters.
    pub counters: Counters,
}

/// A request for the list of all jobs.
#[must_use]
pub fn list_request() -> Request {
    Request::list(RTM_GETROUTE, vec![AF_CAN, 0, 0, 0])
}

/// A request for a new job, or, where its mark is known, for a job's new modifications.
#[must_use]
pub fn add_request(job: &Job) -> Request {
    Request::change(RTM_NEWROUTE, 0, body(job))
}

/// A request to take a job away.
#[must_use]
pub fn delete_request(job: &Job) -> Request {
    Request::change(RTM_DELROUTE, 0, body(job))
}

/// A request that changes nothing: to take away a job without interfaces. can-gw looks at the hops
/// first and answers EINVAL where there are more than its `max_hops`, then at modifications, and
/// then answers ENODEV (`cgw_parse_attr`). Without can-gw the answer is EOPNOTSUPP, without
/// permission EPERM.
#[must_use]
pub fn probe_request(job: &Job) -> Request {
    let (source, destination) = (0, 0);
    let job = Job {
        source,
        destination,
        ..job.clone()
    };
    delete_request(&job)
}

fn body(job: &Job) -> Vec<u8> {
    let mut out = vec![AF_CAN, CAN_TO_CAN];
    out.extend(job.flags.to_ne_bytes());
    let fd = job.flags & FD != 0;
    if job.hops != 0 {
        attribute(&mut out, LIM_HOPS, &[job.hops]);
    }
    let kinds = if fd { FD_MODS } else { MODS };
    for (kind, modification) in kinds.into_iter().zip(&job.modify) {
        if let Some(modification) = modification {
            attribute(&mut out, kind, &modification_bytes(modification, fd));
        }
    }
    if let Some(crc) = &job.crc8 {
        let mut bytes: Vec<u8> = crc.indices.map(i8::cast_unsigned).to_vec();
        bytes.extend([crc.init, crc.final_xor]);
        bytes.extend(crc.table);
        bytes.push(crc.profile);
        bytes.extend(crc.profile_data);
        attribute(&mut out, CS_CRC8, &bytes);
    }
    if let Some(xor) = &job.xor {
        let mut bytes: Vec<u8> = xor.indices.map(i8::cast_unsigned).to_vec();
        bytes.push(xor.init);
        attribute(&mut out, CS_XOR, &bytes);
    }
    if job.uid != 0 {
        attribute(&mut out, MOD_UID, &job.uid.to_ne_bytes());
    }
    let (id, mask) = job.filter;
    if job.filter != (0, 0) {
        let filter = [id.to_ne_bytes(), mask.to_ne_bytes()].concat();
        attribute(&mut out, FILTER, &filter);
    }
    // Two zeros would ask for the removal of all jobs; without interfaces the kernel refuses.
    for (kind, index) in [(SRC_IF, job.source), (DST_IF, job.destination)] {
        if index != 0 {
            attribute(&mut out, kind, &index.to_ne_bytes());
        }
    }
    out
}

/// `struct can_frame` or `struct canfd_frame`, and a byte that says what counts of it.
fn modification_bytes(modification: &Modification, fd: bool) -> Vec<u8> {
    let size = if fd { FD_MOD_SIZE } else { MOD_SIZE };
    let mut out = modification.id.to_ne_bytes().to_vec();
    let flags = if fd { modification.flags } else { 0 };
    out.extend([modification.len, flags, 0, 0]);
    out.extend(&modification.data);
    out.resize(size - 1, 0);
    out.push(modification.kinds);
    out
}

/// The job in a message; `None` where it is something else: rtnetlink also lists routes of other
/// families where can-gw is missing.
///
/// # Errors
/// If a job's attributes have sizes that can-gw never sends.
pub fn listed(message: &Message<'_>) -> Result<Option<Listed>, Malformed> {
    if message.kind != RTM_NEWROUTE {
        return Ok(None);
    }
    let Some((&[family, kind, low, high], rest)) = message.body.split_first_chunk::<RTCANMSG>()
    else {
        return Err(Malformed::Message);
    };
    if family != AF_CAN || kind != CAN_TO_CAN {
        return Ok(None);
    }
    let mut listed = Listed::default();
    let Listed { job, counters } = &mut listed;
    job.flags = u16::from_ne_bytes([low, high]);
    for attribute in attributes(rest) {
        let (kind, value) = attribute?;
        let fits = match kind {
            HANDLED => number(value).map(|n| counters.handled = n),
            DROPPED => number(value).map(|n| counters.dropped = n),
            DELETED => number(value).map(|n| counters.deleted = n),
            SRC_IF => number(value).map(|n| job.source = n),
            DST_IF => number(value).map(|n| job.destination = n),
            MOD_UID => number(value).map(|n| job.uid = n),
            LIM_HOPS => value.first().map(|n| job.hops = *n),
            FILTER => filter(value).map(|f| job.filter = f),
            CS_CRC8 => crc8(value).map(|crc| job.crc8 = Some(crc)),
            CS_XOR => xor(value).map(|xor| job.xor = Some(xor)),
            kind => modify(kind, value, &mut job.modify),
        };
        fits.ok_or(Malformed::Size(kind, value.len()))?;
    }
    Ok(Some(listed))
}

fn number(value: &[u8]) -> Option<u32> {
    Some(u32::from_ne_bytes(value.try_into().ok()?))
}

fn filter(value: &[u8]) -> Option<(u32, u32)> {
    let (id, mask) = value.split_first_chunk::<4>()?;
    Some((u32::from_ne_bytes(*id), number(mask)?))
}

/// Attributes of later kernels are passed over.
fn modify(kind: u16, value: &[u8], all: &mut [Option<Modification>; 4]) -> Option<()> {
    let classic = MODS.iter().position(|mods| *mods == kind);
    let fd = FD_MODS.iter().position(|mods| *mods == kind);
    let (place, size) = match (classic, fd) {
        (Some(place), _) => (place, MOD_SIZE),
        (_, Some(place)) => (place, FD_MOD_SIZE),
        _ => return Some(()),
    };
    if value.len() != size {
        return None;
    }
    let (id, rest) = value.split_first_chunk::<4>()?;
    let (&[len, flags, _, _], rest) = rest.split_first_chunk::<4>()?;
    let (kinds, data) = rest.split_last()?;
    *all.get_mut(place)? = Some(Modification {
        kinds: *kinds,
        id: u32::from_ne_bytes(*id),
        len,
        flags: if fd.is_some() { flags } else { 0 },
        data: data.to_vec(),
    });
    Some(())
}

fn crc8(value: &[u8]) -> Option<Crc8> {
    if value.len() != CRC8_SIZE {
        return None;
    }
    let (&[from, to, result, init, final_xor], rest) = value.split_first_chunk::<5>()?;
    let (table, rest) = rest.split_first_chunk::<256>()?;
    let (profile, data) = rest.split_first()?;
    Some(Crc8 {
        indices: [from, to, result].map(u8::cast_signed),
        init,
        final_xor,
        table: *table,
        profile: *profile,
        profile_data: data.try_into().ok()?,
    })
}

fn xor(value: &[u8]) -> Option<Xor> {
    let [from, to, result, init] = <[u8; 4]>::try_from(value).ok()?;
    Some(Xor {
        indices: [from, to, result].map(u8::cast_signed),
        init,
    })
}
