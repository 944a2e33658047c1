//! The unique name of an experiment, the command that runs it, and its title.

use crate::choices::{Boot, ExperimentTask, Priority, Tuning};
use crate::experiment::Experiment;
use crate::settings::Setting;

impl Experiment {
    /// Returns its name, which is different for every experiment and fit for a file: kernel, bench,
    /// gateway, traffic, load and payload, then the settings that differ from `lab measure`'s
    /// defaults, then the number of frames.
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
        shortened(name)
    }

    /// Returns the command line of `lab measure` that runs it.
    #[must_use]
    pub fn command(&self) -> String {
        let default = Self::default();
        let mut line = "cangate lab measure".to_owned();
        for (setting, word) in self.settings() {
            match setting {
                Setting::Clock if self.real_time => line.push_str(" --real-time"),
                Setting::Clock => {}
                Setting::StampEvery if self.stamp_every == 1 => {}
                Setting::Priority if self.priority == Priority::Gateway => {}
                Setting::Boot if self.boot == Boot::default() => {}
                Setting::Task if self.task == ExperimentTask::Gateway => {}
                Setting::Tuning if self.tuning == Tuning::default() => {}
                Setting::Machines
                | Setting::Others
                | Setting::Order
                | Setting::Budget
                | Setting::Incident
                    if word == setting.word(&default) => {}
                // These settings are those of the log.
                Setting::Traffic | Setting::Payload | Setting::Frames if self.log.is_some() => {}
                Setting::Log => {
                    if let Some(name) = self.log.name() {
                        line.push_str(&format!(" --log {name}"));
                    }
                }
                _ => line.push_str(&format!(" --{setting} {word}")),
            }
        }
        line
    }

    /// Returns its title, for people.
    #[must_use]
    pub fn title(&self) -> String {
        let default = Experiment::default();
        let task = match self.task {
            ExperimentTask::Gateway => "",
            ExperimentTask::RoundTrip => "round trips, ",
            ExperimentTask::Loop => "own frames, ",
            ExperimentTask::Receive => "receiving, ",
        };
        let traffic = match self.log.name() {
            Some(name) => format!("log {name}"),
            None => self.traffic.to_string(),
        };
        let mut title = format!(
            "{task}{} on {}, {} bench, {traffic}, load {}, {} B",
            self.gateway, self.kernel, self.bench, self.load, self.payload
        );
        for setting in [
            Setting::Filters,
            Setting::Modify,
            Setting::Hops,
            Setting::Cpu,
            Setting::Priority,
            Setting::Tuning,
            Setting::Boot,
            Setting::Machines,
            Setting::Others,
            Setting::Order,
            Setting::Budget,
            Setting::Incident,
            Setting::StampEvery,
        ] {
            let word = setting.word(self);
            if word != setting.word(&default) {
                title.push_str(&format!(", {setting} {word}"));
            }
        }
        if self.real_time {
            title.push_str(", real time");
        }
        title
    }
}

/// The longest name, bytes: Linux's NAME_MAX, with room for the additions of a store.
const LONGEST: usize = 255 - 20;

/// Returns the FNV-1a hash, 64 bits: it is the same on every machine and with every compiler.
pub(crate) fn checksum(text: &str) -> u64 {
    text.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |sum, byte| {
        (sum ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    })
}

/// Shortens a name that is too long for a file, with a checksum in place of its end.
fn shortened(name: String) -> String {
    if name.len() <= LONGEST {
        return name;
    }
    let end = format!("_{:016x}", checksum(&name));
    let kept: String = name.chars().take(LONGEST - end.len()).collect();
    kept + &end
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::arbitrary::any_experiment;
    use crate::choices::{Cpu, FilterChoice};
    use guest::machine::BenchKind;
    use probe::traffic::TrafficPattern;
    use proptest::prelude::*;

    #[test]
    fn names_are_short_and_say_what_is_special() {
        let mut e = Experiment::default();
        assert_eq!(e.name(), "6.1_kvaser_cangw_oneatatime_none_4B_500f");
        e.filters = FilterChoice::List(2048);
        e.cpu = Cpu::Board;
        e.bench = BenchKind::Timed;
        e.traffic = TrafficPattern::Load(50);
        assert_eq!(
            e.name(),
            "6.1_timed_cangw_load-50_none_4B_filters-list-2048_cpu-board_500f"
        );
    }

    proptest! {
        #[test]
        fn names_differ_where_experiments_do(a in any_experiment(), b in any_experiment()) {
            prop_assert_eq!(a == b, a.name() == b.name());
            let fit = |c: char| c.is_ascii_alphanumeric() || "._-".contains(c);
            prop_assert!(a.name().chars().all(fit), "{}", a.name());
            prop_assert!(a.name().len() <= LONGEST, "{}", a.name());
            // One setting only.
            for (s, word) in b.settings() {
                let mut c = a.clone();
                s.apply(&mut c, &word).unwrap();
                prop_assert_eq!(a == c, a.name() == c.name());
            }
        }
    }
}
