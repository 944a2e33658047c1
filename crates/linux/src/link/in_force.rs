//! Whether an interface has the settings that it should have.

use super::interface::NetLink;
use super::setup::{LinkSetup, words};
use super::timing::BitTiming;
use frame::wire::BitRate;

/// The deviation of a sample point from the wish from which on a note states it, thousandths of a
/// bit: less is the rounding of a wish such as 0.867 for 13 of 15 quanta.
const NOTED: u32 = 5;

/// Compares two bit rates. The kernel reports the bit rate that a controller's clock can produce,
/// which may differ a little from the requested one. No two bit rates of buses are less than 1 %
/// apart.
fn is_same(a: BitRate, b: BitRate) -> bool {
    let near = |a: u32, b: u32| u64::from(a.abs_diff(b)) * 100 < u64::from(b);
    near(a.nominal(), b.nominal())
        && match (a.data(), b.data()) {
            (Some(a), Some(b)) => near(a, b),
            (a, b) => a.is_none() && b.is_none(),
        }
}

/// Returns a sample point (thousandths of a bit) in the words of `ip link`.
fn point(word: &str, thousandths: u32) -> String {
    format!("{word} {:.3}", f64::from(thousandths) / 1000.0)
}

impl LinkSetup {
    /// Returns whether the interface has these bit rates, as far as its driver reports any.
    pub(super) fn has_rate(&self, link: &NetLink) -> bool {
        link.bit_rate.is_some_and(|now| is_same(now, self.rate))
    }

    /// Returns whether the interface has these settings, up or down; true where its driver reports
    /// no bit rates.
    #[must_use]
    pub fn is_in_force(&self, link: &NetLink) -> bool {
        let is_equal = self.difference(link).is_none();
        link.bit_rate.is_none_or(|now| is_same(now, self.rate)) && is_equal
    }

    /// Returns the first setting that an interface has otherwise, in the words of `ip link`: as it
    /// is, and as it is wanted. What the kernel has rounded is no difference.
    pub(super) fn difference(&self, link: &NetLink) -> Option<(String, String)> {
        let settings = self.settings.difference(&link.settings, link.queue);
        settings.or_else(|| {
            let mut points = self.sample_points(link).into_iter();
            points.find_map(|(word, wanted, now)| {
                let is_other = wanted > 0 && !now.has_sample_point(wanted);
                is_other.then(|| (point(word, now.sample_point), point(word, wanted)))
            })
        })
    }

    /// Returns the sample points of both phases: `ip link`'s word, the wish (0: none), the timing.
    fn sample_points(&self, link: &NetLink) -> [(&'static str, u32, BitTiming); 2] {
        let [nominal, data] = link.settings.timing;
        [
            ("sample-point", self.sample_point, nominal),
            ("dsample-point", self.data_sample_point, data),
        ]
    }

    /// Returns a sentence about settings that the kernel has rounded.
    pub(super) fn rounded(&self, link: &NetLink) -> Option<String> {
        let [nominal, data] = link.settings.timing;
        let widths = [
            ("sjw", self.settings.sjw, nominal.sjw),
            ("dsjw", self.settings.data_sjw, data.sjw),
        ];
        let widths = widths.into_iter().filter_map(|(word, wanted, now)| {
            let wanted = wanted.filter(|wanted| now > 0 && *wanted != now)?;
            Some(format!("{word} {now} in place of {wanted}"))
        });
        let points = self.sample_points(link).into_iter();
        let points = points.filter_map(|(word, wanted, now)| {
            let off = now.sample_point.abs_diff(wanted);
            let is_rounded = wanted > 0 && now.sample_point > 0 && off >= NOTED;
            let wanted = f64::from(wanted) / 1000.0;
            is_rounded.then(|| format!("{} in place of {wanted:.3}", point(word, now.sample_point)))
        });
        let rounded: Vec<String> = widths.chain(points).collect();
        (!rounded.is_empty()).then(|| {
            format!(
                "{} has {}: the nearest that its controller's clock and fields allow",
                link.name,
                rounded.join(", ")
            )
        })
    }

    /// Returns a sentence with the present bit rates if the interface runs at other ones than
    /// these, or with another setting that differs. An interface that is down does not run.
    #[must_use]
    pub fn differs(&self, link: &NetLink) -> Option<String> {
        let now = link
            .bit_rate
            .filter(|_| link.up && !self.is_in_force(link))?;
        let name = &link.name;
        let difference = if is_same(now, self.rate) {
            let (now, wanted) = self.difference(link)?;
            format!("{name} runs with {now}, and its port is set to {wanted}")
        } else {
            let (now, wanted) = (words(now), words(self.rate));
            format!("{name} runs at {now}, and its port is set to {wanted}")
        };
        Some(format!("{difference}: another program has changed it"))
    }
}

#[cfg(test)]
mod tests {
    use super::super::modes::PresentSettings;
    use super::super::settings::ControllerSettings;
    use super::super::setup::RestartDelay;
    use super::*;
    use crate::netlink::attribute;

    fn fast() -> LinkSetup {
        LinkSetup {
            rate: BitRate::new(500_000, None).unwrap(),
            sample_point: 0,
            data_sample_point: 0,
            restart: RestartDelay::Asked(0),
            settings: ControllerSettings::default(),
        }
    }

    #[test]
    fn other_bit_rates_are_noticed() {
        let at = |rate| NetLink {
            name: "can2".to_owned(),
            up: true,
            bit_rate: BitRate::new(rate, None).ok(),
            ..NetLink::default()
        };
        assert_eq!(fast().differs(&at(500_000)), None);
        // The bit rate that a clock of 8 MHz produces for 83.3 kbit/s.
        let odd = LinkSetup {
            rate: BitRate::new(83_300, None).unwrap(),
            ..fast()
        };
        assert_eq!(odd.differs(&at(83_333)), None);
        assert!(odd.differs(&at(84_200)).is_some());
        let output = fast().differs(&at(125_000)).unwrap();
        assert!(
            output.starts_with("can2 runs at 125000 bit/s, and its port is set to 500000 bit/s")
        );
        // An interface that is down carries no frames; and a driver need not report its bit rate.
        let down = NetLink {
            up: false,
            ..at(125_000)
        };
        let silent = NetLink {
            bit_rate: None,
            ..at(125_000)
        };
        assert_eq!(
            (fast().differs(&down), fast().differs(&silent)),
            (None, None)
        );
        assert!(!fast().is_in_force(&down) && fast().is_in_force(&silent));
    }

    /// Returns the timing of an SJA1000 at 500 kbit/s: sample point, segments and jump width.
    fn sja1000(point: u32, [prop, first, second]: [u32; 3], sjw: u32) -> NetLink {
        let timing = [500_000, point, 125, prop, first, second, sjw, 1];
        let limits = [0, 0, 0, 0, 1, 16, 1, 8, 4, 1, 64, 1];
        let mut data = Vec::new();
        attribute(&mut data, 1, &timing.map(u32::to_ne_bytes).concat());
        attribute(&mut data, 2, &limits.map(u32::to_ne_bytes).concat());
        NetLink {
            name: "can2".to_owned(),
            up: true,
            bit_rate: BitRate::new(500_000, None).ok(),
            settings: PresentSettings::read(&data),
            ..NetLink::default()
        }
    }

    #[test]
    fn what_the_kernel_has_rounded_is_noted_and_no_difference() {
        let mut wanted = LinkSetup {
            sample_point: 810,
            ..fast()
        };
        wanted.settings.sjw = Some(4);
        let now = sja1000(750, [5, 6, 4], 4);
        assert_eq!(
            (wanted.differs(&now), wanted.is_in_force(&now)),
            (None, true)
        );
        assert_eq!(
            wanted.rounded(&now).unwrap(),
            "can2 has sample-point 0.750 in place of 0.810: the nearest that its controller's clock and fields allow"
        );
        // Kernels before 6.3 shorten a jump width that is longer than phase segment 2.
        let shortened = sja1000(812, [6, 6, 3], 3);
        assert_eq!(wanted.differs(&shortened), None);
        assert!(
            wanted
                .rounded(&shortened)
                .unwrap()
                .contains("has sjw 3 in place of 4:")
        );
        assert_eq!(
            wanted.differs(&sja1000(875, [6, 7, 2], 2)).unwrap(),
            "can2 runs with sample-point 0.875, and its port is set to sample-point 0.810: another program has changed it"
        );
        let other = wanted.differs(&sja1000(812, [6, 6, 3], 1)).unwrap();
        assert!(
            other.contains("sjw 1, and its port is set to sjw 4"),
            "{other}"
        );
        assert_eq!(fast().rounded(&shortened), None, "nothing was asked for");
    }
}
