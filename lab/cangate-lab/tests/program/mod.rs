//! The gateway's program, for tests that need both programs.

use std::path::{Path, PathBuf};

/// The folder of both programs, where they are not those that cargo built with the tests: optimized
/// programs boot guests in half of the time (`cargo xtask test` sets it).
const PROGRAMS: &str = "CANGATE_PROGRAMS";

/// Returns the program `cangate`, which was built next to `cangate-lab`, and starts that for the
/// laboratory's commands.
pub(crate) fn program() -> PathBuf {
    let path = match std::env::var_os(PROGRAMS) {
        Some(folder) => Path::new(&folder).join("cangate"),
        None => Path::new(env!("CARGO_BIN_EXE_cangate-lab")).with_file_name("cangate"),
    };
    assert!(
        path.is_file(),
        "{} is missing: build it by `cargo build -p cangate`",
        path.display()
    );
    path
}
