//! docs/promises.md: each promise names the tests that check it, and those tests exist.

use crate::report::TestTally;
use crate::workspace::{TestBinary, Workspace};
use anyhow::{Context, Result};
use std::collections::BTreeSet;
use std::fs;

/// A promise and the tests that check it.
#[derive(Debug, PartialEq, Eq)]
struct Promise {
    /// `P7. A reload drops no frame`
    title: String,
    number: u32,
    /// `package::test`, `package::target::test`, `fuzz::target`.
    tests: Vec<String>,
}

/// Checks the document against the tests that were built.
pub(crate) fn check(workspace: &Workspace, binaries: &[TestBinary]) -> Result<TestTally> {
    let path = workspace.root.join("docs/promises.md");
    let text =
        fs::read_to_string(&path).with_context(|| format!("cannot read {}", path.display()))?;
    let mut tests: BTreeSet<String> = crate::fuzz::targets(workspace)?
        .into_iter()
        .map(|target| format!("fuzz::{target}"))
        .collect();
    for binary in binaries {
        tests.extend(binary.tests()?);
    }
    let mut tally = TestTally::default();
    let promises = promises(&text);
    if promises.is_empty() {
        println!("docs/promises.md makes no promise");
        return Ok(TestTally::failed());
    }
    for (index, promise) in promises.iter().enumerate() {
        let wrong = mistakes(promise, index, &tests);
        for mistake in &wrong {
            println!("{}: {mistake}", promise.title);
        }
        tally.add(TestTally::check(wrong.is_empty()));
    }
    println!("{} promises checked", promises.len());
    Ok(tally)
}

/// Returns the mistakes of a promise.
fn mistakes(promise: &Promise, index: usize, tests: &BTreeSet<String>) -> Vec<String> {
    let mut wrong = Vec::new();
    if promise.number as usize != index + 1 {
        wrong.push(format!("is number {} in the file", index + 1));
    }
    if promise.tests.is_empty() {
        wrong.push("names no test that checks it".to_owned());
    }
    for test in &promise.tests {
        if !tests.contains(test) {
            let like = likely(test, tests);
            wrong.push(format!("there is no test {test}{like}"));
        }
    }
    wrong
}

/// Returns a test with the same last name, as a hint.
fn likely(test: &str, tests: &BTreeSet<String>) -> String {
    let last = test.rsplit("::").next().unwrap_or(test);
    tests
        .iter()
        .find(|known| known.rsplit("::").next() == Some(last))
        .map_or_else(String::new, |known| format!("; is {known} meant?"))
}

/// Parses headings `## P1. Title`, each with list items "- `package::path::test`".
fn promises(text: &str) -> Vec<Promise> {
    let mut promises: Vec<Promise> = Vec::new();
    let mut inside = false;
    for line in text.lines() {
        if line.starts_with('#') {
            inside = false;
        }
        if let Some(title) = line.strip_prefix("## P")
            && let Some((number, _)) = title.split_once('.')
            && let Ok(number) = number.parse()
        {
            inside = true;
            promises.push(Promise {
                title: format!("P{title}"),
                number,
                tests: Vec::new(),
            });
        } else if inside
            && let Some(promise) = promises.last_mut()
            && let Some(item) = line.trim_start().strip_prefix("- `")
            && let Some((test, _)) = item.split_once('`')
        {
            promise.tests.push(test.to_owned());
        }
    }
    promises
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "\
# Promises
- `not::a promise`

## P1. Frames
Words.
- `a::b::c`
- `a::gone`: with words

## P3. Empty
Words, and `code`.

## How to add one
- `x::y`
";

    #[test]
    fn promises_and_their_tests_are_read() {
        let promises = promises(TEXT);
        assert_eq!(promises.len(), 2);
        assert_eq!(promises[0].title, "P1. Frames");
        assert_eq!(promises[0].tests, ["a::b::c", "a::gone"]);
        assert!(promises[1].tests.is_empty());
    }

    #[test]
    fn a_test_that_is_gone_and_a_promise_without_any_are_mistakes() {
        let tests = BTreeSet::from(["a::b::c".to_owned(), "a::d::gone".to_owned()]);
        let promises = promises(TEXT);
        assert_eq!(
            mistakes(&promises[0], 0, &tests),
            ["there is no test a::gone; is a::d::gone meant?"]
        );
        assert_eq!(
            mistakes(&promises[1], 1, &tests),
            ["is number 2 in the file", "names no test that checks it"]
        );
    }
}
