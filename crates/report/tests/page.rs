//! The page and the charts: nothing from outside gets out of its place, same data same bytes,
//! every number comes from the data.

#![allow(clippy::unwrap_used)]

mod sample;

use cangate_report::{Account, Data, Renderer, WIDE, charts, html, svg, write};
use probe::Status;

fn page(data: &Data) -> String {
    html(data, &charts(data)).unwrap()
}

const HOSTILE: &str =
    "</script><script>alert(1)</script><img src=x onerror=alert(2)>\"'&\u{1b}[31m]]>";

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
    assert!(hostile.matches("&lt;script&gt;").count() >= 15);
    assert!(!hostile.contains('\u{1b}'));
    // Every attribute still ends where it should: no quote of ours opened or closed another.
    for chart in charts(&data) {
        let picture = svg(&chart, WIDE).unwrap();
        assert!(
            Renderer::new().png(&picture, 0.2).is_ok(),
            "{} is no XML",
            chart.id
        );
    }
}

#[test]
fn same_data_same_bytes() {
    let dir = tempfile::tempdir().unwrap();
    let written = write(dir.path(), &sample::data(200)).unwrap();
    assert_eq!(written.charts.len(), 10, "five charts, each as SVG and PNG");
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
    for (files, chart) in written.charts.chunks(2).zip(charts(&data)) {
        let picture = svg(&chart, WIDE).unwrap();
        assert_eq!(
            std::fs::read_to_string(&files[0]).unwrap(),
            picture,
            "{}",
            chart.id
        );
    }
    let last = svg(&charts(&data)[4], WIDE).unwrap();
    let png = Renderer::new().png(&last, 2.0).unwrap();
    assert!(png.starts_with(b"\x89PNG"));
    assert_eq!(std::fs::read(&written.charts[9]).unwrap(), png);
}

#[test]
fn every_chart_says_its_clock_and_no_chart_has_two() {
    let data = sample::data(500);
    let charts = charts(&data);
    let clocks: Vec<_> = charts.iter().map(|c| (c.id, c.clock)).collect();
    use cangate_report::Clock::{Real, Virtual};
    assert_eq!(
        clocks,
        [
            ("latency-profile", Virtual),
            ("latency-over-time", Virtual),
            ("latency-histogram", Virtual),
            ("bus-load", Virtual),
            ("processing-time", Real),
        ]
    );
    for chart in &charts {
        let picture = svg(chart, WIDE).unwrap();
        let real = picture.contains(">real time ·");
        let bus = picture.contains(">bus time (virtual) ·");
        assert_eq!(
            (real, bus),
            (chart.clock == Real, chart.clock == Virtual),
            "{}",
            chart.id
        );
        assert!(picture.contains("<title>") && picture.contains("<desc>"));
    }
}

#[test]
fn a_sum_that_does_not_add_up_is_said() {
    let mut data = sample::data(100);
    assert!(!page(&data).contains("does not add up"));
    data.accounts.push(Account {
        title: "received".into(),
        total: 10,
        parts: vec![("a".into(), 4), ("b".into(), 5)],
    });
    assert!(page(&data).contains("does not add up: 10 counted"));
}

#[test]
fn a_run_without_frames_has_a_page_too() {
    let mut data = sample::data(50);
    data.results.records.clear();
    data.buses.clear();
    let page = page(&data);
    assert!(page.contains("no latency to draw"));
    assert!(!page.contains("<svg"));
    data.routes.clear();
    data.results.routes.clear();
    let dir = tempfile::tempdir().unwrap();
    assert!(write(dir.path(), &data).unwrap().charts.is_empty());
}

#[test]
fn one_frame_and_huge_values_can_be_drawn() {
    let mut data = sample::data(1);
    data.results.records[0].status = Status::Delivered;
    assert!(page(&data).contains("<svg"));
    for record in &mut data.results.records {
        record.processing = Some(u64::MAX);
        if let Some(out) = &mut record.outgoing {
            out.end = u64::MAX / 2;
        }
    }
    let renderer = Renderer::new();
    for chart in charts(&data) {
        renderer.png(&svg(&chart, WIDE).unwrap(), 0.5).unwrap();
    }
}

#[test]
fn more_routes_than_colours_are_drawn_as_others() {
    let mut data = sample::data(2_000);
    data.results.routes = (0..30).map(|n| format!("route {n}")).collect();
    for (n, record) in data.results.records.iter_mut().enumerate() {
        record.route = Some((n * n % 30) as u16);
    }
    let profile = &charts(&data)[0];
    assert_eq!(profile.series.len(), 7);
    assert!(profile.series[6].name.ends_with(" others"));
    let drawn: f64 = profile.series.iter().map(|s| s.points[0].1).sum();
    assert_eq!(
        drawn as usize,
        data.results.latencies(None).count(),
        "every frame is in one line"
    );
}

#[test]
fn an_error_names_the_file() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("file");
    std::fs::write(&file, "").unwrap();
    let error = write(&file, &sample::data(1)).unwrap_err().to_string();
    assert!(error.contains("file/charts"), "{error}");
}
