//! Writes a page of made-up worst cases: `cargo run -p cangate-report --example bound -- DIR
//! [BUSES] [MESSAGES]`, with this many messages on each bus, and prints the time of its first view
//! in headless Chromium, in ms from the start of loading.

#![allow(
    clippy::unwrap_used,
    reason = "a measurement that cannot go on has failed"
)]

#[path = "../tests/browser/mod.rs"]
mod browser;
#[path = "../tests/sample/bound.rs"]
mod sample;

use std::path::PathBuf;

const SCRIPT: &str = "<script>const watch = setInterval(() => { const d = document.documentElement.dataset; \
    if (!d.ready) return; clearInterval(watch); \
    console.log(`RESULT ${d.ready} ms until ${document.querySelectorAll('.row').length} bars and \
    ${document.querySelectorAll('#measured figure').length} profiles are drawn`); }, 10);</script>";

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let Some(dir) = std::env::args_os().nth(1).map(PathBuf::from) else {
        return Err("say where to: bound DIR [BUSES] [MESSAGES]".into());
    };
    let number = |n: usize, otherwise: u64| match std::env::args().nth(n) {
        Some(text) => text.parse(),
        None => Ok(otherwise),
    };
    let data = sample::data(number(2, 2)?, number(3, 12)?);
    let written = cangate_report::bound::write(&dir, &data)?;
    let bytes = std::fs::metadata(&written)?.len();
    println!("{}: {:.2} MB", written.display(), bytes as f64 / 1e6);
    let Some(chromium) = browser::chromium() else {
        return Ok(());
    };
    let measured = dir.canonicalize()?.join("measured.html");
    let page = std::fs::read_to_string(&written)?;
    std::fs::write(
        &measured,
        page.replace("</body>", &format!("{SCRIPT}</body>")),
    )?;
    for _ in 0..5 {
        println!("{}", browser::listen(&chromium, &measured, 1280).0);
    }
    std::fs::remove_file(measured)?;
    Ok(())
}
