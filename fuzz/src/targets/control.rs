//! Requests on the control socket: any bytes give a request that is read again as it was, or an
//! error with a description.

use crate::Target;
use gateway::control::{self, MAX_REQUEST};

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
        "{\"cangate\":1,\"do\":\"send\",\"port\":\"body\",\"frames\":[\"123#11\"]}",
        "{\"cangate\":1,\"do\":\"watch\",\"ports\":[\"body\"]}",
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
            let line = request.line();
            if line.len() <= MAX_REQUEST {
                assert_eq!(control::parse(&line), Ok(request));
            }
        }
        Err(error) => assert!(!error.to_string().is_empty()),
    }
}
