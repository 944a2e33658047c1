//! A list of the kernel's rules, for people.

use super::error::Error;
use super::kernel::CanGwKernel;
use super::wire::{JobCounters, ListedJob};
use route::cangw::CanGwRule;

/// A rule of the kernel's list.
#[derive(Clone, PartialEq, Debug)]
pub struct ListedRule {
    /// The rule; interfaces that have just disappeared are named by their number.
    pub rule: CanGwRule,
    /// Its mark (`CGW_MOD_UID`), if it has one; [`Instance::owns`](super::GatewayInstance::owns)
    /// returns whether it belongs to an instance.
    pub mark: Option<u32>,
    /// Its counters.
    pub counters: JobCounters,
}

/// Returns all rules, of every origin, in the order in which they are tried. Needs no permission.
///
/// # Errors
/// As [`CanGwKernel::list`].
pub fn show(kernel: &mut CanGwKernel) -> Result<Vec<ListedRule>, Error> {
    let links = kernel.links()?;
    let list = kernel.list()?.into_iter();
    Ok(list
        .map(|ListedJob { job, counters }| ListedRule {
            rule: job.rule(links.name(job.source), links.name(job.destination)),
            mark: Some(job.mark()).filter(|mark| *mark != 0),
            counters,
        })
        .collect())
}
