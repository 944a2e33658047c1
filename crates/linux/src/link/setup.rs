//! Setting a CAN interface up: bit rates, restart, on.

use super::interface::{IFLA_INFO_DATA, IFLA_INFO_KIND, IFLA_LINKINFO, Link, LinkError};
use super::saved::{IFF_UP, IFLA_CAN_BITTIMING, IFLA_CAN_CTRLMODE, IFLA_CAN_DATA_BITTIMING};
use super::saved::{IFLA_CAN_RESTART_MS, change, head};
use crate::Errno;
use crate::netlink::{Error, Netlink, attribute, nested};
use frame::wire::BitRate;

/// `CAN_CTRLMODE_FD` of `uapi/linux/can/netlink.h`.
const FD: u32 = 0x20;
/// Bytes of `struct can_bittiming`.
const BITTIMING: usize = 32;

/// How a CAN interface is to be.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Setup {
    /// The bit rates, bit/s. With one of the data phase, FD is switched on.
    pub rate: BitRate,
    /// Sample points, thousandths of a bit; 0: the kernel's choice.
    pub sample_point: u32,
    /// Of the data phase.
    pub data_sample_point: u32,
    /// From bus-off to the restart, ms; 0: never.
    pub restart_ms: u32,
}

/// What an interface was before.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Before {
    /// It was down, and was set up.
    Down,
    /// It was up at these bit rates already.
    Up,
}

/// Why an interface is not as it is to be.
#[derive(thiserror::Error, Debug)]
pub enum SetupError {
    /// It cannot be asked about.
    #[error(transparent)]
    Link(#[from] LinkError),
    /// It has no bit rate.
    #[error("{0} is a {1}, which has no bit rate: leave `bitrate` out")]
    Virtual(String, String),
    /// It is in use at other bit rates.
    #[error(
        "{name} is up at {now}: `ip link set {name} down` first, or leave `bitrate` out to take it as it is"
    )]
    Other {
        /// The interface.
        name: String,
        /// Its bit rates.
        now: String,
    },
    /// The kernel refuses.
    #[error("{name} cannot be set to {wanted}: {}", refused(*errno))]
    Refused {
        /// The interface.
        name: String,
        /// The bit rates.
        wanted: String,
        /// What it says.
        errno: Errno,
    },
    /// It cannot be switched on.
    #[error("{name} cannot be switched on: {}", refused(*errno))]
    Up {
        /// The interface.
        name: String,
        /// What the kernel says.
        errno: Errno,
    },
    /// The kernel cannot be asked.
    #[error(transparent)]
    Netlink(#[from] Error),
}

fn refused(errno: Errno) -> String {
    match errno {
        Errno::PERM | Errno::ACCESS => {
            "only root or CAP_NET_ADMIN may; give the program that capability, or set it with `ip link`".to_owned()
        }
        Errno::OPNOTSUPP => "its controller or driver cannot do that (CAN FD?)".to_owned(),
        Errno::INVAL | Errno::RANGE | Errno::DOM => {
            "its controller cannot be set so: another bit rate or sample point?".to_owned()
        }
        errno => errno.to_string(),
    }
}

fn words(rate: BitRate) -> String {
    match rate.data() {
        Some(data) => format!("{} bit/s, data phase {data} bit/s", rate.nominal()),
        None => format!("{} bit/s", rate.nominal()),
    }
}

impl Setup {
    /// Sees to it that an interface is up and has these bit rates. One that is up has them already, or is left alone:
    /// somebody else may use it.
    ///
    /// # Errors
    /// [`SetupError`].
    pub fn apply(&self, interface: &str) -> Result<Before, SetupError> {
        let link = Link::find(interface)?;
        let name = || interface.to_owned();
        if link.is_virtual() {
            return Err(SetupError::Virtual(name(), link.kind));
        }
        if link.up {
            return match link.bit_rate {
                Some(now) if now == self.rate => Ok(Before::Up),
                Some(now) => Err(SetupError::Other {
                    name: name(),
                    now: words(now),
                }),
                None => Err(SetupError::Other {
                    name: name(),
                    now: "a bit rate that its driver does not tell".to_owned(),
                }),
            };
        }
        let mut netlink = Netlink::open()?;
        if let Some(errno) = change(&mut netlink, self.request(link.index))? {
            return Err(SetupError::Refused {
                name: name(),
                wanted: words(self.rate),
                errno,
            });
        }
        if let Some(errno) = change(&mut netlink, head(link.index, IFF_UP))? {
            return Err(SetupError::Up {
                name: name(),
                errno,
            });
        }
        Ok(Before::Down)
    }

    /// RTM_NEWLINK with the settings of an interface that is down.
    fn request(&self, index: u32) -> Vec<u8> {
        let timing = |rate: u32, sample_point: u32| {
            // The kernel computes the segments of what is 0 (can_calc_bittiming).
            let mut bytes = [0; BITTIMING];
            bytes[..4].copy_from_slice(&rate.to_ne_bytes());
            bytes[4..8].copy_from_slice(&sample_point.to_ne_bytes());
            bytes
        };
        let mut data = Vec::new();
        let nominal = timing(self.rate.nominal(), self.sample_point);
        attribute(&mut data, IFLA_CAN_BITTIMING, &nominal);
        if let Some(rate) = self.rate.data() {
            let fast = timing(rate, self.data_sample_point);
            attribute(&mut data, IFLA_CAN_DATA_BITTIMING, &fast);
            let mode = [FD.to_ne_bytes(), FD.to_ne_bytes()].concat();
            attribute(&mut data, IFLA_CAN_CTRLMODE, &mode);
        }
        attribute(
            &mut data,
            IFLA_CAN_RESTART_MS,
            &self.restart_ms.to_ne_bytes(),
        );
        let mut info = Vec::new();
        attribute(&mut info, IFLA_INFO_KIND, b"can");
        nested(&mut info, IFLA_INFO_DATA, &data);
        let mut body = head(index, 0);
        nested(&mut body, IFLA_LINKINFO, &info);
        body
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::netlink::{attributes, inner, number};

    #[test]
    fn the_kernel_is_asked_for_rates_and_restart() {
        let setup = Setup {
            rate: BitRate::new(500_000, Some(2_000_000)).unwrap(),
            sample_point: 875,
            data_sample_point: 0,
            restart_ms: 100,
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
        assert_eq!(inner(data, IFLA_CAN_RESTART_MS).and_then(number), Some(100));
        assert_eq!(inner(data, IFLA_CAN_CTRLMODE).and_then(number), Some(FD));
        let classic = Setup {
            rate: BitRate::new(125_000, None).unwrap(),
            ..setup
        };
        let body = classic.request(7);
        let (_, info) = attributes(&body[16..]).next().unwrap().unwrap();
        let data = inner(info, IFLA_INFO_DATA).unwrap();
        assert_eq!(inner(data, IFLA_CAN_CTRLMODE), None);
    }

    #[test]
    fn what_is_not_there_is_said() {
        let setup = Setup {
            rate: BitRate::new(125_000, None).unwrap(),
            sample_point: 0,
            data_sample_point: 0,
            restart_ms: 0,
        };
        assert!(matches!(
            setup.apply("no-such-one"),
            Err(SetupError::Link(_))
        ));
    }
}
