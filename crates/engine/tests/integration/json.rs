//! Programs read the counters as JSON: its keys and their order stay as they are.

use crate::common::{all, engine, route};
use engine::{CounterSnapshot, Fate, Fates, RouteCount, Stops};
use route::{Action, OffsetId, RateLimit, StopReason};

/// One case of every kind: routed, refused, undeliverable, above the rate, dropped by rule, an ID
/// out of range, no route; a frame that is held; a port that failed.
fn snapshot() -> CounterSnapshot {
    let mut limited = route("limited", &[0], &[1]);
    limited.limit = Some(RateLimit {
        frames: 1,
        per: 1_000_000_000,
        burst: 2,
        per_id: None,
    });
    let mut dropping = route("dropping", &[1], &[]);
    dropping.drop = true;
    let mut moved = route("moved", &[0], &[1, 2]);
    moved.actions = vec![Action::OffsetId(OffsetId { by: 0x7FD })];
    let (mut engine, ports) = engine(3, &all(vec![limited, dropping, moved]));
    ports[1].inside().queue = 3;
    ports[1].inside().room = 1;
    ports[2].inside().down = true;
    ports[0].feed(0..10);
    ports[1].feed(0..2);
    ports[2].feed(0..1);
    ports[2].inside().rx_fails = true;
    engine.step(7);
    engine.step(8);
    let snapshot = engine.snapshot();
    snapshot.check().unwrap();
    snapshot
}

/// The text is the output of cangate from the time before the engine was a separate crate.
#[test]
fn the_counters_as_json_stay_as_they_are() {
    let text = serde_json::to_string(&snapshot()).unwrap();
    assert_eq!(text, include_str!("snapshot.json").trim_end());
}

#[test]
fn what_is_written_is_read_again() {
    let snapshot = snapshot();
    let text = serde_json::to_string(&snapshot).unwrap();
    assert_eq!(
        serde_json::from_str::<CounterSnapshot>(&text).unwrap(),
        snapshot
    );
}

#[test]
fn a_tally_needs_every_key_once_and_passes_over_others() {
    let stops = |text: &str| serde_json::from_str::<Stops>(text);
    let keys: Vec<String> = StopReason::ALL
        .iter()
        .zip(1..)
        .map(|(stop, n)| format!("\"{}\":{n}", stop.key()))
        .collect();
    let all = stops(&format!("{{\"other\":[7],{}}}", keys.join(","))).unwrap();
    assert_eq!(all, Stops::from([1, 2, 3, 4, 5, 6, 7, 8]));
    assert_eq!((all.get(StopReason::TooLong), all.total()), (4, 36));
    let missing = stops(&format!("{{{}}}", keys[1..].join(","))).unwrap_err();
    assert!(
        missing.to_string().contains(StopReason::DropRule.key()),
        "{missing}"
    );
    let twice = stops(&format!("{{{},{}}}", keys[0], keys.join(","))).unwrap_err();
    assert!(
        twice.to_string().contains(StopReason::DropRule.key()),
        "{twice}"
    );
    assert!(stops("[1,2,3,4,5,6,7,8]").is_err());
    assert!(stops("{\"too_long\":-1}").is_err());
}

/// Also within a route's counters, where the keys are among others.
#[test]
fn a_route_without_a_reason_is_refused() {
    let mut value = serde_json::to_value(RouteCount::default()).unwrap();
    assert!(serde_json::from_value::<RouteCount>(value.clone()).is_ok());
    value
        .as_object_mut()
        .unwrap()
        .remove(StopReason::IdRange.key());
    assert!(serde_json::from_value::<RouteCount>(value).is_err());
}

#[test]
fn fates_have_the_keys_of_the_list() {
    let value = serde_json::to_value(Fates::default()).unwrap();
    let keys: Vec<&str> = value
        .as_object()
        .unwrap()
        .keys()
        .map(String::as_str)
        .collect();
    let mut expected = Fate::ALL.map(Fate::key);
    expected.sort_unstable(); // as serde_json's map has them
    assert_eq!(keys, expected);
}
