//! One connection with its sockets.

use crate::settings::{TcpEnds, TcpSettings};
use crate::stream::pipe::{PipeBytes, PipeEnd, TlsPipe};
use crate::wait::Readiness;
use rustix::net::sockopt;
use std::io;
use std::net::{SocketAddr, TcpStream, ToSocketAddrs as _};
use std::os::fd::{AsFd as _, BorrowedFd};
use std::sync::mpsc::{self, Receiver, TryRecvError};
use std::time::{Duration, Instant};

/// The longest time for which a receiver may take nothing, that of the gateway's ports.
const LONGEST_STALL: Duration = Duration::from_secs(300);

/// The longest time for a connection to a gateway's port, which is on this machine.
const GATEWAY_TIME: Duration = Duration::from_millis(250);

/// The time of silence before the kernel asks whether the other side is there, the time between two
/// questions, and their number: a side that has vanished is noticed after about a minute.
const ALIVE: (Duration, Duration, u32) = (Duration::from_secs(30), Duration::from_secs(10), 3);

/// The network's half of a connection.
#[derive(Debug)]
pub(super) enum NetworkHalf {
    Open(TcpStream),
    /// A thread connects: names and far networks take their time.
    Waiting(Receiver<io::Result<TcpStream>>),
}

/// A connection of a link.
#[derive(Debug)]
pub(super) struct TcpConnection {
    pub(super) from: SocketAddr,
    pub(super) network: NetworkHalf,
    pub(super) plain: Option<TcpStream>,
    pub(super) pipe: TlsPipe,
    pub(super) begun: Instant,
    /// When bytes last moved.
    pub(super) moved: (Instant, PipeBytes),
    pub(super) end: Option<ConnectionEnd>,
}

/// Why a connection has ended.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum ConnectionEnd {
    Pipe(PipeEnd),
    Late,
    Full,
    Displaced,
    Unreachable(String),
    Stalled,
    Closed,
}

impl TcpConnection {
    /// Returns whether the connection has not yet both ends and a handshake that has ended.
    pub(super) fn is_joining(&self) -> bool {
        self.end.is_none()
            && (self.pipe.is_handshaking()
                || self.plain.is_none()
                || matches!(self.network, NetworkHalf::Waiting(_)))
    }

    /// Returns the sockets that are waited for.
    pub(super) fn wishes(&self) -> impl Iterator<Item = (BorrowedFd<'_>, Readiness)> {
        let network = match &self.network {
            NetworkHalf::Open(stream) => Some((stream.as_fd(), self.pipe.wants_of_network())),
            NetworkHalf::Waiting(_) => None,
        };
        let plain = self.plain.as_ref();
        let plain = plain.map(|stream| (stream.as_fd(), self.pipe.wants_of_plain()));
        network.into_iter().chain(plain)
    }

    /// Moves what can be moved, and looks at the times.
    pub(super) fn go_on(&mut self, settings: &TcpSettings, now: Instant) {
        if self.end.is_some() {
            return;
        }
        self.end = self.find_end(settings, now);
    }

    fn find_end(&mut self, settings: &TcpSettings, now: Instant) -> Option<ConnectionEnd> {
        let is_late = now.saturating_duration_since(self.begun) >= settings.keys.handshake_timeout;
        if is_late && self.is_joining() {
            return Some(ConnectionEnd::Late);
        }
        if let NetworkHalf::Waiting(result) = &self.network {
            match result.try_recv() {
                Ok(Ok(stream)) => self.network = NetworkHalf::Open(stream),
                Ok(Err(error)) => {
                    let why = format!("the other side cannot be reached: {error}");
                    return Some(ConnectionEnd::Unreachable(why));
                }
                Err(TryRecvError::Empty) => return None,
                Err(TryRecvError::Disconnected) => {
                    return Some(ConnectionEnd::Unreachable("a thread has ended".to_owned()));
                }
            }
        }
        let NetworkHalf::Open(network) = &mut self.network else {
            return None;
        };
        if let Some(end) = self.pipe.transfer(network, self.plain.as_mut()) {
            return Some(ConnectionEnd::Pipe(end));
        }
        if let TcpEnds::Listen { gateway, .. } = &settings.ends
            && self.plain.is_none()
            && !self.pipe.is_handshaking()
        {
            // Only a peer that has shown its certificate reaches the gateway.
            match connect_gateway(*gateway) {
                Ok(stream) => self.plain = Some(stream),
                Err(error) => {
                    let why = format!("the gateway at {gateway} cannot be reached: {error}");
                    return Some(ConnectionEnd::Unreachable(why));
                }
            }
            let end = self.pipe.transfer(network, self.plain.as_mut());
            if let Some(end) = end {
                return Some(ConnectionEnd::Pipe(end));
            }
        }
        let bytes = self.pipe.bytes();
        if bytes != self.moved.1 || !self.pipe.is_waiting() {
            self.moved = (now, bytes);
        } else if now.saturating_duration_since(self.moved.0) >= LONGEST_STALL {
            return Some(ConnectionEnd::Stalled);
        }
        None
    }
}

fn connect_gateway(gateway: SocketAddr) -> io::Result<TcpStream> {
    let stream = TcpStream::connect_timeout(&gateway, GATEWAY_TIME)?;
    prepare(&stream)?;
    Ok(stream)
}

/// Connects to the other side in a thread of its own.
pub(super) fn connect_later(host: String, longest: Duration) -> Result<NetworkHalf, String> {
    let (give, result) = mpsc::channel();
    let connect = move || {
        let connect = || {
            let found: Vec<SocketAddr> = host.to_socket_addrs()?.collect();
            let mut last = io::ErrorKind::NotFound.into();
            for address in found {
                match TcpStream::connect_timeout(&address, longest) {
                    Ok(stream) => {
                        prepare(&stream)?;
                        return Ok(stream);
                    }
                    Err(error) => last = error,
                }
            }
            Err(last)
        };
        // The connection may have ended meanwhile.
        let _ = give.send(connect());
    };
    let thread = std::thread::Builder::new().name("connect".to_owned());
    let spawned = thread.spawn(connect);
    spawned.map_err(|error| format!("cannot start a thread: {error}"))?;
    Ok(NetworkHalf::Waiting(result))
}

pub(super) fn prepare(stream: &TcpStream) -> io::Result<()> {
    stream.set_nonblocking(true)?;
    // Frames are small and must not wait for one another.
    stream.set_nodelay(true)?;
    let (idle, interval, count) = ALIVE;
    sockopt::set_socket_keepalive(stream, true)?;
    sockopt::set_tcp_keepidle(stream, idle)?;
    sockopt::set_tcp_keepintvl(stream, interval)?;
    sockopt::set_tcp_keepcnt(stream, count)?;
    Ok(())
}
