//! `cangate lab reproduce`.

use super::guests::{LabGuests, jobs, stop_flag};
use super::overview::{RunOverview, TimeLeft};
use super::rate;
use super::units::{clock, micros};
use crate::cli::lab::{LIST_CLAIMS, Reproduce};
use claims::reproduce::{ResultRow, judge, plan, printed, searches, select, write};
use claims::{Claim, ClaimKind, Extent, OwnShare, Paper, Verdict};
use console::Failure;
use console::output;
use experiment::schedule::{self, ScheduleOptions};
use experiment::store::ResultStore;
use guest::with_causes;
use std::collections::{BTreeMap, BTreeSet};
use std::io::Write;
use std::time::Instant;

/// Tests the papers' claims.
pub(crate) fn run(args: &Reproduce) -> Result<(), Failure> {
    let extent = if args.quick {
        Extent::Quick
    } else {
        Extent::Full
    };
    let wanted = |claims: Vec<Claim>| -> Vec<Claim> {
        let keeps = |claim: &Claim| {
            !(args.without_machines && claim.has_machines(extent)
                || args.without_searches && claim.has_searches(extent))
        };
        claims.into_iter().filter(keeps).collect()
    };
    if matches!(args.claims.as_slice(), [word] if word == LIST_CLAIMS) && !args.list {
        let claims = wanted(select(&[]).map_err(Failure::input)?);
        return list_briefly(&claims, extent, args.json);
    }
    let named = args.claims.iter().filter(|name| *name != LIST_CLAIMS);
    let claims = select(&named.cloned().collect::<Vec<_>>()).map_err(|wrong| {
        Failure::Input(format!("{wrong}; `--claims list` describes each claim"))
    })?;
    let claims = wanted(claims);
    if claims.is_empty() {
        return Err(Failure::Input(
            "every claim that was named has virtual machines or searches for rates: leave out \
             --without-machines and --without-searches"
                .to_owned(),
        ));
    }
    if args.list {
        return list(&claims, extent, args.json);
    }
    let experiments = plan(&claims, extent);
    let options = ScheduleOptions {
        jobs: jobs(args.jobs)?,
        retry_failed: args.retry_failed,
    };
    let started = Instant::now();
    output::folder(&args.out)?;
    let store = ResultStore::open(&args.out).map_err(Failure::run)?;
    let guests = LabGuests::open(&args.locations, false)?;
    let mut searches = searches(&claims, extent);
    guests.check(
        experiments
            .iter()
            .chain(searches.iter().map(experiment::rate::RateSearch::base)),
    )?;
    let stop = stop_flag()?;
    let mut left = TimeLeft::new(options.jobs);
    left.expect(&searches, &[]);
    let mut overview = RunOverview::new(&experiments, &mut left);
    let tally = schedule::run(
        &guests,
        &store,
        &experiments,
        options,
        &stop,
        &mut |event| {
            overview.event(event);
        },
    );
    overview.finish(&args.out);
    let mut tally = tally.map_err(Failure::run)?;
    let bases = searches.iter().map(|s| s.base().clone());
    let all: Vec<_> = experiments.iter().cloned().chain(bases).collect();
    let versions = schedule::versions(&guests, &all).map_err(Failure::run)?;
    let made = rate::make(
        &guests,
        &store,
        &versions,
        &mut searches,
        options,
        &stop,
        &mut left,
    )?;
    tally.made += made.made;
    tally.kept += made.kept;
    tally.failed += made.failed;
    let mut begin = |what: &str| eprintln!("measuring {what} in one guest");
    let printed = printed(&guests, &store, &claims, extent, &mut begin).map_err(Failure::run)?;
    let rows = judge(&store, &versions, printed, &claims, extent);
    write(&store, &rows).map_err(Failure::run)?;
    // Without any result there is no content for a site.
    let site = if tally.made + tally.kept > 0 {
        let out = args.out.join("site");
        let site = report::site::write(&args.out, &out);
        Some(site.map_err(|e| Failure::Run(with_causes(&e)))?.index)
    } else {
        None
    };
    let mut out = std::io::stdout().lock();
    if args.json {
        let text = serde_json::to_string_pretty(&rows).map_err(Failure::run)?;
        writeln!(out, "{text}")?;
    } else {
        out.write_all(text(&rows).as_bytes())?;
        writeln!(
            out,
            "\n{} experiments run, {} existed already, {} failed, in {}",
            tally.made,
            tally.kept,
            tally.failed,
            clock(started.elapsed())
        )?;
        if let Some(index) = site {
            writeln!(out, "page: {}", index.display())?;
        }
    }
    if tally.failed > 0 {
        return Err(Failure::Run(format!(
            "{} experiments failed; their claims have no verdict",
            tally.failed
        )));
    }
    Ok(())
}

/// Formats the table, with several lines per claim: the sentences do not fit into columns.
fn text(rows: &[ResultRow]) -> String {
    let mut text = String::new();
    for row in rows {
        let (from, verdict) = match row.kind {
            ClaimKind::Bound => ("bound:", bound_words(row.verdict).to_owned()),
            _ => ("paper:", row.verdict.to_string()),
        };
        text.push_str(&format!(
            "{:<4} {} ({})\n     {from:<9} {}\n     measured: {}\n     {verdict}: {}\n",
            row.id, row.claim, row.source, row.paper, row.measured, row.why
        ));
        text.push_str(&own_shares(&row.own_shares));
        text.push('\n');
    }
    for (kind, what, [good, bad]) in [
        (ClaimKind::Paper, "claims", ["reproduced", "differ"]),
        (
            ClaimKind::OtherDataPath,
            "on other data paths",
            ["reproduced", "differ"],
        ),
        (ClaimKind::Bound, "bounds", ["met", "not met"]),
    ] {
        let of = |verdict| {
            let rows = rows.iter().filter(|r| r.kind == kind);
            rows.filter(|r| r.verdict == verdict).count()
        };
        let [yes, no, unknown] =
            [Verdict::Reproduced, Verdict::Differs, Verdict::NotTestable].map(of);
        if yes + no + unknown > 0 {
            text.push_str(&format!(
                "{what}: {yes} {good}, {no} {bad}, {unknown} not testable here\n"
            ));
        }
    }
    text
}

/// Number of own shares that fit into the table; `--json` and the site have all.
const SHARES: usize = 6;

/// Formats the gateway's own part of each median, µs.
fn own_shares(all: &[OwnShare]) -> String {
    let mut text = String::new();
    for share in all.iter().take(SHARES) {
        text.push_str(&format!(
            "     own share: {} = {} - {} of the bench ({})\n",
            micros(share.own()),
            micros(share.p50),
            micros(share.floor),
            share.what
        ));
    }
    if all.len() > SHARES {
        let more = all.len() - SHARES;
        text.push_str(&format!("     own share: {more} more with --json\n"));
    }
    text
}

/// Returns the word for a verdict on a bound.
fn bound_words(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Reproduced => "met",
        Verdict::Differs => "not met",
        Verdict::NotTestable => "not testable here",
    }
}

/// Lists each claim in one line, with its source.
fn list_briefly(claims: &[Claim], extent: Extent, json: bool) -> Result<(), Failure> {
    if json {
        return list(claims, extent, true);
    }
    let mut out = std::io::stdout().lock();
    for claim in claims {
        writeln!(out, "{:<10} {} ({})", claim.id, claim.claim, claim.origin)?;
    }
    writeln!(
        out,
        "\nTo test some of them: --claims G4,O1. Their figures and criteria, and the papers in full: --list"
    )?;
    Ok(())
}

/// Lists the text of each claim, its criterion, and the papers in full.
fn list(claims: &[Claim], extent: Extent, json: bool) -> Result<(), Failure> {
    let papers = |claim: &Claim| -> Vec<Paper> { claim.origin.papers().collect() };
    let mut out = std::io::stdout().lock();
    if json {
        let one = |claim: &Claim| {
            let cited = papers(claim);
            let cited = cited.iter().map(|p| (p.key(), p.citation()));
            serde_json::json!({
                "id": claim.id,
                "claim": claim.claim,
                "source": claim.origin.to_string(),
                "paper": claim.figure,
                "criterion": claim.criterion,
                "kind": claim.kind(),
                "machines": claim.has_machines(extent),
                "searches": claim.has_searches(extent),
                "papers": cited.collect::<BTreeMap<_, _>>(),
            })
        };
        let all: Vec<_> = claims.iter().map(one).collect();
        let text = serde_json::to_string_pretty(&all).map_err(Failure::run)?;
        writeln!(out, "{text}")?;
        return Ok(());
    }
    let mut cited = BTreeSet::new();
    for claim in claims {
        writeln!(
            out,
            "{:<4} {} ({})\n     figure:    {}\n     criterion: {}\n",
            claim.id, claim.claim, claim.origin, claim.figure, claim.criterion
        )?;
        cited.extend(papers(claim));
    }
    for paper in cited {
        writeln!(out, "{}: {}", paper.key(), paper.citation())?;
    }
    Ok(())
}
