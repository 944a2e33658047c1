//! A list of the tables of all cangate instances at the ingress of interfaces, for people.

use super::attach::errno;
use super::ledger::LedgerTotals;
use super::leftovers::find;
use super::{Error, MissingFeature, tc};
use crate::RouteCounts;
use crate::instance::GatewayInstance;
use aya::programs::{SchedClassifier, TcAttachType};
use linux::link::{NetLink, NetLinks};
use linux::netlink::NetlinkSocket;
use rustix::io::Errno;
use std::collections::BTreeMap;

/// A table in the kernel, of any cangate instance.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ListedTable {
    /// The number of its program (`bpftool prog show id …`).
    pub program: u32,
    /// The interfaces at whose ingress it is attached.
    pub interfaces: Vec<String>,
    /// The readable part of the table; `None` if this process has no permission (`CAP_SYS_ADMIN`),
    /// or if another version of cangate wrote it.
    pub table: Option<TableInfo>,
}

/// The description that a table carries.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TableInfo {
    /// The gateway's name: its control socket.
    pub instance: String,
    /// The table was left there on purpose.
    pub persisted: bool,
    /// A process manages it; otherwise it was left, or its process has died.
    pub runs: bool,
    /// The number of that process, if it can be found.
    pub process: Option<u32>,
    /// Its routes by name, with their counts since the first start of the gateway.
    pub routes: Vec<(String, RouteCounts)>,
}

/// Returns all tables of cangate instances in this network namespace, by their programs' numbers.
///
/// # Errors
/// No permission to list; errors of the kernel.
pub fn show() -> Result<Vec<ListedTable>, Error> {
    let mut netlink = NetlinkSocket::open()?;
    let links = NetLinks::read(&mut netlink)?;
    let mut entrances: BTreeMap<u32, Vec<String>> = BTreeMap::new();
    for link in links.all_can() {
        if let Some(program) = at(&mut netlink, link)? {
            entrances
                .entry(program)
                .or_default()
                .push(link.name.clone());
        }
    }
    let mut all = Vec::new();
    for (program, interfaces) in entrances {
        all.push(ListedTable {
            program,
            interfaces,
            table: table(program)?,
        });
    }
    Ok(all)
}

/// Returns the number of cangate's program at an ingress.
fn at(netlink: &mut NetlinkSocket, link: &NetLink) -> Result<Option<u32>, Error> {
    match SchedClassifier::query_tcx(&link.name, TcAttachType::Ingress) {
        Ok((_, programs)) => {
            let mut all = programs.iter();
            if let Some(ours) = all.find(|info| info.name_as_str() == Some(tc::NAME)) {
                return Ok(Some(ours.id()));
            }
        }
        Err(error) if errno(&error) == Some(Errno::PERM) => {
            return Err(Error::Kernel(MissingFeature::Permission));
        }
        // Kernels before 6.6 have no tcx.
        Err(_) => {}
    }
    let filters = tc::filters(netlink, link.index, tc::INGRESS)?;
    let ours = filters.iter().find(|filter| filter.is_ours());
    Ok(ours.map(|filter| filter.program))
}

fn table(program: u32) -> Result<Option<TableInfo>, Error> {
    let Some(left) = find(program) else {
        return Ok(None);
    };
    let about = left.about;
    let mut totals = LedgerTotals::default();
    totals.add_all(
        &about.routes,
        &about.counted,
        &about.ports,
        &about.port_counted,
    );
    totals.add(&left.ledger)?;
    let counts = totals.routes(&about.routes);
    let holder = GatewayInstance::new(&about.instance).holder("bpf");
    Ok(Some(TableInfo {
        runs: holder.is_some(),
        process: holder.flatten(),
        instance: about.instance,
        persisted: about.persisted,
        routes: about.routes.into_iter().zip(counts).collect(),
    }))
}
