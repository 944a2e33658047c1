//! `cangate lab completions` and `cangate lab man`, made from the definition in `cli`.

use crate::cli::{Cli, Completions, Man};
use clap::CommandFactory;
use console::{Failure, output};
use std::io::Write;

pub(crate) fn completions(args: &Completions) -> Result<(), Failure> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut Cli::command(), "cangate-lab", &mut script);
    std::io::stdout().write_all(&script)?;
    Ok(())
}

pub(crate) fn man(args: &Man) -> Result<(), Failure> {
    output::folder(&args.dir)?;
    clap_mangen::generate_to(Cli::command(), &args.dir)
        .map_err(|e| Failure::file("write man pages into", &args.dir, &e))
}
