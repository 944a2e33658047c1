//! A matrix of experiments: a TOML file whose settings may be lists, read with every error reported
//! at its place.
//!
//! The format is described in docs/reproduction.md.

use crate::settings::Experiment;
use crate::settings::{Setting, SettingError};
use config::{Diagnostic, Diagnostics, SourceText, TomlDocument, TomlTable, TomlValue};
use std::collections::BTreeSet;

/// More experiments than this in one file are considered a mistake.
pub const MAX_EXPERIMENTS: usize = 100_000;

/// The content of a matrix file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExperimentMatrix {
    /// The title, for people; the file's name where the file does not contain one.
    pub title: String,
    /// The experiments, each once, in the file's order.
    pub experiments: Vec<Experiment>,
}

/// A setting and its words, in order.
type Axis = (Setting, Vec<String>);

/// Reads a matrix file.
///
/// # Errors
/// All errors in the file.
pub fn read(source: &SourceText) -> Result<ExperimentMatrix, Vec<Diagnostic>> {
    let mut found = Diagnostics::new();
    let document = TomlDocument::parse(source, &mut found);
    let mut root = document.root();
    let title = root.string("title", &mut found).map(|t| t.value.to_owned());
    let defaults = match root.table("defaults", "[defaults]", &mut found) {
        Some(mut table) => {
            let axes = axes(&mut table, &mut found);
            table.finish(&mut found);
            axes
        }
        None => Vec::new(),
    };
    let mut all = Vec::new();
    for mut table in root.tables("matrix", "matrix", &mut found) {
        block(&mut table, &defaults, &mut all, &mut found);
        table.finish(&mut found);
    }
    if root.get("matrix").is_none() {
        root.missing("matrix", "add a table [[matrix]] with settings", &mut found);
    }
    root.finish(&mut found);
    if found.has_errors() {
        return Err(found.into_sorted());
    }
    // Two blocks may overlap; each experiment is run once.
    let mut seen = BTreeSet::new();
    all.retain(|e: &Experiment| seen.insert(e.clone()));
    Ok(ExperimentMatrix {
        title: title.unwrap_or_else(|| source.name.clone()),
        experiments: all,
    })
}

/// Reads one `[[matrix]]`: its product without the excluded experiments, plus the included ones.
fn block(
    table: &mut TomlTable<'_>,
    defaults: &[Axis],
    all: &mut Vec<Experiment>,
    found: &mut Diagnostics,
) {
    // A name is for people and messages.
    if let Some(name) = table.string("name", found) {
        table.rename(format!("matrix `{}`", name.value));
    }
    let own = over(defaults, axes(table, found));
    let mut excluded = Vec::new();
    for mut rule in table.tables("exclude", "exclude", found) {
        let axes = axes(&mut rule, found);
        if axes.is_empty() {
            let text = "an empty exclude would leave out all experiments";
            found.push(Diagnostic::error(rule.span(), text));
        }
        rule.finish(found);
        excluded.push(axes);
    }
    let place = (table.span(), table.place().to_owned());
    add(&place, &own, &excluded, all, found);
    for mut rule in table.tables("include", "include", found) {
        let axes = over(&own_single(&own), axes(&mut rule, found));
        let place = (rule.span(), format!("{}, {}", place.1, rule.place()));
        rule.finish(found);
        add(&place, &axes, &[], all, found);
    }
}

/// Returns those axes of a block that have one value: the basis of an include.
fn own_single(axes: &[Axis]) -> Vec<Axis> {
    let single = axes.iter().filter(|(_, words)| words.len() == 1);
    single.cloned().collect()
}

/// Returns `lower` with the axes of `upper` replacing those of the same settings.
fn over(lower: &[Axis], upper: Vec<Axis>) -> Vec<Axis> {
    let kept = lower
        .iter()
        .filter(|(setting, _)| upper.iter().all(|(other, _)| other != setting));
    let mut axes: Vec<Axis> = kept.cloned().collect();
    axes.extend(upper);
    // Settings vary in their own order, independent of the file's order.
    axes.sort_by_key(|axis| axis.0);
    axes
}

/// Reads the settings of a table, and checks each word.
fn axes(table: &mut TomlTable<'_>, found: &mut Diagnostics) -> Vec<Axis> {
    let mut axes = Vec::new();
    for &setting in Setting::ALL {
        let Some(value) = table.get(setting.name()) else {
            continue;
        };
        let values = value.one_or_list();
        if values.is_empty() {
            let message = format!("`{setting}` is an empty list, which gives no experiment");
            value.wrong(message, "leave it out, or give it a value", found);
        }
        let words = values.iter().filter_map(|v| word(setting, v, found));
        axes.push((setting, words.collect()));
    }
    axes
}

/// Converts a value to a valid word.
fn word(setting: Setting, value: &TomlValue<'_>, found: &mut Diagnostics) -> Option<String> {
    let text = match (value.as_str(), value.as_integer()) {
        (Some(text), _) => text.to_owned(),
        (None, Some(number)) => number.to_string(),
        (None, None) => {
            value.expected(
                "a string in quotes, a whole number, or a list of them",
                found,
            );
            return None;
        }
    };
    match setting.apply(&mut Experiment::default(), &text) {
        Ok(()) => Some(text),
        Err(SettingError { word, .. }) => {
            value.wrong(format!("`{setting}`: {}", word.what), word.hint, found);
            None
        }
    }
}

/// Returns whether the experiment has, for each of these settings, one of the words.
fn is_among(experiment: &Experiment, axes: &[Axis]) -> bool {
    axes.iter().all(|(setting, words)| {
        let own = setting.word(experiment);
        words.iter().any(|word| {
            // "0:2" and "0" are the same.
            let mut other = Experiment::default();
            setting.apply(&mut other, word).is_ok() && setting.word(&other) == own
        })
    })
}

/// Adds the product of the axes without the excluded experiments.
fn add(
    (span, place): &(std::ops::Range<usize>, String),
    axes: &[Axis],
    excluded: &[Vec<Axis>],
    all: &mut Vec<Experiment>,
    found: &mut Diagnostics,
) {
    let sizes = axes.iter().map(|(_, words)| words.len());
    let size = sizes.fold(1usize, usize::saturating_mul);
    if size.saturating_add(all.len()) > MAX_EXPERIMENTS {
        let text = format!("{place} gives {size} experiments; a file may have {MAX_EXPERIMENTS}");
        found.push(Diagnostic::error(span.clone(), text).hint("split it into several files"));
        return;
    }
    let mut rows = vec![Experiment::default()];
    for (setting, words) in axes {
        let mut next = Vec::with_capacity(rows.len() * words.len());
        for row in &rows {
            for word in words {
                let mut row = row.clone();
                // Every word was applied once without an error.
                if setting.apply(&mut row, word).is_ok() {
                    next.push(row);
                }
            }
        }
        rows = next;
    }
    rows.retain(|row| !excluded.iter().any(|axes| is_among(row, axes)));
    let wrong: Vec<_> = rows.iter().filter_map(|row| row.check().err()).collect();
    if let Some(conflict) = wrong.first().and_then(|all| all.first()) {
        let text = format!(
            "{place}: {} of its {} experiments cannot be run: {conflict}",
            wrong.len(),
            rows.len()
        );
        let hint = "leave them out with a table [[matrix.exclude]]";
        found.push(Diagnostic::error(span.clone(), text).hint(hint));
    }
    all.append(&mut rows);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::arbitrary::any_experiment;
    use proptest::prelude::*;

    fn names(text: &str) -> Vec<String> {
        let matrix = read(&SourceText::new("m.toml", text)).unwrap();
        matrix.experiments.iter().map(Experiment::name).collect()
    }

    fn errors(text: &str) -> String {
        let source = SourceText::new("m.toml", text);
        config::render(&source, &read(&source).unwrap_err(), false)
    }

    #[test]
    fn lists_multiply_and_rules_take_away_and_add() {
        let all = names(
            r#"
            [defaults]
            payload = 2
            frames = 100
            [[matrix]]
            kernel = ["6.1", "6.12"]
            filters = ["none", "list:80"]
            exclude = [{ kernel = "6.12", filters = ["list:80", "list:81"] }]
            include = [{ kernel = "7.3", hops = ["1", 2] }]
            "#,
        );
        assert_eq!(
            all,
            [
                "6.1_kvaser_cangw_oneatatime_none_2B_100f",
                "6.1_kvaser_cangw_oneatatime_none_2B_filters-list-80_100f",
                "6.12_kvaser_cangw_oneatatime_none_2B_100f",
                "7.3_kvaser_cangw_oneatatime_none_2B_hops-1_100f",
                "7.3_kvaser_cangw_oneatatime_none_2B_hops-2_100f",
            ]
        );
    }

    #[test]
    fn the_same_experiment_is_made_once() {
        let all = names("[[matrix]]\nseed = [1, 1]\n[[matrix]]\nhops = [\"0\", \"0:2\"]\n");
        assert_eq!(all.len(), 1);
    }

    #[test]
    fn mistakes_have_places() {
        let text =
            errors("[[matrix]]\ntraffic = [\"oneatatime\", \"fluod\"]\nkernl = 3\npayload = 65\n");
        assert!(text.contains("m.toml:2:26"), "{text}");
        assert!(text.contains("give oneatatime, load:PERCENT"), "{text}");
        assert!(text.contains("did you mean `kernel`?"), "{text}");
        assert!(text.contains("m.toml:4:11"), "{text}");
        let text = errors("title = \"x\"\n");
        assert!(text.contains("[[matrix]]"), "{text}");
        let text = errors("[[matrix]]\nname = \"loads\"\ntraffic = [\"load:50\", \"flood\"]\n");
        assert!(
            text.contains("matrix `loads`: 1 of its 2 experiments cannot be run: --traffic load:50 --bench kvaser"),
            "{text}"
        );
        let text = errors("[[matrix]]\nseed = []\n");
        assert!(text.contains("empty list"), "{text}");
        assert!(errors("[[matrix]]\nseed = 1.5\n").contains("whole number"));
        assert!(errors("[[matrix]]\nexclude = [{}]\n").contains("leave out all"));
    }

    #[test]
    fn a_product_out_of_all_bounds_is_refused() {
        let list: Vec<_> = (0..400).map(|n| n.to_string()).collect();
        let text = format!(
            "[[matrix]]\nseed = [{0}]\nframes = [{1}]\n",
            list.join(","),
            list[1..].join(",")
        );
        assert!(
            errors(&text).contains("159600 experiments"),
            "{}",
            errors(&text)
        );
    }

    proptest! {
        /// Every possible experiment can be written in a file.
        #[test]
        fn any_experiment_can_be_in_a_file(e in any_experiment()) {
            let lines: Vec<_> = e.settings().iter().map(|(s, w)| format!("{s} = \"{w}\"\n")).collect();
            let source = SourceText::new("m.toml", format!("[[matrix]]\n{}", lines.concat()));
            match read(&source) {
                Ok(matrix) => prop_assert_eq!(matrix.experiments, vec![e]),
                Err(_) => prop_assert!(e.check().is_err()),
            }
        }

        /// The product is that of nested loops.
        #[test]
        fn as_nested_loops_state(seeds in prop::collection::btree_set(0u64..50, 1..6),
                               frames in prop::collection::btree_set(1u32..50, 1..6),
                               out in 0u64..50) {
            let lists = format!("frames = {frames:?}\nseed = {seeds:?}\n").replace('{', "[").replace('}', "]");
            let text = format!("[[matrix]]\n{lists}exclude = [{{ seed = {out} }}]\n");
            let mut slow = Vec::new();
            for &frames in &frames {
                for &seed in &seeds {
                    if seed != out {
                        slow.push(Experiment { frames, seed, ..Experiment::default() });
                    }
                }
            }
            let matrix = read(&SourceText::new("m.toml", text)).unwrap();
            prop_assert_eq!(matrix.experiments, slow);
        }
    }
}
