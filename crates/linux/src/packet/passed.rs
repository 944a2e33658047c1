//! Facts that a socket's program can report in addition to its decision whether a frame is taken:
//! the interface of the frame, and whether a socket of this machine sent it.
//!
//! A packet socket counts the frames that it drops for all interfaces together, and its rings do
//! not show whether a frame is the echo of one that was sent. A program of the kernel's present BPF
//! knows both: `__sk_buff::ifindex` is the interface, and `__sk_buff::sk` is set where a frame
//! comes back from the driver as an echo (`can_create_echo_skb`; raw sockets set MSG_DONTROUTE by
//! the same criterion, `raw_rcv` of net/can/raw.c). So the filter's classic program is translated,
//! and two things are added where it keeps a frame.

use super::kernel::{self, BpfInstruction, KernelCounters};
use super::program::{AT_LEAST, FilterProgram, MORE};
use crate::Errno;
use crate::classic_bpf::{ClassicInstruction, DEVICE_TYPE, INTERFACE};
use std::os::fd::AsFd;

/// Number of counters: interfaces with an index below this one have a counter of their own, the
/// others share the first.
const COUNTERS: u32 = 4096;
/// `ARPHRD_CAN`
const CAN: i32 = 280;
/// `ETH_P_CAN`, `ETH_P_CANFD`, `ETH_P_CANXL`: only CAN devices have such frames.
const PROTOCOLS: [u16; 3] = [0x000C, 0x000D, 0x000E];

// Members of `struct __sk_buff` (`uapi/linux/bpf.h`), in bytes from its start.
const PROTOCOL_AT: i16 = 16;
const INTERFACE_AT: i16 = 40;
const SOCKET_AT: i16 = 168;

// Codes of instructions.
const LOAD_WORD: u8 = 0x61;
const LOAD_DOUBLE: u8 = 0x79;
const LOAD_FRAME: u8 = 0x20;
const LOAD_MAP: u8 = 0x18;
const STORE_WORD: u8 = 0x63;
const ADD_ATOMIC: u8 = 0xDB;
const SET: u8 = 0xB7;
const COPY: u8 = 0xBF;
const ADD: u8 = 0x07;
const AND_32: u8 = 0x54;
const GO: u8 = 0x05;
const IF_EQUAL: u8 = 0x15;
const IF_BELOW: u8 = 0xA5;
// Comparisons of the lower 32 bits, each with its opposite.
const IF_EQUAL_32: u8 = 0x16;
const IF_OTHER_32: u8 = 0x56;
const IF_MORE_32: u8 = 0x26;
const IF_AT_MOST_32: u8 = 0xB6;
const IF_AT_LEAST_32: u8 = 0x36;
const IF_BELOW_32: u8 = 0xA6;
const CALL: u8 = 0x85;
const END: u8 = 0x95;
/// `bpf_map_lookup_elem`
const LOOK_UP: i32 = 1;
/// `BPF_PSEUDO_MAP_FD`
const MAP: u8 = 1;

/// Counters of the frames that a ring's filter has let through, by interface.
pub struct PassedCounts(KernelCounters);

impl PassedCounts {
    /// Creates the counters, all 0.
    ///
    /// # Errors
    /// EPERM without CAP_BPF (before Linux 5.8 CAP_SYS_ADMIN), ENOSYS where the kernel has no
    /// bpf(2).
    pub fn new() -> Result<Self, Errno> {
        Ok(Self(KernelCounters::new(COUNTERS)?))
    }

    /// Returns the count of the interface with this index; `None` where it shares its counter with
    /// others.
    ///
    /// # Errors
    /// The error of bpf(2).
    pub fn read(&self, interface: u32) -> Result<Option<u64>, Errno> {
        if interface == 0 || interface >= COUNTERS {
            return Ok(None);
        }
        self.0.get(interface).map(Some)
    }

    /// Attaches the program to a socket; the frames that it keeps are counted here from now on.
    pub(super) fn attach(&self, socket: impl AsFd, program: &FilterProgram) -> Result<(), Errno> {
        let end = count(self.0.number()?);
        kernel::attach(socket, &translate(program, &PROTOCOLS, &end)?)
    }
}

/// Attaches a program to a socket that keeps, of the frames that `program` keeps, only the echoes
/// of frames that sockets of this machine sent, and of those the first `bytes` bytes.
pub(super) fn attach_sent(
    socket: impl AsFd,
    program: &FilterProgram,
    bytes: u16,
) -> Result<(), Errno> {
    kernel::attach(socket, &translate(program, &PROTOCOLS, &sent(bytes))?)
}

const fn load(code: u8, to: u8, at: i16) -> BpfInstruction {
    BpfInstruction::new(code, to, CONTEXT, at, 0)
}

const fn set(to: u8, value: i32) -> BpfInstruction {
    BpfInstruction::new(SET, to, 0, 0, value)
}

const fn go(code: u8, register: u8, value: i32, over: i16) -> BpfInstruction {
    BpfInstruction::new(code, register, 0, over, value)
}

/// The register in which a program keeps the address of the frame's `__sk_buff`: calls leave this
/// register alone, and loads from the frame require the address there.
const CONTEXT: u8 = 6;
/// The register that addresses the stack's end.
const STACK: u8 = 10;
const DONE: BpfInstruction = BpfInstruction::new(END, 0, 0, 0, 0);

/// Returns the instructions that count the frame and keep all of it.
fn count(map: i32) -> Vec<BpfInstruction> {
    vec![
        load(LOAD_WORD, 1, INTERFACE_AT),
        go(IF_BELOW, 1, COUNTERS as i32, 1),
        set(1, 0),
        BpfInstruction::new(STORE_WORD, STACK, 1, -4, 0),
        BpfInstruction::new(COPY, 2, STACK, 0, 0),
        BpfInstruction::new(ADD, 2, 0, 0, -4),
        BpfInstruction::new(LOAD_MAP, 1, MAP, 0, map),
        BpfInstruction::new(0, 0, 0, 0, 0),
        BpfInstruction::new(CALL, 0, 0, 0, LOOK_UP),
        go(IF_EQUAL, 0, 0, 2),
        set(1, 1),
        BpfInstruction::new(ADD_ATOMIC, 0, 1, 0, 0),
        set(0, -1),
        DONE,
    ]
}

/// Returns the instructions that keep this many bytes of the frame if a socket of this machine sent
/// it.
fn sent(bytes: u16) -> Vec<BpfInstruction> {
    vec![
        load(LOAD_DOUBLE, 1, SOCKET_AT),
        set(0, 0),
        go(IF_EQUAL, 1, 0, 1),
        set(0, i32::from(bytes)),
        DONE,
    ]
}

/// Returns which instructions can be reached: the kernel refuses programs with unreachable ones.
/// Jumps lead forward only.
fn reached(classic: &[ClassicInstruction]) -> Vec<bool> {
    let mut reached = vec![false; classic.len()];
    let reach = |to: usize, reached: &mut Vec<bool>| {
        if let Some(one) = reached.get_mut(to) {
            *one = true;
        }
    };
    reach(0, &mut reached);
    for (at, one) in classic.iter().enumerate() {
        let class = u32::from(one.code) & 7;
        if !reached.get(at).is_some_and(|reached| *reached) || class == libc::BPF_RET {
            continue;
        }
        let next = at + 1;
        if one.code == ClassicInstruction::jump(0).code {
            reach(next + one.k as usize, &mut reached);
        } else {
            reach(next + usize::from(one.jt), &mut reached);
            reach(next + usize::from(one.jf), &mut reached);
        }
    }
    reached
}

/// Translates the classic program to the kernel's present instructions; `end` replaces "keep all".
fn translate(
    program: &FilterProgram,
    protocols: &[u16],
    end: &[BpfInstruction],
) -> Result<Vec<BpfInstruction>, Errno> {
    let classic = program.instructions();
    let mut out = vec![BpfInstruction::new(COPY, CONTEXT, 1, 0, 0)];
    // The start of each instruction, and the jumps to resolve: the operation and its target.
    let mut begins = Vec::with_capacity(classic.len());
    let mut jumps: Vec<(usize, Option<usize>)> = Vec::new();
    let code = |i: ClassicInstruction| i.code;
    let reached = reached(classic);
    for (at, one) in classic.iter().enumerate() {
        begins.push(out.len());
        if !reached.get(at).is_some_and(|reached| *reached) {
            continue;
        }
        let mut jump = |out: &mut Vec<BpfInstruction>, op: BpfInstruction, to: Option<usize>| {
            jumps.push((out.len(), to));
            out.push(op);
        };
        let over = |n: u32| Some(at + 1 + n as usize);
        let condition = match one.code {
            c if c == code(ClassicInstruction::jump_equal(0, 0, 0)) => {
                Some((IF_EQUAL_32, IF_OTHER_32))
            }
            AT_LEAST => Some((IF_AT_LEAST_32, IF_BELOW_32)),
            MORE => Some((IF_MORE_32, IF_AT_MOST_32)),
            _ => None,
        };
        let value = one.k.cast_signed();
        if let Some((holds, not)) = condition {
            // One of the two branches mostly leads to the next instruction.
            if one.jt == 0 {
                jump(&mut out, go(not, 0, value, 0), over(one.jf.into()));
            } else {
                jump(&mut out, go(holds, 0, value, 0), over(one.jt.into()));
                if one.jf != 0 {
                    jump(&mut out, go(GO, 0, 0, 0), over(one.jf.into()));
                }
            }
        } else if one.code == code(ClassicInstruction::jump(0)) {
            jump(&mut out, go(GO, 0, 0, 0), over(one.k));
        } else if *one == ClassicInstruction::keep(0) {
            out.extend([set(0, 0), DONE]);
        } else if one.code == code(ClassicInstruction::keep(0)) {
            jump(&mut out, go(GO, 0, 0, 0), None);
        } else if one.code == code(ClassicInstruction::and(0)) {
            out.push(BpfInstruction::new(AND_32, 0, 0, 0, value));
        } else if *one == ClassicInstruction::load(DEVICE_TYPE) {
            out.push(load(LOAD_WORD, 0, PROTOCOL_AT));
            for (n, protocol) in protocols.iter().enumerate() {
                let left = (protocols.len() - 1 - n) as i16;
                let network = i32::from(protocol.to_be());
                out.push(go(IF_EQUAL, 0, network, left + 2));
            }
            out.extend([set(0, 0), go(GO, 0, 0, 1), set(0, CAN)]);
        } else if *one == ClassicInstruction::load(INTERFACE) {
            out.push(load(LOAD_WORD, 0, INTERFACE_AT));
        } else if one.code == code(ClassicInstruction::load(0)) {
            out.push(BpfInstruction::new(LOAD_FRAME, 0, 0, 0, value));
        } else {
            return Err(Errno::INVAL);
        }
    }
    let keep = out.len();
    let keeps = jumps.iter().any(|(_, to)| to.is_none());
    for (at, to) in jumps {
        let to = match to {
            None => keep,
            Some(to) => *begins.get(to).ok_or(Errno::INVAL)?,
        };
        let over = i16::try_from(to - at - 1).map_err(|_| Errno::TOOBIG)?;
        if let Some(op) = out.get_mut(at) {
            op.offset = over;
        }
    }
    if keeps {
        out.extend_from_slice(end);
    }
    Ok(out)
}

#[cfg(test)]
mod tests;
