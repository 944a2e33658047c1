//! Simulated response times against the analysis: no frame may take longer than the bound of
//! Davis, Burns, Bril and Lukkien, "Controller Area Network (CAN) schedulability analysis:
//! Refuted, revisited and revised" (Real-Time Systems 35, 2007), the sufficient test of section
//! 3.4, for a set of periodic frames in the manner of the SAE class C benchmark (Tindell and
//! Burns, 1994): 17 frames of 1 to 6 bytes, 5 ms to 1 s, on a bus of 125 kbit/s.

use bus::{Bus, BusConfig, NodeConfig, NodeEvent};
use cangate_bus as bus;
use frame::{CanId, Frame, Nanos};
use proptest::prelude::*;

const BIT: Nanos = 8_000;
const MS: Nanos = 1_000_000;

/// Payload bytes and period in ms, the highest priority first.
const SET: [(u64, u64); 17] = [
    (1, 50),
    (2, 5),
    (1, 5),
    (2, 5),
    (1, 5),
    (2, 5),
    (6, 10),
    (1, 10),
    (2, 10),
    (3, 10),
    (1, 20),
    (4, 100),
    (1, 100),
    (1, 100),
    (3, 1000),
    (1, 1000),
    (1, 1000),
];

/// Returns the longest transmission time of a data frame with an SFF identifier, intermission
/// included (equation 1 of the paper): 34 bits of header and CRC take part in stuffing, 13 do not.
fn longest(bytes: u64) -> Nanos {
    (34 + 8 * bytes + 13 + (34 + 8 * bytes - 1) / 4) * BIT
}

/// Returns the bound on the time from a frame being ready to the end of its transmission.
fn bound(index: usize) -> Nanos {
    let own = longest(SET[index].0);
    let lower = SET[index + 1..].iter().map(|f| longest(f.0)).max();
    // Blocking by a frame of lower priority, or by the previous instance of this one.
    let blocking = lower.unwrap_or(0).max(own);
    let mut wait = blocking;
    loop {
        let higher = SET[..index].iter().map(|&(bytes, period)| {
            let instances = (wait + BIT).div_ceil(period * MS);
            instances * longest(bytes)
        });
        let next = blocking + higher.sum::<Nanos>();
        if next == wait {
            return wait + own;
        }
        assert!(next < SET[index].1 * MS, "the set cannot be scheduled");
        wait = next;
    }
}

/// Returns the longest response time of each frame in two seconds, with one node for each frame.
fn simulated(offsets: &[Nanos], mut byte: impl FnMut() -> u8) -> Vec<Nanos> {
    let mut bus = Bus::new(BusConfig::classic(125_000)).unwrap();
    for (i, &(bytes, period)) in SET.iter().enumerate() {
        let node = bus.attach(NodeConfig::default()).unwrap();
        let mut at = offsets[i];
        while at < 2_000 * MS {
            let data: Vec<u8> = (0..bytes).map(|_| byte()).collect();
            let frame = Frame::classic(CanId::sff(0x10 * i as u32).unwrap(), &data).unwrap();
            bus.send(node, at, &frame, i as u64).unwrap();
            at += period * MS;
        }
    }
    let mut worst = vec![0; SET.len()];
    bus.run_until(2_100 * MS, |event| match *event {
        NodeEvent::Frame {
            end, ready, tag, ..
        } => {
            let w = &mut worst[tag as usize];
            *w = (*w).max(end - ready);
        }
        ref other => panic!("{other:?}"),
    });
    worst
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(20))]
    #[test]
    fn no_response_exceeds_the_analysis(
        offsets in prop::collection::vec(0..5 * MS, SET.len()),
        bytes in prop::collection::vec(prop_oneof![Just(0_u8), Just(0xFF), any::<u8>()], 64),
    ) {
        let mut next = bytes.iter().cycle();
        let worst = simulated(&offsets, || *next.next().unwrap());
        for (i, &response) in worst.iter().enumerate() {
            prop_assert!(response > 0);
            prop_assert!(
                response + 3 * BIT <= bound(i),
                "frame {i}: {response} ns, the bound is {} ns", bound(i)
            );
        }
    }
}

/// The bound is not far off when the worst case is built: all frames at once, just after the
/// longest frame of lower priority has started, many stuff bits.
#[test]
fn the_worst_case_comes_close_to_the_bound() {
    // The lowest of the 5 ms frames, blocked by the frame of 6 bytes.
    let (victim, blocking) = (5, 6);
    let mut offsets = vec![1; SET.len()];
    offsets[blocking] = 0;
    let worst = simulated(&offsets, || 0);
    let ratio = worst[victim] as f64 / bound(victim) as f64;
    assert!((0.8..=1.0).contains(&ratio), "{ratio}");
}
