//! Charts that compare experiments: medians, and curves over the frame period, in a real browser.
//! Skipped, with the reason, if there is no Chromium.

use crate::browser;
use crate::experiments;

use cangate_report::site;
use std::path::Path;

/// Reports the content of the charts once they are drawn.
const SCRIPT: &str = r##"(async () => {
  const wait = (ms) => new Promise((done) => setTimeout(done, ms));
  for (let i = 0; i < 200 && !document.documentElement.dataset.ready; i++) await wait(20);
  await wait(200);
  const said = [...document.querySelectorAll("figure")].map((f) => {
    const lines = [...f.querySelectorAll(".lines path")].map((p) => `${p.dataset.name}=${(p.getAttribute("d").match(/[ML]/g) ?? []).length}`);
    return `${f.id}[${lines.join("|")}]`;
  });
  const rows = [...document.querySelectorAll("#medians-virtual svg text")].map((t) => t.textContent);
  const result = document.createElement("p");
  result.id = "result";
  result.textContent = `${said.join(" ")} rows:${rows.join("|")}`;
  document.body.append(result);
})();"##;

fn write(dir: &Path, name: &str, gateway: &str, period: u64, base: u64) {
    let mut results = experiments::experiment(0, 60);
    for (key, value) in &mut results.description.more {
        match key.as_str() {
            "gateway" => *value = gateway.to_owned(),
            "traffic" => *value = format!("period:{period}"),
            _ => {}
        }
    }
    for record in &mut results.records {
        if let (Some(incoming), Some(out)) = (record.incoming, &mut record.outgoing) {
            out.end = incoming.end + out.duration + base + 1_000 * period;
        }
    }
    probe::results::write(&dir.join(format!("{name}.parquet")), &results).unwrap();
}

#[test]
fn experiments_of_different_periods_are_points_of_one_line() {
    let Some(browser) = browser::chromium() else {
        return;
    };
    let dir = tempfile::tempdir().unwrap();
    for period in [100, 120, 150, 1000] {
        for (gateway, base) in [("user:read-write", 50_000), ("user:ring-ring", 20_000)] {
            let name = format!("{}-{period}", gateway.replace(':', "-"));
            write(dir.path(), &name, gateway, period, base);
        }
    }
    // Two points are not a line.
    for period in [100, 120] {
        write(dir.path(), &format!("bpf-{period}"), "bpf", period, 9_000);
    }
    let to = dir.path().join("site");
    site::write(dir.path(), &to).unwrap();
    let page = std::fs::read_to_string(to.join("index.html")).unwrap();
    let index = "<script defer src=\"data/index.js\"></script>";
    let script = "<script defer src=\"test.js\"></script>";
    let tested = page.replace(index, &format!("{index}{script}"));
    assert_ne!(page, tested);
    let file = to.join("test.html");
    std::fs::write(&file, tested).unwrap();
    std::fs::write(to.join("test.js"), SCRIPT).unwrap();
    let (seen, log) = browser::open(&browser, &file, 1280);
    assert_eq!(browser::console(&log), Vec::<&str>::new());
    for chart in ["median-over-period-virtual", "loss-over-period-virtual"] {
        let lines = format!("{chart}[user:read-write=4|user:ring-ring=4]");
        assert!(seen.contains(&lines), "{lines} in {seen}");
    }
    // Sorted: the smallest median first. 9 + 100 µs.
    let first = seen.find("109 µs").unwrap_or_else(|| panic!("{seen}"));
    assert!(first < seen.find("1050 µs").unwrap(), "{seen}");
}
