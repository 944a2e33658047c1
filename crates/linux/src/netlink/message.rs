//! Netlink messages and attributes as bytes.

use super::error::{KernelRefusal, MalformedMessage};
use crate::Errno;
use netlink_packet_core::{
    DefaultNla, Emitable, NLM_F_ACK, NLM_F_DUMP, NLM_F_DUMP_INTR, NLM_F_REQUEST, NetlinkBuffer,
    NetlinkHeader, NlasIterator,
};

const NLMSG_ERROR: u16 = 2;
const NLMSG_DONE: u16 = 3;
/// An answer contains only the header of its request, not the whole request
/// (`uapi/linux/netlink.h`).
const NLM_F_CAPPED: u16 = 0x100;
/// Attributes follow the answer.
const NLM_F_ACK_TLVS: u16 = 0x200;
/// The reason as text.
const NLMSGERR_ATTR_MSG: u16 = 1;
/// The offset of the attribute that is refused.
const NLMSGERR_ATTR_OFFS: u16 = 2;
/// Size of an answer's code in bytes.
const CODE: usize = 4;

/// Size of `struct nlmsghdr` in bytes.
const HEADER: usize = 16;
/// The most bytes of an attribute's value: its length field, which includes the header, has 16
/// bits.
const MAX_VALUE: usize = u16::MAX as usize - 4;
/// `NLA_F_NESTED`: an attribute's value consists of attributes.
const NESTED: u16 = 0x8000;

/// A request to the kernel.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct NetlinkRequest {
    /// `RTM_…`, or another protocol's type.
    pub kind: u16,
    flags: u16,
    /// The data after the header: a structure of the protocol, then attributes.
    pub body: Vec<u8>,
}

impl NetlinkRequest {
    /// Creates a request for a change, and for an answer that states whether it was made. `flags`
    /// are those of the change: [`super::CREATE`], [`super::EXCLUSIVE`].
    #[must_use]
    pub const fn change(kind: u16, flags: u16, body: Vec<u8>) -> Self {
        let flags = NLM_F_REQUEST | NLM_F_ACK | flags;
        Self { kind, flags, body }
    }

    /// Creates a request for a list of all objects of a kind.
    #[must_use]
    pub const fn list(kind: u16, body: Vec<u8>) -> Self {
        let flags = NLM_F_REQUEST | NLM_F_DUMP;
        Self { kind, flags, body }
    }

    /// Creates a request for one object; the answer is followed by an acknowledgement.
    #[must_use]
    pub const fn one(kind: u16, body: Vec<u8>) -> Self {
        let flags = NLM_F_REQUEST | NLM_F_ACK;
        Self { kind, flags, body }
    }

    pub(super) const fn is_list(&self) -> bool {
        self.flags & NLM_F_DUMP == NLM_F_DUMP
    }

    /// Returns the request's bytes under this sequence number, padded to a multiple of four bytes.
    #[must_use]
    pub fn bytes(&self, sequence: u32) -> Vec<u8> {
        framed(self.kind, self.flags, sequence, &self.body)
    }
}

fn framed(kind: u16, flags: u16, sequence: u32, body: &[u8]) -> Vec<u8> {
    let total = HEADER + body.len();
    let mut header = NetlinkHeader::default();
    header.length = total as u32;
    header.message_type = kind;
    header.flags = flags;
    header.sequence_number = sequence;
    let mut out = vec![0; HEADER];
    header.emit(&mut out);
    out.extend(body);
    // The next message of a batch begins at a multiple of four.
    out.resize(total.next_multiple_of(4), 0);
    out
}

/// A message from the kernel.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct NetlinkMessage<'a> {
    /// The sequence number of the request that it answers.
    pub sequence: u32,
    /// The type of the message.
    pub kind: u16,
    flags: u16,
    /// The data after the header.
    pub body: &'a [u8],
}

impl NetlinkMessage<'_> {
    /// Returns whether a request was carried out (`Some(None)`), or the reason why it was not;
    /// `None` where the message is not an answer of that kind (NLMSG_ERROR).
    ///
    /// # Errors
    /// [`MalformedMessage::Message`] for an answer without a code.
    pub fn answer(&self) -> Result<Option<Option<KernelRefusal>>, MalformedMessage> {
        if self.kind != NLMSG_ERROR {
            return Ok(None);
        }
        let code = errno(self.body).ok_or(MalformedMessage::Message)?;
        Ok(Some(
            code.map(|errno| self.refusal(errno, CODE + self.repeated())),
        ))
    }

    /// Returns the end of a list (NLMSG_DONE), with the reason if the list was broken off; `None`
    /// for other messages.
    #[must_use]
    pub fn done(&self) -> Option<Option<KernelRefusal>> {
        if self.kind != NLMSG_DONE {
            return None;
        }
        // Some kernels send an empty body.
        let code = errno(self.body).unwrap_or_default();
        Some(code.map(|errno| self.refusal(errno, CODE)))
    }

    /// Returns how many bytes of the request an answer repeats: its header, and the rest where it
    /// is not capped.
    fn repeated(&self) -> usize {
        let whole = self.body.get(CODE..).and_then(number);
        let whole = whole.map_or(HEADER, |length| length as usize);
        let capped = self.flags & NLM_F_CAPPED != 0;
        if capped { HEADER } else { whole }.min(self.body.len())
    }

    /// Returns a refusal with the reason and the place, from the attributes that begin at `at` in
    /// the body.
    fn refusal(&self, errno: Errno, at: usize) -> KernelRefusal {
        let announced = self.flags & NLM_F_ACK_TLVS != 0;
        let attributes = self.body.get(at.next_multiple_of(4)..);
        let attributes = attributes.filter(|_| announced).unwrap_or_default();
        let reason = inner(attributes, NLMSGERR_ATTR_MSG).map(text);
        let reason = reason.filter(|reason| !reason.is_empty());
        KernelRefusal {
            errno,
            reason: reason.map(String::into_boxed_str),
            offset: inner(attributes, NLMSGERR_ATTR_OFFS).and_then(number),
        }
    }

    /// Returns whether the listed objects have changed since the list was begun
    /// (`NLM_F_DUMP_INTR`).
    #[must_use]
    pub const fn is_interrupted(&self) -> bool {
        self.flags & NLM_F_DUMP_INTR != 0
    }
}

/// Iterates over the messages of a datagram. It ends with the first malformed one.
pub fn messages(
    mut bytes: &[u8],
) -> impl Iterator<Item = Result<NetlinkMessage<'_>, MalformedMessage>> {
    std::iter::from_fn(move || {
        if bytes.is_empty() {
            return None;
        }
        let first = first(bytes);
        let len = match &first {
            Ok(message) => HEADER + message.body.len(),
            Err(_) => bytes.len(),
        };
        bytes = bytes.get(len.next_multiple_of(4)..).unwrap_or_default();
        Some(first)
    })
}

fn first(bytes: &[u8]) -> Result<NetlinkMessage<'_>, MalformedMessage> {
    let buffer = NetlinkBuffer::new_checked(bytes).map_err(|_| MalformedMessage::Message)?;
    let len = buffer.length() as usize;
    Ok(NetlinkMessage {
        sequence: buffer.sequence_number(),
        kind: buffer.message_type(),
        flags: buffer.flags(),
        body: bytes.get(HEADER..len).ok_or(MalformedMessage::Message)?,
    })
}

/// Returns the code of `struct nlmsgerr` or of NLMSG_DONE: a negative errno, or nothing for 0.
fn errno(body: &[u8]) -> Option<Option<Errno>> {
    let code = i32::from_ne_bytes(*body.first_chunk()?);
    // A code that is not an errno of Linux still indicates an error.
    let known = (-4095..0).contains(&code);
    let error = Errno::from_raw_os_error(if known {
        -code
    } else {
        Errno::IO.raw_os_error()
    });
    Some((code != 0).then_some(error))
}

/// Appends an attribute.
///
/// # Panics
/// If the value has more than 65531 bytes, which no attribute can have.
pub fn attribute(out: &mut Vec<u8>, kind: u16, value: &[u8]) {
    assert!(value.len() <= MAX_VALUE, "attribute {kind} is too long");
    let attribute = DefaultNla::new(kind, value.to_vec());
    let start = out.len();
    out.resize(start + attribute.buffer_len(), 0);
    if let Some(room) = out.get_mut(start..) {
        attribute.emit(room);
    }
}

/// Appends an attribute whose value consists of attributes.
///
/// # Panics
/// As [`attribute`].
pub fn nested(out: &mut Vec<u8>, kind: u16, attributes: &[u8]) {
    attribute(out, kind | NESTED, attributes);
}

/// Iterates over the attributes in these bytes: type without flags, and value. It ends with the
/// first malformed one.
pub fn attributes(bytes: &[u8]) -> impl Iterator<Item = Result<(u16, &[u8]), MalformedMessage>> {
    NlasIterator::new(bytes).map(|attribute| {
        let attribute = attribute.map_err(|_| MalformedMessage::Attribute)?;
        let (kind, len) = (attribute.kind(), usize::from(attribute.length()));
        let value = attribute.into_inner().get(4..len);
        Ok((kind, value.ok_or(MalformedMessage::Attribute)?))
    })
}

/// Returns the first attribute of a type from a value that consists of attributes.
#[must_use]
pub fn inner(value: &[u8], kind: u16) -> Option<&[u8]> {
    attributes(value)
        .map_while(Result::ok)
        .find_map(|(this, value)| (this == kind).then_some(value))
}

/// Converts a string of the kernel: the bytes before its terminating zero.
#[must_use]
pub fn text(value: &[u8]) -> String {
    let text = value.split(|byte| *byte == 0).next();
    String::from_utf8_lossy(text.unwrap_or_default()).into_owned()
}

/// Converts a number of the kernel; `None` where there are too few bytes.
#[must_use]
pub fn number(value: &[u8]) -> Option<u32> {
    value.first_chunk().map(|n| u32::from_ne_bytes(*n))
}

/// Returns a message as the kernel would send it, for tests.
#[cfg(test)]
pub(crate) fn kernel_message(kind: u16, flags: u16, sequence: u32, body: &[u8]) -> Vec<u8> {
    framed(kind, flags, sequence, body)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// The messages between `ip link show` and the kernel, on a little-endian machine.
    #[cfg(target_endian = "little")]
    #[test]
    fn framing_is_the_header_files() {
        let request = NetlinkRequest::list(18, vec![0; 16]).bytes(0x0102_0304);
        let mut expected = vec![32, 0, 0, 0, 18, 0, 0x01, 0x03, 4, 3, 2, 1, 0, 0, 0, 0];
        expected.extend([0; 16]);
        assert_eq!(request, expected);
        let mut body = vec![7; 3];
        attribute(&mut body, 3, b"can0\0");
        nested(&mut body, 18, &[9; 4]);
        let change = NetlinkRequest::change(19, netlink_packet_core::NLM_F_CREATE, body).bytes(1);
        assert_eq!(change[..8], [39, 0, 0, 0, 19, 0, 0x05, 0x04]);
        assert_eq!(change[16..19], [7, 7, 7]);
        assert_eq!(change[19..31], *b"\x09\x00\x03\x00can0\0\0\0\0");
        assert_eq!(change[31..], [8, 0, 18, 0x80, 9, 9, 9, 9, 0]);
        // A capture: two messages of a list and its end, the second one cut by the padding.
        let capture = [
            &[20, 0, 0, 0, 16, 0, 2, 0, 5, 0, 0, 0, 9, 9, 0, 0, 1, 2, 3, 4][..],
            &[
                17, 0, 0, 0, 16, 0, 0x12, 0, 5, 0, 0, 0, 9, 9, 0, 0, 8, 0, 0, 0,
            ],
            &[20, 0, 0, 0, 3, 0, 2, 0, 5, 0, 0, 0, 9, 9, 0, 0, 0, 0, 0, 0],
        ]
        .concat();
        let read: Vec<_> = messages(&capture).map(Result::unwrap).collect();
        let bodies: Vec<&[u8]> = read.iter().map(|m| m.body).collect();
        assert_eq!(bodies, [&[1, 2, 3, 4][..], &[8], &[0; 4]]);
        assert!(read.iter().all(|m| m.sequence == 5));
        let interrupted: Vec<bool> = read.iter().map(NetlinkMessage::is_interrupted).collect();
        assert_eq!(interrupted, [false, true, false]);
        assert_eq!(read[2].done(), Some(None));
        assert_eq!((read[0].done(), read[0].answer()), (None, Ok(None)));
    }

    #[test]
    fn an_answer_is_an_errno_or_none() {
        let read = |code: i32| {
            let bytes = kernel_message(NLMSG_ERROR, 0, 5, &code.to_ne_bytes());
            let message = messages(&bytes).next().unwrap().unwrap();
            message.answer().unwrap().unwrap()
        };
        assert_eq!((read(0), read(-19)), (None, Some(Errno::NODEV.into())));
        for odd in [19, i32::MIN, -4096] {
            assert_eq!(read(odd), Some(Errno::IO.into()));
        }
        let short = kernel_message(NLMSG_ERROR, 0, 5, &[1, 2, 3]);
        let message = messages(&short).next().unwrap().unwrap();
        assert_eq!(message.answer(), Err(MalformedMessage::Message));
        let broken = kernel_message(NLMSG_DONE, 0, 5, &(-90_i32).to_ne_bytes());
        let message = messages(&broken).next().unwrap().unwrap();
        assert_eq!(message.done(), Some(Some(Errno::MSGSIZE.into())));
    }

    /// As Linux 6.1 answers to `ip link set can0 type can restart-ms 100` where a driver cannot:
    /// with and without the whole request (NETLINK_CAP_ACK), and at the end of a list.
    #[test]
    fn the_reason_in_words_is_read() {
        let words = "Device doesn't support restart from Bus Off";
        let refusal = |errno| KernelRefusal {
            errno,
            reason: Some(words.into()),
            offset: Some(40),
        };
        let mut reason = Vec::new();
        // The answer also contains the offset of the error.
        attribute(&mut reason, 2, &40_u32.to_ne_bytes());
        attribute(
            &mut reason,
            NLMSGERR_ATTR_MSG,
            format!("{words}\0").as_bytes(),
        );
        let code = (-95_i32).to_ne_bytes();
        // 39 bytes, padded to 40.
        let request = NetlinkRequest::change(16, 0, vec![7; 23]).bytes(5);
        let whole = [&code[..], &request, &reason].concat();
        let capped = [&code[..], &request[..HEADER], &reason].concat();
        for (flags, body) in [
            (NLM_F_ACK_TLVS, &whole),
            (NLM_F_ACK_TLVS | NLM_F_CAPPED, &capped),
        ] {
            let bytes = kernel_message(NLMSG_ERROR, flags, 5, body);
            let message = messages(&bytes).next().unwrap().unwrap();
            assert_eq!(message.answer(), Ok(Some(Some(refusal(Errno::OPNOTSUPP)))));
        }
        let end = [&(-22_i32).to_ne_bytes()[..], &reason].concat();
        let bytes = kernel_message(NLMSG_DONE, NLM_F_ACK_TLVS, 5, &end);
        let message = messages(&bytes).next().unwrap().unwrap();
        assert_eq!(message.done(), Some(Some(refusal(Errno::INVAL))));
        // Attributes that are not announced are not read: they could be the request.
        let bytes = kernel_message(NLMSG_ERROR, NLM_F_CAPPED, 5, &capped);
        let message = messages(&bytes).next().unwrap().unwrap();
        assert_eq!(message.answer(), Ok(Some(Some(Errno::OPNOTSUPP.into()))));
        assert_eq!(
            refusal(Errno::OPNOTSUPP).to_string(),
            format!(
                "Operation not supported (os error 95); the kernel reports: {words} (byte 40 of the \
                 request)"
            )
        );
    }

    #[test]
    fn truncated_messages_and_attributes_are_reported() {
        let whole = kernel_message(16, 0, 1, &[1, 2, 3, 4]);
        for len in 1..whole.len() {
            let read: Vec<_> = messages(&whole[..len]).collect();
            assert_eq!(read, [Err(MalformedMessage::Message)], "{len}");
        }
        let mut list = Vec::new();
        attribute(&mut list, 1, b"abcd");
        for len in 1..list.len() {
            let read: Vec<_> = attributes(&list[..len]).collect();
            assert_eq!(read, [Err(MalformedMessage::Attribute)], "{len}");
        }
        assert_eq!(inner(&list, 1), Some(&b"abcd"[..]));
        assert_eq!((inner(&list, 2), inner(&list[..7], 1)), (None, None));
        assert_eq!((number(b"abc"), text(b"ab\0cd")), (None, "ab".to_owned()));
    }

    proptest! {
        /// Never a panic, and no more messages or attributes than headers fit.
        #[test]
        fn any_bytes_end(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
            prop_assert!(messages(&bytes).count() <= bytes.len() / HEADER + 1);
            prop_assert!(attributes(&bytes).count() <= bytes.len() / 4 + 1);
            for message in messages(&bytes).flatten() {
                let _ = (message.answer(), message.done());
            }
            let _ = (inner(&bytes, 1), text(&bytes), number(&bytes));
        }

        /// Wrong lengths, in otherwise valid messages.
        #[test]
        fn any_length_ends(
            first in any::<u32>(), second in any::<u16>(), small in 0_u32..64,
            body in prop::collection::vec(any::<u8>(), 0..64),
        ) {
            for flags in [0, NLM_F_ACK_TLVS, NLM_F_ACK_TLVS | NLM_F_CAPPED] {
                for kind in [NLMSG_ERROR, NLMSG_DONE] {
                    let bytes = kernel_message(kind, flags, 1, &body);
                    for message in messages(&bytes).flatten() {
                        let _ = (message.answer(), message.done());
                    }
                }
            }
            for len in [first, small] {
                let mut bytes = kernel_message(16, 2, 1, &body);
                bytes[..4].copy_from_slice(&len.to_ne_bytes());
                bytes.extend(kernel_message(3, 2, 1, &[0; 4]));
                let read = messages(&bytes).count();
                prop_assert!((1..=bytes.len() / HEADER + 1).contains(&read));
                let mut list = Vec::new();
                attribute(&mut list, 1, &body);
                list[..2].copy_from_slice(&(second ^ len as u16).to_ne_bytes());
                attribute(&mut list, 2, &body);
                prop_assert!(attributes(&list).count() <= list.len() / 4 + 1);
            }
        }

        #[test]
        fn what_is_written_is_read(
            parts in prop::collection::vec(
                (0_u16..0x4000, prop::collection::vec(any::<u8>(), 0..40)), 0..10),
            kind in any::<u16>(), sequence in any::<u32>(),
        ) {
            let mut body = Vec::new();
            for (kind, value) in &parts {
                attribute(&mut body, *kind, value);
            }
            let mut bytes = NetlinkRequest::one(kind, body.clone()).bytes(sequence);
            bytes.extend(NetlinkRequest::list(kind, body).bytes(sequence.wrapping_add(1)));
            let read: Vec<_> = messages(&bytes).map(Result::unwrap).collect();
            prop_assert_eq!(read.len(), 2);
            for (n, message) in (0..).zip(read) {
                prop_assert_eq!(message.kind, kind);
                prop_assert_eq!(message.sequence, sequence.wrapping_add(n));
                let all: Vec<_> = attributes(message.body).map(Result::unwrap).collect();
                let expected: Vec<_> = parts.iter().map(|(k, v)| (*k, &v[..])).collect();
                prop_assert_eq!(all, expected);
            }
        }
    }
}
