//! Programs of `kmod/bitcan/host`, which run C code of the kernel module without a kernel.

use std::{
    fs,
    io::Write as _,
    path::{Path, PathBuf},
    process::{Command, Stdio},
    thread,
};

/// Compiles `host/SOURCE.c` with all C files of these folders of the module, by the system's C
/// compiler. `name` is that of the program.
///
/// # Errors
/// The reason why there is no program: there is no C compiler, or it does not know `flags`.
pub(crate) fn compile(
    source: &str,
    folders: &[&str],
    name: &str,
    flags: &[&str],
) -> Result<PathBuf, String> {
    let module = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../kmod/bitcan");
    let mut sources = vec![module.join(format!("host/{source}.c"))];
    for folder in folders {
        let files = fs::read_dir(module.join(folder)).unwrap();
        let files = files.map(|e| e.unwrap().path());
        let before = sources.len();
        sources.extend(files.filter(|p| p.extension().is_some_and(|e| e == "c")));
        assert!(sources.len() >= before + 5, "{folder}'s files: {sources:?}");
    }
    sources.sort();
    let out = Path::new(env!("CARGO_TARGET_TMPDIR"))
        .join(format!("bitcan-{name}-{}", std::process::id()));
    let compiler = Command::new("cc")
        .args(["-std=gnu11", "-Wall", "-Wextra", "-Werror", "-O1", "-o"])
        .arg(&out)
        .args(flags)
        .args(&sources)
        .output();
    let done = compiler.map_err(|why| format!("there is no C compiler `cc`: {why}"))?;
    let message = String::from_utf8_lossy(&done.stderr);
    if !flags.is_empty() && !done.status.success() {
        return Err(format!("`cc` does not know {flags:?}: {message}"));
    }
    assert!(done.status.success(), "cc: {message}");
    Ok(out)
}

/// Runs a program with this input; returns its output. `None`, and a message, if there is none.
pub(crate) fn run(program: Result<&Path, &str>, input: String) -> Option<String> {
    let program = match program {
        Ok(program) => program,
        Err(why) => {
            eprintln!("SKIPPED because {why}");
            return None;
        }
    };
    let mut child = Command::new(program)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let writer = thread::spawn(move || stdin.write_all(input.as_bytes()));
    let output = child.wait_with_output().unwrap();
    writer.join().unwrap().unwrap();
    assert!(
        output.status.success(),
        "{}: {}",
        program.display(),
        output.status
    );
    Some(String::from_utf8(output.stdout).unwrap())
}

/// Checks that the answers of both models to a schedule are equal, line by line.
pub(crate) fn assert_same(ours: &str, theirs: &str, seed: u64, schedule: &str) {
    if ours != theirs {
        let differs = ours.lines().zip(theirs.lines()).position(|(a, b)| a != b);
        let line = differs.unwrap_or(ours.lines().count().min(theirs.lines().count()));
        panic!(
            "seed {seed}, line {line}:\n this crate: {:?}\n bitcan:     {:?}\n{schedule}",
            ours.lines().nth(line),
            theirs.lines().nth(line),
        );
    }
}
