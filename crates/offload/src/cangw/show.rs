//! The kernel's list for people.

use super::error::Error;
use super::kernel::Kernel;
use super::wire::{Counters, Listed};
use route::cangw::Rule;

/// A rule of the kernel's list.
#[derive(Clone, PartialEq, Debug)]
pub struct ListedRule {
    /// The rule; interfaces that have just gone are named by their number.
    pub rule: Rule,
    /// Its mark (`CGW_MOD_UID`), if it has one; [`Instance::owns`](super::Instance::owns) says
    /// whose it is.
    pub mark: Option<u32>,
    /// Its counters.
    pub counters: Counters,
}

/// All rules, whoever made them, as they are tried. Needs no permission.
///
/// # Errors
/// As [`Kernel::list`].
pub fn show(kernel: &mut Kernel) -> Result<Vec<ListedRule>, Error> {
    let links = kernel.links()?;
    let list = kernel.list()?.into_iter();
    Ok(list
        .map(|Listed { job, counters }| ListedRule {
            rule: job.rule(links.name(job.source), links.name(job.destination)),
            mark: Some(job.mark()).filter(|mark| *mark != 0),
            counters,
        })
        .collect())
}
