//! The page in a real browser: no console errors, every chart drawn, nothing wider than a
//! telephone. Skipped, with the reason, where there is no Chromium.

#![allow(clippy::unwrap_used)]

mod browser;
mod sample;

use browser::chromium;
use cangate_report::{charts, html};
use std::path::Path;

/// Puts the page into a frame of this width, and looks at it from inside.
const HARNESS: &str = r#"<!DOCTYPE html><html><body><script>
const frame = document.createElement("iframe");
frame.style.width = "WIDTHpx"; frame.style.height = "800px";
frame.onload = async () => {
  const page = frame.contentDocument, root = page.documentElement;
  const shown = [...page.querySelectorAll("figure .chart svg")].filter(s => s.getBoundingClientRect().width > 0);
  const drawn = shown.filter(s => [...s.querySelectorAll("polyline, circle, rect:not(.ground)")].some(e => {
    const colour = e.getAttribute("stroke") + e.getAttribute("fill");
    return /#(0072B2|D55E00|009E73)/.test(colour) && e.getBBox().width + e.getBBox().height > 0;
  }));
  const wide = [...page.querySelectorAll("main *")].filter(e => e.getBoundingClientRect().right > root.clientWidth + 1);
  const small = shown.flatMap(s => [...s.querySelectorAll("text")])
    .filter(t => parseFloat(t.getAttribute("font-size")) * t.ownerSVGElement.getBoundingClientRect().width
      / t.ownerSVGElement.viewBox.baseVal.width < 9.5);
  const cut = shown.flatMap(s => [...s.querySelectorAll("text")].filter(t => {
    const box = t.getBBox(), view = s.viewBox.baseVal;
    return box.x < -5 || box.x + box.width > view.width + 5 || box.y < -5 || box.y + box.height > view.height + 5;
  }));
  const buttons = [...page.querySelectorAll(".save")].filter(s => !s.hidden).length;
  let readout = 0;
  for (const svg of shown) {
    const box = svg.getBoundingClientRect();
    const at = { clientX: box.left + box.width / 2, clientY: box.top + box.height / 2, bubbles: true };
    svg.dispatchEvent(new frame.contentWindow.PointerEvent("pointermove", at));
    readout += /\d (µs|ns|s|%), [\d.]+ (frames|µs|%)/.test(svg.closest("figure").querySelector(".readout").textContent);
  }
  const saved = [];
  frame.contentWindow.HTMLAnchorElement.prototype.click = function () {
    if (this.href.startsWith("blob:")) saved.push(this.download);
  };
  for (const button of page.querySelectorAll("figure:first-of-type button")) button.click();
  for (let i = 0; i < 50 && saved.length < 2; i++) await new Promise(done => setTimeout(done, 50));
  document.body.innerHTML = `<p id=result>width=${root.clientWidth} scroll=${root.scrollWidth} shown=${shown.length} drawn=${drawn.length} overflowing=${wide.length} small=${small.length} cut=${cut.length} buttons=${buttons} readout=${readout} saved=${saved.sort().join('+')}</p>`;
};
frame.srcdoc = PAGE;
document.body.append(frame);
</script></body></html>"#;

/// What the harness saw, and what the browser wrote to its log.
fn look(browser: &Path, page: &str, width: u32) -> (String, String) {
    let dir = tempfile::tempdir().unwrap();
    // As a JavaScript string, in which no </script> may stand.
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
    let charts = charts(&data);
    let page = html(&data, &charts).unwrap();
    for width in [360, 768, 1280] {
        let (seen, log) = look(&browser, &page, width);
        let n = charts.len();
        let value = |key: &str| {
            let found = seen
                .split(' ')
                .find_map(|part| part.strip_prefix(&format!("{key}=")));
            found
                .and_then(|text| text.parse::<u32>().ok())
                .unwrap_or_else(|| panic!("{key}: {seen}"))
        };
        assert!(value("width") <= width, "{seen}");
        assert_eq!(
            value("scroll"),
            value("width"),
            "scrolls sideways at {width}: {seen}"
        );
        assert_eq!(value("overflowing"), 0, "{seen}");
        assert_eq!(
            value("shown") as usize,
            n,
            "one version of each chart is shown: {seen}"
        );
        assert_eq!(value("drawn") as usize, n, "{seen}");
        assert_eq!(value("small"), 0, "text below 9.5 px at {width}: {seen}");
        assert_eq!(value("cut"), 0, "text outside its chart at {width}: {seen}");
        assert_eq!(value("buttons") as usize, n, "the script ran: {seen}");
        assert_eq!(
            value("readout") as usize,
            n,
            "a value at the pointer in each chart: {seen}"
        );
        let saved = "saved=latency-profile.png+latency-profile.svg";
        assert!(seen.ends_with(saved), "{seen}");
        let console = browser::console(&log);
        assert!(console.is_empty(), "{console:?}");
    }
}

/// The check above must be able to fail: a page with an error in its script is told.
#[test]
fn an_error_in_the_page_would_be_seen() {
    let Some(browser) = chromium() else { return };
    let page = "<!DOCTYPE html><html><body><main><div style=\"width:900px\">x</div></main><script>nonsense();</script></body></html>";
    let (seen, log) = look(&browser, page, 360);
    assert!(log.contains(":CONSOLE"), "{log}");
    assert!(seen.contains("overflowing=1"), "{seen}");
    assert!(seen.contains("shown=0"), "{seen}");
}
