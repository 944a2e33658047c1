//! A link of datagrams with its sockets: one thread, which waits for all of them.

mod sockets;

use crate::counters::LinkReport;
use crate::datagram::DatagramSink;
use crate::datagram::connector::DatagramConnector;
use crate::datagram::listener::DatagramListener;
use crate::datagram::psk::{PskPeer, PskRing};
use crate::notes::{NoteLimit, note};
use crate::settings::UdpSettings;
use crate::wait::{LOOK, Readiness, wait};
use sockets::{bind, bind_shared, open, open_own};
use std::io;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr, ToSocketAddrs as _, UdpSocket};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Instant;

/// The number of datagrams that are read from a socket before the others have their turn.
const TURN: usize = 64;

/// The longest datagram of UDP.
const LONGEST_UDP: usize = 65_535;

#[derive(Debug)]
enum UdpSide {
    Listener(Box<DatagramListener>),
    Connector(Box<DatagramConnector>),
}

#[derive(Debug)]
struct UdpState {
    side: UdpSide,
    notes: NoteLimit,
}

/// A link of datagrams.
#[derive(Debug)]
pub struct UdpLink {
    name: String,
    /// The other side's name, for a link that connects.
    server: Option<String>,
    /// The socket of a link that listens.
    network: Option<UdpSocket>,
    /// The sockets to the gateways.
    plain: Vec<UdpSocket>,
    state: Mutex<UdpState>,
}

/// The socket of a peer with a session, and its address.
type OwnSocket = Option<(SocketAddr, UdpSocket)>;

/// Where datagrams go: the sockets.
struct SocketSink<'a> {
    name: &'a str,
    network: Option<&'a UdpSocket>,
    plain: &'a [UdpSocket],
    notes: &'a mut NoteLimit,
}

impl DatagramSink for SocketSink<'_> {
    fn to_network(&mut self, to: Option<SocketAddr>, datagram: &[u8]) -> bool {
        let Some(socket) = self.network else {
            return false;
        };
        // A refusal of an earlier datagram (ICMP) is reported once, instead of sending this one.
        let send = || match to {
            Some(to) => socket.send_to(datagram, to),
            None => socket.send(datagram),
        };
        is_sent(&send)
    }

    fn to_gateway(&mut self, peer: usize, datagram: &[u8]) -> bool {
        let socket = self.plain.get(peer);
        socket.is_some_and(|socket| is_sent(&|| socket.send(datagram)))
    }

    fn note(&mut self, text: String, now: Instant) {
        note(self.notes, self.name, &text, now);
    }
}

fn is_sent(send: &dyn Fn() -> io::Result<usize>) -> bool {
    match send() {
        Ok(_) => true,
        Err(error) if error.kind() == io::ErrorKind::ConnectionRefused => send().is_ok(),
        Err(_) => false,
    }
}

impl UdpLink {
    /// Binds the sockets of a link. `keys` are those of its peers, in their order.
    ///
    /// # Errors
    /// A description: an address cannot be used.
    pub fn start(settings: &UdpSettings, keys: Vec<PskPeer>) -> Result<Self, String> {
        let (now, limits) = (Instant::now(), settings.limits());
        let network = settings.keys.listen.map(bind_shared);
        let network = network.transpose()?;
        let mut plain = Vec::new();
        for peer in &settings.peers {
            plain.push(bind(peer.plain, Some(peer.gateway))?);
        }
        let side = match (&settings.keys.connect, keys) {
            (Some(server), mut keys) if keys.len() == 1 => {
                let connector = DatagramConnector::new(keys.remove(0), server, limits, now)?;
                UdpSide::Connector(Box::new(connector))
            }
            (_, keys) => {
                let listener = DatagramListener::new(PskRing::new(keys), limits, now)?;
                UdpSide::Listener(Box::new(listener))
            }
        };
        Ok(Self {
            name: settings.keys.name.clone(),
            server: settings.keys.connect.clone(),
            network,
            plain,
            state: Mutex::new(UdpState {
                side,
                notes: NoteLimit::new(now),
            }),
        })
    }

    /// Returns the address on the network of a link that listens.
    #[must_use]
    pub fn listens(&self) -> Option<SocketAddr> {
        self.network.as_ref()?.local_addr().ok()
    }

    /// Returns the counters.
    #[must_use]
    pub fn report(&self) -> LinkReport {
        let (network, handshakes, peers) = match &self.lock().side {
            UdpSide::Listener(listener) => listener.report(),
            UdpSide::Connector(connector) => {
                let (network, handshakes, peer) = connector.report();
                (network, handshakes, vec![peer])
            }
        };
        LinkReport::Udp {
            name: self.name.clone(),
            network,
            handshakes,
            peers,
        }
    }

    fn lock(&self) -> MutexGuard<'_, UdpState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Carries datagrams until `stop`, and ends all sessions.
    pub fn run(&self, stop: &AtomicBool) {
        // The socket of a link that connects is a new one for each first handshake.
        let mut connected: Option<UdpSocket> = None;
        // Of a link that listens: the socket of each peer with a session.
        let mut own: Vec<OwnSocket> = self.plain.iter().map(|_| None).collect();
        let mut buffer = vec![0; LONGEST_UDP];
        while !stop.load(Relaxed) {
            let network = self.network.as_ref().or(connected.as_ref());
            let is_busy = self.is_busy();
            let waited = {
                let peers = own.iter().flatten().map(|(_, socket)| socket);
                let sockets = network.into_iter().chain(&self.plain).chain(peers);
                let entries: Vec<_> = sockets.map(|socket| (socket, Readiness::READ)).collect();
                wait(&entries, LOOK[usize::from(!is_busy)])
            };
            let Ok(ready) = waited else {
                continue;
            };
            let mut ready = ready.into_iter().map(|ready| ready.read);
            if network.is_some() && ready.next().unwrap_or_default() {
                self.read_network(network, network, &mut buffer);
            }
            for place in 0..self.plain.len() {
                if ready.next().unwrap_or_default() {
                    self.read_gateway(place, network, &mut buffer);
                }
            }
            for (_, socket) in own.iter().flatten() {
                if ready.next().unwrap_or_default() {
                    self.read_network(Some(socket), network, &mut buffer);
                }
            }
            self.share(&mut own);
            self.pass_time(&mut connected);
        }
        let network = self.network.as_ref().or(connected.as_ref());
        let (now, mut state) = (Instant::now(), self.lock());
        let UdpState { side, notes } = &mut *state;
        let mut sink = self.sink(network, notes);
        match side {
            UdpSide::Listener(listener) => listener.close(now, &mut sink),
            UdpSide::Connector(connector) => connector.close(now, &mut sink),
        }
    }

    fn is_busy(&self) -> bool {
        match &self.lock().side {
            UdpSide::Listener(listener) => listener.is_busy(),
            UdpSide::Connector(connector) => connector.is_busy(),
        }
    }

    fn sink<'a>(
        &'a self,
        network: Option<&'a UdpSocket>,
        notes: &'a mut NoteLimit,
    ) -> SocketSink<'a> {
        SocketSink {
            name: &self.name,
            network,
            plain: &self.plain,
            notes,
        }
    }

    /// Gives each peer with a session a socket of its own, and takes back the others.
    fn share(&self, own: &mut [OwnSocket]) {
        let state = self.lock();
        let (UdpSide::Listener(listener), Some(shared)) = (&state.side, &self.network) else {
            return;
        };
        for (place, own) in own.iter_mut().enumerate() {
            let address = listener.address(place);
            if own.as_ref().map(|(address, _)| *address) != address {
                // Without one, its datagrams come by the shared one.
                *own = address.and_then(|to| {
                    let socket = open_own(shared.local_addr().ok()?, Some(to)).ok()?;
                    Some((to, socket))
                });
            }
        }
    }

    /// Reads a socket of the network; answers leave by `network`.
    fn read_network(
        &self,
        socket: Option<&UdpSocket>,
        network: Option<&UdpSocket>,
        buffer: &mut [u8],
    ) {
        let Some(socket) = socket else { return };
        let mut state = self.lock();
        let UdpState { side, notes } = &mut *state;
        let mut sink = self.sink(network, notes);
        for _ in 0..TURN {
            let received = socket.recv_from(buffer);
            let now = Instant::now();
            match received {
                Ok((len, from)) => match side {
                    UdpSide::Listener(listener) => {
                        listener.take_network(from, &buffer[..len], now, &mut sink);
                    }
                    UdpSide::Connector(connector) => {
                        connector.take_network(&buffer[..len], now, &mut sink);
                    }
                },
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return,
                // An earlier datagram had no receiver (ICMP).
                Err(_) => {}
            }
        }
    }

    fn read_gateway(&self, place: usize, network: Option<&UdpSocket>, buffer: &mut [u8]) {
        let mut state = self.lock();
        let UdpState { side, notes } = &mut *state;
        let mut sink = self.sink(network, notes);
        for _ in 0..TURN {
            let received = self.plain[place].recv(buffer);
            let now = Instant::now();
            match received {
                Ok(len) => match side {
                    UdpSide::Listener(listener) => {
                        listener.take_gateway(place, &buffer[..len], now, &mut sink);
                    }
                    UdpSide::Connector(connector) => {
                        connector.take_gateway(&buffer[..len], now, &mut sink);
                    }
                },
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return,
                Err(_) => {}
            }
        }
    }

    /// Looks at timers; `connected` becomes a new socket when a handshake needs one.
    fn pass_time(&self, connected: &mut Option<UdpSocket>) {
        let mut state = self.lock();
        let UdpState { side, notes } = &mut *state;
        match side {
            UdpSide::Listener(listener) => {
                let mut sink = self.sink(self.network.as_ref(), notes);
                listener.pass_time(Instant::now(), &mut sink);
            }
            UdpSide::Connector(connector) => {
                if connector.wants_socket(Instant::now()) {
                    let socket = self.connect();
                    // The name's address may have taken long to find.
                    let now = Instant::now();
                    match socket {
                        Ok(socket) => {
                            let socket = &*connected.insert(socket);
                            connector.begin(now, &mut self.sink(Some(socket), notes));
                        }
                        Err(why) => connector.put_off(&why, now, &mut self.sink(None, notes)),
                    }
                }
                let mut sink = self.sink(connected.as_ref(), notes);
                connector.pass_time(Instant::now(), &mut sink);
            }
        }
    }

    /// Returns a socket to the other side.
    fn connect(&self) -> Result<UdpSocket, String> {
        let server = self.server.as_deref().unwrap_or_default();
        let found = server.to_socket_addrs();
        let mut found = found.map_err(|error| format!("its address is not known: {error}"))?;
        let to = found.next().ok_or("its name has no address")?;
        let own: SocketAddr = match to {
            SocketAddr::V4(_) => (Ipv4Addr::UNSPECIFIED, 0).into(),
            SocketAddr::V6(_) => (Ipv6Addr::UNSPECIFIED, 0).into(),
        };
        let connected = open(own, Some(to));
        connected.map_err(|error| format!("there is no way to {to}: {error}"))
    }
}
