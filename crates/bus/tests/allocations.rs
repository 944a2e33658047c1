//! Once its buffers have grown, a bus at full load allocates nothing: not for frames, not for
//! frames handed in beforehand, not for errors. (One test only: the count is of the whole process.)

#![allow(clippy::unwrap_used)]

use bus::{Bus, BusConfig, BusFaults, ErrorKind, NodeConfig, NodeEvent, NodeId};
use cangate_bus as bus;
use frame::{CanId, Frame};
use stats_alloc::{INSTRUMENTED_SYSTEM, Region, StatsAlloc};
use std::alloc::System;

#[global_allocator]
static GLOBAL: &StatsAlloc<System> = &INSTRUMENTED_SYSTEM;

/// Keeps four nodes saturated, one of them by frames for later; returns the numbers of frames sent
/// and of errors.
fn flood(bus: &mut Bus, frames: u64) -> (u64, u64) {
    let (mut sent, mut errors, mut counter) = (0, 0, 0_u64);
    while sent < frames {
        for node in 0..4_u16 {
            let later = if node == 3 { 20_000 } else { 0 };
            let id = CanId::sff(0x100 + u32::from(node)).unwrap();
            let frame = Frame::classic(id, &counter.to_le_bytes()).unwrap();
            counter += 1;
            let _ = bus.send(NodeId(node), bus.now() + later, &frame, counter);
        }
        let t = bus.next().unwrap();
        bus.run_until(t, |event| match event {
            NodeEvent::Frame { .. } => sent += 1,
            NodeEvent::Error { .. } => errors += 1,
            _ => {}
        });
    }
    (sent, errors)
}

#[test]
fn no_allocation_in_the_steady_state() {
    let mut bus = Bus::new(BusConfig {
        faults: BusFaults {
            per_frame: 0.02,
            kinds: vec![ErrorKind::Bit, ErrorKind::Crc],
            ..BusFaults::default()
        },
        ..BusConfig::classic(500_000)
    })
    .unwrap();
    for _ in 0..4 {
        bus.attach(NodeConfig {
            scheduled: 8,
            ..NodeConfig::default()
        })
        .unwrap();
    }
    flood(&mut bus, 1_000);
    let region = Region::new(GLOBAL);
    let (_, errors) = flood(&mut bus, 2_000);
    let change = region.change();
    assert_eq!((change.allocations, change.reallocations), (0, 0));
    assert!(errors > 15, "{errors}");
}
