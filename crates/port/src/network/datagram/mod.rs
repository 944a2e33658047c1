//! Ports over UDP: the protocol is a reader and a writer of datagrams.

#[cfg(feature = "ieee1722")]
mod association;
#[cfg(any(feature = "cannelloni", feature = "ieee1722"))]
mod bound;
mod place;
mod receive;
mod reports;
mod senders;
mod socket;
#[cfg(test)]
mod tests;
mod transmit;
#[cfg(any(feature = "cannelloni", feature = "ieee1722"))]
mod tunnel;

#[cfg(any(feature = "cannelloni", feature = "ieee1722"))]
pub(crate) use tunnel::{TunnelAddresses, TunnelRules, check_own, check_tunnel};

pub(crate) use reports::ReportRules;

use super::address::AddressRange;
use super::ids::IdRange;
use crate::Halves;
use frame::Nanos;
use net::{DatagramReader, DatagramWriter, PlayOutRules};
use reports::{PeerReports, SharedTotals};
use socket::DatagramSocket;
use std::hash::{BuildHasher as _, Hasher as _, RandomState};
use std::net::{SocketAddr, UdpSocket};
use std::os::fd::AsRawFd;
use std::sync::Arc;
use transmit::PackRules;

/// Which datagrams a port takes.
pub(crate) struct ArrivalRules {
    /// The senders; `None`: all.
    pub(crate) allow: Option<Vec<AddressRange>>,
    /// Only senders on this machine are taken.
    pub(crate) local_only: bool,
    /// The UDP port of this port's own sending socket, if its datagrams come back by multicast.
    pub(crate) own: Option<u16>,
}

/// Everything of a port over UDP.
pub(crate) struct DatagramPort {
    /// The address to send to.
    pub(crate) to: SocketAddr,
    pub(crate) reader: Box<dyn DatagramReader>,
    pub(crate) writer: Box<dyn DatagramWriter>,
    pub(crate) rules: ArrivalRules,
    /// Time for which a frame waits for others that share its datagram, ns.
    pub(crate) pack: Nanos,
    /// Frames that do not wait for others.
    pub(crate) urgent: Vec<IdRange>,
    /// The rules by which frames that came in wait for their time.
    pub(crate) play_out: Option<PlayOutRules>,
    /// Reports to the other side, which is another gateway.
    pub(crate) reports: Option<ReportRules>,
    /// Unix time at which the gateway's clock was 0, ns.
    pub(crate) epoch: Nanos,
}

impl DatagramPort {
    /// Returns the halves with the socket that receives and the one that sends, which may be the
    /// same. They do not block.
    fn halves<S>(self, receiving: S, sending: Arc<UdpSocket>) -> Halves
    where
        S: DatagramSocket + AsRawFd + 'static,
    {
        let totals = SharedTotals::default();
        let reports = self.reports.map(|rules| {
            // Each port that is opened is a run of its own: its numbers begin at 0.
            let run = RandomState::new().build_hasher().finish();
            PeerReports::new(rules, self.to, totals.clone(), self.epoch, run)
        });
        let receive = receive::DatagramReceive::new(
            receiving,
            self.reader,
            self.rules,
            self.play_out,
            reports,
        );
        let transmit = transmit::DatagramTransmit::new(
            sending,
            self.to,
            self.writer,
            PackRules {
                pack: self.pack,
                urgent: self.urgent,
            },
            totals,
            self.epoch,
        );
        (Box::new(receive), Box::new(transmit))
    }

    /// Returns the halves with two sockets of its own.
    ///
    /// # Errors
    /// The sockets cannot be set to not block.
    #[cfg(feature = "multicast")]
    pub(crate) fn on(self, receiving: UdpSocket, sending: UdpSocket) -> std::io::Result<Halves> {
        receiving.set_nonblocking(true)?;
        sending.set_nonblocking(true)?;
        Ok(self.halves(Arc::new(receiving), Arc::new(sending)))
    }
}
