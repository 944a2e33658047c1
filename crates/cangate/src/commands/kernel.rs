//! `cangate routes --kernel`: what can-gw does, whoever told it to, and what cangates have put
//! there as BPF.

use crate::failure::Failure;
use offload::bpf::{self, ShownTable};
use offload::cangw::{self, Kernel};
use offload::{Instance, RouteCounts, with_causes};
use serde_json::{Value, json};
use std::io::Write;

/// Prints both.
pub(crate) fn routes(as_json: bool) -> Result<(), Failure> {
    // One can be had without the other.
    let can_gw = Kernel::open().and_then(|mut kernel| cangw::show(&mut kernel));
    let can_gw = can_gw.map_err(|error| with_causes(&error));
    let bpf = bpf::show().map_err(|error| with_causes(&error));
    let text = if as_json {
        let unknown: Vec<&String> = can_gw
            .as_ref()
            .err()
            .into_iter()
            .chain(bpf.as_ref().err())
            .collect();
        let value = json!({
            "can_gw": can_gw.as_deref().map(rules).unwrap_or_default(),
            "bpf": bpf.as_deref().map(tables).unwrap_or_default(),
            "unknown": unknown,
        });
        format!("{value:#}\n")
    } else {
        let can_gw = can_gw.map_or_else(|why| why + "\n", |rules| rules_in_words(&rules));
        let bpf = bpf.map_or_else(|why| why + "\n", |tables| tables_in_words(&tables));
        format!("{can_gw}{bpf}")
    };
    std::io::stdout().write_all(text.as_bytes())?;
    Ok(())
}

fn rules(all: &[cangw::Shown]) -> Vec<Value> {
    let rule = |shown: &cangw::Shown| {
        json!({
            "rule": shown.rule.to_string(), "mark": shown.mark, "cangate": is_ours(shown),
            "handled": shown.counters.handled, "dropped": shown.counters.dropped,
            "deleted": shown.counters.deleted,
        })
    };
    all.iter().map(rule).collect()
}

fn rules_in_words(all: &[cangw::Shown]) -> String {
    if all.is_empty() {
        return "can-gw has no rules here\n".to_owned();
    }
    let mut text = String::new();
    for shown in all {
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
}

/// Has a cangate put it there?
fn is_ours(shown: &cangw::Shown) -> bool {
    shown.mark.is_some_and(Instance::any_owns)
}

fn tables(all: &[bpf::Shown]) -> Vec<Value> {
    let route = |(name, c): &(String, RouteCounts)| {
        json!({
            "name": name, "taken": c.taken, "sent": c.sent, "failed": c.failed,
            "stopped": stopped(c),
        })
    };
    let table = |shown: &bpf::Shown| {
        let mut row = json!({ "program": shown.program, "interfaces": shown.interfaces });
        if let Some(table) = &shown.table {
            row["gateway"] = json!(table.instance);
            row["runs"] = json!(table.runs);
            row["process"] = json!(table.process);
            row["persisted"] = json!(table.persisted);
            row["routes"] = table.routes.iter().map(route).collect();
        }
        row
    };
    all.iter().map(table).collect()
}

fn tables_in_words(all: &[bpf::Shown]) -> String {
    if all.is_empty() {
        return "no cangate routes by BPF here\n".to_owned();
    }
    let mut text = String::new();
    for shown in all {
        let at = shown.interfaces.join(", ");
        text.push_str(&format!("BPF program {} at {at}\n  ", shown.program));
        let Some(table) = &shown.table else {
            text.push_str("it cannot be read: root can, with the cangate that made it\n");
            continue;
        };
        text.push_str(&format!("gateway {}, {}\n", table.instance, state(table)));
        for (name, counts) in &table.routes {
            text.push_str(&format!(
                "  route {name}: {} taken, {} sent, {} failed, {} stopped\n",
                counts.taken.unwrap_or(0),
                counts.sent,
                counts.failed,
                stopped(counts)
            ));
        }
    }
    text
}

fn stopped(counts: &RouteCounts) -> u64 {
    let all = counts.stopped.iter();
    all.fold(0, |sum, more| sum.saturating_add(*more))
}

fn state(table: &ShownTable) -> String {
    match (table.runs, table.process, table.persisted) {
        (true, Some(process), _) => format!("process {process}"),
        (true, None, _) => "whose process runs".to_owned(),
        (false, _, true) => "left there by --persist".to_owned(),
        (false, _, false) => "left there by a process that died".to_owned(),
    }
}
