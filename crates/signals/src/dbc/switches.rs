//! Multiplexer switches: which signal decides whether a frame contains another one.

use crate::shown::shown;
use alloc::borrow::ToOwned as _;
use alloc::collections::BTreeMap;
use alloc::format;
use alloc::string::{String, ToString as _};
use alloc::vec::Vec;
use core::ops::RangeInclusive;

/// The most switches between a signal and one that each frame contains. Real files have up to 3.
const MAX_DEPTH: usize = 16;

/// The switch of a signal, and its values: `SG_MUL_VAL_`.
#[derive(Clone)]
pub(super) struct SwitchStatement {
    pub(super) switch: String,
    pub(super) values: Vec<RangeInclusive<u64>>,
}

/// The switch of a signal, if it has one, or the reason why it is unknown.
pub(super) type SwitchResult = Result<Option<SwitchStatement>, String>;

/// A signal of a message, as far as its switch is concerned.
#[derive(Clone, Copy)]
pub(super) struct SwitchedName<'a> {
    pub(super) name: &'a str,
    /// `M`, `m3` or `m3M`; empty for a signal that each frame contains.
    pub(super) indicator: &'a str,
}

/// Returns the switch of each signal of a message: by its own statement, else by its indicator.
pub(super) fn find_switches(
    signals: &[SwitchedName<'_>],
    statement_of: impl Fn(&str) -> Option<SwitchStatement>,
) -> Vec<SwitchResult> {
    let mut marked = signals.iter().filter(|signal| signal.indicator == "M");
    let root = match (marked.next(), marked.next()) {
        (Some(one), None) => Ok(one.name),
        (None, _) => Err("no signal of the message is its multiplexer switch (`M`)"),
        (Some(_), Some(_)) => Err(
            "several signals are marked as multiplexer switch (`M`), and no SG_MUL_VAL_ names its own",
        ),
    };
    let of = |signal: &SwitchedName<'_>| match statement_of(signal.name) {
        Some(own) => Ok(Some(own)),
        None => by_indicator(signal.indicator, root),
    };
    signals.iter().map(of).collect()
}

/// Returns the switch by the indicator of the `SG_`. `root` is the only signal of the message that
/// is marked `M`.
fn by_indicator(indicator: &str, root: Result<&str, &str>) -> SwitchResult {
    let Some(number) = indicator.strip_prefix('m') else {
        return Ok(None);
    };
    let number = number.strip_suffix('M').unwrap_or(number);
    let Ok(value) = number.parse::<u64>() else {
        let problem =
            "`m` without a value: write `M` for the switch itself, `m0` for a signal of value 0";
        return Err(problem.to_owned());
    };
    let switch = root?.to_owned();
    let values = Vec::from([value..=value]);
    Ok(Some(SwitchStatement { switch, values }))
}

/// Returns the signals whose switches do not lead to a signal that each frame contains, with the
/// reason.
pub(super) fn without_root(
    signals: &[SwitchedName<'_>],
    switches: &[SwitchResult],
) -> Vec<(usize, String)> {
    let mut positions = BTreeMap::new();
    for (index, signal) in signals.iter().enumerate() {
        positions.entry(signal.name).or_insert(index);
    }
    let lead = |index: usize| {
        let mut at = index;
        for _ in 0..=MAX_DEPTH {
            let name = match &switches[at] {
                Ok(None) => return None,
                Ok(Some(own)) => &*own.switch,
                Err(problem) => return Some(problem.to_string()),
            };
            match positions.get(name) {
                Some(switch) => at = *switch,
                None => {
                    return Some(format!(
                        "its multiplexer switch {} is not in the message",
                        shown(name)
                    ));
                }
            }
        }
        Some(format!(
            "its multiplexer switches depend on one another, or are more than {MAX_DEPTH}"
        ))
    };
    let all = 0..signals.len();
    all.filter_map(|index| Some((index, lead(index)?)))
        .collect()
}
