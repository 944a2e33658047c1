//! Connections over TLS without sockets: streams that take and give any number of bytes, and are
//! cut at any place.

use crate::program::TestAuthority;
use cangate_secure::settings::{SecureSettings, load};
use cangate_secure::stream::certificates::{TlsConfig, read_tls};
use cangate_secure::stream::pipe::{EndWriting, PipeEnd, TlsPipe};
use config::{Diagnostics, SourceText};
use proptest::prelude::*;
use std::collections::VecDeque;
use std::io::{self, Read, Write};
use std::path::Path;
use std::sync::{Arc, Mutex, OnceLock};

/// One direction of a stream.
#[derive(Default)]
struct Channel {
    bytes: VecDeque<u8>,
    has_ended: bool,
    /// Bytes that passed.
    passed: usize,
}

/// One end of a stream in memory, which moves a few bytes at a time.
struct MemoryStream {
    from: Arc<Mutex<Channel>>,
    to: Arc<Mutex<Channel>>,
    /// The most bytes that one call moves.
    step: usize,
    /// The most bytes that wait.
    room: usize,
}

impl MemoryStream {
    fn pair(step: usize, room: usize) -> (Self, Self) {
        let [one, other] = [0; 2].map(|_| Arc::new(Mutex::new(Channel::default())));
        let end = |from: &Arc<Mutex<Channel>>, to: &Arc<Mutex<Channel>>| Self {
            from: Arc::clone(from),
            to: Arc::clone(to),
            step,
            room,
        };
        (end(&one, &other), end(&other, &one))
    }

    /// Cuts both directions: what waits is lost.
    fn cut(&self) {
        for channel in [&self.from, &self.to] {
            let mut channel = channel.lock().unwrap();
            channel.bytes.clear();
            channel.has_ended = true;
        }
    }
}

impl Read for MemoryStream {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let mut from = self.from.lock().unwrap();
        let count = buffer.len().min(self.step).min(from.bytes.len());
        if count == 0 && !from.has_ended {
            return Err(io::ErrorKind::WouldBlock.into());
        }
        for (place, byte) in buffer.iter_mut().zip(from.bytes.drain(..count)) {
            *place = byte;
        }
        Ok(count)
    }
}

impl Write for MemoryStream {
    fn write(&mut self, buffer: &[u8]) -> io::Result<usize> {
        let mut to = self.to.lock().unwrap();
        if to.has_ended {
            return Err(io::ErrorKind::BrokenPipe.into());
        }
        let room = self.room.saturating_sub(to.bytes.len());
        let count = buffer.len().min(self.step).min(room);
        if count == 0 {
            return Err(io::ErrorKind::WouldBlock.into());
        }
        to.bytes.extend(&buffer[..count]);
        to.passed += count;
        Ok(count)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl EndWriting for MemoryStream {
    fn end_writing(&mut self) {
        self.to.lock().unwrap().has_ended = true;
    }
}

/// Returns the settings of both sides, made once.
fn configs() -> &'static (TlsConfig, TlsConfig) {
    static CONFIGS: OnceLock<(TlsConfig, TlsConfig)> = OnceLock::new();
    CONFIGS.get_or_init(|| {
        let folder = tempfile::tempdir().unwrap();
        let folder = folder.path();
        let authority = TestAuthority::new(folder, "test");
        authority.sign(folder, "near", false);
        authority.sign(folder, "far", false);
        let text = "[[tcp]]\nname = \"far\"\nlisten = \"127.0.0.1:1\"\ngateway = \"127.0.0.1:2\"\n\
                    authority = \"test-ca.pem\"\ncertificate = \"far.pem\"\nkey = \"far.key\"\n\
                    [[tcp]]\nname = \"near\"\nplain = \"127.0.0.1:3\"\nconnect = \"localhost:1\"\n\
                    authority = \"test-ca.pem\"\ncertificate = \"near.pem\"\nkey = \"near.key\"\n";
        let settings = settings(text);
        let read = |place: usize, folder: &Path| read_tls(&settings.tcp[place], folder).unwrap();
        (read(0, folder), read(1, folder))
    })
}

fn settings(text: &str) -> SecureSettings {
    let source = SourceText::new("secure.toml", text);
    let mut found = Diagnostics::new();
    let settings = load(&source, &mut found);
    settings.unwrap_or_else(|| panic!("{:?}", found.list()))
}

/// Reads all that waits.
fn read_all(stream: &mut MemoryStream, into: &mut Vec<u8>) {
    let mut buffer = [0; 4096];
    while let Ok(count @ 1..) = stream.read(&mut buffer) {
        into.extend_from_slice(&buffer[..count]);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, ..Default::default() })]

    /// The output is the beginning of the input; all of it, if the connection has ended, and
    /// only then. The pipes hold a bounded number of bytes.
    #[test]
    fn bytes_pass_whole_or_the_connection_breaks(
        lengths in (0_usize..200_000, 0_usize..200_000),
        step in 1_usize..20_000,
        room in 100_usize..50_000,
        cut in prop::option::of(1_usize..300_000),
    ) {
        let (server, client) = configs();
        let mut far = TlsPipe::new(server).unwrap();
        let mut near = TlsPipe::new(client).unwrap();
        // Few steps for much data would take long.
        let step = step.max(lengths.0.max(lengths.1) / 200);
        let (mut near_network, mut far_network) = MemoryStream::pair(step, room);
        let (mut near_plain, mut program) = MemoryStream::pair(step, room);
        let (mut far_plain, mut gateway) = MemoryStream::pair(step, room);
        let there: Vec<u8> = (0..lengths.0).map(|n| (n * 7 % 251) as u8).collect();
        let back: Vec<u8> = (0..lengths.1).map(|n| (n * 11 % 241) as u8).collect();
        let (mut sent, mut returned) = (0, 0);
        let (mut at_gateway, mut at_program) = (Vec::new(), Vec::new());
        let (mut near_end, mut far_end) = (None, None);
        let mut is_cut = false;
        for round in 0.. {
            prop_assert!(round < 200_000, "it does not end: {:?} {:?}", near, far);
            for (stream, bytes, count) in
                [(&mut program, &there, &mut sent), (&mut gateway, &back, &mut returned)]
            {
                match stream.write(&bytes[*count..]) {
                    Ok(more) => *count += more,
                    Err(_) if *count == bytes.len() => stream.end_writing(),
                    Err(_) => {}
                }
                if *count == bytes.len() {
                    stream.end_writing();
                }
            }
            if near_end.is_none() {
                near_end = near.transfer(&mut near_network, Some(&mut near_plain));
            }
            if far_end.is_none() {
                let plain = (!far.is_handshaking()).then_some(&mut far_plain);
                far_end = far.transfer(&mut far_network, plain);
            }
            read_all(&mut program, &mut at_program);
            read_all(&mut gateway, &mut at_gateway);
            let passed = near_network.to.lock().unwrap().passed;
            if cut.is_some_and(|cut| passed >= cut) && !is_cut {
                near_network.cut();
                is_cut = true;
            }
            if near_end.is_some() && far_end.is_some() {
                break;
            }
            let (near, far) = (near.bytes(), far.bytes());
            prop_assert!(near.read - near.sent <= 1 << 14);
            prop_assert!(far.received - far.written < (1 << 16) + (1 << 15));
        }
        prop_assert!(there.starts_with(&at_gateway) && back.starts_with(&at_program));
        if far_end == Some(PipeEnd::Ended) {
            prop_assert_eq!(at_gateway.len(), there.len());
        }
        if near_end == Some(PipeEnd::Ended) {
            prop_assert_eq!(at_program.len(), back.len());
        }
        if !is_cut {
            prop_assert_eq!((near_end, far_end), (Some(PipeEnd::Ended), Some(PipeEnd::Ended)));
        }
    }
}
