//! The missing features and the bugs of the running kernel's can-gw.

use route::cangw::CanGwRule;
pub use route::cangw::KernelVersion;

/// 511e64e13d8c "can: gw: fix RCU/BH usage in cgw_create_job()": before this commit, a job's
/// modifications were overwritten while another CPU was carrying them out.
const UPDATE: &[KernelVersion] = &[
    KernelVersion(5, 10, 238),
    KernelVersion(5, 15, 183),
    KernelVersion(6, 1, 139),
    KernelVersion(6, 6, 91),
    KernelVersion(6, 12, 29),
    KernelVersion(6, 14, 7),
    KernelVersion(6, 15, 0),
];

/// The properties that depend on the kernel: its version, and the module's parameter.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct KernelLimits {
    /// Its version, if it is known.
    pub version: Option<KernelVersion>,
    /// can-gw's `max_hops`, if it is known.
    pub max_hops: Option<u8>,
    /// A rule that modifies nothing can carry a mark at no cost: can-gw accepts, keeps and lists a
    /// modification that names no part of a frame that it knows. This applies from 5.10 to 7.3.
    pub hidden_marks: bool,
}

impl KernelLimits {
    /// Returns whether the modifications of a job can be replaced while frames pass, so that each
    /// frame sees the old ones or the new ones.
    #[must_use]
    pub fn updates_in_place(&self) -> bool {
        self.version.is_some_and(|version| version.has(UPDATE))
    }

    /// Returns the reason why this kernel cannot accept a rule that can-gw has.
    #[must_use]
    pub fn refusal(&self, rule: &CanGwRule) -> Option<String> {
        let kernel = self
            .version
            .map_or("an unknown version".to_owned(), |v| format!("Linux {v}"));
        if rule.fd && self.version.is_none_or(|v| v < KernelVersion(5, 4, 0)) {
            return Some(format!(
                "it takes FD frames, which can-gw supports since Linux 5.4, and this is {kernel}"
            ));
        }
        let mut needs = rule.needs().into_iter();
        let lacks = needs.find(|need| !self.version.is_some_and(|v| v.has(need.since)));
        if let Some(need) = lacks {
            return Some((need.why)(&kernel));
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

/// Returns the version of the running kernel.
#[must_use]
pub(super) fn running() -> Option<KernelVersion> {
    let uname = rustix::system::uname();
    let ubuntu = std::fs::read_to_string("/proc/version_signature").unwrap_or_default();
    parse(
        &uname.release().to_string_lossy(),
        &uname.version().to_string_lossy(),
        &ubuntu,
    )
}

/// Parses the version. Distributions write 0 for the third number in the release
/// (`6.1.0-50-amd64`), and put the real number elsewhere: Debian into the version (`… Debian
/// 6.1.176-1 (2026-07-02)`), Ubuntu into `/proc/version_signature` (`Ubuntu 5.15.0-91.101-generic
/// 5.15.131`).
fn parse(release: &str, version: &str, ubuntu: &str) -> Option<KernelVersion> {
    let base = numbers(release)?;
    let debian = version.split_once("Debian ").map(|(_, rest)| rest);
    let ubuntu = ubuntu.split_whitespace().nth(2);
    let precise = debian.or(ubuntu).and_then(numbers);
    // A number of another series does not describe this kernel.
    Some(
        precise
            .filter(|p| (p.0, p.1) == (base.0, base.1))
            .unwrap_or(base),
    )
}

/// Parses `6.1.176-1` or `7.3`.
fn numbers(text: &str) -> Option<KernelVersion> {
    let end = text.find(|c: char| !c.is_ascii_digit() && c != '.');
    let mut parts = text.get(..end.unwrap_or(text.len()))?.split('.');
    let mut next = || parts.next().map(|part| part.parse().ok());
    Some(KernelVersion(
        next()??,
        next()??,
        next().flatten().unwrap_or(0),
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use route::{Action, Crc8, Crc8Profile, Modify, ModifyOp};

    #[test]
    fn versions_are_read_where_distributions_write_them() {
        let cases = [
            (
                "6.1.0-50-amd64",
                "#1 SMP Debian 6.1.176-1 (2026-07-02)",
                "",
                KernelVersion(6, 1, 176),
            ),
            (
                "5.15.0-91-generic",
                "#101-Ubuntu SMP",
                "Ubuntu 5.15.0-91.101-generic 5.15.131\n",
                KernelVersion(5, 15, 131),
            ),
            (
                "7.3.2+deb14-rt-amd64",
                "#1 SMP PREEMPT_RT Debian 7.3.2-1",
                "",
                KernelVersion(7, 3, 2),
            ),
            ("6.12.29", "#1 SMP", "", KernelVersion(6, 12, 29)),
            ("7.0-rc1", "#1", "", KernelVersion(7, 0, 0)),
            ("6.6.1", "#1 Debian 6.1.176-1", "", KernelVersion(6, 6, 1)),
        ];
        for (release, version, ubuntu, expected) in cases {
            assert_eq!(parse(release, version, ubuntu), Some(expected), "{release}");
        }
        assert_eq!(parse("generic", "", ""), None);
    }

    #[test]
    fn a_fix_is_there_since_its_series_has_it() {
        let crc8_from_end = crc8(-1, 1, 2).needs()[0].since;
        assert!(!KernelVersion(6, 1, 167).has(crc8_from_end));
        assert!(KernelVersion(6, 1, 168).has(crc8_from_end));
        assert!(
            !KernelVersion(6, 13, 99).has(crc8_from_end),
            "a series without it"
        );
        assert!(KernelVersion(7, 3, 0).has(crc8_from_end));
        assert!(!KernelVersion(6, 14, 6).has(UPDATE));
        assert!(KernelVersion(6, 15, 0).has(UPDATE));
    }

    /// CVE-2026-31570: if the index is negative, kernels without the fix read and write before the
    /// frame, in foreign memory. The three numbers of a version decide, separately for each series.
    #[test]
    fn crc8_from_the_frames_end_is_refused_up_to_the_fix() {
        let negative = [crc8(-1, 1, 2), crc8(0, -1, 2), crc8(0, 1, -1)];
        let refused = |version, rule: &CanGwRule| {
            let why = limits(version).refusal(rule)?;
            assert!(why.contains("CVE-2026-31570"), "{why}");
            assert!(why.contains(&format!("Linux {version}")), "{why}");
            Some(why)
        };
        for fixed in negative[0].needs()[0].since {
            let KernelVersion(major, minor, patch) = *fixed;
            assert_eq!(refused(*fixed, &negative[0]), None, "{fixed}");
            assert_eq!(
                refused(KernelVersion(major, minor, patch + 1), &negative[0]),
                None
            );
            if let Some(patch) = patch.checked_sub(1) {
                let before = KernelVersion(major, minor, patch);
                for rule in &negative {
                    assert!(refused(before, rule).is_some(), "{before}");
                }
                assert_eq!(limits(before).refusal(&crc8(0, 1, 2)), None);
            }
        }
        // Series that ended without the fix, and all later ones.
        for version in [
            KernelVersion(5, 4, 999),
            KernelVersion(6, 5, 99),
            KernelVersion(6, 17, 13),
        ] {
            assert!(refused(version, &negative[0]).is_some(), "{version}");
        }
        assert_eq!(refused(KernelVersion(7, 3, 2), &negative[0]), None);
    }

    fn crc8(from: i16, to: i16, result: i16) -> CanGwRule {
        CanGwRule {
            changes: vec![Action::Crc8(Crc8 {
                from,
                to,
                result,
                init: 0,
                final_xor: 0,
                table: [0; 256],
                profile: Crc8Profile::None,
            })],
            ..CanGwRule::default()
        }
    }

    fn limits(version: KernelVersion) -> KernelLimits {
        KernelLimits {
            version: Some(version),
            max_hops: Some(2),
            hidden_marks: true,
        }
    }

    #[test]
    fn what_a_kernel_cannot_do_is_refused() {
        let rule = crc8(0, 1, 2);
        assert_eq!(limits(KernelVersion(6, 1, 1)).refusal(&rule), None);
        let rule = crc8(-1, 1, 2);
        let why = limits(KernelVersion(6, 1, 1)).refusal(&rule).unwrap();
        assert!(why.contains("CVE-2026-31570"), "{why}");
        assert_eq!(limits(KernelVersion(6, 1, 168)).refusal(&rule), None);
        let unknown = KernelLimits {
            version: None,
            max_hops: None,
            hidden_marks: true,
        };
        assert!(unknown.refusal(&rule).is_some() && !unknown.updates_in_place());

        let length = |op, len| {
            let rule = CanGwRule {
                changes: vec![Action::Modify(Modify {
                    op,
                    id: None,
                    len: Some(len),
                    flags: None,
                    data: None,
                })],
                ..CanGwRule::default()
            };
            limits(KernelVersion(5, 10, 200)).refusal(&rule).is_some()
        };
        assert!(length(ModifyOp::Set, 9) && length(ModifyOp::Or, 1) && length(ModifyOp::Xor, 8));
        assert!(
            !length(ModifyOp::Set, 8) && !length(ModifyOp::Or, 0) && !length(ModifyOp::Set, 16)
        );
        assert!(!length(ModifyOp::And, 15));

        let hops = CanGwRule {
            hops: Some(3),
            ..CanGwRule::default()
        };
        assert!(
            limits(KernelVersion(7, 3, 0))
                .refusal(&hops)
                .unwrap()
                .contains("max_hops=2")
        );
        let fd = CanGwRule {
            fd: true,
            ..CanGwRule::default()
        };
        assert!(limits(KernelVersion(4, 19, 0)).refusal(&fd).is_some());
    }
}
