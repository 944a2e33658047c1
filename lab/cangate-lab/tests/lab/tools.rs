//! `cangate send`, `watch` and `list` in a guest, with can-utils as the other side.

use super::lab;
use super::script::{parts, printed};

#[test]
#[ignore = "boots a guest"]
fn frames_are_sent_and_watched_as_can_utils_do() {
    let Some(_lab) = lab() else { return };
    let text = printed("--timeout 300", "tools.sh");
    let parts = parts(&text);
    let lines = |part: &str| -> Vec<String> { parts[part].lines().map(str::to_owned).collect() };

    let list = lines("list");
    assert!(
        list.iter()
            .any(|line| line.contains("vcan0") && line.contains("up")),
        "{text}"
    );
    if list.contains(&"has altnames".to_owned()) {
        assert!(list.iter().any(|line| line.contains("also body")), "{text}");
        assert!(
            list.contains(&"    \"interface\": \"vcan0\",".to_owned()),
            "{text}"
        );
    }
    assert!(
        parts["list"].contains("lo is not a CAN interface"),
        "{text}"
    );

    let send = lines("send");
    let frames: Vec<&str> = send
        .iter()
        .filter_map(|line| line.strip_prefix("vcan0 "))
        .collect();
    assert_eq!(frames.len(), 5, "{text}");
    assert_eq!((frames[0], frames[2]), ("123#1122", "7FF#R"));
    // Versions of candump differ in the flag FDF.
    assert!(
        frames[1].starts_with("18DAF110##") && frames[1].ends_with("AABB"),
        "{text}"
    );
    assert_eq!((frames[3], frames[4]), ("100#01", "101#02"));
    for line in [
        "3 frames = 3 sent",
        "50",
        "no drift",
        "2 frames = 2 sent",
        "status 3",
    ] {
        assert!(send.iter().any(|found| found == line), "{line}: {text}");
    }
    assert!(
        parts["send"].contains("1 frame was not sent in time: vcan1 was down"),
        "{text}"
    );

    let watch = lines("watch");
    assert_eq!(watch, ["3", "status 0", "same lines as candump"], "{text}");

    // Each frame is seen, or counted as lost.
    let flood = &parts["flood"];
    let seen: u64 = number_after(flood, "seen ");
    if flood.contains("status 3") {
        let lost: u64 = number_after(flood, "error: ");
        assert_eq!(seen + lost, 3000, "{text}");
    } else {
        assert_eq!(seen, 3000, "{text}");
    }

    assert_eq!(lines("capture"), ["1"], "{text}");

    let gateway = lines("gateway");
    let expected = [
        "vcan0 123#1122 R",
        "vcan1 123#1122 T",
        "vcan1 321#33 T",
        "vcan0 124#44 R",
    ];
    let seen: Vec<&String> = gateway
        .iter()
        .filter(|line| line.ends_with(" R") || line.ends_with(" T"))
        .collect();
    assert_eq!(seen, expected, "{text}");
    for line in [
        "vcan1 123#1122",
        "vcan1 321#33",
        "vcan1 124#44",
        "1 frame = 1 sent",
        "status 2",
    ] {
        assert!(gateway.iter().any(|found| found == line), "{line}: {text}");
    }
    assert!(
        parts["gateway"].contains("add `inject = true` to [ports.vcan0]"),
        "{text}"
    );
    assert!(parts["gateway"].contains("\"injected\":1"), "{text}");
}

/// Returns the number that follows these words.
fn number_after(text: &str, words: &str) -> u64 {
    let (_, rest) = text.split_once(words).unwrap();
    let digits: String = rest.chars().take_while(char::is_ascii_digit).collect();
    digits.parse().unwrap()
}
