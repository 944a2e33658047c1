use super::*;
use frame::CanId;
use probe::IncomingFrame;

const MS: u64 = 1_000_000;

/// Returns a frame that comes in by port 0 at `end`, and that does not go out yet.
fn came(id: u32, end: u64, status: Status) -> FrameRecord {
    FrameRecord {
        tag: end,
        route: (status != Status::NoRoute).then_some(0),
        incoming: Some(IncomingFrame {
            port: 0,
            id: CanId::from_raw(id),
            kind: None,
            len: 8,
            end,
        }),
        outgoing: None,
        status,
        processing: None,
        accesses: None,
    }
}

/// Returns a frame that goes out by port 1 after it has waited for `waited` ns; 200 µs on the bus.
fn went(id: u32, end: u64, waited: u64) -> FrameRecord {
    let duration = 200_000;
    FrameRecord {
        outgoing: Some(SentCopy {
            port: 1,
            id: CanId::from_raw(id),
            kind: None,
            len: 8,
            end: end + waited + duration,
            duration,
        }),
        ..came(id, end, Status::Delivered)
    }
}

fn run(records: Vec<FrameRecord>) -> RunResults {
    RunResults {
        routes: vec!["engine".into()],
        ports: vec!["front".into(), "rear".into()],
        records,
        ..RunResults::default()
    }
}

fn sentence(results: &RunResults, waiting_only: bool) -> String {
    super::sentence(results.into(), waiting_only)
}

fn lead(results: &RunResults, waiting_only: bool) -> RunLead {
    super::lead(results.into(), waiting_only)
}

fn tile(lead: &RunLead, name: &str) -> (String, String, bool) {
    let found = lead.tiles.iter().find(|t| t.name == name).unwrap();
    (found.value.clone(), found.note.clone(), found.bad)
}

#[test]
fn nothing_lost_and_the_slowest_frame_with_what_it_waited_for() {
    // 100 goes out at once; 300 waits for it and for 200, which came later and has priority.
    let results = run(vec![
        went(0x100, MS, 0),
        went(0x300, MS + 50_000, 350_000),
        went(0x200, MS + 100_000, 100_000),
    ]);
    assert_eq!(
        sentence(&results, true),
        "3 frames came in from front in 0.001 s: all of them went out and none was lost; the worst \
         latency is 350 µs, because ID 300 of route “engine” waited for ID 100 and ID 200 on rear."
    );
    let lead = lead(&results, true);
    assert_eq!(tile(&lead, "came in").0, "3");
    assert_eq!(
        tile(&lead, "went out"),
        ("3".into(), "100 % of the frames that came in".into(), false)
    );
    assert_eq!(
        tile(&lead, "did not go out"),
        ("0".into(), "none was lost".into(), false)
    );
    assert_eq!(
        tile(&lead, "worst latency"),
        (
            "350 µs".into(),
            "median 100 µs, 99 % within 350 µs".into(),
            false
        )
    );
    assert_eq!(lead.why_zero, None, "the median is 100 µs");
}

#[test]
fn lost_frames_are_reported_and_seen() {
    let mut results = run(vec![
        went(0x100, MS, 0),
        went(0x100, 2 * MS, 0),
        came(0x101, 3 * MS, Status::Refused),
        came(0x101, 4 * MS, Status::Refused),
        came(0x102, 5 * MS, Status::NoRoute),
        came(0x103, 6 * MS, Status::DroppedByRate),
    ]);
    assert_eq!(
        sentence(&results, true),
        "6 frames came in from front in 0.005 s: 2 went out, 1 had no route, 1 was dropped by a rate \
         limit and 2 were refused by a full queue; each went out as soon as it had come in."
    );
    let (value, note, bad) = tile(&lead(&results, true), "did not go out");
    assert_eq!((value.as_str(), bad), ("4", true));
    assert!(note.ends_with("2 were refused by a full queue"), "{note}");
    // A drop that a route or its absence explains is not a loss.
    results.records.retain(|r| r.status != Status::Refused);
    let (value, note, bad) = tile(&lead(&results, true), "did not go out");
    assert_eq!((value.as_str(), bad), ("2", false));
    assert!(note.ends_with("none was lost"), "{note}");
}

#[test]
fn a_median_of_0_is_explained_where_a_latency_is_waiting_only() {
    let results = run(vec![
        went(0x100, MS, 0),
        went(0x100, 2 * MS, 0),
        went(0x100, 3 * MS, 7_000),
    ]);
    let why = lead(&results, true).why_zero.unwrap();
    assert!(
        why.contains("2 of 3 frames (66.7 %) found it free"),
        "{why}"
    );
    assert_eq!(lead(&results, false).why_zero, None);
    let output = sentence(&results, true);
    assert!(
        output.ends_with("although no other frame was on rear meanwhile."),
        "{output}"
    );
    let output = sentence(&results, false);
    assert!(
        output.ends_with("with no other frame on rear meanwhile."),
        "{output}"
    );
}

#[test]
fn no_frame_at_all_and_none_that_goes_out() {
    let nothing = "No frame came in, so none was routed and there is no latency.";
    assert_eq!(sentence(&run(vec![]), true), nothing);
    let lead_of_nothing = lead(&run(vec![]), true);
    assert_eq!(tile(&lead_of_nothing, "worst latency").0, "–");
    let results = run(vec![
        came(1, MS, Status::NoRoute),
        came(1, 3 * MS, Status::NoRoute),
    ]);
    assert_eq!(
        sentence(&results, true),
        "2 frames came in from front in 0.002 s: none went out, 2 had no route and none was lost, so \
         there is no latency."
    );
    // Results of a tester: a frame that went out without having come in.
    let mut strange = went(0x100, MS, 0);
    strange.status = Status::Unexpected;
    strange.incoming = None;
    assert_eq!(
        sentence(&run(vec![strange]), false),
        "No frame came in; 1 went out without having come in."
    );
}

#[test]
fn copies_are_reported_from_frames_and_many_ids_are_counted() {
    // One frame to two destinations, of which one is gone.
    let mut results = run(vec![
        went(0x100, MS, 0),
        came(0x100, MS, Status::Undeliverable),
    ]);
    let output = sentence(&results, true);
    let begin = "1 frame came in from front in 0.000 s: 1 copy went out and 1 was undeliverable; ";
    assert!(output.starts_with(begin), "{output}");
    assert_eq!(
        tile(&lead(&results, true), "went out").1,
        "copies of one frame"
    );
    // Five IDs before the slowest, one of them twice, two of them from rear's own nodes.
    results = run((1..=4)
        .map(|n| went(n, MS + u64::from(n), 200_000 * u64::from(n - 1)))
        .collect());
    for (id, end) in [(1, 2 * MS), (9, 2 * MS + 200_000)] {
        let mut other = came(id, end, Status::NoRoute);
        other.incoming.as_mut().unwrap().port = 1;
        results.records.push(other);
    }
    results.records.push(went(0x7FF, MS + 10, 2 * MS));
    let output = sentence(&results, true);
    let end = "because ID 7FF of route “engine” waited for ID 001 (twice), ID 002, ID 003 and 2 frames more on rear.";
    assert!(output.ends_with(end), "{output}");
    assert!(output.contains("came in from front and rear"), "{output}");
}

#[test]
fn names_that_are_missing_and_huge_times_do_no_harm() {
    let mut results = run(vec![went(1, 1, u64::MAX / 4)]);
    results.ports.clear();
    results.routes.clear();
    let output = sentence(&results, true);
    assert!(output.contains("an unnamed port"), "{output}");
    results.records[0].outgoing.as_mut().unwrap().duration = u64::MAX;
    assert!(!sentence(&results, true).is_empty());
}

/// The names are those of the bus on which a frame is: a route can change its ID.
#[test]
fn the_sentence_names_messages() {
    let results = run(vec![
        came(0x100, MS, Status::NoRoute),
        went(0x200, 2 * MS, 500_000),
    ]);
    let names = [((0, "200".to_owned()), "Speed".to_owned())];
    let names = names.into_iter().collect();
    let said = super::sentence(
        RunFrames {
            names: &names,
            ..(&results).into()
        },
        true,
    );
    assert!(said.contains("of ID 200 Speed of route “engine”"), "{said}");
}
