//! The command lines of both programs from outside, as users and scripts use them: the output, and
//! the exit status.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod bench;
#[path = "../../../../crates/report/tests/browser/mod.rs"]
mod browser;
#[path = "../documents/mod.rs"]
mod documents;
mod errors;
mod examples;
mod folders;
mod forward;
mod generate;
mod lab;
mod pages;
#[path = "pictures.rs"]
mod picture_tests;
#[path = "../../../../crates/cangate/tests/pictures/mod.rs"]
mod pictures;
#[allow(dead_code, reason = "drawn for gateways, too")]
#[path = "../../../../crates/cangate/tests/cli/place.rs"]
mod place;
mod played;
#[path = "../program/mod.rs"]
mod program;
mod report;
mod waits;

use assert_cmd::Command;
use program::program;
use std::path::PathBuf;

/// Returns the program, without the caller's colours.
fn cangate() -> Command {
    let mut command = Command::new(program());
    command.env_remove("NO_COLOR").env_remove("CLICOLOR_FORCE");
    command
}

/// Returns the folder of the checkout.
fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Returns standard output as text; the exit status must be the given one.
fn stdout(command: &mut Command, status: i32) -> String {
    let output = command.output().unwrap();
    let (out, err) = (text(&output.stdout), text(&output.stderr));
    assert_eq!(output.status.code(), Some(status), "{out}\n{err}");
    out
}

/// Returns standard error as text; the exit status must be the given one.
fn stderr(command: &mut Command, status: i32) -> String {
    let output = command.output().unwrap();
    let (out, err) = (text(&output.stdout), text(&output.stderr));
    assert_eq!(output.status.code(), Some(status), "{out}\n{err}");
    err
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}
