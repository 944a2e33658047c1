//! Setting up a CAN interface: bit rates, restart, switching it on.

use super::controller::{IFLA_CAN_BITTIMING, IFLA_CAN_DATA_BITTIMING};
use super::interface::NetLink;
use super::saved::{change, with_options};
use super::settings::ControllerSettings;
use super::setup_error::SetupError;
use super::timing::SJW;
use crate::netlink::{NetlinkSocket, attribute};
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

    pub(super) const fn ms(self) -> u32 {
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
        }
        let mut netlink = NetlinkSocket::open()?;
        let restart = self.set_up(&mut |body| change(&mut netlink, body), &link)?;
        // The setup has succeeded, also if there is nothing to compare it with any more.
        let rounded = NetLink::find(interface)
            .ok()
            .and_then(|link| self.rounded(&link));
        Ok(AppliedSetup {
            before,
            notes: [restart, rounded].into_iter().flatten().collect(),
        })
    }

    /// Returns the body of RTM_NEWLINK with the settings of an interface that is down.
    pub(super) fn request(&self, index: u32) -> Vec<u8> {
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
    use super::super::saved::IFLA_CAN_RESTART_MS;
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
