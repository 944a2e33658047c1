//! A listener: it accepts clients, and gives each to the port that serves its bus.

use super::NewSession;
use super::conversation::{Conversation, Next};
use super::link::{StreamLink, StreamPeer};
use super::shared::StreamShared;
use super::store::FrameStore;
use crate::network::address::{AddressRange, is_allowed};
use crate::opener::AtStart;
use crate::{PortError, PortOpener};
use frame::Nanos;
use net::StreamStep;
use rustix::event::epoll::{self, CreateFlags, EventData, EventFlags};
use std::collections::HashMap;
use std::io::{self, ErrorKind};
use std::net::{IpAddr, SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

/// Time in which a client must open a bus, ns.
const OPEN_TIMEOUT: Nanos = 10_000_000_000;

/// Maximum number of commands before a client has opened a bus, in one call.
const MAX_COMMANDS: usize = 64;

/// Maximum number of clients that have not opened a bus yet.
const MAX_NEW: usize = 16;

/// Maximum number of clients that are accepted before frames pass again.
const MAX_ACCEPTED: usize = 64;

/// Pause after the system refused to accept a client, for example for lack of descriptors, ns.
const ACCEPT_PAUSE: Nanos = 100_000_000;

/// Interval of beacons, ns: that of socketcand, for which clients wait 3.1 s.
const BEACON_INTERVAL: Nanos = 3_000_000_000;

/// The settings of a listener, on which all its ports agree.
#[derive(Clone, Debug, Default)]
pub(crate) struct HubSettings {
    /// The clients that may connect; `None`: all.
    pub(crate) allow: Option<Vec<AddressRange>>,
    /// Maximum number of clients.
    pub(crate) clients: usize,
    /// Where beacons go; `None`: there are none.
    pub(crate) beacon: Option<SocketAddr>,
}

/// The listeners of a gateway, by their address. They live as long as a port uses them.
#[derive(Default)]
pub(crate) struct Listeners(HashMap<SocketAddr, Weak<ListenerHub>>);

impl Listeners {
    /// Returns the listener at this address. `kind` is the kind of its ports.
    ///
    /// # Errors
    /// [`PortError`]: nothing can listen there, or a port of another kind does.
    pub(crate) fn at(
        opener: &mut PortOpener,
        port: &str,
        kind: &'static str,
        address: SocketAddr,
        session: NewSession,
    ) -> Result<Arc<ListenerHub>, PortError> {
        let fail = |what: String, source: Option<io::Error>| PortError {
            port: port.to_owned(),
            what,
            source: source.map(Into::into),
        };
        let known = &mut opener.shared(Self::default).0;
        if let Some(hub) = known.get(&address).and_then(Weak::upgrade) {
            if hub.kind == kind {
                return Ok(hub);
            }
            let what = format!(
                "a port of kind \"{}\" listens at {address}: use another port number",
                hub.kind
            );
            return Err(fail(what, None));
        }
        let hub = ListenerHub::new(kind, address, session)
            .map_err(|error| fail(format!("cannot listen at {address}"), Some(error)))?;
        let hub = Arc::new(hub);
        known.insert(address, Arc::downgrade(&hub));
        Ok(hub)
    }
}

pub(crate) struct ListenerHub {
    kind: &'static str,
    epoll: OwnedFd,
    state: Mutex<HubState>,
}

struct HubState {
    listener: TcpListener,
    address: SocketAddr,
    session: NewSession,
    settings: HubSettings,
    ports: Vec<HubPort>,
    /// Clients that have not opened a bus yet, and the time at which each connected.
    new: Vec<(Conversation, Nanos)>,
    /// Each client has a copy.
    ticket: Arc<()>,
    /// Time of the next attempt to accept clients, after the system refused it.
    accept_at: Option<Nanos>,
    /// The socket for beacons, and the time of the next one.
    beacon: Option<UdpSocket>,
    beacon_at: Nanos,
    counts: HubCounts,
}

struct HubPort {
    /// The name of its bus; empty where the protocol has no names.
    bus: String,
    shared: Weak<StreamShared>,
}

/// Counts of a listener since the last call.
#[derive(Default)]
pub(super) struct HubCounts {
    pub(super) denied: u64,
    pub(super) malformed: u64,
    pub(super) remarks: Vec<String>,
}

impl AsFd for ListenerHub {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.epoll.as_fd()
    }
}

impl ListenerHub {
    fn new(kind: &'static str, address: SocketAddr, session: NewSession) -> io::Result<Self> {
        let listener = TcpListener::bind(address)?;
        listener.set_nonblocking(true)?;
        let epoll = epoll::create(CreateFlags::CLOEXEC)?;
        epoll::add(&epoll, &listener, EventData::new_u64(0), EventFlags::IN)?;
        Ok(Self {
            kind,
            epoll,
            state: Mutex::new(HubState {
                listener,
                address,
                session,
                settings: HubSettings::default(),
                ports: Vec::new(),
                new: Vec::new(),
                ticket: Arc::new(()),
                accept_at: None,
                beacon: None,
                beacon_at: 0,
                counts: HubCounts::default(),
            }),
        })
    }

    fn lock(&self) -> MutexGuard<'_, HubState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Makes a port serve a bus from now on.
    fn register(&self, bus: &str, shared: &Arc<StreamShared>, settings: HubSettings) {
        let mut state = self.lock();
        state
            .ports
            .retain(|port| port.bus != bus && port.shared.strong_count() > 0);
        state.ports.push(HubPort {
            bus: bus.to_owned(),
            shared: Arc::downgrade(shared),
        });
        if state.settings.beacon != settings.beacon {
            (state.beacon, state.beacon_at) = (None, 0);
        }
        state.settings = settings;
    }

    /// Accepts clients, and gives those that have opened a bus to its port.
    pub(super) fn serve(&self, now: Nanos) -> HubCounts {
        let mut state = self.lock();
        state.accept(&self.epoll, now);
        let waiting = std::mem::take(&mut state.new);
        for (client, since) in waiting {
            state.greet(&self.epoll, client, since, now);
        }
        state.announce(now);
        std::mem::take(&mut state.counts)
    }

    pub(super) fn deadline(&self) -> Option<Nanos> {
        let state = self.lock();
        let new = state
            .new
            .iter()
            .map(|(_, since)| since.saturating_add(OPEN_TIMEOUT));
        let beacon = state.settings.beacon.map(|_| state.beacon_at);
        new.chain(state.accept_at).chain(beacon).min()
    }
}

impl HubState {
    fn accept(&mut self, epoll: &OwnedFd, now: Nanos) {
        match self.accept_at {
            Some(at) if now < at => return,
            Some(_) => {
                self.accept_at = None;
                let _ = epoll::modify(epoll, &self.listener, EventData::new_u64(0), EventFlags::IN);
            }
            None => {}
        }
        for _ in 0..MAX_ACCEPTED {
            match self.listener.accept() {
                Ok((socket, peer)) => self.admit(epoll, socket, peer, now),
                Err(error) if error.kind() == ErrorKind::WouldBlock => return,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) if error.kind() == ErrorKind::ConnectionAborted => {}
                Err(error) => {
                    self.remark(format!("clients cannot be accepted: {error}"));
                    self.accept_at = Some(now.saturating_add(ACCEPT_PAUSE));
                    let none = EventFlags::empty();
                    let _ = epoll::modify(epoll, &self.listener, EventData::new_u64(0), none);
                    return;
                }
            }
        }
    }

    fn remark(&mut self, remark: String) {
        self.counts.remarks.push(remark);
    }

    fn deny(&mut self, peer: &StreamPeer, why: &str) {
        self.counts.denied += 1;
        self.remark(format!("client {} was refused: {why}", peer.host()));
    }

    /// Admits a new client, or closes its connection.
    fn admit(&mut self, epoll: &OwnedFd, socket: TcpStream, peer: SocketAddr, now: Nanos) {
        let from = StreamPeer::Address(peer);
        if !is_allowed(self.settings.allow.as_deref(), peer.ip()) {
            return self.deny(&from, "it is not in `allow`");
        }
        if Arc::strong_count(&self.ticket) > self.settings.clients {
            return self.deny(&from, "there are as many as `clients` allows");
        }
        if self.new.len() == MAX_NEW {
            return self.deny(&from, "too many clients have not opened a bus yet");
        }
        let ticket = Some(Arc::clone(&self.ticket));
        let link = StreamLink::Socket(socket);
        let client = Conversation::new(link, from.clone(), (self.session)(), true, ticket, now);
        let added = client.and_then(|client| {
            epoll::add(
                epoll,
                client.socket(),
                EventData::new_u64(1),
                EventFlags::IN,
            )?;
            Ok(client)
        });
        match added {
            Ok(client) => self.new.push((client, now)),
            Err(error) => self.deny(&from, &error.to_string()),
        }
    }

    /// Goes on with a client that has not opened a bus yet.
    fn greet(&mut self, epoll: &OwnedFd, mut client: Conversation, since: Nanos, now: Nanos) {
        client.readable = true;
        let by_name = !self.ports.iter().any(|port| port.bus.is_empty());
        let mut chosen = if by_name { None } else { Some(String::new()) };
        let mut commands = 0;
        while chosen.is_none() {
            commands += 1;
            if commands > MAX_COMMANDS {
                return self.deny(&client.peer, "it sends too much and opens no bus");
            }
            match client.next() {
                Next::Nothing => break,
                Next::Ended(None) => return,
                Next::Ended(Some(why)) => {
                    self.counts.malformed += 1;
                    return self
                        .remark(format!("the connection with {} ended: {why}", client.peer));
                }
                Next::Unit(StreamStep::Open(_, bus)) => chosen = Some(bus),
                Next::Unit(StreamStep::List(_)) => {
                    let names: Vec<String> =
                        self.ports.iter().map(|port| port.bus.clone()).collect();
                    // The answers before leave first, as far as the client reads them.
                    if client.write(&mut FrameStore::new(0), now).is_err() {
                        return;
                    }
                    if !client.answer(|session, out| session.answer_list(&names, out)) {
                        return self.deny(&client.peer, "it does not read its answers");
                    }
                }
                Next::Unit(StreamStep::Malformed(_)) => self.counts.malformed += 1,
                Next::Unit(_) => {}
            }
        }
        let Some(bus) = chosen else {
            if now.saturating_sub(since) >= OPEN_TIMEOUT {
                return self.deny(&client.peer, "it has opened no bus within 10 s");
            }
            if client.write(&mut FrameStore::new(0), now).is_ok() {
                self.new.push((client, since));
            }
            return;
        };
        let port = self.ports.iter().find(|port| port.bus == bus);
        let shared = port.and_then(|port| port.shared.upgrade());
        if !client.answer(|session, out| session.answer_open(shared.is_some(), out)) {
            return self.deny(&client.peer, "it does not read its answers");
        }
        let Some(shared) = shared else {
            let _ = client.write(&mut FrameStore::new(0), now);
            return self.deny(&client.peer, &format!("there is no bus `{bus}`"));
        };
        let peer = client.peer.clone();
        let moved = epoll::delete(epoll, client.socket());
        if let Err(error) = moved.and_then(|()| shared.lock().join(client)) {
            self.deny(&peer, &error.to_string());
        }
    }

    /// Sends a beacon, if one is due.
    fn announce(&mut self, now: Nanos) {
        let Some(to) = self.settings.beacon else {
            return;
        };
        if now < self.beacon_at {
            return;
        }
        self.beacon_at = now.saturating_add(BEACON_INTERVAL);
        let socket = match self.beacon.take() {
            Some(socket) => Ok(socket),
            None => beacon_socket(to),
        };
        let sent = socket.and_then(|socket| {
            let text = self.beacon_text(socket.local_addr()?.ip());
            let refused = |error: &io::Error| error.kind() == ErrorKind::ConnectionRefused;
            // No program waited for the previous beacon: the kernel reports this at the next one,
            // and does not send that. Once reported, the error is gone.
            let sent = match socket.send(text.as_bytes()) {
                Err(error) if refused(&error) => socket.send(text.as_bytes()),
                sent => sent,
            };
            match sent {
                // No program waits for beacons at the moment.
                Err(error) if !refused(&error) => Err(error),
                _ => Ok(socket),
            }
        });
        match sent {
            Ok(socket) => self.beacon = Some(socket),
            Err(error) => self.remark(format!("beacons cannot be sent to {to}: {error}")),
        }
    }

    /// Returns the text of a beacon: the form of socketcand's. `own` is this machine's address as
    /// the beacon's receivers see it.
    fn beacon_text(&self, own: IpAddr) -> String {
        let mut address = self.address;
        if address.ip().is_unspecified() {
            address.set_ip(own);
        }
        let buses: String = self
            .ports
            .iter()
            .map(|port| format!("<Bus name=\"{}\"/>", escaped(&port.bus)))
            .collect();
        format!(
            "<CANBeacon name=\"cangate\" type=\"SocketCAN\" description=\"cangate\">\n\
             <URL>can://{address}</URL>{buses}</CANBeacon>"
        )
    }
}

/// Returns a text as the value of an attribute in XML.
fn escaped(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('"', "&quot;")
        .replace('<', "&lt;")
}

fn beacon_socket(to: SocketAddr) -> io::Result<UdpSocket> {
    let any: SocketAddr = if to.is_ipv4() {
        ([0, 0, 0, 0], 0).into()
    } else {
        ([0_u16; 8], 0).into()
    };
    let socket = UdpSocket::bind(any)?;
    socket.set_nonblocking(true)?;
    if to.is_ipv4() {
        socket.set_broadcast(true)?;
    }
    socket.connect(to)?;
    Ok(socket)
}

/// Registers a port at its listener when the start has succeeded.
pub(super) struct RegisterAtStart {
    hub: Arc<ListenerHub>,
    bus: String,
    shared: Arc<StreamShared>,
    settings: HubSettings,
}

impl RegisterAtStart {
    pub(super) fn new(
        hub: &Arc<ListenerHub>,
        bus: &str,
        shared: &Arc<StreamShared>,
        settings: HubSettings,
    ) -> Self {
        Self {
            hub: Arc::clone(hub),
            bus: bus.to_owned(),
            shared: Arc::clone(shared),
            settings,
        }
    }
}

impl AtStart for RegisterAtStart {
    fn start(&mut self) -> Result<(), PortError> {
        self.hub
            .register(&self.bus, &self.shared, self.settings.clone());
        Ok(())
    }
}
