//! The trails of frames on their way through this gateway: a frame carries a token, which finds its
//! trail again when the frame leaves by another tunnel.

use super::identity::own_number;
use crate::Token;
use net::FrameTrail;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Number of trails that are known at a time. A gateway sees one for each way that leads to it.
const PLACES: usize = 1024;

/// The low bits of a token: the number of stations, how often the place was taken, the place.
const TOKEN_BITS: u32 = 40;
const TOKEN_MASK: u64 = (1 << TOKEN_BITS) - 1;
const LEN_SHIFT: u32 = 32;
const TURN_SHIFT: u32 = PLACES.trailing_zeros();
const TURN_MASK: u64 = (1 << (LEN_SHIFT - TURN_SHIFT)) - 1;

/// The low bits of a station: the number of a port of its gateway.
const PORT_BITS: u32 = 16;
const PORT_MASK: u64 = (1 << PORT_BITS) - 1;

#[derive(Clone, Default)]
struct KnownTrail {
    turn: u64,
    stations: Vec<u8>,
}

/// The trails of one gateway.
#[derive(Clone)]
pub(super) struct FrameTrails {
    /// The number of this gateway; its low bits are 0, which are those of ports.
    gateway: u64,
    /// The high bits of tokens of trails. Other ports have tokens of other meanings.
    high: u64,
    known: Arc<Mutex<Vec<KnownTrail>>>,
}

impl Default for FrameTrails {
    fn default() -> Self {
        Self {
            // 0 is a station that is not known, and a token of no trail.
            gateway: own_number().max(1 << PORT_BITS) & !PORT_MASK,
            high: own_number().max(1 << TOKEN_BITS) & !TOKEN_MASK,
            // Here, so that the first frame does not wait for it.
            known: Arc::new(Mutex::new(vec![KnownTrail::default(); PLACES])),
        }
    }
}

impl FrameTrails {
    fn known(&self) -> MutexGuard<'_, Vec<KnownTrail>> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the station of a port of this gateway.
    pub(super) const fn station(&self, port: usize) -> u64 {
        self.gateway | port as u64 & PORT_MASK
    }

    /// Returns whether a frame that came by a port had passed this gateway before. Two ports of a
    /// gateway may be each other's other side: then it comes directly from the other one, once.
    pub(super) fn is_back(&self, trail: FrameTrail<'_>, port: usize) -> bool {
        let own = |station: &u64| station & !PORT_MASK == self.gateway;
        let times = trail.stations().filter(own).count();
        let last = trail.stations().next_back();
        let is_from_other_port = last.is_some_and(|last| own(&last) && last != self.station(port));
        times > usize::from(is_from_other_port)
    }

    /// Returns whether a frame came directly from a port of this gateway.
    pub(super) fn is_from_here(&self, trail: FrameTrail<'_>) -> bool {
        let last = trail.stations().next_back();
        last.is_some_and(|station| station & !PORT_MASK == self.gateway)
    }

    /// Keeps a trail; returns the token of its frames.
    pub(super) fn keep(&self, trail: FrameTrail<'_>) -> Token {
        if trail.is_empty() {
            return 0;
        }
        let place = (place_hash(trail.bytes()) % PLACES as u64) as usize;
        let mut known = self.known();
        let entry = &mut known[place];
        if entry.stations != trail.bytes() {
            entry.turn = entry.turn.wrapping_add(1) & TURN_MASK;
            entry.stations.clear();
            entry.stations.extend_from_slice(trail.bytes());
        }
        let len = (trail.len() as u64) << LEN_SHIFT;
        self.high | len | entry.turn << TURN_SHIFT | place as u64
    }

    /// Returns the token if it is that of a trail; 0 for all others.
    pub(super) const fn key(&self, token: Token) -> Token {
        if token >> TOKEN_BITS == self.high >> TOKEN_BITS {
            token
        } else {
            0
        }
    }

    /// Writes the trail of a token, and a port of this gateway behind it. A trail that is forgotten
    /// keeps its length, with stations that are not known: its frames still come to the limit.
    pub(super) fn write(&self, token: Token, port: usize, out: &mut Vec<u8>) {
        out.clear();
        let token = self.key(token) & TOKEN_MASK;
        let (len, turn) = (token >> LEN_SHIFT, token >> TURN_SHIFT & TURN_MASK);
        if len > 0 {
            let known = self.known();
            let entry = known.get(token as usize % PLACES);
            match entry.filter(|entry| entry.turn == turn) {
                Some(entry) => out.extend_from_slice(&entry.stations),
                None => out.resize(len as usize * 8, 0),
            }
        }
        out.extend(self.station(port).to_be_bytes());
    }
}

/// FNV-1a (Fowler, Noll, Vo). The places are no secret: a peer that fills them on purpose makes
/// trails forget their stations and not their lengths.
pub(super) fn place_hash(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xCBF2_9CE4_8422_2325, |hash, byte| {
        (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01B3)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stations(numbers: &[u64]) -> Vec<u8> {
        numbers.iter().flat_map(|n| n.to_be_bytes()).collect()
    }

    #[test]
    fn a_trail_is_found_again_and_grows_by_this_gateway() {
        let trails = FrameTrails::default();
        let bytes = stations(&[7, 8]);
        let trail = FrameTrail::from_bytes(&bytes).unwrap();
        let token = trails.keep(trail);
        assert_eq!(token, trails.keep(trail));
        assert_eq!(trails.key(token), token);
        let mut out = Vec::new();
        trails.write(token, 3, &mut out);
        assert_eq!(out, stations(&[7, 8, trails.station(3)]));
        // Frames of buses and logs, whose tokens have other meanings.
        for other in [0, 1, 4711, u64::from(u32::MAX) << 8] {
            assert_eq!(trails.key(other), 0);
            trails.write(other, 3, &mut out);
            assert_eq!(out, stations(&[trails.station(3)]));
        }
    }

    /// A frame is back if this gateway is in its trail, unless another port of it has just sent it.
    #[test]
    fn frames_that_are_back() {
        let trails = FrameTrails::default();
        let [own, other] = [3, 4].map(|port| trails.station(port));
        for (trail, is_back) in [
            (&[][..], false),
            (&[7, 8], false),
            (&[own, 8], true),
            (&[other, 8], true),
            (&[7, own], true),
            (&[7, other], false),
            (&[other], false),
            (&[own], true),
            (&[other, other], true),
            (&[own, other], true),
            (&[other, 8, other], true),
        ] {
            let bytes = stations(trail);
            let trail = FrameTrail::from_bytes(&bytes).unwrap();
            assert_eq!(trails.is_back(trail, 3), is_back, "{trail:?}");
        }
    }

    /// A hostile peer that fills all places cannot make a trail shorter.
    #[test]
    fn a_forgotten_trail_keeps_its_length() {
        let trails = FrameTrails::default();
        let bytes = stations(&[7, 8, 9]);
        let token = trails.keep(FrameTrail::from_bytes(&bytes).unwrap());
        let mut others = Vec::new();
        let last = 20 * PLACES as u64;
        for number in 1..=last {
            let bytes = stations(&[number]);
            others.push(trails.keep(FrameTrail::from_bytes(&bytes).unwrap()));
        }
        let mut out = Vec::new();
        trails.write(token, 0, &mut out);
        assert_eq!(out, stations(&[0, 0, 0, trails.station(0)]));
        // The last one is still known.
        trails.write(*others.last().unwrap(), 0, &mut out);
        assert_eq!(out, stations(&[last, trails.station(0)]));
    }
}
