//! The description of a result: the requested settings, and the versions that it was made with.

use crate::settings::{Absent, Experiment, Setting};
use probe::RunDescription;

/// The reason why a result belongs to something else.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ResultMismatch {
    /// A setting or a version differs.
    #[error("{name} was {was}, and is {is}")]
    Differs {
        /// The name of the setting or version.
        name: String,
        /// The result's.
        was: String,
        /// The requested value.
        is: String,
    },
    /// The result does not name a setting or a version.
    #[error("it does not contain its {0}")]
    Unsaid(String),
}

/// Returns the name that a version has in a result.
fn version_key(name: &str) -> String {
    format!("version {name}")
}

/// Sets an additional entry.
fn put(description: &mut RunDescription, name: &str, value: String) {
    match description.more.iter_mut().find(|(n, _)| n == name) {
        Some(entry) => entry.1 = value,
        None => description.more.push((name.to_owned(), value)),
    }
}

/// Records the requested settings and the versions used.
pub(crate) fn describe(
    description: &mut RunDescription,
    experiment: &Experiment,
    versions: &[(String, String)],
) {
    description.title = experiment.title();
    description.command = experiment.command();
    description.seed = experiment.seed;
    for (setting, word) in experiment.settings() {
        put(description, setting.name(), word);
    }
    for (name, version) in versions {
        put(description, &version_key(name), version.clone());
    }
}

/// Checks whether it is the result of this experiment with these versions; if not, reports the
/// difference.
///
/// # Errors
/// The first setting or version that differs.
pub fn is_of(
    description: &RunDescription,
    experiment: &Experiment,
    versions: &[(String, String)],
) -> Result<(), ResultMismatch> {
    let settings = experiment.settings();
    let settings = settings.iter().map(|(s, word)| (s.name().to_owned(), word));
    let versions = versions.iter().map(|(name, v)| (version_key(name), v));
    for (name, wanted) in settings.chain(versions) {
        let found = description.more.iter().find(|(n, _)| *n == name);
        match found {
            Some((_, value)) if value == wanted => {}
            Some((_, value)) => {
                return Err(ResultMismatch::Differs {
                    name,
                    was: value.clone(),
                    is: wanted.clone(),
                });
            }
            None => return Err(ResultMismatch::Unsaid(name)),
        }
    }
    Ok(())
}

/// Returns the experiment to which a result belongs, according to its description.
#[must_use]
pub fn experiment_of(description: &RunDescription) -> Option<Experiment> {
    let mut experiment = Experiment::default();
    for &setting in Setting::ALL {
        match description.more.iter().find(|(n, _)| n == setting.name()) {
            Some((_, word)) => setting.apply(&mut experiment, word).ok()?,
            None if setting.definition().absent == Absent::Default => {}
            None => return None,
        }
    }
    Some(experiment)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_result_names_its_experiment() {
        let e = Experiment::default();
        let versions = [("qemu".to_owned(), "11".to_owned())];
        let mut description = RunDescription::default();
        describe(&mut description, &e, &versions);
        assert_eq!(is_of(&description, &e, &versions), Ok(()));
        assert_eq!(experiment_of(&description), Some(e.clone()));
        let other = Experiment {
            seed: 2,
            ..e.clone()
        };
        let why = is_of(&description, &other, &versions).unwrap_err();
        assert_eq!(why.to_string(), "seed was 1, and is 2");
        let newer = [("qemu".to_owned(), "12".to_owned())];
        let why = is_of(&description, &e, &newer).unwrap_err();
        assert_eq!(why.to_string(), "version qemu was 11, and is 12");
        let why = is_of(&RunDescription::default(), &e, &[]).unwrap_err();
        assert_eq!(why, ResultMismatch::Unsaid("kernel".to_owned()));
    }

    #[test]
    fn results_from_before_a_setting_have_its_default() {
        let e = Experiment {
            frames: 7,
            ..Experiment::default()
        };
        let mut first = RunDescription::default();
        describe(&mut first, &e, &[]);
        let added = |name: &str| {
            let mut settings = Setting::ALL.iter().map(|s| s.definition());
            settings.any(|s| s.name == name && s.absent == Absent::Default)
        };
        first.more.retain(|(name, _)| !added(name));
        assert_eq!(first.more.len(), 16, "the settings of the first results");
        assert_eq!(experiment_of(&first), Some(e));
        first.more.remove(0);
        assert_eq!(experiment_of(&first), None);
    }
}
