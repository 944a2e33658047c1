//! `do = [ … ]`: the changes of a frame, in this order.

use crate::Action;
use crate::text::limits::FrameLimits;
use ::config::{Diagnostic, Diagnostics, TomlTable, TomlValue};
use alloc::format;
use alloc::vec::Vec;

pub(super) fn parse(
    value: &TomlValue<'_>,
    limits: FrameLimits<'_>,
    found: &mut Diagnostics,
) -> Vec<Action> {
    let Some(list) = value.as_list() else {
        value.expected("a list of actions: [{ set = { … } }, …]", found);
        return Vec::new();
    };
    if list.is_empty() {
        let hint = "leave it out where frames are not changed";
        value.wrong("`do` is an empty list", hint, found);
    }
    list.iter()
        .filter_map(|value| action(value, limits, found))
        .collect()
}

fn action(
    value: &TomlValue<'_>,
    limits: FrameLimits<'_>,
    found: &mut Diagnostics,
) -> Option<Action> {
    let mut table = value.table("`do`", found)?;
    let mut named = Vec::new();
    // Each key that is requested here is also a candidate for the correction of misspelt keys.
    Action::each_key(|key, read| {
        if let Some(value) = table.get(key) {
            named.push((key, value, read));
        }
    });
    if table.is_empty() {
        let hint = "write an action, such as { set = { id = \"123\" } }";
        value.wrong("this action is empty", hint, found);
        return None;
    }
    if let [_, (_, second, _), ..] = named.as_slice() {
        let d = Diagnostic::error(second.span(), "an action has one key")
            .hint("write a list of actions, which are applied in this order: [{ … }, { … }]");
        found.push(d);
    }
    table.finish(found);
    let (key, value, read) = named.first()?;
    read(key, value, limits, found)
}

/// Reports actions that are next to `do` instead of in it.
pub(super) fn misplaced(table: &mut TomlTable<'_>, found: &mut Diagnostics) {
    Action::each_key(|key, _| {
        let hint = |_: &TomlValue<'_>| format!("it is an action: write `do = [{{ {key} = … }}]`");
        let _ = table.misnamed(key, hint, found);
    });
}
