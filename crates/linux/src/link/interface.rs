//! One interface, as rtnetlink describes it (`uapi/linux/rtnetlink.h`, `if_link.h`).

use super::controller::{
    ControllerCounters, ControllerState, ErrorCounters, controller, error_counters,
};
use super::counters::LinkCounters;
use super::modes::PresentSettings;
use crate::Errno;
use crate::netlink::{
    Error, KernelRefusal, MalformedMessage, NetlinkSocket, attribute, attributes, inner, number,
    text,
};
use frame::wire::BitRate;

pub(super) const RTM_NEWLINK: u16 = 16;
pub(super) const RTM_GETLINK: u16 = 18;
pub(super) const IFLA_IFNAME: u16 = 3;
const IFLA_MTU: u16 = 4;
pub(super) const IFLA_TXQLEN: u16 = 13;
pub(super) const IFLA_LINKINFO: u16 = 18;
const IFLA_IFALIAS: u16 = 20;
const IFLA_STATS64: u16 = 23;
const IFLA_XDP: u16 = 43;
const IFLA_PROP_LIST: u16 = 52;
const IFLA_ALT_IFNAME: u16 = 53;
pub(super) const IFLA_INFO_KIND: u16 = 1;
pub(super) const IFLA_INFO_DATA: u16 = 2;
const IFLA_INFO_XSTATS: u16 = 3;
const IFLA_XDP_PROG_ID: u16 = 4;
/// `ARPHRD_CAN`
const CAN: u16 = 280;
const IFF_UP: u32 = 1;
const IFF_RUNNING: u32 = 1 << 6;
const IFF_ECHO: u32 = 1 << 18;
/// The longest name of an interface in bytes, without the zero at its end (`IFNAMSIZ`).
const MAX_NAME: usize = 15;
/// The longest alternative name in bytes, without the zero at its end (`ALTIFNAMSIZ`).
const MAX_ALTNAME: usize = 127;

/// Size of `struct ifinfomsg` in bytes.
pub const IFINFO: usize = 16;

/// An interface.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct NetLink {
    /// The index, which no other interface has at the same time.
    pub index: u32,
    /// The present name.
    pub name: String,
    /// Its alternative names (`ip link property add dev … altname …`), in the kernel's order.
    pub altnames: Vec<String>,
    /// The text that an administrator gave it (`ip link set … alias …`).
    pub alias: Option<String>,
    /// Whether it is a CAN interface.
    pub can: bool,
    /// Size of the largest frame structure that it takes, in bytes: 16 classic, 72 FD, more XL.
    pub mtu: u32,
    /// Whether it is switched on.
    pub up: bool,
    /// Whether it has a carrier: it is not bus-off.
    pub running: bool,
    /// Whether its driver echoes sent frames to local programs itself (`IFF_ECHO`).
    pub echo: bool,
    /// Its kind in rtnetlink: `vcan`, `vxcan`, `can`, or empty.
    pub kind: String,
    /// The number of frames that its transmit queue holds.
    pub queue: Option<u32>,
    /// The configured bit rates; `None` for virtual interfaces, which have none, and where the
    /// driver reports none (slcan).
    pub bit_rate: Option<BitRate>,
    /// The sample points at these bit rates, thousandths of a bit: nominal, data phase. Each is
    /// `None` where the driver reports none.
    pub sample_points: [Option<u32>; 2],
    /// The settings of its controller, where it is one.
    pub settings: PresentSettings,
    /// The error state, where it is a controller.
    pub state: Option<ControllerState>,
    /// The error counters, where it is a controller whose driver reports them.
    pub errors: Option<ErrorCounters>,
    /// The controller's counts since the interface was created.
    pub controller: Option<ControllerCounters>,
    /// The ID of its XDP program; 0 for none.
    pub xdp: u32,
    /// The interface's counts since it was created.
    pub counters: LinkCounters,
}

impl NetLink {
    /// Returns whether it carries FD frames.
    #[must_use]
    pub const fn carries_fd(&self) -> bool {
        self.mtu >= 72
    }

    /// Returns whether it carries XL frames.
    #[must_use]
    pub const fn carries_xl(&self) -> bool {
        self.mtu > 72
    }

    /// Returns whether frames in it come from local programs, not from a bus.
    #[must_use]
    pub fn is_virtual(&self) -> bool {
        matches!(self.kind.as_str(), "vcan" | "vxcan")
    }

    /// Queries the kernel about one interface, by its name or an alternative name.
    ///
    /// # Errors
    /// [`LinkError::Refused`] with ENODEV where no interface has this name.
    pub fn find(name: &str) -> Result<Self, LinkError> {
        Ok(link(&raw(name)?).map_err(Error::Answer)?)
    }
}

/// Returns the kernel's description of an interface: the body of RTM_NEWLINK.
pub(super) fn raw(name: &str) -> Result<Vec<u8>, LinkError> {
    if name.is_empty() || name.len() > MAX_ALTNAME || name.contains('\0') {
        return Err(LinkError::Refused(Errno::NODEV.into()));
    }
    let mut body = vec![0; IFINFO];
    // The kernel looks up both kinds of names by either attribute; they differ in their lengths.
    let kind = if name.len() > MAX_NAME {
        IFLA_ALT_IFNAME
    } else {
        IFLA_IFNAME
    };
    attribute(&mut body, kind, &[name.as_bytes(), &[0]].concat());
    let answer = NetlinkSocket::open()?.one(RTM_GETLINK, body)?;
    let answer = answer.map_err(LinkError::Refused)?;
    let found = answer.into_iter().find(|(kind, _)| *kind == RTM_NEWLINK);
    let (_, body) = found.ok_or_else(|| LinkError::Refused(Errno::NODEV.into()))?;
    Ok(body)
}

/// The reason why the data of an interface are not available.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum LinkError {
    /// The kernel's refusal: ENODEV where there is no such interface.
    #[error("the kernel does not know it: {0}")]
    Refused(KernelRefusal),
    /// The kernel could not be queried.
    #[error(transparent)]
    Netlink(#[from] Error),
}

/// Parses the body of RTM_NEWLINK.
pub(super) fn link(body: &[u8]) -> Result<NetLink, MalformedMessage> {
    let Some((&[_, _, t0, t1, i0, i1, i2, i3, f0, f1, f2, f3, ..], rest)) =
        body.split_first_chunk::<IFINFO>()
    else {
        return Err(MalformedMessage::Message);
    };
    let flags = u32::from_ne_bytes([f0, f1, f2, f3]);
    let mut link = NetLink {
        index: u32::from_ne_bytes([i0, i1, i2, i3]),
        can: u16::from_ne_bytes([t0, t1]) == CAN,
        up: flags & IFF_UP != 0,
        running: flags & IFF_RUNNING != 0,
        echo: flags & IFF_ECHO != 0,
        ..NetLink::default()
    };
    for attribute in attributes(rest) {
        let (kind, value) = attribute?;
        match kind {
            IFLA_IFNAME => link.name = text(value),
            IFLA_MTU => link.mtu = number(value).unwrap_or(0),
            IFLA_TXQLEN => link.queue = number(value),
            IFLA_LINKINFO => {
                link.kind = inner(value, IFLA_INFO_KIND).map(text).unwrap_or_default();
                // Other kinds of interfaces have data of other kinds.
                if let Some(data) = inner(value, IFLA_INFO_DATA).filter(|_| link.can) {
                    (link.bit_rate, link.state) = controller(data);
                    link.settings = PresentSettings::read(data);
                    link.sample_points = link.settings.sample_points();
                    link.errors = error_counters(data);
                }
                // For other kinds of interfaces the attribute has other content.
                if let Some(counted) = inner(value, IFLA_INFO_XSTATS).filter(|_| link.can) {
                    link.controller = ControllerCounters::read(counted);
                }
            }
            IFLA_IFALIAS => link.alias = Some(text(value)).filter(|text| !text.is_empty()),
            IFLA_PROP_LIST => {
                let names = attributes(value).map_while(Result::ok);
                let names = names.filter(|(kind, _)| *kind == IFLA_ALT_IFNAME);
                link.altnames = names.map(|(_, name)| text(name)).collect();
            }
            IFLA_STATS64 => link.counters = LinkCounters::read(value).unwrap_or_default(),
            IFLA_XDP => {
                let id = inner(value, IFLA_XDP_PROG_ID);
                link.xdp = id.and_then(number).unwrap_or(0);
            }
            _ => {}
        }
    }
    Ok(link)
}

#[cfg(test)]
mod tests {
    use super::*;
    use frame::ErrorState;
    use proptest::prelude::*;

    fn wrapped(kind: u16, value: &[u8]) -> Vec<u8> {
        let mut out = Vec::new();
        attribute(&mut out, kind, value);
        out
    }

    fn timing(rate: u32, sample_point: u32) -> Vec<u8> {
        let mut out = [rate, sample_point].map(u32::to_ne_bytes).concat();
        out.resize(32, 0);
        out
    }

    fn ifinfo(kind: u16, index: u32, flags: u32) -> Vec<u8> {
        let mut body = vec![0; 2];
        body.extend(kind.to_ne_bytes());
        body.extend(index.to_ne_bytes());
        body.extend(flags.to_ne_bytes());
        body.extend([0; 4]);
        body
    }

    #[test]
    fn bit_rates_and_state_are_read() {
        let data = [
            wrapped(1, &timing(500_000, 875)),
            wrapped(9, &timing(2_000_000, 0)),
            wrapped(4, &3_u32.to_ne_bytes()),
            // `struct can_berr_counter`: TEC, REC.
            wrapped(8, &[0x0102_u16, 0x0304].map(u16::to_ne_bytes).concat()),
        ];
        let stats = (21..27_u32).flat_map(u32::to_ne_bytes);
        let info = [
            wrapped(IFLA_INFO_KIND, b"can\0"),
            wrapped(IFLA_INFO_DATA | 0x8000, &data.concat()),
            wrapped(IFLA_INFO_XSTATS, &stats.collect::<Vec<_>>()),
        ];
        let mut body = ifinfo(CAN, 7, IFF_UP | IFF_ECHO);
        body.extend(wrapped(IFLA_IFNAME, b"can0\0"));
        body.extend(wrapped(IFLA_MTU, &72_u32.to_ne_bytes()));
        body.extend(wrapped(IFLA_TXQLEN, &10_u32.to_ne_bytes()));
        body.extend(wrapped(IFLA_IFALIAS, b"left door\0"));
        let names = [&b"body\0"[..], b"a-name-longer-than-15-bytes\0"];
        let names = names.map(|name| wrapped(IFLA_ALT_IFNAME, name));
        body.extend(wrapped(IFLA_PROP_LIST | 0x8000, &names.concat()));
        body.extend(wrapped(IFLA_LINKINFO, &info.concat()));
        let counters = (11..35_u64).flat_map(u64::to_ne_bytes);
        body.extend(wrapped(IFLA_STATS64, &counters.collect::<Vec<_>>()));
        let expected = NetLink {
            index: 7,
            name: "can0".to_owned(),
            altnames: ["body", "a-name-longer-than-15-bytes"]
                .map(str::to_owned)
                .into(),
            alias: Some("left door".to_owned()),
            can: true,
            mtu: 72,
            up: true,
            running: false,
            echo: true,
            kind: "can".to_owned(),
            queue: Some(10),
            bit_rate: Some(BitRate::new(500_000, Some(2_000_000)).unwrap()),
            sample_points: [Some(875), None],
            settings: PresentSettings::read(&data.concat()),
            state: Some(ControllerState::Started(ErrorState::BusOff)),
            errors: Some(ErrorCounters {
                transmit: 0x0102,
                receive: 0x0304,
            }),
            controller: Some(ControllerCounters {
                bus_errors: 21,
                error_passive: 23,
                bus_off: 24,
                arbitration_lost: 25,
                restarts: 26,
            }),
            xdp: 0,
            counters: LinkCounters {
                received: 11,
                sent: 12,
                receive_dropped: 17,
                send_dropped: 18,
                received_bytes: 13,
                sent_bytes: 14,
                receive_errors: 15,
                send_errors: 16,
            },
        };
        assert_eq!(link(&body), Ok(expected));
        // The same data of an interface that is not a CAN interface has another meaning.
        body.splice(2..4, 1_u16.to_ne_bytes());
        let other = link(&body).unwrap();
        assert_eq!((other.bit_rate, other.state), (None, None));
        assert_eq!(link(&body[..15]), Err(MalformedMessage::Message));
        assert_eq!(link(&body[..17]), Err(MalformedMessage::Attribute));
    }

    #[test]
    fn an_error_is_the_kernels() {
        for name in ["", "no-such-if", "longer-than-names", "a\0b"] {
            match NetLink::find(name) {
                Err(LinkError::Refused(refusal)) => {
                    assert_eq!(refusal.errno, Errno::NODEV, "{name}");
                }
                other => panic!("{name}: {other:?}"),
            }
        }
    }

    /// Every Linux has this interface.
    #[test]
    fn the_loopback_interface_is_no_controller() {
        let lo = NetLink::find("lo").unwrap();
        assert_eq!((lo.name.as_str(), lo.can), ("lo", false));
        assert_eq!((lo.bit_rate, lo.state), (None, None));
    }

    proptest! {
        #[test]
        fn any_bytes_are_read_without_panic(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            let _ = link(&bytes);
            let _ = controller(&bytes);
            let mut body = ifinfo(CAN, 1, 0);
            body.extend(&bytes);
            let _ = link(&body);
            let mut body = ifinfo(CAN, 1, 0);
            body.extend(wrapped(IFLA_LINKINFO, &wrapped(IFLA_INFO_DATA, &bytes)));
            prop_assert!(link(&body).is_ok());
        }
    }
}
