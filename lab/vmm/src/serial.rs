//! Serial ports: the console, into a file, and the line to the agent, on a socket.

use crate::error::{VmmError, file, system};
use linux::PollSet;
use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::AsRawFd;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use vm_superio::serial::{NoEvents, SerialEvents};
use vm_superio::{Serial, Trigger};
use vmm_sys_util::eventfd::{EFD_NONBLOCK, EventFd};

/// The number of ports of a serial port, and the addresses of the first two.
pub(crate) const PORTS: u16 = 8;
pub(crate) const FIRST: u16 = 0x3F8;
pub(crate) const SECOND: u16 = 0x2F8;
/// Their interrupts.
pub(crate) const FIRST_LINE: u32 = 4;
pub(crate) const SECOND_LINE: u32 = 3;

/// The most bytes that the machine can send to its agent's line before there is a listener; later
/// ones are lost.
pub(crate) const EARLY: usize = 1 << 16;

/// An interrupt by an event descriptor.
pub(crate) struct EventLine(EventFd);

impl EventLine {
    pub(crate) fn new(event: &EventFd) -> Result<Self, VmmError> {
        let event = event.try_clone().map_err(system("copy a descriptor"))?;
        Ok(Self(event))
    }
}

impl Trigger for EventLine {
    type E = io::Error;

    fn trigger(&self) -> io::Result<()> {
        self.0.write(1)
    }
}

/// The console.
pub(crate) type Console = Serial<EventLine, NoEvents, File>;

/// Returns a console whose output goes to this file.
pub(crate) fn console(path: &Path, line: EventLine) -> Result<Console, VmmError> {
    let output = File::create(path).map_err(file("make", path))?;
    Ok(Serial::new(line, output))
}

/// The event that the machine has read all bytes that were queued.
pub(crate) struct EmptyNotice(EventFd);

impl SerialEvents for EmptyNotice {
    fn buffer_read(&self) {}
    fn out_byte(&self) {}
    fn tx_lost_byte(&self) {}
    fn in_buffer_empty(&self) {
        // A full counter signals the event, too.
        let _ = self.0.write(1);
    }
}

/// The machine's output, and the listener that receives it.
#[derive(Default)]
struct SerialOutput {
    stream: Option<UnixStream>,
    early: Vec<u8>,
}

/// The output of the agent's line.
#[derive(Clone, Default)]
pub(crate) struct AgentOutput(Arc<Mutex<SerialOutput>>);

impl AgentOutput {
    fn lock(&self) -> MutexGuard<'_, SerialOutput> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Sends all output to this listener from now on.
    fn begin(&self, mut stream: UnixStream) -> io::Result<()> {
        let mut listening = self.lock();
        let early = std::mem::take(&mut listening.early);
        stream.write_all(&early)?;
        listening.stream = Some(stream);
        Ok(())
    }

    fn end(&self) {
        self.lock().stream = None;
    }

    /// Returns the output from before there was a listener.
    #[cfg(feature = "model")]
    pub(crate) fn early(&self) -> Vec<u8> {
        self.lock().early.clone()
    }
}

impl Write for AgentOutput {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let mut listening = self.lock();
        if let Some(stream) = &mut listening.stream {
            return stream.write(bytes);
        }
        let room = EARLY.saturating_sub(listening.early.len());
        let taken = bytes.get(..bytes.len().min(room)).unwrap_or_default();
        listening.early.extend(taken);
        // A serial line that is not connected at its other end loses its output.
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

type Agents = Serial<EventLine, EmptyNotice, AgentOutput>;

/// The line to the agent.
#[derive(Clone)]
pub(crate) struct AgentLine(Arc<Mutex<Agents>>);

impl AgentLine {
    /// Creates a line whose other end is the process that connects to this socket. Also returns the
    /// function that a thread must run to serve it.
    pub(crate) fn new(
        path: &Path,
        line: EventLine,
    ) -> Result<(Self, impl FnOnce() -> VmmError + Send + use<>), VmmError> {
        let listener = UnixListener::bind(path).map_err(file("listen at", path))?;
        let (agent, out, empty) = Self::unheard(line)?;
        let feed = agent.clone();
        let path = path.to_path_buf();
        let serve = move || {
            loop {
                let served = listener
                    .accept()
                    .and_then(|(stream, _)| feed.serve(stream, &out, &empty));
                out.end();
                // A process that closes the socket may connect again.
                if let Err(error) = served {
                    return file("serve", &path)(error);
                }
            }
        };
        Ok((agent, serve))
    }

    /// Creates a line that is not connected at its other end: the machine's output waits in the
    /// second value, and the third is written when the machine has read all bytes that were queued.
    pub(crate) fn unheard(line: EventLine) -> Result<(Self, AgentOutput, EventFd), VmmError> {
        let empty = EventFd::new(EFD_NONBLOCK).map_err(system("make an event descriptor"))?;
        let out = AgentOutput::default();
        let events = EmptyNotice(empty.try_clone().map_err(system("copy a descriptor"))?);
        let serial = Serial::with_events(line, events, out.clone());
        Ok((Self(Arc::new(Mutex::new(serial))), out, empty))
    }

    pub(crate) fn lock(&self) -> MutexGuard<'_, Agents> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Passes the stream's bytes on to the machine, until the stream's end.
    fn serve(&self, mut stream: UnixStream, out: &AgentOutput, empty: &EventFd) -> io::Result<()> {
        out.begin(stream.try_clone()?)?;
        let mut bytes = [0; 4096];
        loop {
            let count = match stream.read(&mut bytes) {
                Ok(0) => return Ok(()),
                Ok(count) => count,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) if error.kind() == io::ErrorKind::ConnectionReset => return Ok(()),
                Err(error) => return Err(error),
            };
            let mut rest = bytes.get(..count).unwrap_or_default();
            while !rest.is_empty() {
                rest = self.feed(rest, empty)?;
            }
        }
    }

    /// Passes on as many bytes as there is space for, and waits for space first; returns the rest.
    fn feed<'a>(&self, bytes: &'a [u8], empty: &EventFd) -> io::Result<&'a [u8]> {
        let given = self.offer(bytes)?;
        if given == 0 {
            let mut poll = PollSet::with_capacity(1);
            poll.add_fd(empty.as_raw_fd(), true, false);
            poll.wait(None)?;
            let _ = empty.read();
        }
        Ok(bytes.get(given..).unwrap_or_default())
    }

    /// Passes on as many bytes as there is space for, without waiting; returns their number.
    pub(crate) fn offer(&self, bytes: &[u8]) -> io::Result<usize> {
        let mut serial = self.lock();
        let now = bytes.get(..serial.fifo_capacity().min(bytes.len()));
        let Some(now) = now.filter(|now| !now.is_empty()) else {
            return Ok(0);
        };
        // A line in loopback mode takes nothing; its driver is still probing it.
        let given = serial.enqueue_raw_bytes(now);
        given.map_err(|error| io::Error::other(format!("{error:?}")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line() -> EventLine {
        EventLine(EventFd::new(EFD_NONBLOCK).unwrap())
    }

    #[test]
    fn what_the_agent_states_early_is_heard_later() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("agent");
        let (agent, serve) = AgentLine::new(&path, line()).unwrap();
        for byte in b"early" {
            agent.lock().write(0, *byte).unwrap();
        }
        std::thread::spawn(serve);
        let mut stream = UnixStream::connect(&path).unwrap();
        let mut heard = [0; 5];
        stream.read_exact(&mut heard).unwrap();
        assert_eq!(&heard, b"early");
        agent.lock().write(0, b'!').unwrap();
        stream.read_exact(&mut heard[..1]).unwrap();
        assert_eq!(heard[0], b'!');
    }

    #[test]
    fn more_than_the_line_holds_arrives_in_order() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("agent");
        let (agent, serve) = AgentLine::new(&path, line()).unwrap();
        std::thread::spawn(serve);
        let sent: Vec<u8> = (0..1000_u32).map(|n| n as u8).collect();
        UnixStream::connect(&path)
            .unwrap()
            .write_all(&sent)
            .unwrap();
        let mut read = Vec::new();
        while read.len() < sent.len() {
            // Line status: is there a byte?
            let mut serial = agent.lock();
            if serial.read(5) & 1 != 0 {
                read.push(serial.read(0));
            }
            drop(serial);
            std::thread::yield_now();
        }
        assert_eq!(read, sent);
    }
}
