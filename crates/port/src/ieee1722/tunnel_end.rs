//! A stream by IEEE 1722 as an end of a tunnel.

use super::settings::AvtpSettings;
use crate::network::ids::is_urgent;
use crate::tunnel_end::{header_bytes, udp_bytes};
use crate::{PlayOutTimes, TunnelEnd};
use frame::{CanId, Header, Kind, Nanos, dlc};
use net::ieee1722::{ENCAPSULATION, HEADERS, MAX_DATAGRAM, OWN_TRAIL, REPORT_LENGTH, frame_size};

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
        let own = (HEADERS - ENCAPSULATION) as u64;
        header_bytes(
            below + own + self.trail_bytes(),
            frame_size(Kind::Classic, 0, self.brief) as u64,
        )
    }

    fn room_bytes(&self) -> u64 {
        (MAX_DATAGRAM - HEADERS) as u64 - self.trail_bytes()
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

    fn play_out(&self) -> Option<PlayOutTimes> {
        let keys = &self.play_out;
        // The frames of a brief stream have no stamps.
        if self.brief || keys.delay.is_none() && keys.max_age.is_none() {
            return None;
        }
        Some(PlayOutTimes {
            delay: keys.delay,
            max_age: keys.max_age,
            drops_late: keys.late == net::LateRule::Expire,
            common_clock: keys.common_clock,
            queue: keys.queue,
        })
    }
}

impl AvtpSettings {
    /// Returns the bytes of the trail of frames that were on no tunnel before.
    const fn trail_bytes(&self) -> u64 {
        match self.reports {
            Some(_) => OWN_TRAIL as u64,
            None => 0,
        }
    }
}
