//! A link that can be cut: connections of TCP, passed on byte by byte.

use std::io::{Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex};

/// The link.
pub(crate) struct CutRelay {
    /// Where connections come in.
    pub(crate) address: SocketAddr,
    state: Arc<RelayState>,
}

struct RelayState {
    is_cut: AtomicBool,
    open: Mutex<Vec<TcpStream>>,
    /// Bytes that were passed on from the side that connects, and to it.
    sent: AtomicU64,
    returned: AtomicU64,
}

impl CutRelay {
    /// Begins to pass connections on.
    pub(crate) fn start(to: SocketAddr) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let state = Arc::new(RelayState {
            is_cut: AtomicBool::new(false),
            open: Mutex::default(),
            sent: AtomicU64::new(0),
            returned: AtomicU64::new(0),
        });
        let accepting = Arc::clone(&state);
        std::thread::spawn(move || {
            for client in listener.incoming().map_while(Result::ok) {
                if !accepting.is_cut.load(Relaxed)
                    && let Ok(server) = TcpStream::connect(to)
                {
                    accepting.join(&client, &server);
                }
            }
        });
        Self { address, state }
    }

    /// Ends all connections, and refuses new ones.
    pub(crate) fn cut(&self) {
        self.state.is_cut.store(true, Relaxed);
        for stream in self.state.open.lock().unwrap().drain(..) {
            let _ = stream.shutdown(Shutdown::Both);
        }
    }

    /// Passes new connections on again.
    pub(crate) fn heal(&self) {
        self.state.is_cut.store(false, Relaxed);
    }

    /// Returns the bytes that were passed on from the side that connects, and to it.
    pub(crate) fn bytes(&self) -> (u64, u64) {
        (
            self.state.sent.load(Relaxed),
            self.state.returned.load(Relaxed),
        )
    }
}

impl RelayState {
    fn join(self: &Arc<Self>, client: &TcpStream, server: &TcpStream) {
        for stream in [client, server] {
            stream.set_nodelay(true).unwrap();
            self.open.lock().unwrap().push(stream.try_clone().unwrap());
        }
        for (from, to, is_sent) in [(client, server, true), (server, client, false)] {
            let (mut from, mut to) = (from.try_clone().unwrap(), to.try_clone().unwrap());
            let state = Arc::clone(self);
            std::thread::spawn(move || {
                let mut bytes = vec![0; 1 << 16];
                while let Ok(len) = from.read(&mut bytes)
                    && len > 0
                    && to.write_all(&bytes[..len]).is_ok()
                {
                    let count = if is_sent {
                        &state.sent
                    } else {
                        &state.returned
                    };
                    count.fetch_add(len as u64, Relaxed);
                }
                let _ = to.shutdown(Shutdown::Both);
                let _ = from.shutdown(Shutdown::Both);
            });
        }
    }
}
