//! The cargo features of this program: those in this build, and errors for those that it lacks.

use clap::error::{ContextKind, ContextValue, ErrorKind};
use console::Failure;

/// A cargo feature, apart from the kinds of port.
pub(crate) struct CargoFeature {
    /// Its name in crates/cangate/Cargo.toml.
    pub(crate) name: &'static str,
    /// Whether this build has it.
    pub(crate) is_built_in: bool,
    /// The commands that need it.
    commands: &'static [&'static str],
}

macro_rules! features {
    ($($name:literal: [$($command:literal),*],)*) => {
        /// All features apart from the kinds of port.
        pub(crate) const FEATURES: &[CargoFeature] = &[$(CargoFeature {
            name: $name,
            is_built_in: cfg!(feature = $name),
            commands: &[$($command),*],
        }),*];
    };
}

features! {
    "arxml": [],
    "bound": ["bound"],
    "bpf": [],
    "capture": ["capture", "convert"],
    "dbc": [],
    "decode": ["decode"],
    "demo": ["demo"],
    "io-uring": [],
    "kcd": [],
    "list": ["list"],
    "man": ["man", "completions"],
    "parquet": [],
    "ping": ["ping"],
    "send": ["send"],
    "shm": ["shm"],
    "top": ["top"],
    "watch": ["watch"],
}

/// Returns an error if the command line names a command that this build does not have; `None` if
/// parsing failed for another reason.
pub(crate) fn missing_command(end: &clap::Error) -> Option<Failure> {
    if end.kind() != ErrorKind::InvalidSubcommand {
        return None;
    }
    let Some(ContextValue::String(word)) = end.get(ContextKind::InvalidSubcommand) else {
        return None;
    };
    let needs =
        |feature: &&CargoFeature| !feature.is_built_in && feature.commands.contains(&word.as_str());
    let feature = FEATURES.iter().find(needs)?;
    Some(Failure::Input(format!(
        "the command `{word}` is not in this build of cangate, which was made without the feature `{name}`: build it \
         with `--features {name}`, or install a package with all features",
        name = feature.name
    )))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The features of Cargo.toml, without the kinds of port, which `port` lists.
    #[test]
    fn the_list_is_that_of_the_manifest() {
        let manifest = include_str!("../../Cargo.toml");
        let section = manifest.split("[features]").nth(1).unwrap();
        let section = section.split("\n[").next().unwrap();
        let lines = section
            .lines()
            .filter(|line| !line.starts_with(['#', ' ', ']']));
        let names = lines.filter_map(|line| Some(line.split_once(" = ")?.0));
        let kinds = [
            "socketcan",
            "bus",
            "log",
            "direct",
            "chardev",
            "virtio",
            "messages",
            "split",
            "cannelloni",
            "socketcand",
            "slcan",
            "multicast",
            "ieee1722",
        ];
        let mut names: Vec<&str> = names
            .filter(|name| *name != "default" && !kinds.contains(name))
            .collect();
        names.sort_unstable();
        let known: Vec<&str> = FEATURES.iter().map(|feature| feature.name).collect();
        assert_eq!(known, names);
    }
}
