//! Options for settings of experiments, made from the settings' definitions.

use clap::{Arg, ArgMatches, Args, Command, FromArgMatches};
use experiment::Experiment;
use experiment::settings::Setting;
use std::marker::PhantomData;

/// A command with options for settings.
pub(crate) trait SettingSelection {
    /// Returns whether the command has an option that is made from the definition of the setting.
    fn has(setting: Setting) -> bool;
}

/// `cangate lab measure`.
#[derive(Debug)]
pub(crate) struct OfMeasure;

impl SettingSelection for OfMeasure {
    /// `--log` reads a file, and `--real-time` and `--apart` are flags: they are options of their
    /// own.
    fn has(setting: Setting) -> bool {
        !matches!(setting, Setting::Log | Setting::Clock | Setting::Apart)
    }
}

/// `cangate lab rate`.
#[derive(Debug)]
pub(crate) struct OfSearch;

impl SettingSelection for OfSearch {
    /// A search for a rate is of a gateway in virtual time, in one guest, and chooses the traffic
    /// itself.
    fn has(setting: Setting) -> bool {
        !matches!(
            setting,
            Setting::Task
                | Setting::Traffic
                | Setting::Log
                | Setting::Frames
                | Setting::Clock
                | Setting::StampEvery
                | Setting::Apart
        )
    }
}

/// `cangate lab exec`.
#[derive(Debug)]
pub(crate) struct OfExec;

impl SettingSelection for OfExec {
    fn has(setting: Setting) -> bool {
        matches!(setting, Setting::Kernel | Setting::Cpu | Setting::Boot)
    }
}

/// `cangate lab shell`, whose guests run in real time.
#[derive(Debug)]
pub(crate) struct OfShell;

impl SettingSelection for OfShell {
    fn has(setting: Setting) -> bool {
        setting == Setting::Kernel
    }
}

/// The settings that were given on the command line, with their words.
#[derive(Debug)]
pub(crate) struct SettingOptions<S> {
    pub(crate) words: Vec<(Setting, String)>,
    selection: PhantomData<S>,
}

fn selected<S: SettingSelection>() -> impl Iterator<Item = Setting> {
    Setting::ALL.iter().copied().filter(|&s| S::has(s))
}

impl<S: SettingSelection> Args for SettingOptions<S> {
    fn augment_args(command: Command) -> Command {
        let usual = Experiment::default();
        let option = |setting: Setting| {
            let definition = setting.definition();
            let usual = setting.word(&usual);
            Arg::new(definition.name)
                .long(definition.name)
                .value_name(definition.placeholder)
                .help(format!("{} [default: {usual}]", definition.help()))
                .long_help(format!("{}\n\n[default: {usual}]", definition.long_help()))
        };
        command.args(selected::<S>().map(option))
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

impl<S: SettingSelection> FromArgMatches for SettingOptions<S> {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        let word = |setting: Setting| {
            let word = matches.get_one::<String>(setting.name())?;
            Some((setting, word.clone()))
        };
        Ok(Self {
            words: selected::<S>().filter_map(word).collect(),
            selection: PhantomData,
        })
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}
