//! The socket.

use super::conversation::{self, AnswerEnd, KernelChannel, Listed};
use super::error::{Error, KernelRefusal, failed};
use super::message::{NetlinkMessage, NetlinkRequest};
use crate::{Errno, option};
use rustix::net::netlink::SocketAddrNetlink;
use rustix::net::sockopt::{Timeout, set_socket_timeout};
use rustix::net::{
    AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType, bind, recvfrom, send, socket_with,
};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::time::Duration;

/// The time to wait for an answer. The kernel answers before `send` returns; this limit is for a
/// kernel that does not.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(10);

/// The kernel lists at most 32 KiB at once.
const LARGEST: usize = 1 << 16;

/// Answers do not repeat the request, and contain the reason as text (`uapi/linux/netlink.h`).
const NETLINK_CAP_ACK: libc::c_int = 10;
const NETLINK_EXT_ACK: libc::c_int = 11;

/// A socket of rtnetlink (NETLINK_ROUTE), for requests.
pub struct NetlinkSocket {
    socket: RouteSocket,
    sequence: u32,
}

struct RouteSocket {
    fd: OwnedFd,
    buffer: Vec<u8>,
}

/// Opens a socket that receives the events of some groups (`RTMGRP_…`).
pub(crate) fn bound(groups: u32, flags: SocketFlags) -> Result<OwnedFd, Error> {
    let flags = SocketFlags::CLOEXEC | flags;
    let open = || -> Result<_, Errno> {
        // Protocol 0 is NETLINK_ROUTE.
        let fd = socket_with(AddressFamily::NETLINK, SocketType::RAW, flags, None)?;
        bind(&fd, &SocketAddrNetlink::new(0, groups))?;
        Ok(fd)
    };
    open().map_err(failed("it cannot be opened"))
}

impl NetlinkSocket {
    /// Opens a socket in the caller's network namespace.
    ///
    /// # Errors
    /// [`Error::Socket`]
    pub fn open() -> Result<Self, Error> {
        let fd = bound(0, SocketFlags::empty())?;
        set_socket_timeout(&fd, Timeout::Recv, Some(ANSWER_TIMEOUT))
            .map_err(failed("setting it up"))?;
        // The reason as text exists since Linux 4.12; answers without the request, which the caller
        // knows, since 4.3.
        let _ = option::set(&fd, libc::SOL_NETLINK, NETLINK_EXT_ACK, &1);
        let _ = option::set(&fd, libc::SOL_NETLINK, NETLINK_CAP_ACK, &1);
        let buffer = vec![0; LARGEST];
        Ok(Self {
            socket: RouteSocket { fd, buffer },
            sequence: 0,
        })
    }

    /// Sends several requests in one datagram, which the kernel processes in their order without a
    /// pause; returns the outcome of each.
    ///
    /// The kernel's answers are passed to `each`: the index of the request, the number of the
    /// datagram in which the answer arrived, and the message. The answers must fit into the
    /// socket's receive buffer (208 KiB by default), and a refusal repeats its request.
    ///
    /// # Errors
    /// [`Error`] where the socket fails or the kernel does not answer, and those of `each`; it is
    /// then unknown which requests were carried out.
    pub fn ask<E: From<Error>>(
        &mut self,
        requests: &[NetlinkRequest],
        each: impl FnMut(usize, usize, NetlinkMessage<'_>) -> Result<(), E>,
    ) -> Result<Vec<AnswerEnd>, E> {
        conversation::ask(&mut self.socket, &mut self.sequence, requests, each)
    }

    /// Requests one change; returns the reason if the kernel refuses it.
    ///
    /// # Errors
    /// [`Error`]
    pub fn change(
        &mut self,
        kind: u16,
        flags: u16,
        body: Vec<u8>,
    ) -> Result<Option<KernelRefusal>, Error> {
        let request = NetlinkRequest::change(kind, flags, body);
        let ends = self.ask(&[request], |_, _, _| Ok::<_, Error>(()))?;
        Ok(ends.into_iter().next().and_then(|end| end.error))
    }

    /// Requests one object: returns the messages that describe it. The inner error is the kernel's.
    ///
    /// # Errors
    /// [`Error`]
    pub fn one(
        &mut self,
        kind: u16,
        body: Vec<u8>,
    ) -> Result<Result<Listed, KernelRefusal>, Error> {
        let mut listed = Listed::new();
        let ends = self.ask(&[NetlinkRequest::one(kind, body)], |_, _, message| {
            listed.push((message.kind, message.body.to_vec()));
            Ok::<_, Error>(())
        })?;
        let refused = ends.into_iter().next().and_then(|end| end.error);
        Ok(refused.map_or(Ok(listed), Err))
    }

    /// Lists all objects of a kind: returns the messages' types and bodies. The list is requested
    /// again where it changed meanwhile. The inner error is the kernel's.
    ///
    /// # Errors
    /// [`Error`], also where the list changes at every attempt.
    pub fn list(
        &mut self,
        kind: u16,
        body: Vec<u8>,
    ) -> Result<Result<Listed, KernelRefusal>, Error> {
        let request = NetlinkRequest::list(kind, body);
        conversation::list(&mut self.socket, &mut self.sequence, &request)
    }
}

impl AsFd for NetlinkSocket {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.fd.as_fd()
    }
}

impl KernelChannel for RouteSocket {
    fn send(&mut self, datagram: &[u8]) -> Result<(), Error> {
        let ask = || send(&self.fd, datagram, SendFlags::empty());
        let sent = rustix::io::retry_on_intr(ask).map_err(failed("asking"))?;
        if sent == datagram.len() {
            Ok(())
        } else {
            Err(failed("asking")(Errno::MSGSIZE))
        }
    }

    fn receive(&mut self) -> Result<&[u8], Error> {
        loop {
            let got = recvfrom(&self.fd, self.buffer.as_mut_slice(), RecvFlags::TRUNC);
            let (_, len, sender) = match got {
                Err(Errno::INTR) => continue,
                got => got.map_err(failed("waiting for an answer"))?,
            };
            let sender = sender.and_then(|any| SocketAddrNetlink::try_from(any).ok());
            // Only messages from the kernel are accepted.
            if sender.is_none_or(|sender| sender.pid() != 0) {
                continue;
            }
            if len > self.buffer.len() {
                return Err(failed("waiting for an answer")(Errno::MSGSIZE));
            }
            return Ok(self.buffer.get(..len).unwrap_or_default());
        }
    }
}
