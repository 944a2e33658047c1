//! Published figures, each with its source.
//!
//! The example of Davis et al. 2007 is in `priority.rs`. The bounds of the SAE set (Tindell, Burns,
//! 1994) are missing: the paper could not be consulted.

use crate::common;

use analysis::{Arrival, BusSpec, FrameShape, LengthRule, Message, NodeSpec, SendOrder};
use common::assess;
use frame::{CanId, Header, Kind, Nanos};

/// Messages in order of priority, each with this number of bytes, with their periods in ms.
fn bus(rate: &str, messages: &[(usize, u64)]) -> BusSpec {
    let message = |(number, &(len, period)): (u32, &(usize, u64))| {
        let id = CanId::sff(number).unwrap();
        let header = Header::new(Kind::Classic, id, len).unwrap();
        Message {
            name: String::new(),
            node: 0,
            shape: FrameShape::any(header).unwrap(),
            arrival: Arrival::new(period * 1_000_000, 0, 0).unwrap(),
            offset: None,
            deadline: period * 1_000_000,
        }
    };
    let rate = rate.parse().unwrap();
    BusSpec {
        name: "bus".to_owned(),
        rate,
        lengths: LengthRule::Formula,
        errors: None,
        random_errors: None,
        joins: BusSpec::bit(rate),
        nodes: vec![NodeSpec::new("node", SendOrder::Priority)],
        messages: (1..).zip(messages).map(message).collect(),
    }
}

/// The set of Broster, Burns, Rodríguez-Navas, *Probabilistic analysis of CAN with faults*, RTSS
/// 2002, and the results of SchedCAT for it without faults, in µs:
/// <https://github.com/brandenburg/schedcat/blob/master/tests/canbus.py>, class `CANMessage2`,
/// `test_wctts_wo_faults`. 250 kbit/s, 11-bit identifiers, no jitter, deadlines as periods.
///
/// Its assumptions (`schedcat/model/canbus.py` there) are ours with `LengthRule::Formula`: 44 + 8
/// b + ⌊(33 + 8 b) / 4⌋ bits, 3 bits between frames, and a bit time in which others join. It counts
/// these 3 bits before each message, also before the last one, which nothing blocks: 12 µs more.
/// Its figures with faults take 29 bits for an error and its recovery, ours 23
/// ([`analysis::window`]), and are not compared.
#[test]
fn the_set_of_broster_2002_as_schedcat_has_it() {
    let set = [
        (8, 10),
        (3, 14),
        (3, 20),
        (2, 15),
        (5, 20),
        (5, 40),
        (4, 15),
        (5, 50),
        (4, 20),
        (7, 100),
        (5, 50),
        (1, 100),
    ];
    let published = [
        1028, 1368, 1708, 2008, 2428, 2848, 3228, 3648, 4028, 4448, 4708, 4720,
    ];
    let (_, found) = assess(&bus("250k", &set));
    let mut ours: Vec<Nanos> = found
        .messages
        .iter()
        .map(|m| m.bound.unwrap().response / 1000)
        .collect();
    *ours.last_mut().unwrap() += 12;
    assert_eq!(ours, published);
}
