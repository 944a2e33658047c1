//! The messages of the lab while it works, without a terminal.

use super::lab;
use assert_cmd::Command;
use std::path::Path;

fn stderr(folder: &Path, args: &[&str]) -> String {
    let output = Command::new(crate::program())
        .current_dir(folder)
        .args(args)
        .output()
        .unwrap();
    let text = String::from_utf8(output.stderr).unwrap();
    assert!(output.status.success(), "{text}");
    text
}

/// Returns the position of a line with these words.
fn at(lines: &[&str], words: &str) -> usize {
    let found = lines.iter().position(|line| line.contains(words));
    found.unwrap_or_else(|| panic!("no `{words}` in {lines:#?}"))
}

#[test]
#[ignore = "boots a guest"]
fn an_experiment_is_reported_before_it_is_made() {
    let Some(_lab) = lab() else { return };
    let folder = tempfile::tempdir().unwrap();
    let text = stderr(folder.path(), &["lab", "measure", "--frames", "20"]);
    let first = text.lines().next().unwrap();
    assert_eq!(
        first,
        "2 experiments, the second one with an ideal gateway: \
         6.1_kvaser_cangw_oneatatime_none_4B_20f, 20 frames …"
    );
    let args = ["lab", "measure", "--frames", "20", "--no-floor"];
    let text = stderr(folder.path(), &args);
    assert_eq!(
        text.lines().next().unwrap(),
        "1 experiment: 6.1_kvaser_cangw_oneatatime_none_4B_20f, 20 frames …"
    );
}

#[test]
#[ignore = "boots a guest"]
fn experiments_are_counted_before_they_begin_and_the_time_left_has_a_basis() {
    let Some(_lab) = lab() else { return };
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(
        folder.path().join("m.toml"),
        "[[matrix]]\nframes = 20\nseed = [1, 2, 3, 4]\n",
    )
    .unwrap();
    // The four and their floor.
    let run = |jobs: &str| {
        let text = stderr(folder.path(), &["lab", "run", "m.toml", "--jobs", jobs]);
        // A message about saving a guest may appear in between.
        text.lines().map(str::to_owned).collect::<Vec<_>>()
    };
    let text = run("2");
    let lines: Vec<&str> = text.iter().map(String::as_str).collect();
    let all = at(&lines, "5 experiments to run, 2 at a time");
    let begins = at(
        &lines,
        "1 of 5 begins: 6.1_kvaser_cangw_oneatatime_none_4B_20f, 20 frames",
    );
    let first = at(&lines, "1/5 ");
    assert!(all < begins && begins < first, "{lines:#?}");
    let second = at(&lines, "2/5 ");
    for early in [first, second] {
        assert!(!lines[early].contains(" left"), "no basis yet: {lines:#?}");
    }
    assert!(lines[at(&lines, "3/5 ")].contains("; about "), "{lines:#?}");
    assert!(!lines[at(&lines, "5/5 ")].contains(" left"), "{lines:#?}");
    // Existing results are counted as well.
    for entry in std::fs::read_dir(folder.path().join("m")).unwrap() {
        let path = entry.unwrap().path();
        if path.to_string_lossy().contains("seed-3") {
            std::fs::remove_file(path).unwrap();
        }
    }
    let text = run("1");
    let lines: Vec<&str> = text.iter().map(String::as_str).collect();
    at(
        &lines,
        "1 of 5 experiments to run, 1 at a time; 4 have results",
    );
}
