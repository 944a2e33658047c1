//! The gateways that a frame has passed.

/// Length of a station's number, bytes.
const STATION: usize = 8;

/// The gateways ("stations") that a frame has passed, the first one first; empty if that is not
/// known. A frame that comes back to a station of its trail goes round in a loop.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct FrameTrail<'d>(&'d [u8]);

impl<'d> FrameTrail<'d> {
    /// Maximum number of stations: the last limit of loops through gateways that are not in the
    /// trail.
    pub const MAX_STATIONS: usize = 16;

    /// Returns the trail of these numbers of stations, 8 bytes each, big endian; `None` if there
    /// are too many, or a part of one.
    #[must_use]
    pub const fn from_bytes(bytes: &'d [u8]) -> Option<Self> {
        let stations = bytes.len() / STATION;
        if bytes.len().is_multiple_of(STATION) && stations <= Self::MAX_STATIONS {
            Some(Self(bytes))
        } else {
            None
        }
    }

    /// Returns the bytes of the stations.
    #[must_use]
    pub const fn bytes(self) -> &'d [u8] {
        self.0
    }

    /// Returns the number of stations.
    #[must_use]
    pub const fn len(self) -> usize {
        self.0.len() / STATION
    }

    /// Returns whether nothing is known.
    #[must_use]
    pub const fn is_empty(self) -> bool {
        self.0.is_empty()
    }

    /// Returns the numbers of the stations.
    pub fn stations(self) -> impl DoubleEndedIterator<Item = u64> + 'd {
        let all = self.0.chunks_exact(STATION);
        all.map(|station| {
            station
                .iter()
                .fold(0, |all, byte| all << 8 | u64::from(*byte))
        })
    }
}
