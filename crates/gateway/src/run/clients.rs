//! The access of clients of the control socket to ports: they send frames by them, and watch them.

use super::client_frames::{self, FramesError};
use super::port_watches::{PortWatch, begin};
use super::running::RunningGateway;
use super::site::PlanSource;
use crate::control::{SendRequest, SentAnswers};
use crate::control::{WatchFeed, WatchRequest, WatchedPorts};
use std::sync::Arc;
use worker::WorkerMessage;
use worker::watching::{MAX_WATCHERS, TapChange, WatchChannel};

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
    /// The request has texts that are not frames, or too many of them.
    #[error(transparent)]
    Frames(#[from] FramesError),
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
        let frames = Box::new(client_frames::read(request)?);
        let sent = self
            .worker
            .ask(|reply| WorkerMessage::Send(frames, reply))
            .ok_or(ClientRefusal::Ending)?;
        Ok(client_frames::sent_answers(*sent))
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
        let names = self.port_names().filter(|name| watch.has(name));
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
