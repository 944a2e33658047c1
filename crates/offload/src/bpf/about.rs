//! The description that a table in the kernel carries, for a process that finds it there.

use super::error::whole;
use super::{Error, PortCounts};
use crate::RouteCounts;
use aya::maps::{Array, Map};

/// Number of words in one value of the map.
const PAGE: usize = 512;
type Page = [u64; PAGE];
/// The first word; a different layout has a different one.
const MAGIC: u64 = u64::from_le_bytes(*b"cangate2");
const PERSISTED: u64 = 1;
const ROUTE: usize = 3 + route::StopReason::ALL.len();
const PORT: usize = 4;

/// The contents of the map `about`.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(super) struct AboutMap {
    /// The name of the instance to which the table belongs.
    pub(super) instance: String,
    /// The table was left there on purpose.
    pub(super) persisted: bool,
    /// The names of the routes, by number.
    pub(super) routes: Vec<String>,
    /// The interfaces of the ports, by number; empty for a port without one.
    pub(super) ports: Vec<String>,
    /// Interfaces, by index, that had no clsact before.
    pub(super) clsact: Vec<u32>,
    /// The counts of former tables for the same routes and ports.
    pub(super) counted: Vec<RouteCounts>,
    pub(super) port_counted: Vec<PortCounts>,
}

impl AboutMap {
    /// Returns the number of values that the map must have. It does not depend on the counts.
    pub(super) fn pages(&self) -> u32 {
        self.words().len().div_ceil(PAGE) as u32
    }

    fn words(&self) -> Vec<u64> {
        let mut text = Vec::new();
        for name in [&self.instance]
            .into_iter()
            .chain(&self.routes)
            .chain(&self.ports)
        {
            text.extend((name.len() as u32).to_le_bytes());
            text.extend(name.as_bytes());
        }
        text.resize(text.len().next_multiple_of(8), 0);
        let flags = if self.persisted { PERSISTED } else { 0 };
        let (routes, ports) = (self.routes.len(), self.ports.len());
        let mut words = vec![MAGIC, flags, routes as u64, ports as u64];
        words.extend([text.len() as u64 / 8, self.clsact.len() as u64]);
        let (chunks, _) = text.as_chunks();
        words.extend(chunks.iter().map(|chunk| u64::from_le_bytes(*chunk)));
        words.extend(self.clsact.iter().copied().map(u64::from));
        for number in 0..routes {
            let counts = self.counted.get(number).copied().unwrap_or_default();
            words.extend([counts.taken.unwrap_or(0), counts.sent, counts.failed]);
            words.extend(counts.stopped);
        }
        for number in 0..ports {
            let counts = self.port_counted.get(number).copied().unwrap_or_default();
            words.extend([counts.seen, counts.unrouted, counts.local, counts.odd]);
        }
        words
    }

    fn parse(words: &[u64]) -> Option<Self> {
        let (&[magic, flags, routes, ports, text, clsact], rest) = words.split_first_chunk()?;
        if magic != MAGIC {
            return None;
        }
        let [routes, ports, text, clsact] = [routes, ports, text, clsact].map(|n| n as usize);
        let (text, rest) = rest.split_at_checked(text)?;
        let (clsact, rest) = rest.split_at_checked(clsact)?;
        let (counted, rest) = rest.split_at_checked(routes.checked_mul(ROUTE)?)?;
        let (port_counted, _) = rest.split_at_checked(ports.checked_mul(PORT)?)?;
        let text: Vec<u8> = text.iter().flat_map(|word| word.to_le_bytes()).collect();
        let mut text = &text[..];
        let mut name = || {
            let (len, rest) = text.split_first_chunk()?;
            let (name, rest) = rest.split_at_checked(u32::from_le_bytes(*len) as usize)?;
            text = rest;
            String::from_utf8(name.to_vec()).ok()
        };
        Some(Self {
            instance: name()?,
            persisted: flags & PERSISTED != 0,
            routes: (0..routes).map(|_| name()).collect::<Option<_>>()?,
            ports: (0..ports).map(|_| name()).collect::<Option<_>>()?,
            clsact: clsact.iter().map(|index| *index as u32).collect(),
            counted: counted
                .chunks_exact(ROUTE)
                .filter_map(route_counts)
                .collect(),
            port_counted: port_counted
                .chunks_exact(PORT)
                .filter_map(port_counts)
                .collect(),
        })
    }

    /// Writes the description into the map.
    pub(super) fn write(&self, map: &mut Map) -> Result<(), Error> {
        let mut array: Array<_, Page> = Array::try_from(map).map_err(|error| wrong(&error))?;
        for (number, words) in self.words().chunks(PAGE).enumerate() {
            let mut page = [0; PAGE];
            for (to, from) in page.iter_mut().zip(words) {
                *to = *from;
            }
            array
                .set(number as u32, page, 0)
                .map_err(|error| wrong(&error))?;
        }
        Ok(())
    }

    /// Reads the description; returns `None` if another version wrote it.
    pub(super) fn read(map: &Map) -> Result<Option<Self>, Error> {
        let array: Array<_, Page> = Array::try_from(map).map_err(|error| wrong(&error))?;
        let mut words = Vec::new();
        for number in 0..array.len() {
            words.extend(array.get(&number, 0).map_err(|error| wrong(&error))?);
        }
        Ok(Self::parse(&words))
    }
}

fn route_counts(words: &[u64]) -> Option<RouteCounts> {
    let (&[taken, sent, failed], stopped) = words.split_first_chunk()?;
    Some(RouteCounts {
        taken: Some(taken),
        sent,
        stopped: *stopped.first_chunk()?,
        failed,
    })
}

fn port_counts(words: &[u64]) -> Option<PortCounts> {
    let &[seen, unrouted, local, odd] = words.first_chunk()?;
    Some(PortCounts {
        seen,
        unrouted,
        local,
        odd,
    })
}

fn wrong(error: &aya::maps::MapError) -> Error {
    Error::Map {
        map: "about",
        why: whole(error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn it_is_read_as_it_was_written(
            names in prop::collection::vec(".{0,9}", 0..9),
            ports in prop::collection::vec("[a-z0-9]{0,15}", 0..5),
            persisted: bool,
            number: u64,
        ) {
            let about = AboutMap {
                instance: "instance".to_owned(),
                persisted,
                clsact: ports.iter().skip(1).map(|_| 7).collect(),
                counted: names.iter().map(|_| RouteCounts {
                    taken: Some(number),
                    sent: 1,
                    stopped: [2, 3, 4, 5, 6, 7, 8, number],
                    failed: 6,
                }).collect(),
                port_counted: ports.iter().map(|_| PortCounts {
                    seen: number,
                    unrouted: 1,
                    local: 2,
                    odd: 3,
                }).collect(),
                routes: names,
                ports,
            };
            let mut words = about.words();
            words.resize(about.pages() as usize * PAGE, 0);
            prop_assert_eq!(AboutMap::parse(&words), Some(about.clone()));
            let empty = AboutMap { counted: Vec::new(), port_counted: Vec::new(), ..about.clone() };
            prop_assert_eq!(empty.pages(), about.pages());
        }

        #[test]
        fn any_words_are_read_without_panic(
            words in prop::collection::vec(prop_oneof![Just(MAGIC), 0_u64..20, any::<u64>()], 0..60),
        ) {
            let _ = AboutMap::parse(&words);
            let with: Vec<u64> = [MAGIC].into_iter().chain(words).collect();
            let _ = AboutMap::parse(&with);
        }
    }
}
