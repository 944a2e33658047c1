//! A gateway's routes in BPF programs, kept in place.

use super::attach::{InterfaceEntrance, remove_clsact};
use super::compile::{PortInterface, compile, same_limits};
use super::constants::ProgramSettings;
use super::generation::{FdRoom, TableGeneration};
use super::interfaces::pretend;
use super::ledger::{LedgerTotals, TableLedger};
use super::leftovers::{LeftTables, ProgramOwner};
use super::sweep::{hold, sweep};
use super::wanted::{ResolvedTable, WantedTable};
use super::{BpfCounts, BpfFeatures, BpfOptions, Error, features, pin, survey};
use crate::instance::{GatewayInstance, InstanceHold};
use linux::link::{LinkEvents, NetLink, NetLinks};
use linux::netlink::NetlinkSocket;
use route::{KernelPort, Routes, RoutingTable};
use std::collections::{BTreeMap, BTreeSet};
use std::os::fd::{AsFd, BorrowedFd};

/// Number of tables that were taken out of service and whose counters are still read: a frame that
/// was in one of them during the exchange is counted a moment later.
const RETIRED: usize = 2;

/// The result of a start or a change.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct BpfOutcome {
    /// Number of interfaces that run the table: those where frames come in.
    pub entrances: usize,
    /// An earlier process of this instance had left its table there. It was replaced without a gap,
    /// and its counters continue.
    pub adopted: bool,
    /// Interfaces that do not exist or are not CAN interfaces; the routes with them wait.
    pub missing: BTreeSet<String>,
}

/// The routes of one gateway as BPF programs. They are removed when it is dropped.
pub struct BpfOffload {
    netlink: NetlinkSocket,
    events: LinkEvents,
    instance: GatewayInstance,
    options: BpfOptions,
    /// The options of the table that is in use.
    in_force: BpfOptions,
    settings: ProgramSettings,
    features: BpfFeatures,
    wanted: WantedTable,
    /// The state of the ports for which the table was made.
    ports: Vec<PortInterface>,
    entrances: BTreeMap<u32, InterfaceEntrance>,
    /// Interfaces to which this gateway has added clsact.
    clsact: BTreeSet<u32>,
    room: Option<FdRoom>,
    current: Option<TableGeneration>,
    retired: Vec<TableLedger>,
    totals: LedgerTotals,
    stays: bool,
    // The last field, so that it is released after the programs are gone.
    _hold: InstanceHold,
}

impl BpfOffload {
    /// Puts the routes into the kernel. `ports` are by [`route::PortId`]; `None` for a port that is
    /// not a CAN interface. A missing interface is not an error: its routes start when it appears.
    ///
    /// # Errors
    /// Another process runs this instance or routes at one of the interfaces; routes without
    /// meaning or that BPF cannot express; features that this kernel lacks; errors of the kernel.
    /// In each case nothing was changed.
    pub fn start(
        instance: &GatewayInstance,
        routes: &Routes,
        ports: &[Option<KernelPort>],
        options: BpfOptions,
    ) -> Result<(Self, BpfOutcome), Error> {
        let hold = hold(instance)?;
        let features = features().map_err(Error::Kernel)?;
        let settings = ProgramSettings {
            mark: mark(),
            check_mtu: features.check_mtu,
        };
        let mut offload = Self {
            netlink: NetlinkSocket::open()?,
            // Opened before the first look at the interfaces, so that no change is missed.
            events: LinkEvents::open()?,
            instance: instance.clone(),
            in_force: options.clone(),
            options,
            settings,
            features,
            wanted: WantedTable::default(),
            ports: Vec::new(),
            entrances: BTreeMap::new(),
            clsact: BTreeSet::new(),
            room: None,
            current: None,
            retired: Vec::new(),
            totals: LedgerTotals::default(),
            stays: false,
            _hold: hold,
        };
        let outcome = offload.reload(routes, ports)?;
        let keep: BTreeSet<u32> = offload.entrances.keys().copied().collect();
        let links = offload.links()?;
        let (_, clsact) = sweep(&mut offload.netlink, instance, &links, &keep);
        for index in clsact.into_iter().filter(|index| !keep.contains(index)) {
            remove_clsact(&mut offload.netlink, index)?;
        }
        Ok((offload, outcome))
    }

    /// Sets the options of the next table, from the next [`reload`](Self::reload) on.
    pub fn set_options(&mut self, options: BpfOptions) {
        self.options = options;
    }

    /// Replaces the table: each frame is routed by either the old or the new one. Counters are kept
    /// by the names of routes and interfaces. If the table is the same, it is only checked
    /// ([`reconcile`](Self::reconcile)), not loaded again.
    ///
    /// # Errors
    /// As [`start`](Self::start); the previous table stays in use.
    pub fn reload(
        &mut self,
        routes: &Routes,
        ports: &[Option<KernelPort>],
    ) -> Result<BpfOutcome, Error> {
        let wanted = WantedTable {
            routes: routes.clone(),
            ports: ports.to_vec(),
        };
        if self.current.is_some() && self.wanted == wanted && self.in_force == self.options {
            return self.reconcile();
        }
        let links = self.links()?;
        self.exchange(wanted, &links)
    }

    /// Handles changes of interfaces. Call this when [`fd`](AsFd::as_fd) is readable: interfaces
    /// have appeared, disappeared, or changed. Returns `None` if nothing had changed.
    ///
    /// # Errors
    /// As [`reconcile`](Self::reconcile).
    pub fn links_changed(&mut self) -> Result<Option<BpfOutcome>, Error> {
        if self.events.drain() {
            self.reconcile().map(Some)
        } else {
            Ok(None)
        }
    }

    /// Restores the programs at the interfaces' ingress, including those that other programs
    /// removed (`tc qdisc del`). The kernel does not notify when that happens, so it should be
    /// called from time to time. If nothing is missing, it changes nothing.
    ///
    /// # Errors
    /// As [`reload`](Self::reload).
    pub fn reconcile(&mut self) -> Result<BpfOutcome, Error> {
        let links = self.links()?;
        let found = self.wanted.find(&links);
        if self.is_as_it_should_be(&found)? {
            return Ok(self.outcome(found.missing, false));
        }
        self.exchange(self.wanted.clone(), &links)
    }

    /// Returns the number of interfaces where cangate's program should be attached and no longer
    /// is.
    ///
    /// # Errors
    /// Errors of the kernel.
    pub fn taken_away(&mut self) -> Result<usize, Error> {
        let mut gone = 0;
        for entrance in self.entrances.values() {
            gone += usize::from(!entrance.is_there(&mut self.netlink)?);
        }
        Ok(gone)
    }

    fn links(&mut self) -> Result<NetLinks, Error> {
        let links = NetLinks::read(&mut self.netlink)?;
        if self.options.test.any_interface {
            return Ok(pretend(links));
        }
        Ok(links)
    }

    fn is_as_it_should_be(&mut self, found: &ResolvedTable) -> Result<bool, Error> {
        let there: Vec<u32> = self.entrances.keys().copied().collect();
        let mut wanted: Vec<u32> = found.entrances.iter().map(|link| link.index).collect();
        wanted.sort_unstable();
        if there != wanted || self.ports != self.ports_of(&self.wanted.ports, &found.links) {
            return Ok(false);
        }
        for link in &found.entrances {
            if let Some(entrance) = self.entrances.get(&link.index)
                && (!entrance.is_there(&mut self.netlink)? || entrance.room && link.xdp == 0)
            {
                return Ok(false);
            }
        }
        Ok(true)
    }

    fn outcome(&self, missing: BTreeSet<String>, adopted: bool) -> BpfOutcome {
        BpfOutcome {
            entrances: self.entrances.len(),
            adopted,
            missing,
        }
    }

    fn ports_of(
        &self,
        wanted: &[Option<KernelPort>],
        links: &[Option<NetLink>],
    ) -> Vec<PortInterface> {
        let place = |(port, link): (&Option<KernelPort>, &Option<NetLink>)| {
            let (Some(port), Some(link)) = (port, link) else {
                return PortInterface::default();
            };
            PortInterface {
                ifindex: link.index,
                fd: link.carries_fd(),
                classic: !port.fd,
                roomy: !self.features.private_headroom || link.is_virtual(),
            }
        };
        wanted.iter().zip(links).map(place).collect()
    }

    /// Switches to another table. Almost everything that can fail is done before the first
    /// interface runs the new table. If a later step fails, it is undone.
    fn exchange(&mut self, wanted: WantedTable, links: &NetLinks) -> Result<BpfOutcome, Error> {
        RoutingTable::compile(&wanted.routes, wanted.ports.len()).map_err(Error::Compile)?;
        let mut found = wanted.find(links);
        let there: Vec<NetLink> = found.links.iter().flatten().cloned().collect();
        let wrong = survey(&wanted.routes, &wanted.ports, &there);
        if !wrong.is_empty() {
            return Err(Error::Inexpressible(wrong));
        }
        let mut leftovers = LeftTables::default();
        let mut fresh = BTreeMap::new();
        let made = self
            .claim(&found.entrances, &mut leftovers, &mut fresh)
            .and_then(|()| self.load(&wanted, &found.links, &fresh));
        let mut next = match made {
            Ok(next) => next,
            Err(error) => {
                self.give_back(fresh);
                return Err(error);
            }
        };
        if let Some(current) = &self.current {
            let pairs = same_limits(&self.wanted.routes, &wanted.routes);
            if let Err(error) = next.inherit(current, &pairs) {
                self.give_back(fresh);
                return Err(error);
            }
        }
        if let Err(error) = self.enter(&mut next, &mut fresh, &mut found) {
            self.give_back(fresh);
            return Err(error);
        }
        // From here on the new table is in use everywhere.
        let adopted = fresh
            .values()
            .any(|fresh| fresh.owner == ProgramOwner::Ours);
        self.entrances.extend(fresh);
        let made = self.entrances.values().filter(|there| there.made_clsact);
        self.clsact.extend(made.map(|there| there.interface.index));
        for entrance in self.entrances.values_mut() {
            entrance.forget_pin();
        }
        let gone: Vec<u32> = self.entrances.keys().copied().collect();
        for index in gone {
            if !found.entrances.iter().any(|link| link.index == index)
                && let Some(entrance) = self.entrances.remove(&index)
            {
                entrance.leave(&mut self.netlink);
            }
        }
        self.ports = self.ports_of(&wanted.ports, &found.links);
        self.wanted = wanted;
        self.in_force.clone_from(&self.options);
        let former = self.current.replace(next);
        self.retire(former, leftovers)?;
        Ok(self.outcome(found.missing, adopted))
    }

    /// Claims the interfaces that are new.
    fn claim(
        &mut self,
        wanted: &[NetLink],
        leftovers: &mut LeftTables,
        fresh: &mut BTreeMap<u32, InterfaceEntrance>,
    ) -> Result<(), Error> {
        for link in wanted {
            if let Some(known) = self.entrances.get_mut(&link.index) {
                known.interface = link.clone();
                known.room &= link.xdp != 0;
            } else {
                let claimed =
                    InterfaceEntrance::claim(&mut self.netlink, link, &self.instance, leftovers)?;
                fresh.insert(link.index, claimed);
            }
            let entrance = match fresh.get_mut(&link.index) {
                Some(fresh) => Some(fresh),
                None => self.entrances.get_mut(&link.index),
            };
            if self.features.private_headroom
                && link.is_virtual()
                && let Some(entrance) = entrance
            {
                entrance.make_room(&mut self.netlink, &mut self.room)?;
            }
        }
        Ok(())
    }

    fn load(
        &self,
        wanted: &WantedTable,
        links: &[Option<NetLink>],
        fresh: &BTreeMap<u32, InterfaceEntrance>,
    ) -> Result<TableGeneration, Error> {
        let image = compile(&wanted.routes, &self.ports_of(&wanted.ports, links));
        let mut about = wanted.about(&self.instance);
        let all = fresh.values().chain(self.entrances.values());
        let new = all
            .filter(|entrance| entrance.clsact)
            .map(|entrance| entrance.interface.index);
        let all: BTreeSet<u32> = new.chain(self.clsact.iter().copied()).collect();
        about.clsact = all.into_iter().collect();
        let (options, settings) = (&self.options, &self.settings);
        TableGeneration::load(&image, &wanted.routes, about, options, settings)
    }

    /// Attaches the new table to one interface after the other; if one refuses, all get the former
    /// table again.
    fn enter(
        &mut self,
        next: &mut TableGeneration,
        fresh: &mut BTreeMap<u32, InterfaceEntrance>,
        found: &mut ResolvedTable,
    ) -> Result<(), Error> {
        let mut refused = None;
        for link in &found.entrances {
            let entrance = match fresh.get_mut(&link.index) {
                Some(fresh) => Some(fresh),
                None => self.entrances.get_mut(&link.index),
            };
            let Some(entrance) = entrance else { continue };
            match entrance.enter(&mut self.netlink, next, &self.options) {
                Ok(true) => {}
                // There is an event for this, too.
                Ok(false) => drop(found.missing.insert(link.name.clone())),
                Err(error) => {
                    refused = Some(error);
                    break;
                }
            }
        }
        let Some(error) = refused else { return Ok(()) };
        if let Some(current) = &mut self.current {
            for entrance in self.entrances.values_mut() {
                // The first error is the relevant one.
                let _ = entrance.enter(&mut self.netlink, current, &self.options);
            }
        }
        Err(error)
    }

    /// Releases interfaces that will not be used after all. What was found there stays, unless the
    /// new table has replaced it.
    fn give_back(&mut self, fresh: BTreeMap<u32, InterfaceEntrance>) {
        for entrance in fresh.into_values() {
            if entrance.is_ours_alone() {
                let (index, made) = (entrance.interface.index, entrance.made_clsact);
                entrance.leave(&mut self.netlink);
                if made {
                    let _ = remove_clsact(&mut self.netlink, index);
                }
            }
        }
    }

    /// Keeps the counts of former tables.
    fn retire(
        &mut self,
        former: Option<TableGeneration>,
        leftovers: LeftTables,
    ) -> Result<(), Error> {
        for left in leftovers.filter_instance(&self.instance) {
            let about = &left.about;
            self.clsact.extend(&about.clsact);
            self.totals.add_all(
                &about.routes,
                &about.counted,
                &about.ports,
                &about.port_counted,
            );
            self.retired.push(left.ledger);
        }
        self.retired.extend(former.map(|former| former.ledger));
        while self.retired.len() > RETIRED {
            let oldest = self.retired.remove(0);
            self.totals.add(&oldest)?;
        }
        self.write_totals(false)
    }

    /// Writes the counts of former tables into the current one, for the next process.
    fn write_totals(&mut self, persisted: bool) -> Result<(), Error> {
        let mut totals = self.totals.clone();
        for ledger in &self.retired {
            totals.add(ledger)?;
        }
        if let Some(current) = &mut self.current {
            let mut about = current.about().clone();
            about.persisted = persisted;
            about.counted = totals.routes(&about.routes);
            about.port_counted = totals.ports(&about.ports);
            current.replace_about(about)?;
        }
        Ok(())
    }

    /// Returns the counts of each route, by [`route::RouteId`], and of each port. Routes and
    /// interfaces are identified by their names, even if they were absent for a time.
    ///
    /// # Errors
    /// Errors of the kernel.
    pub fn counts(&mut self) -> Result<BpfCounts, Error> {
        let mut totals = self.totals.clone();
        let current = self.current.as_ref().map(|current| &current.ledger);
        for ledger in self.retired.iter().chain(current) {
            totals.add(ledger)?;
        }
        let about = self.wanted.about(&self.instance);
        Ok(BpfCounts {
            routes: totals.routes(&about.routes),
            ports: totals.ports(&about.ports),
        })
    }

    /// Leaves the programs in place, for the next start of the same instance to take over.
    ///
    /// # Errors
    /// As [`can_persist`](super::can_persist); then they are removed.
    pub fn persist(mut self) -> Result<(), Error> {
        pin::can_persist()?;
        self.write_totals(true)?;
        for entrance in self.entrances.values_mut() {
            entrance.persist()?;
        }
        self.stays = true;
        Ok(())
    }

    /// For tests: sets the time that rate limits see, with `test.clock` in the [`BpfOptions`].
    ///
    /// # Errors
    /// Errors of the kernel.
    #[doc(hidden)]
    pub fn set_clock(&self, now: u64) -> Result<(), Error> {
        match &self.current {
            Some(current) => current.set_clock(now),
            None => Ok(()),
        }
    }
}

impl AsFd for BpfOffload {
    /// Returns the descriptor that is readable when interfaces have changed.
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.events.fd()
    }
}

impl Drop for BpfOffload {
    fn drop(&mut self) {
        if !self.stays {
            for entrance in std::mem::take(&mut self.entrances).into_values() {
                entrance.leave(&mut self.netlink);
            }
            for index in &self.clsact {
                let _ = remove_clsact(&mut self.netlink, *index);
            }
        }
    }
}

/// Returns a mark for this gateway alone: its low byte counts the gateways that a frame has passed.
fn mark() -> u32 {
    use std::hash::{BuildHasher, Hasher, RandomState};
    // The system provides the random keys.
    let random = RandomState::new().build_hasher().finish();
    (random as u32 & !0xFF) | 0x8000_0000
}
