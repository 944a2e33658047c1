//! `kind = "socketcan"`: a Linux CAN interface.

use super::config::{ReceiveBy, TransmitBy};
use super::open::open_own;
use super::own::OwnSetups;
use super::settings::{SocketCanSettings, keys};
use crate::kind::{FramePassage, PortSettings, port_kind};
use crate::{Halves, PortError, PortOpener, QueueSize};
use frame::wire::BitRate;
use frame::{Kind, dlc};
use linux::link::NetLink;

port_kind! {
    /// The kind of Linux CAN interfaces.
    SocketCan = "socketcan", keys(), SocketCanSettings::parse;

    fn has_transmit_queue(&self) -> bool {
        true
    }
}

impl PortSettings for SocketCanSettings {
    fn kind(&self) -> &'static str {
        KEYWORD
    }

    fn describe(&self) -> String {
        let mut kinds = String::from("classic");
        if self.fd {
            kinds.push_str(", FD");
        }
        if self.xl {
            kinds.push_str(", XL");
        }
        let ways = self.ways();
        let by = match (ways.receive, ways.transmit, &*ways.why) {
            (ReceiveBy::Recvmmsg, TransmitBy::Sendmmsg, "") => String::new(),
            (receive, transmit, "") => format!(", by {} and {}", receive.word(), transmit.word()),
            (receive, transmit, why) => {
                format!(", by {} and {} ({why})", receive.word(), transmit.word())
            }
        };
        format!(
            "Linux interface {}{}, {kinds}{by}{}; up to {} frames wait",
            self.interface,
            self.setup.map_or_else(String::new, |setup| format!(
                " set to {}",
                rates(setup.rate)
            )),
            self.check_words(),
            self.queue
        )
    }

    fn open(&self, port: &str, opener: &mut PortOpener) -> Result<Halves, PortError> {
        let settings = Self {
            may_be_absent: opener.awaits_interfaces(),
            ..self.clone()
        };
        let own = opener
            .shared(OwnSetups::default)
            .find_or_add(&self.interface);
        open_own(port, &settings, own)
    }

    fn is_in_force(&self) -> bool {
        self.setup.as_ref().is_none_or(|setup| {
            let there = NetLink::find(&self.interface);
            there.map_or(true, |link| setup.is_in_force(&link))
        })
    }

    fn transmit_queue(&self) -> Option<QueueSize> {
        Some(QueueSize {
            frames: self.queue as usize,
            longest: if self.xl { dlc::XL_MAX } else { dlc::FD_MAX },
        })
    }

    fn interface(&self) -> Option<&str> {
        Some(&self.interface)
    }

    fn passes(&self, kind: Kind) -> FramePassage {
        match (kind, self.setup) {
            (Kind::Classic, _) => FramePassage::Yes,
            (Kind::Fd, _) if !self.fd => FramePassage::No,
            (Kind::Fd, Some(setup)) => {
                FramePassage::by_data_phase(kind, setup.rate.data().is_some())
            }
            (Kind::Xl, _) if !self.xl => FramePassage::No,
            (Kind::Fd | Kind::Xl, _) => FramePassage::Open,
        }
    }
}

fn rates(rate: BitRate) -> String {
    match rate.data() {
        Some(data) => format!("{} bit/s, data phase {data} bit/s", rate.nominal()),
        None => format!("{} bit/s", rate.nominal()),
    }
}
