//! `cangate completions` and `cangate man`, made from the definition in `cli`; `cangate schema`.

#[cfg(feature = "man")]
use crate::cli::{Cli, Completions, Man};
use crate::kinds::kinds;
#[cfg(feature = "man")]
use clap::CommandFactory;
use console::Failure;
#[cfg(feature = "man")]
use console::output;
use std::io::Write;

#[cfg(feature = "man")]
pub(crate) fn completions(args: &Completions) -> Result<(), Failure> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut Cli::command(), "cangate", &mut script);
    std::io::stdout().write_all(&script)?;
    Ok(())
}

pub(crate) fn schema() -> Result<(), Failure> {
    let schema = gateway::config::schema(&kinds());
    let text = serde_json::to_string_pretty(&schema).map_err(Failure::run)?;
    writeln!(std::io::stdout(), "{text}")?;
    Ok(())
}

#[cfg(feature = "man")]
pub(crate) fn man(args: &Man) -> Result<(), Failure> {
    output::folder(&args.dir)?;
    clap_mangen::generate_to(Cli::command(), &args.dir)
        .map_err(|e| Failure::file("write man pages into", &args.dir, &e))
}
