//! The unique name of an experiment, the command that runs it, and its title.

use crate::choices::{ExperimentTask, checksum};
use crate::settings::{Experiment, Mention, Setting};

impl Setting {
    /// Returns the option of `lab measure` for its value, where there is one.
    pub(crate) fn option(self, experiment: &Experiment) -> String {
        match self {
            Self::Clock if experiment.is_real_time() => "--real-time".to_owned(),
            Self::Apart if experiment.is_apart() => "--apart".to_owned(),
            _ => format!("--{self} {}", self.word(experiment)),
        }
    }
}

impl Experiment {
    /// Returns its name, which is different for every experiment and fit for a file: kernel, bench,
    /// gateway, traffic, load and payload, then the settings that differ from `lab measure`'s
    /// defaults, then the number of frames.
    #[must_use]
    pub fn name(&self) -> String {
        let part = |&setting: &Setting| {
            let word = setting.word(self);
            let plain = word.replace([':', '='], "-").replace('+', "--");
            match setting.definition().mention {
                Mention::Always(unit) => Some(format!("{plain}{unit}")),
                _ if !setting.is_set(self) => None,
                _ => Some(format!("{setting}-{plain}")),
            }
        };
        let parts: Vec<_> = Setting::ALL.iter().filter_map(part).collect();
        shortened(parts.join("_"))
    }

    /// Returns the command line of `lab measure` that runs it.
    #[must_use]
    pub fn command(&self) -> String {
        let part = |(setting, _): (Setting, String)| {
            let option = setting.option(self);
            match setting {
                // These settings are those of the log.
                Setting::Traffic | Setting::Payload | Setting::Frames if self.log.is_some() => None,
                Setting::Log => self.log.name().map(|name| format!("--log {name}")),
                Setting::Clock => self.is_real_time().then_some(option),
                Setting::Apart => self.is_apart().then_some(option),
                _ => match setting.definition().mention {
                    Mention::Always(_) | Mention::NameTitle | Mention::Name => Some(option),
                    Mention::Changed | Mention::Worded => setting.is_set(self).then_some(option),
                },
            }
        };
        let parts: Vec<_> = self.settings().into_iter().filter_map(part).collect();
        format!("cangate lab measure {}", parts.join(" "))
    }

    /// Returns its title, for people.
    #[must_use]
    pub fn title(&self) -> String {
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
        for (setting, word) in self.settings() {
            let mention = setting.definition().mention;
            if matches!(mention, Mention::NameTitle | Mention::Changed) && setting.is_set(self) {
                title.push_str(&format!(", {setting} {word}"));
            }
        }
        if self.is_apart() {
            title.push_str(", machines apart");
        }
        if self.is_real_time() {
            title.push_str(", real time");
        }
        title
    }
}

/// The longest name, bytes: Linux's NAME_MAX, with room for the additions of a store.
const LONGEST: usize = 255 - 20;

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
    use crate::choices::{Cpu, FilterChoice, MachinePlacement};
    use guest::machine::BenchKind;
    use probe::traffic::TrafficPattern;
    use proptest::prelude::*;

    #[test]
    fn names_are_short_and_contain_special_settings() {
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

    #[test]
    fn machines_apart_are_a_flag_of_the_command() {
        let e = Experiment {
            apart: MachinePlacement::Apart,
            ..Experiment::default()
        };
        assert_eq!(
            e.name(),
            "6.1_kvaser_cangw_oneatatime_none_4B_500f_apart-yes"
        );
        assert!(e.command().ends_with(" --apart"), "{}", e.command());
        assert!(e.title().ends_with(", machines apart"), "{}", e.title());
        assert!(!Experiment::default().command().contains("--apart"));
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
