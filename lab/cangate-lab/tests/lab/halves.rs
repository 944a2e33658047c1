//! Ways to receive and to transmit, in `cangate run` on real controllers.

use super::lab;
use super::script::printed;
use serde_json::Value;

/// Frames sent by a ring have not passed the CAN protocol; can-gw takes them all the same.
#[test]
#[ignore = "boots a guest"]
fn can_gw_takes_what_a_ring_sends() {
    let Some(_lab) = lab() else { return };
    let text = printed(
        "--fast --bench none --kernel 6.1 --timeout 300",
        "ring_can_gw.sh",
    );
    let passed = text.lines().filter(|line| *line == "25 of 25");
    assert_eq!(passed.count(), 3, "{text}");
}

mod long {
    use super::*;

    /// The controllers echo sent frames to all sockets on the interface, including the port itself:
    /// with no pair of ways does it receive them.
    #[test]
    #[ignore = "boots a guest"]
    fn by_no_pair_of_ways_a_port_receives_what_it_sent() {
        let Some(_lab) = lab() else { return };
        // In virtual time: on a busy host, a controller would now and then be read too late.
        let text = printed("--bench kvaser --kernel 6.1 --timeout 300", "halves.sh");
        let mut tried = 0;
        for step in text.split("== ").skip(1).filter(|step| step.contains('{')) {
            let json = step.lines().find(|line| line.starts_with('{')).unwrap();
            let stats: Value = serde_json::from_str(json).unwrap();
            let ports = stats["ports"].as_array().unwrap();
            let counts: Vec<_> = ports
                .iter()
                .map(|port| (port["received"].as_u64(), port["tx"]["sent"].as_u64()))
                .collect();
            let expected = [(Some(40), Some(20)), (Some(20), Some(40))];
            assert_eq!(counts, expected, "{step}");
            assert!(step.contains("status 0"), "{step}");
            tried += 1;
        }
        assert_eq!(tried, 12);
    }
}
