//! The three data paths of a table: the gateway's engine on raw sockets, can-gw, BPF.

use crate::case::{Case, Counted, Expected, PORTS, SoFar, ports};
use crate::wire::Raw;
use engine::{Engine, EngineCounts, NamedPort};
use offload::bpf::{self, TestOptions};
use offload::{GatewayInstance, cangw};
use port::socketcan::SocketCanSettings;
use route::{Routes, RoutingTable, StopReason};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// The longest time to wait for an expected frame.
const TEST_TIMEOUT: Duration = Duration::from_secs(2);

pub(crate) trait DataPath {
    fn name(&self) -> &'static str;

    /// Runs the table; returns `false` if this path cannot express it.
    fn start(&mut self, case: &Case) -> Result<bool, String>;

    /// Sets the time of the next frame.
    fn set_clock(&mut self, now: u64) -> Result<(), String>;

    /// Works until the frame that was just sent has met all routes; then their counters are
    /// `_wanted`.
    fn work(&mut self, _now: u64, _wanted: SoFar) -> Result<(), String> {
        Ok(())
    }

    /// Returns the counters since the start: of each route, and the frames at each port.
    fn counted(&mut self) -> Result<(Vec<Counted>, Vec<Option<u64>>), String>;

    /// Returns whether frames that are not valid on a bus are sent, too.
    fn sends_everything(&self) -> bool {
        true
    }

    /// Returns whether copies of one frame come in the order of the routes.
    fn is_ordered(&self, _routes: &Routes) -> bool {
        true
    }

    /// Returns whether local programs see at the incoming interfaces the frames that routes take.
    fn taps(&self) -> bool {
        false
    }

    /// Removes the table.
    fn stop(&mut self);
}

/// The engine of `cangate run`, on raw sockets of its ports.
#[derive(Default)]
pub(crate) struct UserSpace(Option<Engine>);

impl DataPath for UserSpace {
    fn name(&self) -> &'static str {
        "user space"
    }

    fn start(&mut self, case: &Case) -> Result<bool, String> {
        let table =
            Arc::new(RoutingTable::compile(&case.routes, PORTS).map_err(|e| format!("{e:?}"))?);
        let mut named = Vec::new();
        let interfaces = ports().into_iter().flatten().map(|port| port.interface);
        for (number, interface) in interfaces.enumerate() {
            let config = SocketCanSettings {
                queue: 64,
                ..SocketCanSettings::new(interface.as_str())
            };
            let halves = port::socketcan::open(&interface, &config);
            let (rx, tx) = halves.map_err(|e| e.to_string())?;
            let mut port: NamedPort = NamedPort {
                name: interface,
                rx,
                tx,
            };
            // Frames that no route can take are not even received.
            port.set_interest(&engine::interest(&table, number))
                .map_err(|e| e.to_string())?;
            named.push(port);
        }
        let engine = Engine::new(named, table, &case.routes).map_err(|e| e.to_string())?;
        self.0 = Some(engine);
        Ok(true)
    }

    fn set_clock(&mut self, _now: u64) -> Result<(), String> {
        Ok(())
    }

    fn work(&mut self, now: u64, wanted: SoFar) -> Result<(), String> {
        let Some(engine) = &mut self.0 else {
            return Err("it does not run".to_owned());
        };
        let start = Instant::now();
        let mut counts = EngineCounts::default();
        loop {
            engine.step(now);
            engine.count(&mut counts);
            let so_far: u64 = counts.routes.iter().map(|route| route.taken).sum();
            if so_far >= wanted.taken {
                return Ok(());
            }
            if start.elapsed() > TEST_TIMEOUT {
                return Err(format!("routes took {so_far} frames so far, {wanted:?}"));
            }
        }
    }

    fn counted(&mut self) -> Result<(Vec<Counted>, Vec<Option<u64>>), String> {
        let Some(engine) = &self.0 else {
            return Err("it does not run".to_owned());
        };
        let snapshot = engine.snapshot();
        snapshot.check().map_err(|e| e.to_string())?;
        let mut counts = EngineCounts::default();
        engine.count(&mut counts);
        let counted = counts.routes.iter().map(|route| Counted {
            taken: Some(route.taken),
            sent: route.copies.accepted,
            stopped: StopReason::ALL.map(|why| route.stopped.get(why)),
            failed: route.copies.unsupported + route.copies.down + route.copies.refused,
        });
        // Filters keep away the frames that no route takes.
        Ok((counted.collect(), vec![None; PORTS]))
    }

    fn sends_everything(&self) -> bool {
        false
    }

    fn stop(&mut self) {
        self.0 = None;
    }
}

fn counted(counts: &offload::RouteCounts) -> Counted {
    Counted {
        taken: counts.taken,
        sent: counts.sent,
        stopped: counts.stopped,
        failed: counts.failed,
    }
}

/// Rules of the kernel's can-gw.
#[derive(Default)]
pub(crate) struct CanGw(Option<cangw::CanGwOffload>);

impl CanGw {
    /// Loads the module, or returns why there is none.
    pub(crate) fn ready() -> Result<(), String> {
        let mut kernel = cangw::CanGwKernel::open().map_err(|e| e.to_string())?;
        kernel.ready().map_err(|e| e.to_string())
    }
}

impl DataPath for CanGw {
    fn name(&self) -> &'static str {
        "can-gw"
    }

    fn start(&mut self, case: &Case) -> Result<bool, String> {
        let instance = GatewayInstance::new("data paths");
        match cangw::CanGwOffload::start(&instance, &case.routes, &ports()) {
            Ok((running, _)) => self.0 = Some(running),
            Err(cangw::Error::Inexpressible(_)) => return Ok(false),
            Err(error) => return Err(error.to_string()),
        }
        Ok(true)
    }

    fn set_clock(&mut self, _now: u64) -> Result<(), String> {
        Ok(())
    }

    fn counted(&mut self) -> Result<(Vec<Counted>, Vec<Option<u64>>), String> {
        let Some(running) = &mut self.0 else {
            return Err("it does not run".to_owned());
        };
        let counts = running.counts().map_err(|e| e.to_string())?;
        Ok((counts.iter().map(counted).collect(), vec![None; PORTS]))
    }

    fn is_ordered(&self, routes: &Routes) -> bool {
        // The kernel has a list for each kind of filter, and its own order among them.
        let mut routes = routes.routes.iter();
        routes.all(|route| {
            let kinds = route.matching.kinds;
            route.matching.ids.is_empty() && kinds.classic != kinds.fd
        })
    }

    fn stop(&mut self) {
        self.0 = None;
    }
}

/// The BPF program at the incoming interfaces.
#[derive(Default)]
pub(crate) struct Bpf {
    running: Option<bpf::BpfOffload>,
    /// The routes and options that it runs.
    what: Option<(Routes, bpf::BpfOptions)>,
    before: bpf::BpfCounts,
    /// Whether it stays loaded, for cases with the same table: the kernel takes its time to verify
    /// a program. No frame reaches other data paths meanwhile.
    pub(crate) stays: bool,
}

impl DataPath for Bpf {
    fn name(&self) -> &'static str {
        "BPF"
    }

    fn start(&mut self, case: &Case) -> Result<bool, String> {
        let options = bpf::BpfOptions {
            tap: case.tap,
            exact: case.exact,
            test: TestOptions {
                clock: true,
                ..TestOptions::default()
            },
        };
        let what = (case.routes.clone(), options.clone());
        // Only rate limits have a state.
        let again = self.what.as_ref() == Some(&what)
            && !case.routes.routes.iter().any(|route| route.limit.is_some());
        if !again {
            (self.running, self.what) = (None, None);
            let instance = GatewayInstance::new("data paths");
            match bpf::BpfOffload::start(&instance, &case.routes, &ports(), options) {
                Ok((running, _)) => self.running = Some(running),
                // For example more different masks than the program checks.
                Err(bpf::Error::Inexpressible(_)) => return Ok(false),
                Err(error) => return Err(error.to_string()),
            }
            self.what = Some(what);
        }
        if let Some(running) = &mut self.running {
            self.before = running.counts().map_err(|e| e.to_string())?;
        }
        Ok(true)
    }

    fn set_clock(&mut self, now: u64) -> Result<(), String> {
        match &self.running {
            Some(running) => running.set_clock(now).map_err(|e| e.to_string()),
            None => Err("it does not run".to_owned()),
        }
    }

    fn work(&mut self, _now: u64, wanted: SoFar) -> Result<(), String> {
        let limits = |(routes, _): &(Routes, bpf::BpfOptions)| {
            let mut routes = routes.routes.iter();
            routes.any(|route| route.limit.is_some())
        };
        // Only limits, which must see the right time, require a wait: another processor may run the
        // program.
        if !self.what.as_ref().is_some_and(limits) {
            return Ok(());
        }
        let start = Instant::now();
        loop {
            let (counted, _) = self.counted()?;
            let ended = counted
                .iter()
                .map(|counted| counted.sent + counted.failed + counted.stopped.iter().sum::<u64>());
            let ended: u64 = ended.sum();
            if ended >= wanted.ended {
                return Ok(());
            }
            if start.elapsed() > TEST_TIMEOUT {
                return Err(format!("routes ended {ended} so far, {wanted:?}"));
            }
        }
    }

    fn counted(&mut self) -> Result<(Vec<Counted>, Vec<Option<u64>>), String> {
        let Some(running) = &mut self.running else {
            return Err("it does not run".to_owned());
        };
        let now = running.counts().map_err(|e| e.to_string())?;
        let routes = now.routes.iter().zip(&self.before.routes);
        let counted = routes.map(|(now, before)| {
            let (now, before) = (counted(now), counted(before));
            let mut stopped = now.stopped;
            for (now, before) in stopped.iter_mut().zip(before.stopped) {
                *now -= before;
            }
            Counted {
                taken: now
                    .taken
                    .zip(before.taken)
                    .map(|(now, before)| now - before),
                sent: now.sent - before.sent,
                stopped,
                failed: now.failed - before.failed,
            }
        });
        let ports = now.ports.iter().zip(&self.before.ports);
        let came = ports.map(|(now, before)| Some(now.seen - before.seen));
        Ok((counted.collect(), came.collect()))
    }

    fn taps(&self) -> bool {
        self.what.as_ref().is_some_and(|(_, options)| options.tap)
    }

    fn stop(&mut self) {
        if !self.stays {
            (self.running, self.what) = (None, None);
        }
    }
}

/// A socket on each side of each pair.
pub(crate) struct Sockets {
    pub(crate) senders: Vec<Raw>,
    pub(crate) receivers: Vec<Raw>,
    pub(crate) taps: Vec<Raw>,
}

impl Sockets {
    pub(crate) fn open() -> Result<Self, String> {
        let open = |side: &str| {
            (0..PORTS)
                .map(|n| Raw::open(&format!("{side}{n}"), false).map_err(|e| e.to_string()))
                .collect::<Result<Vec<Raw>, String>>()
        };
        Ok(Self {
            senders: open("q")?,
            receivers: open("q")?,
            taps: open("p")?,
        })
    }

    /// Removes the remaining frames of earlier cases.
    fn drain(&self) {
        for socket in self.receivers.iter().chain(&self.taps) {
            while socket.receive(false).is_some() {}
        }
    }
}

/// Runs a case in one path; returns the differences from the expected results, in words. `false` if
/// the path cannot express it.
pub(crate) fn run(
    path: &mut dyn DataPath,
    sockets: &Sockets,
    case: &Case,
    expected: &Expected,
) -> Result<bool, String> {
    sockets.drain();
    if !path.start(case)? {
        return Ok(false);
    }
    let result = pass(path, sockets, case, expected).and_then(|()| compare(path, expected));
    path.stop();
    let name = path.name();
    result
        .map_err(|why| format!("{name}: {why}"))
        .map(|()| true)
}

fn pass(
    path: &mut dyn DataPath,
    sockets: &Sockets,
    case: &Case,
    expected: &Expected,
) -> Result<(), String> {
    let ordered = path.is_ordered(&case.routes);
    let everything = path.sends_everything();
    let arrivals = case.arrivals.iter().zip(case.times()).enumerate();
    for (number, (arrival, now)) in arrivals {
        path.set_clock(now)?;
        let sender = &sockets.senders[arrival.port];
        sender
            .send(arrival.frame.view())
            .map_err(|e| format!("{arrival:?} cannot be sent: {e}"))?;
        path.work(now, expected.so_far[number])?;
        for (port, receiver) in sockets.receivers.iter().enumerate() {
            let copies = expected.copies[number].iter();
            let here = copies.filter(|copy| {
                copy.to == port && copy.shown && (everything || copy.sent_from_user_space)
            });
            let mut wanted: Vec<&str> = here.map(|copy| copy.text.as_str()).collect();
            let mut got: Vec<String> = wanted
                .iter()
                .map_while(|_| receiver.receive(true))
                .collect();
            if !ordered {
                wanted.sort_unstable();
                got.sort_unstable();
            }
            if got != wanted {
                return Err(format!(
                    "{arrival:?}: out of p{port} came {got:#?}, not {wanted:#?}"
                ));
            }
        }
        if path.taps() && crate::case::is_shown(arrival.frame.view().id().raw()) {
            let wanted = crate::wire::text_of(&crate::wire::bytes_of(arrival.frame.view()));
            let got = sockets.taps[arrival.port].receive(true);
            if got.as_ref() != Some(&wanted) {
                return Err(format!("{arrival:?}: local programs saw {got:?}"));
            }
        }
    }
    // On PREEMPT_RT surplus frames may come a little later.
    std::thread::sleep(Duration::from_millis(2));
    for (port, receiver) in sockets.receivers.iter().enumerate() {
        if let Some(more) = receiver.receive(false) {
            return Err(format!("{more} came out of p{port}, too"));
        }
    }
    Ok(())
}

fn compare(path: &mut dyn DataPath, expected: &Expected) -> Result<(), String> {
    let (counted, came) = path.counted()?;
    let wanted = if path.sends_everything() {
        &expected.counted
    } else {
        &expected.counted_in_user_space
    };
    for (number, (got, wanted)) in counted.iter().zip(wanted).enumerate() {
        let mut wanted = wanted.clone();
        if got.taken.is_none() {
            wanted.taken = None;
            // can-gw has one counter for both.
            let [_, _, hops, too_long, ..] = &mut wanted.stopped;
            if got.stopped[2] + got.stopped[3] == *hops + *too_long {
                (*hops, *too_long) = (got.stopped[2], got.stopped[3]);
            }
        }
        if *got != wanted {
            return Err(format!("route r{number} counted {got:?}, not {wanted:?}"));
        }
    }
    for (port, (got, wanted)) in came.iter().zip(&expected.came).enumerate() {
        if let Some(got) = got
            && *got != wanted.unwrap_or(0)
        {
            return Err(format!("{got} frames came into p{port}, not {wanted:?}"));
        }
    }
    Ok(())
}
