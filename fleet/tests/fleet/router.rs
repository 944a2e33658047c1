//! A router of Zenoh in this process, and the sessions of programs that connect to it.

use std::net::{SocketAddr, TcpListener};
use zenoh::{Config, Session, Wait as _};

/// The router.
pub(crate) struct TestRouter {
    /// Where it listens.
    pub(crate) address: SocketAddr,
    /// It ends with its session.
    pub(crate) session: Session,
}

impl TestRouter {
    /// Starts a router with these further settings of Zenoh; `protocol`: `tcp` or `tls`.
    pub(crate) fn start(protocol: &str, settings: &[(&str, &str)]) -> Self {
        let address = free_address();
        let mut config = Config::default();
        let endpoints = format!("['{protocol}/{address}']");
        let own = [
            ("mode", "'router'"),
            ("scouting/multicast/enabled", "false"),
            ("listen/endpoints", &*endpoints),
            // As in the example that is delivered.
            ("transport/link/tx/batch_size", "2048"),
            ("transport/link/rx/buffer_size", "2048"),
            ("transport/link/tx/queue/size/real_time", "16"),
            ("transport/link/tx/queue/size/data", "16"),
            ("transport/link/tx/queue/size/background", "16"),
        ];
        for (key, value) in own.iter().chain(settings) {
            config
                .insert_json5(key, value)
                .unwrap_or_else(|error| panic!("{key}: {error}"));
        }
        let session = zenoh::open(config).wait().unwrap();
        Self { address, session }
    }
}

/// Returns a TCP address of loopback that is free.
pub(crate) fn free_address() -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    listener.local_addr().unwrap()
}
