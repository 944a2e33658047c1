//! Frames that pass the same gateway several times, through a pair of vxcan.

use super::lab;
use super::script::printed;

/// Checks the frame that comes out after each number of passes; each pass gives the frame the next
/// ID.
fn passed(kernel: &str, passes: &[u32]) {
    let all: Vec<String> = passes.iter().map(u32::to_string).collect();
    let text = printed(
        &format!("--fast --bench kvaser --kernel {kernel} --timeout 300"),
        &format!("hops.sh {}", all.join(" ")),
    );
    let parts: Vec<&str> = text.split("== ").skip(1).collect();
    assert_eq!(parts.len(), passes.len() + 1, "{text}");
    let long: String = (1..=64).map(|n| format!("{n:02X}")).collect();
    for (passes, part) in passes.iter().zip(parts) {
        let id = 0x100 + passes;
        let frames: Vec<_> = part
            .lines()
            .filter(|l| l.starts_with(&format!("{id:X}#")))
            .collect();
        assert_eq!(
            frames,
            [
                format!("{id:X}#1122334455667788"),
                format!("{id:X}##5{long}"),
                format!("{id:X}#AA"),
            ],
            "{passes} passes on {kernel}: {part}"
        );
    }
}

/// Kernels before 7.0 store something before a driver's frame, later ones store nothing. Each pass
/// takes some of the room that is left: as much as `max_hops` allows, for which there are four
/// sizes.
const PASSES: [u32; 6] = [1, 2, 3, 4, 5, 6];

#[test]
#[ignore = "boots a guest"]
fn bpf_lets_a_frame_pass_as_often_as_max_hops_states() {
    let Some(_lab) = lab() else { return };
    passed("6.1", &PASSES);
}

/// The same on three more kernels.
mod long {
    use super::*;

    #[test]
    #[ignore = "heavy"]
    fn bpf_lets_a_frame_pass_as_often_as_max_hops_states_on_every_kernel() {
        let Some(_lab) = lab() else { return };
        for kernel in ["5.10", "6.12-rt", "7.3"] {
            passed(kernel, &PASSES);
        }
    }
}
