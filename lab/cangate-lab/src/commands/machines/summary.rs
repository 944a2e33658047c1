//! The summary after a run. A repetition of the run prints the same bytes.

use console::Failure;
use guest::lockstep::{LinkKind, LockstepOutcome, LockstepPlan, RecordKind};
use std::io::Write as _;
use std::time::Duration;

/// Prints the ends of the machines, the sums of the links, the checks, and the digest.
pub(super) fn print(plan: &LockstepPlan, outcome: &LockstepOutcome) -> Result<(), Failure> {
    let mut out = std::io::stdout().lock();
    writeln!(out)?;
    let names = plan.machines.iter().map(|it| it.name.len());
    let names = names.chain(plan.links.iter().map(|it| it.name.len()));
    let width = names.max().unwrap_or(0);
    for (machine, outcome) in plan.machines.iter().zip(&outcome.machines) {
        let end = match outcome.guest.status {
            Some(status) => format!("exit status {status}"),
            None => "ended with the others".to_owned(),
        };
        let at = seconds(outcome.report.end);
        writeln!(out, "machine {:width$}  {end}, off at {at} s", machine.name)?;
    }
    for (number, (link, records)) in plan.links.iter().zip(&outcome.links).enumerate() {
        let sum = |count: fn(&guest::lockstep::LinkCounts) -> u64| -> u64 {
            let all = outcome
                .machines
                .iter()
                .filter_map(|it| it.report.links.get(number));
            all.map(count).sum()
        };
        let of_kind = |kind| records.iter().filter(|record| record.kind == kind).count();
        let (what, sent) = match link.kind {
            LinkKind::Can(_) => ("frames", of_kind(RecordKind::Sent)),
            LinkKind::Ethernet(_) => ("packets", of_kind(RecordKind::Sent)),
        };
        let asked = sum(|counts| counts.sent);
        let mut line = format!("{asked} {what} from cards, {sent} on the link");
        for (count, word) in [
            (of_kind(RecordKind::Error) as u64, "errors"),
            (sum(|counts| counts.lost), "lost"),
            (sum(|counts| counts.refused), "not taken by a card"),
        ] {
            line.push_str(&format!(", {count} {word}"));
        }
        let received = sum(|counts| counts.received);
        writeln!(
            out,
            "link    {:width$}  {line}; {received} receptions",
            link.name
        )?;
    }
    let meetings = outcome
        .machines
        .iter()
        .map(|it| it.report.meetings)
        .max()
        .unwrap_or(0);
    let receptions: u64 = outcome
        .machines
        .iter()
        .flat_map(|it| &it.report.links)
        .map(|counts| counts.received + counts.refused)
        .sum();
    writeln!(
        out,
        "checks   {meetings} meetings, 0 late (interval {} ns); {receptions} receptions, 0 late; all machines computed \
         the same links",
        plan.interval().as_nanos()
    )?;
    writeln!(out, "digest   {}", outcome.digest(plan))?;
    Ok(())
}

fn seconds(time: Duration) -> String {
    format!("{}.{:09}", time.as_secs(), time.subsec_nanos())
}
