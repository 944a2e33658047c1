//! The claims' figures in a real browser: their points and the paper's, on the first screen, also
//! on a phone. Skipped, with the reason, if there is no Chromium.

use crate::browser;
use crate::experiments;

use cangate_report::site;
use serde_json::{Value, json};
use std::path::Path;

/// Reports the content of the figures once they are drawn, the elements that are reachable with the
/// keyboard alone, and those that are too wide.
const SCRIPT: &str = r##"(async () => {
  const wait = (ms) => new Promise((done) => setTimeout(done, ms));
  for (let i = 0; i < 200 && !document.documentElement.dataset.ready; i++) await wait(20);
  await wait(100);
  const all = (root, what) => [...root.querySelectorAll(what)];
  const root = document.documentElement;
  const figures = Object.fromEntries(all(document, "#figures figure").map((f) => {
    const svg = f.querySelector("svg"), view = svg.viewBox.baseVal;
    const forms = {};
    for (const mark of all(svg, "[data-form]")) forms[mark.dataset.form] = (forms[mark.dataset.form] ?? 0) + 1;
    return [f.id, {
      forms, top: f.getBoundingClientRect().top, rects: all(svg, "rect:not(.ground)").length,
      lines: all(svg, ".lines path").map((p) => [p.dataset.name, p.getAttribute("stroke"), p.getAttribute("stroke-dasharray"), (p.getAttribute("d").match(/[ML]/g) ?? []).length]),
      words: all(svg, "text").map((t) => t.textContent),
      outside: all(svg, "text").filter((t) => { const b = t.getBBox(); return b.x < -1 || b.x + b.width > view.width + 1 || b.y < -1 || b.y + b.height > view.height + 1; }).map((t) => t.textContent),
      // What the paper states, on other words or on a bar.
      hidden: all(svg, "text").flatMap((t, n, others) => {
        const a = t.getBBox(), on = (b) => a.x + 1 < b.x + b.width && b.x + 1 < a.x + a.width && a.y + 5 < b.y + b.height && b.y + 5 < a.y + a.height;
        return [...others.slice(n + 1), ...(f.id.startsWith("figure-o") || f.id.startsWith("figure-d") ? all(svg, "rect:not(.ground)") : [])].filter((o) => on(o.getBBox())).map((o) => `${t.textContent} / ${o.textContent}`);
      }),
    }];
  }));
  const focus = (element) => { element.focus(); return document.activeElement === element; };
  const keys = all(document, "#figures button, #claims a, #claims .scroll, #filters summary, #table button, #table input").map(focus);
  const claims = all(document, "#claims tbody tr").map((r) => [r.querySelector(".verdict").textContent, getComputedStyle(r.querySelector(".verdict")).color]);
  const result = document.createElement("p");
  result.id = "result";
  result.textContent = btoa(unescape(encodeURIComponent(JSON.stringify({
    figures, claims, keys: keys.every(Boolean) && keys.length > 20, width: [root.scrollWidth, root.clientWidth],
    title: document.querySelector("#title").textContent, lead: document.querySelector("#lead").textContent,
    bad: getComputedStyle(document.documentElement).getPropertyValue("--bad").trim(),
  }))));
  document.body.append(result);
})();"##;

fn write(dir: &Path, name: &str, gateway: &str, base: u64) {
    let mut results = experiments::experiment(0, 60);
    for (key, value) in &mut results.description.more {
        if key == "gateway" {
            gateway.clone_into(value);
        }
    }
    for record in &mut results.records {
        if let (Some(incoming), Some(out)) = (record.incoming, &mut record.outgoing) {
            out.end = incoming.end + out.duration + base + record.tag * 100;
        }
    }
    probe::results::write(&dir.join(format!("{name}.parquet")), &results).unwrap();
}

fn claim(id: &str, kind: &str, figure: &Value) -> Value {
    json!({"id": id, "kind": kind, "claim": "c", "paper": "p", "measured": "m", "verdict": "differs", "why": "w",
        "experiments": ["a.parquet"], "figure": figure})
}

fn point(x: impl Into<Value>, median: f64, worst: Option<f64>) -> Value {
    json!({"x": x.into(), "median": median, "worst": worst, "experiment": "a.parquet"})
}

fn series(gateway: &str, setting: &str, points: &[Value]) -> Value {
    json!({"gateway": gateway, "setting": setting, "points": points})
}

fn claims() -> Value {
    let over_filters = |gateway: &str, slope: f64| {
        let at = |n: f64| point(n, 20.0 + slope * n, Some(30.0 + slope * n));
        let flat = |n: f64| point(n, 20.0, Some(25.0));
        json!({"title": "Latency over filters", "form": "line", "x": {"title": "filters", "unit": ""},
            "y": {"title": "latency", "unit": "µs"},
            "series": [series(gateway, "list", &[at(1.0), at(512.0), at(2048.0)]),
                series(gateway, "table", &[flat(1.0), flat(2048.0)])],
            "paper": [{"name": "list", "x": 2048, "y": 400, "of": "best", "source": "a-paper §3"}]})
    };
    let bars = json!({"title": "Latency of ways", "form": "bars", "x": {"title": "way", "unit": ""},
        "y": {"title": "latency", "unit": "µs"},
        "series": [series("cangw", "", &[point("kernel", 49.0, Some(60.0))]), series("bpf", "", &[point("program", 40.0, None)])],
        "paper": [{"x": "kernel", "y": 49, "of": "median", "source": "b-paper §4"},
            {"x": "an older kernel", "y": 55, "of": "worst", "source": "b-paper §4"}]});
    let profile = json!({"title": "Profile", "form": "profile", "x": {"title": "latency", "unit": "µs"},
        "y": {"title": "frames", "unit": "frames"},
        "series": [{"gateway": "cangw", "setting": "", "experiment": "a.parquet"}, {"gateway": "bpf", "setting": "", "experiment": "b"}],
        "paper": [{"name": "best", "x": 35, "of": "best", "source": "a-paper §1"}, {"name": "worst", "x": 140, "of": "worst", "source": "a-paper §1"}]});
    // As in D1 and D2: the paper's value is the greatest of all, or the smallest is next to it.
    let drivers = |most: f64| {
        json!({"title": "Round trips", "form": "bars", "x": {"title": "kernel", "unit": ""},
            "y": {"title": "overhead", "unit": "µs"},
            "series": [series("chardev", "", &[point("6.1", 31.123, Some(1209.25))]), series("sockets", "", &[point("6.1", 41.0, Some(1284.75))])],
            "paper": [
                {"name": "character devices", "x": "the paper's machine", "y": 9, "of": "worst", "source": "c-paper §3"},
                {"name": "SocketCAN", "x": "the paper's machine", "y": most, "of": "worst", "source": "c-paper §3"},
                {"name": "of a driver in the paper", "x": "6.1", "y": most, "of": "median", "source": "c-paper §3"}]})
    };
    let far = json!({"title": "Far right", "form": "line", "x": {"title": "filters", "unit": ""},
        "y": {"title": "latency", "unit": "µs"},
        "series": [series("cangw", "", &[point(1.0, 20.0, None), point(8.0, 30.0, None)])],
        "paper": [{"name": "a list of filters with a name that is longer than the whole of a telephone", "x": 8, "y": 30, "of": "best", "source": "a-paper §3"}]});
    json!([
        claim("D1", "paper", &drivers(1300.0)),
        claim("D2", "paper", &drivers(120.0)),
        claim("D3", "paper", &far),
        claim("G1", "paper", &profile),
        claim("G4", "paper", &over_filters("cangw", 0.03)),
        claim("G4/bpf", "other-way", &over_filters("bpf", 0.0)),
        claim("O1", "bound", &bars),
    ])
}

/// Returns the script's report in a frame of this width.
fn look(browser: &Path, width: u32) -> Value {
    let dir = tempfile::tempdir().unwrap();
    for (name, gateway, base) in [("a", "cangw", 40_000), ("b", "bpf", 30_000)] {
        write(dir.path(), name, gateway, base);
    }
    std::fs::write(dir.path().join("claims.json"), claims().to_string()).unwrap();
    let to = dir.path().join("site");
    let made = site::write(dir.path(), &to).unwrap();
    assert_eq!((made.claims, made.left_out), (7, vec![]));
    let page = std::fs::read_to_string(to.join("index.html")).unwrap();
    let index = "<script defer src=\"data/index.js\"></script>";
    let script = "<script defer src=\"test.js\"></script>";
    std::fs::write(
        to.join("inner.html"),
        page.replace(index, &format!("{index}{script}")),
    )
    .unwrap();
    std::fs::write(
        to.join("test.js"),
        SCRIPT.replace(
            "document.body.append(result);",
            "parent.postMessage(result.textContent, \"*\");",
        ),
    )
    .unwrap();
    let harness = format!(
        "<!DOCTYPE html><body><iframe src=\"inner.html\" style=\"width:{width}px;height:900px;border:0\"></iframe><script>\
         addEventListener(\"message\", (event) => console.log(\"RESULT \" + event.data));</script></body>"
    );
    let file = to.join("test.html");
    std::fs::write(&file, harness).unwrap();
    let (seen, log) = browser::listen(browser, &file, width);
    assert_eq!(browser::console(&log), Vec::<&str>::new());
    serde_json::from_slice(&browser::base64(&seen)).unwrap()
}

#[test]
fn each_has_the_measured_points_and_the_papers() {
    let Some(browser) = browser::chromium() else {
        return;
    };
    let seen = look(&browser, 1280);
    let figure = |id: &str| seen["figures"][id].clone();
    let words = |id: &str| -> String {
        let all = figure(id)["words"].as_array().unwrap().clone();
        let all: Vec<String> = all.iter().map(|w| w.as_str().unwrap().to_owned()).collect();
        all.join("|")
    };
    // G4 and G4/bpf are one figure: two gateways, each with a list and a table.
    let over = "figure-g4-virtual";
    assert_eq!(
        figure(over)["forms"],
        json!({"dot": 10, "triangle": 10, "cross": 1})
    );
    let lines = figure(over)["lines"].as_array().unwrap().clone();
    let of = |n: usize, what: usize| lines[n][what].clone();
    assert_eq!(
        [of(0, 0), of(1, 0), of(2, 0), of(3, 0)],
        ["cangw, list", "cangw, table", "bpf, list", "bpf, table"]
    );
    assert_eq!([of(0, 3), of(1, 3)], [3, 2], "points");
    assert_eq!(of(0, 1), of(1, 1), "one colour a gateway");
    assert_ne!(of(0, 1), of(2, 1));
    assert_eq!(of(1, 2), of(3, 2), "one dash a setting");
    assert_ne!(of(0, 2), of(1, 2));
    let output = words(over);
    assert!(output.contains("paper: list best case 400 µs"), "{output}");
    assert!(
        output.contains("a-paper §3") && output.contains("latency (µs)"),
        "{output}"
    );
    assert!(
        output.contains("On one another: cangw, table; bpf, list; bpf, table."),
        "{output}"
    );
    // A profile has the paper's positions, and the curves of its experiments.
    let profile = figure("figure-g1-virtual");
    assert_eq!(profile["forms"], json!({"at": 2}));
    assert_eq!(profile["lines"].as_array().unwrap().len(), 2);
    assert!(words("figure-g1-virtual").contains("paper: worst 140 µs"));
    // The same gateway has the same colour there.
    assert_eq!(profile["lines"][0][1], of(0, 1));
    // Bars: one for each median, with its value; the paper's columns are next to them.
    let bars = figure("figure-o1-virtual");
    assert_eq!(bars["forms"], json!({"triangle": 1, "cross": 2}));
    assert_eq!(bars["rects"], 2, "{bars}");
    let output = words("figure-o1-virtual");
    assert!(
        output.contains("an older kernel") && output.contains("49 / 60"),
        "{output}"
    );
}

#[test]
fn charts_begin_on_the_first_screen_and_differing_is_red_for_bounds_only() {
    let Some(browser) = browser::chromium() else {
        return;
    };
    let seen = look(&browser, 1280);
    assert!(
        seen["figures"]["figure-d1-virtual"]["top"]
            .as_f64()
            .unwrap()
            < 400.0
    );
    assert_eq!(
        seen["title"],
        "Claims D1, D2, D3, G1, G4, O1 put to the test"
    );
    let lead = seen["lead"].as_str().unwrap();
    assert!(
        lead.contains("kernel 5.10") && lead.contains("gateways bpf, cangw"),
        "{lead}"
    );
    let claims = seen["claims"].as_array().unwrap();
    let colour = |n: usize| claims[n][1].as_str().unwrap();
    assert_eq!(seen["bad"], "#b3261e");
    let bad = "rgb(179, 38, 30)";
    assert_eq!(claims.len(), 7);
    assert!((0..6).all(|n| colour(n) != bad), "{claims:?}");
    assert_eq!(colour(6), bad, "a bound that is not met");
    assert_ne!(colour(3), colour(5), "another way may well differ");
}

#[test]
fn everything_is_reached_by_keys() {
    let Some(browser) = browser::chromium() else {
        return;
    };
    let seen = look(&browser, 390);
    assert_eq!(seen["width"][0], seen["width"][1], "scrolls sideways");
    assert_eq!(seen["keys"], true);
}

/// No text extends beyond its figure, and none of the papers' values is hidden, on a phone and on
/// screens.
#[test]
fn no_word_is_cut_or_hidden() {
    let Some(browser) = browser::chromium() else {
        return;
    };
    for width in [360, 500, 800, 1280, 1600] {
        let seen = look(&browser, width);
        let figures = seen["figures"].as_object().unwrap();
        assert_eq!(figures.len(), 6);
        for (id, figure) in figures {
            assert_eq!(figure["outside"], json!([]), "{id} at {width}");
            assert_eq!(figure["hidden"], json!([]), "{id} at {width}");
        }
        let words: Vec<String> =
            serde_json::from_value(figures["figure-d1-virtual"]["words"].clone()).unwrap();
        let words = words.join(" ");
        let stated = "character devices worst case 9, SocketCAN worst case 1300";
        assert!(words.contains(stated), "{words}");
    }
}
