//! The computed worst case, replayed on a real kernel: the example of docs/bound.md.

use super::lab;
use assert_cmd::Command;
use std::path::Path;

const GATEWAY: &str = "examples/bound/lab-gateway.toml";

/// Returns the output of `cangate` with these arguments, where `@` stands for the folder of
/// results.
fn cangate(folder: &Path, status: i32, words: &str) -> (String, String) {
    let folder = format!("{}/", folder.display());
    let words = words.replace('@', &folder);
    let output = Command::new(crate::program())
        .current_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."))
        .args(words.split_whitespace())
        .args(
            words
                .contains("--check")
                .then_some(["--port", "bus 1=to"])
                .into_iter()
                .flatten(),
        )
        .output()
        .unwrap();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let (out, err) = (text(&output.stdout), text(&output.stderr));
    assert_eq!(output.status.code(), Some(status), "{words}\n{out}\n{err}");
    (out, err)
}

#[test]
#[ignore = "boots a guest"]
fn a_kernel_keeps_the_bound_of_the_witness_that_is_played_at_it() {
    let Some(_guest) = lab() else { return };
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    let timed = "lab measure --bench timed --cpu board --no-floor";
    cangate(
        at,
        0,
        &format!("{timed} --traffic load:90 --payload 8 --out @own.parquet"),
    );
    let set = "examples/bound/lab.toml";
    cangate(
        at,
        0,
        &format!(
            "bound {set} --gateway {GATEWAY} --gateway-delay 12us --witness out:200 --out @worst.log"
        ),
    );
    cangate(
        at,
        0,
        &format!("{timed} --log @worst.log --log-out out --out @worst.parquet"),
    );
    let own = probe::results::read(&at.join("own.parquet")).unwrap();
    let own = own.latencies(None).max().unwrap();
    let seen = probe::results::read(&at.join("worst.parquet")).unwrap();
    let seen = seen.latencies(None).max().unwrap();
    // Higher-priority frames make it wait for far more than the gateway's own time.
    assert!(seen > 5 * own, "{seen} ns, {own} ns");
    let check =
        format!("--gateway {GATEWAY} --gateway-delay-from @own.parquet --check @worst.parquet");
    let (out, _) = cangate(at, 0, &format!("bound {set} {check}"));
    assert!(out.contains("3 frames within their bounds"), "{out}");
    assert!(
        out.contains(" 0 above; 0 that the set does not have"),
        "{out}"
    );
    // A set without the frames sent on the bus next to the gateway's gives a bound that is too low.
    let text = std::fs::read_to_string(
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/bound/lab.toml"),
    );
    let text = text.unwrap();
    let (less, _) = text.split_once("[[messages]]\nid = \"080\"").unwrap();
    std::fs::write(at.join("less.toml"), less).unwrap();
    let (_, err) = cangate(at, 3, &format!("bound @less.toml {check}"));
    assert!(err.contains("took longer than their bounds"), "{err}");
}
