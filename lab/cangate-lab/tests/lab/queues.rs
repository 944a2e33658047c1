//! The order of a port's transmit queue, on a kernel: priority inversion, caused and prevented.

use super::lab;
use super::script::{objects, parts, printed};

/// Returns how many frames leave on the slow bus between the end of each urgent frame on the fast
/// bus and its end on the slow one, and the number of frames on the slow bus.
fn overtaking(recording: &str) -> (Vec<usize>, usize) {
    let frames: Vec<(f64, &str, &str)> = recording
        .lines()
        .filter(|line| line.starts_with('('))
        .map(|line| {
            let words: Vec<&str> = line.split(' ').collect();
            let time = words[0].trim_matches(['(', ')']).parse().unwrap();
            (time, words[1], words[2])
        })
        .collect();
    let on = |bus| {
        let frames = frames.iter();
        frames.filter(move |(_, interface, _)| *interface == bus)
    };
    let urgent = |bus| on(bus).filter(|(_, _, frame)| frame.starts_with("100#"));
    let before = urgent("src").map(|&(came, _, frame)| {
        let left = urgent("dst").find(|(_, _, other)| *other == frame);
        let left = left.expect("each urgent frame leaves").0;
        let between = on("dst").filter(|&&(at, _, _)| at > came && at < left);
        between.count()
    });
    (before.collect(), on("dst").count())
}

#[test]
#[ignore = "boots a guest"]
fn priority_order_cures_the_inversion_that_fifo_makes() {
    let Some(_lab) = lab() else { return };
    let log = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../examples/queues/burst.log"
    );
    let text = printed(
        &format!("--bench timed --kernel 6.1 --timeout 600 --file {log}"),
        "queues.sh",
    );
    let steps = parts(&text);
    for (order, bound) in [("fifo", 4..=7), ("priority", 0..=2)] {
        let (before, frames) = overtaking(steps[order]);
        assert_eq!((before.len(), frames), (5, 45), "{order}");
        // By priority: at most the frame on the wire, and the one in the interface's queue.
        assert!(
            before.iter().all(|count| bound.contains(count)),
            "{order}: frames of low priority before each urgent one: {before:?}"
        );
        let counters = &objects(steps[order])[0];
        let ports = counters["ports"].as_array().unwrap();
        let out = ports.iter().find(|port| port["name"] == "out").unwrap();
        assert_eq!(out["tx"]["sent"], 45, "{counters}");
    }
}
