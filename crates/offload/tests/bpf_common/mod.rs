//! Pairs of vxcan interfaces: frames that are sent into the outer one come in at the inner one,
//! where the table is attached, and frames that the table sends into an inner one come out of its
//! outer one.
#![allow(dead_code, unsafe_code, unreachable_pub, clippy::unwrap_used)]

use frame::{CanId, FrameBuf, FrameRef, Header, Kind};
use route::KernelPort;
use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::process::Command;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Runs a command line; returns its error output if it fails.
pub fn run(line: &str) -> Result<(), String> {
    let mut words = line.split(' ');
    let output = Command::new(words.next().unwrap())
        .args(words)
        .output()
        .map_err(|e| format!("`{line}` cannot be run ({e})"))?;
    if output.status.success() {
        return Ok(());
    }
    let text = String::from_utf8_lossy(&output.stderr);
    Err(format!("`{line}` failed ({})", text.trim()))
}

/// Pairs `p0`/`q0`, `p1`/`q1`, …; they are removed when this is dropped.
pub struct Pairs(pub usize, MutexGuard<'static, ()>);

/// Their names are the same for all tests.
static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());

impl Pairs {
    /// Creates them, or returns the reason why this machine cannot.
    pub fn new(count: usize) -> Result<Self, String> {
        if socket().is_err() {
            return Err("this kernel has no AF_CAN, or no leave to use it".to_owned());
        }
        for module in ["vxcan", "sch_ingress", "cls_bpf"] {
            let _ = run(&format!("modprobe {module}"));
        }
        let alone = ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
        let pairs = Self(count, alone);
        for n in 0..count {
            let _ = run(&format!("ip link del p{n}"));
            let made = format!("ip link add dev p{n} type vxcan peer name q{n}");
            run(&made).map_err(|why| format!("AF_CAN without vxcan: {why}"))?;
            for side in ["p", "q"] {
                run(&format!("ip link set {side}{n} mtu 72"))?;
                run(&format!("ip link set {side}{n} txqueuelen 1000 up"))?;
            }
        }
        Ok(pairs)
    }

    /// The inner interfaces: the gateway's ports.
    pub fn ports(&self) -> Vec<Option<KernelPort>> {
        (0..self.0)
            .map(|n| Some(KernelPort::new(format!("p{n}"))))
            .collect()
    }
}

impl Drop for Pairs {
    fn drop(&mut self) {
        for n in 0..self.0 {
            let _ = run(&format!("ip link del p{n}"));
        }
    }
}

fn socket() -> io::Result<OwnedFd> {
    // SAFETY: no pointers.
    let fd = unsafe {
        libc::socket(
            libc::PF_CAN,
            libc::SOCK_RAW | libc::SOCK_CLOEXEC,
            libc::CAN_RAW,
        )
    };
    if fd < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the descriptor was just opened, and has no other owner.
    Ok(unsafe { OwnedFd::from_raw_fd(fd) })
}

/// A raw socket on one interface.
pub struct Raw(OwnedFd);

impl Raw {
    pub fn open(interface: &str, loopback: bool) -> io::Result<Self> {
        let raw = Self(socket()?);
        raw.option(libc::CAN_RAW_FD_FRAMES, 1)?;
        raw.option(libc::CAN_RAW_LOOPBACK, loopback.into())?;
        raw.option(libc::CAN_RAW_ERR_FILTER, libc::CAN_ERR_MASK)?;
        let name = std::ffi::CString::new(interface).unwrap();
        // SAFETY: all bytes zero is a value of this structure of integers.
        let mut address: libc::sockaddr_can = unsafe { std::mem::zeroed() };
        address.can_family = libc::AF_CAN as libc::sa_family_t;
        // SAFETY: a string that ends with a zero.
        address.can_ifindex = unsafe { libc::if_nametoindex(name.as_ptr()) } as i32;
        let timeout = libc::timeval {
            tv_sec: 2,
            tv_usec: 0,
        };
        // SAFETY: pointers to whole structures with their sizes.
        let results = unsafe {
            [
                libc::bind(
                    raw.0.as_raw_fd(),
                    (&raw const address).cast(),
                    size_of_val(&address) as u32,
                ),
                libc::setsockopt(
                    raw.0.as_raw_fd(),
                    libc::SOL_SOCKET,
                    libc::SO_RCVTIMEO,
                    (&raw const timeout).cast(),
                    size_of_val(&timeout) as u32,
                ),
            ]
        };
        if results.iter().any(|result| *result < 0) {
            return Err(io::Error::last_os_error());
        }
        Ok(raw)
    }

    fn option(&self, option: i32, value: u32) -> io::Result<()> {
        // SAFETY: a pointer to a number with its size.
        let result = unsafe {
            libc::setsockopt(
                self.0.as_raw_fd(),
                libc::SOL_CAN_RAW,
                option,
                (&raw const value).cast(),
                4,
            )
        };
        if result < 0 {
            return Err(io::Error::last_os_error());
        }
        Ok(())
    }

    /// Sends a frame.
    pub fn send(&self, frame: FrameRef<'_>) -> io::Result<()> {
        let bytes = bytes_of(frame);
        // SAFETY: a pointer to initialized bytes with their number.
        let sent = unsafe { libc::send(self.0.as_raw_fd(), bytes.as_ptr().cast(), bytes.len(), 0) };
        if sent < 0 {
            return Err(io::Error::last_os_error());
        }
        Ok(())
    }

    /// Returns the next frame, as text that is the same for equal frames; `None` if none comes,
    /// within two seconds or immediately.
    pub fn receive(&self, wait: bool) -> Option<String> {
        self.bytes(wait).map(|bytes| text_of(&bytes))
    }

    /// Returns the ID and the data of a frame that has already come.
    pub fn take(&self) -> Option<(u32, Vec<u8>)> {
        let bytes = self.bytes(false)?;
        let id = u32::from_ne_bytes(bytes[..4].try_into().unwrap());
        Some((id, bytes[8..8 + usize::from(bytes[4])].to_vec()))
    }

    fn bytes(&self, wait: bool) -> Option<Vec<u8>> {
        let mut bytes = [0_u8; 72];
        let flags = if wait { 0 } else { libc::MSG_DONTWAIT };
        // SAFETY: a pointer to bytes with their number.
        let got = unsafe {
            libc::recv(
                self.0.as_raw_fd(),
                bytes.as_mut_ptr().cast(),
                bytes.len(),
                flags,
            )
        };
        (got > 0).then(|| bytes[..got as usize].to_vec())
    }
}

/// Returns a number from the environment.
pub fn number(name: &str, otherwise: u32) -> u32 {
    let set = std::env::var(name).ok().and_then(|n| n.parse().ok());
    set.unwrap_or(otherwise)
}

/// Returns the frame's bytes in the form of Linux.
pub fn bytes_of(frame: FrameRef<'_>) -> Vec<u8> {
    let size = if frame.kind() == Kind::Fd { 72 } else { 16 };
    let mut bytes = vec![0; size];
    bytes[..4].copy_from_slice(&frame.id().raw().to_ne_bytes());
    bytes[4] = frame.len() as u8;
    bytes[5] = frame.header().flags();
    bytes[7] = frame.header().len8_dlc();
    bytes[8..8 + frame.data().len()].copy_from_slice(frame.data());
    bytes
}

/// Returns the relevant parts of a frame.
pub fn text_of(bytes: &[u8]) -> String {
    let id = u32::from_ne_bytes(bytes[..4].try_into().unwrap());
    let fd = bytes.len() == 72;
    let len = usize::from(bytes[4]);
    let data = if !fd && CanId::from_raw(id).is_rtr() {
        &[][..]
    } else {
        &bytes[8..8 + len.min(bytes.len() - 8)]
    };
    format!(
        "{id:08X} fd={fd} len={len} flags={:X} dlc={} {data:02X?}",
        if fd { bytes[5] & !4 } else { 0 },
        if fd { 0 } else { bytes[7] },
    )
}

/// A frame of any kind but XL.
pub fn frame(kind: Kind, raw: u32, len: usize, flags: u8, dlc: u8, data: &[u8]) -> FrameBuf {
    let header = Header::new(kind, CanId::from_raw(raw), len)
        .unwrap()
        .with_flags(flags)
        .with_len8_dlc(dlc);
    let mut buf = FrameBuf::new();
    buf.reset(header);
    let count = header.data_len();
    buf.buffer_mut()[..count].copy_from_slice(&data[..count]);
    buf
}
