//! Writes a sample report into a folder: `cargo run -p cangate-report --example sample -- DIR`. The
//! data is made up; only its appearance matters.

#[path = "../tests/sample/mod.rs"]
mod sample;

use std::path::PathBuf;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let Some(dir) = std::env::args_os().nth(1) else {
        return Err("say where to: sample DIR [FRAMES]".into());
    };
    let frames = match std::env::args().nth(2) {
        Some(text) => text.parse()?,
        None => 4_000,
    };
    let written = cangate_report::run::write(&PathBuf::from(dir), &sample::data(frames))?;
    println!("{}", written.html.display());
    Ok(())
}
