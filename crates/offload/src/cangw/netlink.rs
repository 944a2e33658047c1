//! can-gw's requests and answers on the netlink socket.

use super::error::Error;
use super::wire::{self, Listed};
use linux::netlink::{Netlink, Refusal, Request};
use rustix::io::Errno;
use std::collections::BTreeSet;

/// What goes out in one call. The answers to it must fit into the socket's receive buffer (208 KiB
/// where nobody changed it): an answer that says no repeats the request, and each takes up to
/// 2.3 KiB of it.
const BATCH: usize = 64;

/// How often the list is read again because it was changed meanwhile.
const TRIES: usize = 50;

/// Asks for several things in as few calls as possible, so that there is as little time as
/// possible between them; an answer for each.
///
/// With `look`, the kernel first lists its jobs in each of these calls. Of a long list that is
/// only the first part at once; the others come after the changes.
pub(super) fn ask_all(
    netlink: &mut Netlink,
    requests: Vec<Request>,
    look: bool,
) -> Result<(Vec<Option<Refusal>>, Vec<Listed>), Error> {
    let (mut answers, mut seen) = (Vec::with_capacity(requests.len()), Vec::new());
    let first = usize::from(look);
    let mut requests = requests.into_iter().peekable();
    while requests.peek().is_some() {
        let list = look.then(wire::list_request);
        let batch: Vec<Request> = list
            .into_iter()
            .chain(requests.by_ref().take(BATCH))
            .collect();
        let ends = netlink.ask(&batch, |which, _, message| {
            if which < first {
                seen.extend(wire::listed(&message)?);
            }
            Ok::<_, Error>(())
        })?;
        // Why the list ended does not matter: looking is extra.
        answers.extend(ends.into_iter().skip(first).map(|end| end.error));
    }
    Ok((answers, seen))
}

/// All jobs, the one that is tried first in front.
///
/// The kernel hands out a long list in parts and finds the next part by counting, so a job that
/// comes or goes in between shifts it, and it does not say so. A list in several parts is therefore
/// read until the same jobs came twice.
pub(super) fn list_jobs(netlink: &mut Netlink) -> Result<Vec<Listed>, Error> {
    let mut before: Option<Vec<Listed>> = None;
    for _ in 0..=TRIES {
        let (list, whole) = read_jobs(netlink)?;
        let same = before.is_some_and(|before| {
            before.len() == list.len() && before.iter().zip(&list).all(|(a, b)| a.job == b.job)
        });
        if whole || same {
            return Ok(list);
        }
        before = Some(list);
    }
    Err(Error::Restless)
}

/// The list as it comes, and whether it came in one part.
fn read_jobs(netlink: &mut Netlink) -> Result<(Vec<Listed>, bool), Error> {
    let (mut list, mut parts) = (Vec::new(), BTreeSet::new());
    let ends = netlink.ask(&[wire::list_request()], |_, part, message| {
        if let Some(listed) = wire::listed(&message)? {
            list.push(listed);
            parts.insert(part);
        }
        Ok::<_, Error>(())
    })?;
    let end = ends.into_iter().next().unwrap_or_default();
    match end.error {
        None => Ok((list, parts.len() <= 1 && !end.interrupted)),
        // rtnetlink knows no routes at all, or none of CAN.
        Some(refusal) if refusal.errno == Errno::OPNOTSUPP => Ok((Vec::new(), true)),
        Some(source) => Err(Error::Socket {
            doing: "listing the rules",
            source,
        }),
    }
}
