//! Controllers driven from user space, on emulated cards: frames pass, and the kernel's driver gets
//! its cards back.

use super::lab;
use super::script::{parts, printed};

/// Returns the numbers of `"key":number` in a step, in their order.
fn numbers(step: &str, key: &str) -> Vec<u64> {
    let key = format!("\"{key}\":");
    let parts = step.split(&key).skip(1);
    let digits = |text: &str| {
        text.split(|c: char| !c.is_ascii_digit())
            .next()
            .map(str::to_owned)
    };
    parts
        .map(|part| digits(part).unwrap().parse().unwrap())
        .collect()
}

#[test]
#[ignore = "boots a guest"]
fn frames_pass_and_cards_come_back() {
    let Some(_lab) = lab() else { return };
    let text = printed("--bench kvaser --kernel 6.1 --timeout 600", "direct.sh");
    let steps = parts(&text);
    for (mode, status) in [("poll", "status 0"), ("interrupt", "status 137")] {
        let output = steps[mode];
        let has = |words: &str| assert!(output.contains(words), "{mode}: no {words:?} in {output}");
        has(
            "123 [8] 11 22 33 44 55 66 77 88\n123 [0]\n12345678 [4] DE AD BE EF\n7FF [0] remote request\n",
        );
        // On the other side, as they were sent there.
        has("456 [1] AA\n1ABCDEF0 [0] remote request\n001 [2] 88 99\n");
        let received = numbers(output, "received");
        // 104, plus the frames that the FIFO kept of the 20 that came while no program read it.
        assert!((105..124).contains(&received[0]), "{output}");
        assert_eq!(received[1], 3, "{output}");
        assert!(numbers(output, "overrun")[0] >= 1, "{output}");
        assert_eq!(numbers(output, "sent")[..2], [3, received[0]], "{output}");
        assert_eq!(numbers(output, "held")[..2], [0, 0], "{output}");
        assert_eq!(numbers(output, "lost")[..2], [0, 0], "{output}");
        has(&format!("on can2: {}\n", received[0] + 3));
        has(status);
        has("driver kvaser_pci kvaser_pci\noverride (null)\n");
    }

    let output = steps["settings"];
    let after = |word: &str| {
        let line = output.lines().find_map(|line| line.strip_prefix(word));
        line.unwrap_or_else(|| panic!("no {word} in {output}"))
    };
    assert!(after("before ").contains("bitrate 250000"), "{output}");
    assert_eq!(after("before "), after("after "));
    assert_eq!(
        after("meanwhile "),
        "",
        "the interface is gone while the gateway runs"
    );
    assert_eq!(
        output.matches("another process drives the card").count(),
        2,
        "{output}"
    );
    assert!(output.ends_with("321 [1] 42\n"), "{output}");

    let output = steps["mistakes"];
    for words in [
        "there is no PCI device can9",
        "lo is an interface, but not of a PCI card",
        "cannot do 300000 bit/s exactly: the nearest are 250000 and 320000 bit/s",
        "the SJA1000 of can1 cannot do FD",
        "can1 has no channel 5",
        "which cangate cannot drive",
    ] {
        assert!(output.contains(words), "no {words:?} in {output}");
    }
    // No controller was taken.
    assert_eq!(output.matches("driver kvaser_pci").count(), 6, "{output}");
}

mod long {
    use super::*;

    #[test]
    #[ignore = "boots a guest"]
    fn fd_frames_pass_without_a_driver() {
        let Some(_lab) = lab() else { return };
        let text = printed("--bench ctucan --kernel 6.1 --timeout 600", "direct_fd.sh");
        let steps = parts(&text);
        let long = format!("456##5{:0128}", 7);
        let first = format!(
            "123##4112233\n{long}\n12345678##7AABBCCDDEEFF001122334400\n7FF#R\n1ABCDEF0#0102030405060708\n"
        );
        for mode in ["poll", "interrupt"] {
            let output = steps[mode];
            let has =
                |words: &str| assert!(output.contains(words), "{mode}: no {words:?} in {output}");
            has("615 frames received = 615 routed. All sums add up.\nstatus 0\n");
            // 11 bytes are padded to 12, as the DLC says.
            has(&first);
            has("in order 200\n");
            // No driver had it before, and none gets it.
            has("driver (null)\n");
        }
    }
}
