//! Requests, and the detection of complete answers.

use super::error::{Error, KernelRefusal, failed};
use super::message::{NetlinkMessage, NetlinkRequest, messages};
use crate::Errno;

/// The number of attempts to list something that changes during the listing.
const TRIES: usize = 50;

/// The outcome of a request.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct AnswerEnd {
    /// The reason for which the kernel refused the request, or broke the list off.
    pub error: Option<KernelRefusal>,
    /// Whether the listed objects changed during the listing: parts may be missing, or be there
    /// twice.
    pub interrupted: bool,
}

/// A list: the type and the body of each message.
pub type Listed = Vec<(u16, Vec<u8>)>;

/// The channel to the kernel and back.
pub(super) trait KernelChannel {
    fn send(&mut self, datagram: &[u8]) -> Result<(), Error>;
    /// Returns the next datagram; an error where none arrives for a long time.
    fn receive(&mut self) -> Result<&[u8], Error>;
}

/// Implements [`super::NetlinkSocket::ask`].
pub(super) fn ask<E: From<Error>>(
    channel: &mut impl KernelChannel,
    sequence: &mut u32,
    requests: &[NetlinkRequest],
    mut each: impl FnMut(usize, usize, NetlinkMessage<'_>) -> Result<(), E>,
) -> Result<Vec<AnswerEnd>, E> {
    let first = sequence.wrapping_add(1);
    let mut batch = Vec::new();
    for request in requests {
        *sequence = sequence.wrapping_add(1);
        batch.extend(request.bytes(*sequence));
    }
    let mut ends = vec![AnswerEnd::default(); requests.len()];
    let mut open = vec![true; requests.len()];
    let mut waiting = requests.len();
    if waiting > 0 {
        channel.send(&batch)?;
    }
    let mut part = 0;
    while waiting > 0 {
        for message in messages(channel.receive()?) {
            let message = message.map_err(Error::Answer)?;
            let which = message.sequence.wrapping_sub(first) as usize;
            let (Some(request), Some(end), Some(open)) = (
                requests.get(which),
                ends.get_mut(which),
                open.get_mut(which),
            ) else {
                // The rest of an earlier, interrupted conversation.
                continue;
            };
            end.interrupted |= message.is_interrupted();
            let answer = message.answer().map_err(Error::Answer)?;
            let over = match (message.done(), answer) {
                (None, None) => {
                    each(which, part, message)?;
                    None
                }
                // A list ends with NLMSG_DONE, or with an error; everything else with an answer.
                (Some(error), _) => request.is_list().then_some(error),
                (None, Some(None)) if request.is_list() => None,
                (None, Some(error)) => Some(error),
            };
            if let (Some(error), true) = (over, *open) {
                end.error = error;
                *open = false;
                waiting -= 1;
            }
        }
        part += 1;
    }
    Ok(ends)
}

/// Implements [`super::NetlinkSocket::list`].
pub(super) fn list(
    channel: &mut impl KernelChannel,
    sequence: &mut u32,
    request: &NetlinkRequest,
) -> Result<Result<Listed, KernelRefusal>, Error> {
    for _ in 0..TRIES {
        let mut listed = Listed::new();
        let request = std::slice::from_ref(request);
        let ends = ask(channel, sequence, request, |_, _, message| {
            listed.push((message.kind, message.body.to_vec()));
            Ok::<_, Error>(())
        })?;
        match ends.into_iter().next().unwrap_or_default() {
            AnswerEnd {
                error: Some(refusal),
                ..
            } => return Ok(Err(refusal)),
            AnswerEnd {
                interrupted: false, ..
            } => return Ok(Ok(listed)),
            // The list changed: once more, from the start.
            _ => {}
        }
    }
    Err(failed("its list changed during every read")(Errno::INTR))
}

#[cfg(test)]
mod tests {
    use super::super::error::MalformedMessage;
    use super::super::message::kernel_message;
    use super::*;
    use proptest::prelude::*;
    use std::collections::VecDeque;

    const ERROR: u16 = 2;
    const DONE: u16 = 3;
    const LINK: u16 = 16;
    const MULTI: u16 = 2;
    const INTERRUPTED: u16 = 0x12;

    /// A kernel that returns prepared answers. The sequence numbers in a datagram are given by the
    /// test.
    #[derive(Default)]
    struct ScriptedKernel {
        answers: VecDeque<Vec<u8>>,
        sent: Vec<Vec<u8>>,
        datagram: Vec<u8>,
    }

    impl KernelChannel for ScriptedKernel {
        fn send(&mut self, datagram: &[u8]) -> Result<(), Error> {
            self.sent.push(datagram.to_vec());
            Ok(())
        }

        fn receive(&mut self) -> Result<&[u8], Error> {
            let next = self.answers.pop_front();
            self.datagram = next.ok_or_else(|| failed("waiting")(Errno::AGAIN))?;
            Ok(&self.datagram)
        }
    }

    fn paper(answers: impl IntoIterator<Item = Vec<Vec<u8>>>) -> ScriptedKernel {
        ScriptedKernel {
            answers: answers.into_iter().map(|parts| parts.concat()).collect(),
            ..ScriptedKernel::default()
        }
    }

    fn dump() -> NetlinkRequest {
        NetlinkRequest::list(18, vec![0; 16])
    }

    fn done(flags: u16, sequence: u32) -> Vec<u8> {
        kernel_message(DONE, flags, sequence, &[0; 4])
    }

    fn errno(sequence: u32, code: i32) -> Vec<u8> {
        kernel_message(ERROR, 0, sequence, &code.to_ne_bytes())
    }

    fn item(flags: u16, sequence: u32, n: u8) -> Vec<u8> {
        kernel_message(LINK, flags, sequence, &[n])
    }

    fn listed(paper: &mut ScriptedKernel) -> Result<Result<Vec<u8>, KernelRefusal>, Error> {
        let mut sequence = 0;
        let listed = list(paper, &mut sequence, &dump())?;
        Ok(listed.map(|all| all.into_iter().map(|(_, body)| body[0]).collect()))
    }

    #[test]
    fn an_interrupted_list_is_read_again() {
        // The flag is on any message of the list, the last one included.
        let mut kernel = paper([
            vec![item(MULTI, 1, 1), item(INTERRUPTED, 1, 2)],
            vec![done(MULTI, 1)],
            vec![item(MULTI, 2, 3), done(INTERRUPTED, 2)],
            vec![item(MULTI, 3, 4)],
            vec![item(MULTI, 3, 5), done(MULTI, 3)],
        ]);
        assert_eq!(listed(&mut kernel), Ok(Ok(vec![4, 5])));
        assert_eq!(kernel.sent.len(), 3);
        // A list that changes at every attempt fails.
        let mut kernel = paper((1..=TRIES as u32).map(|n| vec![done(INTERRUPTED, n)]));
        let error = listed(&mut kernel).unwrap_err();
        assert!(error.to_string().contains("changed during every read"));
        assert_eq!(kernel.sent.len(), TRIES);
    }

    #[test]
    fn a_list_that_breaks_off_is_none() {
        let mut kernel = paper([vec![errno(1, -95)]]);
        assert_eq!(listed(&mut kernel), Ok(Err(Errno::OPNOTSUPP.into())));
        let broken = kernel_message(DONE, MULTI, 1, &(-90_i32).to_ne_bytes());
        let mut kernel = paper([vec![item(MULTI, 1, 1)], vec![broken]]);
        assert_eq!(listed(&mut kernel), Ok(Err(Errno::MSGSIZE.into())));
        let mut kernel = paper([
            vec![item(MULTI, 1, 1)],
            vec![kernel_message(ERROR, 0, 1, &[])],
        ]);
        let malformed = Err(Error::Answer(MalformedMessage::Message));
        assert_eq!(listed(&mut kernel), malformed);
        // The kernel stops answering.
        let mut kernel = paper([vec![item(MULTI, 1, 1)]]);
        assert!(matches!(listed(&mut kernel), Err(Error::Socket { .. })));
    }

    #[test]
    fn each_request_of_a_batch_has_its_own_answer() {
        let change = NetlinkRequest::change(19, 0, vec![0; 16]);
        let batch = [dump(), change.clone(), change.clone(), change];
        let mut kernel = paper([
            vec![errno(6, -1), item(MULTI, 8, 7)],
            // Answers of an earlier conversation, and of none.
            vec![errno(7, -2), done(0, 7), errno(12, -3), item(0, 0, 9)],
            // A second answer does not count as another request's answer.
            vec![errno(10, 0), errno(10, -4), done(0, 9)],
            vec![errno(11, -17)],
            vec![item(MULTI, 8, 8), done(MULTI, 8)],
            vec![errno(9, -19)],
        ]);
        let (mut sequence, mut seen) = (7, Vec::new());
        let ends = ask(
            &mut kernel,
            &mut sequence,
            &batch,
            |which, part, message| {
                seen.push((which, part, message.body[0]));
                Ok::<_, Error>(())
            },
        );
        let errno = |end: AnswerEnd| end.error.map(|refusal| refusal.errno);
        let errors: Vec<_> = ends.unwrap().into_iter().map(errno).collect();
        assert_eq!(errors, [None, Some(Errno::NODEV), None, Some(Errno::EXIST)]);
        assert_eq!(seen, [(0, 0, 7), (0, 4, 8)]);
        assert_eq!((sequence, kernel.sent.len()), (11, 1));
        let sent: Vec<u32> = messages(&kernel.sent[0])
            .map(|m| m.unwrap().sequence)
            .collect();
        assert_eq!(sent, [8, 9, 10, 11]);
        let none = ask(
            &mut kernel,
            &mut sequence,
            &[],
            |_, _, _| Ok::<_, Error>(()),
        );
        assert_eq!(none, Ok(vec![]));
        assert_eq!(kernel.sent.len(), 1, "nothing was asked");
    }

    /// Numbers wrap as C's do.
    #[test]
    fn numbers_wrap() {
        let change = NetlinkRequest::change(19, 0, vec![]);
        let mut kernel = paper([vec![errno(0, 0), errno(u32::MAX, -1)]]);
        let mut sequence = u32::MAX - 1;
        let two = [change.clone(), change];
        let ends = ask(&mut kernel, &mut sequence, &two, |_, _, _| {
            Ok::<_, Error>(())
        })
        .unwrap();
        assert_eq!(ends[0].error, Some(Errno::PERM.into()));
        assert_eq!((&ends[1].error, sequence), (&None, 0));
    }

    proptest! {
        /// Any answers lead to an end, after no more datagrams than there are.
        #[test]
        fn any_answers_end(
            bytes in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..80), 0..6),
            said_ in prop::collection::vec(
                (prop_oneof![Just(2_u16), Just(3), any::<u16>()], any::<u16>(), 0_u32..6,
                 prop::collection::vec(any::<u8>(), 0..8)), 0..12),
        ) {
            let mut kernel = ScriptedKernel::default();
            for (kind, flags, sequence, body) in &said_ {
                kernel.answers.push_back(kernel_message(*kind, *flags, *sequence, body));
            }
            kernel.answers.extend(bytes);
            let most = kernel.answers.len();
            let batch = [dump(), NetlinkRequest::one(18, vec![]), NetlinkRequest::change(19, 0, vec![])];
            let mut last = 0;
            let ends = ask(&mut kernel, &mut 0, &batch, |which, part, _| {
                last = part;
                assert!(which < 3);
                Ok::<_, Error>(())
            });
            if let Ok(ends) = ends {
                prop_assert_eq!(ends.len(), 3);
            }
            prop_assert!(last <= most);
            let _ = list(&mut kernel, &mut 0, &dump());
        }
    }
}
