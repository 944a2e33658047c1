//! Frames that pass the same gateway several times, through a pair of vxcan.

use super::{exec, lab};

/// What came out of `passes` passes; each gives the frame the next ID.
fn passed(kernel: &str, passes: u32) {
    let here = env!("CARGO_MANIFEST_DIR");
    let arguments = format!(
        "--fast --bench kvaser --kernel {kernel} --timeout 300 --file {here}/tests/lab/hops.sh"
    );
    let output = exec(&arguments, &format!("bash /lab/hops.sh {passes} 2>&1"))
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(text.ends_with("done\n"), "{text}{said}");
    let id = 0x100 + passes;
    let frames: Vec<_> = text
        .lines()
        .filter(|l| l.starts_with(&format!("{id:X}#")))
        .collect();
    let long: String = (1..=64).map(|n| format!("{n:02X}")).collect();
    assert_eq!(
        frames,
        [
            format!("{id:X}#1122334455667788"),
            format!("{id:X}##5{long}"),
            format!("{id:X}#AA"),
        ],
        "{passes} passes on {kernel}: {text}"
    );
}

/// Kernels before 7.0 have something before a driver's frame, those since have nothing. Each pass
/// takes some of the room that is left.
#[test]
fn bpf_lets_a_frame_pass_as_often_as_max_hops_says() {
    let Some(_lab) = lab() else { return };
    passed("6.1", 3);
    passed("6.1", 6);
}

#[test]
#[ignore = "heavy"]
fn bpf_lets_a_frame_pass_as_often_as_max_hops_says_on_every_kernel() {
    let Some(_lab) = lab() else { return };
    for kernel in ["5.10", "6.12-rt", "7.3"] {
        for passes in 1..=6 {
            passed(kernel, passes);
        }
    }
}
