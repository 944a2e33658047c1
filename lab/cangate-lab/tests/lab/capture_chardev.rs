//! Recording character devices, in a guest with the real driver.

use super::capture::{json, parts};
use super::lab;
use super::script::{TWO_DEVICES, printed};

/// Compares the frames with candump's on an interface of the same bus; and tests the possible
/// events of a device.
#[test]
#[ignore = "boots a guest"]
fn a_character_device_is_recorded_as_an_interface_of_its_bus() {
    let Some(_guest) = lab() else { return };
    let text = printed(
        &format!("--timeout 300 --bench timed --file {TWO_DEVICES}"),
        "capture_chardev.sh",
    );
    let parts = parts(&text);
    let number = |value: &serde_json::Value, key: &str| value[key].as_u64().unwrap();

    let stopped = &parts["stopped"];
    assert_eq!(stopped[0], "status 0", "{text}");
    assert!(stopped[1].starts_with("/dev/gw0 is stopped; "), "{text}");
    assert_eq!(stopped[2..], ["/dev/gw0 is started"], "{text}");

    // 500 and 3 frames of can0; 100 and 1 of can1, which the gateway sends on gw0.
    let same = &parts["same"];
    let all = json(same);
    let received: Vec<_> = all.iter().map(|one| number(one, "received")).collect();
    // By ID: 500 of 200, and 12345678.
    assert_eq!(received, [604, 1208, 501], "{text}");
    for one in &all {
        assert_eq!(number(one, "lost"), 0, "{text}");
        assert_eq!(number(&one["written"], "frames"), number(one, "received"));
    }
    for output in [
        "same frames as candump",
        "sent 101 received 503",
        "the interface is candump's",
        "same frames beside it",
        "in the order of the stamps",
    ] {
        assert!(same.contains(&output), "{output}: {text}");
    }
    let names = [&all[1]["interfaces"][0], &all[1]["interfaces"][1]].map(|one| &one["name"]);
    assert_eq!(names, ["can0", "/dev/gw0"]);

    let errors = &parts["errors"];
    assert_eq!(errors[..2], ["status 0", "status 0"], "{text}");
    assert!(errors.contains(&"bus-off 1 restarted 1"), "{text}");
    assert!(errors.contains(&"without 222#"), "{text}");

    let lost = &parts["lost"];
    let error = "error: 236 frames were lost: 236: a character device's queue was full (it holds 64 frames)";
    assert_eq!(lost[..2], [error, "status 3"], "{text}");
    let output = &json(lost)[0];
    // The queue has room for 64.
    let counts = &output["interfaces"][0];
    assert_eq!(number(output, "received"), 65, "{text}");
    assert_eq!(number(counts, "lost_device"), 236, "{text}");
    assert_eq!(number(output, "lost"), 236, "{text}");
    let remark = lost.iter().filter(|line| line.starts_with("# "));
    assert!(
        remark.clone().all(|line| line.contains("/dev/gw0")),
        "{text}"
    );
    assert_eq!(remark.count(), 1, "{text}");

    let expected = [
        "status 0",
        "/dev/gw0 is gone; it is recorded again when it is back",
        "/dev/gw0 is back",
        "101#",
        "101#",
        "102#",
        "102#",
    ];
    let gone = parts["gone"]
        .iter()
        .filter(|line| !line.starts_with("/dev/gw0 is st"));
    assert_eq!(gone.copied().collect::<Vec<_>>(), expected, "{text}");

    assert_eq!(parts["end"], ["status 0", "25"], "{text}");
}
