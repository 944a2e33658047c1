//! The options of experiments: `cangate lab measure` and `cangate lab rate`.

use super::lab::Locations;
use super::settings::{OfMeasure, OfSearch, SettingOptions};
use clap::Args;
use std::path::PathBuf;

#[derive(Args, Debug)]
pub(crate) struct Measure {
    #[command(flatten)]
    pub(crate) locations: Locations,
    #[command(flatten)]
    pub(crate) settings: SettingOptions<OfMeasure>,
    /// Replay this log instead, at its own times (timed bench only).
    ///
    /// The tester is one node with one transmit buffer, and sends the frames in the order of the
    /// log. The number of the frame replaces the first two payload bytes. All identifiers pass the
    /// gateway unchanged.
    ///
    /// Example: --log worst.log
    #[arg(long, value_name = "FILE", conflicts_with_all = ["traffic", "frames", "payload"])]
    pub(crate) log: Option<PathBuf>,
    /// With --log: the frames of this interface are sent on the outgoing bus, in addition to the
    /// gateway's.
    ///
    /// Example: --log-out logger
    #[arg(long, value_name = "INTERFACE", requires = "log")]
    pub(crate) log_out: Option<String>,
    /// Measure in real time instead of virtual time (kvaser bench only).
    ///
    /// Such a result is not reproducible; the result states that its time is real.
    #[arg(long)]
    pub(crate) real_time: bool,
    /// Give the tester and the other end of an Ethernet load machines of their own, with a
    /// processor each.
    ///
    /// All machines are in one virtual time. On the kvaser bench, the gateway is between two buses
    /// of 1 Mbit/s, whose ends of frame are the times (cangw, can-gw, bpf,
    /// user:RECEIVE-TRANSMIT). On the timed bench, gateways and round trips are as usual, and the
    /// load comes from the other machine (--load eth-rx or eth-tx).
    #[arg(long)]
    pub(crate) apart: bool,
    /// Do not measure the ideal gateway in addition.
    ///
    /// It shows which part of the latency is the bench's, and takes one more guest.
    #[arg(long)]
    pub(crate) no_floor: bool,
    /// Write the result to this Parquet file.
    #[arg(long, value_name = "FILE")]
    pub(crate) out: Option<PathBuf>,
    /// Print the result as JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Args, Debug)]
pub(crate) struct Rate {
    #[command(flatten)]
    pub(crate) locations: Locations,
    #[command(flatten)]
    pub(crate) settings: SettingOptions<OfSearch>,
    /// Number of frames in each attempt, 1 to 1000000.
    ///
    /// If a gateway is only a little too slow, it loses frames only after its queues are full. Few
    /// frames therefore give too high a rate.
    #[arg(long, value_name = "N", default_value = "10000")]
    pub(crate) frames: String,
    /// The folder for the results of all attempts; an interrupted search continues from it.
    #[arg(long, value_name = "DIR", default_value = "rates")]
    pub(crate) out: PathBuf,
    /// Print the result as JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

#[cfg(test)]
mod tests {
    use crate::cli::Cli;
    use clap::CommandFactory;
    use experiment::settings::Setting;
    use experiment::{Cpu, Experiment, FilterChoice, HopChoice};
    use std::fmt::Debug;
    use std::str::FromStr;

    /// Returns the help of `cangate lab measure` for an option.
    fn help(option: &str) -> String {
        let command = Cli::command();
        let measure = command.find_subcommand("measure").unwrap();
        let mut arguments = measure.get_arguments();
        let argument = arguments.find(|a| a.get_long() == Some(option)).unwrap();
        argument.get_long_help().unwrap().to_string()
    }

    /// Returns the examples in an option's help, each of which is a value.
    fn examples<T: FromStr<Err: Debug>>(option: &str) -> Vec<String> {
        let help = help(option);
        let mark = format!("--{option} ");
        let after = help.split(mark.as_str()).skip(1);
        let words = after.map(|rest| rest.split_whitespace().next().unwrap());
        let words: Vec<String> = words
            .map(|word| word.trim_end_matches('.').to_owned())
            .collect();
        for word in &words {
            word.parse::<T>().unwrap();
        }
        words
    }

    #[test]
    fn each_word_of_a_setting_has_an_example() {
        for (option, words, given) in [
            (
                "cpu",
                ["pc", "board", "board:", "shift:"],
                examples::<Cpu>("cpu"),
            ),
            (
                "filters",
                ["none", "sff:", "list:", "eff:"],
                examples::<FilterChoice>("filters"),
            ),
            (
                "hops",
                ["0", ":2", ":vxcan", ":2:vxcan"],
                examples::<HopChoice>("hops"),
            ),
        ] {
            for word in words {
                let is = |example: &String| match word.strip_suffix(':') {
                    Some(_) => example.starts_with(word),
                    None if word.starts_with(':') => example.get(1..) == Some(word),
                    None => example == word,
                };
                assert!(given.iter().any(is), "--{option} {word}: {given:?}");
            }
        }
    }

    #[test]
    fn examples_of_settings_can_be_measured() {
        for (setting, words) in [
            (Setting::Cpu, examples::<Cpu>("cpu")),
            (Setting::Filters, examples::<FilterChoice>("filters")),
            (Setting::Hops, examples::<HopChoice>("hops")),
        ] {
            for word in words {
                let experiment = Experiment::from_words([(setting, word.as_str())]).unwrap();
                experiment
                    .check()
                    .unwrap_or_else(|why| panic!("{setting:?} {word}: {why:?}"));
            }
        }
    }
}
