//! Measures the first view of a site in headless Chromium: ms from the start of loading until the
//! charts and the table's first rows are displayed, and until all rows are: `cargo run --release -p
//! cangate-report --example first_view -- DIR/site [TIMES]`.

#![allow(
    clippy::unwrap_used,
    reason = "a measurement that cannot go on has failed"
)]

#[path = "../tests/browser/mod.rs"]
mod browser;

use std::path::PathBuf;

const SCRIPT: &str = "const watch = setInterval(() => { const d = document.documentElement.dataset; \
    const rows = document.querySelectorAll('#table tbody tr').length; \
    if (!d.ready || rows < cg.index.experiments.length) return; clearInterval(watch); \
    console.log(`RESULT ${d.ready} ms until the first view, ${Math.round(performance.now())} ms until all ${rows} rows`); }, 10);";

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let Some(site) = std::env::args_os().nth(1).map(PathBuf::from) else {
        return Err("say which: first_view DIR/site [TIMES]".into());
    };
    let times: u32 = match std::env::args().nth(2) {
        Some(text) => text.parse()?,
        None => 5,
    };
    let Some(chromium) = browser::chromium() else {
        return Ok(());
    };
    let (page, script) = (site.join("measured.html"), site.join("measured.js"));
    let html = std::fs::read_to_string(site.join("index.html"))?;
    let index = "<script defer src=\"data/index.js\"></script>";
    std::fs::write(
        &page,
        html.replace(
            index,
            &format!("{index}<script defer src=\"measured.js\"></script>"),
        ),
    )?;
    std::fs::write(&script, SCRIPT)?;
    for _ in 0..times {
        println!(
            "{}",
            browser::listen(&chromium, &page.canonicalize()?, 1280).0
        );
    }
    std::fs::remove_file(page)?;
    std::fs::remove_file(script)?;
    Ok(())
}
