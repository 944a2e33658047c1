//! Requests on the control socket: any bytes give a request or an error with a description.

use crate::Target;
use gateway::control::{self, ControlRequest};

/// The target; see the module's documentation.
pub const TARGET: Target = Target {
    name: "control",
    run,
    words: &[
        "{\"cangate\":1,\"do\":\"stats\"}",
        "\"cangate\"",
        ":1",
        "\"do\"",
        "\"reload\"",
        "\"shutdown\"",
        "\"send\",\"port\":\"a\",\"frames\":[\"123#11\"]",
        "\"watch\",\"ports\":[\"a\"]",
        "[[[[[[[[",
        "{\"a\":",
        "\\u0000",
        "\\ud800",
        "1e999",
        "-0",
    ],
};

fn run(input: &[u8]) {
    match control::parse(input) {
        Ok(request) => {
            assert!(ControlRequest::WORDS.contains(&request.word()));
            // What a client would write is the same request.
            assert_eq!(control::parse(&request.line()), Ok(request));
        }
        Err(error) => assert!(!error.to_string().is_empty()),
    }
}
