//! A master or a slave with its port, as its thread has it.

use super::{
    LiveCounts, MasterCounts, NextCall, PartyEnd, PartyRole, PingMaster, PingParty, PingPlan,
    RoundTrip, RoundTrips, SlaveCounts,
};
use super::{PingSettings, PingSlave};
use frame::Nanos;
use port::{Halves, PortError};
use std::io;

/// A master or a slave during a run.
pub(crate) struct PartyPlayer<'a> {
    name: String,
    plan: PingPlan,
    pub(crate) role: PlayerRole<'a>,
    pub(crate) halves: Halves,
    pub(crate) error: Option<PortError>,
    pub(crate) done: bool,
}

pub(crate) enum PlayerRole<'a> {
    Master(Box<AskingMaster<'a>>),
    Slave(PingSlave),
}

/// A master with its measurements.
pub(crate) struct AskingMaster<'a> {
    master: PingMaster,
    trips: RoundTrips,
    kept: Vec<RoundTrip>,
    keep: usize,
    live: Option<&'a LiveCounts>,
}

impl AskingMaster<'_> {
    fn step(
        &mut self,
        halves: &mut Halves,
        clock: &mut dyn FnMut() -> Nanos,
    ) -> Result<NextCall, PortError> {
        let Self {
            master,
            trips,
            kept,
            keep,
            live,
        } = self;
        let (receive, transmit) = halves;
        master.step(receive, transmit, clock, &mut |trip| {
            if let Some(live) = live {
                live.add(&trip);
            }
            if let Some(duration) = trip.duration() {
                trips.add(duration);
            }
            if kept.len() < *keep {
                kept.push(trip);
            }
        })
    }
}

impl<'a> PartyPlayer<'a> {
    pub(crate) fn new(
        party: PingParty,
        settings: PingSettings,
        live: Option<&'a LiveCounts>,
    ) -> Self {
        let role = match party.part {
            PartyRole::Master => PlayerRole::Master(Box::new(AskingMaster {
                master: PingMaster::new(&party.name, party.plan),
                trips: RoundTrips::new(),
                kept: Vec::with_capacity(settings.keep),
                keep: settings.keep,
                live,
            })),
            PartyRole::Slave => PlayerRole::Slave(PingSlave::new(&party.plan)),
        };
        Self {
            name: party.name,
            plan: party.plan,
            role,
            halves: party.halves,
            error: None,
            done: false,
        }
    }

    pub(crate) fn can_be_waited_for(&self) -> bool {
        self.halves.0.wait().fd.is_some() || self.halves.0.is_busy()
    }

    pub(crate) fn begin(&mut self) {
        let interest = match &self.role {
            PlayerRole::Master(asking) => asking.master.interest(),
            PlayerRole::Slave(slave) => slave.interest(),
        };
        if let Err(error) = self.halves.0.set_interest(&interest) {
            self.error = Some(error);
        }
    }

    pub(crate) fn end_master(&mut self) {
        if let PlayerRole::Master(asking) = &mut self.role {
            asking.master.end();
        }
    }

    pub(crate) fn step(&mut self, clock: &mut dyn FnMut() -> Nanos) -> Result<NextCall, PortError> {
        if let Some(error) = self.error.take() {
            return Err(error);
        }
        match &mut self.role {
            PlayerRole::Slave(slave) => slave.step(&mut self.halves.0, &mut self.halves.1, clock),
            PlayerRole::Master(asking) => asking.step(&mut self.halves, clock),
        }
    }

    /// Returns the time at which its port wants to be polled.
    pub(crate) fn deadline(&self) -> Option<Nanos> {
        let (receive, transmit) = &self.halves;
        let held = transmit.counters().held > 0;
        let transmit = transmit.deadline().filter(|_| held);
        [receive.deadline(), transmit].into_iter().flatten().min()
    }

    pub(crate) fn fail_to_wait(&mut self, error: &io::Error) {
        self.error = Some(PortError {
            port: self.name.clone(),
            what: format!("waiting for it failed: {error}"),
            source: None,
        });
    }

    pub(crate) fn end(self) -> PartyEnd {
        let (receive, transmit) = &self.halves;
        let (received, transmitted) = (receive.counters(), transmit.counters());
        let mut played = PartyEnd {
            name: self.name,
            part: PartyRole::Slave,
            plan: self.plan,
            counts: MasterCounts::default(),
            trips: RoundTrips::default(),
            kept: Vec::new(),
            answered: SlaveCounts::default(),
            received,
            transmitted,
            error: self.error,
        };
        match self.role {
            PlayerRole::Slave(slave) => played.answered = slave.counts(),
            PlayerRole::Master(asking) => {
                played.part = PartyRole::Master;
                played.counts = asking.master.counts();
                played.trips = asking.trips;
                played.kept = asking.kept;
            }
        }
        played
    }
}
