//! Which settings go together.

use crate::choices::{Filters, Gateway, Hops, MOST_FILTERS, Modify, Virtual};
use crate::experiment::Experiment;
use crate::settings::Setting;
use guest::machine::Bench;
use probe::traffic::{Pattern, SHORTEST_PAYLOAD};
use std::fmt;

/// Settings that do not go together.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub struct Conflict {
    /// Which, the one to change first.
    pub settings: Vec<Setting>,
    /// The settings as they are.
    pub shown: String,
    /// Why not, and what would do.
    pub why: String,
}

impl fmt::Display for Conflict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.shown, self.why)
    }
}

impl Experiment {
    /// Do the settings go together?
    ///
    /// # Errors
    /// Every pair that does not.
    pub fn check(&self) -> Result<(), Vec<Conflict>> {
        use Setting as S;
        let mut found = Vec::new();
        let mut refuse = |bad: bool, settings: &[Setting], why: &str| {
            if bad {
                let shown: Vec<_> = settings
                    .iter()
                    .map(|s| format!("--{s} {}", s.word(self)))
                    .collect();
                found.push(Conflict {
                    settings: settings.to_vec(),
                    shown: shown.join(" "),
                    why: why.to_owned(),
                });
            }
        };
        let fd = self.is_fd();
        let timed = self.bench == Bench::Timed;
        refuse(
            !matches!(self.bench, Bench::Kvaser | Bench::Timed),
            &[S::Bench],
            "no tester is on this bench: measure on kvaser or timed",
        );
        refuse(
            usize::from(self.payload) < SHORTEST_PAYLOAD,
            &[S::Payload],
            "the first two bytes are the frame's number: at least 2",
        );
        refuse(
            fd && !matches!(self.payload, 12 | 16 | 20 | 24 | 32 | 48 | 64),
            &[S::Payload],
            "FD frames above 8 bytes have 12, 16, 20, 24, 32, 48 or 64",
        );
        refuse(
            fd && !timed,
            &[S::Payload, S::Bench],
            "FD frames are on the timed bench only: the cards of the kvaser bench are classic",
        );
        refuse(
            matches!(self.traffic, Pattern::Load(_)) && !timed,
            &[S::Traffic, S::Bench],
            "a share of the bus needs a bus that takes time: --bench timed, or period:MICROSECONDS",
        );
        refuse(
            self.stamp_every > 1 && !timed,
            &[S::StampEvery, S::Bench],
            "stamps are left out by the timed bench's tester only",
        );
        refuse(
            self.stamp_every > self.frames,
            &[S::StampEvery, S::Frames],
            "no frame would get a stamp",
        );
        refuse(
            self.real_time && timed,
            &[S::Clock, S::Bench],
            "the buses' bit time needs a clock that never runs late: the timed bench is for \
             virtual time",
        );
        let none = self.gateway == Gateway::None;
        for (there, setting) in [
            (self.filters != Filters::None, S::Filters),
            (self.modify != Modify::None, S::Modify),
            (self.hops != Hops::NONE, S::Hops),
        ] {
            refuse(
                none && there,
                &[S::Gateway, setting],
                "without a gateway nothing filters, changes or passes a frame on",
            );
        }
        let by_vcan = self.hops != Hops::NONE && self.hops.through == Virtual::Vcan;
        refuse(
            matches!(self.gateway, Gateway::User(_)) && by_vcan,
            &[S::Gateway, S::Hops],
            "a program does not get back what it sends into a vcan interface; it does through a \
             pair: --hops N:vxcan",
        );
        refuse(
            self.gateway == Gateway::OwnRules && by_vcan,
            &[S::Gateway, S::Hops],
            "cangate puts in no rules that would take their own echoes, as these do on a vcan \
             interface: --gateway cangw, or --hops N:vxcan",
        );
        refuse(
            self.gateway == Gateway::Bpf && by_vcan,
            &[S::Gateway, S::Hops],
            "a vcan interface gives nothing back of what BPF puts into it; a pair does: \
             --hops N:vxcan",
        );
        refuse(
            self.gateway.by_rules() && self.filters.count().is_some_and(|n| n > MOST_FILTERS),
            &[S::Gateway, S::Filters],
            "can-gw compares each new rule with all that are there, which takes hours for so \
             many: at most 2048, or --gateway bpf or user:read-write",
        );
        refuse(
            self.hops != Hops::NONE
                && (self.filters != Filters::None || self.modify != Modify::None),
            &[S::Hops, S::Filters, S::Modify],
            "on hops the identifier says how far a frame has come, by filters and changes of \
             their own",
        );
        let sums = matches!(self.modify, Modify::Crc8 | Modify::Xorsum);
        refuse(
            sums && self.payload < 3,
            &[S::Modify, S::Payload],
            "the checksum needs a byte behind the frame's number: at least 3",
        );
        refuse(
            none && timed,
            &[S::Gateway, S::Bench],
            "the timed bench stamps in its buses, and without a gateway nothing comes back: the \
             tester's own precision is measured on the kvaser bench",
        );
        if found.is_empty() { Ok(()) } else { Err(found) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(words: &[(Setting, &str)]) -> String {
        let e = Experiment::from_words(words.iter().copied()).unwrap();
        let all = e.check().unwrap_err();
        all.iter()
            .map(ToString::to_string)
            .collect::<Vec<_>>()
            .join("\n")
    }

    #[test]
    fn what_does_not_go_together_is_refused_by_name() {
        use Setting as S;
        assert_eq!(Experiment::default().check(), Ok(()));
        assert_eq!(
            refused(&[(S::Traffic, "load:50")]),
            "--traffic load:50 --bench kvaser: a share of the bus needs a bus that takes time: \
             --bench timed, or period:MICROSECONDS"
        );
        assert!(refused(&[(S::Payload, "16")]).contains("timed bench only"));
        assert!(refused(&[(S::Payload, "9"), (S::Bench, "timed")]).contains("12, 16, 20"));
        assert!(
            refused(&[(S::Gateway, "none"), (S::Filters, "sff:1")]).contains("nothing filters")
        );
        for gateway in ["user:read-write", "can-gw", "bpf"] {
            let why = refused(&[(S::Gateway, gateway), (S::Hops, "2")]);
            assert!(why.contains("--hops N:vxcan"), "{why}");
            let e = Experiment::from_words([(S::Gateway, gateway), (S::Hops, "2:vxcan")]).unwrap();
            assert_eq!(e.check(), Ok(()));
        }
        for gateway in ["cangw", "can-gw"] {
            let why = refused(&[(S::Gateway, gateway), (S::Filters, "eff:100000")]);
            assert!(why.contains("at most 2048"), "{why}");
        }
        assert!(refused(&[(S::Hops, "2"), (S::Modify, "id")]).contains("on hops"));
        assert!(refused(&[(S::Clock, "real"), (S::Bench, "timed")]).contains("virtual time"));
        assert!(refused(&[(S::Modify, "crc8"), (S::Payload, "2")]).contains("at least 3"));
        assert!(refused(&[(S::Bench, "vcan")]).contains("no tester"));
    }
}
