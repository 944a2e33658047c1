//! The page of a run in a real browser: no console errors, every chart drawn and with its clock,
//! nothing wider than a phone. Skipped, with the reason, if there is no Chromium.

use crate::browser;
use crate::sample;

use crate::browser::chromium;
use cangate_report::run::page;
use std::path::Path;

const HOSTILE: &str =
    "</script><script>alert(1)</script><img src=x onerror=alert(2)>\"'&\u{1b}[31m]]>";

/// Puts the page into a frame of this width, and examines it from inside.
const HARNESS: &str = r##"<!DOCTYPE html><html><body><script>
const frame = document.createElement("iframe");
frame.style.width = "WIDTHpx"; frame.style.height = "800px";
frame.onload = async () => {
  const page = frame.contentDocument, root = page.documentElement;
  const shown = [...page.querySelectorAll("figure .chart svg")].filter(s => s.getBoundingClientRect().width > 0);
  const drawn = shown.filter(s => [...s.querySelectorAll(".lines path")].some(e => {
    const box = e.getBBox();
    return /^#[0-9A-F]{6}$/.test(e.getAttribute("stroke") ?? e.getAttribute("fill")) && box.width + box.height > 0;
  }));
  const clocks = [...page.querySelectorAll("figure")].map(f => {
    const words = [...f.querySelectorAll("svg text")].map(t => t.textContent).join(" ");
    const said = [/(^| )real time ·/.test(words) ? "real" : "", words.includes("bus time (virtual) ·") ? "bus" : ""].filter(Boolean);
    return `${f.id}:${said.join("&")}`;
  });
  const foreign = page.querySelectorAll("img, b, iframe, object").length + page.querySelectorAll("script").length - 2;
  const wide = [...page.querySelectorAll("main *")].filter(e => e.getBoundingClientRect().right > root.clientWidth + 1);
  const small = shown.flatMap(s => [...s.querySelectorAll("text")])
    .filter(t => parseFloat(t.getAttribute("font-size")) * t.ownerSVGElement.getBoundingClientRect().width
      / t.ownerSVGElement.viewBox.baseVal.width < 9.5);
  const cut = shown.flatMap(s => [...s.querySelectorAll("text")].filter(t => {
    const box = t.getBBox(), view = s.viewBox.baseVal;
    return box.x < -3 || box.x + box.width > view.width + 3 || box.y < -3 || box.y + box.height > view.height + 3;
  }));
  const buttons = [...page.querySelectorAll(".save")].filter(s => !s.hidden).length;
  let readout = 0;
  for (const svg of shown) {
    const box = svg.getBoundingClientRect();
    const at = { clientX: box.left + box.width / 2, clientY: box.top + box.height / 2, bubbles: true };
    svg.dispatchEvent(new frame.contentWindow.PointerEvent("pointermove", at));
    readout += /\d (µs|ns|s|%), [\d.]+ (frames|µs|%)/.test(svg.closest("figure").querySelector(".readout").textContent);
  }
  // What comes first: from top to bottom, and what of it is on the first screen.
  const top = (selector) => page.querySelector(selector)?.getBoundingClientRect().top ?? 0;
  const first = ["#sentence", "#tiles", "#profile", "#routes", "#charts", "#accounts"];
  const order = first.every((s, n) => !n || top(first[n - 1]) < top(s));
  const sentence = (page.querySelector("#sentence")?.textContent ?? "").replaceAll(" ", "_");
  const tiles = [...page.querySelectorAll(".tile")].map(t => t.querySelector("strong").textContent.replaceAll(/\s/g, "")).join("/");
  const alarms = page.querySelectorAll(".tile.alarm").length;
  const saved = [];
  frame.contentWindow.HTMLAnchorElement.prototype.click = function () {
    if (this.href.startsWith("blob:")) saved.push(this.download);
  };
  for (const button of page.querySelectorAll("#latency-profile-virtual button")) button.click();
  for (let i = 0; i < 50 && saved.length < 2; i++) await new Promise(done => setTimeout(done, 50));
  document.body.innerHTML = `<p id=result>width=${root.clientWidth} scroll=${root.scrollWidth} shown=${shown.length} drawn=${drawn.length} overflowing=${wide.length} small=${small.length} cut=${cut.length} what=${cut.map(t => t.textContent.replaceAll(" ", "_")).join()} buttons=${buttons} readout=${readout} foreign=${foreign} clocks=${clocks.join(',')} saved=${saved.sort().join('+')} order=${order} tiles=${tiles} alarms=${alarms} profile=${Math.round(top('#profile'))} sentence=${sentence}</p>`;
};
frame.srcdoc = PAGE;
document.body.append(frame);
</script></body></html>"##;

/// Returns the harness's report, and the browser's log.
fn look(browser: &Path, page: &str, width: u32) -> (String, String) {
    let dir = tempfile::tempdir().unwrap();
    // As a JavaScript string, which must not contain </script>.
    let literal: String = page
        .chars()
        .map(|c| match c {
            '\\' => "\\\\".to_owned(),
            '"' => "\\\"".to_owned(),
            '\n' => "\\n".to_owned(),
            '<' => "\\u003c".to_owned(),
            c => c.to_string(),
        })
        .collect();
    let harness = HARNESS.replace("WIDTH", &width.to_string());
    let harness = harness.replace("PAGE", &format!("\"{literal}\""));
    let file = dir.path().join("harness.html");
    std::fs::write(&file, harness).unwrap();
    browser::open(browser, &file, width)
}

/// Returns the value of this name in the harness's report.
fn text<'a>(seen: &'a str, key: &str) -> &'a str {
    let mut parts = seen.split(' ').filter_map(|part| part.split_once('='));
    let found = parts.find(|(name, _)| *name == key);
    found.unwrap_or_else(|| panic!("{key}: {seen}")).1
}

/// One sentence, four figures and the profile come first, and match the data.
#[test]
fn it_leads_with_what_happened() {
    let Some(browser) = chromium() else { return };
    let mut data = sample::data(500);
    let came = data.results.records.len();
    let (seen, _) = look(&browser, &page(&data), 1280);
    assert_eq!(text(&seen, "order"), "true", "{seen}");
    let sentence = text(&seen, "sentence").replace('_', " ");
    let output = cangate_report::run::sentence((&data.results).into(), data.waiting_only);
    assert_eq!(sentence, output);
    let out = data.results.latencies(None).count();
    let worst = data.results.latencies(None).max().unwrap() as f64 / 1e3;
    let tiles: Vec<&str> = text(&seen, "tiles").split('/').collect();
    let stopped = came - out;
    assert_eq!(tiles[..3], [came, out, stopped].map(|n| n.to_string()));
    assert_eq!(tiles[3], format!("{worst:.1}µs"));
    assert_eq!(text(&seen, "alarms"), "0");
    let begin: f64 = text(&seen, "profile").parse().unwrap();
    assert!(
        begin < 600.0,
        "the profile begins on the first screen: {seen}"
    );
    data.results.records[3].status = probe::Status::Lost;
    data.results.records[3].outgoing = None;
    let (seen, _) = look(&browser, &page(&data), 360);
    assert_eq!(text(&seen, "alarms"), "1", "{seen}");
}

#[test]
fn every_chart_states_its_clock_and_no_chart_has_two() {
    let Some(browser) = chromium() else { return };
    let (seen, _) = look(&browser, &page(&sample::data(500)), 1280);
    let clocks = [
        "latency-profile-virtual:bus",
        "latency-over-time-virtual:bus",
        "latency-histogram-virtual:bus",
        "bus-load-virtual:bus",
        "processing-time-real:real",
    ];
    assert_eq!(text(&seen, "clocks"), clocks.join(","), "{seen}");
}

/// Without frames there is nothing to draw; centuries of latency can be drawn; a processing time
/// that no number can hold is left out.
#[test]
fn nothing_and_nonsense_can_be_shown() {
    let Some(browser) = chromium() else { return };
    let mut empty = sample::data(50);
    empty.results.records.clear();
    empty.buses.clear();
    let mut huge = sample::data(3);
    for record in &mut huge.results.records {
        record.processing = Some(u64::MAX);
        if let Some(out) = &mut record.outgoing {
            out.end = u64::MAX / 2;
        }
    }
    let one = sample::data(1);
    for (data, shown) in [(empty, "0"), (huge, "4"), (one, "5")] {
        let (seen, log) = look(&browser, &page(&data), 360);
        assert_eq!(
            (text(&seen, "shown"), text(&seen, "cut")),
            (shown, "0"),
            "{seen}"
        );
        let console = browser::console(&log);
        assert!(console.is_empty(), "{console:?}");
    }
}

#[test]
fn drawn_and_readable_on_a_telephone_and_on_a_screen() {
    let Some(browser) = chromium() else { return };
    let mut data = sample::data(1_500);
    let long =
        "a-route-with-a-name-without-any-place-to-break-it-that-is-far-too-long-for-a-telephone";
    data.results.routes[1] = long.into();
    data.routes[1].name = long.into();
    for route in &mut data.routes {
        route.taken = u64::MAX;
        route
            .stopped
            .push(("refused by a full queue".into(), 123_456_789_012));
    }
    data.buses[0].frames = u64::MAX;
    data.results.description.command = format!("cangate demo --log /{}", "very/".repeat(40));
    data.notes.push(HOSTILE.into());
    let page = page(&data);
    for width in [360, 768, 1280] {
        let (seen, log) = look(&browser, &page, width);
        let n = 5;
        let value = |key: &str| -> u32 {
            let text = text(&seen, key);
            text.parse().unwrap_or_else(|_| panic!("{key}: {seen}"))
        };
        assert!(value("width") <= width, "{seen}");
        assert_eq!(
            value("scroll"),
            value("width"),
            "scrolls sideways at {width}: {seen}"
        );
        assert_eq!(value("overflowing"), 0, "{seen}");
        assert_eq!((value("shown"), value("drawn")), (n, n), "{seen}");
        assert_eq!(value("foreign"), 0, "a name became an element: {seen}");
        assert_eq!(value("small"), 0, "text below 9.5 px at {width}: {seen}");
        assert_eq!(value("cut"), 0, "text outside its chart at {width}: {seen}");
        assert_eq!(value("buttons"), n, "the script ran: {seen}");
        assert_eq!(
            value("readout"),
            n,
            "a value at the pointer in each chart: {seen}"
        );
        let saved = "latency-profile-virtual.png+latency-profile-virtual.svg";
        assert_eq!(text(&seen, "saved"), saved, "{seen}");
        let console = browser::console(&log);
        assert!(console.is_empty(), "{console:?}");
    }
}

/// The check above must be able to fail: it detects a page with an error in its script.
#[test]
fn an_error_in_the_page_would_be_seen() {
    let Some(browser) = chromium() else { return };
    let page = "<!DOCTYPE html><html><body><main><div style=\"width:900px\">x</div></main><script>nonsense();</script></body></html>";
    let (seen, log) = look(&browser, page, 360);
    assert!(log.contains(":CONSOLE"), "{log}");
    assert!(seen.contains("overflowing=1"), "{seen}");
    assert!(seen.contains("shown=0"), "{seen}");
}
