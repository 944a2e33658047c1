//! `cangate report`.

use crate::cli::report::Report;
use console::Failure;
use console::output;
use guest::with_causes;
use std::io::Write;

/// Makes a site of a folder of results.
pub(crate) fn run(args: &Report) -> Result<(), Failure> {
    let out = args.out.clone().unwrap_or_else(|| args.dir.join("site"));
    if let Some(out) = &args.out {
        output::folder(out)?;
    }
    let site = report::site::write(&args.dir, &out).map_err(|error| match error {
        report::site::Error::Folder { .. } | report::site::Error::Nothing { .. } => {
            Failure::Input(with_causes(&error))
        }
        report::site::Error::File { .. } => Failure::run(error),
    })?;
    let also = |n, what| match n {
        0 => String::new(),
        n => format!(", {}", many(n, what)),
    };
    writeln!(
        std::io::stdout(),
        "{}: {}{}{}, {:.1} MB; open it in a browser",
        site.index.display(),
        many(site.experiments, "experiment"),
        also(site.failed, "failed experiment"),
        also(site.claims, "claim"),
        site.bytes as f64 / 1e6
    )?;
    if site.left_out.is_empty() {
        return Ok(());
    }
    let mut text = format!("left out: {}", many(site.left_out.len(), "file"));
    for file in &site.left_out {
        text.push_str(&format!("\n  {}: {}", file.name, file.why));
    }
    Err(Failure::Run(text))
}

fn many(n: usize, what: &str) -> String {
    format!("{n} {what}{}", if n == 1 { "" } else { "s" })
}
