//! An experiment as a list of settings, each with a name and a word.

use crate::choices::{MOST_BUDGET, MOST_MACHINES, WordError, number};
use crate::experiment::Experiment;
use guest::Kernel;
use probe::traffic::{LONGEST_PAYLOAD, MOST_FRAMES};
use std::fmt;

macro_rules! settings {
    ($($(#[$doc:meta])* $name:ident = $text:literal,)*) => {
        /// A setting of an experiment.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum Setting { $($(#[$doc])* $name,)* }

        impl Setting {
            /// All settings, in the order in which they are shown.
            pub const ALL: &'static [Self] = &[$(Self::$name,)*];

            /// Returns its name: `lab measure`'s option without the dashes, the key in matrix files
            /// and in results.
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
    /// The task of the machine under test.
    Task = "task",
    /// The gateway under test.
    Gateway = "gateway",
    /// The pattern in which frames come.
    Traffic = "traffic",
    /// A log that is replayed.
    Log = "log",
    /// The load on the gateway's machine.
    Load = "load",
    /// Payload bytes.
    Payload = "payload",
    /// The filters of the gateway.
    Filters = "filters",
    /// The changes that the gateway makes.
    Modify = "modify",
    /// Passes through virtual interfaces.
    Hops = "hops",
    /// The guest's processor.
    Cpu = "cpu",
    /// The priorities in the gateway's machine.
    Priority = "priority",
    /// The tuning of the kernel.
    Tuning = "tuning",
    /// Parameters for the guest's kernel.
    Boot = "boot",
    /// The additional time of an exit of an inner machine, ns.
    ExitCost = "exit-cost",
    /// Machines that share the controller.
    Machines = "machines",
    /// The frames of the machines that do not ask.
    Others = "others",
    /// The order in which the frames of all are sent.
    Order = "order",
    /// Frames per second that each of the others may send; 0: no limit.
    Budget = "budget",
    /// The incident in the middle of the round trips.
    Incident = "incident",
    /// Number of frames.
    Frames = "frames",
    /// Seed of everything random.
    Seed = "seed",
    /// Virtual or real time.
    Clock = "clock",
    /// The interval, in frames, at which stamps are taken.
    StampEvery = "stamp-every",
}

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

/// The longest distance between two stamps, frames: the frame's number, by which the tester of the
/// timed bench identifies the frame to stamp, has 16 bits.
pub const MOST_STAMP_EVERY: u32 = 65_536;

/// The highest cost of an exit, ns: a hundred times the cost of an exit on the slowest known
/// processors.
pub const MOST_EXIT_COST: u32 = 100_000;

/// Parses a number of payload bytes: [`Experiment::check`] determines which numbers are possible.
fn payload(word: &str) -> Result<u8, WordError> {
    let bytes = number(word, 0, LONGEST_PAYLOAD, "number of payload bytes")?;
    // At most 64.
    Ok(bytes as u8)
}

impl Setting {
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

    fn try_apply(self, e: &mut Experiment, word: &str) -> Result<(), WordError> {
        match self {
            Self::Kernel => e.kernel = word.parse::<Kernel>()?.to_string(),
            Self::Bench => e.bench = word.parse()?,
            Self::Task => e.task = word.parse()?,
            Self::Gateway => e.gateway = word.parse()?,
            Self::Traffic => e.traffic = word.parse()?,
            Self::Log => e.log = word.parse()?,
            Self::Load => e.load = word.parse()?,
            Self::Payload => e.payload = payload(word)?,
            Self::Filters => e.filters = word.parse()?,
            Self::Modify => e.modify = word.parse()?,
            Self::Hops => e.hops = word.parse()?,
            Self::Cpu => e.cpu = word.parse()?,
            Self::Priority => e.priority = word.parse()?,
            Self::Tuning => e.tuning = word.parse()?,
            Self::Boot => e.boot = word.parse()?,
            Self::ExitCost => {
                e.exit_cost = number(word, 0, MOST_EXIT_COST, "number of nanoseconds")?;
            }
            Self::Machines => {
                e.machines.count = number(word, 1, MOST_MACHINES, "number of machines")?;
            }
            Self::Others => e.machines.others = word.parse()?,
            Self::Order => e.machines.order = word.parse()?,
            Self::Budget => {
                e.machines.budget = number(word, 0, MOST_BUDGET, "number of frames a second")?;
            }
            Self::Incident => e.machines.incident = word.parse()?,
            Self::Frames => e.frames = number(word, 1, MOST_FRAMES, "number of frames")?,
            Self::Seed => e.seed = number(word, 0, u64::MAX, "seed")?,
            Self::Clock => {
                e.real_time = match word {
                    "virtual" => false,
                    "real" => true,
                    _ => return Err(WordError::unknown(word, "clock", "virtual, real")),
                }
            }
            Self::StampEvery => {
                e.stamp_every = number(word, 1, MOST_STAMP_EVERY, "distance between stamps")?;
            }
        }
        Ok(())
    }

    /// Returns its word in an experiment.
    #[must_use]
    pub fn word(self, e: &Experiment) -> String {
        match self {
            Self::Kernel => e.kernel.clone(),
            Self::Bench => e.bench.to_string(),
            Self::Task => e.task.to_string(),
            Self::Gateway => e.gateway.to_string(),
            Self::Traffic => e.traffic.to_string(),
            Self::Log => e.log.to_string(),
            Self::Load => e.load.to_string(),
            Self::Payload => e.payload.to_string(),
            Self::Filters => e.filters.to_string(),
            Self::Modify => e.modify.to_string(),
            Self::Hops => e.hops.to_string(),
            Self::Cpu => e.cpu.to_string(),
            Self::Priority => e.priority.to_string(),
            Self::Tuning => e.tuning.to_string(),
            Self::Boot => e.boot.to_string(),
            Self::ExitCost => e.exit_cost.to_string(),
            Self::Machines => e.machines.count.to_string(),
            Self::Others => e.machines.others.to_string(),
            Self::Order => e.machines.order.to_string(),
            Self::Budget => e.machines.budget.to_string(),
            Self::Incident => e.machines.incident.to_string(),
            Self::Frames => e.frames.to_string(),
            Self::Seed => e.seed.to_string(),
            Self::Clock => if e.real_time { "real" } else { "virtual" }.to_owned(),
            Self::StampEvery => e.stamp_every.to_string(),
        }
    }

    /// Returns whether it is always part of an experiment's name.
    pub(crate) fn always_named(self) -> bool {
        matches!(
            self,
            Self::Kernel | Self::Bench | Self::Gateway | Self::Traffic | Self::Load | Self::Payload
        )
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
    use crate::arbitrary::any_experiment;
    use proptest::prelude::*;

    #[test]
    fn a_wrong_word_names_the_option() {
        let wrong = Experiment::from_words([(Setting::Payload, "65")]).unwrap_err();
        assert_eq!(
            wrong.to_string(),
            "--payload: `65` is not a number of payload bytes: give a whole number from 0 to 64"
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
