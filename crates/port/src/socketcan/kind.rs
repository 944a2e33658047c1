//! `kind = "socketcan"`: a Linux CAN interface.

use super::config::{ReceiveBy, TransmitBy};
use super::matched::MatchProblem;
use super::open::open_own;
use super::own::OwnSetups;
use super::settings::{SocketCanSettings, keys};
use crate::kind::{ExclusiveResource, FramePassage, InterfaceFinder, PortSettings, port_kind};
use crate::{
    Halves, NodeStandIn, NullTransmitter, PollTransmit, PortError, PortOpener, QueueSize,
    SimulatedPlace, StandIn,
};
use frame::wire::BitRate;
use frame::{Kind, dlc};
use linux::link::{ControlMode, NetLink};

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
            self.name_in_words(),
            self.setup.map_or_else(String::new, |setup| format!(
                " set to {}{}",
                rates(setup.rate),
                setup.settings.words()
            )),
            self.check_words(),
            self.queue
        )
    }

    fn open(&self, port: &str, opener: &mut PortOpener) -> Result<Halves, PortError> {
        let mut settings = Self {
            may_be_absent: opener.awaits_interfaces(),
            ..self.clone()
        };
        let mut identity = self.interface.clone();
        if let Some(wanted) = &self.r#match {
            identity = wanted.words();
            // It may have another name by now.
            settings.interface = match wanted.find() {
                Ok(name) => name,
                Err(MatchProblem::None(_)) if settings.may_be_absent => identity.clone(),
                Err(problem) => {
                    return Err(PortError {
                        port: port.to_owned(),
                        what: wanted.explain(&problem),
                        source: None,
                    });
                }
            };
        }
        let own = opener.shared(OwnSetups::default).find_or_add(&identity);
        let (rx, tx) = open_own(port, &settings, own)?;
        // The kernel would drop the frames and count them as sent.
        let tx: Box<dyn PollTransmit> = match self.listens_only() {
            true => Box::new(NullTransmitter),
            false => tx,
        };
        Ok((rx, tx))
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
        Some(self.interface.as_str()).filter(|name| !name.is_empty())
    }

    fn interface_finder(&self) -> Option<InterfaceFinder> {
        let wanted = self.r#match.clone()?;
        Some(InterfaceFinder::new(move || wanted.find().ok()))
    }

    fn exclusive(&self) -> Option<ExclusiveResource> {
        let hint = "use one port: a port both receives and sends";
        // Where no interface fits yet, two ports that want the same one would both wait for it.
        // One that fits has a name, however it was chosen.
        let resource = match self.interface() {
            Some(name) => format!("interface {name}"),
            None => format!("interface {}", self.name_in_words()),
        };
        Some(ExclusiveResource::new(resource, hint))
    }

    fn stand_in(&self, place: SimulatedPlace<'_>) -> StandIn {
        // The name of a device's interface differs from machine to machine.
        let bus = match self.r#match {
            Some(_) => place.port,
            None => &self.interface,
        };
        let node = NodeStandIn::new(bus, self.queue);
        StandIn::Node(NodeStandIn {
            rate: self.setup.map(|setup| setup.rate),
            fd: self.fd,
            xl: self.xl,
            listen_only: self.listens_only(),
            one_shot: self.has_mode(ControlMode::OneShot),
            restart: match self.setup {
                Some(setup) => setup.restart.ns(),
                None => node.restart,
            },
            ..node
        })
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

impl SocketCanSettings {
    /// Returns whether the port sets its controller to this mode.
    fn has_mode(&self, mode: ControlMode) -> bool {
        self.setup.and_then(|setup| setup.settings.mode(mode)) == Some(true)
    }

    /// Returns the name of the interface, or the properties of one that is not there yet.
    fn name_in_words(&self) -> String {
        match &self.r#match {
            Some(wanted) if self.interface.is_empty() => format!("with {}", wanted.words()),
            Some(wanted) => format!("{} ({})", self.interface, wanted.words()),
            None => self.interface.clone(),
        }
    }

    fn listens_only(&self) -> bool {
        self.has_mode(ControlMode::ListenOnly)
    }
}

fn rates(rate: BitRate) -> String {
    match rate.data() {
        Some(data) => format!("{} bit/s, data phase {data} bit/s", rate.nominal()),
        None => format!("{} bit/s", rate.nominal()),
    }
}
