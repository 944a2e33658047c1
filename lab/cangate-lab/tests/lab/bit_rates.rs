//! Bit rates of Linux interfaces that the gateway's file sets.

use super::lab;
use super::script::{parts, printed};

#[test]
#[ignore = "boots a guest"]
fn the_file_sets_bit_rates() {
    let Some(_lab) = lab() else { return };
    let text = printed("--bench kvaser --kernel 6.1 --timeout 600", "bit_rates.sh");
    let steps = parts(&text);
    let set = "can state ERROR-ACTIVE restart-ms 70 bitrate 250000 ";
    assert_eq!(steps["set"], format!("{set}up\n"));
    assert_eq!(steps["returns"], set);
    let other = "error: a: can1 is up at 250000 bit/s: `ip link set can1 down` first, or leave `bitrate` out to take it \
                 as it is\n";
    assert_eq!(steps["other"], other);
    assert_eq!(
        steps["impossible"],
        "error: a: can1 cannot be set to 500000 bit/s, data phase 2000000 bit/s: its controller or driver cannot do that \
         (CAN FD?)\nDOWN\nerror: a: vcan7 is a vcan, which has no bit rate: leave `bitrate` out\n"
    );
    assert!(
        steps["unset"]
            .starts_with("can1 has no bit rate yet: `ip link set can1 up type can bitrate 500000`"),
        "{}",
        steps["unset"]
    );
}
