//! Classic BPF programs on sockets (`uapi/linux/filter.h`, `uapi/linux/bpf_common.h`): they see
//! each datagram before it is queued, and decide whether it is queued.
#![allow(
    unsafe_code,
    reason = "a socket option whose value has an address in it"
)]

use crate::Errno;
use crate::errno::last_errno;
use std::mem::size_of;
use std::os::fd::{AsFd, AsRawFd};

/// The most instructions of a program (`BPF_MAXINSNS`).
pub const MOST_INSTRUCTIONS: usize = 4096;

/// Base of the values of `k` for which a load reads data that the kernel keeps about the packet
/// (ancillary data) instead of an offset in the packet (`SKF_AD_OFF`).
const ANCILLARY: u32 = (-0x1000_i32) as u32;
/// Ancillary: the mark that the sending socket set (`SKF_AD_MARK`).
pub const MARK: u32 = ANCILLARY + 20;
/// Ancillary: the number of the interface (`SKF_AD_IFINDEX`).
pub const INTERFACE: u32 = ANCILLARY + 8;
/// Ancillary: the device's type, `ARPHRD_…` (`SKF_AD_HATYPE`).
pub const DEVICE_TYPE: u32 = ANCILLARY + 28;

/// One instruction (`struct sock_filter`). A = accumulator.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(C)]
pub struct ClassicInstruction {
    /// The operation: `BPF_LD | BPF_W | BPF_ABS` …
    pub code: u16,
    /// Number of instructions to skip where a comparison holds.
    pub jt: u8,
    /// Number of instructions to skip where it does not hold.
    pub jf: u8,
    /// A number: an offset, an operand or a distance.
    pub k: u32,
}

const _: () = assert!(size_of::<ClassicInstruction>() == size_of::<libc::sock_filter>());

impl ClassicInstruction {
    const fn new(code: u32, k: u32) -> Self {
        Self {
            code: code as u16,
            jt: 0,
            jf: 0,
            k,
        }
    }

    /// Returns the load: A = the four bytes at offset `place`, most significant first; or ancillary
    /// data in the machine's byte order, where `place` is one of the constants above.
    #[must_use]
    pub const fn load(place: u32) -> Self {
        Self::new(libc::BPF_LD | libc::BPF_W | libc::BPF_ABS, place)
    }

    /// Returns the load: A = the byte at offset `place`.
    #[must_use]
    pub const fn load_byte(place: u32) -> Self {
        Self::new(libc::BPF_LD | libc::BPF_B | libc::BPF_ABS, place)
    }

    /// Returns the operation: A &= `mask`.
    #[must_use]
    pub const fn and(mask: u32) -> Self {
        Self::new(libc::BPF_ALU | libc::BPF_AND | libc::BPF_K, mask)
    }

    /// Returns the store: scratch memory at `place` (0 to 15) = A.
    #[must_use]
    pub const fn store(place: u32) -> Self {
        Self::new(libc::BPF_ST, place)
    }

    /// Returns the load: A = scratch memory at `place` (0 to 15).
    #[must_use]
    pub const fn recall(place: u32) -> Self {
        Self::new(libc::BPF_LD | libc::BPF_W | libc::BPF_MEM, place)
    }

    /// Returns a jump that skips `jt` instructions where A == `k`, else `jf`.
    #[must_use]
    pub const fn jump_equal(k: u32, jt: u8, jf: u8) -> Self {
        let mut jump = Self::new(libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K, k);
        jump.jt = jt;
        jump.jf = jf;
        jump
    }

    /// Returns a jump that skips `jt` instructions where A & `k` is not 0, else `jf`.
    #[must_use]
    pub const fn jump_any(k: u32, jt: u8, jf: u8) -> Self {
        let mut jump = Self::new(libc::BPF_JMP | libc::BPF_JSET | libc::BPF_K, k);
        jump.jt = jt;
        jump.jf = jf;
        jump
    }

    /// Returns a jump that skips `distance` instructions.
    #[must_use]
    pub const fn jump(distance: u32) -> Self {
        Self::new(libc::BPF_JMP | libc::BPF_JA, distance)
    }

    /// Returns the end of a program: it keeps this many bytes of the packet; 0 drops it.
    #[must_use]
    pub const fn keep(bytes: u32) -> Self {
        Self::new(libc::BPF_RET | libc::BPF_K, bytes)
    }
}

/// Attaches a program to a socket, in front of its queue, and replaces the previous program, if
/// any, in one step. Packets that are already queued stay.
///
/// # Errors
/// The error of setsockopt(2): EINVAL for a program that the kernel refuses (empty, longer than
/// [`MOST_INSTRUCTIONS`], a jump beyond the end), ENOMEM for one that is too large for the socket's
/// option memory (`net.core.optmem_max`).
pub fn attach(socket: impl AsFd, program: &[ClassicInstruction]) -> Result<(), Errno> {
    let len = u16::try_from(program.len()).map_err(|_| Errno::INVAL)?;
    let program = libc::sock_fprog {
        len,
        // The kernel does not write there; the C structure has no pointer to const.
        filter: program.as_ptr().cast_mut().cast(),
    };
    // SAFETY: the option's value is one live `sock_fprog`, whose address and number are those of a
    // live slice of `ClassicInstruction`, laid out as `sock_filter` (`repr(C)`, the same fields;
    // the size is compared above). The kernel copies both during the call and writes to neither.
    // The descriptor is borrowed, so it is open.
    let result = unsafe {
        libc::setsockopt(
            socket.as_fd().as_raw_fd(),
            libc::SOL_SOCKET,
            libc::SO_ATTACH_FILTER,
            (&raw const program).cast(),
            size_of::<libc::sock_fprog>() as libc::socklen_t,
        )
    };
    if result == 0 {
        Ok(())
    } else {
        Err(last_errno())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::net::UnixDatagram;

    /// The kernel runs the attached program, on any kind of socket.
    #[test]
    fn a_program_decides_what_is_queued() {
        let (a, b) = UnixDatagram::pair().unwrap();
        b.set_nonblocking(true).unwrap();
        let program = [
            ClassicInstruction::load(0),
            ClassicInstruction::and(0xFF00_0000),
            ClassicInstruction::store(3),
            ClassicInstruction::recall(3),
            ClassicInstruction::jump_equal(0x6100_0000, 1, 0),
            ClassicInstruction::keep(0),
            ClassicInstruction::keep(u32::MAX),
        ];
        attach(&b, &program).unwrap();
        for word in [b"abcd", b"bbcd", b"aaaa"] {
            let _ = a.send(word);
        }
        let mut bytes = [0; 8];
        assert_eq!(b.recv(&mut bytes).unwrap(), 4);
        assert_eq!(&bytes[..4], b"abcd");
        assert_eq!(b.recv(&mut bytes).unwrap(), 4);
        assert_eq!(&bytes[..4], b"aaaa");
        assert!(b.recv(&mut bytes).is_err());
    }

    #[test]
    fn what_the_kernel_refuses_is_an_error() {
        let (a, _b) = UnixDatagram::pair().unwrap();
        assert_eq!(attach(&a, &[]), Err(Errno::INVAL));
        assert_eq!(
            attach(&a, &[ClassicInstruction::jump(1)]),
            Err(Errno::INVAL)
        );
        let long = vec![ClassicInstruction::keep(0); 1 << 16];
        assert_eq!(attach(&a, &long), Err(Errno::INVAL));
    }
}
