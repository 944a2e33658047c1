//! The behaviour of `net/can/gw.c` and `net/can/af_can.c` of Linux 7, in the simplest form, for
//! comparison with the compiled table. Written from the semantics of those files, not from their
//! text.

use cangate_route::{Crc8, Crc8Profile, XorSum};

/// `struct canfd_frame`; the first 16 bytes of it are `struct can_frame`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct KernelFrame {
    pub fd: bool,
    pub can_id: u32,
    pub len: u8,
    pub flags: u8,
    pub len8_dlc: u8,
    pub data: [u8; 64],
}

/// The operand of one of AND, OR, XOR, SET, and which parts of it count (`CGW_MOD_*`).
#[derive(Clone, Debug)]
pub struct Operand {
    pub id: bool,
    pub len: bool,
    pub data: bool,
    pub flags: bool,
    pub frame: KernelFrame,
}

/// A can-gw rule.
#[derive(Clone, Debug)]
pub struct Job {
    pub fd: bool,
    pub filter_id: u32,
    pub filter_mask: u32,
    /// AND, OR, XOR, SET.
    pub modify: [Option<Operand>; 4],
    pub crc8: Option<Crc8>,
    pub xor: Option<XorSum>,
    pub limit_hops: u8,
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Outcome {
    /// The rule never received the frame.
    NotSeen,
    /// Counted as deleted.
    Deleted,
    Sent(KernelFrame, u8),
}

/// Returns whether af_can delivers the frame to a receiver registered with this filter.
fn af_can(filter_id: u32, filter_mask: u32, can_id: u32) -> bool {
    let inverted = filter_id & 0x2000_0000 != 0;
    if filter_mask & 0x2000_0000 != 0 {
        return can_id & 0x2000_0000 != 0 && can_id & filter_mask & 0x1FFF_FFFF != 0;
    }
    if can_id & 0x2000_0000 != 0 {
        return false;
    }
    let sff_format_asked = filter_mask & 0x8000_0000 != 0 && filter_id & 0x8000_0000 == 0;
    let mask = if sff_format_asked {
        filter_mask & 0xC000_07FF
    } else {
        filter_mask
    };
    let agrees = can_id & mask == filter_id & mask;
    agrees != inverted
}

pub fn process(job: &Job, frame: &KernelFrame, hops: u8, max_hops: u8) -> Outcome {
    if job.fd != frame.fd || !af_can(job.filter_id, job.filter_mask, frame.can_id) {
        return Outcome::NotSeen;
    }
    if hops >= max_hops {
        return Outcome::Deleted;
    }
    let mut out_hops = hops + 1;
    if job.limit_hops > 0 && out_hops == 1 {
        out_hops = max_hops - job.limit_hops + 1;
    }
    let mut out = frame.clone();
    let mut modified = false;
    for (which, operand) in job.modify.iter().enumerate() {
        let Some(operand) = operand else { continue };
        let apply = |old: u8, operand: u8| match which {
            0 => old & operand,
            1 => old | operand,
            2 => old ^ operand,
            _ => operand,
        };
        if operand.id {
            let old = out.can_id.to_ne_bytes();
            let by = operand.frame.can_id.to_ne_bytes();
            out.can_id = u32::from_ne_bytes(std::array::from_fn(|i| apply(old[i], by[i])));
        }
        if operand.len {
            if job.fd {
                out.len = apply(out.len, operand.frame.len);
            } else {
                let has_raw_dlc = out.len == 8 && (9..=15).contains(&out.len8_dlc);
                if has_raw_dlc && which != 3 {
                    out.len = out.len8_dlc;
                }
                out.len = apply(out.len, operand.frame.len);
                out.len8_dlc = 0;
                if (9..=15).contains(&out.len) {
                    out.len8_dlc = out.len;
                    out.len = 8;
                }
            }
        }
        if operand.flags && job.fd {
            out.flags = apply(out.flags, operand.frame.flags);
        }
        if operand.data {
            for i in 0..if job.fd { 64 } else { 8 } {
                out.data[i] = apply(out.data[i], operand.frame.data[i]);
            }
        }
        modified |= operand.id || operand.len || operand.data || (operand.flags && job.fd);
    }
    if modified {
        if out.len > if job.fd { 64 } else { 8 } {
            return Outcome::Deleted;
        }
        let len = u32::from(out.len);
        let size = if job.fd { 64 } else { 8 };
        if let Some(crc8) = &job.crc8 {
            crc8_rel(crc8, out.can_id, len, &mut out.data[..size]);
        }
        if let Some(xor) = &job.xor {
            xor_rel(xor, len, &mut out.data[..size]);
        }
    }
    Outcome::Sent(out, out_hops)
}

/// Resolves an index; negative ones count from the end of the payload. The kernel refuses rules
/// whose index could be after the end of the buffer, so it must skip only those before its
/// beginning; cangate has one rule for several kinds of frame and skips both.
fn resolve(index: i16, len: u32, size: usize) -> Option<usize> {
    let at = if index < 0 {
        i64::from(len) + i64::from(index)
    } else {
        i64::from(index)
    };
    (at >= 0 && at < size as i64).then_some(at as usize)
}

/// Returns the indices of a sum in its order: upwards, or downwards if it starts above its end.
fn order(from: usize, to: usize) -> Vec<usize> {
    if from <= to {
        (from..=to).collect()
    } else {
        (to..=from).rev().collect()
    }
}

pub fn xor_rel(sum: &XorSum, len: u32, data: &mut [u8]) {
    let size = data.len();
    let (Some(from), Some(to), Some(result)) = (
        resolve(sum.from, len, size),
        resolve(sum.to, len, size),
        resolve(sum.result, len, size),
    ) else {
        return;
    };
    let mut value = sum.init;
    for at in order(from, to) {
        value ^= data[at];
    }
    data[result] = value;
}

pub fn crc8_rel(crc8: &Crc8, can_id: u32, len: u32, data: &mut [u8]) {
    let size = data.len();
    let (Some(from), Some(to), Some(result)) = (
        resolve(crc8.from, len, size),
        resolve(crc8.to, len, size),
        resolve(crc8.result, len, size),
    ) else {
        return;
    };
    let mut crc = crc8.init;
    for at in order(from, to) {
        crc = crc8.table[usize::from(crc ^ data[at])];
    }
    let more = match crc8.profile {
        Crc8Profile::None => None,
        Crc8Profile::OneByte(byte) => Some(byte),
        Crc8Profile::Sixteen(bytes) => Some(bytes[usize::from(data[1] % 16)]),
        Crc8Profile::SffIdXor => Some((can_id % 256) as u8 ^ ((can_id / 256) % 256) as u8),
    };
    if let Some(more) = more {
        crc = crc8.table[usize::from(crc ^ more)];
    }
    data[result] = crc ^ crc8.final_xor;
}
