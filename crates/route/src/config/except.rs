//! `except`: all IDs but some.

use super::keys::RouteKeys;
use crate::text::ids;
use crate::{IdFilter, IdSet};
use ::config::{Diagnostics, TomlTable};
use alloc::{vec, vec::Vec};
use frame::CanId;

/// Numbers of one frame format, both included.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct NumberRange {
    is_eff: bool,
    first: u32,
    last: u32,
}

/// Leaves the IDs of `except` out of the filters of `id`, or out of all IDs. The result is a list
/// of ranges, which each data path has.
pub(super) fn apply(
    filters: Vec<IdFilter>,
    keys: &RouteKeys<'_>,
    table: &TomlTable<'_>,
    found: &mut Diagnostics,
) -> Vec<IdFilter> {
    let Some(value) = &keys.except else {
        return filters;
    };
    let values = value.one_or_list();
    if values.is_empty() {
        value.wrong("`except` is an empty list", "leave it out", found);
    }
    let mut left_out = Vec::new();
    for value in values {
        let Some(text) = ids::text(&value, found) else {
            continue;
        };
        match ids::filters(text.value) {
            Ok(read) => {
                for filter in read {
                    match range(filter) {
                        Some(range) => left_out.push(range),
                        None => {
                            let message = "`except` takes IDs and ranges";
                            let hint = "write \"123\" or \"100-1FF\"; a mask belongs into a route of its own";
                            value.wrong(message, hint, found);
                        }
                    }
                }
            }
            Err((message, hint)) => value.wrong(message, hint, found),
        }
    }
    let all = [(false, CanId::SFF_MASK), (true, CanId::EFF_MASK)];
    let all = all.map(|(is_eff, last)| NumberRange {
        is_eff,
        first: 0,
        last,
    });
    let wanted: Option<Vec<NumberRange>> = filters.iter().map(|filter| range(*filter)).collect();
    let wanted = match wanted {
        Some(ranges) if ranges.is_empty() => all.to_vec(),
        Some(ranges) => ranges,
        None => {
            let message = "`except` leaves IDs out of all, or out of the ranges of `id`";
            let hint = "a mask has no ranges: write another route before this one, with `drop = true` or with \
                        `match = \"first\"`";
            table.wrong("except", message, hint, found);
            return filters;
        }
    };
    let rest: Vec<NumberRange> = wanted
        .into_iter()
        .flat_map(|range| subtract(range, &left_out))
        .collect();
    if rest.is_empty() {
        let hint = "no frame can match this route";
        table.wrong(
            "except",
            "`except` leaves out every ID of the route",
            hint,
            found,
        );
        return filters;
    }
    let filters = rest.into_iter().map(|range| IdFilter {
        set: IdSet::Range {
            eff: range.is_eff,
            first: range.first,
            last: range.last,
        },
        inverted: false,
    });
    filters.collect()
}

/// Returns the range of a filter; `None` for a mask and for an inverted filter.
fn range(filter: IdFilter) -> Option<NumberRange> {
    match filter.set {
        IdSet::Range { eff, first, last } if !filter.inverted => Some(NumberRange {
            is_eff: eff,
            first,
            last,
        }),
        _ => None,
    }
}

/// Returns the numbers of a range that are in none of the others, as ranges in order.
fn subtract(range: NumberRange, others: &[NumberRange]) -> Vec<NumberRange> {
    let mut others: Vec<&NumberRange> = others
        .iter()
        .filter(|other| other.is_eff == range.is_eff)
        .collect();
    others.sort_by_key(|other| other.first);
    let mut rest = vec![];
    // The first number that no other range has covered yet; wider than an ID, because it can be one
    // above the highest.
    let mut next = u64::from(range.first);
    let last = u64::from(range.last);
    for other in others {
        let (first, end) = (u64::from(other.first), u64::from(other.last) + 1);
        if next < first && next <= last {
            rest.push(NumberRange {
                first: next as u32,
                last: last.min(first - 1) as u32,
                ..range
            });
        }
        next = next.max(end);
    }
    if next <= last {
        rest.push(NumberRange {
            first: next as u32,
            ..range
        });
    }
    rest
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::tests::{messages, one};
    use proptest::prelude::*;

    fn takes(filters: &[IdFilter], is_eff: bool, number: u32) -> bool {
        filters.iter().any(|filter| match filter.set {
            IdSet::Range { eff, first, last } => eff == is_eff && (first..=last).contains(&number),
            IdSet::Masked { .. } => false,
        })
    }

    #[test]
    fn all_ids_but_these() {
        let ids = one("except = ['123', '200-2FF', '00000123']").matching.ids;
        for (is_eff, number, is_taken) in [
            (false, 0x122, true),
            (false, 0x123, false),
            (false, 0x124, true),
            (false, 0x1FF, true),
            (false, 0x200, false),
            (false, 0x2FF, false),
            (false, 0x300, true),
            (false, 0x7FF, true),
            (true, 0x123, false),
            (true, 0x200, true),
            (true, CanId::EFF_MASK, true),
        ] {
            assert_eq!(takes(&ids, is_eff, number), is_taken, "{number:X}");
        }
        let ids = one("id = '100-1FF'\nexcept = '180'").matching.ids;
        assert!(takes(&ids, false, 0x17F) && !takes(&ids, false, 0x180));
        assert!(takes(&ids, false, 0x181) && !takes(&ids, false, 0x200));
    }

    #[test]
    fn mistakes_are_named() {
        for (lines, message) in [
            ("except = []", "`except` is an empty list"),
            ("except = '100:700'", "`except` takes IDs and ranges"),
            (
                "id = '100'\nexcept = '100'",
                "`except` leaves out every ID of the route",
            ),
            (
                "id = '100:700'\nexcept = '123'",
                "`except` leaves IDs out of all, or out of the ranges of `id`",
            ),
            ("except = 'x'", "`x` is not a valid ID"),
        ] {
            assert_eq!(messages(lines), [message], "{lines}");
        }
    }

    proptest! {
        #[test]
        fn each_number_is_in_the_rest_or_left_out(
            first in 0..40_u32,
            count in 0..40_u32,
            others in proptest::collection::vec((0..80_u32, 0..20_u32, any::<bool>()), 0..6),
        ) {
            let range = NumberRange { is_eff: false, first, last: first + count };
            let others: Vec<NumberRange> = others
                .iter()
                .map(|(first, count, is_eff)| NumberRange {
                    is_eff: *is_eff,
                    first: *first,
                    last: first + count,
                })
                .collect();
            let rest = subtract(range, &others);
            let is_in = |all: &[NumberRange], number: u32| {
                all.iter().filter(|range| {
                    !range.is_eff && (range.first..=range.last).contains(&number)
                }).count()
            };
            for number in 0..120 {
                let expected = is_in(&[range], number) == 1 && is_in(&others, number) == 0;
                prop_assert_eq!(is_in(&rest, number), usize::from(expected), "{}", number);
            }
        }
    }
}
