//! Runs of plans of several machines, with what they print and leave in their logs.

use crate::program;
use serde_json::Value;
use std::fs;
use std::path::Path;
use std::process::{Command, Output, Stdio};

/// A run, and the folder of its logs.
pub(crate) struct Run {
    output: Output,
    logs: tempfile::TempDir,
}

/// Runs a plan to its end, and matches the frames of links (`FROM:TO`).
pub(crate) fn run(plan: &str, matches: &[&str]) -> Run {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("plan.toml");
    fs::write(&file, plan).unwrap();
    run_file(&file, matches)
}

/// Runs the plan of a file, as it is.
pub(crate) fn run_file(file: &Path, matches: &[&str]) -> Run {
    let logs = tempfile::tempdir().unwrap();
    let mut command = Command::new(program());
    command.args(["lab", "machines", "--timeout", "900", "--log"]);
    command.arg(logs.path()).arg(file);
    for links in matches {
        command.args(["--match", links]);
    }
    let output = command.stdin(Stdio::null()).output().unwrap();
    let run = Run { output, logs };
    let text = format!(
        "{}{}",
        run.out(),
        String::from_utf8_lossy(&run.output.stderr)
    );
    assert!(run.output.status.success(), "{text}");
    run
}

impl Run {
    pub(crate) fn out(&self) -> String {
        String::from_utf8(self.output.stdout.clone()).unwrap()
    }

    pub(crate) fn digest(&self) -> String {
        let out = self.out();
        let digest = out.lines().find_map(|line| line.strip_prefix("digest"));
        digest.unwrap().trim().to_owned()
    }

    pub(crate) fn log(&self, name: &str) -> String {
        fs::read_to_string(self.logs.path().join(name)).unwrap()
    }

    /// A number of the line `match`.
    pub(crate) fn matched(&self, word: &str) -> u64 {
        let out = self.out();
        let line = out.lines().find(|line| line.starts_with("match")).unwrap();
        let (before, _) = line.split_once(&format!(" {word}")).unwrap();
        before.rsplit(' ').next().unwrap().parse().unwrap()
    }

    /// The largest value of a row below it, ns.
    pub(crate) fn at_most(&self, row: &str) -> u64 {
        let out = self.out();
        let line = out.lines().find(|line| line.contains(row)).unwrap();
        let (_, value) = line.split_once("at most ").unwrap();
        let digits = value.replace(['.', ' ', 'µ', 's'], "");
        digits.parse().unwrap()
    }

    /// Returns the counters of a gateway's port.
    pub(crate) fn port(&self, machine: &str, port: &str) -> Value {
        let text = self.log(&format!("{machine}.out"));
        let start = text.find('{').unwrap();
        let mut values = serde_json::Deserializer::from_str(&text[start..]).into_iter::<Value>();
        let stats = values.next().unwrap().unwrap();
        let ports = stats["ports"].as_array().unwrap();
        let found = ports.iter().find(|it| it["name"] == port);
        found.unwrap_or_else(|| panic!("{text}")).clone()
    }
}
