//! The bit timing of one phase as its driver reports it, and whether it is that of a wish.
//!
//! The kernel does not set a sample point and a synchronisation jump width to any value: it takes
//! the nearest ones that the controller's clock and the sizes of its fields allow
//! (`can_calc_bittiming` of `drivers/net/can/dev/calc_bittiming.c`). A wish that it has rounded is
//! in force all the same.

use crate::netlink::{inner, number};

/// Offset of `sjw` in `struct can_bittiming`.
pub(super) const SJW: usize = 24;

/// The fields of a controller for the segments of a bit: `struct can_bittiming_const`, in time
/// quanta.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct SegmentLimits {
    tseg1_max: u32,
    tseg2_min: u32,
    tseg2_max: u32,
    sjw_max: u32,
}

/// The timing of a bit in one phase; fields are 0 where the driver does not report them.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) struct BitTiming {
    /// The sample point, thousandths of a bit.
    pub(super) sample_point: u32,
    /// The propagation segment with phase segment 1, in time quanta.
    tseg1: u32,
    /// Phase segment 2, in time quanta.
    tseg2: u32,
    /// The synchronisation jump width, in time quanta.
    pub(super) sjw: u32,
    limits: Option<SegmentLimits>,
}

impl BitTiming {
    /// Reads the attributes of these kinds in `IFLA_INFO_DATA`: `struct can_bittiming`, and `struct
    /// can_bittiming_const`, which drivers with fixed bit rates do not have.
    pub(super) fn read(data: &[u8], (timing, limits): (u16, u16)) -> Self {
        let words = |kind, from: usize| {
            let bytes = inner(data, kind)?.get(from..)?;
            Some(move |index: usize| number(bytes.get(index * size_of::<u32>()..)?))
        };
        // `name` of struct can_bittiming_const has 16 bytes.
        let limits = words(limits, 16).and_then(|word| {
            Some(SegmentLimits {
                tseg1_max: word(1)?,
                tseg2_min: word(2)?,
                tseg2_max: word(3)?,
                sjw_max: word(4)?,
            })
        });
        let Some(word) = words(timing, 0) else {
            return Self {
                limits,
                ..Self::default()
            };
        };
        let word = |index| word(index).unwrap_or(0);
        Self {
            sample_point: word(1),
            tseg1: word(3).saturating_add(word(4)),
            tseg2: word(5),
            sjw: word(SJW / size_of::<u32>()),
            limits,
        }
    }

    /// Returns whether a synchronisation jump width is in force. Kernels before 6.3 silently
    /// shorten it to phase segment 2 and to the controller's field; later ones refuse it instead.
    pub(super) fn has_sjw(&self, wanted: u32) -> bool {
        let longest = match self.limits {
            // A controller without a field for it has 1.
            Some(limits) if self.tseg2 > 0 => limits.sjw_max.max(1).min(self.tseg2),
            _ => u32::MAX,
        };
        self.sjw == 0 || self.sjw == wanted.min(longest)
    }

    /// Returns whether a sample point (thousandths of a bit) is in force: no time quantum more or
    /// less would be nearer to it, or the controller's fields do not allow one.
    pub(super) fn has_sample_point(&self, wanted: u32) -> bool {
        if self.sample_point == 0 || self.sample_point == wanted {
            return true;
        }
        let quanta = u64::from(self.tseg1) + u64::from(self.tseg2) + 1;
        let off = u64::from(self.sample_point.abs_diff(wanted));
        let is_near = off.saturating_mul(quanta) < 1000;
        let is_at_end = self.limits.is_some_and(|limits| {
            if wanted > self.sample_point {
                self.tseg2 <= limits.tseg2_min || self.tseg1 >= limits.tseg1_max
            } else {
                self.tseg2 >= limits.tseg2_max
            }
        });
        // A driver with fixed bit rates reports no segments, and the sample point as it was set.
        let is_known = self.tseg1 > 0 && self.tseg2 > 0;
        is_known && (is_near || is_at_end)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::netlink::attribute;
    use proptest::prelude::*;

    /// SJA1000: `sja1000_bittiming_const` of drivers/net/can/sja1000/sja1000.c.
    const SJA1000: [u32; 8] = [1, 16, 1, 8, 4, 1, 64, 1];

    /// Returns the data of a driver: sample point, `prop_seg`, `phase_seg1`, `phase_seg2`, `sjw`.
    fn data([point, prop, first, second, sjw]: [u32; 5], limits: Option<[u32; 8]>) -> Vec<u8> {
        let timing = [500_000, point, 125, prop, first, second, sjw, 1];
        let mut data = Vec::new();
        attribute(&mut data, 1, &timing.map(u32::to_ne_bytes).concat());
        if let Some(limits) = limits {
            let mut bytes = b"sja1000\0\0\0\0\0\0\0\0\0".to_vec();
            bytes.extend(limits.map(u32::to_ne_bytes).concat());
            attribute(&mut data, 2, &bytes);
        }
        data
    }

    fn timing(fields: [u32; 5]) -> BitTiming {
        BitTiming::read(&data(fields, Some(SJA1000)), (1, 2))
    }

    /// The report of Linux 6.1 for an SJA1000 (8 MHz) at 500 kbit/s: 16 quanta, 87.5 %.
    #[test]
    fn a_jump_width_that_the_kernel_has_shortened_is_in_force() {
        let shortened = timing([875, 6, 7, 2, 2]);
        assert!(shortened.has_sjw(2) && shortened.has_sjw(3) && shortened.has_sjw(4));
        assert!(!shortened.has_sjw(1), "nothing lengthens it");
        let other = timing([875, 6, 7, 2, 1]);
        assert!(!other.has_sjw(2) && !other.has_sjw(4), "it could be 2");
        // The controller's field has room for 4.
        let long = timing([500, 3, 4, 8, 4]);
        assert!(long.has_sjw(8) && long.has_sjw(4) && !long.has_sjw(3));
        // Without limits and segments, there is nothing that could have shortened it.
        let fixed = BitTiming::read(&data([875, 0, 0, 0, 2], None), (1, 2));
        assert!(fixed.has_sjw(2) && !fixed.has_sjw(4));
        assert!(BitTiming::default().has_sjw(4), "it is not reported");
    }

    #[test]
    fn a_sample_point_is_in_force_within_a_quantum() {
        let now = timing([875, 6, 7, 2, 1]);
        for wanted in [875, 880, 900, 937, 813] {
            assert!(now.has_sample_point(wanted), "{wanted}");
        }
        for wanted in [800, 812, 750, 938, 999] {
            assert!(!now.has_sample_point(wanted), "{wanted}");
        }
        // Phase segment 2 cannot be shorter than 1, nor longer than 8.
        let last = timing([937, 7, 7, 1, 1]);
        assert!(last.has_sample_point(999) && !last.has_sample_point(800));
        let first = timing([500, 3, 4, 8, 1]);
        assert!(first.has_sample_point(100) && !first.has_sample_point(700));
        let fixed = BitTiming::read(&data([800, 0, 0, 0, 1], None), (1, 2));
        assert!(fixed.has_sample_point(800) && !fixed.has_sample_point(801));
        assert!(BitTiming::default().has_sample_point(800));
    }

    proptest! {
        #[test]
        fn any_bytes_are_read_without_panic(
            timing in prop::collection::vec(any::<u8>(), 0..40),
            limits in prop::collection::vec(any::<u8>(), 0..60),
            wanted in any::<u32>(),
        ) {
            let mut data = Vec::new();
            attribute(&mut data, 1, &timing);
            attribute(&mut data, 2, &limits);
            let read = BitTiming::read(&data, (1, 2));
            let _ = (read.has_sjw(wanted), read.has_sample_point(wanted));
        }
    }
}
