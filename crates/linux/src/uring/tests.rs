//! Inbox and outbox over a pair of Unix sockets, where this machine has io_uring.

use super::{MOST_A_CHAIN, UringInbox, UringOutbox};
use crate::Errno;
use crate::poll::PollSet;
use proptest::prelude::*;
use std::os::fd::AsFd;
use std::os::unix::net::UnixDatagram;
use std::time::Duration;

fn pair() -> (UnixDatagram, UnixDatagram) {
    let (a, b) = UnixDatagram::pair().unwrap();
    a.set_nonblocking(true).unwrap();
    b.set_nonblocking(true).unwrap();
    (a, b)
}

/// Returns the inbox or outbox, or prints the reason why there is none and ends the test.
macro_rules! open {
    ($opened:expr) => {
        match $opened {
            Ok(opened) => opened,
            Err(why) => {
                eprintln!("SKIPPED because {why}");
                return Ok(());
            }
        }
    };
}

/// More datagrams than fit into a Unix socket's send buffer of 208 KiB (some 700 bytes each).
const MANY: usize = 1_000;

type Tested = Result<(), TestCaseError>;

fn put(outbox: &mut UringOutbox, i: usize, bytes: &[u8]) {
    let (slot, len) = outbox.slot(i).unwrap();
    slot[..bytes.len()].copy_from_slice(bytes);
    *len = bytes.len();
}

fn all(inbox: &UringInbox, n: usize) -> Vec<Vec<u8>> {
    (0..n).map(|i| inbox.get(i).unwrap().0.to_vec()).collect()
}

/// Returns the datagrams that wait at a socket, by recv(2).
fn waiting(socket: &UnixDatagram) -> Vec<Vec<u8>> {
    let mut buffer = [0; 64];
    let one = || {
        let n = socket.recv(&mut buffer).ok()?;
        Some(buffer[..n].to_vec())
    };
    std::iter::from_fn(one).collect()
}

/// Waits as a worker does, and receives.
fn receive(inbox: &mut UringInbox, want: usize) -> Result<usize, Errno> {
    let mut poll = PollSet::with_capacity(1);
    if inbox.is_armed() {
        poll.add_fd(inbox.fd(), true, false);
        poll.wait(Some(Duration::from_secs(10))).unwrap();
    }
    inbox.receive(want)
}

#[test]
fn what_is_sent_is_received() -> Tested {
    let (a, b) = pair();
    let mut outbox = open!(UringOutbox::open(&a, 3, 8));
    let mut inbox = open!(UringInbox::open(&b, 2, 8));
    assert!(!inbox.is_armed());
    assert_eq!(inbox.receive(5), Err(Errno::AGAIN), "nothing is there");
    assert!(inbox.is_armed());
    put(&mut outbox, 0, b"zero");
    put(&mut outbox, 1, b"one");
    put(&mut outbox, 2, b"2");
    assert_eq!(outbox.send(0, 3), Ok(3));
    assert_eq!(outbox.send(0, 1), Ok(1));
    assert_eq!(outbox.send(0, 0), Ok(0));
    assert_eq!(
        receive(&mut inbox, 5),
        Ok(2),
        "as many as there are buffers"
    );
    assert_eq!(all(&inbox, 2), [&b"zero"[..], b"one"]);
    assert!(inbox.get(2).is_none() && inbox.get(usize::MAX).is_none());
    assert!(!inbox.is_local(0), "a Unix socket does not say");
    assert_eq!(receive(&mut inbox, 1), Ok(1));
    assert_eq!(all(&inbox, 1), [b"2"]);
    assert_eq!(receive(&mut inbox, 9), Ok(1));
    assert_eq!(all(&inbox, 1), [b"zero"]);
    assert_eq!(inbox.receive(1), Err(Errno::AGAIN));
    assert!(inbox.get(0).is_none(), "given back");
    Ok(())
}

/// The ring is readable for a datagram that arrives after the wait began or before it.
#[test]
fn the_ring_wakes_up() -> Tested {
    let (a, b) = pair();
    let mut inbox = open!(UringInbox::open(&b, 4, 8));
    assert_eq!(inbox.receive(4), Err(Errno::AGAIN));
    let mut poll = PollSet::with_capacity(1);
    poll.add_fd(inbox.fd(), true, false);
    assert_eq!(poll.wait(Some(Duration::ZERO)).unwrap(), 0);
    let later = std::thread::spawn(move || {
        std::thread::sleep(Duration::from_millis(20));
        a.send(b"late").unwrap();
        a
    });
    assert_eq!(poll.wait(Some(Duration::from_secs(10))).unwrap(), 1);
    assert_eq!(inbox.receive(4), Ok(1));
    let a = later.join().unwrap();
    a.send(b"next").unwrap();
    assert_eq!(receive(&mut inbox, 4), Ok(1));
    assert_eq!(all(&inbox, 1), [b"next"]);
    Ok(())
}

/// A datagram that does not fit into the interface's queue stays where it is, and none behind it is
/// sent.
#[test]
fn a_chain_ends_where_there_is_no_room() -> Tested {
    let (a, b) = pair();
    let mut outbox = open!(UringOutbox::open(&a, MANY, 4));
    for i in 0..MANY {
        put(&mut outbox, i, &(i as u32).to_ne_bytes());
    }
    let (mut sent, mut stalls, mut got) = (0, 0, Vec::new());
    while sent < MANY {
        match outbox.send(sent, MANY - sent) {
            Ok(n) => {
                assert!((1..=MOST_A_CHAIN).contains(&n));
                sent += n;
            }
            Err(errno) => {
                assert_eq!(errno, Errno::AGAIN, "a full Unix socket");
                stalls += 1;
                got.extend(waiting(&b));
            }
        }
    }
    got.extend(waiting(&b));
    assert!(stalls > 0, "a Unix socket has room for less than that");
    let expected: Vec<Vec<u8>> = (0..MANY as u32).map(|i| i.to_ne_bytes().to_vec()).collect();
    assert_eq!(got, expected);
    Ok(())
}

#[test]
fn what_the_system_states_is_handed_on() -> Tested {
    let (a, b) = pair();
    let mut outbox = open!(UringOutbox::open(&a, 2, 4));
    let mut inbox = open!(UringInbox::open(&b, 2, 4));
    a.send(b"long one").unwrap();
    assert_eq!(receive(&mut inbox, 1), Ok(1));
    assert_eq!(all(&inbox, 1), [b"long"], "cut off");
    b.shutdown(std::net::Shutdown::Both).unwrap();
    put(&mut outbox, 0, b"x");
    assert_eq!(outbox.send(0, 1), Err(Errno::PIPE));
    assert_eq!(outbox.send(0, 2), Err(Errno::PIPE));
    assert_eq!(outbox.send(2, 1), Ok(0), "beyond the last slot");
    assert!(outbox.slot(2).is_none() && outbox.slot(usize::MAX).is_none());
    Ok(())
}

/// When all buffers are in use, the request ends and nothing is lost; neither when the inbox goes
/// to another thread while the kernel receives for the first one, nor when that thread has ended.
#[test]
fn the_thread_can_change() -> Tested {
    let (a, b) = pair();
    let mut inbox = open!(UringInbox::open(&b, 2, 4));
    let first = std::thread::spawn(move || {
        assert_eq!(inbox.receive(1), Err(Errno::AGAIN));
        inbox
    });
    let mut inbox = first.join().unwrap();
    let mut got = Vec::new();
    for i in 0..9u32 {
        a.send(&i.to_ne_bytes()).unwrap();
    }
    while got.len() < 9 {
        // The kernel cancels the first thread's request when the first datagram comes.
        if let Ok(n) = receive(&mut inbox, 2) {
            got.extend(all(&inbox, n));
        }
    }
    let expected: Vec<Vec<u8>> = (0..9u32).map(|i| i.to_ne_bytes().to_vec()).collect();
    assert_eq!(got, expected);
    assert!(inbox.starved() > 0);
    // Dropped by a thread that did not make the request.
    let _ = inbox.receive(1);
    std::thread::spawn(move || drop(inbox)).join().unwrap();
    a.send(b"more").unwrap();
    assert_eq!(
        waiting(&b),
        [b"more"],
        "no thread receives for the box any more"
    );
    Ok(())
}

proptest! {
    /// In any sequence of sending, receiving and waiting: each datagram once, in order.
    #[test]
    fn each_once_and_in_order(
        buffers in 1usize..9, steps in prop::collection::vec((any::<bool>(), 1usize..12), 1..60),
    ) {
        let (a, b) = pair();
        let mut outbox = open!(UringOutbox::open(a.as_fd(), 16, 4));
        let mut inbox = open!(UringInbox::open(b.as_fd(), buffers, 4));
        let (mut sent, mut got) = (0u32, Vec::new());
        let mut take = |inbox: &mut UringInbox, want| -> bool {
            let n = inbox.receive(want).unwrap_or(0);
            got.extend(all(inbox, n));
            n > 0
        };
        for (send, n) in steps {
            if send {
                for i in 0..n {
                    put(&mut outbox, i, &(sent + i as u32).to_ne_bytes());
                }
                sent += outbox.send(0, n).unwrap_or(0) as u32;
            } else {
                take(&mut inbox, n);
            }
        }
        // The first call may only begin to receive.
        take(&mut inbox, 16);
        while take(&mut inbox, 16) {}
        let expected: Vec<Vec<u8>> = (0..sent).map(|i| i.to_ne_bytes().to_vec()).collect();
        prop_assert_eq!(got, expected);
    }
}

/// A socket that only the ring has is closed with it, so that it receives nothing any more.
#[test]
fn nothing_is_left_behind() -> Tested {
    for armed in [false, true] {
        let (a, b) = pair();
        let mut inbox = open!(UringInbox::open(&b, 4, 8));
        if armed {
            assert_eq!(inbox.receive(4), Err(Errno::AGAIN));
        }
        drop(b);
        a.send(b"x").unwrap();
        drop(inbox);
        assert!(a.send(b"y").is_err(), "armed: {armed}");
    }
    Ok(())
}
