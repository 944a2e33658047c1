//! Programs and tables in the kernel (bpf(2)), as far as the packet sockets of this crate need
//! them: a program of a socket (`BPF_PROG_TYPE_SOCKET_FILTER`) and an array of counters
//! (`BPF_MAP_TYPE_ARRAY`).
//!
//! `Documentation/bpf/standardization/instruction-set.rst` describes the instructions of programs.
#![allow(unsafe_code, reason = "bpf(2), and a socket option")]

use crate::Errno;
use crate::errno::last_errno;
use crate::option::set;
use std::mem::size_of_val;
use std::os::fd::{AsFd, AsRawFd, FromRawFd, OwnedFd, RawFd};

// Commands, types and options of `uapi/linux/bpf.h` and `asm-generic/socket.h`.
const MAP_CREATE: libc::c_long = 0;
const MAP_LOOK_UP: libc::c_long = 1;
const PROGRAM_LOAD: libc::c_long = 5;
const SOCKET_FILTER: u32 = 1;
const ARRAY: u32 = 2;
const ATTACH_BPF: libc::c_int = 50;

/// One instruction (`struct bpf_insn`).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(C)]
pub(super) struct BpfInstruction {
    pub(super) code: u8,
    registers: u8,
    pub(super) offset: i16,
    value: i32,
}

impl BpfInstruction {
    /// Returns an instruction with these registers: destination and source.
    pub(super) const fn new(code: u8, to: u8, from: u8, offset: i16, value: i32) -> Self {
        let registers = if cfg!(target_endian = "little") {
            from << 4 | to
        } else {
            to << 4 | from
        };
        Self {
            code,
            registers,
            offset,
            value,
        }
    }
}

/// Calls bpf(2). A command's argument: words of the kernel's `union bpf_attr`, without gaps.
///
/// # Safety
/// Each address among the words must be valid for the command's use of it, for the duration of the
/// call.
unsafe fn bpf<const N: usize>(command: libc::c_long, words: &[u64; N]) -> Result<RawFd, Errno> {
    // SAFETY: the kernel reads exactly the bytes of a live array, whose size it is given; the
    // addresses in it are the caller's responsibility.
    let result =
        unsafe { libc::syscall(libc::SYS_bpf, command, words.as_ptr(), size_of_val(words)) };
    if result < 0 {
        return Err(last_errno());
    }
    RawFd::try_from(result).map_err(|_| Errno::BADF)
}

/// Joins two words of 32 bits as the kernel's structure contains them.
const fn pair(first: u32, second: u32) -> u64 {
    if cfg!(target_endian = "little") {
        (second as u64) << 32 | first as u64
    } else {
        (first as u64) << 32 | second as u64
    }
}

fn number(fd: &OwnedFd) -> Result<u32, Errno> {
    u32::try_from(fd.as_raw_fd()).map_err(|_| Errno::BADF)
}

/// An array of 64-bit counters in the kernel, which programs add to.
pub(super) struct KernelCounters(OwnedFd);

impl KernelCounters {
    /// Creates this many counters, all 0.
    pub(super) fn new(entries: u32) -> Result<Self, Errno> {
        // map_type, key_size, value_size, max_entries.
        let words = [pair(ARRAY, 4), pair(8, entries)];
        // SAFETY: there is no address among the words.
        let fd = unsafe { bpf(MAP_CREATE, &words) }?;
        // SAFETY: the kernel has just created this descriptor for this process, and no other code
        // knows it.
        Ok(Self(unsafe { OwnedFd::from_raw_fd(fd) }))
    }

    /// Returns the descriptor by which programs refer to the array.
    pub(super) fn number(&self) -> Result<i32, Errno> {
        Ok(self.0.as_raw_fd())
    }

    /// Returns the value of a counter.
    pub(super) fn get(&self, place: u32) -> Result<u64, Errno> {
        let mut value = 0_u64;
        // map_fd, a gap, the addresses of key and value, flags.
        let words = [
            pair(number(&self.0)?, 0),
            (&raw const place) as u64,
            (&raw mut value) as u64,
            0,
        ];
        // SAFETY: key and value are live variables of the sizes that the map was made with (4 and 8
        // bytes); the kernel reads the one and writes the other during the call.
        unsafe { bpf(MAP_LOOK_UP, &words) }?;
        Ok(value)
    }
}

/// Loads a program and attaches it to the socket, in front of its queue or ring, in place of
/// another one, in one step.
pub(super) fn attach(socket: impl AsFd, program: &[BpfInstruction]) -> Result<(), Errno> {
    // Linux treats the licence as compatible with the GPL, but no function that the program calls
    // requires this.
    let licence = c"Dual MIT/GPL";
    let len = u32::try_from(program.len()).map_err(|_| Errno::INVAL)?;
    // prog_type, insn_cnt, insns, license, no log.
    let words = [
        pair(SOCKET_FILTER, len),
        program.as_ptr() as u64,
        licence.as_ptr() as u64,
    ];
    // SAFETY: the addresses are those of a live slice of `len` instructions, laid out as `struct
    // bpf_insn` (`repr(C)`, 8 bytes), and of a text that ends in 0; the kernel only reads them.
    let fd = unsafe { bpf(PROGRAM_LOAD, &words) }?;
    // SAFETY: the kernel has just created this descriptor for this process, and no other code knows
    // it.
    let program = unsafe { OwnedFd::from_raw_fd(fd) };
    // The socket keeps the program; the descriptor can be closed.
    set(socket, libc::SOL_SOCKET, ATTACH_BPF, &program.as_raw_fd())
}
