//! The access of clients of the control socket to ports: they send frames by them, and watch them.

use super::mailbox::WorkerMessage;
use super::running::RunningGateway;
use super::site::PlanSource;
use crate::control::{MAX_SENT, SendRequest, SentAnswer, SentAnswers};
use crate::control::{WatchFeed, WatchRequest, WatchedPorts};
use crate::watching::{MAX_WATCHERS, TapChange, WatchChannel};
use engine::{Accepted, TransmitRefusal};
use frame::FrameBuf;
use frame::text::{ParseError, parse_frame};
use std::sync::Arc;

/// The reason why a client does not get what it asked for. The text is the reply.
#[derive(thiserror::Error, Debug)]
pub(crate) enum ClientRefusal {
    /// The gateway has no port of this name.
    #[error("the gateway has no port `{name}`; it has {}", list(.ports))]
    NoPort { name: String, ports: Vec<String> },
    /// The port is open in the kernel only.
    #[error(
        "all routes of port `{name}` run in the kernel, where this process has no frames of it: use its interface \
         {interface} instead (`cangate send {interface} …`, `cangate watch {interface}`)"
    )]
    InKernel { name: String, interface: String },
    /// The file does not allow it.
    #[error(
        "port `{0}` takes no frames from clients: add `inject = true` to [ports.{0}], or to [gateway] for all \
         ports, and run `cangate reload`"
    )]
    NotAllowed(String),
    /// A text is not a frame.
    #[error("frame {number}, `{text}`: {error}")]
    NoFrame {
        number: usize,
        text: String,
        error: ParseError,
    },
    /// There are too many frames.
    #[error("a request can have {MAX_SENT} frames, and this one has {0}")]
    TooManyFrames(usize),
    /// Too many clients watch.
    #[error("{MAX_WATCHERS} clients watch ports of this gateway already: end one of them first")]
    TooManyWatchers,
    /// The worker has ended.
    #[error("the gateway is about to end")]
    Ending,
}

fn list(ports: &[String]) -> String {
    match ports {
        [] => "no ports in this process".to_owned(),
        ports => ports.join(", "),
    }
}

/// A client that watches ports.
struct PortWatch {
    channel: Arc<WatchChannel>,
    /// Whether it watches all ports, also those that a reload adds.
    all: bool,
    /// The ports that it watches, or wants to.
    ports: Vec<String>,
}

/// The clients that watch ports.
#[derive(Default)]
pub(super) struct PortWatches(Vec<PortWatch>);

/// Frames that a client sends, and the answers of their port.
pub(crate) struct ClientFrames {
    port: String,
    frames: Vec<FrameBuf>,
    answers: Vec<SentAnswer>,
}

impl ClientFrames {
    /// Parses the frames of a request; the answers have room, so that the worker does not allocate.
    fn read(request: SendRequest) -> Result<Self, ClientRefusal> {
        let number = request.frames.len();
        if number > MAX_SENT {
            return Err(ClientRefusal::TooManyFrames(number));
        }
        let mut frames = vec![FrameBuf::new(); number];
        for ((frame, text), number) in frames.iter_mut().zip(request.frames).zip(1..) {
            if let Err(error) = parse_frame(text.as_bytes(), frame) {
                let text = text.chars().take(40).collect();
                return Err(ClientRefusal::NoFrame {
                    number,
                    text,
                    error,
                });
            }
        }
        Ok(Self {
            port: request.port,
            frames,
            answers: Vec::with_capacity(number),
        })
    }

    /// Returns the name of the port, the frames, and the place for the answers.
    pub(crate) fn parts(&mut self) -> (&str, &[FrameBuf], &mut Vec<SentAnswer>) {
        (&self.port, &self.frames, &mut self.answers)
    }
}

/// Returns the answer of a port as the protocol has it.
pub(crate) fn sent_answer(answer: Result<Accepted, TransmitRefusal>) -> SentAnswer {
    match answer {
        Ok(Accepted) => SentAnswer::Taken,
        Err(TransmitRefusal::Full) => SentAnswer::Full,
        Err(TransmitRefusal::Down) => SentAnswer::Down,
        Err(TransmitRefusal::Unsupported) => SentAnswer::Unsupported,
    }
}

impl<S: PlanSource> RunningGateway<'_, S> {
    /// Sends frames of a client by a port.
    ///
    /// # Errors
    /// [`ClientRefusal`]; then no frame was offered to the port.
    pub(crate) fn send_for_client(
        &mut self,
        request: SendRequest,
    ) -> Result<SentAnswers, ClientRefusal> {
        let spec = self.specification(&request.port)?;
        if !self.site().takes_frames_of_clients(spec) {
            return Err(ClientRefusal::NotAllowed(request.port));
        }
        let frames = Box::new(ClientFrames::read(request)?);
        let sent = self
            .worker
            .ask(|reply| WorkerMessage::Send(frames, reply))
            .ok_or(ClientRefusal::Ending)?;
        Ok(SentAnswers {
            answers: sent.answers,
        })
    }

    /// Begins to show the frames of ports to a client.
    ///
    /// # Errors
    /// [`ClientRefusal`]
    pub(crate) fn watch_for_client(
        &mut self,
        request: WatchRequest,
    ) -> Result<(WatchedPorts, WatchFeed), ClientRefusal> {
        self.end_watches();
        if self.watches.0.len() >= MAX_WATCHERS {
            return Err(ClientRefusal::TooManyWatchers);
        }
        for port in &request.ports {
            self.specification(port)?;
        }
        let watch = PortWatch {
            channel: Arc::new(WatchChannel::new()),
            all: request.ports.is_empty(),
            ports: request.ports,
        };
        let ports = self.ports_of(&watch);
        let changes = begin(&watch, &ports);
        let feed = WatchFeed::new(Arc::clone(&watch.channel));
        self.change_taps(changes).ok_or(ClientRefusal::Ending)?;
        self.watches.0.push(watch);
        Ok((WatchedPorts { ports }, feed))
    }

    /// Takes away the taps of clients that have gone.
    pub(crate) fn end_watches(&mut self) {
        let is_closed = |watch: &PortWatch| watch.channel.is_closed();
        if !self.watches.0.iter().any(is_closed) {
            return;
        }
        let all = std::mem::take(&mut self.watches.0);
        let (closed, open): (Vec<_>, Vec<_>) = all.into_iter().partition(is_closed);
        self.watches.0 = open;
        let mut changes = Vec::new();
        for watch in &closed {
            for port in self.ports_of(watch) {
                changes.push(TapChange::end(port, Arc::clone(&watch.channel)));
            }
        }
        self.change_taps(changes);
    }

    /// Puts taps at ports that were opened, for the clients that watch them.
    pub(super) fn watch_opened(&mut self, opened: &[String]) {
        let mut changes = Vec::new();
        for watch in &self.watches.0 {
            let mut ports = self.ports_of(watch);
            ports.retain(|port| opened.contains(port));
            changes.extend(begin(watch, &ports));
        }
        if !changes.is_empty() {
            self.change_taps(changes);
        }
    }

    /// Lets the worker apply the changes; they are freed here. Returns `None` if it has ended.
    fn change_taps(&self, changes: Vec<TapChange>) -> Option<()> {
        self.worker
            .ask(|reply| WorkerMessage::Tap(changes, reply))
            .map(drop)
    }

    /// Returns the ports in this process that a client watches.
    fn ports_of(&self, watch: &PortWatch) -> Vec<String> {
        let is_watched = |name: &&str| watch.all || watch.ports.iter().any(|port| port == name);
        let names = self.port_names().filter(is_watched);
        names.map(str::to_owned).collect()
    }

    /// Returns the specification of a port that this process has open.
    fn specification(&self, name: &str) -> Result<&S::Spec, ClientRefusal> {
        if let Some(spec) = self.port_spec(name) {
            return Ok(spec);
        }
        let mut in_kernel = self.kernel().interfaces.in_kernel();
        if let Some(port) = in_kernel.find(|port| port.name == name) {
            return Err(ClientRefusal::InKernel {
                name: name.to_owned(),
                interface: port.interface.unwrap_or_default(),
            });
        }
        Err(ClientRefusal::NoPort {
            name: name.to_owned(),
            ports: self.port_names().map(str::to_owned).collect(),
        })
    }
}

/// Returns the changes by which a client begins to watch ports.
fn begin(watch: &PortWatch, ports: &[String]) -> Vec<TapChange> {
    let change = |port: &String| {
        let index = watch.channel.port(port)?;
        let channel = Arc::clone(&watch.channel);
        Some(TapChange::begin(port.clone(), channel, index))
    };
    ports.iter().filter_map(change).collect()
}
