//! The byte format of requests and replies.

use frame::Nanos;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// The version of the protocol: the value of `cangate` in every request and reply.
pub const VERSION: u64 = 1;

/// The maximum length of a request in bytes, including its newline.
pub const MAX_REQUEST: usize = 64 * 1024;

/// The most frames of one [`SendRequest`]. A client that sends more makes several requests.
pub const MAX_SENT: usize = 64;

/// A request of a client.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum ControlRequest {
    /// Check whether the gateway answers. The reply is its process id.
    Ping,
    /// Return all counters: [`crate::GatewayStats`].
    Stats,
    /// Return the routes in force.
    Routes,
    /// Read the configuration again and apply it.
    Reload,
    /// Shut down in an orderly way.
    Shutdown,
    /// Send frames by a port: [`SentAnswers`].
    Send(SendRequest),
    /// Show the frames of ports: [`WatchedPorts`], and then [`WatchedFrames`] until the client
    /// closes the connection.
    Watch(WatchRequest),
}

/// Frames that a client sends by a port.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct SendRequest {
    /// The name of the port.
    pub port: String,
    /// The frames as text, in the grammar of [`frame::text`]; at most [`MAX_SENT`].
    pub frames: Vec<String>,
}

/// The answers of a port to the frames of a [`SendRequest`], in their order.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct SentAnswers {
    /// One for each frame. Behind one that found no room, or whose port is down, none is offered:
    /// they have its answer.
    pub answers: Vec<SentAnswer>,
}

/// The answer of a port to a frame.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SentAnswer {
    /// The port took the frame; its counters have the further fate.
    Taken,
    /// Its queue is full.
    Full,
    /// It is down, gone, bus-off or out of service.
    Down,
    /// It cannot carry this kind of frame.
    Unsupported,
}

/// Ports whose frames a client watches.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct WatchRequest {
    /// The names of the ports; none means all, also those that a reload adds.
    #[serde(default)]
    pub ports: Vec<String>,
}

/// The answer to a [`WatchRequest`].
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct WatchedPorts {
    /// The ports whose frames are shown.
    pub ports: Vec<String>,
}

/// Frames of the ports that a client watches, in the order in which the gateway handled them.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct WatchedFrames {
    /// For each frame its time in ns since the Unix epoch, its port, whether the port sent it
    /// (otherwise it was received), and the frame as text.
    pub frames: Vec<(Nanos, String, bool, String)>,
    /// Number of frames since the request that this client did not get, because it read too
    /// slowly.
    pub lost: u64,
    /// Number of frames since the request that the gateway could not decode for this client. A
    /// gateway of an earlier version does not report it.
    #[serde(default)]
    pub undecodable: u64,
}

impl WatchedFrames {
    /// Returns the number of frames since the request that this client did not get, for any
    /// reason.
    #[must_use]
    pub const fn missing(&self) -> u64 {
        self.lost.saturating_add(self.undecodable)
    }

    /// Returns the frames as a line.
    pub(crate) fn line(&self) -> Vec<u8> {
        success(self)
    }

    /// Parses a line.
    ///
    /// # Errors
    /// The line is not one of these.
    pub fn parse(line: &[u8]) -> Result<Self, serde_json::Error> {
        #[derive(Deserialize)]
        struct FrameLine {
            ok: WatchedFrames,
        }
        serde_json::from_slice::<FrameLine>(line).map(|line| line.ok)
    }
}

impl ControlRequest {
    /// The words for all requests in the protocol.
    pub const WORDS: [&'static str; 7] = [
        "ping", "stats", "routes", "reload", "shutdown", "send", "watch",
    ];

    /// Returns the word for the request in the protocol.
    #[must_use]
    pub const fn word(&self) -> &'static str {
        match self {
            Self::Ping => "ping",
            Self::Stats => "stats",
            Self::Routes => "routes",
            Self::Reload => "reload",
            Self::Shutdown => "shutdown",
            Self::Send(_) => "send",
            Self::Watch(_) => "watch",
        }
    }

    /// Returns the request as a line.
    #[must_use]
    pub fn line(&self) -> Vec<u8> {
        #[derive(Serialize)]
        struct RequestLine<'a, T> {
            cangate: u64,
            r#do: &'a str,
            #[serde(flatten)]
            details: Option<&'a T>,
        }
        fn written<T: Serialize>(word: &str, details: Option<&T>) -> Vec<u8> {
            let request = RequestLine {
                cangate: VERSION,
                r#do: word,
                details,
            };
            // Texts and lists of texts can always be written.
            line(serde_json::to_vec(&request).unwrap_or_default())
        }
        let word = self.word();
        match self {
            Self::Send(request) => written(word, Some(request)),
            Self::Watch(request) => written(word, Some(request)),
            _ => written::<WatchRequest>(word, None),
        }
    }

    /// Returns the request of this word, whose other fields are in `fields`.
    fn named(word: &str, fields: Value) -> Result<Self, RequestError> {
        fn details<T: for<'d> Deserialize<'d>>(fields: Value) -> Result<T, RequestError> {
            let read = serde_json::from_value(fields);
            read.map_err(|error| RequestError::Details(error.to_string()))
        }
        Ok(match word {
            "ping" => Self::Ping,
            "stats" => Self::Stats,
            "routes" => Self::Routes,
            "reload" => Self::Reload,
            "shutdown" => Self::Shutdown,
            "send" => Self::Send(details(fields)?),
            "watch" => Self::Watch(details(fields)?),
            _ => return Err(RequestError::NoSuchCommand(word.chars().take(40).collect())),
        })
    }
}

/// An error in a request.
#[derive(thiserror::Error, Clone, PartialEq, Eq, Debug)]
pub enum RequestError {
    /// The request is longer than [`MAX_REQUEST`].
    #[error("the request is longer than {MAX_REQUEST} bytes")]
    TooLong,
    /// The request is not JSON.
    #[error(
        "the request is not valid JSON ({0}): send a line such as {{\"cangate\":1,\"do\":\"ping\"}}"
    )]
    NotJson(String),
    /// `cangate` is missing or has another value.
    #[error("the request lacks \"cangate\":1, the only version that this gateway supports")]
    Version,
    /// `do` is missing.
    #[error("the request lacks a command: \"do\" is one of {}", words())]
    NoCommand,
    /// The value of `do` is not a command.
    #[error("there is no command \"{0}\": \"do\" is one of {words}", words = words())]
    NoSuchCommand(String),
    /// A command lacks a field, or has one of another type.
    #[error(
        "the command is not complete ({0}): \"send\" has a text \"port\" and a list of texts \"frames\", \"watch\" can have \
         a list of texts \"ports\""
    )]
    Details(String),
}

fn words() -> String {
    ControlRequest::WORDS.join(", ")
}

/// Parses one request: a line with or without its newline. Unknown fields are ignored, so that
/// later versions can add fields.
///
/// # Errors
/// [`RequestError`], whose text is the reply.
pub fn parse(line: &[u8]) -> Result<ControlRequest, RequestError> {
    if line.len() > MAX_REQUEST {
        return Err(RequestError::TooLong);
    }
    let value: Value =
        serde_json::from_slice(line).map_err(|error| RequestError::NotJson(error.to_string()))?;
    if value.get("cangate").and_then(Value::as_u64) != Some(VERSION) {
        return Err(RequestError::Version);
    }
    let word = value.get("do").and_then(Value::as_str);
    let word = word.ok_or(RequestError::NoCommand)?.to_owned();
    ControlRequest::named(&word, value)
}

/// Returns the reply to a request that succeeded.
pub(crate) fn success(answer: &impl Serialize) -> Vec<u8> {
    #[derive(Serialize)]
    struct ControlReply<'a, T> {
        cangate: u64,
        ok: &'a T,
    }
    let reply = ControlReply {
        cangate: VERSION,
        ok: answer,
    };
    line(serde_json::to_vec(&reply).unwrap_or_else(|error| {
        // Our own types have text keys only; if one ever has not, the client gets an error.
        bare_failure(&format!("the answer cannot be written as JSON: {error}"))
    }))
}

/// Returns the reply to a request that failed.
pub(crate) fn failure(why: &str) -> Vec<u8> {
    line(bare_failure(why))
}

fn bare_failure(why: &str) -> Vec<u8> {
    serde_json::json!({ "cangate": VERSION, "error": why })
        .to_string()
        .into_bytes()
}

fn line(mut reply: Vec<u8>) -> Vec<u8> {
    reply.push(b'\n');
    reply
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn every_command_is_read_back() {
        let send = SendRequest {
            port: "body".to_owned(),
            frames: vec!["123#11".to_owned(), "18DAF110##1AABB".to_owned()],
        };
        let watch = WatchRequest {
            ports: vec!["body".to_owned()],
        };
        let all = [
            ControlRequest::Ping,
            ControlRequest::Stats,
            ControlRequest::Routes,
            ControlRequest::Reload,
            ControlRequest::Shutdown,
            ControlRequest::Send(send),
            ControlRequest::Watch(watch),
        ];
        assert_eq!(
            all.each_ref().map(ControlRequest::word),
            ControlRequest::WORDS
        );
        for request in all {
            assert_eq!(parse(&request.line()), Ok(request));
        }
        assert_eq!(
            parse(b"{\"cangate\":1,\"do\":\"watch\"}"),
            Ok(ControlRequest::Watch(WatchRequest::default()))
        );
    }

    #[test]
    fn what_is_wrong_is_named() {
        assert!(matches!(parse(b"stats"), Err(RequestError::NotJson(_))));
        assert!(matches!(parse(b""), Err(RequestError::NotJson(_))));
        assert!(matches!(parse(b"\xFF\xFE"), Err(RequestError::NotJson(_))));
        assert_eq!(parse(b"[]"), Err(RequestError::Version));
        assert_eq!(parse(b"{\"do\":\"ping\"}"), Err(RequestError::Version));
        assert_eq!(
            parse(b"{\"cangate\":2,\"do\":\"ping\"}"),
            Err(RequestError::Version)
        );
        assert_eq!(
            parse(b"{\"cangate\":1,\"do\":7}"),
            Err(RequestError::NoCommand)
        );
        assert_eq!(
            parse(b"{\"cangate\":1,\"do\":\"dance\"}"),
            Err(RequestError::NoSuchCommand("dance".into()))
        );
        for wrong in [
            "{\"cangate\":1,\"do\":\"send\"}",
            "{\"cangate\":1,\"do\":\"send\",\"port\":\"a\"}",
            "{\"cangate\":1,\"do\":\"send\",\"port\":\"a\",\"frames\":[7]}",
            "{\"cangate\":1,\"do\":\"watch\",\"ports\":\"a\"}",
        ] {
            let found = parse(wrong.as_bytes());
            assert!(matches!(found, Err(RequestError::Details(_))), "{wrong}");
        }
        assert_eq!(
            parse(&vec![b' '; MAX_REQUEST + 1]),
            Err(RequestError::TooLong)
        );
    }

    #[test]
    fn deep_nesting_is_an_error() {
        assert!(matches!(
            parse(&vec![b'['; MAX_REQUEST]),
            Err(RequestError::NotJson(_))
        ));
    }

    proptest! {
        #[test]
        fn any_bytes_give_an_answer(line in proptest::collection::vec(any::<u8>(), 0..200)) {
            if let Err(error) = parse(&line) {
                let reply = failure(&error.to_string());
                let value: Value = serde_json::from_slice(&reply).unwrap();
                prop_assert_eq!(value["error"].as_str().unwrap(), error.to_string());
                prop_assert_eq!(reply.iter().filter(|&&byte| byte == b'\n').count(), 1);
            }
        }
    }
}
