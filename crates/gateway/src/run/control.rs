//! The control thread: signals, clients, reloads.

use super::clock::Clock;
use super::kernel::InKernel;
use super::mailbox::{Mailbox, Message};
use super::signals::Signals;
use super::site::{Plan, Site};
use super::{Reason, compile, lines};
use crate::change::{Change, Layout, Leaving, Place};
use crate::control::{Request, Server, failure, success};
use crate::counters::{Counts, PortState};
use crate::interest;
use crate::snapshot::Snapshot;
use offload::with_causes;
use port::Poll;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use serde::{Deserialize, Serialize};
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::sync::mpsc::{RecvTimeoutError, SyncSender, sync_channel};
use std::time::{Duration, Instant};

/// What a reload did.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Reloaded {
    /// Routes now in force.
    pub routes: usize,
    /// Those of them that had their names before and so continue their counters.
    pub continued: usize,
    /// Ports that stayed open.
    pub kept: Vec<String>,
    /// Ports that were opened.
    pub opened: Vec<String>,
    /// Ports that were closed.
    pub closed: Vec<String>,
    /// What went not quite as it was meant to.
    pub remarks: Vec<String>,
}

/// The way to the worker.
pub(crate) struct Worked<'a> {
    pub(crate) mailbox: &'a Mailbox,
    pub(crate) clock: Clock,
    pub(crate) has_ended: &'a dyn Fn() -> bool,
}

impl Worked<'_> {
    /// Sends a message and waits for the answer; none where the worker has ended.
    fn ask<T>(&self, message: impl FnOnce(SyncSender<T>) -> Message) -> Option<T> {
        let (reply, answer) = sync_channel(1);
        self.mailbox.send(message(reply));
        loop {
            match answer.recv_timeout(Duration::from_millis(20)) {
                Ok(answer) => return Some(answer),
                Err(RecvTimeoutError::Disconnected) => return None,
                Err(RecvTimeoutError::Timeout) if (self.has_ended)() => {
                    return answer.try_recv().ok();
                }
                Err(RecvTimeoutError::Timeout) => {}
            }
        }
    }
}

const ENDING: &str = "the gateway is about to end";

pub(crate) struct Control<'a, S: Site> {
    site: &'a mut S,
    plan: Plan<S::Spec>,
    layout: Arc<Layout>,
    worker: Worked<'a>,
    drain: Duration,
    /// Reused, so that the worker need not allocate.
    counts: Option<Box<Counts>>,
    kernel: &'a mut InKernel,
    stop: Option<Reason>,
}

impl<'a, S: Site> Control<'a, S> {
    pub(crate) fn new(
        site: &'a mut S,
        plan: Plan<S::Spec>,
        layout: Arc<Layout>,
        worker: Worked<'a>,
        drain: Duration,
        kernel: &'a mut InKernel,
    ) -> Self {
        Self {
            site,
            plan,
            layout,
            worker,
            drain,
            counts: None,
            kernel,
            stop: None,
        }
    }

    /// Serves until somebody asks for the end, or until the worker has ended by itself.
    pub(crate) fn serve(
        &mut self,
        mut signals: Option<Signals>,
        server: &mut Option<Server>,
        worker_hangs_up: &UnixStream,
    ) -> Option<Reason> {
        let mut ready: Vec<bool> = Vec::new();
        let mut warned = false;
        loop {
            let mut fds = vec![PollFd::new(worker_hangs_up, PollFlags::IN)];
            for fd in self.kernel.fds() {
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
            let deadline = server.as_ref().and_then(Server::deadline);
            let patience = deadline.map(|at| {
                // One millisecond late rather than a busy moment early.
                at.saturating_duration_since(Instant::now()) + Duration::from_millis(1)
            });
            let patience = patience.and_then(|time| Timespec::try_from(time).ok());
            if let Err(error) = poll(&mut fds, patience.as_ref())
                && error != rustix::io::Errno::INTR
            {
                if !std::mem::replace(&mut warned, true) {
                    tracing::warn!("waiting for clients failed ({error}): trying again");
                }
                std::thread::sleep(Duration::from_millis(100));
            }
            ready.clear();
            ready.extend(fds.iter().map(|fd| !fd.revents().is_empty()));
            drop(fds);
            if ready.first() == Some(&true) {
                return None;
            }
            if ready.get(1..in_kernel).unwrap_or_default().contains(&true) {
                self.kernel.look();
            }
            let asked = signals.as_mut().map(Signals::take).unwrap_or_default();
            if asked.reload {
                // Nobody waits for the answer; the log has it.
                let _ = self.reload_and_log();
            }
            if asked.stop {
                return Some(Reason::Signal);
            }
            if let Some(server) = server.as_mut() {
                let ready = ready.get(clients..).unwrap_or_default();
                server.turn(Instant::now(), ready, &mut |request| self.answer(request));
            }
            if self.stop.is_some() {
                return self.stop;
            }
        }
    }

    fn answer(&mut self, request: Request) -> Vec<u8> {
        match request {
            Request::Ping => success(&serde_json::json!({ "pid": std::process::id() })),
            Request::Stats => match self.snapshot() {
                Some(mut snapshot) => {
                    match self.kernel.counts() {
                        Ok(parts) => snapshot.kernel = parts,
                        Err(why) => return failure(&with_causes(&why)),
                    }
                    success(&snapshot)
                }
                None => failure(ENDING),
            },
            Request::Routes => success(&self.plan.lines),
            Request::Reload => match self.reload_and_log() {
                Ok(done) => success(&done),
                Err(why) => failure(&why),
            },
            Request::Shutdown => {
                self.stop = Some(Reason::Request);
                success(&serde_json::json!({ "pid": std::process::id() }))
            }
        }
    }

    /// The counters. The vectors are made here, large enough, so that the worker only copies.
    fn snapshot(&mut self) -> Option<Snapshot> {
        let mut counts = self.counts.take().unwrap_or_default();
        counts.ports.reserve(self.layout.ports.len());
        counts.failures.reserve(self.layout.ports.len());
        counts.routes.reserve(self.layout.routes.len());
        let counts = self.worker.ask(|reply| Message::Count(counts, reply))?;
        let snapshot = Snapshot::new(&self.layout, &counts);
        self.counts = Some(counts);
        Some(snapshot)
    }

    fn reload_and_log(&mut self) -> Result<Reloaded, String> {
        let result = self.reload();
        match &result {
            Ok(done) => tracing::info!(
                "reloaded: {} routes; ports kept {:?}, opened {:?}, closed {:?}",
                done.routes,
                done.kept,
                done.opened,
                done.closed
            ),
            Err(why) => tracing::error!("not reloaded, everything runs on as before:\n{why}"),
        }
        result
    }

    /// From the configuration's text to the worker. Until the last step everything can be
    /// given up, and then nothing has changed.
    fn reload(&mut self) -> Result<Reloaded, String> {
        let mut plan = self.site.load()?;
        let in_kernel = plan.kernel.take().unwrap_or_default();
        let table = compile(&plan.routes, plan.ports.len())?;
        let before = self.snapshot().ok_or(ENDING)?;
        let mut done = Reloaded {
            routes: plan.routes.routes.len(),
            remarks: plan.remarks.clone(),
            ..Reloaded::default()
        };
        let mut places = Vec::with_capacity(plan.ports.len());
        let mut errors = Vec::new();
        for (i, (name, spec)) in plan.ports.iter().enumerate() {
            let same = self.plan.ports.iter().any(|(n, s)| n == name && s == spec);
            let failed = before
                .port(name)
                .is_some_and(|p| p.state == PortState::Failed);
            if same && !failed {
                done.kept.push(name.clone());
                places.push(Place::Keep(name.clone()));
                continue;
            }
            // A port that failed is tried again. That it still fails is no reason to refuse
            // the new routes.
            match self.site.open(name, spec, &interest::of(&table, i)) {
                Ok(port) => {
                    done.opened.push(name.clone());
                    places.push(Place::New(port));
                }
                Err(error) if same => {
                    done.kept.push(name.clone());
                    done.remarks.push(format!("still out of service: {error}"));
                    places.push(Place::Keep(name.clone()));
                }
                Err(error) => errors.push(error),
            }
        }
        if !errors.is_empty() {
            return Err(lines(&errors));
        }
        let old = &self.layout;
        let kept = plan.routes.routes.iter();
        done.continued = kept.filter(|r| old.routes.contains(&r.name)).count();
        let change = Change::new(old, places, Arc::new(table), &plan.routes)
            .map_err(|error| error.to_string())?;
        done.continued += self.kernel.continued(&in_kernel);
        // A route that changes its place must be gone from the one before it is at the other: no
        // frame is sent twice.
        let in_steps = self
            .kernel
            .in_steps(&in_kernel, self.plan.routes != plan.routes);
        if in_steps {
            self.kernel
                .give_up(&in_kernel)
                .map_err(|e| with_causes(&e))?;
        } else {
            let said = self.kernel.reload(in_kernel.clone());
            done.remarks.extend(said.map_err(|e| with_causes(&e))?);
        }
        let layout = Arc::clone(change.layout());
        let change = Box::new(change);
        let removed = self
            .worker
            .ask(|reply| Message::Apply(change, reply))
            .ok_or(ENDING)?
            .map_err(|(error, _)| error.to_string())?;
        self.layout = layout;
        self.plan = plan;
        if in_steps {
            let said = self.kernel.reload(in_kernel).map_err(|why| {
                format!(
                    "the routes of this process are the new ones, and those of the kernel are not \
                     there: {}",
                    with_causes(&why)
                )
            })?;
            done.remarks.extend(said);
        }
        done.routes += self.kernel.count();
        let mut removed = removed;
        for port in removed.leaving.drain(..) {
            done.closed.push(port.name().to_owned());
            self.let_go(port);
        }
        Ok(done)
    }

    /// Lets a removed port send what it holds, within the time for that, and closes it.
    fn let_go(&self, mut port: Leaving) {
        let end = Instant::now() + self.drain;
        let mut poll = Poll::default();
        while port.flush(self.worker.clock.now()) > 0 {
            let left = end.saturating_duration_since(Instant::now());
            if left.is_zero() {
                break;
            }
            poll.clear();
            poll.add(port.wait());
            let nap = Duration::from_millis(1);
            if poll.wait(Some(left.min(nap * 10))).is_err() {
                std::thread::sleep(nap);
            }
        }
        let name = port.name().to_owned();
        let settled = port.close();
        if settled.lost > 0 {
            tracing::warn!(
                "{name}: {} frames were lost when it was closed",
                settled.lost
            );
        }
        self.worker.mailbox.send(Message::Settle(name, settled));
    }
}
