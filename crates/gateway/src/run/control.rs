//! The control thread: waits for signals, clients and the kernel, and serves them.

use super::options::EndReason;
use super::running::RunningGateway;
use super::signals::CaughtSignals;
use super::site::PlanSource;
use crate::control::{ControlReply, ControlRequest, ControlServer, failure, success};
use crate::notice::Notice;
use offload::with_causes;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use std::os::unix::net::UnixStream;
use std::time::{Duration, Instant};

pub(crate) struct ControlThread<'a, S: PlanSource> {
    running: RunningGateway<'a, S>,
    /// The reason to end, once an end was requested.
    stop: Option<EndReason>,
}

impl<'a, S: PlanSource> ControlThread<'a, S> {
    pub(crate) const fn new(running: RunningGateway<'a, S>) -> Self {
        Self {
            running,
            stop: None,
        }
    }

    /// Serves until an end is requested, or until the worker has ended on its own.
    pub(crate) fn serve(
        &mut self,
        mut signals: Option<CaughtSignals>,
        server: &mut Option<ControlServer>,
        worker_hangs_up: &UnixStream,
    ) -> Option<EndReason> {
        let mut ready: Vec<bool> = Vec::new();
        let mut warned = false;
        loop {
            let mut fds = vec![
                PollFd::new(worker_hangs_up, PollFlags::IN),
                PollFd::from_borrowed_fd(self.running.bell(), PollFlags::IN),
            ];
            for fd in self.running.kernel_fds() {
                fds.push(PollFd::from_borrowed_fd(fd, PollFlags::IN));
            }
            let in_kernel = fds.len();
            if let Some(signals) = &signals {
                signals.wait(&mut fds);
            }
            let clients = fds.len();
            if let Some(server) = server.as_ref() {
                server.wait(&mut fds);
            }
            let now = Instant::now();
            let deadline = server.as_ref().and_then(|server| server.deadline(now));
            let patience = deadline.map(|at| {
                // Rather one millisecond late than a busy wait for the rest of a millisecond.
                at.saturating_duration_since(Instant::now()) + Duration::from_millis(1)
            });
            let beat = self.running.next_heartbeat();
            let beat = beat.map(|at| at.saturating_duration_since(Instant::now()));
            let look = self.running.next_check();
            let look = look.map(|at| at.saturating_duration_since(Instant::now()));
            let ports = self.running.next_look();
            let ports = ports.map(|at| at.saturating_duration_since(Instant::now()));
            let patience = [
                patience,
                self.running.notices().time_until_due(),
                beat,
                look,
                ports,
            ];
            let patience = patience.into_iter().flatten().min();
            let patience = patience.and_then(|time| Timespec::try_from(time).ok());
            if let Err(error) = poll(&mut fds, patience.as_ref())
                && error != rustix::io::Errno::INTR
            {
                if !std::mem::replace(&mut warned, true) {
                    self.running.notices().send(Notice::WaitFailed {
                        what: "clients",
                        why: error.to_string(),
                    });
                }
                std::thread::sleep(Duration::from_millis(100));
            }
            ready.clear();
            ready.extend(fds.iter().map(|fd| !fd.revents().is_empty()));
            drop(fds);
            if ready.get(1) == Some(&true) {
                self.running.relay();
            }
            self.running.notices().catch_up();
            if ready.first() == Some(&true) {
                return None;
            }
            self.running.send_heartbeat();
            if ready.get(2..in_kernel).unwrap_or_default().contains(&true) {
                self.running.handle_link_changes();
            }
            self.running.restore_kernel_routes();
            self.running.report_ports();
            let asked = signals
                .as_mut()
                .map(CaughtSignals::take)
                .unwrap_or_default();
            if asked.reload {
                // No client waits for the answer; it was reported.
                let _ = self.running.reload_and_report();
            }
            if asked.stop {
                return Some(EndReason::Signal);
            }
            if let Some(server) = server.as_mut() {
                let ready = ready.get(clients..).unwrap_or_default();
                server.turn(Instant::now(), ready, &mut |request| self.answer(request));
                self.running.end_watches();
            }
            if self.stop.is_some() {
                return self.stop;
            }
        }
    }

    /// Reports that the gateway starts to shut down.
    pub(crate) fn notify_stopping(&self) {
        self.running.notify_stopping();
    }

    fn answer(&mut self, request: ControlRequest) -> ControlReply {
        let line = match request {
            ControlRequest::Ping => success(&serde_json::json!({ "pid": std::process::id() })),
            ControlRequest::Stats => match self.running.stats() {
                Ok(stats) => success(&stats),
                Err(why) => failure(&with_causes(&why)),
            },
            ControlRequest::Routes => success(&self.running.lines()),
            ControlRequest::Reload => match self.running.reload_and_report() {
                Ok(done) => success(&done),
                Err(why) => failure(&with_causes(&why)),
            },
            ControlRequest::Shutdown => {
                self.stop = Some(EndReason::Request);
                success(&serde_json::json!({ "pid": std::process::id() }))
            }
            ControlRequest::Send(request) => match self.running.send_for_client(request) {
                Ok(answers) => success(&answers),
                Err(why) => failure(&why.to_string()),
            },
            ControlRequest::Watch(request) => match self.running.watch_for_client(request) {
                Ok((ports, feed)) => {
                    return ControlReply {
                        line: success(&ports),
                        feed: Some(feed),
                    };
                }
                Err(why) => failure(&why.to_string()),
            },
        };
        line.into()
    }
}
