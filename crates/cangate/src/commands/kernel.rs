//! `cangate routes --kernel`: what can-gw does, whoever told it to.

use crate::failure::Failure;
use offload::cangw::{Kernel, Shown, show};
use offload::{Instance, with_causes};
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
                    "rule": shown.rule.to_string(), "mark": shown.mark, "cangate": is_ours(shown),
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
                Some(uid) if is_ours(shown) => format!("a cangate's, mark {uid:08x}"),
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

/// Has a cangate put it there?
fn is_ours(shown: &Shown) -> bool {
    shown.mark.is_some_and(Instance::any_owns)
}
