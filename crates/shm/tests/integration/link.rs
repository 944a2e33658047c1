//! A server and its peers, in one process.

use frame::{CanId, Frame};
use linux::listener::ListenError;
use linux::shared::SharedMapping;
use shm::layout::LEAST;
use shm::link::{LinkError, ServeError, ServerEvent, ShmClient, ShmServer};
use shm::{PeerLink, ShmRings, ShmSide};
use std::io::Write as _;
use std::os::fd::{AsFd as _, AsRawFd as _};
use std::os::unix::net::UnixListener;
use std::path::Path;

fn client(server: &mut ShmServer, path: &Path) -> (ShmClient, Vec<ServerEvent>) {
    let mut client = ShmClient::connect(path).unwrap();
    let happened = server.work();
    client.work().unwrap();
    (client, happened)
}

fn rings(client: &ShmClient, life: u32) -> ShmRings<SharedMapping> {
    let (side, memory) = client.ready().unwrap();
    ShmRings::new(SharedMapping::map(memory).unwrap(), side, life, 0).unwrap()
}

/// Returns whether it was rung, and resets it.
fn rung(client: &mut ShmClient) -> bool {
    let mut poll = linux::PollSet::default();
    poll.add_fd(client.as_fd().as_raw_fd(), true, false);
    let rung = poll.wait(Some(std::time::Duration::ZERO)).unwrap() > 0;
    client.work().unwrap();
    rung
}

#[test]
fn two_peers_share_a_memory() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("link");
    let mut server = ShmServer::bind(&path, LEAST).unwrap();
    let (mut one, happened) = client(&mut server, &path);
    assert_eq!(happened, [ServerEvent::Came(0)]);
    assert!(!one.other_is_there());
    let (mut two, happened) = client(&mut server, &path);
    assert_eq!(happened, [ServerEvent::Came(1)]);
    one.work().unwrap();
    assert!(one.other_is_there() && two.other_is_there());

    let (mut a, mut b) = (rings(&one, 1), rings(&two, 2));
    a.watch_peer(0);
    b.watch_peer(0);
    assert_eq!((a.side(), b.side()), (ShmSide::First, ShmSide::Second));
    assert!(!b.arm(false).frames);
    let frame = Frame::classic(CanId::sff(5).unwrap(), &[1, 2]).unwrap();
    a.send(&frame.view()).unwrap();
    assert_eq!(a.publish(), (1, true));
    one.ring();
    assert!(rung(&mut two));
    assert!(!rung(&mut two), "the bell was heard");
    let mut got = Vec::new();
    b.receive(9, &mut |frame| got.push(frame));
    assert_eq!(got, [frame]);

    let mut three = ShmClient::connect(&path).unwrap();
    assert_eq!(server.work(), [ServerEvent::Refused]);
    assert_eq!(three.work(), Err(LinkError::Ended));
    assert!(three.ready().is_none());
}

#[test]
fn a_peer_goes_and_another_one_comes() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("link");
    let mut server = ShmServer::bind(&path, LEAST).unwrap();
    let (one, _) = client(&mut server, &path);
    let (mut two, _) = client(&mut server, &path);
    let mut b = rings(&two, 1);
    drop(one);
    assert_eq!(server.work(), [ServerEvent::Went(0)]);
    two.work().unwrap();
    assert!(!two.other_is_there());
    two.ring();
    let (one, happened) = client(&mut server, &path);
    assert_eq!(happened, [ServerEvent::Came(0)], "it gets the free number");
    two.work().unwrap();
    assert!(two.other_is_there());
    let mut a = rings(&one, 2);
    a.watch_peer(0);
    b.watch_peer(0);
    assert_eq!((a.link(), b.link()), (PeerLink::Up, PeerLink::Up));
    // The memory outlives the server.
    drop(server);
    assert_eq!(two.work(), Err(LinkError::Ended));
    assert!(!rung(&mut two), "it is said once");
    assert!(!path.exists());
    let frame = Frame::remote(CanId::sff(5).unwrap(), 2).unwrap();
    b.send(&frame.view()).unwrap();
    b.publish();
    let mut got = Vec::new();
    a.receive(9, &mut |frame| got.push(frame));
    assert_eq!(got, [frame]);
}

#[test]
fn what_is_no_server_is_reported() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("link");
    for (numbers, error) in [
        (vec![1], LinkError::Said(1)),
        (vec![0, 2], LinkError::Number(2)),
        (vec![0, -1], LinkError::Number(-1)),
        (vec![0, 1, 5], LinkError::Said(5)),
        (vec![0, 1, -1], LinkError::Missing(-1)),
    ] {
        let listener = UnixListener::bind(&path).unwrap();
        let mut client = ShmClient::connect(&path).unwrap();
        let (mut stream, _) = listener.accept().unwrap();
        // In two pieces.
        let bytes: Vec<u8> = numbers.iter().copied().flat_map(i64::to_le_bytes).collect();
        stream.write_all(&bytes[..5]).unwrap();
        assert_eq!(client.work(), Ok(()));
        stream.write_all(&bytes[5..]).unwrap();
        let heard = (0..3).map(|_| client.work()).find(Result::is_err);
        assert_eq!(heard, Some(Err(error)));
        assert!(client.ready().is_none());
        drop(listener);
        std::fs::remove_file(&path).unwrap();
    }
    assert!(ShmClient::connect(&path).is_err());
}

#[test]
fn what_cannot_be_served_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("link");
    for size in [0, LEAST - 8, LEAST / 2, LEAST + 8] {
        let error = ShmServer::bind(&path, size).err().unwrap();
        assert!(matches!(error, ServeError::Size(_)), "{error}");
    }
    let _server = ShmServer::bind(&path, 2 * LEAST).unwrap();
    let error = ShmServer::bind(&path, LEAST).err().unwrap();
    assert!(
        matches!(error, ServeError::Listen(ListenError::Taken(_))),
        "{error}"
    );
}
