//! The SAE class C benchmark as Tindell and Burns adapted it to CAN.

use super::{MessageSet, SetMessage};
use frame::{CanId, Nanos};

const MS: Nanos = 1_000_000;
const US: Nanos = 1_000;

const BATTERY: u16 = 0;
const VEHICLE: u16 = 1;
const INVERTER: u16 = 2;
const DRIVER: u16 = 4;
const BRAKES: u16 = 5;
const TRANSMISSION: u16 = 6;

/// The subsystems of the benchmark's electric car. The instrument panel only receives.
pub const SAE_CLASS_C_NODES: &[&str] = &[
    "battery",
    "vehicle controller",
    "inverter/motor controller",
    "instrument panel",
    "driver input",
    "brakes",
    "transmission",
];

const SOURCE: &str = "K. Tindell, A. Burns: Guaranteeing message latencies on Control Area \
Network (CAN), 1st International CAN Conference, 1994: the 53 signals of SAE J2056/1 after \
piggybacking, 17 messages in order of priority. Senders, sizes and periods of the 15 periodic \
messages agree with the benchmark's implementation for six ECUs in the public repository \
tm4c129-canbus (sae-benchmark/saebench.h), except that the vehicle controller's 5 ms message is \
2 bytes here (two signals of one byte) and 1 byte there. The two sporadic messages and the \
deadlines are from the paper as we know it, not compared with a second source. Identifiers, \
offsets and release jitter are cangate's own.";

/// Signal numbers of the paper, sender, bytes, period in ms, deadline in ms, jitter in µs,
/// sporadic.
type Row = (&'static str, u16, u8, Nanos, Nanos, Nanos, bool);

/// The messages in order of priority. Rows with the same deadline keep the paper's order.
const ROWS: [Row; 17] = [
    ("contactor open/close (14)", BATTERY, 1, 50, 5, 100, true),
    ("brake pressures (8, 9)", BRAKES, 2, 5, 5, 100, false),
    ("accelerator position (7)", DRIVER, 1, 5, 5, 100, false),
    (
        "torque measured, motor speed (43, 49)",
        INVERTER,
        2,
        5,
        5,
        100,
        false,
    ),
    (
        "clutch line pressure (11)",
        TRANSMISSION,
        1,
        5,
        5,
        100,
        false,
    ),
    (
        "clutch control, torque command (32, 42)",
        VEHICLE,
        2,
        5,
        5,
        100,
        false,
    ),
    (
        "contactors, lights, relays and states (29–31, 34, 35, 37–40, 44, 46, 48, 53)",
        VEHICLE,
        6,
        10,
        10,
        200,
        false,
    ),
    (
        "12 V acknowledges, interlock (23–25, 28)",
        BATTERY,
        1,
        10,
        10,
        200,
        false,
    ),
    (
        "key, accelerator switch, brake, shift lever, speed control, mode (15–17, 19, 20, 22, 26, 27)",
        DRIVER,
        2,
        10,
        10,
        200,
        false,
    ),
    (
        "contactor, direction, inhibit, shutdown, status (41, 45, 47, 50–52)",
        INVERTER,
        2,
        10,
        10,
        200,
        false,
    ),
    ("brake switch (18)", BRAKES, 1, 20, 20, 200, true),
    (
        "battery voltages and currents (1, 2, 4, 6)",
        BATTERY,
        4,
        100,
        100,
        300,
        false,
    ),
    ("vehicle speed (12)", BRAKES, 1, 100, 100, 300, false),
    (
        "transaxle lubrication pressure (10)",
        TRANSMISSION,
        1,
        100,
        100,
        300,
        false,
    ),
    (
        "battery temperatures, ground fault (3, 5, 13)",
        BATTERY,
        3,
        1000,
        1000,
        400,
        false,
    ),
    (
        "motor over temperature (21)",
        TRANSMISSION,
        1,
        1000,
        1000,
        400,
        false,
    ),
    (
        "converter, ground fault test (33, 36)",
        VEHICLE,
        1,
        1000,
        1000,
        400,
        false,
    ),
];

/// Returns the SAE class C message set; its [`MessageSet::source`] states the origin of each part.
///
/// Identifiers are SFF, 010 for the highest priority, then in steps of 010 (hex) down to 110.
#[must_use]
pub fn sae_class_c() -> MessageSet {
    let messages = ROWS
        .iter()
        .zip(1u32..)
        .map(
            |(&(name, node, len, period, deadline, jitter, sporadic), rank)| SetMessage {
                name,
                node,
                // At most 0x110, an SFF identifier.
                id: CanId::from_raw(rank * 0x10),
                len,
                period: period * MS,
                deadline: deadline * MS,
                jitter: jitter * US,
                sporadic,
            },
        )
        .collect();
    MessageSet {
        name: "SAE class C",
        source: SOURCE,
        nodes: SAE_CLASS_C_NODES,
        messages,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seventeen_messages_in_order_of_deadline() {
        let set = sae_class_c();
        assert_eq!(set.messages.len(), 17);
        for pair in set.messages.windows(2) {
            assert!(pair[0].deadline <= pair[1].deadline, "{}", pair[1].name);
            assert!(pair[0].id < pair[1].id);
        }
        for message in &set.messages {
            assert!(usize::from(message.node) < set.nodes.len());
            assert!(message.deadline <= message.period);
            assert!(!message.id.is_eff() && message.id.raw() <= CanId::SFF_MASK);
        }
    }

    /// The contents of the second source: node, bytes and period of every periodic message.
    #[test]
    fn periodic_messages_as_the_public_implementation_has_them() {
        let mut ours: Vec<(u16, Nanos, u8)> = sae_class_c()
            .messages
            .iter()
            .filter(|m| !m.sporadic)
            .map(|m| (m.node, m.period / MS, m.len))
            .collect();
        let mut theirs = vec![
            (VEHICLE, 5, 1),
            (VEHICLE, 10, 6),
            (VEHICLE, 1000, 1),
            (BRAKES, 5, 2),
            (BRAKES, 100, 1),
            (DRIVER, 5, 1),
            (DRIVER, 10, 2),
            (BATTERY, 10, 1),
            (BATTERY, 100, 4),
            (BATTERY, 1000, 3),
            (INVERTER, 5, 2),
            (INVERTER, 10, 2),
            (TRANSMISSION, 5, 1),
            (TRANSMISSION, 100, 1),
            (TRANSMISSION, 1000, 1),
        ];
        ours.sort_unstable();
        theirs.sort_unstable();
        let differing: Vec<_> = ours.iter().zip(&theirs).filter(|(a, b)| a != b).collect();
        assert_eq!(differing, [(&(VEHICLE, 5, 2), &(VEHICLE, 5, 1))]);
    }
}
