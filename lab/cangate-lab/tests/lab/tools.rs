//! `cangate send`, `watch` and `list` in a guest, with can-utils as the other side.

use super::lab;
use super::script::{TWO_DEVICES, parts, printed};

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

/// Candump on an interface of the same bus is the witness.
#[test]
#[ignore = "boots a guest"]
fn frames_are_sent_and_watched_on_a_character_device() {
    let Some(_lab) = lab() else { return };
    let text = printed(
        &format!("--timeout 300 --bench timed --file {TWO_DEVICES}"),
        "tools_chardev.sh",
    );
    let parts = parts(&text);
    let stopped = parts["stopped"];
    assert!(
        stopped.starts_with("error: /dev/gw0: /dev/gw0 was never started: "),
        "{text}"
    );
    assert!(stopped.ends_with("status 1\n"), "{text}");
    assert_eq!(
        parts["send"].lines().collect::<Vec<_>>(),
        [
            "3 frames = 3 sent",
            "status 0",
            "status 0",
            "1 frame = 1 refused",
            "error: 1 frame was refused: /dev/gw0 cannot carry this kind of frame (`cangate list` shows which kinds an \
             interface carries)",
            "status 3",
            "300 frames = 300 sent",
            "status 0",
            "1 frame = 1 sent",
            "status 0",
            "123#1122",
            "18DAF110#AABB",
            "7FF#R",
            "124#",
            "50",
            "no drift",
            "300",
        ],
        "{text}"
    );
    // Four were shown while the fifth had not come.
    assert_eq!(
        parts["watch"].lines().collect::<Vec<_>>(),
        [
            "4",
            "status 0",
            "/dev/gw0 123#1122",
            "/dev/gw0 18DAF110#AABB",
            "can1 7FF#R4",
            "/dev/gw0 333#33",
            "/dev/gw0 00000123#",
        ],
        "{text}"
    );
    assert_eq!(
        parts["unplugged"],
        "error: /dev/gw0: there is no /dev/gw0: is the driver loaded (modprobe canchar)?\nstatus 1\nstatus 0\n\
         /dev/gw0 777#\nstatus 0\n",
        "{text}"
    );
}

fn xl_frames_are_sent_watched_and_recorded(kernel: &str) {
    let Some(_lab) = lab() else { return };
    let text = printed(&format!("--timeout 300 --kernel {kernel}"), "tools_xl.sh");
    let parts = parts(&text);
    let refused = "2 frames = 2 refused\nerror: 2 frames were refused: vcan0 cannot carry this kind of frame (`cangate list` \
        shows which kinds an interface carries)\nstatus 3\nXL\n";
    assert_eq!(parts["classic"], refused, "{text}");
    assert_eq!(
        parts["send"].lines().collect::<Vec<_>>(),
        [
            "4 frames = 4 sent",
            "status 0",
            "status 0",
            "vcan0 123#11",
            "vcan0 45123#81:00:12345678#AA",
            "vcan0 00123#80:03:00000001#00112233445566778899",
            "vcan0 18DAF110##5AABB",
            "status 0",
            "as recorded",
        ],
        "{text}"
    );
    let longest = parts["longest"];
    assert!(
        longest.starts_with("1 frame = 1 sent\nstatus 0\n1 frame = 1 sent\nstatus 0\n2048 bytes\n"),
        "{text}"
    );
    assert!(
        longest.contains("an XL frame carries at most 2048 bytes"),
        "{text}"
    );
    assert!(longest.ends_with("status 3\n"), "{text}");
    assert_eq!(
        parts["gateway"].lines().collect::<Vec<_>>(),
        [
            "1 frame = 1 sent",
            "status 0",
            "1 frame = 1 sent",
            "status 0",
            "status 0",
            "status 0",
            "vcan0 45123#81:00:12345678#AA R",
            "vcan1 45123#81:00:12345678#AA T",
            "vcan1 00123#80:03:00000001#00112233445566778899 T",
            "vcan1 45123#81:00:12345678#AA",
            "vcan1 00123#80:03:00000001#00112233445566778899",
            "status 0",
        ],
        "{text}"
    );
}

#[test]
#[ignore = "boots a guest"]
fn xl_frames_are_sent_watched_and_recorded_on_the_first_kernel_with_them() {
    xl_frames_are_sent_watched_and_recorded("6.1");
}

/// Returns the number that follows these words.
fn number_after(text: &str, words: &str) -> u64 {
    let (_, rest) = text.split_once(words).unwrap();
    let digits: String = rest.chars().take_while(char::is_ascii_digit).collect();
    digits.parse().unwrap()
}

mod long {
    use super::*;

    #[test]
    #[ignore = "boots a guest"]
    fn xl_frames_are_sent_watched_and_recorded_on_the_newest_kernel() {
        xl_frames_are_sent_watched_and_recorded("7.3");
    }
}
