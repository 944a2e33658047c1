//! The selection of interfaces and character devices, and of their frames.

use linux::can::CanFilter;
use linux::chardev::MOST_FILTERS;
use linux::packet::CaptureRule;
use route::{InterestIds, PortId, RawFilter, Route, Routes, RoutingTable};

/// Names with this prefix are character devices.
const DEVICES: &str = "/dev/";

/// An interface or a character device that the user selected.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct InterfaceChoice {
    /// Its name, or its path below `/dev/`; `None`: every CAN interface, including those that are
    /// added later.
    pub name: Option<String>,
    /// Filters, of which a frame must pass any one; none at all means every frame.
    pub filters: Vec<CanFilter>,
}

/// Error: a text that is not an interface or a filter.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("`{text}`: {what}; {hint}")]
pub struct ChoiceError {
    text: String,
    what: String,
    hint: String,
}

impl InterfaceChoice {
    /// Parses `can0`, `/dev/can0`, or, as in candump, `can0,123:7FF,400~700`: filters on
    /// SocketCAN's raw bits. `any` is every CAN interface. `also` are additional filters in the
    /// syntax of routes.
    ///
    /// # Errors
    /// [`ChoiceError`]
    pub fn read(text: &str, also: &[String]) -> Result<Self, ChoiceError> {
        let wrong = |what: String, hint: String| ChoiceError {
            text: text.to_owned(),
            what,
            hint,
        };
        let mut parts = text.split(',');
        let name = parts.next().unwrap_or_default();
        let device = name.strip_prefix(DEVICES);
        if device.is_some_and(|rest| rest.is_empty() || rest.contains(char::is_whitespace)) {
            return Err(wrong(
                format!("`{name}` is not a character device"),
                "name one, for example /dev/can0".to_owned(),
            ));
        }
        if device.is_none() && (name.is_empty() || name.len() > 15 || name.contains(['/', ' '])) {
            return Err(wrong(
                format!("`{name}` is not an interface name"),
                "name one, for example can0, or `any` for all CAN interfaces; a character device is a path \
                 such as /dev/can0"
                    .to_owned(),
            ));
        }
        let mut filters = Vec::new();
        for part in parts {
            if part.starts_with(['#', 'j', 'J']) {
                return Err(wrong(
                    format!("`{part}` is not a valid filter here"),
                    "error frames are recorded always, or with --no-error-frames never".to_owned(),
                ));
            }
            let read = route::parts::raw_filter(part).map_err(|(what, hint)| wrong(what, hint))?;
            let route::IdSet::Masked { id, mask } = read.set else {
                continue;
            };
            let inverted = if read.inverted {
                RawFilter::INVERTED
            } else {
                0
            };
            filters.push(CanFilter {
                id: id & !RawFilter::INVERTED | inverted,
                mask,
            });
        }
        if !also.is_empty() {
            let also: Vec<&str> = also.iter().map(String::as_str).collect();
            let more = raw_filters(&also).map_err(|(what, hint)| wrong(what, hint))?;
            filters.extend(more.iter().map(|f| CanFilter {
                id: f.id,
                mask: f.mask,
            }));
        }
        if device.is_some() && filters.len() > MOST_FILTERS {
            return Err(wrong(
                format!("these are {} filters", filters.len()),
                format!("a character device takes {MOST_FILTERS}: give fewer, or wider ones"),
            ));
        }
        Ok(Self {
            name: (name != "any").then(|| name.to_owned()),
            filters,
        })
    }

    /// Returns the path, if it is a character device.
    #[must_use]
    pub fn device(&self) -> Option<&str> {
        self.name
            .as_deref()
            .filter(|name| name.starts_with(DEVICES))
    }

    /// Returns the filters for a device's driver.
    pub(crate) fn raw_filters(&self) -> Vec<RawFilter> {
        if self.filters.is_empty() {
            return vec![RawFilter { id: 0, mask: 0 }];
        }
        let raw = |f: &CanFilter| RawFilter {
            id: f.id,
            mask: f.mask,
        };
        self.filters.iter().map(raw).collect()
    }

    /// Returns the rule for the kernel, if the interface has these indices.
    pub(crate) fn rule(&self, indices: Vec<u32>) -> CaptureRule {
        CaptureRule {
            interfaces: self.name.is_some().then_some(indices),
            filters: self.filters.clone(),
        }
    }
}

/// Converts filters in the syntax of routes (`123`, `200-2FF`, `100:700`, `!123`) into those of raw
/// sockets.
pub(crate) fn raw_filters(texts: &[&str]) -> Result<Vec<RawFilter>, (String, String)> {
    let mut route = Route::new("filter", vec![PortId(0)], vec![PortId(1)]);
    for text in texts {
        route.matching.ids.extend(route::parts::id_filters(text)?);
    }
    let routes = Routes {
        routes: vec![route],
        ..Routes::default()
    };
    let table = RoutingTable::compile(&routes, 2).map_err(|errors| {
        let what = errors.first().map(ToString::to_string).unwrap_or_default();
        (what, "write the filter in another way".to_owned())
    })?;
    Ok(match table.interest(PortId(0)).ids {
        InterestIds::Filters(filters) => filters,
        InterestIds::Nothing => Vec::new(),
        InterestIds::Everything => vec![RawFilter { id: 0, mask: 0 }],
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_filters() {
        let plain = InterfaceChoice::read("can0", &[]).unwrap();
        assert_eq!(
            (plain.name.as_deref(), plain.filters.len()),
            (Some("can0"), 0)
        );
        assert_eq!(InterfaceChoice::read("any", &[]).unwrap().name, None);
        let both = InterfaceChoice::read("can1,123:7FF,400~700", &["200-2FF".to_owned()]).unwrap();
        let of = |id, mask| CanFilter { id, mask };
        assert_eq!(
            both.filters[..2],
            [of(0x123, 0x7FF), of(0x2000_0400, 0x700)]
        );
        assert_eq!(both.filters[2], of(0x200, 0x8000_0700));
        for bad in ["", "a/b", "can0,zz", "can0,#FF", "can0,12"] {
            assert!(InterfaceChoice::read(bad, &[]).is_err(), "{bad}");
        }
        let device = InterfaceChoice::read("/dev/can0,123:7FF", &[]).unwrap();
        assert_eq!(device.device(), Some("/dev/can0"));
        let of = |id, mask| RawFilter { id, mask };
        assert_eq!(device.raw_filters(), [of(0x123, 0x7FF)]);
        assert_eq!(plain.device(), None);
        assert_eq!(plain.raw_filters(), [of(0, 0)]);
        for bad in ["/dev/", "/dev/can 0", "/DEV/can0", "dev/can0"] {
            assert!(InterfaceChoice::read(bad, &[]).is_err(), "{bad}");
        }
        let many = |n| format!("/dev/can0{}", ",123:7FF".repeat(n));
        assert!(InterfaceChoice::read(&many(64), &[]).is_ok());
        let error = InterfaceChoice::read(&many(65), &[]).unwrap_err();
        assert!(error.to_string().contains("takes 64"), "{error}");
        assert!(InterfaceChoice::read(&many(65)["/dev/".len()..], &[]).is_ok());
        let error = InterfaceChoice::read("can0", &["12".to_owned()]).unwrap_err();
        assert!(error.to_string().contains("three or eight"), "{error}");
    }
}
