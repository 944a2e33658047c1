//! Setting up a CAN interface: bit rates, restart, switching it on.

use super::controller::{IFLA_CAN_BITTIMING, IFLA_CAN_DATA_BITTIMING};
use super::interface::NetLink;
use super::modes::ControlMode;
use super::saved::{IFF_UP, IFLA_CAN_RESTART_MS, change, head, switch_off, with_options};
use super::settings::ControllerSettings;
use super::setup_error::SetupError;
use super::timing::SJW;
use crate::netlink::{KernelRefusal, NetlinkSocket, attribute};
use frame::wire::BitRate;

/// Size of `struct can_bittiming` in bytes.
const BITTIMING: usize = 32;

/// The wanted settings of a CAN interface.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LinkSetup {
    /// The bit rates, bit/s. A data phase bit rate switches FD on.
    pub rate: BitRate,
    /// The sample point, thousandths of a bit; 0: the kernel's choice.
    pub sample_point: u32,
    /// The sample point of the data phase, thousandths of a bit; 0: the kernel's choice.
    pub data_sample_point: u32,
    /// The restart after bus-off.
    pub restart: RestartDelay,
    /// All other settings.
    pub settings: ControllerSettings,
}

/// Time from bus-off to the restart, ms; 0: never.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum RestartDelay {
    /// A requested value: a driver without a restart is an error.
    Asked(u32),
    /// A default: a driver without a restart (slcan, gs_usb) is left without it.
    Default(u32),
}

impl RestartDelay {
    /// Returns the time, ns; `None`: never.
    #[must_use]
    pub fn ns(self) -> Option<u64> {
        let ms = self.ms();
        (ms > 0).then(|| u64::from(ms) * 1_000_000)
    }

    const fn ms(self) -> u32 {
        match self {
            Self::Asked(ms) | Self::Default(ms) => ms,
        }
    }
}

/// The state of an interface before the set-up.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum PreviousState {
    /// It was down, and was set up.
    Down,
    /// It was up at these bit rates already.
    Up,
    /// It was up at other bit rates, and was set up anew.
    Other,
}

/// The result of the set-up.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct AppliedSetup {
    /// The state of the interface before.
    pub before: PreviousState,
    /// Sentences about a default that was not applied, and about settings that the kernel has
    /// rounded.
    pub notes: Vec<String>,
}

pub(super) fn words(rate: BitRate) -> String {
    match rate.data() {
        Some(data) => format!("{} bit/s, data phase {data} bit/s", rate.nominal()),
        None => format!("{} bit/s", rate.nominal()),
    }
}

fn words_now(rate: Option<BitRate>) -> String {
    rate.map_or_else(
        || "a bit rate that its driver does not report".to_owned(),
        words,
    )
}

impl LinkSetup {
    /// Ensures that an interface is up and has these bit rates. An interface that is up at other
    /// bit rates is left alone, which is an error, because another program may use it. With `own`,
    /// the caller has set it up before, and it is set up anew.
    ///
    /// # Errors
    /// [`SetupError`].
    pub fn apply(&self, interface: &str, own: bool) -> Result<AppliedSetup, SetupError> {
        let link = NetLink::find(interface)?;
        let name = || interface.to_owned();
        if link.is_virtual() {
            return Err(SetupError::Virtual(name(), link.kind));
        }
        let mut before = PreviousState::Down;
        let mut netlink = NetlinkSocket::open()?;
        if link.up {
            let differs = self.difference(&link);
            if self.has_rate(&link) {
                match differs {
                    None => {
                        return Ok(AppliedSetup {
                            before: PreviousState::Up,
                            notes: self.rounded(&link).into_iter().collect(),
                        });
                    }
                    Some((now, wanted)) if !own => {
                        let name = name();
                        return Err(SetupError::Settings { name, now, wanted });
                    }
                    Some(_) => {}
                }
            } else if !own {
                return Err(SetupError::Other {
                    name: name(),
                    now: words_now(link.bit_rate),
                });
            }
            before = PreviousState::Other;
            let refused = change(&mut netlink, switch_off(link.index))?;
            Self::switched(interface, false, refused)?;
        }
        if let Some(refusal) = change(&mut netlink, self.request(link.index))? {
            return Err(self.refused(&mut netlink, &link, refusal)?);
        }
        for (setting, body) in self.settings.requests(link.index) {
            if let Some(refusal) = change(&mut netlink, body)? {
                return Err(SetupError::Setting {
                    name: name(),
                    setting,
                    refusal,
                });
            }
        }
        let restart = self.restart(&mut netlink, link.index, interface)?;
        let refused = change(&mut netlink, head(link.index, IFF_UP))?;
        Self::switched(interface, true, refused)?;
        // The setup has succeeded, also if there is nothing to compare it with any more.
        let rounded = NetLink::find(interface)
            .ok()
            .and_then(|link| self.rounded(&link));
        Ok(AppliedSetup {
            before,
            notes: [restart, rounded].into_iter().flatten().collect(),
        })
    }

    /// Returns the error for the refusal of the request with the bit rates. If it also has settings
    /// of CAN FD, requests without one of them show what is refused.
    fn refused(
        &self,
        netlink: &mut NetlinkSocket,
        link: &NetLink,
        refusal: KernelRefusal,
    ) -> Result<SetupError, SetupError> {
        let name = link.name.clone();
        let non_iso = self.settings.mode(ControlMode::NonIso);
        let mut without_delay = self.settings;
        without_delay.delay = None;
        let suspects = [
            self.settings
                .delay
                .map(|delay| (delay.words(), without_delay)),
            non_iso.map(|on| {
                let without = self.settings.with_mode(ControlMode::NonIso, None);
                (ControlMode::NonIso.words(on), without)
            }),
        ];
        for (setting, settings) in suspects.into_iter().flatten() {
            let without = Self { settings, ..*self };
            if change(netlink, without.request(link.index))?.is_none() {
                return Ok(SetupError::Setting {
                    name,
                    setting,
                    refusal,
                });
            }
        }
        Ok(SetupError::Refused {
            name,
            wanted: words(self.rate),
            fd: self.rate.data().is_some(),
            refusal,
        })
    }

    fn switched(
        interface: &str,
        on: bool,
        refused: Option<KernelRefusal>,
    ) -> Result<(), SetupError> {
        let error = |refusal| SetupError::Switch {
            name: interface.to_owned(),
            on,
            refusal,
        };
        refused.map_or(Ok(()), |refusal| Err(error(refusal)))
    }

    /// Sets the restart, by a separate request, so that a refusal can be attributed to it. A note
    /// states that a default was not applied.
    fn restart(
        &self,
        netlink: &mut NetlinkSocket,
        index: u32,
        interface: &str,
    ) -> Result<Option<String>, SetupError> {
        let ms = self.restart.ms();
        let mut data = Vec::new();
        attribute(&mut data, IFLA_CAN_RESTART_MS, &ms.to_ne_bytes());
        match (change(netlink, with_options(index, &data))?, self.restart) {
            (None, _) => Ok(None),
            (Some(refusal), RestartDelay::Asked(_)) => Err(SetupError::Restart {
                name: interface.to_owned(),
                ms,
                refusal,
            }),
            (Some(refusal), RestartDelay::Default(_)) => Ok(Some(format!(
                "{interface} is set up without a restart after bus-off, which its driver refuses \
                 ({refusal}): after bus-off, the interface must be switched off and on"
            ))),
        }
    }

    /// Returns the body of RTM_NEWLINK with the settings of an interface that is down.
    fn request(&self, index: u32) -> Vec<u8> {
        let timing = |rate: u32, sample_point: u32, sjw: Option<u32>| {
            // The kernel computes the segments that are 0 (can_calc_bittiming).
            let mut bytes = [0; BITTIMING];
            bytes[..4].copy_from_slice(&rate.to_ne_bytes());
            bytes[4..8].copy_from_slice(&sample_point.to_ne_bytes());
            bytes[SJW..SJW + 4].copy_from_slice(&sjw.unwrap_or(0).to_ne_bytes());
            bytes
        };
        let mut data = Vec::new();
        let settings = &self.settings;
        let nominal = timing(self.rate.nominal(), self.sample_point, settings.sjw);
        attribute(&mut data, IFLA_CAN_BITTIMING, &nominal);
        if let Some(rate) = self.rate.data() {
            let fast = timing(rate, self.data_sample_point, settings.data_sjw);
            attribute(&mut data, IFLA_CAN_DATA_BITTIMING, &fast);
            settings.add_fd(&mut data);
        }
        with_options(index, &data)
    }
}

#[cfg(test)]
mod tests {
    use super::super::interface::IFLA_INFO_DATA;
    use super::super::modes::IFLA_CAN_CTRLMODE;
    use super::*;
    use crate::netlink::{attributes, inner, number};

    #[test]
    fn the_kernel_is_asked_for_rates() {
        let setup = LinkSetup {
            rate: BitRate::new(500_000, Some(2_000_000)).unwrap(),
            sample_point: 875,
            data_sample_point: 0,
            restart: RestartDelay::Default(100),
            settings: ControllerSettings::default(),
        };
        let body = setup.request(7);
        assert_eq!(body[4..8], 7_u32.to_ne_bytes());
        let (_, info) = attributes(&body[16..]).next().unwrap().unwrap();
        let data = inner(info, IFLA_INFO_DATA).unwrap();
        let timing = inner(data, IFLA_CAN_BITTIMING).unwrap();
        assert_eq!(
            (number(timing), number(&timing[4..])),
            (Some(500_000), Some(875))
        );
        assert_eq!(
            inner(data, IFLA_CAN_DATA_BITTIMING).and_then(number),
            Some(2_000_000)
        );
        assert_eq!(
            inner(data, IFLA_CAN_RESTART_MS),
            None,
            "it is a request of its own"
        );
        assert_eq!(inner(data, IFLA_CAN_CTRLMODE).and_then(number), Some(0x20));
        let classic = LinkSetup {
            rate: BitRate::new(125_000, None).unwrap(),
            ..setup
        };
        let body = classic.request(7);
        let (_, info) = attributes(&body[16..]).next().unwrap().unwrap();
        let data = inner(info, IFLA_INFO_DATA).unwrap();
        assert_eq!(inner(data, IFLA_CAN_CTRLMODE), None);
    }

    #[test]
    fn what_is_not_there_is_reported() {
        let setup = LinkSetup {
            rate: BitRate::new(125_000, None).unwrap(),
            sample_point: 0,
            data_sample_point: 0,
            restart: RestartDelay::Asked(0),
            settings: ControllerSettings::default(),
        };
        assert!(matches!(
            setup.apply("no-such-one", true),
            Err(SetupError::Link(_))
        ));
    }
}
