//! `cangate bench` on character devices.

use super::lab;
use super::script::printed;

#[test]
#[ignore = "boots a guest"]
fn the_tester_sends_and_stamps_on_character_devices() {
    let Some(_guest) = lab() else { return };
    let text = printed("--timeout 300 --bench timed", "bench_chardev.sh");
    let lines: Vec<_> = text.lines().collect();
    assert!(
        lines[0].contains("/dev/t00 is stopped, so that it has no bit rate: give --bitrate"),
        "{text}"
    );
    assert_eq!(lines[1], "status 2", "{text}");
    assert!(lines[2].contains("there is no /dev/t09"), "{text}");
    assert_eq!(lines[3], "status 2", "{text}");
    let figures: Vec<_> = lines
        .iter()
        .filter(|line| line.starts_with("figures "))
        .collect();
    assert_eq!(figures.len(), 3, "{text}");
    let p50 = |line: &str| -> u64 {
        let number = line.split("\"p50\":").nth(1).unwrap();
        number.split(',').next().unwrap().parse().unwrap()
    };
    for line in &figures {
        assert!(
            line.contains("\"received\":200,") && line.contains("\"lost\":0,"),
            "{text}"
        );
    }
    // With the echo and with another node as reference, the stamp is at the same end of frame,
    // apart from the order of the interrupts.
    let (echo, other) = (p50(figures[0]), p50(figures[1]));
    assert!(echo.abs_diff(other) < 10_000, "{text}");
    assert!((1_000..100_000).contains(&echo), "{text}");
    assert!(text.contains("there is no /dev/t10"), "{text}");
}
