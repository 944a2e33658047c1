//! The netlink socket: requests out, answers in.

use super::error::Error;
use super::wire::{self, Listed, Message};
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

/// What goes out in one call. The answers to it must fit into the socket's receive buffer (208 KiB
/// where nobody changed it): an answer that says no repeats the request, and each takes up to
/// 2.3 KiB of it.
const BATCH: usize = 64;

/// How often the list is read again because it was changed meanwhile.
const TRIES: usize = 50;

/// A socket of rtnetlink.
pub(super) struct Netlink {
    fd: OwnedFd,
    sequence: u32,
    buffer: Vec<u8>,
}

const fn failed(doing: &'static str) -> impl Fn(Errno) -> Error {
    move |source| Error::Socket { doing, source }
}

pub(super) fn socket(groups: u32, flags: SocketFlags) -> Result<OwnedFd, Error> {
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
    pub(super) fn open() -> Result<Self, Error> {
        let fd = socket(0, SocketFlags::empty())?;
        set_socket_timeout(&fd, Timeout::Recv, Some(PATIENCE)).map_err(failed("setting it up"))?;
        Ok(Self {
            fd,
            sequence: 0,
            buffer: vec![0; LARGEST],
        })
    }

    pub(super) fn fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }

    pub(super) fn sequence(&mut self) -> u32 {
        self.sequence = self.sequence.wrapping_add(1);
        self.sequence
    }

    pub(super) fn send(&self, request: &[u8]) -> Result<(), Error> {
        let ask = || send(&self.fd, request, SendFlags::empty());
        let sent = rustix::io::retry_on_intr(ask).map_err(failed("asking"))?;
        if sent == request.len() {
            Ok(())
        } else {
            Err(failed("asking")(Errno::MSGSIZE))
        }
    }

    /// The next datagram of the kernel.
    pub(super) fn receive(&mut self) -> Result<&[u8], Error> {
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

    /// Asks for one thing; the kernel's error if it has one.
    pub(super) fn ask(&mut self, request: impl Fn(u32) -> Vec<u8>) -> Result<Option<Errno>, Error> {
        let (answers, _) = self.ask_all(1, false, |_, sequence| request(sequence))?;
        Ok(answers.into_iter().next().flatten())
    }

    /// Asks for several things in as few calls as possible, so that there is as little time as
    /// possible between them; an answer for each.
    ///
    /// With `look`, the kernel first lists its jobs in each of these calls. Of a long list that is
    /// only the first part at once; the others come after the changes.
    pub(super) fn ask_all(
        &mut self,
        count: usize,
        look: bool,
        request: impl Fn(usize, u32) -> Vec<u8>,
    ) -> Result<(Vec<Option<Errno>>, Vec<Listed>), Error> {
        let (mut answers, mut seen) = (vec![None; count], Vec::new());
        for start in (0..count).step_by(BATCH) {
            let end = (start + BATCH).min(count);
            let mut batch = Vec::new();
            let list = look.then(|| self.sequence());
            batch.extend(list.map(wire::list_request).into_iter().flatten());
            let first = self.sequence.wrapping_add(1);
            for index in start..end {
                batch.extend(request(index, self.sequence()));
            }
            self.send(&batch)?;
            let (mut waiting, mut listing) = (end - start, list.is_some());
            while waiting > 0 || listing {
                for (sequence, message) in wire::decode(self.receive()?)? {
                    if Some(sequence) == list {
                        match message {
                            Message::Listed(listed) => seen.push(*listed),
                            // Why it ended does not matter: looking is extra.
                            Message::Done(_) | Message::Answer(_) => listing = false,
                            Message::Other => {}
                        }
                        continue;
                    }
                    let index = start.saturating_add(sequence.wrapping_sub(first) as usize);
                    if let (Message::Answer(answer), Some(place)) =
                        (message, answers.get_mut(index).filter(|_| index < end))
                    {
                        *place = answer;
                        waiting = waiting.saturating_sub(1);
                    }
                }
            }
        }
        Ok((answers, seen))
    }

    /// All jobs, the one that is tried first in front.
    ///
    /// The kernel hands out a long list in parts and finds the next part by counting, so a job
    /// that comes or goes in between shifts it. A list in several parts is therefore read until
    /// the same jobs came twice.
    pub(super) fn list(&mut self) -> Result<Vec<Listed>, Error> {
        let (mut list, parts) = self.dump()?;
        if parts <= 1 {
            return Ok(list);
        }
        for _ in 0..TRIES {
            let (again, _) = self.dump()?;
            let jobs = |list: &[Listed]| list.len();
            let same =
                jobs(&list) == jobs(&again) && list.iter().zip(&again).all(|(a, b)| a.job == b.job);
            list = again;
            if same {
                return Ok(list);
            }
        }
        Err(Error::Restless)
    }

    /// The list as it comes, and in how many parts.
    fn dump(&mut self) -> Result<(Vec<Listed>, usize), Error> {
        let sequence = self.sequence();
        self.send(&wire::list_request(sequence))?;
        let (mut list, mut parts) = (Vec::new(), 0);
        loop {
            let mut jobs = false;
            for (number, message) in wire::decode(self.receive()?)? {
                // What is left of an earlier, broken conversation.
                if number != sequence {
                    continue;
                }
                match message {
                    Message::Listed(listed) => {
                        jobs = true;
                        list.push(*listed);
                    }
                    Message::Done(None) => return Ok((list, parts + usize::from(jobs))),
                    // rtnetlink knows no routes at all, or none of CAN.
                    Message::Answer(Some(Errno::OPNOTSUPP)) => return Ok((Vec::new(), 0)),
                    Message::Done(Some(errno)) | Message::Answer(Some(errno)) => {
                        return Err(failed("listing the rules")(errno));
                    }
                    Message::Answer(None) | Message::Other => {}
                }
            }
            parts += usize::from(jobs);
        }
    }
}
