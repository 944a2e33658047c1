//! Multiplexer switches: which signal decides whether a frame contains another one.

use super::signal::{DraftSignal, SignalStatements};
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

/// Returns the switch of each signal of a message: by its `SG_MUL_VAL_`, else by its indicator.
pub(super) fn find_switches(
    raw: u32,
    drafts: &[DraftSignal],
    statements: &SignalStatements,
) -> Vec<SwitchResult> {
    let mut marked = drafts.iter().filter(|draft| draft.indicator == "M");
    let root = match (marked.next(), marked.next()) {
        (Some(one), None) => Ok(&*one.name),
        (None, _) => Err("no signal of the message is its multiplexer switch (`M`)"),
        (Some(_), Some(_)) => Err(
            "several signals are marked as multiplexer switch (`M`), and no SG_MUL_VAL_ names its own",
        ),
    };
    let of = |draft: &DraftSignal| {
        let own = statements.switches.get(&(raw, draft.name.clone()));
        match own {
            Some(own) => Ok(Some(own.clone())),
            None => by_indicator(draft, root),
        }
    };
    drafts.iter().map(of).collect()
}

/// Returns the switch by the indicator of the `SG_`. `root` is the only signal of the message that
/// is marked `M`.
fn by_indicator(draft: &DraftSignal, root: Result<&str, &str>) -> SwitchResult {
    let Some(number) = draft.indicator.strip_prefix('m') else {
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
    drafts: &[DraftSignal],
    switches: &[SwitchResult],
) -> Vec<(usize, String)> {
    let mut positions = BTreeMap::new();
    for (index, draft) in drafts.iter().enumerate() {
        positions.entry(&*draft.name).or_insert(index);
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
                        "its multiplexer switch {name} is not in the message"
                    ));
                }
            }
        }
        Some(format!(
            "its multiplexer switches depend on one another, or are more than {MAX_DEPTH}"
        ))
    };
    let all = 0..drafts.len();
    all.filter_map(|index| Some((index, lead(index)?)))
        .collect()
}
