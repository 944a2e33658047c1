//! The command line from outside, as users and scripts see it: the output, and the exit status.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod bound;
mod bound_dbc;
mod bound_gateway;
mod bound_made;
mod bound_page;
mod bound_split;
mod bound_timeouts;
mod bound_tunnels;
mod capture;
mod check;
mod control;
mod convert;
mod convert_log;
mod decode;
mod decode_formats;
mod decode_oracles;
mod decode_parquet;
mod demo;
mod gateway;
mod generate;
mod list;
mod log_files;
mod message_check;
mod metrics;
mod names;
mod network;
mod networkd;
mod outputs;
mod ping;
mod place;
mod python_can;
mod queues;
mod run;
mod says;
mod schema;
mod send;
mod signals;
mod simulate;
mod split;
mod statuses;
mod timing;
mod top;
mod tunnel;
mod waits;
mod watch;

use assert_cmd::Command;
use std::path::PathBuf;

/// Returns the program that was built with these tests, or another one that the environment names:
/// one for another processor, which this machine emulates.
fn program() -> PathBuf {
    let named = std::env::var_os("CANGATE_PROGRAM").filter(|path| !path.is_empty());
    named.map_or_else(|| env!("CARGO_BIN_EXE_cangate").into(), PathBuf::from)
}

/// Returns whether the program is for another processor: the environment names it, and this machine
/// emulates it.
fn is_emulated() -> bool {
    std::env::var_os("CANGATE_PROGRAM").is_some_and(|path| !path.is_empty())
}

/// Returns a command for the program, without the caller's colour settings.
fn cangate() -> Command {
    let mut command = Command::new(program());
    command.env_remove("NO_COLOR").env_remove("CLICOLOR_FORCE");
    command
}

/// Returns the root of the checkout.
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
