//! Setting up a CAN interface: bit rates, restart, switching it on.

use super::controller::{IFLA_CAN_BITTIMING, IFLA_CAN_DATA_BITTIMING};
use super::interface::{LinkError, NetLink};
use super::modes::SJW;
use super::saved::{IFF_UP, IFLA_CAN_RESTART_MS, change, head, switch_off, with_options};
use super::settings::ControllerSettings;
use crate::Errno;
use crate::netlink::{Error, KernelRefusal, NetlinkSocket, attribute};
use frame::wire::BitRate;

/// `CAN_CTRLMODE_FD` of `uapi/linux/can/netlink.h`.
const FD: u32 = 0x20;
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
    /// A default that was not applied, and the reason: a sentence.
    pub note: Option<String>,
}

/// The reason why an interface does not have the wanted settings.
#[derive(thiserror::Error, Debug)]
pub enum SetupError {
    /// The kernel gives no information about it.
    #[error(transparent)]
    Link(#[from] LinkError),
    /// It has no bit rate.
    #[error("{0} is a {1}, which has no bit rate: leave `bitrate` out")]
    Virtual(String, String),
    /// It is in use at other bit rates.
    #[error(
        "{name} is up at {now}: `ip link set {name} down` first, or leave `bitrate` out to use its \
         present settings"
    )]
    Other {
        /// The interface.
        name: String,
        /// Its bit rates.
        now: String,
    },
    /// The kernel refuses the bit rates.
    #[error("{name} cannot be set to {wanted}: {}", refused(refusal, *fd))]
    Refused {
        /// The interface.
        name: String,
        /// The bit rates.
        wanted: String,
        /// Whether a data phase bit rate is among them.
        fd: bool,
        /// The kernel's refusal.
        refusal: KernelRefusal,
    },
    /// It is in use with other settings.
    #[error(
        "{name} is up with {now}, and its port wants {wanted}: `ip link set {name} down` first, or \
         leave that setting out"
    )]
    Settings {
        /// The interface.
        name: String,
        /// The setting as it is.
        now: String,
        /// The setting as it is wanted.
        wanted: String,
    },
    /// The kernel refuses a setting.
    #[error("{name} cannot be set to {setting}: {}", not_supported(refusal))]
    Setting {
        /// The interface.
        name: String,
        /// The setting.
        setting: String,
        /// The kernel's refusal.
        refusal: KernelRefusal,
    },
    /// The kernel refuses the restart.
    #[error(
        "{name} cannot be set to restart {ms} ms after bus-off: {refusal}; leave `restart` out, \
         and after bus-off the interface must be switched off and on"
    )]
    Restart {
        /// The interface.
        name: String,
        /// Time from bus-off to the restart, ms.
        ms: u32,
        /// The kernel's refusal.
        refusal: KernelRefusal,
    },
    /// It cannot be switched on, or off.
    #[error("{name} cannot be switched {}: {}", if *on { "on" } else { "off" }, refused(refusal, false))]
    Switch {
        /// The interface.
        name: String,
        /// Whether the interface should have been switched on.
        on: bool,
        /// The kernel's refusal.
        refusal: KernelRefusal,
    },
    /// The kernel could not be queried.
    #[error(transparent)]
    Netlink(#[from] Error),
}

/// Returns the kernel's refusal and advice. The advice is a guess only where the kernel gives no
/// reason.
fn refused(refusal: &KernelRefusal, fd: bool) -> String {
    let hint = match (refusal.errno, &refusal.reason) {
        (Errno::PERM | Errno::ACCESS, _) => {
            ": only root or CAP_NET_ADMIN is allowed to; give the program that capability, or set \
             it with `ip link`"
        }
        (_, Some(_)) => "",
        (Errno::OPNOTSUPP, None) if fd => " (does its driver support CAN FD?)",
        (Errno::INVAL | Errno::RANGE | Errno::DOM, None) => {
            " (is the bit rate or the sample point outside the controller's range?)"
        }
        _ => "",
    };
    format!("{refusal}{hint}")
}

/// Returns the kernel's refusal of a setting, and advice where the kernel gives no reason.
fn not_supported(refusal: &KernelRefusal) -> String {
    let hint = match (refusal.errno, &refusal.reason) {
        (Errno::OPNOTSUPP, None) => " (its driver does not support it: leave it out)",
        (Errno::INVAL, None) => " (does its driver support this value?)",
        _ => "",
    };
    format!("{}{hint}", refused(refusal, false))
}

/// Compares two bit rates. The kernel reports the bit rate that a controller's clock can produce,
/// which may differ a little from the requested one. No two bit rates of buses are less than 1 %
/// apart.
fn is_same(a: BitRate, b: BitRate) -> bool {
    let near = |a: u32, b: u32| u64::from(a.abs_diff(b)) * 100 < u64::from(b);
    near(a.nominal(), b.nominal())
        && match (a.data(), b.data()) {
            (Some(a), Some(b)) => near(a, b),
            (a, b) => a.is_none() && b.is_none(),
        }
}

fn words(rate: BitRate) -> String {
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
            let differs = self.settings.difference(&link.settings, link.queue);
            if link.bit_rate.is_some_and(|now| is_same(now, self.rate)) {
                match differs {
                    None => {
                        let (before, note) = (PreviousState::Up, None);
                        return Ok(AppliedSetup { before, note });
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
            return Err(SetupError::Refused {
                name: name(),
                wanted: words(self.rate),
                fd: self.rate.data().is_some(),
                refusal,
            });
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
        let note = self.restart(&mut netlink, link.index, interface)?;
        let refused = change(&mut netlink, head(link.index, IFF_UP))?;
        Self::switched(interface, true, refused)?;
        Ok(AppliedSetup { before, note })
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

    /// Returns whether the interface has these settings, up or down; true where its driver reports
    /// no bit rates.
    #[must_use]
    pub fn is_in_force(&self, link: &NetLink) -> bool {
        let is_equal = self
            .settings
            .difference(&link.settings, link.queue)
            .is_none();
        link.bit_rate.is_none_or(|now| is_same(now, self.rate)) && is_equal
    }

    /// Returns a sentence with the present bit rates if the interface runs at other ones than
    /// these, or with another setting that differs. An interface that is down does not run.
    #[must_use]
    pub fn differs(&self, link: &NetLink) -> Option<String> {
        let now = link
            .bit_rate
            .filter(|_| link.up && !self.is_in_force(link))?;
        let name = &link.name;
        let difference = if is_same(now, self.rate) {
            let (now, wanted) = self.settings.difference(&link.settings, link.queue)?;
            format!("{name} runs with {now}, and its port is set to {wanted}")
        } else {
            let (now, wanted) = (words(now), words(self.rate));
            format!("{name} runs at {now}, and its port is set to {wanted}")
        };
        Some(format!("{difference}: another program has changed it"))
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
            settings.add_delay(&mut data, (FD, FD));
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
        assert_eq!(inner(data, IFLA_CAN_CTRLMODE).and_then(number), Some(FD));
        let classic = LinkSetup {
            rate: BitRate::new(125_000, None).unwrap(),
            ..setup
        };
        let body = classic.request(7);
        let (_, info) = attributes(&body[16..]).next().unwrap().unwrap();
        let data = inner(info, IFLA_INFO_DATA).unwrap();
        assert_eq!(inner(data, IFLA_CAN_CTRLMODE), None);
    }

    fn fast() -> LinkSetup {
        LinkSetup {
            rate: BitRate::new(500_000, None).unwrap(),
            sample_point: 0,
            data_sample_point: 0,
            restart: RestartDelay::Asked(0),
            settings: ControllerSettings::default(),
        }
    }

    /// The kernel's reason is printed, and a guess only where it gives none.
    #[test]
    fn a_refusal_states_the_kernels_reason() {
        let output = |errno, reason: Option<&str>, fd| {
            let reason = reason.map(Box::from);
            let error = SetupError::Refused {
                name: "can0".to_owned(),
                wanted: words(fast().rate),
                fd,
                refusal: KernelRefusal {
                    errno,
                    reason,
                    offset: None,
                },
            };
            error.to_string()
        };
        assert_eq!(
            output(Errno::INVAL, Some("bitrate error 17.3% too high"), true),
            "can0 cannot be set to 500000 bit/s: Invalid argument (os error 22); the kernel reports: bitrate error 17.3% too \
             high"
        );
        let no_fd = output(Errno::OPNOTSUPP, None, true);
        assert!(no_fd.ends_with("(os error 95) (does its driver support CAN FD?)"));
        let plain = output(Errno::OPNOTSUPP, None, false);
        assert!(plain.ends_with("Operation not supported (os error 95)"));
        assert!(output(Errno::PERM, None, false).contains("CAP_NET_ADMIN"));
        let error = SetupError::Restart {
            name: "can0".to_owned(),
            ms: 70,
            refusal: Errno::OPNOTSUPP.into(),
        };
        let output = error.to_string();
        assert!(
            output.contains("70 ms after bus-off: Operation not supported (os error 95); leave")
        );
    }

    #[test]
    fn other_bit_rates_are_noticed() {
        let at = |rate| NetLink {
            name: "can2".to_owned(),
            up: true,
            bit_rate: BitRate::new(rate, None).ok(),
            ..NetLink::default()
        };
        assert_eq!(fast().differs(&at(500_000)), None);
        // The bit rate that a clock of 8 MHz produces for 83.3 kbit/s.
        let odd = LinkSetup {
            rate: BitRate::new(83_300, None).unwrap(),
            ..fast()
        };
        assert_eq!(odd.differs(&at(83_333)), None);
        assert!(odd.differs(&at(84_200)).is_some());
        let output = fast().differs(&at(125_000)).unwrap();
        assert!(
            output.starts_with("can2 runs at 125000 bit/s, and its port is set to 500000 bit/s")
        );
        // An interface that is down carries no frames; and a driver need not report its bit rate.
        let down = NetLink {
            up: false,
            ..at(125_000)
        };
        let silent = NetLink {
            bit_rate: None,
            ..at(125_000)
        };
        assert_eq!(
            (fast().differs(&down), fast().differs(&silent)),
            (None, None)
        );
        assert!(!fast().is_in_force(&down) && fast().is_in_force(&silent));
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
