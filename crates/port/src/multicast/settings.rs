//! `kind = "multicast"`: a group of python-can.

use crate::kind::{ExclusiveResource, FramePassage, PeerLimits, PortSettings, port_kind};
use crate::network::address::{AddressRange, allow, allow_words};
use crate::network::datagram::{
    ArrivalRules, DatagramPort, LoopRules, PackRules, PresentationRules, StreamRun,
};
use crate::{Halves, PortError, PortOpener};
use config::{Diagnostic, Diagnostics, TomlTable, TomlValue, ValueShape, read};
use frame::Kind;
use net::multicast::{GROUP_V4, MulticastReader, MulticastWriter, PORT};
use rustix::net::{AddressFamily, SocketFlags, SocketType, bind, socket_with, sockopt};
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, SocketAddrV6, UdpSocket};

port_kind! {
    /// The kind of ports in a group of python-can.
    MulticastPorts = "multicast", MulticastKeys::key_specs(),
        |_, table, found| MulticastSettings::parse(table, found);
}

config::settings! {
    /// The keys of a port in a group of python-can.
    struct MulticastKeys {
        /// The address of the group, python-can's `channel`.
        group: IpAddr = IpAddr::V4(GROUP_V4) => read::by(|| ValueShape::Text, group),
            value "IP address", default "`\"239.74.163.2\"`", not "channel" "address" "ip";
        /// The UDP port, python-can's `port`.
        port: u16 = PORT => read::integer(1..=u16::MAX), not "udp_port";
        /// How many networks the datagrams may pass, python-can's `hop_limit` (there 1). 0 is this
        /// machine only: then the port also refuses datagrams of other machines, unless `allow`
        /// lists them.
        hops: u8 = 0 => read::integer(0..=u8::MAX), not "hop_limit" "ttl";
        /// The network interface on which the group is joined.
        interface: Option<String> = None => read::text(), value "name", default "the system's choice",
            not "device" "iface";
        /// Senders that are allowed: addresses, or ranges such as `"192.0.2.0/24"`.
        allow: Option<Vec<AddressRange>> = None => allow(), value "list",
            default "all that `hops` can reach", not "peers" "whitelist" "allow_from";
    }
}

/// Reads the address of a group.
fn group(value: &TomlValue<'_>, found: &mut Diagnostics) -> Option<IpAddr> {
    let text = value.string(found)?.value;
    let group: Option<IpAddr> = text.parse().ok().filter(IpAddr::is_multicast);
    if group.is_none() {
        let hint = "use an address from 224.0.0.0 to 239.255.255.255, or one that begins with ff, such as \
                    \"ff15:7079:7468:6f6e:6465:6d6f:6d63:6173\"";
        value.wrong(
            format!("`{text}` is not a valid multicast address"),
            hint,
            found,
        );
    }
    group
}

/// The settings of a port in a group of python-can.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct MulticastSettings {
    group: IpAddr,
    port: u16,
    hops: u8,
    interface: Option<String>,
    allow: Option<Vec<AddressRange>>,
}

impl MulticastSettings {
    fn parse(table: &mut TomlTable<'_>, found: &mut Diagnostics) -> Self {
        let keys = MulticastKeys::read(table, found);
        if keys.hops > 0 && keys.allow.is_none() {
            let message =
                "every machine that `hops` reaches can send to the buses behind this port";
            let hint =
                "list the senders in `allow`, or leave out `hops`: then it is this machine only";
            found.push(Diagnostic::warning(table.value_span("hops"), message).hint(hint));
        }
        Self {
            group: keys.group,
            port: keys.port,
            hops: keys.hops,
            interface: keys.interface,
            allow: keys.allow,
        }
    }

    /// Returns the socket that receives and the one that sends.
    fn sockets(&self) -> io::Result<(UdpSocket, UdpSocket)> {
        let index = |socket: &UdpSocket| match &self.interface {
            Some(name) => rustix::net::netdevice::name_to_index(socket, name),
            None => Ok(0),
        };
        let flags = SocketFlags::CLOEXEC;
        let socket =
            |family| socket_with(family, SocketType::DGRAM, flags, None).map(UdpSocket::from);
        match self.group {
            IpAddr::V4(group) => {
                let receiving = socket(AddressFamily::INET)?;
                // python-can's programs have the same UDP port.
                sockopt::set_socket_reuseaddr(&receiving, true)?;
                // Only datagrams to the group.
                bind(&receiving, &SocketAddr::from((group, self.port)))?;
                let index = index(&receiving)?;
                let any = Ipv4Addr::UNSPECIFIED;
                sockopt::set_ip_add_membership_with_ifindex(&receiving, &group, &any, index)?;
                let sending = socket(AddressFamily::INET)?;
                bind(&sending, &SocketAddr::from((any, 0)))?;
                sockopt::set_ip_multicast_ttl(&sending, u32::from(self.hops))?;
                if index > 0 {
                    sockopt::set_ip_multicast_if_with_ifindex(&sending, &group, &any, index)?;
                }
                Ok((receiving, sending))
            }
            IpAddr::V6(group) => {
                let receiving = socket(AddressFamily::INET6)?;
                sockopt::set_socket_reuseaddr(&receiving, true)?;
                let index = index(&receiving)?;
                bind(&receiving, &SocketAddrV6::new(group, self.port, 0, index))?;
                sockopt::set_ipv6_add_membership(&receiving, &group, index)?;
                let sending = socket(AddressFamily::INET6)?;
                bind(&sending, &SocketAddr::from((Ipv6Addr::UNSPECIFIED, 0)))?;
                sockopt::set_ipv6_multicast_hops(&sending, u32::from(self.hops))?;
                if index > 0 {
                    sockopt::set_ipv6_multicast_if(&sending, index)?;
                }
                Ok((receiving, sending))
            }
        }
    }
}

impl PortSettings for MulticastSettings {
    fn kind(&self) -> &'static str {
        KEYWORD
    }

    fn passes(&self, kind: Kind) -> FramePassage {
        FramePassage::by_data_phase(kind, true)
    }

    fn peer_limits(&self) -> PeerLimits {
        PeerLimits {
            // python-can replaces the stamp at the reception.
            stamps: false,
            ..PeerLimits::default()
        }
    }

    fn exclusive(&self) -> Option<ExclusiveResource> {
        let hint = "one port sees all frames of a group";
        let group = SocketAddr::from((self.group, self.port));
        Some(ExclusiveResource::new(
            format!("multicast group {group}"),
            hint,
        ))
    }

    fn describe(&self) -> String {
        let group = SocketAddr::from((self.group, self.port));
        let reach = match self.hops {
            0 => "this machine only".to_owned(),
            1 => "the local network".to_owned(),
            hops => format!("{hops} networks"),
        };
        let on = self.interface.as_ref().map(|name| format!(" on {name}"));
        let allow = allow_words(self.allow.as_deref());
        format!(
            "multicast group {group}{}, {reach}{allow}",
            on.unwrap_or_default()
        )
    }

    fn open(&self, port: &str, opener: &mut PortOpener) -> Result<Halves, PortError> {
        let group = SocketAddr::from((self.group, self.port));
        let fail = |error: io::Error| PortError {
            port: port.to_owned(),
            what: format!(
                "the multicast group {group} cannot be joined (without a default route, give an `interface`)"
            ),
            source: Some(error.into()),
        };
        let (receiving, sending) = self.sockets().map_err(fail)?;
        let own = sending.local_addr().map_err(fail)?.port();
        let halves = DatagramPort {
            to: group,
            reader: Box::new(MulticastReader::default()),
            writer: Box::new(MulticastWriter),
            rules: ArrivalRules {
                local_only: self.hops == 0 && self.allow.is_none(),
                allow: self.allow.clone(),
                own: Some(own),
            },
            packing: PackRules::default(),
            play_out: None,
            presentation: PresentationRules::default(),
            reports: None,
            loops: LoopRules::default(),
            run: StreamRun::default(),
        };
        halves.on(port, opener, receiving, sending).map_err(fail)
    }
}
