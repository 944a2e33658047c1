//! The page of a run: data from outside is never interpreted as markup or script, the same data
//! gives the same bytes, and every number comes from the data. tests/chromium.rs tests the display
//! in a browser.

use crate::sample;

use cangate_report::run::{FrameAccount, RunData, page, write};
use probe::Status;
use serde_json::Value;

const HOSTILE: &str = "</script><script>alert(1)</script><img src=x onerror=alert(2)>\"'&\u{1b}[31m]]>\u{2028}RUN STYLE SCRIPT";

/// Returns the data that the page passes to its scripts.
fn shown(data: &RunData) -> Value {
    let page = page(data);
    let (_, rest) = page.rsplit_once("\ncangateRun(").unwrap();
    let (json, _) = rest.split_once(");\n</script>").unwrap();
    serde_json::from_str(json).unwrap()
}

#[test]
fn hostile_names_stay_text() {
    let mut data = sample::data(300);
    let clean = page(&data);
    let d = &mut data.results.description;
    for text in [
        &mut d.title,
        &mut d.command,
        &mut d.config,
        &mut d.traffic,
        &mut d.version,
        &mut d.stamp,
        &mut d.bit_rates,
        &mut d.time_base,
        &mut d.blind_spots,
    ] {
        *text = HOSTILE.to_owned();
    }
    d.more.push((HOSTILE.into(), HOSTILE.into()));
    data.results.routes[0] = HOSTILE.into();
    data.routes[0].name = HOSTILE.into();
    data.routes[0].text = HOSTILE.into();
    data.routes[0].stopped.push((HOSTILE.into(), 1));
    data.buses[0].name = HOSTILE.into();
    data.buses[0].bit_rate = HOSTILE.into();
    data.accounts[0].title = HOSTILE.into();
    data.accounts[0].parts.push((HOSTILE.into(), 0));
    data.notes.push(HOSTILE.into());
    let hostile = page(&data);
    let tags = |page: &str, tag: &str| page.matches(tag).count();
    for tag in ["<script", "</script", "<img", "<b>"] {
        assert_eq!(tags(&hostile, tag), tags(&clean, tag), "{tag}");
    }
    assert!(!hostile.contains('\u{1b}') && !hostile.contains('\u{2028}'));
    // The text is also passed on unchanged.
    let shown = shown(&data);
    assert_eq!(shown["title"], HOSTILE);
    assert_eq!(shown["routes"][0]["name"], HOSTILE);
    assert_eq!(shown["series"][0]["name"], HOSTILE);
    assert!(shown["notes"].as_array().unwrap().contains(&HOSTILE.into()));
}

#[test]
fn same_data_same_bytes() {
    let dir = tempfile::tempdir().unwrap();
    let written = write(dir.path(), &sample::data(200)).unwrap();
    let data = sample::data(200);
    assert_eq!(
        std::fs::read(&written.html).unwrap(),
        page(&data).into_bytes()
    );
    let parquet = probe::results::write_to(Vec::new(), &data.results).unwrap();
    assert_eq!(std::fs::read(&written.parquet).unwrap(), parquet);
    assert_eq!(
        probe::results::read(&written.parquet).unwrap(),
        data.results
    );
    assert_ne!(page(&data), page(&sample::data(201)));
}

#[test]
fn it_needs_no_network_and_no_other_file() {
    let page = page(&sample::data(100));
    for outside in ["src=", "href=\"http", "@import", "url(", "fetch(", "//cdn"] {
        assert!(!page.contains(outside), "{outside}");
    }
    assert!(page.contains("default-src 'none'"));
}

/// Sums and figures are those of the records, however few points are drawn.
#[test]
fn what_is_drawn_is_what_was_measured() {
    let data = sample::data(5_000);
    let shown = shown(&data);
    let all: Vec<i64> = data.results.latencies(None).collect();
    let (least, greatest) = (*all.iter().min().unwrap(), *all.iter().max().unwrap());
    assert_eq!(shown["latency"]["max"], greatest);
    let bars = shown["histogram"]["bars"].as_array().unwrap();
    let frames: u64 = bars.iter().map(|b| b[1].as_u64().unwrap()).sum();
    assert_eq!(frames, all.len() as u64);
    assert!(bars[0][0].as_i64().unwrap() <= least);
    let series = shown["series"].as_array().unwrap();
    let dots = |s: &Value| s["cloud"]["y"].as_array().unwrap().clone();
    let drawn = || series.iter().flat_map(dots).map(|y| y.as_i64().unwrap());
    assert!(drawn().count() < all.len(), "nothing was left out: no test");
    assert_eq!(
        (drawn().min(), drawn().max()),
        (Some(least), Some(greatest))
    );
    for (index, s) in series.iter().enumerate().take(data.routes.len()) {
        let of_route: Vec<i64> = data.results.latencies(Some(index as u16)).collect();
        assert_eq!(s["curve"]["m"][0], of_route.len());
        let steps = s["curve"]["t"].as_array().unwrap().iter();
        let last: i64 = steps.map(|t| t.as_i64().unwrap()).sum();
        assert_eq!(Some(&last), of_route.iter().max());
    }
    let load = shown["buses"][0]["load"].as_array().unwrap();
    assert_eq!(load.len(), data.buses[0].full_windows().count());
}

#[test]
fn a_sum_that_does_not_add_up_is_reported() {
    let mut data = sample::data(100);
    let sums = |data: &RunData| -> Vec<bool> {
        let shown = shown(data);
        let accounts = shown["accounts"].as_array().unwrap().iter();
        accounts.map(|a| a["adds_up"].as_bool().unwrap()).collect()
    };
    assert_eq!(sums(&data), [true, true]);
    data.accounts.push(FrameAccount {
        title: "received".into(),
        total: 10,
        parts: vec![("a".into(), 4), ("b".into(), 5)],
    });
    assert_eq!(sums(&data), [true, false, true]);
}

#[test]
fn a_run_without_frames_has_a_page_too() {
    let mut data = sample::data(50);
    data.results.records.clear();
    data.buses.clear();
    let empty = shown(&data);
    assert_eq!(
        (&empty["latency"], &empty["histogram"]),
        (&Value::Null, &Value::Null)
    );
    assert_eq!(empty["series"], serde_json::json!([]));
    data.routes.clear();
    data.results.routes.clear();
    let dir = tempfile::tempdir().unwrap();
    assert!(write(dir.path(), &data).unwrap().html.exists());
}

#[test]
fn one_frame_and_huge_values_have_a_page() {
    let mut data = sample::data(1);
    data.results.records[0].status = Status::Delivered;
    assert_eq!(shown(&data)["latency"]["count"], 1);
    for record in &mut data.results.records {
        record.processing = Some(u64::MAX);
        if let Some(out) = &mut record.outgoing {
            out.end = u64::MAX / 2;
        }
    }
    assert_eq!(shown(&data)["delivered"], 1);
}

#[test]
fn every_frame_is_in_one_line_however_many_routes_there_are() {
    let mut data = sample::data(2_000);
    data.results.routes = (0..60).map(|n| format!("route {n}")).collect();
    for (n, record) in data.results.records.iter_mut().enumerate() {
        // There are no routes with the numbers 60 to 69.
        record.route = Some((n * n % 70) as u16);
    }
    let shown = shown(&data);
    let series = shown["series"].as_array().unwrap();
    let drawn: u64 = series
        .iter()
        .map(|s| s["curve"]["m"][0].as_u64().unwrap())
        .sum();
    assert_eq!(drawn as usize, data.results.latencies(None).count());
    assert_eq!(series.last().unwrap()["name"], "no route");
}

#[test]
fn stamps_of_a_wall_clock_are_drawn_since_the_first() {
    let mut data = sample::data(100);
    assert_eq!(shown(&data)["since_first"], false);
    for record in &mut data.results.records {
        let incoming = record.incoming.as_mut().unwrap();
        incoming.end += 1_700_000_000_000_000_000;
    }
    let shown = shown(&data);
    assert_eq!(shown["since_first"], true);
    let first = |s: &Value| s["cloud"]["x"][0].as_u64();
    let series = shown["series"].as_array().unwrap();
    assert!(series.iter().filter_map(first).all(|x| x < 1_000_000_000));
}

#[test]
fn an_error_names_the_file() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("file");
    std::fs::write(&file, "").unwrap();
    let error = write(&file, &sample::data(1)).unwrap_err().to_string();
    assert!(
        error.contains("/file: cannot write the report there"),
        "{error}"
    );
}
