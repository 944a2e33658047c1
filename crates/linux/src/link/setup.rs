//! Setting up a CAN interface: bit rates, restart, switching it on.

use super::controller::{IFLA_CAN_BITTIMING, IFLA_CAN_DATA_BITTIMING};
use super::interface::NetLink;
use super::saved::{IFF_UP, IFLA_CAN_RESTART_MS, change, head, switch_off, with_options};
use super::settings::ControllerSettings;
use super::setup_error::SetupError;
use super::timing::{BitTiming, SJW};
use crate::netlink::{KernelRefusal, NetlinkSocket, attribute};
use frame::wire::BitRate;

/// `CAN_CTRLMODE_FD` of `uapi/linux/can/netlink.h`.
const FD: u32 = 0x20;
/// Size of `struct can_bittiming` in bytes.
const BITTIMING: usize = 32;

/// The deviation of a sample point from the wish from which on a note states it, thousandths of a
/// bit: less is the rounding of a wish such as 0.867 for 13 of 15 quanta.
const NOTED: u32 = 5;

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

/// Returns a sample point (thousandths of a bit) in the words of `ip link`.
fn point(word: &str, thousandths: u32) -> String {
    format!("{word} {:.3}", f64::from(thousandths) / 1000.0)
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
            if link.bit_rate.is_some_and(|now| is_same(now, self.rate)) {
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
        let restart = self.restart(&mut netlink, link.index, interface)?;
        let refused = change(&mut netlink, head(link.index, IFF_UP))?;
        Self::switched(interface, true, refused)?;
        let rounded = self.rounded(&NetLink::find(interface)?);
        Ok(AppliedSetup {
            before,
            notes: [restart, rounded].into_iter().flatten().collect(),
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

    /// Returns whether the interface has these settings, up or down; true where its driver reports
    /// no bit rates.
    #[must_use]
    pub fn is_in_force(&self, link: &NetLink) -> bool {
        let is_equal = self.difference(link).is_none();
        link.bit_rate.is_none_or(|now| is_same(now, self.rate)) && is_equal
    }

    /// Returns the first setting that an interface has otherwise, in the words of `ip link`: as it
    /// is, and as it is wanted. What the kernel has rounded is no difference.
    fn difference(&self, link: &NetLink) -> Option<(String, String)> {
        let settings = self.settings.difference(&link.settings, link.queue);
        settings.or_else(|| {
            let mut points = self.sample_points(link).into_iter();
            points.find_map(|(word, wanted, now)| {
                let is_other = wanted > 0 && !now.has_sample_point(wanted);
                is_other.then(|| (point(word, now.sample_point), point(word, wanted)))
            })
        })
    }

    /// Returns the sample points of both phases: `ip link`'s word, the wish (0: none), the timing.
    fn sample_points(&self, link: &NetLink) -> [(&'static str, u32, BitTiming); 2] {
        let [nominal, data] = link.settings.timing;
        [
            ("sample-point", self.sample_point, nominal),
            ("dsample-point", self.data_sample_point, data),
        ]
    }

    /// Returns a sentence about settings that the kernel has rounded.
    fn rounded(&self, link: &NetLink) -> Option<String> {
        let [nominal, data] = link.settings.timing;
        let widths = [
            ("sjw", self.settings.sjw, nominal.sjw),
            ("dsjw", self.settings.data_sjw, data.sjw),
        ];
        let widths = widths.into_iter().filter_map(|(word, wanted, now)| {
            let wanted = wanted.filter(|wanted| now > 0 && *wanted != now)?;
            Some(format!("{word} {now} in place of {wanted}"))
        });
        let points = self.sample_points(link).into_iter();
        let points = points.filter_map(|(word, wanted, now)| {
            let off = now.sample_point.abs_diff(wanted);
            let is_rounded = wanted > 0 && now.sample_point > 0 && off >= NOTED;
            let wanted = f64::from(wanted) / 1000.0;
            is_rounded.then(|| format!("{} in place of {wanted:.3}", point(word, now.sample_point)))
        });
        let rounded: Vec<String> = widths.chain(points).collect();
        (!rounded.is_empty()).then(|| {
            format!(
                "{} has {}: the nearest that its controller's clock and fields allow",
                link.name,
                rounded.join(", ")
            )
        })
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
            let (now, wanted) = self.difference(link)?;
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
    use super::super::modes::{IFLA_CAN_CTRLMODE, PresentSettings};
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

    /// What an SJA1000 has at 500 kbit/s: sample point, segments and jump width.
    fn sja1000(point: u32, [prop, first, second]: [u32; 3], sjw: u32) -> NetLink {
        let timing = [500_000, point, 125, prop, first, second, sjw, 1];
        let limits = [0, 0, 0, 0, 1, 16, 1, 8, 4, 1, 64, 1];
        let mut data = Vec::new();
        attribute(&mut data, 1, &timing.map(u32::to_ne_bytes).concat());
        attribute(&mut data, 2, &limits.map(u32::to_ne_bytes).concat());
        NetLink {
            name: "can2".to_owned(),
            up: true,
            bit_rate: BitRate::new(500_000, None).ok(),
            settings: PresentSettings::read(&data),
            ..NetLink::default()
        }
    }

    #[test]
    fn what_the_kernel_has_rounded_is_noted_and_no_difference() {
        let mut wanted = LinkSetup {
            sample_point: 810,
            ..fast()
        };
        wanted.settings.sjw = Some(4);
        let now = sja1000(750, [5, 6, 4], 4);
        assert_eq!(
            (wanted.differs(&now), wanted.is_in_force(&now)),
            (None, true)
        );
        assert_eq!(
            wanted.rounded(&now).unwrap(),
            "can2 has sample-point 0.750 in place of 0.810: the nearest that its controller's clock and fields allow"
        );
        // Kernels before 6.3 shorten a jump width that is longer than phase segment 2.
        let shortened = sja1000(812, [6, 6, 3], 3);
        assert_eq!(wanted.differs(&shortened), None);
        assert!(
            wanted
                .rounded(&shortened)
                .unwrap()
                .contains("has sjw 3 in place of 4:")
        );
        assert_eq!(
            wanted.differs(&sja1000(875, [6, 7, 2], 2)).unwrap(),
            "can2 runs with sample-point 0.875, and its port is set to sample-point 0.810: another program has changed it"
        );
        let other = wanted.differs(&sja1000(812, [6, 6, 3], 1)).unwrap();
        assert!(
            other.contains("sjw 1, and its port is set to sjw 4"),
            "{other}"
        );
        assert_eq!(fast().rounded(&shortened), None, "nothing was asked for");
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
