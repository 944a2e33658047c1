//! One connection: its socket, its session, and the frames that wait for it.

use super::link::{StreamLink, StreamPeer};
use super::queue::FrameQueue;
use super::store::{CopyEnd, FrameStore};
use frame::Nanos;
use net::{StreamEnd, StreamSession, StreamStep};
use rustix::event::epoll::EventFlags;
use std::collections::VecDeque;
use std::io::{self, ErrorKind, Read as _, Write as _};
use std::sync::Arc;

/// Room for bytes that have arrived and were not used yet. The longest unit of any protocol is
/// shorter.
const INPUT: usize = 4096;

/// Maximum length of the answers of a session that wait, without the last one. A peer that does not
/// read its answers does not get more.
const ANSWERS: usize = 4096;

/// Maximum number of frames that are written at once.
pub(super) const MAX_STAGED: usize = 32;

/// Time for which a client may leave its frames unread before its connection is closed, ns.
const STUCK_TIMEOUT: Nanos = 300_000_000_000;

/// Time in which a connection must be established, ns.
const CONNECT_TIMEOUT: Nanos = 5_000_000_000;

pub(super) struct Conversation {
    socket: StreamLink,
    pub(super) peer: StreamPeer,
    pub(super) session: Box<dyn StreamSession>,
    connected: bool,
    /// Bytes that have arrived; those before `used` are used.
    input: Vec<u8>,
    used: usize,
    /// The bytes after `used` are not a whole unit.
    drained: bool,
    /// More bytes may be in the socket.
    pub(super) readable: bool,
    answers: Vec<u8>,
    /// Frames that wait.
    queue: FrameQueue,
    /// Frames whose bytes are in `out`, with the end of each.
    staged: VecDeque<(u32, usize)>,
    out: Vec<u8>,
    written: usize,
    /// The socket has no room.
    pub(super) blocked: bool,
    /// The events that are waited for.
    watched: EventFlags,
    /// Time from which frames are sent, as long as the session is open.
    open_from: Option<Nanos>,
    /// Time of the last progress: connected, or bytes were written.
    progress: Nanos,
    /// Counts as one of the listener's clients as long as it lives.
    _ticket: Option<Arc<()>>,
}

/// The result of reading the next unit.
pub(super) enum Next {
    /// A unit, whose bytes are used.
    Unit(StreamStep),
    /// All bytes that have arrived are used.
    Nothing,
    /// The connection has ended; the reason, if it is not the peer's wish.
    Ended(Option<String>),
}

impl Conversation {
    /// Begins a conversation over a connection. `connected`: it is established already.
    ///
    /// # Errors
    /// The socket's options cannot be set.
    pub(super) fn new(
        socket: StreamLink,
        peer: StreamPeer,
        mut session: Box<dyn StreamSession>,
        connected: bool,
        ticket: Option<Arc<()>>,
        now: Nanos,
    ) -> io::Result<Self> {
        socket.set_options()?;
        let mut answers = Vec::with_capacity(ANSWERS);
        session.begin(&mut answers);
        Ok(Self {
            socket,
            peer,
            session,
            connected,
            input: Vec::with_capacity(INPUT),
            used: 0,
            drained: true,
            readable: true,
            answers,
            queue: FrameQueue::default(),
            staged: VecDeque::with_capacity(MAX_STAGED),
            out: Vec::new(),
            written: 0,
            blocked: !connected,
            watched: EventFlags::empty(),
            open_from: None,
            progress: now,
            _ticket: ticket,
        })
    }

    pub(super) const fn socket(&self) -> &StreamLink {
        &self.socket
    }

    /// Returns the events to wait for.
    pub(super) fn events(&self) -> EventFlags {
        if self.blocked {
            EventFlags::IN | EventFlags::OUT
        } else {
            EventFlags::IN
        }
    }

    /// Returns whether the port must wait for other events than at present, and notes that it does.
    pub(super) fn change_events(&mut self) -> bool {
        let events = self.events();
        std::mem::replace(&mut self.watched, events) != events
    }

    /// Notes that the system has refused to wait for other events: the next call of
    /// [`Conversation::change_events`] tries again.
    pub(super) const fn forget_events(&mut self) {
        self.watched = EventFlags::empty();
    }

    /// Returns whether frames for this peer are taken.
    pub(super) const fn is_open(&self) -> bool {
        self.open_from.is_some()
    }

    /// Returns whether there may be units to read without waiting. The beginning of a unit waits
    /// for its rest.
    pub(super) const fn may_have_units(&self) -> bool {
        self.readable || !self.drained
    }

    /// Notes that the socket has room, or that the connection is established.
    pub(super) fn unblock(&mut self, now: Nanos) {
        self.blocked = false;
        if !self.connected {
            self.connected = true;
            self.progress = now;
        }
    }

    /// Records whether the session is open: frames are sent after the time `settle`, because some
    /// clients lose what follows the last answer immediately. Frames for a session that was closed
    /// are lost.
    pub(super) fn update_open(&mut self, settle: Nanos, store: &mut FrameStore, now: Nanos) {
        let open = self.connected && self.session.is_open();
        match (open, self.open_from) {
            (true, None) => self.open_from = Some(now.saturating_add(settle)),
            (false, Some(_)) => {
                self.open_from = None;
                for at in self.queue.iter() {
                    store.release(at, CopyEnd::Lost);
                }
                self.queue.clear();
            }
            _ => {}
        }
    }

    /// Reads the next unit.
    pub(super) fn next(&mut self) -> Next {
        loop {
            let input = &self.input[self.used..];
            if !input.is_empty() {
                let fits = self.answers.len() < ANSWERS / 2;
                let (before, step) = (
                    self.answers.len(),
                    self.session.take(input, &mut self.answers),
                );
                if !fits {
                    self.answers.truncate(before);
                }
                match step {
                    StreamStep::More => {}
                    StreamStep::Used(used)
                    | StreamStep::Frame(used, _)
                    | StreamStep::Malformed(used)
                    | StreamStep::Rejected(used)
                    | StreamStep::Open(used, _)
                    | StreamStep::List(used) => {
                        self.used += used;
                        return Next::Unit(step);
                    }
                    StreamStep::End(StreamEnd::Foreign(what) | StreamEnd::Refused(what)) => {
                        return Next::Ended(Some(what.to_owned()));
                    }
                }
            }
            if !self.readable {
                self.drained = true;
                return Next::Nothing;
            }
            self.input.drain(..self.used);
            self.used = 0;
            let begun = self.input.len();
            self.input.resize(INPUT, 0);
            let read = self.socket.read(&mut self.input[begun..]);
            self.input.truncate(begun + *read.as_ref().unwrap_or(&0));
            match read {
                Ok(0) if self.input.is_empty() => return Next::Ended(None),
                Ok(0) => return Next::Ended(Some("within a frame or a command".to_owned())),
                Ok(_) => self.drained = false,
                Err(error) if error.kind() == ErrorKind::WouldBlock => self.readable = false,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Next::Ended(Some(error.to_string())),
            }
        }
    }

    /// Answers a request for a bus or for the list of buses. Returns false, without an answer, if
    /// the peer has not read those before.
    #[must_use]
    pub(super) fn answer(
        &mut self,
        answer: impl FnOnce(&mut dyn StreamSession, &mut Vec<u8>),
    ) -> bool {
        let fits = self.answers.len() < ANSWERS;
        if fits {
            answer(&mut *self.session, &mut self.answers);
        }
        fits
    }

    /// Queues a frame. The oldest one gives up its place where the queue has `most` frames.
    pub(super) fn queue(&mut self, at: u32, urgent: bool, most: usize, store: &mut FrameStore) {
        if self.queue.len() >= most
            && let Some(oldest) = self.queue.displace()
        {
            store.release(oldest, CopyEnd::Displaced);
        }
        self.queue.push(at, urgent);
    }

    /// Reserves memory, so that queueing does not allocate.
    pub(super) fn reserve(&mut self, most: usize) {
        self.queue.reserve(most);
    }

    /// Returns the number of frames that the queue has room for.
    pub(super) fn room(&self, most: usize) -> usize {
        most.saturating_sub(self.queue.len())
    }

    /// Writes answers and frames, as far as the socket has room.
    ///
    /// # Errors
    /// The connection has ended.
    pub(super) fn write(&mut self, store: &mut FrameStore, now: Nanos) -> io::Result<()> {
        if !self.connected {
            return Ok(());
        }
        loop {
            if self.written == self.out.len() {
                self.stage(store, now);
                if self.out.is_empty() {
                    self.progress = now;
                    self.blocked = false;
                    return Ok(());
                }
            }
            match self.socket.write(&self.out[self.written..]) {
                Ok(0) => return Err(ErrorKind::WriteZero.into()),
                Ok(written) => {
                    self.progress = now;
                    self.written += written;
                    while let Some(&(at, _)) =
                        self.staged.front().filter(|(_, end)| *end <= self.written)
                    {
                        self.staged.pop_front();
                        store.release(at, CopyEnd::Reached);
                    }
                }
                Err(error) if error.kind() == ErrorKind::WouldBlock => {
                    if !std::mem::replace(&mut self.blocked, true) {
                        store.stall();
                    }
                    return Ok(());
                }
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
    }

    /// Fills the empty output with answers and the frames that leave next.
    fn stage(&mut self, store: &FrameStore, now: Nanos) {
        self.out.clear();
        self.written = 0;
        self.out.append(&mut self.answers);
        if self.open_from.is_none_or(|from| now < from) {
            return;
        }
        while self.staged.len() < MAX_STAGED
            && let Some(at) = self.queue.pop()
        {
            let (frame, unix) = store.get(at);
            self.session.put(&frame.view(), unix, &mut self.out);
            self.staged.push_back((at, self.out.len()));
        }
    }

    /// Returns the time of the next call of [`Conversation::write`] or of the check
    /// [`Conversation::is_stuck`], if there is one.
    pub(super) fn deadline(&self) -> Option<Nanos> {
        if !self.connected {
            return Some(self.progress.saturating_add(CONNECT_TIMEOUT));
        }
        if self.blocked {
            return Some(self.progress.saturating_add(STUCK_TIMEOUT));
        }
        self.open_from.filter(|_| !self.queue.is_empty())
    }

    /// Returns why the port should close the connection, if its peer makes no progress.
    pub(super) fn is_stuck(&self, now: Nanos) -> Option<&'static str> {
        let silence = now.saturating_sub(self.progress);
        match (self.connected, self.blocked) {
            (false, _) if silence >= CONNECT_TIMEOUT => Some("no answer"),
            (true, true) if silence >= STUCK_TIMEOUT => Some("it has read nothing for 5 minutes"),
            _ => None,
        }
    }

    /// Ends the conversation: frames that wait are lost for this peer.
    pub(super) fn close(self, store: &mut FrameStore) {
        let staged = self.staged.iter().map(|(at, _)| *at);
        for at in staged.chain(self.queue.iter()) {
            store.release(at, CopyEnd::Lost);
        }
    }
}
