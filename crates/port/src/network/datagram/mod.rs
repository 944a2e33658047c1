//! Ports over UDP: the protocol is a reader and a writer of datagrams.

#[cfg(feature = "ieee1722")]
mod association;
mod backlog;
mod batch;
#[cfg(any(feature = "cannelloni", feature = "ieee1722"))]
mod bound;
#[cfg(feature = "ieee1722")]
mod ethernet;
mod guard;
mod identity;
mod place;
mod presentation;
mod receive;
mod reports;
mod sender;
mod senders;
mod sent_frames;
mod socket;
mod stream_run;
#[cfg(test)]
mod tests;
mod trails;
mod transmit;
#[cfg(any(feature = "cannelloni", feature = "ieee1722"))]
mod tunnel;

#[cfg(feature = "ieee1722")]
pub(crate) use association::StreamBus;
#[cfg(any(feature = "cannelloni", feature = "ieee1722"))]
pub(crate) use tunnel::{
    EXPEDITED, TunnelAddresses, TunnelRules, check_mark, check_own, check_tunnel,
};

#[cfg(feature = "ieee1722")]
pub(crate) use ethernet::{EthernetEnds, EthernetReceiver};
pub(crate) use guard::LoopRules;
pub(crate) use presentation::PresentationRules;
#[cfg(feature = "ieee1722")]
pub(crate) use presentation::{TimeScale, TransitRules};
pub(crate) use reports::ReportRules;
#[cfg(feature = "ieee1722")]
pub(crate) use stream_run::StreamKey;
pub(crate) use stream_run::StreamRun;
pub(crate) use transmit::PackRules;

use super::address::AddressRange;
use crate::{Halves, PortOpener};
use guard::LoopGuard;
use net::{DatagramReader, DatagramWriter, PlayOutRules};
use presentation::{PresentationClock, PresentationReader, PresentationWriter};
use reports::PeerReports;
use socket::{DatagramSocket, SendSocket};
use std::net::SocketAddr;
#[cfg(feature = "multicast")]
use std::net::UdpSocket;
use std::os::fd::AsRawFd;
#[cfg(feature = "multicast")]
use std::sync::Arc;

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
    pub(crate) packing: PackRules,
    /// The rules by which frames that came in wait for their time.
    pub(crate) play_out: Option<PlayOutRules>,
    pub(crate) presentation: PresentationRules,
    /// Reports to the other side, which is another gateway.
    pub(crate) reports: Option<ReportRules>,
    pub(crate) loops: LoopRules,
    /// The run of its stream.
    pub(crate) run: StreamRun,
}

impl DatagramPort {
    /// Returns the halves with the socket that receives and the one that sends, which may be the
    /// same. They do not block. `port` is the port's name.
    fn halves<S, T>(self, port: &str, opener: &mut PortOpener, receiving: S, sending: T) -> Halves
    where
        S: DatagramSocket + AsRawFd + 'static,
        T: SendSocket + AsRawFd + 'static,
    {
        let epoch = opener.epoch();
        let guard = LoopGuard::new(opener, port, self.loops);
        let presentation = self.presentation;
        let clock = || PresentationClock::new(presentation.scale, opener);
        let reader = presentation.reads.then(|| PresentationReader::new(clock()));
        let writer = presentation
            .sends
            .map(|rules| PresentationWriter::new(clock(), rules));
        let reports = self
            .reports
            .map(|rules| PeerReports::new(rules, self.to, self.run.clone(), epoch));
        let receive = receive::DatagramReceive::new(
            receiving,
            self.reader,
            self.rules,
            self.play_out,
            reports,
            guard.clone(),
        );
        let transmit = transmit::DatagramTransmit::new(
            sending,
            self.to,
            self.writer,
            self.packing,
            self.run,
            guard,
            epoch,
        );
        (
            Box::new(receive.presented(reader)),
            Box::new(transmit.presenting(writer)),
        )
    }

    /// Returns the halves on Ethernet.
    #[cfg(feature = "ieee1722")]
    pub(crate) fn on_ethernet(
        self,
        port: &str,
        opener: &mut PortOpener,
        receiver: EthernetReceiver,
    ) -> Halves {
        let sender = receiver.sender();
        self.halves(port, opener, receiver, sender)
    }

    /// Returns the halves with two sockets of its own.
    ///
    /// # Errors
    /// The sockets cannot be set to not block.
    #[cfg(feature = "multicast")]
    pub(crate) fn on(
        self,
        port: &str,
        opener: &mut PortOpener,
        receiving: UdpSocket,
        sending: UdpSocket,
    ) -> std::io::Result<Halves> {
        receiving.set_nonblocking(true)?;
        sending.set_nonblocking(true)?;
        Ok(self.halves(port, opener, Arc::new(receiving), Arc::new(sending)))
    }
}
