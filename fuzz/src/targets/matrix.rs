//! Matrix files of the lab: every error has a position within the text and can be displayed; a file
//! that is accepted gives a bounded number of experiments that can be run, each once, and whose
//! settings give the same experiment again.

use crate::Target;
use config::SourceText;
use experiment::Experiment;
use std::collections::BTreeSet;

/// The target; see the module's documentation.
pub const TARGET: Target = Target {
    name: "matrix",
    run,
    words: &[
        "title = \"x\"\n",
        "[defaults]\n",
        "[[matrix]]\n",
        "name = \"n\"\n",
        "kernel = [\"5.10\", \"6.1-rt\", \"7.3\"]\n",
        "bench = \"timed\"\n",
        "gateway = [\"cangw\", \"user:read-write\", \"none\"]\n",
        "traffic = [\"oneatatime\", \"load:50\", \"flood\", \"period:120\"]\n",
        "load = [\"none\", \"cpu\", \"eth-rx\"]\n",
        "payload = [2, 4, 8, 64]\n",
        "frames = 10000\n",
        "filters = [\"none\", \"list:2048\", \"sff:1\", \"eff:99999\"]\n",
        "modify = \"crc8\"\n",
        "hops = [\"0\", \"5\", \"2:2\"]\n",
        "cpu = [\"pc\", \"board\", \"shift:10\"]\n",
        "seed = 18446744073709551615\n",
        "clock = \"real\"\n",
        "exclude = [{ kernel = \"6.1\", load = [\"none\", \"cpu\"] }]\n",
        "include = [{ kernel = \"7.3\" }]\n",
        "-1",
        "nan",
        "'''",
        "[[[[[[[[",
    ],
};

fn run(input: &[u8]) {
    let text = String::from_utf8_lossy(input);
    let source = SourceText::new("fuzz.toml", text);
    match experiment::matrix::read(&source) {
        Ok(matrix) => accepted(&matrix.experiments),
        Err(found) => {
            assert!(!found.is_empty(), "refused without a reason");
            super::shown(&source, &found);
        }
    }
}

/// Checks that experiments that were accepted can be run.
fn accepted(experiments: &[Experiment]) {
    let mut names = BTreeSet::new();
    for experiment in experiments {
        assert!(experiment.check().is_ok(), "{experiment:?}");
        assert!(names.insert(experiment.name()), "two of one name");
        let settings = experiment.settings();
        let words = settings.iter().map(|(s, word)| (*s, word.as_str()));
        assert!(Experiment::from_words(words).is_ok_and(|again| again == *experiment));
    }
}
