//! The system calls. All `unsafe` of this port is here.
#![allow(unsafe_code)]

use super::Io;
use super::control::CONTROL_SIZE;
use super::line::{Line, Link};
use crate::RawFilter;
use rustix::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd, RawFd};
use rustix::io::Errno;
use rustix::net::{AddressFamily, Protocol, SocketFlags, SocketType, socket_with};
use std::mem::{size_of, size_of_val, zeroed};

/// `CAN_RAW_XL_VCID_OPTS` (`uapi/linux/can/raw.h`, Linux 6.9).
const CAN_RAW_XL_VCID_OPTS: libc::c_int = 8;
/// Send with the frame's own VCID, and receive every VCID: `CAN_RAW_XL_VCID_TX_PASS` and
/// `CAN_RAW_XL_VCID_RX_FILTER` with value and mask 0.
const ANY_VCID: [u8; 4] = [0x02 | 0x04, 0, 0, 0];
/// `SO_MEMINFO` (`uapi/asm-generic/socket.h`): counters of a socket's memory.
const SO_MEMINFO: libc::c_int = 55;
/// How many there are, and which one counts lost datagrams (`uapi/linux/sock_diag.h`).
const SK_MEMINFO_VARS: usize = 9;
const SK_MEMINFO_DROPS: usize = 8;
/// `ARPHRD_CAN`: what the kernel calls the hardware type of CAN interfaces.
pub(super) const ARPHRD_CAN: u32 = 280;

/// A raw socket on one interface.
pub(super) struct Socket {
    fd: OwnedFd,
    name: String,
    io: Io,
}

/// What the socket is asked for at the start.
#[derive(Clone, Copy)]
pub(super) struct Wishes {
    pub(super) fd: bool,
    pub(super) xl: bool,
    pub(super) hardware_stamps: bool,
    pub(super) receive_buffer: Option<u32>,
    pub(super) io: Io,
}

impl Socket {
    /// Opens a socket that is attached to nothing yet.
    pub(super) fn open(name: &str) -> Result<Self, Errno> {
        let family = AddressFamily::from_raw(libc::AF_CAN as u16);
        let protocol = u32::try_from(libc::CAN_RAW).ok();
        let protocol = protocol.and_then(|p| Some(Protocol::from_raw(p.try_into().ok()?)));
        let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
        let fd = socket_with(family, SocketType::RAW, flags, protocol)?;
        Ok(Self {
            fd,
            name: name.to_owned(),
            io: Io::default(),
        })
    }

    /// A socket of another family, to test with.
    #[cfg(test)]
    pub(super) fn of(fd: OwnedFd) -> Self {
        Self {
            fd,
            name: String::new(),
            io: Io::default(),
        }
    }

    /// Sets what stays set for the socket's life. The error frames are all asked for: they say
    /// when the controller goes bus-off and comes back.
    pub(super) fn prepare(&mut self, wishes: Wishes) -> Result<(), Errno> {
        self.io = wishes.io;
        let on: libc::c_int = 1;
        let raw = libc::SOL_CAN_RAW;
        if wishes.fd {
            self.set(raw, libc::CAN_RAW_FD_FRAMES, &on)?;
        }
        if wishes.xl {
            self.set(raw, libc::CAN_RAW_XL_FRAMES, &on)?;
            // Unknown before Linux 6.9, which has no VCIDs to lose either.
            let _ = self.set(raw, CAN_RAW_XL_VCID_OPTS, &ANY_VCID);
        }
        self.set(raw, libc::CAN_RAW_ERR_FILTER, &libc::CAN_ERR_MASK)?;
        if wishes.io == Io::Mmsg {
            self.ask_for_stamps(wishes)?;
        }
        match wishes.receive_buffer {
            Some(bytes) => self.set_receive_buffer(bytes),
            None => Ok(()),
        }
    }

    /// Bytes that may wait to be received; the kernel doubles it. Above net.core.rmem_max only
    /// with CAP_NET_ADMIN, and quietly less without.
    pub(super) fn set_receive_buffer(&self, bytes: u32) -> Result<(), Errno> {
        let bytes = libc::c_int::try_from(bytes).unwrap_or(libc::c_int::MAX);
        self.set(libc::SOL_SOCKET, libc::SO_RCVBUFFORCE, &bytes)
            .or_else(|_| self.set(libc::SOL_SOCKET, libc::SO_RCVBUF, &bytes))
    }

    /// What comes beside a frame, in its control data; read(2) has none.
    fn ask_for_stamps(&self, wishes: Wishes) -> Result<(), Errno> {
        let on: libc::c_int = 1;
        let mut stamps = libc::SOF_TIMESTAMPING_RX_SOFTWARE | libc::SOF_TIMESTAMPING_SOFTWARE;
        if wishes.hardware_stamps {
            stamps |= libc::SOF_TIMESTAMPING_RX_HARDWARE | libc::SOF_TIMESTAMPING_RAW_HARDWARE;
        }
        self.set(libc::SOL_SOCKET, libc::SO_TIMESTAMPING, &stamps)?;
        self.set(libc::SOL_SOCKET, libc::SO_RXQ_OVFL, &on)
    }

    /// Bytes that may wait to be sent; the kernel doubles it and has a least one.
    pub(super) fn set_send_buffer(&self, bytes: u32) -> Result<(), Errno> {
        let bytes = libc::c_int::try_from(bytes).unwrap_or(libc::c_int::MAX);
        self.set(libc::SOL_SOCKET, libc::SO_SNDBUFFORCE, &bytes)
            .or_else(|_| self.set(libc::SOL_SOCKET, libc::SO_SNDBUF, &bytes))
    }

    /// Bytes of the receive buffer.
    pub(super) fn receive_buffer(&self) -> Result<u32, Errno> {
        rustix::net::sockopt::socket_recv_buffer_size(&self.fd)
            .map(|bytes| u32::try_from(bytes).unwrap_or(u32::MAX))
    }

    /// Datagrams lost for want of room.
    pub(super) fn lost_in_all(&self) -> Option<u32> {
        let mut info = [0u32; SK_MEMINFO_VARS];
        let mut len = size_of_val(&info) as libc::socklen_t;
        // SAFETY: the pointer and `len` are those of one live array of integers, into which the
        // kernel writes at most `len` bytes; the descriptor is open: `self.fd` owns it.
        let result = unsafe {
            libc::getsockopt(
                self.fd.as_raw_fd(),
                libc::SOL_SOCKET,
                SO_MEMINFO,
                info.as_mut_ptr().cast(),
                &raw mut len,
            )
        };
        let filled = len as usize / size_of::<u32>();
        (result == 0 && filled > SK_MEMINFO_DROPS).then(|| info[SK_MEMINFO_DROPS])
    }

    /// One datagram by read(2).
    pub(super) fn read(&self, into: &mut [u8]) -> Result<usize, Errno> {
        rustix::io::read(&self.fd, into)
    }

    /// One datagram by write(2).
    pub(super) fn write(&self, datagram: &[u8]) -> Result<usize, Errno> {
        rustix::io::write(&self.fd, datagram)
    }

    fn set<T: Copy>(&self, level: i32, option: i32, value: &T) -> Result<(), Errno> {
        self.set_slice(level, option, std::slice::from_ref(value))
    }

    fn set_slice<T: Copy>(&self, level: i32, option: i32, values: &[T]) -> Result<(), Errno> {
        // SAFETY: the pointer and the length in bytes are those of one live slice, which the
        // kernel only reads during the call; an empty slice's pointer is not read, its length
        // is 0. The descriptor is open: `self.fd` owns it.
        let result = unsafe {
            libc::setsockopt(
                self.fd.as_raw_fd(),
                level,
                option,
                values.as_ptr().cast(),
                size_of_val(values) as libc::socklen_t,
            )
        };
        if result == 0 { Ok(()) } else { Err(errno()) }
    }

    /// An `ifreq` for this interface.
    fn request(&self) -> Result<libc::ifreq, Errno> {
        // SAFETY: `ifreq` is plain C data (integers, arrays, and a union of such and a pointer);
        // all zero bytes are a value of it.
        let mut request: libc::ifreq = unsafe { zeroed() };
        let name = self.name.as_bytes();
        if name.len() >= request.ifr_name.len() {
            return Err(Errno::NAMETOOLONG);
        }
        for (to, from) in request.ifr_name.iter_mut().zip(name) {
            *to = *from as libc::c_char;
        }
        Ok(request)
    }

    fn ask(&self, command: libc::c_ulong) -> Result<libc::ifreq, Errno> {
        let mut request = self.request()?;
        // SAFETY: `command` is one of SIOCGIFMTU and SIOCGIFFLAGS (the callers below), which
        // read `ifr_name`, zero-terminated as `request` made it, and write into the union of
        // this live `ifreq`.
        let result = unsafe { libc::ioctl(self.fd.as_raw_fd(), command as _, &mut request) };
        if result < 0 {
            Err(errno())
        } else {
            Ok(request)
        }
    }
}

impl AsFd for Socket {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}

impl Line for Socket {
    fn fd(&self) -> RawFd {
        self.fd.as_raw_fd()
    }

    fn look(&self) -> Result<Link, Errno> {
        let index = rustix::net::netdevice::name_to_index(self.fd.as_fd(), &self.name)?;
        let mtu = self.ask(libc::SIOCGIFMTU)?;
        let flags = self.ask(libc::SIOCGIFFLAGS)?;
        // SAFETY: SIOCGIFMTU wrote `ifru_mtu`, SIOCGIFFLAGS `ifru_flags` (netdevice(7)); both are
        // integers, for which any bytes are valid.
        let (mtu, flags) = unsafe { (mtu.ifr_ifru.ifru_mtu, flags.ifr_ifru.ifru_flags) };
        let flags = libc::c_int::from(flags);
        Ok(Link {
            index,
            mtu: usize::try_from(mtu).unwrap_or(0),
            up: flags & libc::IFF_UP != 0,
            running: flags & libc::IFF_RUNNING != 0,
            echo: has_echo(&self.name),
        })
    }

    fn attach(&self, index: u32) -> Result<(), Errno> {
        // SAFETY: as for `ifreq`: integers and a union of integers, valid when all zero.
        let mut address: libc::sockaddr_can = unsafe { zeroed() };
        address.can_family = libc::AF_CAN as libc::sa_family_t;
        address.can_ifindex = libc::c_int::try_from(index).map_err(|_| Errno::NODEV)?;
        // SAFETY: pointer and length are those of one live `sockaddr_can`, which the kernel reads
        // during the call.
        let result = unsafe {
            libc::bind(
                self.fd.as_raw_fd(),
                (&raw const address).cast(),
                size_of::<libc::sockaddr_can>() as libc::socklen_t,
            )
        };
        if result == 0 { Ok(()) } else { Err(errno()) }
    }

    fn set_filters(&self, filters: &[RawFilter]) -> Result<(), Errno> {
        let raw = |f: &RawFilter| libc::can_filter {
            can_id: f.id,
            can_mask: f.mask,
        };
        let list: Vec<libc::can_filter> = filters.iter().map(raw).collect();
        self.set_slice(libc::SOL_CAN_RAW, libc::CAN_RAW_FILTER, &list)
    }

    fn set_loopback(&self, on: bool) -> Result<(), Errno> {
        let on = libc::c_int::from(on);
        self.set(libc::SOL_CAN_RAW, libc::CAN_RAW_LOOPBACK, &on)
    }

    fn receive(&self, inbox: &mut Inbox, want: usize) -> Result<usize, Errno> {
        match self.io {
            Io::Mmsg => receive(self.fd.as_raw_fd(), inbox, want),
            Io::ReadWrite => read_one(&self.fd, inbox),
        }
    }

    fn send(&self, outbox: &mut Outbox, first: usize, count: usize) -> Result<usize, Errno> {
        match self.io {
            Io::Mmsg => send(self.fd.as_raw_fd(), outbox, first, count),
            Io::ReadWrite => write_one(&self.fd, outbox, first),
        }
    }

    fn lost(&self) -> Option<u32> {
        match self.io {
            // Said beside the frames.
            Io::Mmsg => None,
            Io::ReadWrite => self.lost_in_all(),
        }
    }
}

/// Does the driver echo sent frames to local listeners (`IFF_ECHO`, which does not fit into
/// `ifr_flags`)?
fn has_echo(name: &str) -> bool {
    const IFF_ECHO: u32 = 1 << 18;
    std::fs::read_to_string(format!("/sys/class/net/{name}/flags"))
        .ok()
        .and_then(|text| u32::from_str_radix(text.trim().trim_start_matches("0x"), 16).ok())
        .is_some_and(|flags| flags & IFF_ECHO != 0)
}

pub(super) fn errno() -> Errno {
    Errno::from_io_error(&std::io::Error::last_os_error()).unwrap_or(Errno::IO)
}

/// Buffers for datagrams that come in, allocated once.
pub(super) struct Inbox {
    slot: usize,
    data: Box<[u8]>,
    control: Box<[u8]>,
    headers: Vec<libc::mmsghdr>,
    vectors: Vec<libc::iovec>,
}

/// Buffers for datagrams that go out, allocated once.
pub(super) struct Outbox {
    slot: usize,
    data: Box<[u8]>,
    lens: Box<[usize]>,
    headers: Vec<libc::mmsghdr>,
    vectors: Vec<libc::iovec>,
}

// SAFETY: what keeps these from being Send are the raw pointers in `headers` and `vectors`. They
// are written by `receive` and `send` before each system call and used in no other way than by
// that call, within the same borrow of the whole; to whom they point is of no meaning afterwards.
unsafe impl Send for Inbox {}
// SAFETY: as for Inbox.
unsafe impl Send for Outbox {}

impl Inbox {
    /// Room for `count` datagrams of at most `slot` bytes.
    pub(super) fn new(count: usize, slot: usize) -> Self {
        Self {
            slot,
            data: vec![0; count * slot].into_boxed_slice(),
            control: vec![0; count * CONTROL_SIZE].into_boxed_slice(),
            headers: Vec::with_capacity(count),
            vectors: Vec::with_capacity(count),
        }
    }

    pub(super) fn capacity(&self) -> usize {
        self.data.len() / self.slot
    }

    /// The bytes and the control data of a datagram of the last call.
    pub(super) fn get(&self, i: usize) -> Option<(&[u8], &[u8])> {
        let header = self.headers.get(i)?;
        let data = self.data.chunks_exact(self.slot).nth(i)?;
        let control = self.control.chunks_exact(CONTROL_SIZE).nth(i)?;
        let len = (header.msg_len as usize).min(data.len());
        #[allow(clippy::unnecessary_cast)] // 32 bits wide with musl
        let control_len = (header.msg_hdr.msg_controllen as usize).min(control.len());
        Some((&data[..len], &control[..control_len]))
    }

    /// Was a datagram of the last call sent on this machine (raw(7): MSG_DONTROUTE)?
    pub(super) fn is_local(&self, i: usize) -> bool {
        let header = self.headers.get(i);
        header.is_some_and(|h| h.msg_hdr.msg_flags & libc::MSG_DONTROUTE != 0)
    }
}

impl Outbox {
    /// Room for `count` datagrams of at most `slot` bytes.
    pub(super) fn new(count: usize, slot: usize) -> Self {
        Self {
            slot,
            data: vec![0; count * slot].into_boxed_slice(),
            lens: vec![0; count].into_boxed_slice(),
            headers: Vec::with_capacity(count),
            vectors: Vec::with_capacity(count),
        }
    }

    pub(super) fn capacity(&self) -> usize {
        self.lens.len()
    }

    /// A slot's bytes and the length of its datagram, to be written.
    pub(super) fn slot(&mut self, i: usize) -> Option<(&mut [u8], &mut usize)> {
        let data = self.data.chunks_exact_mut(self.slot).nth(i)?;
        Some((data, self.lens.get_mut(i)?))
    }
}

pub(super) fn header(
    vector: *mut libc::iovec,
    control: *mut libc::c_void,
    control_len: usize,
) -> libc::mmsghdr {
    // SAFETY: `mmsghdr` is integers and pointers, for which zero is valid.
    let mut header: libc::mmsghdr = unsafe { zeroed() };
    header.msg_hdr.msg_iov = vector;
    header.msg_hdr.msg_iovlen = 1;
    header.msg_hdr.msg_control = control;
    header.msg_hdr.msg_controllen = control_len as _;
    header
}

/// `recvmmsg` of at most `want` datagrams into the inbox, without waiting.
pub(super) fn receive(fd: RawFd, inbox: &mut Inbox, want: usize) -> Result<usize, Errno> {
    let want = want.min(inbox.capacity());
    inbox.headers.clear();
    inbox.vectors.clear();
    let data = inbox.data.chunks_exact_mut(inbox.slot);
    inbox
        .vectors
        .extend(data.take(want).map(|slot| libc::iovec {
            iov_base: slot.as_mut_ptr().cast(),
            iov_len: slot.len(),
        }));
    let control = inbox.control.chunks_exact_mut(CONTROL_SIZE);
    let parts = inbox.vectors.iter_mut().zip(control);
    let headers =
        parts.map(|(vector, control)| header(vector, control.as_mut_ptr().cast(), CONTROL_SIZE));
    inbox.headers.extend(headers);
    // SAFETY: `headers` has `want` elements, each with one iovec over its own slot of `data` and
    // its own slot of `control`, with their true lengths. All of them live in boxes and vectors
    // that `inbox` borrows mutably for longer than the call and that nobody moves in between:
    // both vectors were allocated with the inbox's capacity, which `want` does not exceed, so
    // that extending them moved nothing. No name and no timeout is asked for.
    let n = unsafe {
        libc::recvmmsg(
            fd,
            inbox.headers.as_mut_ptr(),
            want as libc::c_uint,
            libc::MSG_DONTWAIT,
            std::ptr::null_mut(),
        )
    };
    match usize::try_from(n) {
        Ok(n) => Ok(n),
        Err(_) => Err(errno()),
    }
}

/// One datagram by read(2), without waiting, into the first slot.
pub(super) fn read_one(fd: impl AsFd, inbox: &mut Inbox) -> Result<usize, Errno> {
    let slot = inbox.data.get_mut(..inbox.slot).ok_or(Errno::INVAL)?;
    let n = rustix::io::read(fd, slot)?;
    let mut header = header(std::ptr::null_mut(), std::ptr::null_mut(), 0);
    header.msg_len = n as libc::c_uint;
    inbox.headers.clear();
    inbox.headers.push(header);
    Ok(1)
}

/// The datagram of slot `first` by write(2), without waiting.
pub(super) fn write_one(fd: impl AsFd, outbox: &mut Outbox, first: usize) -> Result<usize, Errno> {
    let (slot, len) = outbox.slot(first).ok_or(Errno::INVAL)?;
    let datagram = slot.get(..*len).ok_or(Errno::INVAL)?;
    rustix::io::write(fd, datagram)?;
    Ok(1)
}

/// `sendmmsg` of `count` datagrams from slot `first` on, without waiting; the number that left,
/// at least 1.
pub(super) fn send(
    fd: RawFd,
    outbox: &mut Outbox,
    first: usize,
    count: usize,
) -> Result<usize, Errno> {
    outbox.headers.clear();
    outbox.vectors.clear();
    let slots = outbox.data.chunks_exact_mut(outbox.slot);
    let slots = slots.zip(&outbox.lens).skip(first).take(count);
    outbox.vectors.extend(slots.map(|(slot, len)| libc::iovec {
        iov_base: slot.as_mut_ptr().cast(),
        iov_len: (*len).min(slot.len()),
    }));
    let vectors = outbox.vectors.iter_mut();
    let headers = vectors.map(|vector| header(vector, std::ptr::null_mut(), 0));
    outbox.headers.extend(headers);
    // SAFETY: as in `receive`, with slots whose first `len` bytes the kernel reads; the vectors
    // hold at most the outbox's capacity, with which they were allocated.
    let n = unsafe {
        libc::sendmmsg(
            fd,
            outbox.headers.as_mut_ptr(),
            outbox.headers.len() as libc::c_uint,
            libc::MSG_DONTWAIT,
        )
    };
    match usize::try_from(n) {
        Ok(n) => Ok(n),
        Err(_) => Err(errno()),
    }
}
