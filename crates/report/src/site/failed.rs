//! Experiments that failed, as `cangate lab` records them.

use super::find::ExperimentFile;
use serde::{Deserialize, Serialize};

/// The ending of the lab's notes.
pub(super) const ENDING: &str = ".failed.json";

/// The parts of the lab's note that are shown.
#[derive(Deserialize)]
struct FailureNote {
    why: String,
    #[serde(default)]
    console: String,
}

/// An experiment that failed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(super) struct FailedExperiment {
    name: String,
    why: String,
    /// The end of the guest's console.
    console: String,
}

/// Reads a note, or returns a description of its error.
pub(super) fn read(file: &ExperimentFile) -> Result<FailedExperiment, String> {
    let text = std::fs::read_to_string(&file.path).map_err(|e| format!("cannot be read: {e}"))?;
    let note: FailureNote = serde_json::from_str(&text)
        .map_err(|e| format!("not a note of a failed experiment: {e}"))?;
    Ok(FailedExperiment {
        name: file.name.clone(),
        why: note.why,
        console: note.console,
    })
}
