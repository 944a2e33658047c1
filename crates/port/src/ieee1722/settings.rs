//! `kind = "ieee1722"`: a stream of ACF messages over UDP or on Ethernet.

use super::play_out::{CLOCKS, LATE, PlayOutDelay, PlayOutKeys};
use super::presentation::{PresentationKeys, SCALES};
use super::values::{check_ends, stream, version, versions};
use crate::kind::{ExclusiveResource, FramePassage, PeerLimits, PortSettings, port_kind};
use crate::network::address::{AddressRange, allow, allow_words};
use crate::network::datagram::{
    ArrivalRules, DatagramPort, EXPEDITED, EthernetEnds, EthernetReceiver, LoopRules, PackRules,
    ReportRules, StreamBus, StreamKey, StreamRun, TimeScale, TunnelAddresses, TunnelRules,
    check_mark, check_own, check_tunnel,
};
use crate::network::endpoint::{PeerAddress, listen};
use crate::network::ids::{IdRange, id_ranges, urgent_words};
use crate::network::mac::MacAddress;
use crate::{Halves, NetworkLink, PortError, PortOpener, TunnelEnd};
use config::{Diagnostics, TomlTable, ValueShape, read};
use frame::{Kind, Nanos};
use net::LateRule;
use net::ieee1722::{
    AcfReader, AcfWriter, DEFAULT_STREAM, MULTICAST, MessageVersion, PORT, REPORT_BIT,
};
use std::net::{Ipv4Addr, SocketAddr};
use std::time::Duration;

port_kind! {
    /// The kind of streams by IEEE 1722.
    AvtpPorts = "ieee1722", AvtpKeys::key_specs(),
        |_, table, found| AvtpSettings::parse(table, found);
}

/// Values of `returned`, each with whether frames that come back are handed on.
const RETURNED: [(&str, bool); 2] = [("drop", false), ("pass", true)];

/// Times between two reports, ns.
const REPORTS: std::ops::RangeInclusive<Nanos> = 100_000_000..=60_000_000_000;

config::settings! {
    /// The keys of a stream by IEEE 1722.
    struct AvtpKeys {
        /// Where datagrams come in: a port of the loopback interface, or an address and a port.
        listen: SocketAddr = SocketAddr::from((Ipv4Addr::LOCALHOST, PORT)) => listen(),
            value "port, or `\"ADDRESS:PORT\"`", default "17220",
            not "local" "bind" "listen_address";
        /// Where datagrams go.
        connect: Option<PeerAddress> = None => PeerAddress::key(), value "`\"HOST:PORT\"`",
            default "required over UDP", not "remote" "host" "dst";
        /// The stream is directly on Ethernet (EtherType 22F0), on this interface, without
        /// `listen` and `connect`. This needs the capability CAP_NET_RAW.
        interface: Option<String> = None => read::text(), value "name", default "none: UDP",
            not "device" "ifname" "iface";
        /// On Ethernet: the hardware address of the other side, or of a group.
        peer: MacAddress = MacAddress(MULTICAST) => MacAddress::key(),
            value "`\"02:00:00:00:00:07\"`", default "the group 91:e0:f0:00:00:00",
            not "mac" "dst_mac" "destination";
        /// On Ethernet: frames have a tag (IEEE 802.1Q, without a VLAN) with a priority: this one
        /// (PCP) for `urgent` frames, 0 for others.
        vlan_priority: Option<u8> = None => read::integer(0..=7u8), default "no tag",
            not "pcp" "priority" "vlan_prio";
        /// Senders that are allowed: addresses, or ranges such as `"192.0.2.0/24"`. Datagrams from
        /// other senders are refused, and counted as denied.
        allow: Option<Vec<AddressRange>> = None => allow(), value "list",
            default "the host of `connect`", not "peers" "whitelist" "allow_from";
        /// The ID of the stream, 16 hex digits, in both directions. Datagrams of other streams are
        /// passed over. Ports of one stream have the same `listen`, and a `bus` each.
        stream: u64 = DEFAULT_STREAM => read::by(|| ValueShape::Text, stream),
            value "16 hex digits", default "`\"AABBCCDDEEFF0001\"`", not "stream_id";
        /// The number of the bus in the messages, up to 31 (2047 with `version = 2`). Messages of
        /// other buses are passed over.
        bus: u16 = 0 => read::integer(0..=2047u16), not "bus_id" "can_bus_id";
        /// The version of the messages that leave: 1 is IEEE 1722-2016, 2 is IEEE 1722-2025, with
        /// CAN XL. Both are read.
        version: MessageVersion = MessageVersion::V1 => read::by(versions, version), value "1, 2",
            default "1", not "headers" "acf_version";
        /// The messages have no time stamps, which saves 8 bytes of each.
        brief: bool = false => read::boolean(), not "short";
        /// The time for which a frame waits for others that share its datagram. Frames that leave
        /// together share a datagram anyway.
        pack: Nanos = 0 => read::duration(), value "duration, up to `\"100ms\"`",
            default "none", not "timeout" "window";
        /// Identifiers, in hex, of frames that never wait for others: each leaves at once, in a
        /// datagram of its own, before those that wait: `"123"`, `"100-1FF"`, `"18FEF100"` (8
        /// digits: 29 bits).
        urgent: Vec<IdRange> = Vec::new() => id_ranges(), value "list", default "none",
            not "express" "priority_ids" "high_priority";
        /// The mark (DSCP) of datagrams with `urgent` frames, to which networks may give
        /// precedence; others have 0. 46 is EF (RFC 3246).
        dscp: u8 = EXPEDITED => read::integer(0..=63u8), not "tos" "qos" "traffic_class";
        /// Frames that come in are handed on this time after their time stamps, so that they have
        /// the gaps again with which they were sent; with `"presentation"`, at the presentation
        /// times that the other side sets (TSCF, `max_transit`): see [Between two
        /// gateways](#between-two-gateways).
        delay: Option<PlayOutDelay> = None => PlayOutDelay::key(),
            value "duration, up to `\"10s\"`, or `\"presentation\"`",
            default "none", not "play_out" "playout" "jitter_buffer" "presentation_time" "latency";
        /// Datagrams that leave are TSCF, with a presentation time: this time after the stamp of
        /// their first frame (IEEE 1722: maximum transit time; 2 ms for class A, 50 ms for class
        /// B). Otherwise, they are NTSCF, without one.
        max_transit: Option<Nanos> = None => read::duration(), value "duration, up to `\"500ms\"`",
            default "none: NTSCF", not "max_transit_time" "transit" "transit_time"
            "presentation_offset";
        /// The time scale of presentation times: that of gPTP, which is Unix time and the offset
        /// of TAI that the kernel knows, or Unix time. Both sides have the same.
        timescale: TimeScale = TimeScale::Tai => read::words(&SCALES), default "`\"tai\"`",
            not "time_scale" "time_base" "epoch";
        /// A frame that is older than this when it comes in is dropped and counted as *expired on
        /// the network*; with `delay`, this long after its time.
        max_age: Option<Nanos> = None => read::duration(), value "duration",
            default "none", not "ttl" "lifetime" "expiry";
        /// With `delay`: what happens to a frame that comes in after its time. It is handed on at
        /// once, or it is dropped and counted as *expired on the network*.
        late: LateRule = LateRule::Send => read::words(&LATE), default "`\"send\"`",
            not "late_policy" "if_late";
        /// The clock of the time stamps: the other side's own, or one that both machines follow
        /// (PTP, NTP). With the other side's own, the fastest frames define the difference.
        clock: bool = false => read::words(&CLOCKS), default "`\"own\"`", not "time" "clock_source";
        /// With `delay`: number of frames that wait for their time. A full queue refuses new ones,
        /// and counts them as *no room*.
        queue: u32 = 4096 => crate::queue(), not "queue_length" "buffer";
        /// The other side is a gateway with this key, too: the time between two reports, which
        /// have the sums of frames sent and taken, and the clock.
        reports: Option<Nanos> = None => read::duration(), value "duration, `\"100ms\"` to `\"60s\"`",
            default "none", not "report" "echo" "keepalive" "heartbeat";
        /// What happens to a frame that had passed this gateway before and comes back, by the trail
        /// that ports with `reports` write: it is dropped and counted as *came back*, or it is
        /// handed on, until it has passed 16 gateways.
        returned: bool = false => read::words(&RETURNED), default "`\"drop\"`",
            not "loops" "loop_protection" "own_frames";
    }
}

/// The settings of a stream by IEEE 1722.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct AvtpSettings {
    addresses: TunnelAddresses,
    pub(super) ethernet: Option<EthernetEnds>,
    pub(super) stream: u64,
    pub(super) bus: u16,
    version: MessageVersion,
    pub(super) brief: bool,
    pub(super) pack: Nanos,
    pub(super) urgent: Vec<IdRange>,
    dscp: u8,
    pub(super) play_out: PlayOutKeys,
    pub(super) presentation: PresentationKeys,
    pub(super) reports: Option<Nanos>,
    passes_returned: bool,
}

impl AvtpSettings {
    pub(super) fn parse(table: &mut TomlTable<'_>, found: &mut Diagnostics) -> Self {
        let keys = AvtpKeys::read(table, found);
        if keys.bus > keys.version.last_bus() {
            let hint = "add `version = 2`, if the other side has it, or use 0 to 31";
            table.wrong("bus", "version 1 has 32 buses", hint, found);
        }
        check_ends(table, found);
        check_tunnel(table, keys.pack, found);
        check_mark(table, &keys.urgent, found);
        check_own(table, Some(keys.listen), keys.connect.as_ref(), found);
        let play_out = PlayOutKeys {
            delay: keys.delay,
            max_age: keys.max_age,
            late: keys.late,
            common_clock: keys.clock,
            queue: keys.queue,
        };
        play_out.check(table, keys.brief, found);
        let presentation = PresentationKeys {
            max_transit: keys.max_transit,
            scale: keys.timescale,
            reads: keys.delay == Some(PlayOutDelay::Presentation),
        };
        presentation.check(table, keys.pack, keys.brief, found);
        if keys.reports.is_some_and(|every| !REPORTS.contains(&every)) {
            let hint = "write \"1s\": reports show sums, and need no short time";
            table.wrong("reports", "`reports` is from 100 ms to 60 s", hint, found);
        }
        Self {
            addresses: TunnelAddresses {
                listen: Some(keys.listen),
                connect: keys.connect,
                allow: keys.allow,
            },
            ethernet: keys.interface.map(|interface| EthernetEnds {
                interface,
                peer: keys.peer,
                priority: keys.vlan_priority,
            }),
            stream: keys.stream,
            bus: keys.bus,
            version: keys.version,
            brief: keys.brief,
            pack: keys.pack,
            urgent: keys.urgent,
            dscp: keys.dscp,
            play_out,
            presentation,
            reports: keys.reports,
            passes_returned: keys.returned,
        }
    }
}

impl AvtpSettings {
    /// Returns the address of the other side, if it is a number.
    pub(super) fn peer_number(&self) -> Option<SocketAddr> {
        let connect = self.addresses.connect.as_ref();
        connect.and_then(PeerAddress::number)
    }
}

impl PortSettings for AvtpSettings {
    fn kind(&self) -> &'static str {
        KEYWORD
    }

    fn passes(&self, kind: Kind) -> FramePassage {
        match (kind, self.version) {
            (Kind::Xl, MessageVersion::V2) => FramePassage::Open,
            _ => FramePassage::by_data_phase(kind, true),
        }
    }

    fn peer_limits(&self) -> PeerLimits {
        PeerLimits {
            // The presentation time depends on the stamps of frames.
            stamps: !self.brief || self.presentation.max_transit.is_some(),
            ..PeerLimits::default()
        }
    }

    fn network_link(&self) -> Option<NetworkLink> {
        if self.ethernet.is_some() {
            return None;
        }
        let protocol = format!("IEEE 1722 {:016X} {}", self.stream, self.bus);
        Some(self.addresses.link(protocol, false))
    }

    fn plays_out(&self) -> bool {
        self.play_out.delay.is_some() || self.presentation.max_transit.is_some()
    }

    fn tunnel_end(&self) -> Option<&dyn TunnelEnd> {
        Some(self)
    }

    fn exclusive(&self) -> Option<ExclusiveResource> {
        let place = match (&self.ethernet, self.addresses.listen) {
            (Some(ends), _) => format!("Ethernet interface {}", ends.interface),
            (None, listen) => format!("UDP address {}", listen?),
        };
        let hint = "each port of the same address has a `stream` or a `bus` of its own; the bit 8000 of the stream's ID is for reports";
        let resource = ExclusiveResource::new(place, hint);
        let stream = self.stream & !REPORT_BIT;
        let resource = resource.only(format!("bus {} of stream {stream:016X}", self.bus));
        // A stream and the one of its reports cannot be two streams, whatever their buses are.
        let kind = match self.stream == stream {
            true => "frames",
            false => "reports",
        };
        Some(resource.within(format!("stream {stream:016X} and its reports"), kind))
    }

    fn describe(&self) -> String {
        let version = match self.version {
            MessageVersion::V1 => "",
            MessageVersion::V2 => ", version 2",
        };
        let brief = if self.brief { ", without stamps" } else { "" };
        let reports = self.reports.map_or_else(String::new, |every| {
            format!("; reports each {:?}", Duration::from_nanos(every))
        });
        let returned = match self.passes_returned {
            true => "; frames that come back are handed on",
            false => "",
        };
        let urgent = urgent_words(&self.urgent);
        format!(
            "IEEE 1722 stream {:016X}, bus {}{version}{brief}, {}{urgent}{}{}{reports}{returned}{}",
            self.stream,
            self.bus,
            match &self.ethernet {
                None => self.addresses.words(self.pack),
                Some(ends) => ends.words(self.pack),
            },
            self.presentation.words(),
            self.play_out.words(self.presentation.scale_words()),
            allow_words(self.addresses.allow.as_deref())
        )
    }

    fn open(&self, port: &str, opener: &mut PortOpener) -> Result<Halves, PortError> {
        let mut reader = AcfReader::new(self.stream, Some(self.bus));
        let ethernet = match &self.ethernet {
            None => None,
            Some(ends) => {
                let fail = |(what, error): (String, std::io::Error)| PortError {
                    port: port.to_owned(),
                    what,
                    source: Some(error.into()),
                };
                reader = reader.on_ethernet();
                Some(EthernetReceiver::open(ends.clone()).map_err(fail)?)
            }
        };
        let place = ethernet
            .as_ref()
            .map(EthernetReceiver::peer)
            .or(self.addresses.listen);
        let peer = self.addresses.connect.as_ref().map(ToString::to_string);
        let run = place.map(|address| {
            let end = StreamKey {
                address,
                peer: peer.unwrap_or_default(),
                stream: self.stream,
            };
            StreamRun::of(opener, end)
        });
        let run = run.unwrap_or_default();
        let mut writer = AcfWriter::new(self.stream, self.version, self.bus, self.brief)
            .numbered_by(run.numbers());
        if self.reports.is_some() {
            writer = writer.with_trails();
        }
        if self.presentation.max_transit.is_some() {
            writer = writer.with_presentation();
        }
        let (reader, writer) = (Box::new(reader), Box::new(writer));
        let rules = TunnelRules {
            stream: Some(StreamBus {
                stream: self.stream,
                bus: self.bus,
            }),
            run,
            packing: PackRules {
                pack: self.pack,
                urgent: self.urgent.clone(),
                dscp: self.dscp,
            },
            play_out: self.play_out.rules(opener.epoch()),
            presentation: self.presentation.rules(self.brief),
            reports: self.reports.map(|every| ReportRules {
                stream: self.stream,
                every,
            }),
            loops: LoopRules {
                writes_trails: self.reports.is_some(),
                passes_returned: self.passes_returned,
            },
        };
        let Some(receiver) = ethernet else {
            return self.addresses.open(port, opener, reader, writer, rules);
        };
        let to = receiver.peer();
        let is_one = self
            .ethernet
            .as_ref()
            .is_some_and(|ends| !ends.peer.is_group());
        let ethernet = DatagramPort {
            to,
            reader,
            writer,
            rules: ArrivalRules {
                allow: is_one.then(|| vec![AddressRange::one(to.ip())]),
                local_only: false,
                own: None,
            },
            packing: rules.packing,
            play_out: rules.play_out,
            presentation: rules.presentation,
            reports: rules.reports,
            loops: rules.loops,
            run: rules.run,
        };
        Ok(ethernet.on_ethernet(port, opener, receiver))
    }
}
