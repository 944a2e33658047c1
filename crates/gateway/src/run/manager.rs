//! The notifications of a running gateway to the service manager, and its ports that are not up.

use super::running::RunningGateway;
use super::site::PlanSource;
use crate::notice::Notice;
use crate::service::NotNotified;
use engine::{CounterSnapshot, PortState};
use std::sync::mpsc::{Sender, channel, sync_channel};
use std::time::Instant;
use worker::WorkerMessage;

impl<S: PlanSource> RunningGateway<'_, S> {
    /// Reports that all is in place; `remark` is added to each status until the next call.
    pub(super) fn notify_ready(&mut self, remark: &'static str) {
        self.manager.remark = remark;
        let now = self.snapshot();
        let not_up = now.as_ref().map(|now| self.not_up(now));
        self.readiness.start(not_up.unwrap_or_default());
        if self.manager.listens() {
            let status = self.status(now.as_ref());
            let sent = self.manager.ready(&status);
            self.handle_status(sent);
        }
    }

    /// Returns the ports through which no frame can pass at the moment, because their interface is
    /// down, absent or bus-off, or their other side is not there.
    pub(super) fn not_up(&self, now: &CounterSnapshot) -> Vec<String> {
        let here = now.ports.iter();
        let here = here.filter(|row| row.count.state == PortState::Down);
        let here = here.map(|row| row.name.clone());
        let in_kernel = self.kernel().interfaces.in_kernel_down();
        here.chain(in_kernel.map(str::to_owned)).collect()
    }

    /// Notes that interfaces may have changed.
    pub(super) fn look_at_ports(&mut self) {
        if self.manager.listens() || self.readiness.is_awaiting() {
            self.readiness.plan_look();
        }
    }

    /// Returns the time at which [`RunningGateway::report_ports`] has something to do.
    pub(crate) fn next_look(&self) -> Option<Instant> {
        self.readiness.next_look()
    }

    /// Reports which ports are up, if that has changed.
    pub(crate) fn report_ports(&mut self) {
        if !self.readiness.begin_look() {
            return;
        }
        let Some(now) = self.snapshot() else { return };
        let not_up = self.not_up(&now);
        let Some(ports) = self.readiness.note(not_up) else {
            return;
        };
        if self.manager.listens() {
            let status = self.status(Some(&now));
            self.handle_status(self.manager.changed(&status));
        }
        if !ports.is_empty() {
            self.notices().send(Notice::PortsUp { ports });
        }
    }

    /// Reports that the gateway starts to shut down.
    pub(crate) fn notify_stopping(&self) {
        self.handle_status(self.manager.stopping());
    }

    /// Returns the time at which [`RunningGateway::send_heartbeat`] is due.
    pub(crate) fn next_heartbeat(&self) -> Option<Instant> {
        self.manager.deadline()
    }

    /// Gives a sign of life, if one is due and the worker answers: that this thread is alive does
    /// not show that frames are forwarded.
    pub(crate) fn send_heartbeat(&mut self) {
        if self.manager.deadline().is_none_or(|at| at > Instant::now()) {
            return;
        }
        let end = Instant::now() + self.manager.patience();
        let sent = match self.snapshot_until(Some(end)) {
            Some(now) => {
                let status = self.status(Some(&now));
                self.manager.alive(&status)
            }
            None => self.manager.silent(),
        };
        self.handle_status(sent);
    }

    /// Does work that may take long, and gives signs of life meanwhile, as
    /// [`RunningGateway::send_heartbeat`] does: only while the worker answers. A file with very
    /// many routes takes longer to read and to compile than a watchdog waits.
    pub(super) fn run_with_heartbeats<T>(&mut self, work: impl FnOnce(&mut Self) -> T) -> T {
        let Some(pulse) = self.manager.pulse() else {
            return work(self);
        };
        let mailbox = self.worker.mailbox;
        std::thread::scope(|scope| {
            let (done, is_done) = channel();
            let beats = move || {
                pulse.until(&is_done, |patience| {
                    let (reply, answer) = sync_channel(1);
                    mailbox.send(WorkerMessage::Count(Box::default(), reply));
                    answer.recv_timeout(patience).is_ok()
                });
            };
            // Without memory for a thread no signs are given meanwhile.
            let _ = std::thread::Builder::new()
                .name("cangate beats".into())
                .spawn_scoped(scope, beats);
            let result = work(self);
            drop::<Sender<()>>(done);
            result
        })
    }

    pub(super) fn handle_status(&self, sent: Result<(), NotNotified>) {
        if let Err(why) = sent {
            self.notices().send(Notice::NotNotified {
                why: why.to_string(),
            });
        }
    }

    /// Returns one line for `systemctl status`.
    fn status(&self, now: Option<&CounterSnapshot>) -> String {
        let ports = self.ports();
        let mut text = format!(
            "{}, {}",
            several(ports, "port"),
            several(self.lines().len(), "route")
        );
        if let Some(now) = now {
            text.push_str(&format!("; {} frames received", now.received()));
            let failed = now.ports.iter();
            let failed = failed.filter(|row| row.count.state == PortState::Failed);
            let failed = failed.map(|row| row.name.clone()).collect();
            for (names, words) in [(self.not_up(now), "not up"), (failed, "out of service")] {
                if !names.is_empty() {
                    text.push_str(&format!("; {words}: {}", names.join(", ")));
                }
            }
        }
        text + self.manager.remark
    }
}

fn several(count: usize, what: &str) -> String {
    match count {
        1 => format!("1 {what}"),
        _ => format!("{count} {what}s"),
    }
}
