//! Plan files of machines in one virtual time: every error has a position within the text and can
//! be displayed; an accepted plan can be run in step.

use crate::Target;
use config::SourceText;
use std::path::Path;

/// The target; see the module's documentation.
pub const TARGET: Target = Target {
    name: "machine_plan",
    run,
    words: &[
        "kernel = \"6.1\"\n",
        "cpu = \"board:4\"\n",
        "interval = \"20us\"\n",
        "limit = \"5s\"\n",
        "skip_idle = false\n",
        "[machines.a]\n",
        "[machines.b]\n",
        "command = \"true\"\n",
        "command = [\"true\", \"x\"]\n",
        "background = true\n",
        "files = { x = \"../x\" }\n",
        "bench = \"timed\"\n",
        "memory = 64\n",
        "[links.l]\n",
        "kind = \"can\"\n",
        "kind = \"ethernet\"\n",
        "machines = [\"a\", \"b\"]\n",
        "bitrate = \"1M\"\n",
        "data_bitrate = \"8M\"\n",
        "rate = 4294967295\n",
        "latency = \"0ns\"\n",
        "jitter = \"584y\"\n",
        "loss = 1e-7\n",
        "queue = \"4GiB\"\n",
        "seed = 9223372036854775807\n",
        "nan",
        "[[[[[[[[",
    ],
};

fn run(input: &[u8]) {
    let text = String::from_utf8_lossy(input);
    let source = SourceText::new("fuzz.toml", text);
    match experiment::lockstep::read(&source, Path::new("/plan")) {
        Ok(plan) => {
            assert!(plan.check().is_ok(), "accepted, and cannot be run");
            let interval = plan.interval();
            assert!(plan.links.iter().all(|link| link.lookahead() >= interval));
        }
        Err(found) => {
            assert!(!found.is_empty(), "refused without a reason");
            super::shown(&source, &found);
        }
    }
}
