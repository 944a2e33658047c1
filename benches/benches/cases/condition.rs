//! One route with conditions on the payload, all of which its frames meet.

use super::{Bench, Count, exact_sff, route};
use frame::{CanId, Frame};
use route::parts::{BitMeaning, ByteOrder, FieldLayout, FieldTest, SignalField};
use route::{PayloadPattern, Routes, RoutingTable, SignalCondition};

/// The payload of all frames.
const DATA: [u8; 8] = [1, 2, 3, 4, 5, 6, 7, 8];

/// A comparison of a signal of 16 bits that holds.
fn test(number: u16) -> FieldTest {
    let (order, start) = match number % 2 {
        0 => (ByteOrder::Intel, 16 * number),
        _ => (ByteOrder::Motorola, 16 * number + 7),
    };
    let layout = FieldLayout {
        start,
        bits: 16,
        order,
    };
    let field = SignalField::new(layout, 8).unwrap();
    FieldTest::new(field, BitMeaning::Unsigned, (1, 0xFFF0), false).unwrap()
}

fn condition(tests: u16) -> SignalCondition {
    SignalCondition {
        text: String::new(),
        alternatives: vec![(0..tests).map(test).collect()],
    }
}

/// Returns the benches by name; the first one is compared with the others.
pub fn benches() -> [(&'static str, Bench); 3] {
    let pattern = PayloadPattern {
        at: 0,
        value: vec![1, 2],
        mask: vec![0xFF; 2],
    };
    let bench = |pattern: Option<PayloadPattern>, tests: u16| {
        let (id, raw) = exact_sff(0x123);
        let mut route = route(id, Vec::new());
        route.matching.payload = pattern.into_iter().collect();
        route.matching.when = (tests > 0).then(|| condition(tests));
        let routes = Routes {
            routes: vec![route],
            ..Routes::default()
        };
        let table = RoutingTable::compile(&routes, 2).unwrap();
        let memory = table.memory();
        let frame = || Frame::classic(CanId::from_raw(raw), &DATA).unwrap();
        Bench {
            table,
            memory,
            sink: Count::default(),
            fixed: frame(),
            random: (0..4096).map(|_| frame()).collect(),
        }
    };
    [
        ("payload pattern", bench(Some(pattern), 0)),
        ("when, 1 comparison", bench(None, 1)),
        ("when, 4 comparisons", bench(None, 4)),
    ]
}
