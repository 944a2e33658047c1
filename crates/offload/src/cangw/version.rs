//! What can-gw of the running kernel cannot do, or does wrong.

use route::cangw::Rule;
use std::fmt;

/// A version of Linux, as far as can-gw depends on it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Version(pub u32, pub u32, pub u32);

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}.{}", self.0, self.1, self.2)
    }
}

/// Since when the stable series have a fix; the last entry holds for all later ones.
type Since = &'static [Version];

/// CVE-2026-31570: `cgw_csum_crc8_rel` computes where negative indices point, and then reads and
/// writes at the negative ones, before the frame's payload in the kernel's memory.
const CRC8_FROM_END: Since = &[
    Version(5, 10, 253),
    Version(5, 15, 203),
    Version(6, 1, 168),
    Version(6, 6, 131),
    Version(6, 12, 80),
    Version(6, 18, 21),
    Version(6, 19, 11),
    Version(7, 0, 0),
];

/// 511e64e13d8c "can: gw: fix RCU/BH usage in cgw_create_job()": before it, a job's modifications
/// were overwritten while another CPU was carrying them out.
const UPDATE: Since = &[
    Version(5, 10, 238),
    Version(5, 15, 183),
    Version(6, 1, 139),
    Version(6, 6, 91),
    Version(6, 12, 29),
    Version(6, 14, 7),
    Version(6, 15, 0),
];

/// What depends on the kernel: its version, and the module's parameter.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Limits {
    /// Its version, if it can be told.
    pub version: Option<Version>,
    /// can-gw's `max_hops`, if it can be told.
    pub max_hops: Option<u8>,
    /// A rule that modifies nothing can carry a mark at no cost: can-gw takes, keeps and lists a
    /// modification that names no part of a frame that it knows. That holds from 5.10 to 7.3.
    pub hidden_marks: bool,
}

impl Limits {
    /// Modifications of a job can be replaced while frames pass: each frame sees the old ones or
    /// the new ones.
    #[must_use]
    pub fn updates_in_place(&self) -> bool {
        self.version.is_some_and(|version| has(version, UPDATE))
    }

    /// Why this kernel cannot be given a rule that can-gw has.
    #[must_use]
    pub fn refusal(&self, rule: &Rule) -> Option<String> {
        let kernel = self
            .version
            .map_or("an unknown version".to_owned(), |v| format!("Linux {v}"));
        if rule.fd && self.version.is_none_or(|v| v < Version(5, 4, 0)) {
            return Some(format!(
                "it takes FD frames, which can-gw knows since Linux 5.4, and this is {kernel}"
            ));
        }
        let from_end = |crc: &route::Crc8| [crc.from, crc.to, crc.result].iter().any(|i| *i < 0);
        if rule.crc8.as_ref().is_some_and(from_end)
            && !self.version.is_some_and(|v| has(v, CRC8_FROM_END))
        {
            return Some(format!(
                "its CRC8 counts from the frame's end, and with that {kernel} writes outside the \
                 frame (CVE-2026-31570): use a kernel with the fix, or indices from the beginning"
            ));
        }
        if !rule.fd && self.version.is_none_or(|v| v < Version(5, 11, 0)) && raises_dlc(rule) {
            return Some(format!(
                "it can give a frame a DLC of 9 to 15, which can-gw knows since Linux 5.11, and \
                 this is {kernel}"
            ));
        }
        match (rule.hops, self.max_hops) {
            (Some(hops), Some(most)) if hops > most => Some(format!(
                "it allows {hops} hops, and can-gw was loaded with max_hops={most}: `modprobe -r \
                 can-gw && modprobe can-gw max_hops={hops}`"
            )),
            _ => None,
        }
    }
}

fn has(version: Version, since: Since) -> bool {
    let newest = since.last().is_some_and(|last| version >= *last);
    let series = |v: Version| (v.0, v.1);
    let mut same = since.iter().filter(|v| series(**v) == series(version));
    newest || same.any(|first| version >= *first)
}

/// Some length from 0 to 8 becomes a DLC of 9 to 15.
fn raises_dlc(rule: &Rule) -> bool {
    let after = |len: u8| {
        let [and, or, xor, set] = &rule.modify;
        let operand = |modify: &Option<route::Modify>| modify.as_ref().and_then(|m| m.len);
        let len = operand(and).map_or(len, |n| len & n);
        let len = operand(or).map_or(len, |n| len | n);
        let len = operand(xor).map_or(len, |n| len ^ n);
        operand(set).unwrap_or(len)
    };
    (0..=8).any(|len| (9..=15).contains(&after(len)))
}

/// The version of the running kernel.
#[must_use]
pub(super) fn running() -> Option<Version> {
    let uname = rustix::system::uname();
    let ubuntu = std::fs::read_to_string("/proc/version_signature").unwrap_or_default();
    parse(
        &uname.release().to_string_lossy(),
        &uname.version().to_string_lossy(),
        &ubuntu,
    )
}

/// Distributions write 0 for the third number in the release (`6.1.0-50-amd64`), and say
/// elsewhere what it is: Debian in the version (`… Debian 6.1.176-1 (2026-07-02)`), Ubuntu in
/// `/proc/version_signature` (`Ubuntu 5.15.0-91.101-generic 5.15.131`).
fn parse(release: &str, version: &str, ubuntu: &str) -> Option<Version> {
    let base = numbers(release)?;
    let debian = version.split_once("Debian ").map(|(_, rest)| rest);
    let ubuntu = ubuntu.split_whitespace().nth(2);
    let precise = debian.or(ubuntu).and_then(numbers);
    // What speaks of another series is not about this kernel.
    Some(
        precise
            .filter(|p| (p.0, p.1) == (base.0, base.1))
            .unwrap_or(base),
    )
}

/// `6.1.176-1` or `7.3`
fn numbers(text: &str) -> Option<Version> {
    let end = text.find(|c: char| !c.is_ascii_digit() && c != '.');
    let mut parts = text.get(..end.unwrap_or(text.len()))?.split('.');
    let mut next = || parts.next().map(|part| part.parse().ok());
    Some(Version(next()??, next()??, next().flatten().unwrap_or(0)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use route::{Crc8, Crc8Profile, Modify, ModifyOp};

    #[test]
    fn versions_are_read_where_distributions_write_them() {
        let cases = [
            (
                "6.1.0-50-amd64",
                "#1 SMP Debian 6.1.176-1 (2026-07-02)",
                "",
                Version(6, 1, 176),
            ),
            (
                "5.15.0-91-generic",
                "#101-Ubuntu SMP",
                "Ubuntu 5.15.0-91.101-generic 5.15.131\n",
                Version(5, 15, 131),
            ),
            (
                "7.3.2+deb14-rt-amd64",
                "#1 SMP PREEMPT_RT Debian 7.3.2-1",
                "",
                Version(7, 3, 2),
            ),
            ("6.12.29", "#1 SMP", "", Version(6, 12, 29)),
            ("7.0-rc1", "#1", "", Version(7, 0, 0)),
            ("6.6.1", "#1 Debian 6.1.176-1", "", Version(6, 6, 1)),
        ];
        for (release, version, ubuntu, expected) in cases {
            assert_eq!(parse(release, version, ubuntu), Some(expected), "{release}");
        }
        assert_eq!(parse("generic", "", ""), None);
    }

    #[test]
    fn a_fix_is_there_since_its_series_has_it() {
        assert!(!has(Version(6, 1, 167), CRC8_FROM_END));
        assert!(has(Version(6, 1, 168), CRC8_FROM_END));
        assert!(
            !has(Version(6, 13, 99), CRC8_FROM_END),
            "a series without it"
        );
        assert!(has(Version(7, 3, 0), CRC8_FROM_END));
        assert!(!has(Version(6, 14, 6), UPDATE));
        assert!(has(Version(6, 15, 0), UPDATE));
    }

    /// CVE-2026-31570: where the index is negative, kernels without the fix read and write before
    /// the frame, in memory of others. The three numbers of a version decide, series by series.
    #[test]
    fn crc8_from_the_frames_end_is_refused_up_to_the_fix() {
        let rule = |from, to, result| Rule {
            crc8: Some(Crc8 {
                from,
                to,
                result,
                init: 0,
                final_xor: 0,
                table: [0; 256],
                profile: Crc8Profile::None,
            }),
            ..Rule::default()
        };
        let negative = [rule(-1, 1, 2), rule(0, -1, 2), rule(0, 1, -1)];
        let refused = |version, rule: &Rule| {
            let why = limits(version).refusal(rule)?;
            assert!(why.contains("CVE-2026-31570"), "{why}");
            assert!(why.contains(&format!("Linux {version}")), "{why}");
            Some(why)
        };
        for fixed in CRC8_FROM_END {
            let Version(major, minor, patch) = *fixed;
            assert_eq!(refused(*fixed, &negative[0]), None, "{fixed}");
            assert_eq!(
                refused(Version(major, minor, patch + 1), &negative[0]),
                None
            );
            if let Some(patch) = patch.checked_sub(1) {
                let before = Version(major, minor, patch);
                for rule in &negative {
                    assert!(refused(before, rule).is_some(), "{before}");
                }
                assert_eq!(limits(before).refusal(&rule(0, 1, 2)), None);
            }
        }
        // Series that ended without it, and all that came after it.
        for version in [Version(5, 4, 999), Version(6, 5, 99), Version(6, 17, 13)] {
            assert!(refused(version, &negative[0]).is_some(), "{version}");
        }
        assert_eq!(refused(Version(7, 3, 2), &negative[0]), None);
    }

    fn limits(version: Version) -> Limits {
        Limits {
            version: Some(version),
            max_hops: Some(2),
            hidden_marks: true,
        }
    }

    #[test]
    fn what_a_kernel_cannot_do_is_refused() {
        let crc8 = |from| Crc8 {
            from,
            to: 1,
            result: 2,
            init: 0,
            final_xor: 0,
            table: [0; 256],
            profile: Crc8Profile::None,
        };
        let mut rule = Rule {
            crc8: Some(crc8(0)),
            ..Rule::default()
        };
        assert_eq!(limits(Version(6, 1, 1)).refusal(&rule), None);
        rule.crc8 = Some(crc8(-1));
        let why = limits(Version(6, 1, 1)).refusal(&rule).unwrap();
        assert!(why.contains("CVE-2026-31570"), "{why}");
        assert_eq!(limits(Version(6, 1, 168)).refusal(&rule), None);
        let unknown = Limits {
            version: None,
            max_hops: None,
            hidden_marks: true,
        };
        assert!(unknown.refusal(&rule).is_some() && !unknown.updates_in_place());

        let length = |op, len| {
            let mut rule = Rule::default();
            let place = route::cangw::OPS.iter().position(|o| *o == op).unwrap();
            rule.modify[place] = Some(Modify {
                op,
                id: None,
                len: Some(len),
                flags: None,
                data: None,
            });
            limits(Version(5, 10, 200)).refusal(&rule).is_some()
        };
        assert!(length(ModifyOp::Set, 9) && length(ModifyOp::Or, 1) && length(ModifyOp::Xor, 8));
        assert!(
            !length(ModifyOp::Set, 8) && !length(ModifyOp::Or, 0) && !length(ModifyOp::Set, 16)
        );
        assert!(!length(ModifyOp::And, 15));

        let hops = Rule {
            hops: Some(3),
            ..Rule::default()
        };
        assert!(
            limits(Version(7, 3, 0))
                .refusal(&hops)
                .unwrap()
                .contains("max_hops=2")
        );
        let fd = Rule {
            fd: true,
            ..Rule::default()
        };
        assert!(limits(Version(4, 19, 0)).refusal(&fd).is_some());
    }
}
