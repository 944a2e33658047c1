//! Bit rates of Linux interfaces, set by the gateway's file.

use super::lab;
use super::script::{ONE_PORT, parts, printed};

#[test]
#[ignore = "boots a guest"]
fn the_file_sets_bit_rates() {
    let Some(_lab) = lab() else { return };
    let text = printed(
        &format!("--bench kvaser --kernel 6.1 --timeout 600 --file {ONE_PORT}"),
        "bit_rates.sh",
    );
    let steps = parts(&text);
    let set = "can state ERROR-ACTIVE restart-ms 70 bitrate 250000 ";
    assert_eq!(steps["set"], format!("{set}up\n"));
    assert_eq!(steps["returns"], set);
    let other = "error: a: can1 is up at 250000 bit/s: `ip link set can1 down` first, or leave \
                 `bitrate` out to use its present settings\n";
    assert_eq!(steps["other"], other);
    assert_eq!(
        steps["impossible"],
        "error: a: can1 cannot be set to 500000 bit/s, data phase 2000000 bit/s: Operation not \
         supported (os error 95) (does its driver support CAN FD?)\nDOWN\nerror: a: vcan7 is a \
         vcan, which has no bit rate: leave `bitrate` out\n"
    );
    let at = |rate: u32| format!("can state ERROR-ACTIVE restart-ms 70 bitrate {rate} ");
    let runs_at = |wanted: u32| {
        format!(
            "can1 runs at 125000 bit/s, and its port is set to {wanted} bit/s: another program has changed it; "
        )
    };
    let cure = "`cangate reload` sets can1 as the file specifies\n";
    assert_eq!(
        steps["changed"],
        format!("{}{cure}{}", runs_at(500_000), at(500_000))
    );
    assert_eq!(steps["other file"], at(250_000));
    // An interface that was up at the start belongs to another owner, who has to switch it off.
    let refused = "can1 is up at 125000 bit/s: `ip link set can1 down` first, or leave `bitrate` \
                   out to use its present settings";
    assert_eq!(
        steps["not ours"],
        format!(
            "{}`ip link set can1 down`, and `cangate reload` sets it as the file specifies\n{refused}\n{}{}",
            runs_at(250_000),
            at(125_000),
            at(250_000)
        )
    );
    assert_eq!(
        steps["absent"],
        format!(
            "there is no interface can1; CAN interfaces here: can0, can2, vcan7; frames for it are refused until it \
             comes\n{}",
            at(250_000)
        )
    );
    assert!(
        steps["unset"]
            .starts_with("can1 has no bit rate yet: `ip link set can1 up type can bitrate 500000`"),
        "{}",
        steps["unset"]
    );
}
