//! The keys of presentation times: those that datagrams get, and the clock of both directions.

use crate::network::datagram::{PresentationRules, TimeScale, TransitRules};
use config::{Diagnostics, TomlTable};
use frame::Nanos;
use net::ieee1722::LONGEST_SPAN;
use std::time::Duration;

/// Longest time from a stamp to its presentation time, ns. A receiver takes a time that is more
/// than a second ahead for one that is over, and its clock can be another one by the rest.
const LONGEST_TRANSIT: Nanos = 500_000_000;

/// Values of `timescale`.
pub(super) const SCALES: [(&str, TimeScale); 2] =
    [("tai", TimeScale::Tai), ("utc", TimeScale::Utc)];

/// The keys.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct PresentationKeys {
    pub(super) max_transit: Option<Nanos>,
    pub(super) scale: TimeScale,
    /// Frames that come in are handed on at their presentation times.
    pub(super) reads: bool,
}

impl PresentationKeys {
    /// Reports values that are wrong or have no effect.
    pub(super) fn check(
        &self,
        table: &TomlTable<'_>,
        pack: Nanos,
        brief: bool,
        found: &mut Diagnostics,
    ) {
        match self.max_transit {
            None => {}
            Some(0) => {
                let hint = "leave it out, and datagrams have no presentation time";
                table.wrong("max_transit", "`max_transit` must be above 0", hint, found);
            }
            Some(time) if time > LONGEST_TRANSIT => {
                let message =
                    "`max_transit` is at most 500 ms: presentation times repeat every 4.29 s";
                let hint = "for a longer time, use `delay` at the other side, which goes by the time stamps";
                table.wrong("max_transit", message, hint, found);
            }
            Some(time) if pack >= time => {
                let message = "frames would leave after their presentation times: `pack` is not below `max_transit`";
                let hint =
                    "write a `pack` that leaves time for the network, or a longer `max_transit`";
                table.wrong("pack", message, hint, found);
            }
            Some(_) if brief && pack > 0 => {
                let message = "`pack` has no effect with `brief` and `max_transit`: a datagram without stamps has one \
                               time for all its frames";
                let hint = "leave out `brief` or `pack`";
                table.wrong("pack", message, hint, found);
            }
            Some(_) => {}
        }
        if table.has("timescale") && self.max_transit.is_none() && !self.reads {
            let message =
                "`timescale` is for a port with `max_transit` or `delay = \"presentation\"`";
            let hint = "leave it out, or add one of them, such as `max_transit = \"20ms\"`";
            table.wrong("timescale", message, hint, found);
        }
    }

    /// Returns the rules. `brief`: messages have no stamps, so that frames share a datagram only if
    /// they have the same one.
    pub(super) fn rules(&self, brief: bool) -> PresentationRules {
        PresentationRules {
            scale: self.scale,
            sends: self.max_transit.map(|max_transit| TransitRules {
                max_transit,
                span: if brief { 0 } else { LONGEST_SPAN },
            }),
            reads: self.reads,
        }
    }

    /// Returns the name of the time scale.
    pub(super) const fn scale_words(&self) -> &'static str {
        match self.scale {
            TimeScale::Tai => "TAI",
            TimeScale::Utc => "UTC",
        }
    }

    /// Returns the words of `cangate check` for what is sent.
    pub(super) fn words(&self) -> String {
        self.max_transit.map_or_else(String::new, |time| {
            let time = format!("{:?}", Duration::from_nanos(time)).replace('µ', "u");
            let scale = self.scale_words();
            format!("; presentation times {time} after the stamps ({scale})")
        })
    }
}
