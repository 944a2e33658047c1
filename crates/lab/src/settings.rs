//! An experiment as a list of settings, each with a name and a word; what goes with what; and the
//! one name of an experiment.

use crate::experiment::{Boot, Experiment, Filters, Gateway, Hops, Modify, TrafficKind, Virtual};
use crate::machine::Bench;
use crate::words::{self, WordError};
use std::fmt;

macro_rules! settings {
    ($($(#[$doc:meta])* $name:ident = $text:literal,)*) => {
        /// A setting of an experiment.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum Setting { $($(#[$doc])* $name,)* }

        impl Setting {
            /// All of them, in the order in which they are shown.
            pub const ALL: &'static [Self] = &[$(Self::$name,)*];

            /// Its name: `lab measure`'s option without the dashes, the key in matrix files and
            /// in results.
            #[must_use]
            pub const fn name(self) -> &'static str {
                match self { $(Self::$name => $text,)* }
            }
        }
    };
}

settings! {
    /// The guest's kernel.
    Kernel = "kernel",
    /// The CAN interfaces.
    Bench = "bench",
    /// The gateway under test.
    Gateway = "gateway",
    /// How frames come.
    Traffic = "traffic",
    /// What else the gateway's machine does.
    Load = "load",
    /// Payload bytes.
    Payload = "payload",
    /// What the gateway filters by.
    Filters = "filters",
    /// What the gateway changes.
    Modify = "modify",
    /// Passes through virtual interfaces.
    Hops = "hops",
    /// The guest's processor.
    Cpu = "cpu",
    /// Parameters for the guest's kernel.
    Boot = "boot",
    /// How many frames.
    Frames = "frames",
    /// Seed of everything random.
    Seed = "seed",
    /// Virtual or real time.
    Clock = "clock",
    /// Every how many frames stamps are taken.
    StampEvery = "stamp-every",
}

impl fmt::Display for Setting {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A setting whose word is wrong.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("--{setting}: {word}")]
pub struct SettingError {
    /// Which.
    pub setting: Setting,
    /// What is wrong with its word.
    pub word: WordError,
}

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

/// The longest run, frames: the frame's number has 16 bits.
pub const MOST_FRAMES: u32 = 65_536;

impl Setting {
    /// Sets it to a word.
    ///
    /// # Errors
    /// [`SettingError`] where the word means nothing.
    pub fn apply(self, experiment: &mut Experiment, word: &str) -> Result<(), SettingError> {
        self.try_apply(experiment, word.trim())
            .map_err(|word| SettingError {
                setting: self,
                word,
            })
    }

    fn try_apply(self, e: &mut Experiment, word: &str) -> Result<(), WordError> {
        match self {
            Self::Kernel => e.kernel = words::kernel(word)?,
            Self::Bench => e.bench = word.parse()?,
            Self::Gateway => e.gateway = word.parse()?,
            Self::Traffic => e.traffic = word.parse()?,
            Self::Load => e.load = word.parse()?,
            Self::Payload => e.payload = words::number(word, 2, 64, "count of payload bytes")?,
            Self::Filters => e.filters = word.parse()?,
            Self::Modify => e.modify = word.parse()?,
            Self::Hops => e.hops = word.parse()?,
            Self::Cpu => e.cpu = word.parse()?,
            Self::Boot => e.boot = word.parse()?,
            Self::Frames => e.frames = words::number(word, 1, MOST_FRAMES, "count of frames")?,
            Self::Seed => e.seed = words::number(word, 0, u64::MAX, "seed")?,
            Self::Clock => {
                e.real_time = match word {
                    "virtual" => false,
                    "real" => true,
                    _ => return words::unknown(word, "clock", "virtual, real"),
                }
            }
            Self::StampEvery => {
                e.stamp_every = words::number(word, 1, MOST_FRAMES, "distance between stamps")?;
            }
        }
        Ok(())
    }

    /// Its word in an experiment.
    #[must_use]
    pub fn word(self, e: &Experiment) -> String {
        match self {
            Self::Kernel => e.kernel.clone(),
            Self::Bench => e.bench.to_string(),
            Self::Gateway => e.gateway.to_string(),
            Self::Traffic => e.traffic.to_string(),
            Self::Load => e.load.to_string(),
            Self::Payload => e.payload.to_string(),
            Self::Filters => e.filters.to_string(),
            Self::Modify => e.modify.to_string(),
            Self::Hops => e.hops.to_string(),
            Self::Cpu => e.cpu.to_string(),
            Self::Boot => e.boot.to_string(),
            Self::Frames => e.frames.to_string(),
            Self::Seed => e.seed.to_string(),
            Self::Clock => if e.real_time { "real" } else { "virtual" }.to_owned(),
            Self::StampEvery => e.stamp_every.to_string(),
        }
    }

    /// Is it always part of an experiment's name?
    fn always_named(self) -> bool {
        matches!(
            self,
            Self::Kernel | Self::Bench | Self::Gateway | Self::Traffic | Self::Load | Self::Payload
        )
    }
}

impl Experiment {
    /// All settings with their words.
    #[must_use]
    pub fn settings(&self) -> Vec<(Setting, String)> {
        Setting::ALL.iter().map(|&s| (s, s.word(self))).collect()
    }

    /// An experiment from words; settings that are not given have `lab measure`'s defaults.
    ///
    /// # Errors
    /// [`SettingError`] for the first word that means nothing.
    pub fn from_words<'w>(
        words: impl IntoIterator<Item = (Setting, &'w str)>,
    ) -> Result<Self, SettingError> {
        let mut experiment = Self::default();
        for (setting, word) in words {
            setting.apply(&mut experiment, word)?;
        }
        Ok(experiment)
    }

    /// Its name, another one for every experiment, fit for a file: kernel, bench, gateway,
    /// traffic, load and payload, then what differs from `lab measure`'s defaults, then the
    /// number of frames.
    #[must_use]
    pub fn name(&self) -> String {
        let default = Self::default();
        let mut name = String::new();
        for &setting in Setting::ALL {
            let word = setting
                .word(self)
                .replace([':', '='], "-")
                .replace('+', "--");
            match setting {
                Setting::Kernel => name.push_str(&word),
                Setting::Payload => name.push_str(&format!("_{word}B")),
                Setting::Frames => name.push_str(&format!("_{word}f")),
                _ if setting.always_named() => name.push_str(&format!("_{word}")),
                _ if word == setting.word(&default).replace(':', "-") => {}
                _ => name.push_str(&format!("_{setting}-{word}")),
            }
        }
        name
    }

    /// The options of `lab measure` that make it.
    #[must_use]
    pub fn command(&self) -> String {
        let mut line = "cangate lab measure".to_owned();
        for (setting, word) in self.settings() {
            match setting {
                Setting::Clock if self.real_time => line.push_str(" --real-time"),
                Setting::Clock => {}
                Setting::StampEvery if self.stamp_every == 1 => {}
                Setting::Boot if self.boot == Boot::default() => {}
                _ => line.push_str(&format!(" --{setting} {word}")),
            }
        }
        line
    }

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
        let fd = self.payload > 8;
        let timed = self.bench == Bench::Timed;
        refuse(
            !matches!(self.bench, Bench::Kvaser | Bench::Timed),
            &[S::Bench],
            "no tester is on this bench: measure on kvaser or timed",
        );
        refuse(
            self.payload < 2,
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
            matches!(self.traffic, TrafficKind::Percent(_)) && !timed,
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
            self.gateway.by_rules()
                && self
                    .filters
                    .count()
                    .is_some_and(|n| n > words::MOST_FILTERS),
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
pub(crate) mod tests {
    use super::*;
    use crate::experiment::{Cpu, Load};
    use proptest::prelude::*;

    /// Any experiment whose words are right, whether its settings go together or not.
    pub(crate) fn any_experiment() -> impl Strategy<Value = Experiment> {
        let filters = prop_oneof![
            Just(Filters::None),
            (1..=2048u32).prop_map(Filters::Sff),
            (1..=2048u32).prop_map(Filters::List),
            (1..=2048u32).prop_map(Filters::Eff),
            (1..=words::MOST_EFF).prop_map(Filters::Eff),
        ];
        let traffic = prop_oneof![
            Just(TrafficKind::OneAtATime),
            Just(TrafficKind::Flood),
            (1..=100u8).prop_map(TrafficKind::Percent),
            (1..=10_000_000_000u64).prop_map(TrafficKind::Period),
        ];
        let gateway = prop_oneof![
            Just(Gateway::Cangw),
            Just(Gateway::None),
            Just(Gateway::User("read-write".to_owned())),
            Just(Gateway::OwnRules),
            Just(Gateway::Bpf),
        ];
        let cpu = prop_oneof![
            Just(Cpu::Pc),
            Just(Cpu::Board),
            (0..=10u8).prop_map(Cpu::Shift),
            (3..=10u8).prop_map(Cpu::BoardAt)
        ];
        let choices = (
            prop::sample::select(&words::KERNELS[..]),
            prop::sample::select(vec![Bench::Kvaser, Bench::Timed, Bench::Vcan]),
            prop::sample::select(vec![Load::None, Load::Cpu, Load::EthRx, Load::EthTx]),
            prop::sample::select(vec!["none", "copy", "id", "and", "crc8"]),
            prop::sample::select(vec!["0", "1", "5", "2:2", "4:2", "1:vxcan", "2:2:vxcan"]),
            prop::sample::select(vec!["none", "nohz=off", "nohz=off+threadirqs"]),
        );
        let numbers = (
            2..=64u8,
            1..=65_536u32,
            any::<u64>(),
            any::<bool>(),
            1..=65_536u32,
        );
        (filters, traffic, gateway, cpu, choices, numbers).prop_map(
            |(filters, traffic, gateway, cpu, (kernel, bench, load, modify, hops, boot), n)| {
                Experiment {
                    kernel: kernel.to_owned(),
                    bench,
                    gateway,
                    traffic,
                    load,
                    payload: n.0,
                    frames: n.1,
                    filters,
                    modify: modify.parse().unwrap(),
                    hops: hops.parse().unwrap(),
                    cpu,
                    boot: boot.parse().unwrap(),
                    seed: n.2,
                    real_time: n.3,
                    stamp_every: n.4,
                }
            },
        )
    }

    #[test]
    fn names_are_short_and_say_what_is_special() {
        let mut e = Experiment::default();
        assert_eq!(e.name(), "6.1_kvaser_cangw_oneatatime_none_4B_500f");
        e.filters = Filters::List(2048);
        e.cpu = Cpu::Board;
        e.bench = Bench::Timed;
        e.traffic = TrafficKind::Percent(50);
        assert_eq!(
            e.name(),
            "6.1_timed_cangw_load-50_none_4B_filters-list-2048_cpu-board_500f"
        );
    }

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

    #[test]
    fn a_wrong_word_names_the_option() {
        let wrong = Experiment::from_words([(Setting::Payload, "1")]).unwrap_err();
        assert_eq!(
            wrong.to_string(),
            "--payload: `1` is no count of payload bytes: a whole number from 2 to 64"
        );
    }

    proptest! {
        #[test]
        fn settings_make_the_experiment_again(e in any_experiment()) {
            let words = e.settings();
            let again = Experiment::from_words(words.iter().map(|(s, w)| (*s, w.as_str())));
            prop_assert_eq!(again, Ok(e.clone()));
            let json = serde_json::to_string(&e).unwrap();
            prop_assert_eq!(serde_json::from_str::<Experiment>(&json).unwrap(), e);
        }

        #[test]
        fn names_differ_where_experiments_do(a in any_experiment(), b in any_experiment()) {
            prop_assert_eq!(a == b, a.name() == b.name());
            let fit = |c: char| c.is_ascii_alphanumeric() || "._-".contains(c);
            prop_assert!(a.name().chars().all(fit) && a.name().len() < 200);
            // One setting only.
            for (s, word) in b.settings() {
                let mut c = a.clone();
                s.apply(&mut c, &word).unwrap();
                prop_assert_eq!(a == c, a.name() == c.name());
            }
        }
    }
}
