//! A list of the kernel's rules, for people.

use super::error::Error;
use super::kernel::Kernel;
use super::wire::{Counters, Listed};
use route::cangw::Rule;

/// A rule of the kernel's list.
#[derive(Clone, PartialEq, Debug)]
pub struct ListedRule {
    /// The rule; interfaces that have just disappeared are named by their number.
    pub rule: Rule,
    /// Its mark (`CGW_MOD_UID`), if it has one; [`Instance::owns`](super::Instance::owns) returns
    /// whether it belongs to an instance.
    pub mark: Option<u32>,
    /// Its counters.
    pub counters: Counters,
}

/// Returns all rules, of every origin, in the order in which they are tried. Needs no permission.
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
