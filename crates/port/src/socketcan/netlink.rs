//! What the kernel knows of a CAN controller: its bit rates and its error state, by rtnetlink
//! (`uapi/linux/rtnetlink.h`, `if_link.h`, `can/netlink.h`).

use frame::wire::BitRate;
use rustix::io::Errno;
use rustix::net::{AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType};
use rustix::net::{recv, send, socket_with};
use std::io;

const RTM_NEWLINK: u16 = 16;
const RTM_GETLINK: u16 = 18;
const NLMSG_ERROR: u16 = 2;
const NLM_F_REQUEST: u16 = 1;
const IFLA_IFNAME: u16 = 3;
const IFLA_TXQLEN: u16 = 13;
const IFLA_LINKINFO: u16 = 18;
const IFLA_INFO_KIND: u16 = 1;
const IFLA_INFO_DATA: u16 = 2;
const IFLA_CAN_BITTIMING: u16 = 1;
const IFLA_CAN_STATE: u16 = 4;
const IFLA_CAN_DATA_BITTIMING: u16 = 9;
/// The two upper bits of an attribute's type are flags.
const NLA_TYPE_MASK: u16 = 0x3FFF;
/// Bytes of `struct nlmsghdr` and of `struct ifinfomsg`.
const HEADER: usize = 16;
const IFINFO: usize = 16;

/// `enum can_state`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ControllerState {
    /// TEC and REC below 96.
    ErrorActive,
    /// One of them at 96 or more.
    ErrorWarning,
    /// One of them at 128 or more.
    ErrorPassive,
    /// TEC above 255: it takes no part.
    BusOff,
    /// Switched off.
    Stopped,
    /// Asleep.
    Sleeping,
}

/// What the kernel says of an interface.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Controller {
    /// `can`, `vcan`, `vxcan`; empty where the driver says none.
    pub kind: String,
    /// The bit rates it was set to; `None` for virtual interfaces, which have none.
    pub bit_rate: Option<BitRate>,
    /// Its error state, where it is a controller.
    pub state: Option<ControllerState>,
    /// Frames that its transmit queue holds.
    pub queue: Option<u32>,
}

/// Asks the kernel about an interface.
///
/// # Errors
/// ENODEV where there is none of this name; what the netlink socket says else.
pub fn controller(interface: &str) -> io::Result<Controller> {
    let fd = socket_with(
        AddressFamily::NETLINK,
        SocketType::RAW,
        SocketFlags::CLOEXEC,
        None, // protocol 0 is NETLINK_ROUTE
    )?;
    let request = request(interface)?;
    send(&fd, &request, SendFlags::empty())?;
    let mut buffer = vec![0; 1 << 16];
    let (_, len) = recv(&fd, buffer.as_mut_slice(), RecvFlags::empty())?;
    let answer = buffer.get(..len).unwrap_or_default();
    Ok(parse(answer)?)
}

fn request(interface: &str) -> Result<Vec<u8>, Errno> {
    let name = interface.as_bytes();
    if name.is_empty() || name.len() > 15 {
        return Err(Errno::NODEV);
    }
    let attribute = 4 + name.len() + 1;
    let total = HEADER + IFINFO + attribute.next_multiple_of(4);
    let mut out = Vec::with_capacity(total);
    out.extend((total as u32).to_ne_bytes());
    out.extend(RTM_GETLINK.to_ne_bytes());
    out.extend(NLM_F_REQUEST.to_ne_bytes());
    out.extend([0; 8 + IFINFO]);
    out.extend((attribute as u16).to_ne_bytes());
    out.extend(IFLA_IFNAME.to_ne_bytes());
    out.extend(name);
    out.resize(total, 0);
    Ok(out)
}

/// Reads the answer: one RTM_NEWLINK, or an error.
fn parse(answer: &[u8]) -> Result<Controller, Errno> {
    let kind = u16_at(answer, 4).ok_or(Errno::BADMSG)?;
    let len = u32_at(answer, 0).ok_or(Errno::BADMSG)? as usize;
    let body = answer.get(HEADER..len).ok_or(Errno::BADMSG)?;
    if kind == NLMSG_ERROR {
        let code = u32_at(body, 0).ok_or(Errno::BADMSG)?.cast_signed();
        let known = (-4095..0).contains(&code).then(|| code.saturating_neg());
        return Err(known.map_or(Errno::BADMSG, Errno::from_raw_os_error));
    }
    if kind != RTM_NEWLINK {
        return Err(Errno::BADMSG);
    }
    let mut found = Controller::default();
    for (kind, data) in Attributes(body.get(IFINFO..).unwrap_or_default()) {
        match kind {
            IFLA_TXQLEN => found.queue = u32_at(data, 0),
            IFLA_LINKINFO => info(data, &mut found),
            _ => {}
        }
    }
    Ok(found)
}

fn info(bytes: &[u8], found: &mut Controller) {
    let (mut nominal, mut data_rate) = (None, None);
    for (kind, data) in Attributes(bytes) {
        match kind {
            IFLA_INFO_KIND => {
                let text = data.split(|b| *b == 0).next().unwrap_or_default();
                found.kind = String::from_utf8_lossy(text).into_owned();
            }
            IFLA_INFO_DATA => {
                for (kind, data) in Attributes(data) {
                    match kind {
                        // `bitrate` is the first member of `struct can_bittiming`.
                        IFLA_CAN_BITTIMING => nominal = u32_at(data, 0),
                        IFLA_CAN_DATA_BITTIMING => data_rate = u32_at(data, 0),
                        IFLA_CAN_STATE => found.state = u32_at(data, 0).and_then(state),
                        _ => {}
                    }
                }
            }
            _ => {}
        }
    }
    let data_rate = data_rate.filter(|&rate| rate > 0);
    found.bit_rate = nominal.and_then(|nominal| BitRate::new(nominal, data_rate).ok());
}

fn state(number: u32) -> Option<ControllerState> {
    use ControllerState::{BusOff, ErrorActive, ErrorPassive, ErrorWarning, Sleeping, Stopped};
    [
        ErrorActive,
        ErrorWarning,
        ErrorPassive,
        BusOff,
        Stopped,
        Sleeping,
    ]
    .get(number as usize)
    .copied()
}

fn u16_at(bytes: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_ne_bytes(*bytes.get(at..)?.first_chunk()?))
}

fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_ne_bytes(*bytes.get(at..)?.first_chunk()?))
}

/// Type and content of each attribute; ends at the first one that does not fit.
struct Attributes<'a>(&'a [u8]);

impl<'a> Iterator for Attributes<'a> {
    type Item = (u16, &'a [u8]);

    fn next(&mut self) -> Option<Self::Item> {
        let len = usize::from(u16_at(self.0, 0)?);
        let kind = u16_at(self.0, 2)? & NLA_TYPE_MASK;
        let data = self.0.get(4..len)?;
        self.0 = self.0.get(len.next_multiple_of(4)..).unwrap_or_default();
        Some((kind, data))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn attribute(kind: u16, data: &[u8]) -> Vec<u8> {
        let mut out = ((4 + data.len()) as u16).to_ne_bytes().to_vec();
        out.extend(kind.to_ne_bytes());
        out.extend(data);
        out.resize(out.len().next_multiple_of(4), 0);
        out
    }

    fn message(kind: u16, body: &[u8]) -> Vec<u8> {
        let mut out = ((HEADER + body.len()) as u32).to_ne_bytes().to_vec();
        out.extend(kind.to_ne_bytes());
        out.extend([0; 10]);
        out.extend(body);
        out
    }

    fn timing(rate: u32) -> Vec<u8> {
        let mut out = rate.to_ne_bytes().to_vec();
        out.resize(32, 0);
        out
    }

    #[test]
    fn bit_rates_and_state_are_read() {
        let data = [
            attribute(IFLA_CAN_BITTIMING, &timing(500_000)),
            attribute(IFLA_CAN_DATA_BITTIMING, &timing(2_000_000)),
            attribute(IFLA_CAN_STATE, &3u32.to_ne_bytes()),
        ];
        let info = [
            attribute(IFLA_INFO_KIND, b"can\0"),
            attribute(IFLA_INFO_DATA | 0x8000, &data.concat()),
        ];
        let mut body = vec![0; IFINFO];
        body.extend(attribute(IFLA_IFNAME, b"can0\0"));
        body.extend(attribute(IFLA_TXQLEN, &10u32.to_ne_bytes()));
        body.extend(attribute(IFLA_LINKINFO, &info.concat()));
        let found = parse(&message(RTM_NEWLINK, &body)).unwrap();
        let rate = BitRate::new(500_000, Some(2_000_000)).unwrap();
        assert_eq!(found.bit_rate, Some(rate));
        assert_eq!(found.state, Some(ControllerState::BusOff));
        assert_eq!((found.kind.as_str(), found.queue), ("can", Some(10)));
    }

    #[test]
    fn an_error_is_the_kernels() {
        let body = (-19i32).to_ne_bytes();
        assert_eq!(parse(&message(NLMSG_ERROR, &body)), Err(Errno::NODEV));
        assert_eq!(request("").unwrap_err(), Errno::NODEV);
    }

    /// Every Linux has it.
    #[test]
    fn the_loopback_interface_is_no_controller() {
        match controller("lo") {
            Ok(found) => {
                assert_eq!(found.bit_rate, None);
                assert_eq!(found.state, None);
            }
            Err(error) => eprintln!("SKIPPED because there is no rtnetlink here ({error})"),
        }
        assert!(controller("no-such-if").is_err());
    }

    proptest! {
        #[test]
        fn any_answer_ends(bytes in prop::collection::vec(any::<u8>(), 0..200), kind in 0u16..20) {
            let _ = parse(&bytes);
            let _ = parse(&message(kind, &bytes));
            let mut found = Controller::default();
            info(&bytes, &mut found);
        }
    }
}
