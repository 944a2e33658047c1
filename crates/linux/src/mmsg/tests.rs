//! Inbox and outbox over a pair of Unix sockets.

use super::{MmsgInbox, MmsgOutbox};
use rustix::io::Errno;
use std::os::unix::net::UnixDatagram;

fn pair() -> (UnixDatagram, UnixDatagram) {
    let (a, b) = UnixDatagram::pair().unwrap();
    a.set_nonblocking(true).unwrap();
    b.set_nonblocking(true).unwrap();
    (a, b)
}

fn put(outbox: &mut MmsgOutbox, i: usize, bytes: &[u8]) {
    let (slot, len) = outbox.slot(i).unwrap();
    slot[..bytes.len()].copy_from_slice(bytes);
    *len = bytes.len();
}

fn all(inbox: &MmsgInbox, n: usize) -> Vec<Vec<u8>> {
    (0..n).map(|i| inbox.get(i).unwrap().0.to_vec()).collect()
}

#[test]
fn slots_go_out_and_come_in_as_they_were() {
    let (a, b) = pair();
    let (mut outbox, mut inbox) = (MmsgOutbox::new(3, 4), MmsgInbox::new(2, 4));
    put(&mut outbox, 0, b"zero");
    put(&mut outbox, 1, b"one");
    put(&mut outbox, 2, b"2");
    assert_eq!(outbox.send(&a, 1, 2), Ok(2));
    assert_eq!(outbox.write_one(&a, 0), Ok(1));
    assert_eq!(inbox.receive(&b, 100), Ok(2), "as many as there are slots");
    assert_eq!(all(&inbox, 2), [&b"one"[..], b"2"]);
    assert!(inbox.get(2).is_none() && inbox.get(usize::MAX).is_none());
    assert_eq!(inbox.receive(&b, 2), Ok(1));
    assert_eq!(all(&inbox, 1), [b"zero"]);
    assert!(inbox.get(1).is_none(), "of the call before");
    assert_eq!(inbox.receive(&b, 2), Err(Errno::AGAIN));
    assert!(inbox.get(0).is_none());
}

/// Slots beyond the last one are left out, and a wrong length reads no bytes of another slot.
#[test]
fn nothing_beyond_the_last_slot() {
    let (a, b) = pair();
    let (mut outbox, mut inbox) = (MmsgOutbox::new(2, 4), MmsgInbox::new(4, 8));
    put(&mut outbox, 0, b"aaaa");
    put(&mut outbox, 1, b"bbbb");
    *outbox.slot(1).unwrap().1 = 100;
    assert!(outbox.slot(2).is_none() && outbox.slot(usize::MAX).is_none());
    assert_eq!(outbox.send(&a, 1, 100), Ok(1));
    assert_eq!(outbox.send(&a, 2, 1), Ok(0));
    assert_eq!(outbox.write_one(&a, 1), Err(Errno::INVAL));
    assert_eq!(outbox.write_one(&a, 2), Err(Errno::INVAL));
    assert_eq!(inbox.receive(&b, 4), Ok(1));
    assert_eq!(all(&inbox, 1), [b"bbbb"]);
}

#[test]
fn a_datagram_that_is_too_long_is_cut_off() {
    let (a, b) = pair();
    let mut inbox = MmsgInbox::new(1, 4);
    a.send(b"long one").unwrap();
    assert_eq!(inbox.receive(&b, 1), Ok(1));
    assert_eq!(all(&inbox, 1), [b"long"]);
}
