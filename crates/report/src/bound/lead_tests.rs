use super::*;
use crate::bound::{FrameSeen, MarginData, MeasuredSource, OrderData, PartsData};

fn message(id: &str, deadline: u64, parts: PartsData) -> MessageData {
    MessageData {
        id: id.to_owned(),
        name: String::new(),
        node: "n".to_owned(),
        bits: 100,
        frame: parts.frame,
        period: deadline,
        deadline,
        via: None,
        conditional: false,
        bound: Ok(parts),
        late: None,
        seen: None,
    }
}

fn parts() -> PartsData {
    PartsData {
        lower: 306_000,
        higher: 262_000,
        frame: 256_000,
        ..PartsData::default()
    }
}

fn data(buses: Vec<Vec<MessageData>>) -> BoundData {
    let bus = |(n, messages)| BusData {
        name: format!("bus{n}"),
        bit_rate: "500k".to_owned(),
        load: 0.1 + n as f64 / 10.0,
        messages,
        ..BusData::default()
    };
    BoundData {
        buses: buses.into_iter().enumerate().map(bus).collect(),
        ..BoundData::default()
    }
}

/// Returns the sentence with plain spaces.
fn lead_text(data: &BoundData) -> String {
    sentence(data).replace('\u{a0}', " ")
}

fn tile(data: &BoundData, name: &str) -> (String, String, bool) {
    let all = tiles(data);
    let tile = all.into_iter().find(|tile| tile.name == name);
    let tile = tile.unwrap_or_else(|| panic!("no tile {name}"));
    let plain = |text: String| text.replace('\u{a0}', " ");
    (plain(tile.value), plain(tile.note), tile.bad)
}

#[test]
fn the_tightest_is_the_one_with_the_least_to_spare() {
    let mut wheel = message("120", 1_000_000, parts());
    wheel.name = "wheel speed".to_owned();
    let all = data(vec![vec![message("0A0", 10_000_000, parts()), wheel]]);
    assert_eq!(
        lead_text(&all),
        "All 2 messages keep their deadline at worst; the tightest is 120 wheel speed with 824 µs of 1000 µs allowed: \
         306 µs for a frame of lower priority, 262 µs for frames of higher priority and 256 µs for its own frame."
    );
    let (value, note, bad) = tile(&all, "least slack");
    assert_eq!((value.as_str(), bad), ("176 µs", false));
    assert_eq!(note, "120 wheel speed: 824 µs of 1000 µs");
    assert_eq!(tile(&all, "keep their deadline").0, "2 of 2");
}

#[test]
fn the_longest_parts_come_first_and_the_rest_is_one_figure() {
    let many = PartsData {
        earlier: 900_000,
        gateway: 50_000,
        jitter: 20_000,
        ..parts()
    };
    let all = data(vec![vec![message("1", 9_000_000, many)]]);
    assert_eq!(
        lead_text(&all),
        "The only message keeps its deadline at worst; it is 1 with 1794 µs of 9000 µs allowed: 900 µs on the buses \
         before, 306 µs for a frame of lower priority, 262 µs for frames of higher priority and 326 µs for the rest."
    );
}

#[test]
fn what_can_be_missed_and_what_has_no_bound_is_counted() {
    let late = message("200", 500_000, parts());
    let fine = message("100", 5_000_000, parts());
    let all = data(vec![vec![fine.clone()], vec![late.clone()]]);
    let words = lead_text(&all);
    assert!(
        words.starts_with(
            "1 of 2 messages can miss the deadline; the worst is 200 on bus bus1 with 824 µs of 500 µs allowed: 306 µs"
        ),
        "{words}"
    );
    assert_eq!(tile(&all, "too long").0, "324 µs");
    assert!(tile(&all, "keep their deadline").2);
    assert_eq!(tile(&all, "highest bus load").0, "20.0 %");
    // A message without a bound is worse than one whose bound is too long.
    let mut none = fine.clone();
    none.id = "300".to_owned();
    none.bound = Err("jitter grows without end around a circle of buses".to_owned());
    let all = data(vec![vec![fine.clone(), none.clone()], vec![late]]);
    assert_eq!(
        lead_text(&all),
        "1 of 3 messages can miss the deadline, and 1 has no bound; the worst is 300 on bus bus0: jitter grows without \
         end around a circle of buses."
    );
    assert_eq!(tile(&all, "least slack").0, "no bound");
    let all = data(vec![vec![none]]);
    assert!(
        lead_text(&all).starts_with("1 of 1 message has no bound; "),
        "{}",
        lead_text(&all)
    );
    assert_eq!(
        lead_text(&data(vec![])),
        "The message set is empty, so no message can be late."
    );
    assert_eq!(
        lead_text(&data(vec![vec![]])),
        "The message set is empty, so no message can be late."
    );
}

#[test]
fn a_deadline_that_is_met_to_the_nanosecond_is_kept() {
    let bound = parts().bound();
    assert!(!can_miss(&message("1", bound, parts())));
    assert!(can_miss(&message("1", bound - 1, parts())));
}

/// The time before the event is in the parts and not in the bound; the parts that are drawn add up
/// to the bound.
#[test]
fn parts_add_up_to_the_bound() {
    let all = PartsData {
        earlier: 1,
        gateway: 2,
        network: 4,
        jitter: 40,
        lower: 80,
        ahead: 160,
        pauses: 5_120,
        higher: 320,
        errors: 640,
        frame: 1_280,
        since: 0,
    };
    for since in [
        0, 1, 79, 80, 81, 240, 560, 5_360, 5_361, 6_319, 6_320, 6_360,
    ] {
        let parts = PartsData { since, ..all };
        assert_eq!(parts.bound(), all.bound() - since);
        let drawn = parts.after_the_event();
        assert_eq!(drawn.iter().sum::<u64>(), parts.bound(), "{since}");
        assert_eq!((drawn[0], drawn[1], drawn[2], drawn[9]), (1, 2, 4, 1_280));
    }
}

#[test]
fn measured_frames_and_margins_have_their_figures() {
    let mut all = data(vec![vec![
        message("1", 9_000_000, parts()),
        message("2", 9_000_000, parts()),
    ]]);
    let frame = |tag, latency| FrameSeen {
        tag,
        end: 0,
        latency,
    };
    let seen = |worst: i64, above| MeasuredMessage {
        port: "p".to_owned(),
        limit: 1_000,
        latencies: [10, worst].into_iter().collect(),
        worst: Some(frame(1, worst)),
        above,
    };
    all.measured = Some(MeasuredSource::default());
    all.buses[0].messages[0].seen = Some(seen(500, vec![]));
    all.buses[0].messages[1].seen = Some(seen(800, vec![]));
    let (value, note, bad) = tile(&all, "measured at most");
    assert_eq!((value.as_str(), bad), ("80.0 %", false));
    assert_eq!(note, "of its bound: 2; 4 frames, none above");
    all.buses[0].messages[0].seen = Some(seen(1_001, vec![frame(1, 1_001)]));
    let (value, note, bad) = tile(&all, "measured at most");
    assert_eq!((value.as_str(), bad), ("100.1 %", true));
    assert!(note.ends_with("4 frames, 1 ABOVE"), "{note}");
    assert_eq!(share(1.0), "100.0 %");
    assert_eq!(
        (share(0.9999), share(1.0001)),
        ("<100.0 %".into(), ">100.0 %".into())
    );
    // A latency below 0 is an error of the stamps.
    assert_eq!(ratio(&seen(-7, vec![])), Some(0.0));
    all.margin = Some(MarginData {
        thousandths: Some(1_020),
        sentences: vec![],
    });
    assert_eq!(tile(&all, "margin").0, "1.020 ×");
    all.margin = Some(MarginData::default());
    assert!(tile(&all, "margin").2);
}

#[test]
fn the_fullest_queue_is_the_one_with_the_least_room_left() {
    let node = |name: &str, backlog, room| NodeData {
        name: name.to_owned(),
        order: OrderData::Covered(3),
        filled: None,
        backlog,
        room,
    };
    let mut all = data(vec![vec![message("1", 9_000_000, parts())]]);
    all.buses[0].nodes = vec![
        node("a", Some(60), Some(64)),
        node("b", Some(1), Some(3)),
        node("c", None, None),
    ];
    let (value, note, bad) = tile(&all, "fullest queue");
    assert_eq!((value.as_str(), bad), ("1 of 3", false));
    assert!(note.contains("port b"), "{note}");
    all.buses[0].nodes.push(node("d", None, Some(64)));
    assert_eq!(tile(&all, "fullest queue").0, "no bound");
    assert!(tile(&all, "fullest queue").2);
    all.buses[0].nodes = vec![node("e", Some(3), Some(2))];
    assert_eq!(
        tile(&all, "fullest queue"),
        (
            "3 of 2".into(),
            "frames that port e has room for".into(),
            true
        )
    );
}
