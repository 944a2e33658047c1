//! Serves metrics by HTTP/1.1: `GET /metrics`, on one thread that waits for no single client.

use super::text::{TextForm, render_with};
use crate::control::{self, ControlRequest};
use crate::stats::GatewayStats;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// Time that one client may take, from its connection to the end of the answer.
const CLIENT_TIMEOUT: Duration = Duration::from_secs(2);

/// Maximum number of simultaneous clients. One more replaces the client that has been connected
/// longest: a client that sends its request and reads the answer is gone within milliseconds, so
/// the oldest one is slow, and a scrape need not wait for it.
const MAX_CLIENTS: usize = 64;

/// Maximum number of bytes in one read or write.
const PIECE: usize = 4096;

/// Maximum length of a request in bytes: its first line and its headers.
const LONGEST: usize = 8192;

/// Maximum number of headers in a request.
const MAX_HEADERS: usize = 64;

/// The error that the metrics cannot be served.
#[derive(thiserror::Error, Debug)]
#[error("cannot serve metrics at {address} ({source}): does another gateway or program use it?")]
pub struct MetricsError {
    /// The address to listen at.
    pub address: SocketAddr,
    /// The operating system's error.
    pub source: io::Error,
}

/// A thread that serves the metrics of a gateway until it is dropped.
#[derive(Debug)]
pub struct MetricsServer {
    address: SocketAddr,
    /// Its closing ends the thread, which waits on the other end.
    alive: Option<UnixStream>,
    thread: Option<JoinHandle<()>>,
}

impl MetricsServer {
    /// Listens at `address` for clients, and asks the gateway at the control socket `control`.
    /// `version` is the program's.
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

    /// Returns the address at which the server listens.
    #[must_use]
    pub const fn address(&self) -> SocketAddr {
        self.address
    }
}

impl Drop for MetricsServer {
    fn drop(&mut self) {
        self.alive = None;
        if let Some(thread) = self.thread.take() {
            // A panic of that thread has been printed; the gateway's own shutdown goes on.
            let _ = thread.join();
        }
    }
}

/// The connected clients, the oldest first.
struct HttpClients<'a> {
    control: &'a Path,
    version: &'a str,
    all: Vec<HttpClient>,
    /// Number of clients that were disconnected because they took too long.
    slow: u64,
}

fn serve(listener: &TcpListener, ends: &UnixStream, control: &Path, version: &str) {
    let mut clients = HttpClients {
        control,
        version,
        all: Vec::new(),
        slow: 0,
    };
    loop {
        let (ended, comes, ready) = {
            let mut fds = vec![
                PollFd::new(ends, PollFlags::IN),
                PollFd::new(listener, PollFlags::IN),
            ];
            fds.extend(clients.all.iter().map(|client| {
                let flags = match client.turn {
                    HttpTurn::Asks(_) => PollFlags::IN,
                    HttpTurn::IsAnswered { .. } => PollFlags::OUT,
                };
                PollFd::new(&client.stream, flags)
            }));
            if poll(&mut fds, clients.timeout(Instant::now()).as_ref()).is_err() {
                std::thread::sleep(Duration::from_millis(100));
            }
            let mut ready = fds.iter().map(|fd| !fd.revents().is_empty());
            let ended = ready.next() == Some(true);
            let comes = ready.next() == Some(true);
            (ended, comes, ready.collect::<Vec<bool>>())
        };
        if ended {
            return;
        }
        clients.serve(&ready);
        clients.send_away_late(Instant::now());
        if !comes {
            continue;
        }
        match listener.accept() {
            Ok((stream, _)) => clients.add(stream),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
            // Too many open files: the client waits meanwhile.
            Err(_) => std::thread::sleep(Duration::from_millis(100)),
        }
    }
}

impl HttpClients<'_> {
    /// Returns the time until the first of them has taken too long.
    fn timeout(&self, now: Instant) -> Option<Timespec> {
        let end = self.all.first()?.end;
        let left = end.saturating_duration_since(now);
        // Rounded up: a timeout that is short by a part of a millisecond would end too early.
        Timespec::try_from(left + Duration::from_millis(1)).ok()
    }

    fn add(&mut self, stream: TcpStream) {
        // A client that disconnects at once cannot receive an error.
        if stream.set_nonblocking(true).is_err() {
            return;
        }
        if self.all.len() >= MAX_CLIENTS {
            drop(self.all.remove(0));
            self.slow += 1;
        }
        self.all.push(HttpClient {
            stream,
            end: Instant::now() + CLIENT_TIMEOUT,
            turn: HttpTurn::Asks(Vec::new()),
        });
    }

    fn serve(&mut self, ready: &[bool]) {
        let mut place = 0;
        let (control, version, slow) = (self.control, self.version, self.slow);
        self.all.retain_mut(|client| {
            place += 1;
            if ready.get(place - 1) != Some(&true) {
                return true;
            }
            let answer = |asked: &HttpRequest| asked.answer(control, version, slow);
            matches!(client.go_on(&answer), Ok(ClientFate::On))
        });
    }

    fn send_away_late(&mut self, now: Instant) {
        let before = self.all.len();
        self.all.retain_mut(|client| {
            let late = now >= client.end;
            if late && matches!(client.turn, HttpTurn::Asks(_)) {
                let why = words("408 Request Timeout", "the request took too long\n");
                client.turn = HttpTurn::answered(&why, true);
                // Writes as much as the client takes now.
                let _ = client.write();
            }
            !late
        });
        self.slow += (before - self.all.len()) as u64;
    }
}

/// A connection.
struct HttpClient {
    stream: TcpStream,
    /// The deadline for the client, counted from its connection.
    end: Instant,
    turn: HttpTurn,
}

/// The side that must send next.
enum HttpTurn {
    /// The client sends its request; these bytes of it have arrived.
    Asks(Vec<u8>),
    /// The server sends these bytes; the client has taken `done` of them.
    IsAnswered { bytes: Vec<u8>, done: usize },
}

/// Whether the client is served further.
enum ClientFate {
    On,
    Away,
}

impl HttpTurn {
    fn answered(answer: &HttpAnswer, body: bool) -> Self {
        let HttpAnswer(status, media_type, text) = answer;
        let head = format!(
            "HTTP/1.1 {status}\r\nContent-Type: {media_type}\r\nContent-Length: {}\r\nConnection: close\r\n\r\n",
            text.len()
        );
        let mut bytes = head.into_bytes();
        if body {
            bytes.extend_from_slice(text.as_bytes());
        }
        Self::IsAnswered { bytes, done: 0 }
    }
}

impl HttpClient {
    /// Reads and writes as much as is possible without waiting.
    fn go_on(&mut self, answer: &dyn Fn(&HttpRequest) -> HttpAnswer) -> io::Result<ClientFate> {
        if let HttpTurn::Asks(asked) = &mut self.turn {
            let mut piece = [0; PIECE];
            let n = match self.stream.read(&mut piece) {
                Ok(n) => n,
                Err(error) if is_for_now(&error) => return Ok(ClientFate::On),
                Err(error) => return Err(error),
            };
            if n == 0 {
                return Ok(ClientFate::Away);
            }
            asked.extend_from_slice(piece.get(..n).unwrap_or_default());
            self.turn = match parse(asked) {
                Ok(None) => return Ok(ClientFate::On),
                Ok(Some(asked)) => HttpTurn::answered(&answer(&asked), asked.body),
                Err(why) => HttpTurn::answered(&why, true),
            };
        }
        self.write()
    }

    fn write(&mut self) -> io::Result<ClientFate> {
        let HttpTurn::IsAnswered { bytes, done } = &mut self.turn else {
            return Ok(ClientFate::On);
        };
        while let Some(rest) = bytes.get(*done..).filter(|rest| !rest.is_empty()) {
            match self.stream.write(rest) {
                Ok(0) => return Ok(ClientFate::Away),
                Ok(n) => *done += n,
                Err(error) if is_for_now(&error) => return Ok(ClientFate::On),
                Err(error) => return Err(error),
            }
        }
        Ok(ClientFate::Away)
    }
}

fn is_for_now(error: &io::Error) -> bool {
    use io::ErrorKind::{Interrupted, WouldBlock};
    matches!(error.kind(), Interrupted | WouldBlock)
}

/// An answer: the rest of the status line, the media type, the text.
struct HttpAnswer(&'static str, &'static str, String);

fn words(status: &'static str, text: impl Into<String>) -> HttpAnswer {
    HttpAnswer(status, "text/plain; charset=utf-8", text.into())
}

/// A request that the server answers.
#[derive(PartialEq, Eq, Debug)]
struct HttpRequest {
    form: TextForm,
    /// `true` for `GET`, `false` for `HEAD`.
    body: bool,
}

impl HttpRequest {
    /// Answers the request. `slow` is the number of clients that were disconnected.
    fn answer(&self, control: &Path, version: &str, slow: u64) -> HttpAnswer {
        let stats = control::request(control, &ControlRequest::Stats, CLIENT_TIMEOUT)
            .map_err(|error| error.to_string())
            .and_then(|reply| {
                serde_json::from_value::<GatewayStats>(reply).map_err(|error| error.to_string())
            });
        match stats {
            Ok(stats) => {
                let text = render_with(&stats, version, Some(slow), self.form);
                HttpAnswer("200 OK", self.form.media_type(), text)
            }
            Err(why) => words("503 Service Unavailable", format!("{why}\n")),
        }
    }
}

/// Parses a request; returns `None` while it is incomplete.
fn parse(bytes: &[u8]) -> Result<Option<HttpRequest>, HttpAnswer> {
    let mut headers = [httparse::EMPTY_HEADER; MAX_HEADERS];
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
                format!("not a valid HTTP request: {why}\n"),
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
        TextForm::OpenMetrics
    } else {
        TextForm::Prometheus
    };
    Ok(Some(HttpRequest { form, body }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn status(bytes: &[u8]) -> Option<&'static str> {
        parse(bytes).err().map(|HttpAnswer(status, ..)| status)
    }

    #[test]
    fn requests_are_distinguished() {
        let get = b"GET /metrics HTTP/1.1\r\nHost: a\r\n\r\n";
        let asked = |form, body| Some(HttpRequest { form, body });
        assert_eq!(parse(get).ok(), Some(asked(TextForm::Prometheus, true)));
        assert_eq!(parse(&get[..20]).ok(), Some(None));
        let open = b"GET /metrics?x=1 HTTP/1.1\r\naccept: text/html, application/openmetrics-text;version=1.0.0\r\n\r\n";
        assert_eq!(parse(open).ok(), Some(asked(TextForm::OpenMetrics, true)));
        let head = b"HEAD /metrics HTTP/1.0\r\n\r\n";
        assert_eq!(parse(head).ok(), Some(asked(TextForm::Prometheus, false)));
        assert_eq!(status(b"GET / HTTP/1.1\r\n\r\n"), Some("404 Not Found"));
        assert_eq!(
            status(b"POST /metrics HTTP/1.1\r\n\r\n"),
            Some("405 Method Not Allowed")
        );
        assert_eq!(status(b"\x16\x03\x01\x00"), Some("400 Bad Request"));
        let long = [b"GET /metrics HTTP/1.1\r\nX: ".as_slice(), &[b'a'; LONGEST]].concat();
        assert_eq!(status(&long), Some("431 Request Header Fields Too Large"));
    }

    const GET: &[u8] = b"GET /metrics HTTP/1.1\r\n\r\n";

    /// Returns the answer to a complete request; the error that there is no gateway is an answer,
    /// too.
    fn ask(address: SocketAddr) -> String {
        let mut stream = TcpStream::connect(address).unwrap();
        stream.write_all(GET).unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        answer
    }

    /// Returns whether the client is still connected. A disconnected client reads an end of file.
    fn is_there(stream: &TcpStream) -> bool {
        stream.set_nonblocking(true).unwrap();
        let mut byte = [0];
        matches!((&mut &*stream).read(&mut byte), Err(error) if is_for_now(&error))
    }

    #[test]
    fn slow_clients_keep_no_other_waiting() {
        let folder = tempfile::tempdir().unwrap();
        let nothing = folder.path().join("no.sock");
        let any = SocketAddr::from(([127, 0, 0, 1], 0));
        let metrics = MetricsServer::start(any, nothing, "1").unwrap();
        let address = metrics.address();
        // Clients that send nothing, and clients that stop in the middle of a request.
        let slow: Vec<TcpStream> = [&b""[..], b"GET /met"]
            .into_iter()
            .cycle()
            .take(MAX_CLIENTS - 1)
            .map(|begun| {
                let mut stream = TcpStream::connect(address).unwrap();
                stream.write_all(begun).unwrap();
                stream
            })
            .collect();
        assert!(ask(address).starts_with("HTTP/1.1 503 "));
        // None of them was disconnected meanwhile: the server did not wait for them.
        assert!(slow.iter().all(is_there));
        // After two more clients, only the first one has been disconnected.
        let more = [(); 2].map(|()| TcpStream::connect(address).unwrap());
        assert!(ask(address).starts_with("HTTP/1.1 503 "));
        let there = slow.iter().filter(|stream| is_there(stream)).count();
        assert!(there >= MAX_CLIENTS - 3, "{there}");
        assert!(!is_there(&slow[0]));
        assert!(more.iter().all(is_there));
    }

    #[test]
    fn time_runs_from_the_connection_on_whatever_comes() {
        let pair = || {
            let listener = TcpListener::bind("127.0.0.1:0").unwrap();
            let client = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
            (client, listener.accept().unwrap().0)
        };
        let mut clients = HttpClients {
            control: Path::new("/nothing"),
            version: "1",
            all: Vec::new(),
            slow: 0,
        };
        let (mut client, served) = pair();
        clients.add(served);
        let end = clients.all[0].end;
        client.write_all(b"G").unwrap();
        while matches!(&clients.all[0].turn, HttpTurn::Asks(bytes) if bytes.is_empty()) {
            clients.serve(&[true]);
        }
        assert_eq!(clients.all[0].end, end);
        clients.send_away_late(end - Duration::from_millis(1));
        assert_eq!((clients.all.len(), clients.slow), (1, 0));
        assert!(clients.timeout(end - Duration::from_millis(5)).is_some());
        clients.send_away_late(end);
        assert_eq!((clients.all.len(), clients.slow), (0, 1));
        assert_eq!(clients.timeout(end), None);
        let mut answer = String::new();
        client.read_to_string(&mut answer).unwrap();
        assert!(answer.starts_with("HTTP/1.1 408 "), "{answer}");
    }

    proptest! {
        #[test]
        fn any_bytes_get_an_answer_or_are_waited_for(bytes in proptest::collection::vec(any::<u8>(), 0..300)) {
            let _ = parse(&bytes);
        }
    }
}
