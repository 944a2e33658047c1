//! `cangate lab rate`.

use super::guests::{LabGuests, stop_flag};
use super::measure::{checked, from_options};
use super::overview::{RunOverview, TimeLeft};
use super::units::micros;
use crate::cli::experiment::Rate as Args;
use console::Failure;
use console::output;
use experiment::rate::{self, RateLimitedBy, RateSearch, RateTry, SearchedRate};
use experiment::schedule::{self, ScheduleOptions, ScheduleTally, Versions};
use experiment::settings::Setting;
use experiment::store::ResultStore;
use experiment::{Experiment, TrafficPattern};
use std::io::Write;
use std::sync::atomic::AtomicBool;

/// Searches for a gateway's highest rate.
pub(crate) fn run(args: &Args) -> Result<(), Failure> {
    let mut experiment = from_options(&args.settings)?;
    experiment.traffic = TrafficPattern::Flood;
    let frames = Setting::Frames.apply(&mut experiment, &args.frames);
    frames.map_err(Failure::input)?;
    let experiment = checked(experiment)?;
    output::folder(&args.out)?;
    let store = ResultStore::open(&args.out).map_err(Failure::run)?;
    let guests = LabGuests::open(&args.locations, false)?;
    guests.check([&experiment])?;
    let stop = stop_flag()?;
    let versions =
        schedule::versions(&guests, std::slice::from_ref(&experiment)).map_err(Failure::run)?;
    let mut searches = [RateSearch::new(&experiment)];
    let options = ScheduleOptions {
        jobs: 1,
        retry_failed: true,
    };
    let mut left = TimeLeft::new(options.jobs);
    make(
        &guests,
        &store,
        &versions,
        &mut searches,
        options,
        &stop,
        &mut left,
    )?;
    let [search] = &searches;
    let rate = match search.end() {
        Some(Ok(rate)) => rate,
        Some(Err(failed)) => {
            return Err(Failure::Run(format!("an attempt failed: {}", failed.why)));
        }
        None => return Err(Failure::Run("the search did not finish".to_owned())),
    };
    let text = if args.json {
        json(search, rate)?
    } else {
        text(search, rate)
    };
    std::io::stdout().write_all(text.as_bytes())?;
    Ok(())
}

/// Runs searches to their ends, several guests at a time; returns the number of experiments needed.
pub(super) fn make(
    guests: &LabGuests,
    store: &ResultStore,
    versions: &Versions,
    searches: &mut [RateSearch],
    options: ScheduleOptions,
    stop: &AtomicBool,
    left: &mut TimeLeft,
) -> Result<ScheduleTally, Failure> {
    let find =
        |e: &Experiment| store.find(e, versions.get(&e.kernel).map_or(&[][..], Vec::as_slice));
    let mut all = ScheduleTally::default();
    // An earlier failure is a result, unless it should be tried again: then it is tried once.
    let mut again: Vec<_> = Vec::new();
    if options.retry_failed {
        for search in searches.iter() {
            let mut search = search.clone();
            if search.follow(&find).is_none() && matches!(search.end(), Some(Err(_))) {
                again.extend(search.failing());
            }
        }
    }
    let mut rounds = 0;
    let mut round = |searches: &[RateSearch], todo: &[Experiment]| {
        rounds += 1;
        left.expect(searches, todo);
        let to_come = searches
            .iter()
            .map(RateSearch::tries_left)
            .max()
            .unwrap_or(0);
        eprintln!(
            "round {rounds} of the search for rates, {}; about {} more to come",
            count(todo.len(), "try", "tries"),
            to_come.saturating_sub(1)
        );
        let mut overview = RunOverview::new(todo, left);
        let tally = schedule::run(guests, store, todo, options, stop, &mut |event| {
            overview.event(event);
        });
        overview.finish(store.dir());
        let tally = tally?;
        all.made += tally.made;
        all.failed += tally.failed;
        Ok(tally)
    };
    if !again.is_empty() {
        round(searches, &again).map_err(Failure::run)?;
    }
    rate::search_in_rounds(searches, &find, &mut round).map_err(Failure::run)?;
    let tried: usize = searches.iter().map(|s| s.tried().len()).sum();
    all.kept = tried.saturating_sub(all.made);
    Ok(all)
}

/// Formats a number with its noun.
fn count(n: usize, one: &str, many: &str) -> String {
    format!("{n} {}", if n == 1 { one } else { many })
}

fn json(search: &RateSearch, rate: &SearchedRate) -> Result<String, Failure> {
    let json = serde_json::json!({
        "experiment": title(search),
        "rate": rate,
        "tries": search.tried(),
        "time": "virtual",
    });
    let text = serde_json::to_string_pretty(&json).map_err(Failure::run)?;
    Ok(format!("{text}\n"))
}

fn text(search: &RateSearch, rate: &SearchedRate) -> String {
    let mut text = format!("{}\n\n", title(search));
    for tried in search.tried() {
        text.push_str(&line(tried));
    }
    text.push('\n');
    let rest = match (&rate.bound, &rate.failed) {
        (RateLimitedBy::Bus, _) => {
            "highest rate without loss: that of the bus. A flood loses nothing, so the bus, or the \
             sender on a bench without bus time, is the limit. A slower processor (--cpu shift:N, \
             board:N) makes the gateway the limit.\n"
                .to_owned()
        }
        (RateLimitedBy::None, _) => "no rate without loss was found\n".to_owned(),
        (RateLimitedBy::Gateway, failed) => {
            let least = failed.as_ref().map_or(String::new(), |f| {
                format!("; at {:.1} {}", f.frames_per_s, fate(f))
            });
            format!(
                "highest rate without loss: {:.1} frames/s, one in {:.2} µs{least}\n",
                rate.frames_per_s,
                1e6 / rate.frames_per_s
            )
        }
    };
    text.push_str(&rest);
    if rate.bound == RateLimitedBy::Bus {
        text.push_str(&format!("that was {:.1} frames/s\n", rate.frames_per_s));
    }
    text
}

/// Returns the title of a search.
fn title(search: &RateSearch) -> String {
    let base = search.base();
    format!("highest rate of {} ({} frames)", base.title(), base.frames)
}

fn line(tried: &RateTry) -> String {
    let latency = tried.latency_ns.map_or(String::new(), |l| {
        format!("   p50 {} µs, max {} µs", micros(l.p50), micros(l.max))
    });
    format!(
        "{:<18} {:>10.1} frames/s   {}{latency}\n",
        tried.traffic,
        tried.frames_per_s,
        fate(tried)
    )
}

/// Formats the fates of an attempt's frames.
fn fate(tried: &RateTry) -> String {
    if tried.lost > 0 {
        format!("lost {} of {}", tried.lost, tried.sent)
    } else if tried.queue_grows {
        "lost none yet, but a queue grows".to_owned()
    } else {
        "lost none".to_owned()
    }
}
