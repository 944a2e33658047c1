//! can-gw's requests and answers on the netlink socket.

use super::error::Error;
use super::wire::{self, Listed, Message};
use crate::netlink::{Netlink, failed};
use rustix::io::Errno;

/// What goes out in one call. The answers to it must fit into the socket's receive buffer (208 KiB
/// where nobody changed it): an answer that says no repeats the request, and each takes up to
/// 2.3 KiB of it.
const BATCH: usize = 64;

/// How often the list is read again because it was changed meanwhile.
const TRIES: usize = 50;

impl Netlink {
    /// Asks for one thing; the kernel's error if it has one.
    pub(super) fn ask(&mut self, request: impl Fn(u32) -> Vec<u8>) -> Result<Option<Errno>, Error> {
        let (answers, _) = self.ask_all(1, false, |_, sequence| request(sequence))?;
        Ok(answers.into_iter().next().flatten())
    }

    /// Asks for several things in as few calls as possible, so that there is as little time as
    /// possible between them; an answer for each.
    ///
    /// With `look`, the kernel first lists its jobs in each of these calls. Of a long list that is
    /// only the first part at once; the others come after the changes.
    pub(super) fn ask_all(
        &mut self,
        count: usize,
        look: bool,
        request: impl Fn(usize, u32) -> Vec<u8>,
    ) -> Result<(Vec<Option<Errno>>, Vec<Listed>), Error> {
        let (mut answers, mut seen) = (vec![None; count], Vec::new());
        for start in (0..count).step_by(BATCH) {
            let end = (start + BATCH).min(count);
            let mut batch = Vec::new();
            let list = look.then(|| self.sequence());
            batch.extend(list.map(wire::list_request).into_iter().flatten());
            let first = self.sequence.wrapping_add(1);
            for index in start..end {
                batch.extend(request(index, self.sequence()));
            }
            self.send(&batch)?;
            let (mut waiting, mut listing) = (end - start, list.is_some());
            while waiting > 0 || listing {
                for (sequence, message) in wire::decode(self.receive()?)? {
                    if Some(sequence) == list {
                        match message {
                            Message::Listed(listed) => seen.push(*listed),
                            // Why it ended does not matter: looking is extra.
                            Message::Done(_) | Message::Answer(_) => listing = false,
                            Message::Other => {}
                        }
                        continue;
                    }
                    let index = start.saturating_add(sequence.wrapping_sub(first) as usize);
                    if let (Message::Answer(answer), Some(place)) =
                        (message, answers.get_mut(index).filter(|_| index < end))
                    {
                        *place = answer;
                        waiting = waiting.saturating_sub(1);
                    }
                }
            }
        }
        Ok((answers, seen))
    }

    /// All jobs, the one that is tried first in front.
    ///
    /// The kernel hands out a long list in parts and finds the next part by counting, so a job
    /// that comes or goes in between shifts it. A list in several parts is therefore read until
    /// the same jobs came twice.
    pub(super) fn list_jobs(&mut self) -> Result<Vec<Listed>, Error> {
        let (mut list, parts) = self.dump_jobs()?;
        if parts <= 1 {
            return Ok(list);
        }
        for _ in 0..TRIES {
            let (again, _) = self.dump_jobs()?;
            let jobs = |list: &[Listed]| list.len();
            let same =
                jobs(&list) == jobs(&again) && list.iter().zip(&again).all(|(a, b)| a.job == b.job);
            list = again;
            if same {
                return Ok(list);
            }
        }
        Err(Error::Restless)
    }

    /// The list as it comes, and in how many parts.
    fn dump_jobs(&mut self) -> Result<(Vec<Listed>, usize), Error> {
        let sequence = self.sequence();
        self.send(&wire::list_request(sequence))?;
        let (mut list, mut parts) = (Vec::new(), 0);
        loop {
            let mut jobs = false;
            for (number, message) in wire::decode(self.receive()?)? {
                // What is left of an earlier, broken conversation.
                if number != sequence {
                    continue;
                }
                match message {
                    Message::Listed(listed) => {
                        jobs = true;
                        list.push(*listed);
                    }
                    Message::Done(None) => return Ok((list, parts + usize::from(jobs))),
                    // rtnetlink knows no routes at all, or none of CAN.
                    Message::Answer(Some(Errno::OPNOTSUPP)) => return Ok((Vec::new(), 0)),
                    Message::Done(Some(errno)) | Message::Answer(Some(errno)) => {
                        return Err(failed("listing the rules")(errno).into());
                    }
                    Message::Answer(None) | Message::Other => {}
                }
            }
            parts += usize::from(jobs);
        }
    }
}
