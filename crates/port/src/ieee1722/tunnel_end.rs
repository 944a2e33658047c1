//! A stream by IEEE 1722 as an end of a tunnel.

use super::settings::AvtpSettings;
use crate::network::ids::is_urgent;
use crate::tunnel_end::{header_bytes, udp_bytes};
use crate::{PlayOutTimes, TunnelEnd};
use frame::{CanId, Header, Kind, Nanos, dlc};
use net::ieee1722::{
    ENCAPSULATION, HEADERS, MAX_DATAGRAM, OWN_TRAIL, REPORT_LENGTH, TIMED_HEADERS, frame_size,
};

impl TunnelEnd for AvtpSettings {
    fn protocol(&self) -> String {
        format!("IEEE 1722 stream {:016X}, bus {}", self.stream, self.bus)
    }

    fn pack(&self) -> Nanos {
        self.pack
    }

    fn is_urgent(&self, id: CanId) -> bool {
        is_urgent(&self.urgent, id)
    }

    fn header_bytes(&self) -> u64 {
        let below = match &self.ethernet {
            // A tag of IEEE 802.1Q, and no number of the UDP encapsulation.
            Some(ends) => u64::from(ends.priority.is_some()) * 4,
            None => udp_bytes(self.peer_number()) + ENCAPSULATION as u64,
        };
        let own = (self.headers() - ENCAPSULATION) as u64;
        header_bytes(
            below + own + self.trail_bytes(),
            frame_size(Kind::Classic, 0, self.brief) as u64,
        )
    }

    fn room_bytes(&self) -> u64 {
        (MAX_DATAGRAM - self.headers()) as u64 - self.trail_bytes()
    }

    fn frame_bytes(&self, header: &Header) -> u64 {
        let len = match header.kind() {
            Kind::Fd => dlc::fd_padded(header.len()),
            _ => header.len(),
        };
        frame_size(header.kind(), len, self.brief) as u64
    }

    fn reports(&self) -> Option<(Nanos, u64)> {
        Some((self.reports?, (REPORT_LENGTH - HEADERS) as u64))
    }

    fn max_transit(&self) -> Option<Nanos> {
        self.presentation.max_transit
    }

    fn play_out(&self) -> Option<PlayOutTimes> {
        let keys = &self.play_out;
        let presentation = keys.is_presentation();
        // The frames of a brief stream have no stamps.
        if !presentation && (self.brief || keys.delay.is_none() && keys.max_age.is_none()) {
            return None;
        }
        Some(PlayOutTimes {
            delay: keys.fixed(),
            presentation,
            max_age: keys.max_age,
            drops_late: keys.late == net::LateRule::Expire,
            common_clock: keys.common_clock || presentation,
            queue: keys.queue,
        })
    }
}

impl AvtpSettings {
    /// Returns the bytes of a datagram's headers over UDP.
    const fn headers(&self) -> usize {
        match self.presentation.max_transit {
            Some(_) => TIMED_HEADERS,
            None => HEADERS,
        }
    }

    /// Returns the bytes of the trail of frames that were on no tunnel before.
    const fn trail_bytes(&self) -> u64 {
        match self.reports {
            Some(_) => OWN_TRAIL as u64,
            None => 0,
        }
    }
}

#[cfg(test)]
mod tests {
    use config::{Diagnostics, SourceText, TomlDocument};
    use frame::{CanId, Frame};
    use net::DatagramWriter;
    use net::ieee1722::{AcfWriter, DEFAULT_STREAM, MessageVersion};

    /// The bytes of frames and headers are those that are written.
    #[test]
    fn datagrams_have_the_bytes_that_bounds_count() {
        for (brief, timed) in [(false, false), (true, false), (false, true), (true, true)] {
            let timed_key = if timed { "max_transit = \"2ms\"" } else { "" };
            let text = format!("connect = \"192.0.2.1:17220\"\nbrief = {brief}\n{timed_key}");
            let source = SourceText::new("port", &text);
            let mut found = Diagnostics::new();
            let document = TomlDocument::parse(&source, &mut found);
            let mut table = document.root();
            let settings = super::AvtpSettings::parse(&mut table, &mut found);
            assert!(!found.has_errors());
            let end: &dyn crate::TunnelEnd = &settings;
            let mut writer = AcfWriter::new(DEFAULT_STREAM, MessageVersion::V1, 0, brief);
            if timed {
                writer = writer.with_presentation();
            }
            let id = CanId::sff(0x123).unwrap();
            for frames in [
                vec![Frame::classic(id, &[1; 3]).unwrap()],
                vec![
                    Frame::classic(id, &[]).unwrap(),
                    Frame::fd(id, 0, &[2; 48]).unwrap(),
                ],
            ] {
                let mut out = Vec::new();
                for frame in &frames {
                    writer.push(&frame.view(), 0, &mut out).unwrap();
                }
                let counted = frames.iter().map(|f| end.frame_bytes(&f.header()));
                // Ethernet, IPv4 and UDP.
                let headers = 38 + 28;
                let all = end.header_bytes() + counted.sum::<u64>();
                assert_eq!(all, headers + out.len() as u64);
            }
        }
    }
}
