//! What a running gateway tells the service manager.

use super::running::Running;
use super::site::Site;
use crate::notice::Notice;
use crate::service::NotTold;
use engine::{PortState, Snapshot};
use std::time::Instant;

impl<S: Site> Running<'_, S> {
    /// All is in place; `remark` is what is to be said besides, until the next time.
    pub(super) fn tell_ready(&mut self, remark: &'static str) {
        self.manager.remark = remark;
        // Without anybody who listens the worker is not asked.
        if self.manager.listens() {
            let now = self.snapshot();
            let status = self.status(now.as_ref());
            let told = self.manager.ready(&status);
            self.hear(told);
        }
    }

    /// The end begins.
    pub(crate) fn tell_stopping(&self) {
        self.hear(self.manager.stopping());
    }

    /// When [`Running::beat`] is due.
    pub(crate) fn next_beat(&self) -> Option<Instant> {
        self.manager.deadline()
    }

    /// Gives a sign of life, if one is due and the worker answers: that this thread lives says nothing about frames.
    pub(crate) fn beat(&mut self) {
        if self.manager.deadline().is_none_or(|at| at > Instant::now()) {
            return;
        }
        let end = Instant::now() + self.manager.patience();
        let told = match self.snapshot_until(Some(end)) {
            Some(now) => {
                let status = self.status(Some(&now));
                self.manager.alive(&status)
            }
            None => self.manager.silent(),
        };
        self.hear(told);
    }

    pub(super) fn hear(&self, told: Result<(), NotTold>) {
        if let Err(why) = told {
            self.voice().say(Notice::NotTold {
                why: why.to_string(),
            });
        }
    }

    /// One line for `systemctl status`.
    fn status(&self, now: Option<&Snapshot>) -> String {
        let ports = self.ports();
        let mut text = format!(
            "{}, {}",
            several(ports, "port"),
            several(self.lines().len(), "route")
        );
        if let Some(now) = now {
            add_numbers(&mut text, now);
        }
        text + self.manager.remark
    }
}

fn add_numbers(text: &mut String, now: &Snapshot) {
    text.push_str(&format!("; {} frames received", now.received()));
    for (state, words) in [
        (PortState::Down, "down"),
        (PortState::Failed, "out of service"),
    ] {
        let rows = now.ports.iter().filter(|row| row.count.state == state);
        let names: Vec<&str> = rows.map(|row| row.name.as_str()).collect();
        if !names.is_empty() {
            text.push_str(&format!("; {words}: {}", names.join(", ")));
        }
    }
}

fn several(count: usize, what: &str) -> String {
    match count {
        1 => format!("1 {what}"),
        _ => format!("{count} {what}s"),
    }
}
