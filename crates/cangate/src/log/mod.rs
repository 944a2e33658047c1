//! The messages of `cangate run` on standard error: as text, for the journal, or as JSON.

mod form;
mod writer;

use crate::cli::{LogFormat, Run};
use console::Failure;
use form::{LineForm, LogLine};
use gateway::notice::{LoggedNotice, Notice, NoticeLevel};
use serde_json::Value;
use std::fs::File;
use std::os::fd::AsFd;
use std::time::SystemTime;
use writer::LineWriter;

/// Standard error of a running gateway. No function here waits for the reader, except
/// [`ErrorLog::end`], and that only for a limited time.
pub(crate) struct ErrorLog {
    form: LineForm,
    most: NoticeLevel,
    writer: LineWriter,
}

impl ErrorLog {
    pub(crate) fn new(args: &Run) -> Self {
        // Not through std's lock: a blocked writer would hold it, and a panic's message would wait
        // for it.
        let stderr = std::io::stderr().as_fd().try_clone_to_owned();
        let stderr = stderr.ok().map(File::from);
        let form = match args.log_format {
            LogFormat::Json => LineForm::Json,
            LogFormat::Text if stderr.as_ref().is_some_and(form::is_journal) => LineForm::Journal,
            LogFormat::Text => LineForm::Text,
        };
        let most = match (args.quiet, args.verbose) {
            (true, _) => NoticeLevel::Warning,
            (false, true) => NoticeLevel::Detail,
            (false, false) => NoticeLevel::Info,
        };
        Self {
            form,
            most,
            writer: LineWriter::new(stderr),
        }
    }

    /// Returns whether each line is a JSON object.
    pub(crate) fn is_json(&self) -> bool {
        self.form == LineForm::Json
    }

    /// Renders a notice of the gateway, and queues it.
    pub(crate) fn record(&self, logged: &LoggedNotice) {
        if logged.notice.level() <= self.most {
            self.send(self.form.notice(logged));
        }
        if self.most >= NoticeLevel::Detail && self.form != LineForm::Json {
            let line = |text: String| {
                let line = LogLine::new(logged.at, NoticeLevel::Detail, "detail", &text);
                self.form.line(&line)
            };
            // All in one entry, so that many lines do not fill the queue.
            let lines: String = details(&logged.notice).into_iter().map(line).collect();
            if !lines.is_empty() {
                self.send(lines);
            }
        }
    }

    fn send(&self, text: String) {
        self.writer.send(|lines| self.left_out(lines), text);
    }

    /// Returns the line that reports how many lines were left out.
    fn left_out(&self, lines: u64) -> String {
        let text = format!("dropped {lines} log lines: standard error was not read fast enough");
        let fields = serde_json::json!({ "lines": lines });
        let line = LogLine::new(SystemTime::now(), NoticeLevel::Warning, "unsaid", &text);
        self.form.line(&line.with(&fields))
    }

    /// Writes a text of many lines for people, without heads; in JSON one object with an `event`
    /// and fields.
    pub(crate) fn block(&self, level: NoticeLevel, event: &str, text: &str, fields: &Value) {
        if level <= self.most && !text.trim_end().is_empty() {
            let line = LogLine::new(SystemTime::now(), level, event, text).with(fields);
            self.writer.send_patiently(self.form.block(&line));
        }
    }

    /// Does the same as [`ErrorLog::block`], whatever the level: the user requested this text.
    pub(crate) fn asked_for(&self, event: &str, text: &str, fields: &Value) {
        let line = LogLine::new(SystemTime::now(), NoticeLevel::Info, event, text).with(fields);
        self.writer.send_patiently(self.form.block(&line));
    }

    /// Ends the log: reports why the command failed, and waits until all lines are written, or
    /// until the reader takes no more.
    pub(crate) fn end(self, done: Result<(), Failure>) -> Result<(), Failure> {
        let none = Value::Null;
        let failed = |status, prefix: &str, text: String| {
            let text = match self.form {
                LineForm::Json => text,
                _ => format!("{prefix}{text}"),
            };
            self.block(NoticeLevel::Error, "failed", &text, &none);
            Err(Failure::Status(status))
        };
        let done = match done {
            // Each mistake already has its own prefix.
            Err(Failure::Mistakes(text)) => failed(2, "", text),
            Err(Failure::Input(text)) => failed(2, "error: ", text),
            Err(Failure::Run(text)) => failed(1, "error: ", text),
            Err(Failure::Ended { status, text }) => failed(status, "error: ", text),
            other => other,
        };
        let lines = self.writer.left_out();
        if lines > 0 {
            self.writer.send_patiently(self.left_out(lines));
        }
        self.writer.finish();
        done
    }
}

/// Returns details of a notice for users who want more, one line each.
fn details(notice: &Notice) -> Vec<String> {
    match notice {
        Notice::Ready { ports, routes, .. } => {
            let port = ports
                .iter()
                .map(|port| format!("port {}: {}", port.name, port.words));
            let route = routes.iter().map(|route| {
                let mut text = format!("route {}: {}", route.name, route.data_path);
                for objection in &route.because {
                    text.push_str(&format!("; {objection}"));
                }
                text
            });
            port.chain(route).collect()
        }
        Notice::Reloaded { changes, .. } => {
            let renamed = changes.renamed.iter();
            let renamed =
                renamed.map(|(before, now)| format!("route {now}: renamed from {before}"));
            [
                (&changes.added, "new"),
                (&changes.removed, "removed"),
                (&changes.changed, "changed"),
                (&changes.moved, "in another data path"),
                (&changes.reordered, "in another order"),
            ]
            .into_iter()
            .flat_map(|(names, what)| {
                names
                    .iter()
                    .map(move |name| format!("route {name}: {what}"))
            })
            .chain(renamed)
            .collect()
        }
        _ => Vec::new(),
    }
}
