//! The settings of an experiment: each is defined once, in the list of this file.
//!
//! A definition gives the setting's field, type and default, its name in options, matrices and
//! results, its help, its place in names, titles and commands, the meaning of results without it,
//! the measurements in which it has a meaning, and the values of property tests.

use crate::choices::{
    Boot, ClockChoice, Cpu, ExperimentTask, FilterChoice, GatewayChoice, HopChoice, Incident,
    LogTraffic, MAX_BUDGET, MAX_MACHINES, MachineLoad, MachineOrder, MachinePlacement,
    ModifyChoice, OtherTraffic, Priority, Tuning, WordError, WordKind, number,
};
use crate::scope::SettingScope;
use guest::Kernel;
use guest::machine::BenchKind;
use probe::traffic::{LONGEST_PAYLOAD, MOST_FRAMES, TrafficPattern};
use serde::{Deserialize, Serialize};
use std::fmt;

/// Where names, titles and commands of experiments mention a setting.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mention {
    /// In each name, with this unit, and in each command. The title has a place for it.
    Always(&'static str),
    /// In names and titles where it is not the default, and in each command.
    NameTitle,
    /// In names where it is not the default, and in each command.
    Name,
    /// In names, titles and commands where it is not the default.
    Changed,
    /// In names where it is not the default. Title and command have words of their own for it.
    Worded,
}

/// The meaning of a result that does not contain a setting.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Absent {
    /// The result is incomplete: the first results had this setting.
    Incomplete,
    /// The result is from before the setting existed, and was made with its default.
    Default,
}

/// The definition of a setting, without its type.
#[derive(Clone, Copy, Debug)]
pub struct SettingDefinition {
    /// Its name: `lab measure`'s option without the dashes, the key in matrix files and in results.
    pub name: &'static str,
    /// The placeholder for its value in help texts.
    pub placeholder: &'static str,
    /// Where it is mentioned.
    pub mention: Mention,
    /// The meaning of results without it.
    pub absent: Absent,
    /// The measurements in which it has a meaning; `None`: in all.
    pub scope: Option<SettingScope>,
    /// The lines of its text.
    text: &'static [&'static str],
    /// Returns the table of its words; empty for a number.
    table: fn() -> String,
}

impl SettingDefinition {
    /// Returns its first sentence, without the period.
    #[must_use]
    pub fn help(&self) -> String {
        let text = self.paragraphs().into_iter().next().unwrap_or_default();
        text.strip_suffix('.').unwrap_or(&text).to_owned()
    }

    /// Returns its text; behind the first paragraph are the table of its words and its
    /// scope.
    #[must_use]
    pub fn long_help(&self) -> String {
        let mut paragraphs = self.paragraphs();
        if let Some(scope) = self.scope {
            paragraphs.insert(1, format!("Only {}.", scope.only()));
        }
        let table = (self.table)();
        if !table.is_empty() {
            paragraphs.insert(1, table.trim_end().to_owned());
        }
        paragraphs.join("\n\n")
    }

    fn paragraphs(&self) -> Vec<String> {
        let lines = self.text.iter().map(|line| line.trim());
        let lines: Vec<_> = lines.collect();
        let paragraphs = lines.split(|line| line.is_empty());
        paragraphs.map(|lines| lines.join(" ")).collect()
    }
}

macro_rules! parsed {
    ($word:expr, $type:ty) => {
        $word.parse::<$type>()?
    };
    ($word:expr, $type:ty, $range:expr, $kind:literal) => {
        number::<$type>($word, $range, $kind)?
    };
}

macro_rules! table {
    ($type:ty) => {
        <$type as WordKind>::table
    };
    ($type:ty, $range:expr) => {
        String::new
    };
}

macro_rules! scope {
    () => {
        None
    };
    ($scope:expr) => {
        Some($scope)
    };
}

#[cfg(test)]
macro_rules! any_value {
    ($type:ty) => {
        <$type as crate::arbitrary::AnyValue>::any()
    };
    ($type:ty, $range:expr) => {{
        let range: std::ops::RangeInclusive<$type> = $range;
        proptest::strategy::Strategy::boxed(range)
    }};
}

/// Defines the settings: for each its text; variant, name, placeholder, [`Mention`], [`Absent`],
/// and [`SettingScope`] if it has one; field, type and default, for a number also its range and
/// its name in errors.
macro_rules! settings {
    ($(
        $(#[doc = $doc:literal])+
        $setting:ident = $name:literal, $placeholder:literal, $mention:expr, $absent:expr
            $(, $scope:expr)?;
        $field:ident: $type:ty = $default:expr $(, $range:expr, $kind:literal)?;
    )*) => {
        /// A setting of an experiment.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum Setting { $($(#[doc = $doc])+ $setting,)* }

        /// One experiment, one row of a matrix: a value for each setting.
        #[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
        #[serde(deny_unknown_fields)]
        pub struct Experiment { $($(#[doc = $doc])+ pub $field: $type,)* }

        impl Default for Experiment {
            /// Returns the experiment that `cangate lab measure` runs without options: can-gw on
            /// the kvaser bench, 4 bytes, one frame at a time.
            fn default() -> Self {
                Self { $($field: $default,)* }
            }
        }

        impl Setting {
            /// All settings, in the order in which they are shown.
            pub const ALL: &'static [Self] = &[$(Self::$setting,)*];

            /// Returns its definition.
            #[must_use]
            pub const fn definition(self) -> SettingDefinition {
                match self {
                    $(Self::$setting => SettingDefinition {
                        name: $name,
                        placeholder: $placeholder,
                        mention: $mention,
                        absent: $absent,
                        scope: scope!($($scope)?),
                        text: &[$($doc),+],
                        table: table!($type $(, $range)?),
                    },)*
                }
            }

            /// Returns its word in an experiment.
            #[must_use]
            pub fn word(self, experiment: &Experiment) -> String {
                match self { $(Self::$setting => experiment.$field.to_string(),)* }
            }

            /// Returns whether it differs from its default.
            #[must_use]
            pub fn is_set(self, experiment: &Experiment) -> bool {
                match self { $(Self::$setting => experiment.$field != $default,)* }
            }

            fn try_apply(self, experiment: &mut Experiment, word: &str) -> Result<(), WordError> {
                match self {
                    $(Self::$setting => {
                        experiment.$field = parsed!(word, $type $(, $range, $kind)?);
                    })*
                }
                Ok(())
            }
        }

        /// Generates any experiment with valid words, whether its settings are compatible or not.
        #[cfg(test)]
        pub(crate) fn any_experiment() -> proptest::strategy::BoxedStrategy<Experiment> {
            use proptest::strategy::{Just, Strategy};
            let any = Just(Experiment::default()).boxed();
            $(let any = (any, any_value!($type $(, $range)?))
                .prop_map(|(experiment, $field)| Experiment { $field, ..experiment })
                .boxed();)*
            any
        }
    };
}

settings! {
    /// The guest's kernel: 5.10, 6.1, 6.12 or 7.3, each also with -rt.
    ///
    /// These are Debian's kernels; -rt is the PREEMPT_RT flavour. Example: --kernel 6.12-rt
    Kernel = "kernel", "KERNEL", Mention::Always(""), Absent::Incomplete;
    kernel: Kernel = Kernel::USUAL;

    /// The CAN interfaces: kvaser, ctucan (real drivers, no bus time), timed or vm (bit time).
    ///
    /// Example: --bench timed
    Bench = "bench", "BENCH", Mention::Always(""), Absent::Incomplete;
    bench: BenchKind = BenchKind::Kvaser;

    /// The task to measure: gateway, round-trip, loop or receive.
    ///
    /// Example: --task round-trip --gateway user:read-write --bench timed
    Task = "task", "TASK", Mention::Worded, Absent::Default;
    task: ExperimentTask = ExperimentTask::Gateway;

    /// The gateway under test; for the other tasks, how their programs receive and transmit.
    ///
    /// Busy ways never leave the processor. The guest has one processor, so that such a gateway
    /// runs without real-time priority; the others have priority 90.
    ///
    /// The names of the paper (syscalls-2014, Table 3.1) mean the same pairs: readnb-write is
    /// read-nonblock-write, readbusy-write is read-busypoll-write, readbusynoirq-write is
    /// read-noirq-write, mmap is ring, mmapbusy is ring-busy, mmsg is recvmmsg and sendmmsg.
    ///
    /// Examples: --gateway bpf, --gateway user:read-write, --gateway user:ring-ring
    Gateway = "gateway", "GATEWAY", Mention::Always(""), Absent::Incomplete;
    gateway: GatewayChoice = GatewayChoice::Cangw;

    /// When frames are sent: oneatatime, load:PERCENT, flood or period:MICROSECONDS.
    ///
    /// Example: --traffic load:50
    Traffic = "traffic", "TRAFFIC", Mention::Always(""), Absent::Incomplete;
    traffic: TrafficPattern = TrafficPattern::OneAtATime;

    /// The log that is replayed in place of generated frames.
    ///
    /// The settings traffic, payload and frames are then those of the log
    /// ([`Experiment::playing`]).
    Log = "log", "FILE", Mention::Worded, Absent::Default, SettingScope::Replay;
    log: LogTraffic = LogTraffic::NONE;

    /// Other work of the gateway's machine: none, cpu, eth-rx or eth-tx.
    ///
    /// Example: --load eth-rx
    Load = "load", "LOAD", Mention::Always(""), Absent::Incomplete, SettingScope::Plain;
    load: MachineLoad = MachineLoad::None;

    /// Payload bytes: 2 to 8, of round trips also 0 and 1; except on kvaser and vm also 12, 16, 20,
    /// 24, 32, 48 or 64 (FD).
    ///
    /// The first two bytes are the number of the frame. Example: --payload 8
    Payload = "payload", "N", Mention::Always("B"), Absent::Incomplete;
    payload: u8 = 4, 0..=LONGEST_PAYLOAD as u8, "number of payload bytes";

    /// Number and kind of the gateway's rules: none, sff:N, list:N or eff:N.
    ///
    /// Only the last rule matches the frames that are sent. N is 1 to 2048; for eff up to 100000
    /// with the gateways bpf and user:….
    Filters = "filters", "FILTERS", Mention::NameTitle, Absent::Incomplete, SettingScope::Routes;
    filters: FilterChoice = FilterChoice::None;

    /// How the gateway changes each frame: none, copy, id, and, or, xor, set, crc8 or xorsum.
    ///
    /// Example: --modify crc8
    Modify = "modify", "CHANGE", Mention::NameTitle, Absent::Incomplete, SettingScope::Routes;
    modify: ModifyChoice = ModifyChoice::None;

    /// Passes through virtual interfaces between the two buses: N, N:2, N:vxcan or N:2:vxcan.
    ///
    /// A pass is one more way through the gateway: a rule sends the frame into a virtual interface,
    /// and the next rule takes it from there (gateway-2010-draft §IV-E).
    ///
    /// The gateways can-gw, bpf and user:read-write need vxcan.
    Hops = "hops", "HOPS", Mention::NameTitle, Absent::Incomplete, SettingScope::Hops;
    hops: HopChoice = HopChoice::NONE;

    /// The guest's processor in virtual time: pc, board, board:N or shift:N.
    ///
    /// The controllers are those of the timed bench. An SJA1000 has one transmit buffer; an MSCAN
    /// has three, and a receive FIFO of four frames.
    Cpu = "cpu", "CPU", Mention::NameTitle, Absent::Incomplete;
    cpu: Cpu = Cpu::Pc;

    /// Priorities on the gateway's processor: gateway, ordinary or softirq.
    ///
    /// Example: --priority softirq
    Priority = "priority", "WHO", Mention::Changed, Absent::Incomplete, SettingScope::Process;
    priority: Priority = Priority::Gateway;

    /// Tuning of the kernel: irq-thread:N, softirq-thread:N, threaded-napi, netdev-budget:N, joined
    /// by +; or none.
    ///
    /// Examples: --tuning irq-thread:95, --tuning threaded-napi+netdev-budget:1
    Tuning = "tuning", "TUNING", Mention::Changed, Absent::Default, SettingScope::Plain;
    tuning: Tuning = Tuning::default();

    /// Parameters for the guest's kernel, joined by +; none for no parameter.
    ///
    /// Parameters that the lab sets itself are refused.
    ///
    /// Examples: --boot nohz=off, --boot nohz=off+threadirqs
    Boot = "boot", "PARAMETERS", Mention::Changed, Absent::Incomplete, SettingScope::Guest;
    boot: Boot = Boot::default();

    /// Nanoseconds that each exit of an inner machine takes in addition to KVM's work for it: 0 to
    /// 100000.
    ///
    /// Virtual time includes the hypervisor's instructions, but not the time that hardware needs to
    /// leave and to enter a machine. Example: --exit-cost 1000
    ExitCost = "exit-cost", "NS", Mention::Name, Absent::Default, SettingScope::Inner;
    exit_cost: u32 = 0, 0..=MAX_EXIT_COST, "number of nanoseconds";

    /// Machines that share the controller, 1 to 8: one asks, the others send at the same time (vm
    /// bench only).
    ///
    /// With vm:native, programs on controllers of their own. Example: --machines 8
    Machines = "machines", "N", Mention::Changed, Absent::Default, SettingScope::Shared;
    machines: u8 = 1, 1..=MAX_MACHINES, "number of machines";

    /// Frames of the machines other than the one that asks: flood, load:PERCENT or babble.
    ///
    /// Example: --machines 4 --others load:50
    Others = "others", "TRAFFIC", Mention::Changed, Absent::Default, SettingScope::Others;
    others: OtherTraffic = OtherTraffic::Flood;

    /// The order in which frames of several machines are sent: priority or fifo.
    ///
    /// Example: --machines 4 --order fifo
    Order = "order", "ORDER", Mention::Changed, Absent::Default, SettingScope::Order;
    order: MachineOrder = MachineOrder::Priority;

    /// Frames per second that each machine other than the one that asks may send; 0: no limit.
    ///
    /// Example: --machines 2 --others babble --budget 500
    Budget = "budget", "N", Mention::Changed, Absent::Default, SettingScope::Budget;
    budget: u32 = 0, 0..=MAX_BUDGET, "number of frames a second";

    /// The incident in the middle of the round trips: none, kill, pause, reset or bus-off.
    ///
    /// After kill and reset the machine is started again. Example: --machines 3 --incident kill
    Incident = "incident", "INCIDENT", Mention::Changed, Absent::Default, SettingScope::Incident;
    incident: Incident = Incident::None;

    /// Number of frames, 1 to 1000000.
    Frames = "frames", "N", Mention::Always("f"), Absent::Incomplete;
    frames: u32 = 500, 1..=MOST_FRAMES, "number of frames";

    /// Seed of the random payload bytes.
    Seed = "seed", "N", Mention::Name, Absent::Incomplete;
    seed: u64 = 1, 0..=u64::MAX, "seed";

    /// The guest's clock: virtual or real.
    Clock = "clock", "CLOCK", Mention::Worded, Absent::Incomplete;
    clock: ClockChoice = ClockChoice::Virtual;

    /// On the timed bench: stamp only every Nth frame, to measure the cost of stamping.
    ///
    /// Example: --stamp-every 10
    StampEvery = "stamp-every", "N", Mention::Changed, Absent::Incomplete, SettingScope::Stamps;
    stamp_every: u32 = 1, 1..=MAX_STAMP_EVERY, "distance between stamps";

    /// Whether the tester and the other end of an Ethernet load have machines of their own: no or
    /// yes.
    Apart = "apart", "WHETHER", Mention::Worded, Absent::Default, SettingScope::Apart;
    apart: MachinePlacement = MachinePlacement::Together;
}

/// The longest distance between two stamps, frames: the frame's number, by which the tester of the
/// timed bench identifies the frame to stamp, has 16 bits.
pub const MAX_STAMP_EVERY: u32 = 65_536;

/// The highest cost of an exit, ns: a hundred times the cost of an exit on the slowest known
/// processors.
pub const MAX_EXIT_COST: u32 = 100_000;

impl fmt::Display for Setting {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A setting with an invalid word.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("--{setting}: {word}")]
pub struct SettingError {
    /// The setting.
    pub setting: Setting,
    /// The error in its word.
    pub word: WordError,
}

impl Setting {
    /// Returns its name, the key in matrix files and in results.
    #[must_use]
    pub const fn name(self) -> &'static str {
        self.definition().name
    }

    /// Sets it to a word.
    ///
    /// # Errors
    /// [`SettingError`] where the word has no meaning.
    pub fn apply(self, experiment: &mut Experiment, word: &str) -> Result<(), SettingError> {
        self.try_apply(experiment, word.trim())
            .map_err(|word| SettingError {
                setting: self,
                word,
            })
    }
}

impl Experiment {
    /// Returns all settings with their words.
    #[must_use]
    pub fn settings(&self) -> Vec<(Setting, String)> {
        Setting::ALL.iter().map(|&s| (s, s.word(self))).collect()
    }

    /// Creates an experiment from words; settings that are not given have `lab measure`'s defaults.
    ///
    /// # Errors
    /// [`SettingError`] for the first word that has no meaning.
    pub fn from_words<'w>(
        words: impl IntoIterator<Item = (Setting, &'w str)>,
    ) -> Result<Self, SettingError> {
        let mut experiment = Self::default();
        for (setting, word) in words {
            setting.apply(&mut experiment, word)?;
        }
        Ok(experiment)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_wrong_word_names_the_option() {
        let wrong = Experiment::from_words([(Setting::Payload, "65")]).unwrap_err();
        assert_eq!(
            wrong.to_string(),
            "--payload: `65` is not a number of payload bytes: give a whole number from 0 to 64"
        );
    }

    #[test]
    fn help_has_the_words_behind_the_first_paragraph() {
        let load = Setting::Load.definition();
        assert_eq!(
            load.help(),
            "Other work of the gateway's machine: none, cpu, eth-rx or eth-tx"
        );
        let long = load.long_help();
        assert!(
            long.contains("eth-tx.\n\n  none    No other work\n  cpu "),
            "{long}"
        );
        assert!(long.ends_with("\n\nExample: --load eth-rx"), "{long}");
        let cost = Setting::ExitCost.definition().long_help();
        assert!(
            cost.contains("\n\nOnly an inner machine has exits: --bench vm "),
            "{cost}"
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
    }
}
