//! A receiver that stops for a while hands over nothing old.

use crate::program::{ProgramProcess, bus, file, start, tcp, wait_for};
use crate::router::TestRouter;
use std::time::{Duration, Instant};

/// The greatest age that a frame may have here: the receiver's limit, 200 ms, and the time by which
/// this test may be late on a busy machine. The exact limit has a test of its own, in passed-in
/// time (`deliver`).
const OLDEST: Duration = Duration::from_millis(200 + 800);

/// The time for which the receiver stops.
const STOPPED: Duration = Duration::from_millis(2500);

#[test]
fn a_receiver_that_stops_hands_over_no_old_frame() {
    let router = TestRouter::start("tcp", &[]);
    let folder = tempfile::tempdir().unwrap();
    let (far_table, mut far) = bus("can0", "vehicle = \"v1\"\nside = \"operator\"");
    let far_table = far_table.replace("\"5s\"", "\"200ms\"");
    let path = folder.path().join("operator.toml");
    std::fs::write(&path, file(&tcp(router.address), "", &[&far_table])).unwrap();
    let operator = ProgramProcess::start(&path);
    let (table, mut peer) = bus("can0", "vehicle = \"v1\"\ndirection = \"publish\"");
    let mut vehicle = start(&file(&tcp(router.address), "", &[&table]));
    let mut frames = Vec::new();
    wait_for("the first frame", || {
        peer.send(&[0x100]);
        frames.extend(far.receive(Duration::from_millis(20)));
        !frames.is_empty()
    });
    // The kernel keeps what the program does not read.
    operator.signal("STOP");
    let begun = Instant::now();
    while begun.elapsed() < STOPPED {
        peer.send(&[0x100, 0x010]);
        std::thread::sleep(Duration::from_millis(2));
    }
    operator.signal("CONT");
    for _ in 0..100 {
        peer.send(&[0x100]);
        frames.extend(far.receive(Duration::from_millis(5)));
    }
    frames.extend(far.receive(Duration::from_millis(500)));
    let published = vehicle.end()[0].publish.unwrap();
    std::thread::sleep(Duration::from_millis(300));
    let counters = operator.end()[0].deliver.unwrap();
    println!("{published:?}\n{counters:?}");
    assert!(counters.is_balanced(), "{counters:?}");
    assert_eq!(counters.known_of(), published.published);
    assert_eq!(counters.delivered, frames.len() as u64);
    assert!(counters.expired > 0, "{counters:?}");
    let oldest = frames.iter().map(|frame| frame.age).max().unwrap();
    let oldest = Duration::from_nanos(oldest);
    assert!(oldest < OLDEST, "a frame of {oldest:?}");
}
