//! `cangate bound --from-dbc` in a build without the feature `dbc`.

use console::Failure;
use frame::wire::BitRate;
use std::path::Path;

/// Refuses the option, with the reason.
pub(super) fn set_of(_: &Path, _: Option<BitRate>) -> Result<String, Failure> {
    Err(Failure::input(
        "--from-dbc is not in this build of cangate, which was made without the feature `dbc`: build it with \
         `--features dbc`, or install a package with all features",
    ))
}
