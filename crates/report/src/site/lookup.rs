//! Experiments by the names in other files.

use super::digest::IndexLine;
use std::collections::HashMap;

/// A table that finds experiments: by path below the folder, else by a file name that only one
/// experiment has; with or without `.parquet`.
pub(super) struct ExperimentLookup<'a> {
    by_path: HashMap<&'a str, usize>,
    by_name: HashMap<&'a str, Vec<usize>>,
}

impl<'a> ExperimentLookup<'a> {
    pub(super) fn new(lines: &'a [IndexLine]) -> Self {
        let mut by_path = HashMap::new();
        let mut by_name: HashMap<&str, Vec<usize>> = HashMap::new();
        for (index, line) in lines.iter().enumerate() {
            by_path.insert(line.name.as_str(), index);
            let last = line.name.rsplit('/').next().unwrap_or(&line.name);
            by_name.entry(last).or_default().push(index);
        }
        Self { by_path, by_name }
    }

    /// Returns the experiment's index.
    pub(super) fn find(&self, name: &str) -> Option<usize> {
        let name = name.strip_suffix(".parquet").unwrap_or(name);
        let name = name.strip_prefix("./").unwrap_or(name);
        let only = |places: &Vec<usize>| match places.as_slice() {
            [place] => Some(*place),
            _ => None,
        };
        let by_path = self.by_path.get(name).copied();
        by_path.or_else(|| self.by_name.get(name).and_then(only))
    }
}
