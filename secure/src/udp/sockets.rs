//! Sockets of UDP: shared ones, and a peer's own.

use rustix::net::{
    AddressFamily, SocketFlags, SocketType, bind as bind_socket, connect, ipproto, socket_with,
    sockopt,
};
use std::io;
use std::net::{SocketAddr, UdpSocket};

/// The room in the kernel for datagrams that wait, bytes; the kernel may grant less.
const ROOM: usize = 4 << 20;

/// Returns a socket at an address, for datagrams of all or of one.
pub(super) fn bind(address: SocketAddr, peer: Option<SocketAddr>) -> Result<UdpSocket, String> {
    let bound = open(address, peer);
    bound.map_err(|error| format!("cannot listen at {address}: {error}; is it in use?"))
}

/// Returns a socket at an address that lets [`open_own`] have the same one.
pub(super) fn bind_shared(address: SocketAddr) -> Result<UdpSocket, String> {
    // Another program of this user could share it, too: this one fails then.
    drop(bind(address, None)?);
    let bound = open_own(address, None);
    bound.map_err(|error| format!("cannot listen at {address}: {error}; is it in use?"))
}

/// As [`bind`], with the system's error.
pub(super) fn open(address: SocketAddr, peer: Option<SocketAddr>) -> io::Result<UdpSocket> {
    let socket = UdpSocket::bind(address)?;
    if let Some(peer) = peer {
        // From now on, the kernel refuses datagrams of others.
        socket.connect(peer)?;
    }
    socket.set_nonblocking(true)?;
    widen(&socket);
    Ok(socket)
}

/// Returns a socket at the address of a shared one, which gets the datagrams of one peer: then they
/// have a queue of their own in the kernel, which no other sender can fill.
pub(super) fn open_own(address: SocketAddr, peer: Option<SocketAddr>) -> io::Result<UdpSocket> {
    let family = match address {
        SocketAddr::V4(_) => AddressFamily::INET,
        SocketAddr::V6(_) => AddressFamily::INET6,
    };
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    let socket = socket_with(family, SocketType::DGRAM, flags, Some(ipproto::UDP))?;
    // Only sockets of the same user may share it.
    sockopt::set_socket_reuseport(&socket, true)?;
    bind_socket(&socket, &address)?;
    if let Some(peer) = peer {
        connect(&socket, &peer)?;
    }
    let socket = UdpSocket::from(socket);
    widen(&socket);
    Ok(socket)
}

fn widen(socket: &UdpSocket) {
    // With less room, bursts may be lost; the gateway's port counts what is missing.
    let _ = sockopt::set_socket_recv_buffer_size(socket, ROOM);
}
