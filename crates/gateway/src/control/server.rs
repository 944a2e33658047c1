//! A server for many clients on one thread, in bounded memory and time.

use super::feed::WatchFeed;
use super::inbox::LineInbox;
use super::protocol::{ControlRequest, failure, parse};
use super::socket::ClaimedSocket;
use rustix::event::{PollFd, PollFlags};
use std::io::{ErrorKind, Read, Write};
use std::os::unix::net::UnixStream;
use std::time::{Duration, Instant};
use worker::watching::WATCH_PERIOD;

/// Maximum number of simultaneous clients; others get an error and are disconnected.
pub(crate) const MAX_CLIENTS: usize = 16;

/// Time after which a client that neither sends nor reads is disconnected.
pub(crate) const CLIENT_TIMEOUT: Duration = Duration::from_secs(5);

/// Maximum number of clients accepted in one turn, so that many connections do not delay signals.
const MAX_ACCEPTED: usize = 64;

/// The most lines of frames that a client gets in one turn, so that other clients have theirs.
const MAX_LINES: usize = 32;

/// The reply to a request.
pub(crate) struct ControlReply {
    /// The line.
    pub(crate) line: Vec<u8>,
    /// The frames that follow the line, if the client watches ports from now on.
    pub(crate) feed: Option<WatchFeed>,
}

impl From<Vec<u8>> for ControlReply {
    fn from(line: Vec<u8>) -> Self {
        Self { line, feed: None }
    }
}

/// Answers a request.
pub(crate) type AnswerRequest<'a> = &'a mut dyn FnMut(ControlRequest) -> ControlReply;

struct ControlClient {
    stream: UnixStream,
    inbox: LineInbox,
    outbox: Vec<u8>,
    written: usize,
    /// The frames that it watches.
    feed: Option<WatchFeed>,
    /// The client will send nothing more.
    ended: bool,
    /// The client is disconnected as soon as the outbox is empty.
    last: bool,
    /// The client is disconnected at once.
    gone: bool,
    since: Instant,
}

/// The listening socket of the control server and its clients.
pub(crate) struct ControlServer {
    socket: ClaimedSocket,
    clients: Vec<ControlClient>,
}

impl ControlServer {
    pub(crate) fn new(socket: ClaimedSocket) -> Self {
        Self {
            socket,
            clients: Vec::new(),
        }
    }

    pub(crate) fn path(&self) -> &std::path::Path {
        self.socket.path()
    }

    /// Adds the sockets to poll; [`ControlServer::turn`] must be given as many entries.
    pub(crate) fn wait<'a>(&'a self, fds: &mut Vec<PollFd<'a>>) {
        fds.push(PollFd::new(&self.socket.listener, PollFlags::IN));
        for client in &self.clients {
            // One that watches sends nothing more; its end is noticed also while it does not read.
            let what = match (client.outbox.is_empty(), &client.feed) {
                (true, _) => PollFlags::IN,
                (false, None) => PollFlags::OUT,
                (false, Some(_)) => PollFlags::IN | PollFlags::OUT,
            };
            fds.push(PollFd::new(&client.stream, what));
        }
    }

    /// Returns the time of the next turn that needs no event: when the first client has been idle
    /// for [`CLIENT_TIMEOUT`], or when frames may have come that a client watches.
    pub(crate) fn deadline(&self, now: Instant) -> Option<Instant> {
        let clients = self.clients.iter();
        let next = clients.filter_map(|client| match &client.feed {
            None => Some(client.since + CLIENT_TIMEOUT),
            // A client that reads slowly gets more when it has read the last line.
            Some(_) => client.outbox.is_empty().then(|| now + WATCH_PERIOD),
        });
        next.min()
    }

    /// Reads, answers and writes as far as that is possible without waiting. `ready` indicates for
    /// each entry of [`ControlServer::wait`] whether an event occurred there.
    pub(crate) fn turn(&mut self, now: Instant, ready: &[bool], answer: AnswerRequest<'_>) {
        let (listening, streams) = match ready.split_first() {
            Some((&first, rest)) => (first, rest),
            None => (false, ready),
        };
        for (client, &ready) in self.clients.iter_mut().zip(streams) {
            if ready || client.feed.is_some() {
                client.turn(now, ready, answer);
            }
            // A client that watches sends nothing, and frames may not come; one that reads nothing
            // loses only its own frames.
            client.gone |= client.feed.is_none()
                && now.saturating_duration_since(client.since) >= CLIENT_TIMEOUT;
        }
        self.clients.retain(|client| !client.gone);
        if listening {
            self.accept(now, answer);
        }
    }

    fn accept(&mut self, now: Instant, answer: AnswerRequest<'_>) {
        for _ in 0..MAX_ACCEPTED {
            // An error here (too many open files) recurs in the next turn; the clients that hold
            // the files are disconnected after CLIENT_TIMEOUT at the latest.
            let Ok((mut stream, _)) = self.socket.listener.accept() else {
                return;
            };
            if stream.set_nonblocking(true).is_err() {
                continue;
            }
            if self.clients.len() >= MAX_CLIENTS {
                // Some may have gone since they were accepted in this very loop.
                for client in &mut self.clients {
                    client.turn(now, true, answer);
                }
                self.clients.retain(|client| !client.gone);
            }
            if self.clients.len() >= MAX_CLIENTS {
                let _ = stream.write(&failure("too many clients at once: try again in a moment"));
                continue;
            }
            let mut client = ControlClient {
                stream,
                inbox: LineInbox::default(),
                outbox: Vec::new(),
                written: 0,
                feed: None,
                ended: false,
                last: false,
                gone: false,
                since: now,
            };
            // A client that has gone already must not take the place of one that is connected.
            client.turn(now, true, answer);
            if !client.gone {
                self.clients.push(client);
            }
        }
    }

    /// Gives clients that were answered a last chance to read their answer, and those that watch
    /// the frames until the end.
    pub(crate) fn finish(mut self, patience: Duration) {
        // The time limit is for all of them together. A timeout of zero would mean no timeout.
        let end = Instant::now() + patience;
        // Answers first: a watcher that does not read can take all of the time.
        self.clients.sort_by_key(|client| client.feed.is_some());
        for client in &mut self.clients {
            client.finish(end);
        }
    }
}

impl ControlClient {
    /// Serves the client. `is_ready`: its socket may have something to read.
    fn turn(&mut self, now: Instant, is_ready: bool, answer: AnswerRequest<'_>) {
        self.write(now);
        if is_ready && (self.feed.is_some() || (self.outbox.is_empty() && !self.ended)) {
            self.read(now);
        }
        if self.feed.is_some() {
            // There is no request behind a watch. A full inbox would end the reading, and with it
            // the notice that the client has gone.
            self.inbox = LineInbox::default();
            self.gone |= self.ended;
            self.show_frames(now);
            return;
        }
        // One request at a time: the next one is read when the client has taken the answer.
        while self.outbox.is_empty() && !self.gone {
            match self.inbox.line() {
                Ok(None) => {
                    self.gone = self.ended;
                    return;
                }
                Ok(Some(line)) => match parse(&line) {
                    Ok(request) => {
                        let reply = answer(request);
                        self.outbox = reply.line;
                        self.feed = reply.feed;
                    }
                    Err(error) => self.outbox = failure(&error.to_string()),
                },
                Err(error) => {
                    self.outbox = failure(&error.to_string());
                    self.last = true;
                }
            }
            self.write(now);
            if self.feed.is_some() {
                return;
            }
        }
    }

    /// Writes what is left for the client, until `end` if it does not read.
    fn finish(&mut self, end: Instant) {
        let mut rest = self.outbox.split_off(self.written);
        loop {
            let left = end.saturating_duration_since(Instant::now());
            let _ = self.stream.set_nonblocking(left.is_zero());
            let limit = Some(left).filter(|left| !left.is_zero());
            let _ = self.stream.set_write_timeout(limit);
            if self.stream.write_all(&rest).is_err() {
                return;
            }
            match self.feed.as_mut().and_then(WatchFeed::line) {
                Some(line) => rest = line,
                None => return,
            }
        }
    }

    /// Writes lines of frames as long as the client reads them.
    fn show_frames(&mut self, now: Instant) {
        for _ in 0..MAX_LINES {
            if !self.outbox.is_empty() || self.gone {
                return;
            }
            let Some(line) = self.feed.as_mut().and_then(WatchFeed::line) else {
                return;
            };
            self.outbox = line;
            self.write(now);
        }
    }

    fn read(&mut self, now: Instant) {
        let mut bytes = [0; 4096];
        while self.inbox.room() > 0 {
            let room = self.inbox.room().min(bytes.len());
            let Some(piece) = bytes.get_mut(..room) else {
                return;
            };
            match self.stream.read(piece) {
                Ok(0) => {
                    // Requests that came before the end of file are still answered.
                    self.ended = true;
                    return;
                }
                Ok(n) => {
                    self.since = now;
                    self.inbox.push(piece.get(..n).unwrap_or_default());
                }
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) if error.kind() == ErrorKind::WouldBlock => return,
                Err(_) => {
                    self.gone = true;
                    return;
                }
            }
        }
    }

    fn write(&mut self, now: Instant) {
        while let Some(rest @ [_, ..]) = self.outbox.get(self.written..) {
            match self.stream.write(rest) {
                Ok(n) => {
                    self.since = now;
                    self.written += n;
                }
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) if error.kind() == ErrorKind::WouldBlock => return,
                Err(_) => {
                    self.gone = true;
                    return;
                }
            }
        }
        self.outbox = Vec::new();
        self.written = 0;
        self.gone |= self.last;
    }
}
