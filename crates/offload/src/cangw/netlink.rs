//! can-gw's requests and answers on the netlink socket.

use super::error::Error;
use super::wire::{self, ListedJob};
use linux::netlink::{KernelRefusal, NetlinkRequest, NetlinkSocket};
use rustix::io::Errno;
use std::collections::BTreeSet;

/// Number of requests in one call. The answers must fit into the socket's receive buffer (208 KiB
/// by default): an answer with an error repeats the request, and each takes up to 2.3 KiB of the
/// buffer.
const BATCH: usize = 64;

/// Number of times that the list is read again because it was changed during the reading.
const TRIES: usize = 50;

/// Sends several requests in as few calls as possible, so that there is as little time as possible
/// between them, and returns an answer for each.
///
/// With `look`, the kernel first lists its jobs in each of these calls. Of a long list only the
/// first part is made before the changes; the other parts follow after them.
pub(super) fn ask_all(
    netlink: &mut NetlinkSocket,
    requests: Vec<NetlinkRequest>,
    look: bool,
) -> Result<(Vec<Option<KernelRefusal>>, Vec<ListedJob>), Error> {
    let (mut answers, mut seen) = (Vec::with_capacity(requests.len()), Vec::new());
    let first = usize::from(look);
    let mut requests = requests.into_iter().peekable();
    while requests.peek().is_some() {
        let list = look.then(wire::list_request);
        let batch: Vec<NetlinkRequest> = list
            .into_iter()
            .chain(requests.by_ref().take(BATCH))
            .collect();
        let ends = netlink.ask(&batch, |which, _, message| {
            if which < first {
                seen.extend(wire::listed(&message)?);
            }
            Ok::<_, Error>(())
        })?;
        // The reason for the end of the list does not matter: the look is optional.
        answers.extend(ends.into_iter().skip(first).map(|end| end.error));
    }
    Ok((answers, seen))
}

/// Returns all jobs, in the order in which they are tried.
///
/// The kernel returns a long list in parts and finds the next part by counting, so a job that is
/// added or removed in between shifts it, and the kernel does not report that. A list in several
/// parts is therefore read until two successive readings contain the same jobs.
pub(super) fn list_jobs(netlink: &mut NetlinkSocket) -> Result<Vec<ListedJob>, Error> {
    let mut before: Option<Vec<ListedJob>> = None;
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

/// Reads the list once, and returns whether it came in one part.
fn read_jobs(netlink: &mut NetlinkSocket) -> Result<(Vec<ListedJob>, bool), Error> {
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
        // rtnetlink does not support routes at all, or not those of CAN.
        Some(refusal) if refusal.errno == Errno::OPNOTSUPP => Ok((Vec::new(), true)),
        Some(source) => Err(Error::Socket {
            doing: "listing the rules",
            source,
        }),
    }
}
