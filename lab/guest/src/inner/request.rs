//! The requests of the outer guest to an inner machine's agent, in pieces as in `wire`. Answers are
//! the agent's ordinary pieces.

/// A request to an inner machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum InnerRequest {
    /// Run this: program and arguments. Answers: `Stdout` and `Stderr`, then `Status`; or `Failed`.
    Run(Vec<String>),
    /// Hand out this file. Answers: `Part`, any number of them, then `Status`; or `Failed`.
    Read(String),
}

impl InnerRequest {
    /// Encodes the request as a piece.
    pub(crate) fn parts(&self) -> (u8, Vec<u8>) {
        match self {
            // Arguments of a program never contain a zero byte.
            Self::Run(words) => (1, words.join("\0").into_bytes()),
            Self::Read(path) => (2, path.clone().into_bytes()),
        }
    }

    /// Decodes a piece.
    pub(crate) fn from_parts(kind: u8, bytes: &[u8]) -> Option<Self> {
        let text = std::str::from_utf8(bytes).ok()?;
        match kind {
            1 => Some(Self::Run(text.split('\0').map(str::to_owned).collect())),
            2 => Some(Self::Read(text.to_owned())),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_survive() {
        for request in [
            InnerRequest::Run(vec!["sh".to_owned(), String::new(), "a b".to_owned()]),
            InnerRequest::Read("/tmp/x".to_owned()),
        ] {
            let (kind, bytes) = request.parts();
            assert_eq!(InnerRequest::from_parts(kind, &bytes), Some(request));
        }
        assert_eq!(InnerRequest::from_parts(3, b""), None);
        assert_eq!(InnerRequest::from_parts(1, b"\xff"), None);
    }
}
