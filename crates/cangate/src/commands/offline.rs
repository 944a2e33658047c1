//! `cangate check`, `import`, `export`: what needs no running gateway.

use super::{Failure, load_config, read_source};
use crate::cli::{Check, Export, Import};
use std::io::Write;

pub(crate) fn check(args: &Check, color: bool) -> Result<(), Failure> {
    let source = read_source(&args.file)?;
    let (config, warnings) = load_config(&source, color)?;
    eprint!("{warnings}");
    std::io::stdout().write_all(config.describe().as_bytes())?;
    Ok(())
}

pub(crate) fn import(_args: &Import, _color: bool) -> Result<(), Failure> {
    Err(Failure::input("not yet"))
}

pub(crate) fn export(_args: &Export, _color: bool) -> Result<(), Failure> {
    Err(Failure::input("not yet"))
}
