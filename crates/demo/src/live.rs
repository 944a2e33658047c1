//! A log that is replayed on the buses of a gateway that runs in real time.

use crate::account::LogAccount;
use crate::bus_logs::BusLogs;
use crate::error::Error;
use crate::replay::{BusRelease, LogInput, LogReplay, ReplayBus};
use bus::{BusConfig, NodeEvent};
use frame::Nanos;
use gateway::config::GatewayConfig;
use port::embedded::{BusIndex, BusTraffic, TesterFrame};
use serde::Serialize;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The replay of a log on embedded buses, and the logs of these buses. It is the account of the
/// [`BusTraffic`] that it was opened with.
pub struct LiveReplay(Arc<Mutex<LiveState>>);

/// The frames of a replay, and their fates.
#[derive(Clone, Debug, Serialize)]
pub struct ReplaySums {
    /// Handed to nodes on the buses.
    pub released: u64,
    /// Sent by these nodes.
    pub on_the_bus: u64,
    /// Not sent: the queue of the node was full, or the node gave up.
    pub not_sent: u64,
    /// Waiting in the nodes at the end.
    pub waiting: u64,
    /// The account of the log.
    pub log: LogAccount,
}

struct LiveState {
    replay: Option<LogReplay>,
    logs: Option<BusLogs>,
    /// The buses by which replay and logs number them.
    buses: Vec<ReplayBus>,
    /// The numbers of these buses in the world.
    places: Vec<Option<BusIndex>>,
    next: Option<BusRelease>,
    failure: Option<Error>,
    released: u64,
    on_the_bus: u64,
    not_sent: u64,
}

impl LiveReplay {
    /// Opens a log for the buses of a simulated configuration, and creates a log of each bus in a
    /// folder of `out`.
    ///
    /// # Errors
    /// [`Error`] if one of these files cannot be opened, or the input is not a log.
    pub fn open(
        input: Option<&LogInput>,
        config: &GatewayConfig,
        out: Option<&Path>,
    ) -> Result<(Box<dyn BusTraffic>, Self), Error> {
        let buses = ReplayBus::of(config);
        let names: Vec<&str> = buses.iter().map(|bus| bus.name.as_str()).collect();
        let replay = input.map(|input| LogReplay::open(input.clone(), buses.clone()));
        let replay = replay.transpose()?;
        let logs = out.map(|out| BusLogs::create(out, &names)).transpose()?;
        let state = Arc::new(Mutex::new(LiveState {
            replay,
            logs,
            places: vec![None; buses.len()],
            buses,
            next: None,
            failure: None,
            released: 0,
            on_the_bus: 0,
            not_sent: 0,
        }));
        let traffic = LiveTraffic(Arc::clone(&state));
        Ok((Box::new(traffic), Self(state)))
    }

    /// Ends the replay: returns its sums, if there was one.
    ///
    /// # Errors
    /// The error that ended the replay: of the log, or because an answer did not come in time.
    pub fn finish(self) -> Result<Option<ReplaySums>, Error> {
        let mut state = lock(&self.0);
        let written = state.logs.take().map_or(Ok(()), BusLogs::finish);
        if let Some(failure) = state.failure.take() {
            return Err(failure);
        }
        written?;
        let sums = state.replay.as_ref().map(|replay| ReplaySums {
            released: state.released,
            on_the_bus: state.on_the_bus,
            not_sent: state.not_sent,
            waiting: state.released - state.on_the_bus - state.not_sent,
            log: replay.account(),
        });
        Ok(sums)
    }
}

struct LiveTraffic(Arc<Mutex<LiveState>>);

fn lock(state: &Mutex<LiveState>) -> MutexGuard<'_, LiveState> {
    // No step is left half done by a panic.
    state.lock().unwrap_or_else(PoisonError::into_inner)
}

impl LiveState {
    /// Reads the next frame of the log.
    fn advance(&mut self) {
        match self.replay.as_mut().map(LogReplay::next) {
            Some(Ok(next)) => self.next = next,
            Some(Err(error)) => self.failure = Some(error),
            None => {}
        }
    }

    fn see_frame(&mut self, bus: BusIndex, event: &NodeEvent<'_>, by_tester: bool) {
        let NodeEvent::Frame { end, frame, .. } = event else {
            return;
        };
        let Some(number) = self.places.iter().position(|place| *place == Some(bus)) else {
            return;
        };
        if let Some(logs) = &mut self.logs
            && let Err(error) = logs.write(number, *end, frame, !by_tester)
        {
            self.failure.get_or_insert(error);
        }
        if by_tester {
            self.on_the_bus += 1;
        } else if let Some(replay) = &mut self.replay
            && replay.see(number, frame, *end)
        {
            self.advance();
        }
    }
}

impl BusTraffic for LiveTraffic {
    fn begin(&mut self, buses: &[(String, BusConfig)], now: Nanos) {
        let mut state = lock(&self.0);
        let place = |bus: &ReplayBus| {
            let place = buses.iter().position(|(name, _)| *name == bus.name);
            place.map(BusIndex)
        };
        state.places = state.buses.iter().map(place).collect();
        if let Some(replay) = &mut state.replay {
            replay.begin(now);
        }
        state.advance();
    }

    fn due(&self) -> Option<Nanos> {
        let state = lock(&self.0);
        if state.failure.is_some() {
            return None;
        }
        let next = state.next.map(|next| next.release.at);
        next.or(state.replay.as_ref().and_then(LogReplay::waits_until))
    }

    fn take(&mut self) -> Option<TesterFrame> {
        let mut state = lock(&self.0);
        let Some(next) = state.next.take() else {
            state.failure = state.replay.as_mut().and_then(LogReplay::time_out);
            return None;
        };
        state.released += 1;
        state.advance();
        let place = state.places.get(next.bus).copied().flatten();
        Some(TesterFrame {
            // A bus that does not exist in the world: the frame comes back as refused.
            bus: place.unwrap_or(BusIndex(usize::MAX)),
            tester: next.release.node,
            at: next.release.at,
            frame: next.release.frame,
            tag: next.release.tag,
        })
    }

    fn see(&mut self, bus: BusIndex, event: &NodeEvent<'_>, by_tester: bool) {
        let mut state = lock(&self.0);
        if by_tester && matches!(event, NodeEvent::Dropped { .. }) {
            state.not_sent += 1;
        }
        state.see_frame(bus, event, by_tester);
    }

    fn refused(&mut self, _: &TesterFrame) {
        lock(&self.0).not_sent += 1;
    }

    fn is_finished(&self) -> bool {
        let state = lock(&self.0);
        let has_ended = state.replay.as_ref().is_some_and(LogReplay::has_ended);
        state.failure.is_some() || (has_ended && state.next.is_none())
    }
}
