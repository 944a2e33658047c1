//! The gateway's program, for tests that need both programs.

use std::path::{Path, PathBuf};

/// The program `cangate`, which was built beside `cangate-lab`, and starts that for the laboratory's commands.
pub(crate) fn program() -> PathBuf {
    let path = Path::new(env!("CARGO_BIN_EXE_cangate-lab")).with_file_name("cangate");
    assert!(
        path.is_file(),
        "{} is missing: build it by `cargo build -p cangate`",
        path.display()
    );
    path
}
