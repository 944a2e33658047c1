//! Settings of Linux interfaces that the gateway's file sets, with `ip` as the witness, and
//! interfaces that the file chooses by their device.

use super::lab;
use super::script::{ONE_PORT, parts, printed};

#[test]
#[ignore = "boots a guest"]
fn the_file_sets_a_controller_and_chooses_it_by_its_device() {
    let Some(_lab) = lab() else { return };
    let text = printed(
        &format!("--bench kvaser --kernel 6.1 --timeout 600 --file {ONE_PORT}"),
        "link_settings.sh",
    );
    let steps = parts(&text);
    let all =
        "qlen 5 can <TRIPLE-SAMPLING,ONE-SHOT,BERR-REPORTING,PRESUME-ACK,CC-LEN8-DLC> sjw 2\n";
    assert_eq!(steps["all"], all);
    assert_eq!(steps["as it is"], all);
    let up = |now: &str, wanted: &str| {
        format!(
            "error: a: can1 is up with {now}, and its port wants {wanted}: `ip link set can1 down` first, or \
             leave that setting out\n"
        )
    };
    let other = up("one-shot on", "one-shot off") + &up("sjw 2", "sjw 1");
    assert_eq!(steps["other"], other);
    assert_eq!(
        steps["changed"],
        "can1 runs with one-shot off, and its port is set to one-shot on: another program has changed it; \
         `cangate reload` sets can1 as the file specifies\n\
         qlen 5 can <TRIPLE-SAMPLING,ONE-SHOT,BERR-REPORTING,CC-LEN8-DLC> sjw 1\n"
    );
    assert_eq!(
        steps["listens"],
        "qlen 5 can <LISTEN-ONLY,TRIPLE-SAMPLING,BERR-REPORTING,CC-LEN8-DLC> sjw 1\nrefused\n"
    );
    let termination = "error: a: can1 cannot be set to a termination of 120 ohms: Operation not supported (os error 95)";
    assert!(
        steps["termination"].starts_with(termination),
        "{}",
        steps["termination"]
    );
    assert_eq!(steps["device"], "bitrate 250000\ncan1 is gone\n");
    assert_eq!(
        steps["altname"],
        "Linux interface NAME (altname body, driver kvaser_pci)\n"
    );
    let several = steps["several"];
    assert!(several.contains("can0 (device 0000:"), "{several}");
    assert!(
        several.contains("; add a property that differs"),
        "{several}"
    );
    let none = steps["none"];
    assert!(none.contains("driver kvaser_pci, channel 0"), "{none}");
    assert!(none.ends_with("waits\n"), "{none}");
}

#[test]
#[ignore = "boots a guest"]
fn the_file_sets_a_controller_with_fd() {
    let Some(_lab) = lab() else { return };
    let text = printed(
        &format!("--bench ctucan --kernel 6.1 --timeout 600 --file {ONE_PORT}"),
        "link_settings_fd.sh",
    );
    let steps = parts(&text);
    let modes = "can <ONE-SHOT,BERR-REPORTING,FD,FD-NON-ISO,PRESUME-ACK>";
    assert_eq!(
        steps["all"],
        format!(
            "qlen 10 {modes} sjw 2\n{modes}\ndbitrate 2000000\ndsample-point 0.740\ndsjw 2\ncan1 has dsample-point 0.740 in \
             place of 0.750: the nearest that its controller's clock and fields allow\n"
        )
    );
    assert_eq!(
        steps["changed"],
        "can1 runs with fd-non-iso off, and its port is set to fd-non-iso on: another program has changed it; \
         `cangate reload` sets can1 as the file specifies\n"
    );
    let refused = [
        "triple-sampling on",
        "cc-len8-dlc on",
        "a termination of 120 ohms",
        "tdco 20",
    ];
    let refused = refused.map(|setting| {
        format!(
            "error: a: can1 cannot be set to {setting}: Operation not supported (os error 95) (its driver does not \
             support it: leave it out); can1 stays down, and is now set to 500000 bit/s, data phase 2000000 bit/s\n"
        )
    });
    assert_eq!(steps["refused"], refused.concat());
    let no_rate = |name: &str, kind: &str| {
        format!("error: a: {name} is a {kind}, which has no bit rate: leave `bitrate` out\n")
    };
    assert_eq!(
        steps["virtual"],
        no_rate("vcan9", "vcan") + &no_rate("vx0", "vxcan")
    );
}
