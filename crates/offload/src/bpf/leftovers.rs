//! The tables that an earlier process left in the kernel; they are found by the program's number.

use super::about::AboutMap;
use super::ledger::TableLedger;
use crate::instance::GatewayInstance;
use aya::maps::{Map, MapData, MapInfo};
use aya::programs::{ProgramInfo, loaded_programs};
use std::collections::BTreeMap;

/// A table that was left in the kernel.
pub(super) struct LeftTable {
    pub(super) about: AboutMap,
    pub(super) ledger: TableLedger,
}

/// The owner of the program at an ingress.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum ProgramOwner {
    /// There is no program, or it has no owner: its process has crashed, or the table cannot be
    /// read.
    Nobody,
    /// An earlier process of this instance.
    Ours,
    /// Another instance, which has left the program there on purpose.
    Other(String),
}

/// Tables that were found, by their programs' numbers; `None` for a table that cannot be read.
#[derive(Default)]
pub(super) struct LeftTables(BTreeMap<u32, Option<LeftTable>>);

impl LeftTables {
    /// Returns the owner of this program.
    pub(super) fn owner(&mut self, program: u32, instance: &GatewayInstance) -> ProgramOwner {
        match self.about(program) {
            Some(about) if about.instance == instance.name() => ProgramOwner::Ours,
            Some(about) if about.persisted => ProgramOwner::Other(about.instance.clone()),
            _ => ProgramOwner::Nobody,
        }
    }

    /// Returns the description of a program's table.
    pub(super) fn about(&mut self, program: u32) -> Option<&AboutMap> {
        let left = self.0.entry(program).or_insert_with(|| find(program));
        left.as_ref().map(|left| &left.about)
    }

    /// Returns the tables of an instance.
    pub(super) fn filter_instance(
        self,
        instance: &GatewayInstance,
    ) -> impl Iterator<Item = LeftTable> {
        let leftovers = self.0.into_values().flatten();
        leftovers.filter(move |left| left.about.instance == instance.name())
    }
}

/// Returns the program with a number. The kernel answers only with CAP_SYS_ADMIN.
fn program(number: u32) -> Option<ProgramInfo> {
    let mut all = loaded_programs().filter_map(Result::ok);
    all.find(|info| info.id() == number)
}

/// Returns whether the program with this number has this name.
pub(super) fn is_called(number: u32, name: &str) -> bool {
    number != 0 && program(number).is_some_and(|info| info.name_as_str() == Some(name))
}

/// Returns the table of the program with a number.
pub(super) fn find(number: u32) -> Option<LeftTable> {
    let mut maps = BTreeMap::new();
    for id in program(number)?.map_ids().ok()?? {
        let info = MapInfo::from_id(id).ok()?;
        maps.insert(info.name_as_str()?.to_owned(), id);
    }
    let map = |name: &str| {
        let data = MapData::from_id(*maps.get(name)?).ok()?;
        Map::from_map_data(data).ok()
    };
    let about = AboutMap::read(&map("about")?).ok()??;
    Some(LeftTable {
        ledger: TableLedger {
            routes: about.routes.clone(),
            ports: about.ports.clone(),
            route_counts: map("route_counts")?,
            port_counts: map("port_counts")?,
        },
        about,
    })
}
