//! Serves metrics by HTTP/1.1: `GET /metrics`, one client after the other.

use super::text::{Form, render};
use crate::control::{self, Request};
use crate::stats::Stats;
use rustix::event::{PollFd, PollFlags, poll};
use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// How long one client may take, from its connection to the end of the answer.
const PATIENCE: Duration = Duration::from_secs(2);

/// Bytes of a request: its first line and its headers.
const LONGEST: usize = 8192;

/// Headers of a request.
const MOST_HEADERS: usize = 64;

/// The metrics cannot be served.
#[derive(thiserror::Error, Debug)]
#[error(
    "cannot serve metrics at {address} ({source}): is another gateway there, or another program?"
)]
pub struct MetricsError {
    /// Where.
    pub address: SocketAddr,
    /// What the operating system said.
    pub source: io::Error,
}

/// A thread that serves the metrics of a gateway until it is dropped.
#[derive(Debug)]
pub struct Metrics {
    address: SocketAddr,
    /// The thread ends when its other end hears that this one is closed.
    alive: Option<UnixStream>,
    thread: Option<JoinHandle<()>>,
}

impl Metrics {
    /// Listens at `address` for clients, and asks the gateway at the control socket `control`. `version` is the
    /// program's.
    ///
    /// # Errors
    /// [`MetricsError`].
    pub fn start(
        address: SocketAddr,
        control: PathBuf,
        version: &'static str,
    ) -> Result<Self, MetricsError> {
        let fails = |source| MetricsError { address, source };
        let listener = TcpListener::bind(address).map_err(fails)?;
        let bound = listener.local_addr().map_err(fails)?;
        listener.set_nonblocking(true).map_err(fails)?;
        let (alive, ends) = UnixStream::pair().map_err(fails)?;
        let thread = std::thread::Builder::new()
            .name("cangate metrics".into())
            .spawn(move || serve(&listener, &ends, &control, version))
            .map_err(fails)?;
        Ok(Self {
            address: bound,
            alive: Some(alive),
            thread: Some(thread),
        })
    }

    /// Where it listens.
    #[must_use]
    pub const fn address(&self) -> SocketAddr {
        self.address
    }
}

impl Drop for Metrics {
    fn drop(&mut self) {
        self.alive = None;
        if let Some(thread) = self.thread.take() {
            // A panic there was printed; the gateway's own end goes on.
            let _ = thread.join();
        }
    }
}

fn serve(listener: &TcpListener, ends: &UnixStream, control: &Path, version: &str) {
    loop {
        let mut fds = [
            PollFd::new(ends, PollFlags::IN),
            PollFd::new(listener, PollFlags::IN),
        ];
        if poll(&mut fds, None).is_err() {
            std::thread::sleep(Duration::from_millis(100));
        }
        let [end, client] = fds.map(|fd| !fd.revents().is_empty());
        if end {
            return;
        }
        if !client {
            continue;
        }
        match listener.accept() {
            // A client that goes away has no use for an error.
            Ok((stream, _)) => drop(answer(&stream, control, version)),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
            // Too many open files: the client waits meanwhile.
            Err(_) => std::thread::sleep(Duration::from_millis(100)),
        }
    }
}

/// What is answered: the status line's end, the media type, the text.
struct Answer(&'static str, &'static str, String);

fn words(status: &'static str, text: impl Into<String>) -> Answer {
    Answer(status, "text/plain; charset=utf-8", text.into())
}

fn answer(mut stream: &TcpStream, control: &Path, version: &str) -> io::Result<()> {
    let end = Instant::now() + PATIENCE;
    stream.set_nonblocking(false)?;
    let mut bytes = Vec::new();
    let mut body = true;
    let Answer(status, media_type, text) = loop {
        match parse(&bytes) {
            Ok(None) => {}
            Ok(Some(asked)) => {
                body = asked.body;
                break asked.answer(control, version);
            }
            Err(why) => break why,
        }
        let left = end.saturating_duration_since(Instant::now());
        if left.is_zero() {
            break words("408 Request Timeout", "the request took too long\n");
        }
        stream.set_read_timeout(Some(left))?;
        let mut piece = [0; 1024];
        match stream.read(&mut piece) {
            Ok(0) => return Ok(()),
            Ok(n) => bytes.extend_from_slice(piece.get(..n).unwrap_or_default()),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
            Err(error) => return Err(error),
        }
    };
    let left = end.saturating_duration_since(Instant::now());
    stream.set_write_timeout(Some(left.max(Duration::from_millis(100))))?;
    let head = format!(
        "HTTP/1.1 {status}\r\nContent-Type: {media_type}\r\nContent-Length: {}\r\nConnection: close\r\n\r\n",
        text.len()
    );
    stream.write_all(head.as_bytes())?;
    if body {
        stream.write_all(text.as_bytes())?;
    }
    Ok(())
}

/// A request that this answers.
#[derive(PartialEq, Eq, Debug)]
struct Asked {
    form: Form,
    /// `GET`, and not `HEAD`.
    body: bool,
}

impl Asked {
    fn answer(&self, control: &Path, version: &str) -> Answer {
        let stats = control::request(control, Request::Stats, PATIENCE)
            .map_err(|error| error.to_string())
            .and_then(|reply| {
                serde_json::from_value::<Stats>(reply).map_err(|error| error.to_string())
            });
        match stats {
            Ok(stats) => {
                let text = render(&stats, version, self.form);
                Answer("200 OK", self.form.media_type(), text)
            }
            Err(why) => words("503 Service Unavailable", format!("{why}\n")),
        }
    }
}

/// What a client asks for; `None`: it has not said all of it.
fn parse(bytes: &[u8]) -> Result<Option<Asked>, Answer> {
    let mut headers = [httparse::EMPTY_HEADER; MOST_HEADERS];
    let mut request = httparse::Request::new(&mut headers);
    match request.parse(bytes) {
        Ok(httparse::Status::Complete(_)) => {}
        Ok(httparse::Status::Partial) if bytes.len() < LONGEST => return Ok(None),
        Ok(httparse::Status::Partial) => {
            return Err(words(
                "431 Request Header Fields Too Large",
                "too many headers\n",
            ));
        }
        Err(why) => {
            return Err(words(
                "400 Bad Request",
                format!("this is no HTTP: {why}\n"),
            ));
        }
    }
    let body = match request.method {
        Some("GET") => true,
        Some("HEAD") => false,
        _ => {
            return Err(words(
                "405 Method Not Allowed",
                "metrics can be read only: GET /metrics\n",
            ));
        }
    };
    let path = request.path.unwrap_or_default();
    let path = path.split_once('?').map_or(path, |(path, _)| path);
    if path != "/metrics" {
        return Err(words("404 Not Found", "the metrics are at /metrics\n"));
    }
    let accepts = request.headers.iter().any(|header| {
        header.name.eq_ignore_ascii_case("accept")
            && std::str::from_utf8(header.value)
                .is_ok_and(|value| value.contains("application/openmetrics-text"))
    });
    let form = if accepts {
        Form::OpenMetrics
    } else {
        Form::Prometheus
    };
    Ok(Some(Asked { form, body }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn status(bytes: &[u8]) -> Option<&'static str> {
        parse(bytes).err().map(|Answer(status, ..)| status)
    }

    #[test]
    fn requests_are_told_apart() {
        let get = b"GET /metrics HTTP/1.1\r\nHost: a\r\n\r\n";
        let asked = |form, body| Some(Asked { form, body });
        assert_eq!(parse(get).ok(), Some(asked(Form::Prometheus, true)));
        assert_eq!(parse(&get[..20]).ok(), Some(None));
        let open = b"GET /metrics?x=1 HTTP/1.1\r\naccept: text/html, application/openmetrics-text;version=1.0.0\r\n\r\n";
        assert_eq!(parse(open).ok(), Some(asked(Form::OpenMetrics, true)));
        let head = b"HEAD /metrics HTTP/1.0\r\n\r\n";
        assert_eq!(parse(head).ok(), Some(asked(Form::Prometheus, false)));
        assert_eq!(status(b"GET / HTTP/1.1\r\n\r\n"), Some("404 Not Found"));
        assert_eq!(
            status(b"POST /metrics HTTP/1.1\r\n\r\n"),
            Some("405 Method Not Allowed")
        );
        assert_eq!(status(b"\x16\x03\x01\x00"), Some("400 Bad Request"));
        let long = [b"GET /metrics HTTP/1.1\r\nX: ".as_slice(), &[b'a'; LONGEST]].concat();
        assert_eq!(status(&long), Some("431 Request Header Fields Too Large"));
    }

    proptest! {
        #[test]
        fn any_bytes_get_an_answer_or_are_waited_for(bytes in proptest::collection::vec(any::<u8>(), 0..300)) {
            let _ = parse(&bytes);
        }
    }
}
