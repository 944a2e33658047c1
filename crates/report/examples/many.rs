//! Writes made-up experiments into a folder, for the site: `cargo run --release -p cangate-report
//! --example many -- DIR [EXPERIMENTS] [FRAMES]`; then makes the site of them, and prints the time
//! of each step.

#[path = "../tests/sample/experiments.rs"]
mod experiments;

use std::path::PathBuf;
use std::time::Instant;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let Some(dir) = std::env::args_os().nth(1).map(PathBuf::from) else {
        return Err("say where to: many DIR [EXPERIMENTS] [FRAMES]".into());
    };
    let number = |n: usize, otherwise: u64| match std::env::args().nth(n) {
        Some(text) => text.parse(),
        None => Ok(otherwise),
    };
    let (count, frames) = (number(2, 700)?, number(3, 10_000)?);
    let start = Instant::now();
    std::fs::create_dir_all(&dir)?;
    for n in 0..count {
        let file = dir.join(format!("{}.parquet", experiments::name(n)));
        probe::results::write(&file, &experiments::experiment(n, frames))?;
    }
    println!(
        "{count} results of {frames} frames written in {:.1} s",
        start.elapsed().as_secs_f64()
    );
    let start = Instant::now();
    let site = cangate_report::site::write(&dir, &dir.join("site"))?;
    println!(
        "{}: {} experiments, {:.1} MB, in {:.1} s",
        site.index.display(),
        site.experiments,
        site.bytes as f64 / 1e6,
        start.elapsed().as_secs_f64()
    );
    Ok(())
}
