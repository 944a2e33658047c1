//! The UDP sockets of a gateway's tunnels, by the address to which they are bound.

use crate::PortOpener;
use std::collections::HashMap;
use std::io;
use std::net::{SocketAddr, UdpSocket};
use std::sync::{Arc, Weak};

/// The sockets: a port whose settings, or whose kind, changed at a reload takes the socket of the
/// one that it replaces.
#[derive(Default)]
struct BoundSockets(HashMap<SocketAddr, Weak<UdpSocket>>);

/// Returns the socket of an address, which does not block.
///
/// # Errors
/// The address cannot be used.
pub(super) fn socket_at(
    opener: &mut PortOpener,
    address: SocketAddr,
) -> io::Result<Arc<UdpSocket>> {
    let known = &mut opener.shared(BoundSockets::default).0;
    if let Some(socket) = known.get(&address).and_then(Weak::upgrade) {
        return Ok(socket);
    }
    let socket = Arc::new(UdpSocket::bind(address)?);
    socket.set_nonblocking(true)?;
    known.insert(address, Arc::downgrade(&socket));
    Ok(socket)
}
