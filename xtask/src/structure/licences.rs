//! Each source file for the kernel names its licence, GPL-2.0, in one of its first lines; the text
//! of each licence exists.

use super::{files, judge, shown};
use crate::report::TestTally;
use crate::workspace::Workspace;
use anyhow::{Context, Result};
use std::fs;
use std::path::Path;

/// Folders whose sources are under GPL-2.0.
const GPL: [&str; 2] = ["kmod", "crates/offload/bpf"];

/// The line, as in the kernel's own files (Documentation/process/license-rules.rst).
const LINE: &str = "SPDX-License-Identifier: GPL-2.0";

/// Texts of licences that must be in the root.
const TEXTS: [&str; 3] = ["LICENSE-APACHE", "LICENSE-MIT", "LICENSE-GPL-2.0"];

pub(super) fn check(workspace: &Workspace) -> Result<TestTally> {
    let mut problems = Vec::new();
    let mut looked_at = TEXTS.len();
    for name in TEXTS {
        if !workspace.root.join(name).is_file() {
            problems.push(format!(
                "{name} is missing: the text of a licence that parts are under"
            ));
        }
    }
    for folder in GPL {
        for file in files(&workspace.root.join(folder), &is_source)? {
            let bytes =
                fs::read(&file).with_context(|| format!("cannot read {}", file.display()))?;
            looked_at += 1;
            if !is_named(&String::from_utf8_lossy(&bytes)) {
                problems.push(format!(
                    "{}: none of the first three lines contains `{LINE}`",
                    shown(workspace, &file)
                ));
            }
        }
    }
    Ok(judge(looked_at, &problems))
}

/// Returns whether a file is C code, a C header, or a file that builds them.
fn is_source(path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let kind = path.extension().unwrap_or_default().to_string_lossy();
    matches!(name.as_ref(), "Makefile" | "Kbuild" | "Kconfig") || matches!(kind.as_ref(), "c" | "h")
}

fn is_named(text: &str) -> bool {
    text.lines().take(3).any(|line| line.contains(LINE))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_line_must_come_early() {
        assert!(is_named("/* SPDX-License-Identifier: GPL-2.0 */\n"));
        assert!(is_named("#!x\n\n# SPDX-License-Identifier: GPL-2.0-only\n"));
        assert!(!is_named("1\n2\n3\n// SPDX-License-Identifier: GPL-2.0\n"));
        assert!(!is_named("// SPDX-License-Identifier: MIT\n"));
    }

    #[test]
    fn objects_and_documents_are_no_sources() {
        assert!(is_source(Path::new("a/Makefile")));
        assert!(is_source(Path::new("a/core.c")));
        assert!(!is_source(Path::new("a/gateway.bpf.o")));
        assert!(!is_source(Path::new("a/README.md")));
    }
}
