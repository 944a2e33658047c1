//! The byte format of requests and replies.

use serde::Serialize;
use serde_json::Value;

/// The version of the protocol: the value of `cangate` in every request and reply.
pub const VERSION: u64 = 1;

/// The maximum length of a request in bytes, including its newline.
pub const MAX_REQUEST: usize = 64 * 1024;

/// A request of a client.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
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
}

impl ControlRequest {
    /// All requests.
    pub const ALL: [Self; 5] = [
        Self::Ping,
        Self::Stats,
        Self::Routes,
        Self::Reload,
        Self::Shutdown,
    ];

    /// Returns the word for the request in the protocol.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Ping => "ping",
            Self::Stats => "stats",
            Self::Routes => "routes",
            Self::Reload => "reload",
            Self::Shutdown => "shutdown",
        }
    }

    /// Returns the request as a line.
    #[must_use]
    pub fn line(self) -> Vec<u8> {
        format!("{{\"cangate\":{VERSION},\"do\":\"{}\"}}\n", self.word()).into_bytes()
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
}

fn words() -> String {
    ControlRequest::ALL.map(ControlRequest::word).join(", ")
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
    let word = value
        .get("do")
        .and_then(Value::as_str)
        .ok_or(RequestError::NoCommand)?;
    ControlRequest::ALL
        .into_iter()
        .find(|request| request.word() == word)
        .ok_or_else(|| RequestError::NoSuchCommand(word.chars().take(40).collect()))
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
        for request in ControlRequest::ALL {
            assert_eq!(parse(&request.line()), Ok(request));
        }
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
