//! `cangate routes --kernel`: what can-gw does, whoever told it to.

use crate::failure::{Failure, with_causes};
use offload::cangw::{Kernel, show};
use serde_json::{Value, json};
use std::io::Write;

/// Prints the rules.
pub(crate) fn routes(as_json: bool) -> Result<(), Failure> {
    let failed = |error: offload::cangw::Error| Failure::Run(with_causes(&error));
    let mut kernel = Kernel::open().map_err(failed)?;
    let rules = show(&mut kernel).map_err(failed)?;
    let text = if as_json {
        let rows: Vec<Value> = rules
            .iter()
            .map(|shown| {
                json!({
                    "rule": shown.rule.to_string(), "mark": shown.mark,
                    "handled": shown.counters.handled, "dropped": shown.counters.dropped,
                    "deleted": shown.counters.deleted,
                })
            })
            .collect();
        format!("{:#}\n", Value::from(rows))
    } else if rules.is_empty() {
        "can-gw has no rules here\n".to_owned()
    } else {
        let mut text = String::new();
        for shown in &rules {
            let c = &shown.counters;
            let whose = match shown.mark {
                Some(uid) if uid & OURS != 0 => format!("a cangate's, mark {uid:08x}"),
                Some(uid) => format!("another's, mark {uid:08x}"),
                None => "another's".to_owned(),
            };
            text.push_str(&format!(
                "{}\n  {whose}; {} handled, {} dropped, {} deleted\n",
                shown.rule, c.handled, c.dropped, c.deleted
            ));
        }
        text
    };
    std::io::stdout().write_all(text.as_bytes())?;
    Ok(())
}

/// The bit that every mark of ours has ([`offload::cangw::Instance`]).
const OURS: u32 = 0x8000_0000;
