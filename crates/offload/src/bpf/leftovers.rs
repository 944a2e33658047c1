//! What an earlier process left in the kernel: found by the program's number.

use super::about::About;
use super::ledger::Ledger;
use crate::instance::Instance;
use aya::maps::{Map, MapData, MapInfo};
use aya::programs::{ProgramInfo, loaded_programs};
use std::collections::BTreeMap;

/// A table that somebody left.
pub(super) struct Leftover {
    pub(super) about: About,
    pub(super) ledger: Ledger,
}

/// Whose the program at an entrance is.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Owner {
    /// There is none, or nobody's: its process has crashed, or it cannot be read.
    Nobody,
    /// An earlier process's of this instance.
    Ours,
    /// Another instance's, which has left it there on purpose.
    Other(String),
}

/// Tables that were found, by their programs' numbers; `None` for what cannot be read.
#[derive(Default)]
pub(super) struct Leftovers(BTreeMap<u32, Option<Leftover>>);

impl Leftovers {
    /// Whose is this program?
    pub(super) fn owner(&mut self, program: u32, instance: &Instance) -> Owner {
        match self.about(program) {
            Some(about) if about.instance == instance.name() => Owner::Ours,
            Some(about) if about.persisted => Owner::Other(about.instance.clone()),
            _ => Owner::Nobody,
        }
    }

    /// What a program's table says about itself.
    pub(super) fn about(&mut self, program: u32) -> Option<&About> {
        let left = self.0.entry(program).or_insert_with(|| find(program));
        left.as_ref().map(|left| &left.about)
    }

    /// Those of an instance.
    pub(super) fn of(self, instance: &Instance) -> impl Iterator<Item = Leftover> {
        let leftovers = self.0.into_values().flatten();
        leftovers.filter(move |left| left.about.instance == instance.name())
    }
}

/// The program with a number. Only those with CAP_SYS_ADMIN are told.
fn program(number: u32) -> Option<ProgramInfo> {
    let mut all = loaded_programs().filter_map(Result::ok);
    all.find(|info| info.id() == number)
}

/// Is it the program with this name?
pub(super) fn is_called(number: u32, name: &str) -> bool {
    number != 0 && program(number).is_some_and(|info| info.name_as_str() == Some(name))
}

/// The table of the program with a number.
pub(super) fn find(number: u32) -> Option<Leftover> {
    let mut maps = BTreeMap::new();
    for id in program(number)?.map_ids().ok()?? {
        let info = MapInfo::from_id(id).ok()?;
        maps.insert(info.name_as_str()?.to_owned(), id);
    }
    let map = |name: &str| {
        let data = MapData::from_id(*maps.get(name)?).ok()?;
        Map::from_map_data(data).ok()
    };
    let about = About::read(&map("about")?).ok()??;
    Some(Leftover {
        ledger: Ledger {
            routes: about.routes.clone(),
            ports: about.ports.clone(),
            route_counts: map("route_counts")?,
            port_counts: map("port_counts")?,
        },
        about,
    })
}
