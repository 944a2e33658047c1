//! The format of a line: for people, for the journal, or as JSON.

use chrono::{DateTime, SecondsFormat, Utc};
use gateway::notice::{LoggedNotice, Notice, NoticeLevel};
use serde::Serialize;
use serde_json::Value;
use std::fs::File;
use std::os::unix::fs::MetadataExt as _;
use std::time::SystemTime;

/// The format of the lines.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum LineForm {
    /// `TIME [error|warning: ]TEXT`
    Text,
    /// `<N>TEXT`, as sd-daemon(3) describes; the journal has its own time.
    Journal,
    /// One object per line.
    Json,
}

/// A line to write.
pub(super) struct LogLine<'a> {
    at: SystemTime,
    level: NoticeLevel,
    event: &'a str,
    text: &'a str,
    fields: Option<&'a Value>,
}

impl<'a> LogLine<'a> {
    pub(super) const fn new(
        at: SystemTime,
        level: NoticeLevel,
        event: &'a str,
        text: &'a str,
    ) -> Self {
        Self {
            at,
            level,
            event,
            text,
            fields: None,
        }
    }

    /// Adds further fields, which only JSON shows.
    pub(super) const fn with(mut self, fields: &'a Value) -> Self {
        self.fields = Some(fields);
        self
    }
}

/// A line as JSON, as described in docs/guide.md.
#[derive(Serialize)]
struct JsonLine<'a, T> {
    time: String,
    level: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    event: Option<&'a str>,
    text: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    more: Option<u64>,
    #[serde(flatten)]
    fields: T,
}

impl LineForm {
    /// Formats a notice as a line.
    pub(super) fn notice(self, logged: &LoggedNotice) -> String {
        let LoggedNotice { at, notice, more } = logged;
        let mut text = notice.to_string();
        let level = notice.level();
        if self == Self::Json {
            return json(&JsonLine::<&Notice> {
                time: time(*at),
                level: word(level),
                // The notice contains it.
                event: None,
                text: &text,
                more: (*more > 0).then_some(*more),
                fields: notice,
            });
        }
        if *more > 0 {
            text.push_str(&format!(" (and {more} more like it)"));
        }
        self.line(&LogLine::new(*at, level, notice.event(), &text))
    }

    /// Formats a line, or several lines with the same head.
    pub(super) fn line(self, line: &LogLine<'_>) -> String {
        let head = match (self, line.level) {
            (Self::Json | Self::Journal, _) => return self.block(line),
            (Self::Text, NoticeLevel::Error | NoticeLevel::Warning) => {
                format!("{} {}: ", time(line.at), word(line.level))
            }
            (Self::Text, NoticeLevel::Info | NoticeLevel::Detail) => format!("{} ", time(line.at)),
        };
        format!("{head}{}\n", line.text.trim_end())
    }

    /// Formats a text of many lines without heads; only the journal needs a prefix on each line.
    pub(super) fn block(self, line: &LogLine<'_>) -> String {
        match self {
            Self::Text => format!("{}\n", line.text.trim_end()),
            Self::Journal => {
                let priority = priority(line.level);
                let lines = line.text.trim_end().lines();
                lines.map(|text| format!("<{priority}>{text}\n")).collect()
            }
            Self::Json => json(&JsonLine {
                time: time(line.at),
                level: word(line.level),
                event: Some(line.event),
                text: line.text.trim_end(),
                more: None,
                fields: line.fields.filter(|fields| fields.is_object()),
            }),
        }
    }
}

fn json(object: &impl Serialize) -> String {
    // Our own types have text keys only; if one ever has not, the line reports the error.
    let text = serde_json::to_string(object).unwrap_or_else(|error| {
        serde_json::json!({ "event": "unwritable", "text": error.to_string() }).to_string()
    });
    text + "\n"
}

/// Formats a time as UTC with milliseconds (RFC 3339).
fn time(at: SystemTime) -> String {
    DateTime::<Utc>::from(at).to_rfc3339_opts(SecondsFormat::Millis, true)
}

const fn word(level: NoticeLevel) -> &'static str {
    match level {
        NoticeLevel::Error => "error",
        NoticeLevel::Warning => "warning",
        NoticeLevel::Info => "info",
        NoticeLevel::Detail => "detail",
    }
}

/// Returns the priority as syslog(3) numbers it.
const fn priority(level: NoticeLevel) -> u8 {
    match level {
        NoticeLevel::Error => 3,
        NoticeLevel::Warning => 4,
        NoticeLevel::Info => 6,
        NoticeLevel::Detail => 7,
    }
}

/// Returns whether this is the journal's stream. Its device and inode are in JOURNAL_STREAM
/// (systemd.exec(5)). The variable alone is no proof: a program that redirects its child's output
/// leaves it set.
pub(super) fn is_journal(stderr: &File) -> bool {
    let Ok(stream) = std::env::var("JOURNAL_STREAM") else {
        return false;
    };
    stderr
        .metadata()
        .is_ok_and(|meta| stream == format!("{}:{}", meta.dev(), meta.ino()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    fn logged(more: u64) -> LoggedNotice {
        LoggedNotice {
            at: SystemTime::UNIX_EPOCH + Duration::from_millis(1_795_366_060_425),
            notice: Notice::PortFailed {
                port: "body".into(),
                why: "the cable is cut".into(),
            },
            more,
        }
    }

    #[test]
    fn each_form_has_its_own_head() {
        let text = LineForm::Text.notice(&logged(0));
        let (head, rest) = text.split_once(": ").unwrap();
        assert_eq!(head, "2026-11-22T16:47:40.425Z error");
        assert!(rest.starts_with("port body: the cable is cut"), "{rest}");
        let journal = LineForm::Journal.notice(&logged(3));
        assert!(journal.starts_with("<3>port body: "), "{journal}");
        assert!(journal.ends_with(" (and 3 more like it)\n"), "{journal}");
        let json = LineForm::Json.notice(&logged(3));
        let value: Value = serde_json::from_str(&json).unwrap();
        assert_eq!(value["event"], "port_failed");
        assert_eq!(value["time"], "2026-11-22T16:47:40.425Z");
        assert_eq!(
            (&value["level"], &value["more"]),
            (&"error".into(), &3.into())
        );
        assert_eq!(
            (&value["port"], &value["why"]),
            (&"body".into(), &"the cable is cut".into())
        );
    }

    #[test]
    fn the_journal_gets_a_priority_for_each_line() {
        let line = LogLine::new(SystemTime::now(), NoticeLevel::Warning, "x", "one\ntwo\n");
        assert_eq!(LineForm::Journal.block(&line), "<4>one\n<4>two\n");
        assert_eq!(LineForm::Text.block(&line), "one\ntwo\n");
        assert_eq!(LineForm::Json.block(&line).lines().count(), 1);
    }
}
