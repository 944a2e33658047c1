//! rtnetlink: the socket, and messages as bytes. What both ways into the kernel use.

use netlink_packet_core::{
    DefaultNla, Emitable, NLM_F_ACK, NLM_F_DUMP, NLM_F_REQUEST, NetlinkBuffer, NetlinkHeader,
};
use rustix::io::Errno;
use rustix::net::netlink::SocketAddrNetlink;
use rustix::net::sockopt::{Timeout, set_socket_timeout};
use rustix::net::{
    AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType, bind, recvfrom, send, socket_with,
};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::time::Duration;

/// The kernel answers before `send` returns; this is for a kernel that does not.
const PATIENCE: Duration = Duration::from_secs(10);

/// The kernel lists at most 32 KiB at once.
const LARGEST: usize = 1 << 16;

/// How often something is listed again because it changed meanwhile.
const TRIES: usize = 50;

pub(crate) const NLMSG_ERROR: u16 = 2;
pub(crate) const NLMSG_DONE: u16 = 3;
/// `NLM_F_DUMP_INTR`: what is listed changed meanwhile.
const INTERRUPTED: u16 = 0x10;

/// Bytes of `struct nlmsghdr`.
pub(crate) const HEADER: usize = 16;

/// Netlink failed.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Failed {
    #[error("the netlink socket failed: {doing}")]
    Socket {
        doing: &'static str,
        #[source]
        source: Errno,
    },
    #[error("what the kernel said cannot be read")]
    Answer(#[from] Malformed),
}

/// What came is no netlink message, or its content makes no sense.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum Malformed {
    /// a netlink message is shorter than it says
    #[error("a netlink message is shorter than it says")]
    Message,
    /// an attribute is shorter than it says
    #[error("an attribute is shorter than it says")]
    Attribute,
    /// attribute {0} has {1} bytes
    #[error("attribute {0} has {1} bytes")]
    Size(u16, usize),
}

pub(crate) const fn failed(doing: &'static str) -> impl Fn(Errno) -> Failed {
    move |source| Failed::Socket { doing, source }
}

/// What is listed: a message's type and body.
type Said = (u16, Vec<u8>);

/// A socket of rtnetlink.
pub(crate) struct Netlink {
    fd: OwnedFd,
    pub(crate) sequence: u32,
    buffer: Vec<u8>,
}

pub(crate) fn socket(groups: u32, flags: SocketFlags) -> Result<OwnedFd, Failed> {
    let flags = SocketFlags::CLOEXEC | flags;
    let open = || {
        // Protocol 0 is NETLINK_ROUTE.
        let fd = socket_with(AddressFamily::NETLINK, SocketType::RAW, flags, None)?;
        bind(&fd, &SocketAddrNetlink::new(0, groups))?;
        Ok(fd)
    };
    open().map_err(failed("it cannot be opened"))
}

impl Netlink {
    pub(crate) fn open() -> Result<Self, Failed> {
        let fd = socket(0, SocketFlags::empty())?;
        set_socket_timeout(&fd, Timeout::Recv, Some(PATIENCE)).map_err(failed("setting it up"))?;
        Ok(Self {
            fd,
            sequence: 0,
            buffer: vec![0; LARGEST],
        })
    }

    pub(crate) fn fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }

    pub(crate) fn sequence(&mut self) -> u32 {
        self.sequence = self.sequence.wrapping_add(1);
        self.sequence
    }

    pub(crate) fn send(&self, request: &[u8]) -> Result<(), Failed> {
        let ask = || send(&self.fd, request, SendFlags::empty());
        let sent = rustix::io::retry_on_intr(ask).map_err(failed("asking"))?;
        if sent == request.len() {
            Ok(())
        } else {
            Err(failed("asking")(Errno::MSGSIZE))
        }
    }

    /// The next datagram of the kernel.
    pub(crate) fn receive(&mut self) -> Result<&[u8], Failed> {
        loop {
            let got = recvfrom(&self.fd, self.buffer.as_mut_slice(), RecvFlags::TRUNC);
            let (_, len, sender) = match got {
                Err(Errno::INTR) => continue,
                got => got.map_err(failed("waiting for an answer"))?,
            };
            let sender = sender.and_then(|any| SocketAddrNetlink::try_from(any).ok());
            // Only the kernel is believed.
            if sender.is_none_or(|sender| sender.pid() != 0) {
                continue;
            }
            if len > self.buffer.len() {
                return Err(failed("waiting for an answer")(Errno::MSGSIZE));
            }
            return Ok(self.buffer.get(..len).unwrap_or_default());
        }
    }

    /// Asks for one change; the kernel's error if it has one.
    pub(crate) fn change(
        &mut self,
        kind: u16,
        flags: u16,
        body: &[u8],
    ) -> Result<Option<Errno>, Failed> {
        let sequence = self.sequence();
        let flags = NLM_F_REQUEST | NLM_F_ACK | flags;
        self.send(&message(kind, flags, sequence, body))?;
        loop {
            for said in messages(self.receive()?) {
                let (header, body) = said?;
                if header.sequence_number == sequence && header.message_type == NLMSG_ERROR {
                    return Ok(errno(body).ok_or(Malformed::Message)?);
                }
            }
        }
    }

    /// Lists all that a request asks for: the messages' types and bodies. The inner error is the
    /// kernel's.
    pub(crate) fn dump(
        &mut self,
        kind: u16,
        body: &[u8],
    ) -> Result<Result<Vec<Said>, Errno>, Failed> {
        for _ in 0..TRIES {
            match self.dump_once(kind, body)? {
                (_, true) => {}
                (listed, false) => return Ok(listed),
            }
        }
        Err(failed("what it lists changed all the time")(Errno::INTR))
    }

    fn dump_once(
        &mut self,
        kind: u16,
        body: &[u8],
    ) -> Result<(Result<Vec<Said>, Errno>, bool), Failed> {
        let sequence = self.sequence();
        self.send(&message(kind, NLM_F_REQUEST | NLM_F_DUMP, sequence, body))?;
        let (mut list, mut changed) = (Vec::new(), false);
        loop {
            for said in messages(self.receive()?) {
                let (header, body) = said?;
                if header.sequence_number != sequence {
                    continue;
                }
                changed |= header.flags & INTERRUPTED != 0;
                match header.message_type {
                    NLMSG_DONE => return Ok((Ok(list), changed)),
                    NLMSG_ERROR => {
                        let errno = errno(body).ok_or(Malformed::Message)?;
                        return Ok((Err(errno.unwrap_or(Errno::IO)), false));
                    }
                    other => list.push((other, body.to_vec())),
                }
            }
        }
    }
}

/// The messages of a datagram: their headers and bodies. It ends with the first malformed one.
pub(crate) fn messages(
    mut bytes: &[u8],
) -> impl Iterator<Item = Result<(NetlinkHeader, &[u8]), Malformed>> {
    std::iter::from_fn(move || {
        if bytes.is_empty() {
            return None;
        }
        let said = first(bytes);
        let len = said
            .as_ref()
            .map_or(bytes.len(), |(header, _)| header.length as usize);
        bytes = bytes.get(len.next_multiple_of(4)..).unwrap_or_default();
        Some(said)
    })
}

fn first(bytes: &[u8]) -> Result<(NetlinkHeader, &[u8]), Malformed> {
    let buffer = NetlinkBuffer::new_checked(bytes).map_err(|_| Malformed::Message)?;
    let len = buffer.length() as usize;
    let body = bytes.get(HEADER..len).ok_or(Malformed::Message)?;
    let mut header = NetlinkHeader::default();
    header.length = buffer.length();
    header.message_type = buffer.message_type();
    header.flags = buffer.flags();
    header.sequence_number = buffer.sequence_number();
    Ok((header, body))
}

/// The answer in `struct nlmsgerr`: a negative errno, or nothing for 0.
pub(crate) fn errno(body: &[u8]) -> Option<Option<Errno>> {
    let code = i32::from_ne_bytes(*body.first_chunk()?);
    // What is not an errno of Linux is some error all the same.
    let known = (-4095..0).contains(&code);
    let error = Errno::from_raw_os_error(if known {
        -code
    } else {
        Errno::IO.raw_os_error()
    });
    Some((code != 0).then_some(error))
}

pub(crate) fn message(kind: u16, flags: u16, sequence: u32, body: &[u8]) -> Vec<u8> {
    let total = HEADER + body.len();
    let mut header = NetlinkHeader::default();
    header.length = total as u32;
    header.message_type = kind;
    header.flags = flags;
    header.sequence_number = sequence;
    let mut out = vec![0; HEADER];
    header.emit(&mut out);
    out.extend(body);
    // The next message of a batch begins at a multiple of four.
    out.resize(total.next_multiple_of(4), 0);
    out
}

pub(crate) fn attribute(out: &mut Vec<u8>, kind: u16, value: &[u8]) {
    let attribute = DefaultNla::new(kind, value.to_vec());
    let start = out.len();
    out.resize(start + attribute.buffer_len(), 0);
    if let Some(room) = out.get_mut(start..) {
        attribute.emit(room);
    }
}

/// A string of the kernel: up to its zero.
pub(crate) fn text(value: &[u8]) -> String {
    let text = value.split(|byte| *byte == 0).next();
    String::from_utf8_lossy(text.unwrap_or_default()).into_owned()
}

/// A number of the kernel; 0 where there is none.
pub(crate) fn number(value: &[u8]) -> u32 {
    value.first_chunk().map_or(0, |n| u32::from_ne_bytes(*n))
}
