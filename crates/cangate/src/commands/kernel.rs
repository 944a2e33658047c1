//! `cangate routes --kernel`: the rules of can-gw, from any program, and the BPF tables of all
//! cangate processes.

use console::Failure;
use offload::bpf::{ListedTable, TableInfo};
use offload::cangw::ListedRule;
use offload::{DataPath, GatewayInstance, KERNEL_PATHS, PathListing, RouteCounts, with_causes};
use serde_json::{Value, json};
use std::io::Write;

/// Prints the contents of each data path.
pub(crate) fn routes(as_json: bool) -> Result<(), Failure> {
    let mut value = json!({});
    let mut unknown = Vec::new();
    let mut text = String::new();
    // One data path can be readable without the other.
    for path in KERNEL_PATHS.into_iter().rev() {
        let key = match path.data_path() {
            DataPath::Bpf => "bpf",
            DataPath::CanGw => "can_gw",
            DataPath::Process => "process",
        };
        let (list, words) = match path.list() {
            Ok(PathListing::Rules(all)) => (rules(&all), rules_in_words(&all)),
            Ok(PathListing::Tables(all)) => (tables(&all), tables_in_words(&all)),
            Err(error) => {
                let why = with_causes(&error);
                unknown.push(why.clone());
                (Vec::new(), why + "\n")
            }
        };
        value[key] = json!(list);
        text.push_str(&words);
    }
    if as_json {
        value["unknown"] = json!(unknown);
        text = format!("{value:#}\n");
    }
    std::io::stdout().write_all(text.as_bytes())?;
    Ok(())
}

fn rules(all: &[ListedRule]) -> Vec<Value> {
    let rule = |shown: &ListedRule| {
        json!({
            "rule": shown.rule.to_string(), "mark": shown.mark, "cangate": is_ours(shown),
            "handled": shown.counters.handled, "dropped": shown.counters.dropped,
            "deleted": shown.counters.deleted,
        })
    };
    all.iter().map(rule).collect()
}

fn rules_in_words(all: &[ListedRule]) -> String {
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

/// Returns whether a cangate process installed it.
fn is_ours(shown: &ListedRule) -> bool {
    shown.mark.is_some_and(GatewayInstance::any_owns)
}

fn tables(all: &[ListedTable]) -> Vec<Value> {
    let route = |(name, c): &(String, RouteCounts)| {
        json!({
            "name": name, "taken": c.taken, "sent": c.sent, "failed": c.failed,
            "stopped": stopped(c),
        })
    };
    let table = |shown: &ListedTable| {
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

fn tables_in_words(all: &[ListedTable]) -> String {
    if all.is_empty() {
        return "no cangate routes by BPF here\n".to_owned();
    }
    let mut text = String::new();
    for shown in all {
        let at = shown.interfaces.join(", ");
        text.push_str(&format!("BPF program {} at {at}\n  ", shown.program));
        let Some(table) = &shown.table else {
            text.push_str("it cannot be read: run this as root, with the cangate that made it\n");
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

fn state(table: &TableInfo) -> String {
    match (table.runs, table.process, table.persisted) {
        (true, Some(process), _) => format!("process {process}"),
        (true, None, _) => "whose process runs".to_owned(),
        (false, _, true) => "left there by --persist".to_owned(),
        (false, _, false) => "left there by a process that died".to_owned(),
    }
}
