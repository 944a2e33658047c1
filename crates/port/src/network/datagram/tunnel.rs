//! The two addresses of a tunnel over UDP: where datagrams come in, and where they go.

#[cfg(feature = "ieee1722")]
use super::association::{StreamBus, StreamSocket};
use super::bound::socket_at;
use super::{
    ArrivalRules, DatagramPort, LoopRules, PackRules, PresentationRules, ReportRules, StreamRun,
};
use crate::network::address::AddressRange;
use crate::network::endpoint::PeerAddress;
use crate::network::ids::IdRange;
use crate::{Halves, NetworkLink, PortError, PortOpener};
use config::{Diagnostics, TomlTable};
use frame::Nanos;
use net::{DatagramReader, DatagramWriter, PlayOutRules};
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;

/// Longest time for which a frame waits for others, ns: cannelloni's default.
const LONGEST_PACK: Nanos = 100_000_000;

/// The mark of datagrams with urgent frames: expedited forwarding (RFC 3246).
pub(crate) const EXPEDITED: u8 = 46;

/// Reports a mark that no datagram gets.
pub(crate) fn check_mark(table: &TomlTable<'_>, urgent: &[IdRange], found: &mut Diagnostics) {
    if table.has("dscp") && urgent.is_empty() {
        let hint = "add `urgent`, such as `urgent = [\"000-0FF\"]`, or leave it out";
        table.wrong(
            "dscp",
            "`dscp` marks `urgent` frames, and there are none",
            hint,
            found,
        );
    }
}

/// Checks the key `pack`.
pub(crate) fn check_tunnel(table: &TomlTable<'_>, pack: Nanos, found: &mut Diagnostics) {
    if pack > LONGEST_PACK {
        let hint = "above 1 ms little is gained";
        table.wrong("pack", "`pack` is at most 100 ms", hint, found);
    }
}

/// Returns the words of `cangate check` for the key `pack`.
pub(super) fn pack_words(pack: Nanos) -> String {
    match pack {
        0 => String::new(),
        pack => format!("; frames wait {} us for others", pack as f64 / 1e3),
    }
}

/// Reports a port that would send to itself, as far as its addresses are numbers.
pub(crate) fn check_own(
    table: &TomlTable<'_>,
    listen: Option<SocketAddr>,
    connect: Option<&PeerAddress>,
    found: &mut Diagnostics,
) {
    if let Some(connect) = connect.and_then(PeerAddress::number)
        && let Some(listen) = listen
        && listen.port() == connect.port()
        && (listen.ip() == connect.ip()
            || listen.ip().is_unspecified() && connect.ip().is_loopback())
    {
        let hint = "write the address at which the other side listens";
        let message = "the port would send to itself: `connect` is where it listens";
        table.wrong("connect", message, hint, found);
    }
}

/// The times of frames in a tunnel.
#[derive(Default)]
pub(crate) struct TunnelRules {
    /// The stream and the bus of the port, if the address can have several ports, one for each.
    #[cfg(feature = "ieee1722")]
    pub(crate) stream: Option<StreamBus>,
    /// The run of the stream, which its buses share.
    pub(crate) run: StreamRun,
    pub(crate) packing: PackRules,
    /// The rules by which frames that came in wait for their time.
    pub(crate) play_out: Option<PlayOutRules>,
    pub(crate) presentation: PresentationRules,
    /// Reports to the other side, which is another gateway.
    pub(crate) reports: Option<ReportRules>,
    pub(crate) loops: LoopRules,
}

/// The addresses of a tunnel.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct TunnelAddresses {
    pub(crate) listen: Option<SocketAddr>,
    pub(crate) connect: Option<PeerAddress>,
    /// Senders that are allowed; `None`: the host of `connect`.
    pub(crate) allow: Option<Vec<AddressRange>>,
}

impl TunnelAddresses {
    /// Returns the words of `cangate check`.
    pub(crate) fn words(&self, pack: Nanos) -> String {
        let listen = self.listen.map(|listen| format!("at {listen}, "));
        let connect = self.connect.as_ref().map(ToString::to_string);
        let pack = pack_words(pack);
        let (listen, connect) = (listen.unwrap_or_default(), connect.unwrap_or_default());
        format!("{listen}to {connect}{pack}")
    }

    /// Returns the ends as other ports of the gateway see them.
    pub(crate) fn link(&self, protocol: String, both_ways: bool) -> NetworkLink {
        NetworkLink {
            protocol,
            listens: self.listen,
            connects: self.connect.as_ref().and_then(PeerAddress::number),
            both_ways,
        }
    }

    /// Opens the tunnel.
    ///
    /// # Errors
    /// [`PortError`]: an address is missing, unknown, or in use.
    pub(crate) fn open(
        &self,
        port: &str,
        opener: &mut PortOpener,
        reader: Box<dyn DatagramReader>,
        writer: Box<dyn DatagramWriter>,
        rules: TunnelRules,
    ) -> Result<Halves, PortError> {
        let fail = |what: String, source: Option<io::Error>| PortError {
            port: port.to_owned(),
            what,
            source: source.map(Into::into),
        };
        let (Some(listen), Some(connect)) = (self.listen, &self.connect) else {
            return Err(fail("it needs `listen` and `connect`".to_owned(), None));
        };
        let addresses = connect.resolve().map_err(|what| fail(what, None))?;
        let fits = |address: &&SocketAddr| address.is_ipv4() == listen.is_ipv4();
        let Some(to) = addresses.iter().find(fits).copied() else {
            let what = format!(
                "{connect} has no address of the kind of {listen}: use IPv4 or IPv6 for both"
            );
            return Err(fail(what, None));
        };
        #[cfg(feature = "ieee1722")]
        let stream = rules.stream;
        let cannot = |error| fail(format!("cannot receive at {listen}"), Some(error));
        let own_peer = || {
            addresses
                .iter()
                .map(|address| AddressRange::one(address.ip()))
        };
        let halves = DatagramPort {
            to,
            reader,
            writer,
            rules: ArrivalRules {
                allow: Some(self.allow.clone().unwrap_or_else(|| own_peer().collect())),
                local_only: false,
                own: None,
            },
            packing: rules.packing,
            play_out: rules.play_out,
            presentation: rules.presentation,
            reports: rules.reports,
            loops: rules.loops,
            run: rules.run,
        };
        #[cfg(feature = "ieee1722")]
        if let Some(stream) = stream {
            let sockets = StreamSocket::open(opener, listen, stream).map_err(cannot)?;
            return Ok(halves.halves(port, opener, sockets.0, sockets.1));
        }
        let socket = socket_at(opener, listen).map_err(cannot)?;
        Ok(halves.halves(port, opener, Arc::clone(&socket), socket))
    }
}
