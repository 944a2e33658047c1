//! All links of a file, from the start to the last counters.

use crate::counters::LinkReport;
use crate::datagram::psk::PskPeer;
use crate::secrets::read_key;
use crate::settings::SecureSettings;
use crate::stream::certificates::{TlsConfig, read_tls};
use crate::tcp::TcpLink;
use crate::udp::UdpLink;
use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::thread::JoinHandle;

/// The contents of the files of keys and certificates, in the order of the links.
#[derive(Debug)]
pub struct LinkSecrets {
    udp: Vec<Vec<PskPeer>>,
    tcp: Vec<TlsConfig>,
}

impl LinkSecrets {
    /// Reads the files that settings name. Relative paths start at `folder`.
    ///
    /// # Errors
    /// A description with the name of the link and the path.
    pub fn read(settings: &SecureSettings, folder: &Path) -> Result<Self, String> {
        let mut secrets = Self {
            udp: Vec::new(),
            tcp: Vec::new(),
        };
        for link in &settings.udp {
            let mut peers: Vec<PskPeer> = Vec::new();
            for peer in &link.peers {
                let name = &link.keys.name;
                let key = read_key(&folder.join(&peer.key));
                let key = key.map_err(|error| format!("{name}: {error}"))?;
                if let Some(other) = peers.iter().find(|other| other.key == key) {
                    return Err(format!(
                        "{name}: `{}` and `{}` have the same key: each could be the other",
                        other.identity, peer.identity
                    ));
                }
                peers.push(PskPeer {
                    identity: peer.identity.clone(),
                    key,
                });
            }
            secrets.udp.push(peers);
        }
        for link in &settings.tcp {
            let config = read_tls(link, folder);
            secrets
                .tcp
                .push(config.map_err(|error| format!("{}: {error}", link.keys.name))?);
        }
        Ok(secrets)
    }
}

/// A link of either kind.
#[derive(Debug)]
enum Link {
    Udp(Box<UdpLink>),
    Tcp(Box<TcpLink>),
}

impl Link {
    fn run(&self, stop: &AtomicBool) {
        match self {
            Self::Udp(link) => link.run(stop),
            Self::Tcp(link) => link.run(stop),
        }
    }

    fn report(&self) -> LinkReport {
        match self {
            Self::Udp(link) => link.report(),
            Self::Tcp(link) => link.report(),
        }
    }
}

/// The links that run.
#[derive(Debug)]
pub struct RunningLinks {
    links: Vec<Arc<Link>>,
    threads: Vec<JoinHandle<()>>,
    stop: Arc<AtomicBool>,
}

impl RunningLinks {
    /// Binds the sockets of all links, and then starts them.
    ///
    /// # Errors
    /// A description with the name of the link: an address cannot be used.
    pub fn start(settings: &SecureSettings, secrets: LinkSecrets) -> Result<Self, String> {
        let mut links = Vec::new();
        for (link, keys) in settings.udp.iter().zip(secrets.udp) {
            let started = UdpLink::start(link, keys);
            let started = started.map_err(|error| format!("{}: {error}", link.keys.name))?;
            links.push(Arc::new(Link::Udp(Box::new(started))));
        }
        for (link, config) in settings.tcp.iter().zip(secrets.tcp) {
            let started = TcpLink::start(link, config);
            let started = started.map_err(|error| format!("{}: {error}", link.keys.name))?;
            links.push(Arc::new(Link::Tcp(Box::new(started))));
        }
        let mut running = Self {
            links,
            threads: Vec::new(),
            stop: Arc::new(AtomicBool::new(false)),
        };
        for link in running.links.clone() {
            let stop = Arc::clone(&running.stop);
            let thread = std::thread::Builder::new().name("link".to_owned());
            match thread.spawn(move || link.run(&stop)) {
                Ok(thread) => running.threads.push(thread),
                Err(error) => {
                    running.end();
                    return Err(format!("cannot start a thread: {error}"));
                }
            }
        }
        Ok(running)
    }

    /// Returns the addresses where the links listen, on the network or for programs, in the order
    /// of the links: those of datagrams first. A link of datagrams that connects has none.
    #[must_use]
    pub fn listens(&self) -> Vec<Option<SocketAddr>> {
        let listens = |link: &Arc<Link>| match &**link {
            Link::Udp(link) => link.listens(),
            Link::Tcp(link) => link.listens(),
        };
        self.links.iter().map(listens).collect()
    }

    /// Returns the counters of all links.
    #[must_use]
    pub fn reports(&self) -> Vec<LinkReport> {
        self.links.iter().map(|link| link.report()).collect()
    }

    /// Ends all sessions and connections, and returns the last counters.
    pub fn end(&mut self) -> Vec<LinkReport> {
        self.stop.store(true, Relaxed);
        for thread in self.threads.drain(..) {
            if thread.join().is_err() {
                console::say(
                    "error: a thread has ended early; this is a mistake in cangate-secure",
                );
            }
        }
        self.reports()
    }
}
