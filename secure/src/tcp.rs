//! A link of connections with its sockets: one thread, which waits for all of them.

mod connection;

use crate::counters::{LinkReport, StreamCounters};
use crate::crowd::oldest_of_most;
use crate::datagram::is_allowed;
use crate::notes::{NoteLimit, note};
use crate::settings::{TcpEnds, TcpSettings};
use crate::stream::certificates::TlsConfig;
use crate::stream::pipe::{PipeBytes, PipeEnd, TlsPipe};
use crate::wait::{LOOK, Readiness, wait};
use connection::{ConnectionEnd, NetworkHalf, TcpConnection, connect_later, prepare};
use std::io;
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::os::fd::AsFd as _;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Instant;

#[derive(Debug)]
struct TcpState {
    connections: Vec<TcpConnection>,
    counters: StreamCounters,
    notes: NoteLimit,
}

impl TcpState {
    /// Returns the counters, with those of connections that are open.
    fn sums(&self) -> StreamCounters {
        let mut sums = self.counters;
        for connection in &self.connections {
            let bytes = connection.pipe.bytes();
            sums.open += 1;
            add_bytes(&mut sums, bytes);
            sums.waiting += bytes.read - bytes.sent + bytes.received - bytes.written;
        }
        sums
    }
}

/// A link of connections.
#[derive(Debug)]
pub struct TcpLink {
    settings: TcpSettings,
    config: TlsConfig,
    listener: TcpListener,
    /// As they were after the last turn.
    counters: Mutex<StreamCounters>,
}

impl TcpLink {
    /// Binds the socket of a link.
    ///
    /// # Errors
    /// A description: the address cannot be used.
    pub fn start(settings: &TcpSettings, config: TlsConfig) -> Result<Self, String> {
        let address = match &settings.ends {
            TcpEnds::Listen { listen, .. } => *listen,
            TcpEnds::Connect { plain, .. } => *plain,
        };
        let bound = TcpListener::bind(address).and_then(|listener| {
            listener.set_nonblocking(true)?;
            Ok(listener)
        });
        let listener =
            bound.map_err(|error| format!("cannot listen at {address}: {error}; is it in use?"))?;
        Ok(Self {
            settings: settings.clone(),
            config,
            listener,
            counters: Mutex::default(),
        })
    }

    /// Returns the address where connections come in.
    #[must_use]
    pub fn listens(&self) -> Option<SocketAddr> {
        self.listener.local_addr().ok()
    }

    /// Returns the counters.
    #[must_use]
    pub fn report(&self) -> LinkReport {
        LinkReport::Tcp {
            name: self.settings.keys.name.clone(),
            streams: *self.lock(),
        }
    }

    fn lock(&self) -> MutexGuard<'_, StreamCounters> {
        self.counters.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Carries connections until `stop`.
    pub fn run(&self, stop: &AtomicBool) {
        let mut state = TcpState {
            connections: Vec::new(),
            counters: StreamCounters::default(),
            notes: NoteLimit::new(Instant::now()),
        };
        while !stop.load(Relaxed) {
            let is_busy = state.connections.iter().any(TcpConnection::is_joining);
            let mut sockets = vec![(self.listener.as_fd(), Readiness::READ)];
            sockets.extend(state.connections.iter().flat_map(TcpConnection::wishes));
            let Ok(ready) = wait(&sockets, LOOK[usize::from(!is_busy)]) else {
                continue;
            };
            let now = Instant::now();
            for connection in &mut state.connections {
                connection.go_on(&self.settings, now);
            }
            self.settle(&mut state, now);
            if ready.first().is_some_and(|ready| ready.read) {
                self.accept(&mut state, now);
            }
            *self.lock() = state.sums();
        }
        for connection in &mut state.connections {
            connection.end = Some(ConnectionEnd::Closed);
        }
        self.settle(&mut state, Instant::now());
        *self.lock() = state.sums();
    }

    fn accept(&self, state: &mut TcpState, now: Instant) {
        // As many as may be in their handshake at once; the others have their turn later.
        for _ in 0..self.settings.keys.handshakes {
            let (stream, from) = match self.listener.accept() {
                Ok(accepted) => accepted,
                Err(error) => {
                    if error.kind() != io::ErrorKind::WouldBlock {
                        // There may be no descriptor left: others go on, and may end meanwhile.
                        std::thread::sleep(LOOK[0]);
                    }
                    return;
                }
            };
            state.counters.connections += 1;
            if !is_allowed(self.settings.keys.allow.as_deref(), from.ip()) {
                state.counters.denied += 1;
                continue;
            }
            match self.begin(stream, from, now) {
                Ok(connection) => {
                    self.make_room(state);
                    state.connections.push(connection);
                    self.settle(state, now);
                }
                Err(why) => {
                    state.counters.broken += 1;
                    let name = &self.settings.keys.name;
                    note(&mut state.notes, name, &format!("{from}: {why}"), now);
                }
            }
        }
    }

    /// Begins a connection for what has come in.
    fn begin(
        &self,
        stream: TcpStream,
        from: SocketAddr,
        now: Instant,
    ) -> Result<TcpConnection, String> {
        prepare(&stream).map_err(|error| error.to_string())?;
        let (network, plain) = match &self.settings.ends {
            TcpEnds::Listen { .. } => (NetworkHalf::Open(stream), None),
            TcpEnds::Connect { connect, .. } => {
                let longest = self.settings.keys.handshake_timeout;
                (connect_later(connect.clone(), longest)?, Some(stream))
            }
        };
        Ok(TcpConnection {
            from,
            network,
            plain,
            pipe: TlsPipe::new(&self.config)?,
            begun: now,
            moved: (now, PipeBytes::default()),
            end: None,
        })
    }

    /// Makes room for one more connection among those in their handshake.
    fn make_room(&self, state: &mut TcpState) {
        let limit = match self.settings.ends {
            TcpEnds::Listen { .. } => self.settings.keys.handshakes,
            TcpEnds::Connect { .. } => self.settings.keys.clients,
        };
        let all = state.connections.iter().enumerate();
        let joining = all.filter(|(_, one)| one.is_joining());
        if joining.clone().count() < usize::from(limit) {
            return;
        }
        let joining = joining.map(|(place, one)| (place, one.from.ip(), one.begun));
        if let Some(oldest) = oldest_of_most(joining) {
            state.connections[oldest].end = Some(ConnectionEnd::Displaced);
        }
    }

    /// Removes connections that have ended, counts them, and names the reasons.
    fn settle(&self, state: &mut TcpState, now: Instant) {
        let keys = &self.settings.keys;
        let is_open = |one: &TcpConnection| one.end.is_none() && !one.is_joining();
        let open = state.connections.iter().filter(|one| is_open(one)).count();
        let more = open.saturating_sub(keys.clients.into());
        // The newest have no room.
        let newest = state
            .connections
            .iter_mut()
            .rev()
            .filter(|one| is_open(one));
        for connection in newest.take(more) {
            connection.end = Some(ConnectionEnd::Full);
        }
        let TcpState {
            connections,
            counters,
            notes,
        } = state;
        connections.retain(|connection| {
            let Some(end) = &connection.end else {
                return true;
            };
            let bytes = connection.pipe.bytes();
            add_bytes(counters, bytes);
            counters.lost += bytes.read - bytes.sent;
            counters.dropped += bytes.received - bytes.written;
            if let Some(why) = count(counters, end) {
                let text = format!("{}: {why}", connection.from);
                note(notes, &keys.name, &text, now);
            }
            false
        });
    }
}

fn add_bytes(counters: &mut StreamCounters, bytes: PipeBytes) {
    counters.read += bytes.read;
    counters.sent += bytes.sent;
    counters.received += bytes.received;
    counters.written += bytes.written;
}

/// Counts the end of a connection, and returns a message if a person should know.
fn count(counters: &mut StreamCounters, end: &ConnectionEnd) -> Option<String> {
    let (counter, why) = match end {
        ConnectionEnd::Pipe(PipeEnd::Ended) => (&mut counters.ended, None),
        ConnectionEnd::Pipe(PipeEnd::Refused(why)) => (
            &mut counters.refused,
            Some(format!("the handshake failed: {why}")),
        ),
        ConnectionEnd::Pipe(PipeEnd::Broken(why)) => (
            &mut counters.broken,
            Some(format!("the connection broke: {why}")),
        ),
        ConnectionEnd::Late => (
            &mut counters.late,
            Some("the handshake took too long".to_owned()),
        ),
        ConnectionEnd::Full => (
            &mut counters.full,
            Some("there is no room for it, see `clients`".to_owned()),
        ),
        ConnectionEnd::Displaced => (&mut counters.displaced, None),
        ConnectionEnd::Unreachable(why) => (&mut counters.unreachable, Some(why.clone())),
        ConnectionEnd::Stalled => (
            &mut counters.stalled,
            Some("it has read nothing for five minutes".to_owned()),
        ),
        ConnectionEnd::Closed => (&mut counters.closed, None),
    };
    *counter += 1;
    why
}
