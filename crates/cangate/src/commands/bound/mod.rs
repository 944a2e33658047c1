//! `cangate bound`: how long a frame can take at worst.

mod json;
mod table;
mod witness;

use crate::cli::bound::Bound;
use crate::failure::Failure;
use crate::input::read_source;
use crate::output;
use analysis::set::{self, MessageSet};
use analysis::{Assessment, BusSpec, Compiled, Lengths, Message};
use std::io::Write;

/// The exit status where a deadline can be missed, or a message has no bound.
const MISSED: u8 = 3;

/// As many messages are named in an error.
const NAMED: usize = 5;

/// A bus and what was found out about it.
struct Found<'s> {
    spec: &'s BusSpec,
    compiled: Compiled,
    assessment: Assessment,
}

pub(crate) fn run(args: &Bound, color: bool) -> Result<(), Failure> {
    let source = read_source(&args.set)?;
    let set = set::load(&source)
        .map_err(|found| Failure::Mistakes(config::render(&source, &found, color)))?;
    if let Some(out) = &args.out {
        output::file(out)?;
    }
    let mut lengths = Lengths::new();
    let all = assess(&set, &mut lengths)?;
    if let Some(id) = &args.witness {
        return witness::run(&all, id, &mut lengths, args.out.as_deref());
    }
    let mut stdout = std::io::stdout().lock();
    if args.json {
        serde_json::to_writer_pretty(&mut stdout, &json::report(&all))
            .map_err(std::io::Error::from)?;
        writeln!(stdout)?;
    } else {
        stdout.write_all(table::render(&all).as_bytes())?;
    }
    missed(&all)
}

fn assess<'s>(set: &'s MessageSet, lengths: &mut Lengths) -> Result<Vec<Found<'s>>, Failure> {
    let each = set.buses.iter().map(|spec| {
        let compiled = Compiled::new(spec, lengths).map_err(Failure::input)?;
        let assessment = compiled.assess(&compiled.arrivals());
        Ok(Found {
            spec,
            compiled,
            assessment,
        })
    });
    each.collect()
}

/// Can the deadline of this message be missed?
fn can_miss(found: &Found<'_>, message: usize) -> bool {
    let bound = found.assessment.messages.get(message).map(|m| m.bound);
    let deadline = found.spec.messages.get(message).map(|m| m.deadline);
    match (bound, deadline) {
        (Some(Ok(bound)), Some(deadline)) => bound.response > deadline,
        _ => true,
    }
}

fn missed(all: &[Found<'_>]) -> Result<(), Failure> {
    let late = all.iter().flat_map(|found| {
        let messages = found.spec.messages.iter().enumerate();
        messages
            .filter(|(i, _)| can_miss(found, *i))
            .map(|(_, message)| label(message))
    });
    let late: Vec<String> = late.collect();
    if late.is_empty() {
        return Ok(());
    }
    let more = late.len().saturating_sub(NAMED);
    let mut text = format!(
        "{} of {} messages can miss their deadline: {}",
        late.len(),
        all.iter()
            .map(|found| found.spec.messages.len())
            .sum::<usize>(),
        late[..late.len() - more].join(", ")
    );
    if more > 0 {
        text.push_str(&format!(" and {more} more"));
    }
    Err(Failure::Ended {
        status: MISSED,
        text,
    })
}

/// A message's ID as candump prints it.
fn id(message: &Message) -> String {
    let id = message.shape.header().id();
    if id.is_eff() {
        format!("{:08X}", id.number())
    } else {
        format!("{:03X}", id.number())
    }
}

/// ID and name.
fn label(message: &Message) -> String {
    let id = id(message);
    match message.name.as_str() {
        "" => id,
        name => format!("{id} {name}"),
    }
}
