//! Recording in a guest, with everything that can go wrong.

use super::lab;
use super::script::{self, printed};
use std::collections::BTreeMap;

/// Returns the output of each part of the script.
pub(crate) fn parts(text: &str) -> BTreeMap<&str, Vec<&str>> {
    let parts = script::parts(text).into_iter();
    parts
        .map(|(name, part)| (name, part.lines().collect()))
        .collect()
}

/// Parses the objects of JSON among the lines.
pub(crate) fn json(lines: &[&str]) -> Vec<serde_json::Value> {
    let lines = lines.iter().filter(|line| line.starts_with('{'));
    lines
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

#[test]
#[ignore = "boots a guest"]
fn recordings_are_whole_and_what_is_lost_is_counted() {
    let Some(_lab) = lab() else { return };
    let text = printed("--timeout 300", "capture.sh");
    let parts = parts(&text);
    let number = |value: &serde_json::Value, key: &str| value[key].as_u64().unwrap();

    // 500 and 4 frames on vcan0 and one error frame, 100 and 1 on vcan1.
    let forms = &parts["forms"];
    let all = json(forms);
    let received: Vec<_> = all.iter().map(|one| number(one, "received")).collect();
    assert_eq!(received, [605, 605, 504], "{text}");
    for one in &all {
        assert_eq!(number(one, "lost"), 0, "{text}");
        assert_eq!(number(&one["written"], "frames"), number(one, "received"));
    }
    assert!(forms.contains(&"same lines"), "{text}");
    assert!(forms.contains(&"vcan0 20000004#0001000000000000"), "{text}");
    // The section's block, and this machine's byte order.
    assert!(forms.contains(&" 0a0d0d0a 00000034 1a2b3c4d"), "{text}");
    assert_eq!(forms.iter().filter(|l| **l == "status 0").count(), 4);
    // 501 of 123 on vcan0, one of 456 on vcan1, one of 300; and the error frame.
    assert!(forms.contains(&"filtered 504"), "{text}");

    let loss = &json(&parts["loss"])[0];
    assert!(number(loss, "lost_ring") > 0, "{text}");
    assert_eq!(number(loss, "received") + number(loss, "lost"), 20_100);
    assert!(parts["loss"].contains(&"status 3"), "{text}");
    // The frames after the gap are there.
    assert!(number(loss, "received") > 100, "{text}");

    let losses = &json(&parts["losses"])[0];
    let of = |n: usize, key: &str| losses["interfaces"][n][key].as_u64().unwrap();
    assert_eq!(
        of(0, "received") + of(0, "lost_ring"),
        9000,
        "by interface: {text}"
    );
    assert_eq!(of(1, "received") + of(1, "lost_ring"), 3000, "{text}");
    assert_eq!((of(2, "received"), of(2, "lost_ring")), (40, 0), "{text}");
    assert!(of(0, "lost_ring") > 0 && of(1, "lost_ring") > 0, "{text}");
    let sum = of(0, "lost_ring") + of(1, "lost_ring");
    assert_eq!(sum, number(losses, "lost_ring"), "{text}");

    let direction = &parts["direction"];
    assert!(direction.contains(&"same as candump -x"), "{text}");
    // 3 and 300 of vx0 and one more; 6 and 300 of vx1.
    assert!(direction.contains(&"sent 304 received 306"), "{text}");
    assert!(direction.contains(&"sent 306 received 304"), "{text}");
    assert!(direction.contains(&"vcan0 300# T"), "{text}");
    for one in &json(direction) {
        assert_eq!(number(one, "no_direction"), 0, "{text}");
        assert_eq!(number(&one["written"], "frames"), 610, "{text}");
    }

    assert_eq!(parts["kill"], ["700", " 0a"], "whole lines, all of them");

    let full = &json(&parts["full"])[0];
    let interface = &full["interfaces"][0];
    let (received, lost) = (number(full, "received"), number(interface, "lost_file"));
    assert_eq!(received, 6000, "{text}");
    assert!(lost > 0 && number(full, "lost") == lost, "{text}");
    assert_eq!(
        number(&full["written"], "frames") + lost,
        received,
        "{text}"
    );
    // In addition to the frames, a line for each loss.
    let lines: u64 = parts["full"].last().unwrap().parse().unwrap();
    assert!((1..5).contains(&(lines + lost - received)), "{text}");

    let gone = &parts["gone"];
    assert_eq!(number(&json(gone)[0], "received"), 60, "{text}");
    assert!(gone.iter().any(|line| line.starts_with("vcan1 is gone")));

    let trigger = &parts["trigger"];
    let files = ["       51 j.000001.log", "       51 j.000002.log"];
    assert!(files.iter().all(|file| trigger.contains(file)), "{text}");
    assert!(trigger.contains(&"vcan0 7E8#031122"), "{text}");
    assert_eq!(number(&json(trigger)[0]["written"], "triggers"), 2);

    assert_eq!(parts["end"], ["status 0", "25"], "{text}");
}
