//! The summary after a run. A repetition of the run prints the same bytes.

use console::Failure;
use experiment::passage::PassageReport;
use guest::lockstep::{
    LinkCounts, LinkKind, LinkPlan, LinkRecord, LockstepOutcome, LockstepPlan, RecordKind,
};
use probe::LatencySummary;
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
        writeln!(
            out,
            "machine  {:width$}  {end}, last meeting at {at} s",
            machine.name
        )?;
    }
    for (number, (link, records)) in plan.links.iter().zip(&outcome.links).enumerate() {
        let machines = outcome.machines.iter();
        let all: Vec<LinkCounts> = machines
            .filter_map(|it| it.report.links.get(number).copied())
            .collect();
        let sums = sums(link, records, &all);
        writeln!(out, "link     {:width$}  {sums}", link.name)?;
    }
    let meetings = outcome.machines.iter().map(|it| it.report.meetings);
    let links = outcome.machines.iter().flat_map(|it| &it.report.links);
    let arrivals: u64 = links.map(|counts| counts.received + counts.refused).sum();
    writeln!(
        out,
        "checks   {} meetings and {arrivals} arrivals, each at its time; the interval is {} ns",
        meetings.max().unwrap_or(0),
        plan.interval().as_nanos()
    )?;
    writeln!(out, "digest   {}", outcome.digest(plan))?;
    Ok(())
}

/// Prints what became of the frames from one bus to another one.
pub(super) fn print_passage(name: &str, report: &PassageReport) -> Result<(), Failure> {
    let counts = report.counts;
    let mut out = std::io::stdout().lock();
    writeln!(
        out,
        "match    {name}  {} in, {} delivered, {} lost, {} doubled, {} overtaken, {} unexpected, {} ambiguous",
        counts.sent,
        counts.matched,
        counts.lost,
        counts.duplicated,
        counts.reordered,
        counts.unexpected,
        counts.ambiguous
    )?;
    let rows = [
        ("end of frame to the far card", report.to_card),
        ("end of frame to end of frame", report.to_bus),
        ("first card to end of frame", report.from_card),
        ("error of the gaps of an ID", report.spacing),
    ];
    for (what, figures) in rows {
        if let Some(LatencySummary { p50, p99, max, .. }) = figures {
            let [p50, p99, max] = [p50, p99, max].map(micro);
            writeln!(
                out,
                "         {what:28}  p50 {p50}, p99 {p99}, at most {max} µs"
            )?;
        }
    }
    Ok(())
}

/// Returns µs with all digits.
fn micro(ns: i64) -> String {
    let sign = if ns < 0 { "-" } else { "" };
    let ns = ns.unsigned_abs();
    format!("{sign}{}.{:03}", ns / 1000, ns % 1000)
}

/// Returns the sums of a link. What the cards sent is on the link, lost, or still waits.
fn sums(link: &LinkPlan, records: &[LinkRecord], all: &[LinkCounts]) -> String {
    let sum = |count: fn(&LinkCounts) -> u64| -> u64 { all.iter().map(count).sum() };
    let of_kind = |kind| records.iter().filter(|record| record.kind == kind).count();
    let (asked, lost) = (sum(|it| it.sent), sum(|it| it.lost));
    let sent = of_kind(RecordKind::Sent);
    match link.kind {
        LinkKind::Can(_) => format!(
            "{asked} frames from cards, {sent} on the bus, {lost} lost, {} failed attempts; {} receptions, {} that \
             the card did not take",
            of_kind(RecordKind::Error),
            sum(|it| it.received),
            sum(|it| it.refused)
        ),
        LinkKind::Ethernet(_) => format!(
            "{asked} packets from cards, {sent} forwarded, {lost} lost; {} without room on the line, {} receptions, \
             {} that the card did not take",
            of_kind(RecordKind::Crowded),
            sum(|it| it.received),
            sum(|it| it.refused)
        ),
    }
}

fn seconds(time: Duration) -> String {
    format!("{}.{:09}", time.as_secs(), time.subsec_nanos())
}

#[cfg(test)]
mod tests {
    use super::*;
    use guest::lockstep::CanLink;

    #[test]
    fn the_sums_of_a_bus_are_those_of_its_machines() {
        let link = LinkPlan {
            name: "body".to_owned(),
            kind: LinkKind::Can(CanLink {
                bitrate: 500_000,
                data_bitrate: None,
                queue: 1,
            }),
            members: vec![0, 1],
        };
        let record = |kind| LinkRecord {
            at: 0,
            asked: 0,
            kind,
            machine: 0,
            bytes: vec![0; 16],
        };
        let records = [RecordKind::Sent, RecordKind::Error, RecordKind::Lost].map(record);
        let counts = |sent, lost, received, refused| LinkCounts {
            sent,
            lost,
            received,
            refused,
        };
        let text = sums(&link, &records, &[counts(2, 1, 0, 0), counts(0, 0, 0, 1)]);
        assert_eq!(
            text,
            "2 frames from cards, 1 on the bus, 1 lost, 1 failed attempts; 0 receptions, 1 that the card did not take"
        );
        assert_eq!(micro(1_002_003), "1002.003");
        assert_eq!(seconds(Duration::from_nanos(2_000_000_005)), "2.000000005");
    }
}
