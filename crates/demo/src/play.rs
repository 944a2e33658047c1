//! The run from the first frame to the last: moves the buses from event to event and lets the
//! gateway react to each.

use crate::bus_logs::BusLogs;
use crate::error::Error;
use crate::progress::DemoProgress;
use crate::recorder::RunRecorder;
use crate::scene::DemoScene;
use crate::tap::PassedFrame;
use crate::traffic::TesterSource;
use bus::{BusStats, NodeEvent, SendError};
use engine::PortEvent;
use frame::text::LogLine;
use frame::wire;
use frame::{Frame, Kind, Nanos};
use port::embedded::BusIndex;
use probe::BusLoad;
use std::io::Write;
use std::time::Instant;

/// The logs that a run writes.
#[derive(Default)]
pub(crate) struct PlayOutputs<'a> {
    /// The frames that the gateway sends, as a candump log.
    pub(crate) outgoing: Option<&'a mut dyn Write>,
    /// All frames of each bus.
    pub(crate) buses: Option<BusLogs>,
}

/// The data of a finished run.
pub(crate) struct PlayedRun {
    pub(crate) recorder: RunRecorder,
    /// Frames that were handed to testers for sending.
    pub(crate) released: u64,
    /// The number of these that were sent on a bus.
    pub(crate) on_the_bus: u64,
    /// The number of these that were not sent: the tester's queue was full, or it gave up.
    pub(crate) not_sent: u64,
    /// The number of these that still waited in testers at the end.
    pub(crate) waiting: u64,
    /// Frames that the buses delivered to the gateway's ports, counted on the buses.
    pub(crate) heard: u64,
    /// For each bus: the load per window, and the statistics at the end.
    pub(crate) loads: Vec<(BusLoad, BusStats)>,
    /// The engine's time for each frame of each step, in ns of real time, in order.
    pub(crate) processing: Vec<Nanos>,
    /// Bus time at the end.
    pub(crate) end: Nanos,
    /// The time at which the last frame was handed to a tester.
    pub(crate) last_release: Nanos,
    /// Whether the buses were still busy [`BUSY_TIMEOUT`] after that: frames that go round in
    /// loops.
    pub(crate) cut_off: bool,
    /// Events of the gateway's ports that a user should know, in sentences.
    pub(crate) warnings: Vec<String>,
}

/// The time for which the buses may go on after the last frame was handed in, ns of bus time:
/// longer than any queue lasts.
const BUSY_TIMEOUT: Nanos = 60_000_000_000;

/// The length of the windows for which bus load is calculated, ns.
pub(crate) const WINDOW: Nanos = 100_000_000;

/// An event that was seen on a bus while the world was locked.
enum BusSighting {
    Frame {
        bus: BusIndex,
        node: bus::NodeId,
        tag: u64,
        frame: Frame,
        end: Nanos,
    },
    Dropped {
        bus: BusIndex,
        node: bus::NodeId,
        tag: u64,
        frame: Frame,
    },
}

/// Runs until all frames are sent and the buses are idle.
pub(crate) fn play(
    scene: &mut DemoScene,
    source: &mut TesterSource,
    outputs: &mut PlayOutputs<'_>,
    progress: &dyn Fn(DemoProgress),
) -> Result<PlayedRun, Error> {
    let mut played = PlayedRun {
        recorder: RunRecorder::new(&scene.table, scene.ports.len()),
        released: 0,
        on_the_bus: 0,
        not_sent: 0,
        waiting: 0,
        heard: 0,
        loads: Vec::new(),
        processing: Vec::new(),
        end: 0,
        last_release: 0,
        cut_off: false,
        warnings: Vec::new(),
    };
    let mut loads = vec![BusLoad::new(WINDOW); scene.buses.len()];
    let mut heard = 0;
    let mut seen: Vec<BusSighting> = Vec::new();
    let mut passed: Vec<PassedFrame> = Vec::new();
    let intermission: Vec<Nanos> = scene
        .buses
        .iter()
        .map(|b| b.rate.time(wire::INTERMISSION_BITS, 0))
        .collect();
    let places: Vec<(BusIndex, bus::NodeId, bool)> = scene
        .ports
        .iter()
        .filter_map(|port| {
            let place = port.place?;
            Some((scene.buses[place.bus].index, place.node, place.fd))
        })
        .collect();
    if scene.has_ports_beside {
        // The cycles of made messages begin with the run.
        settle(scene, &mut played, &mut passed, 0);
    }
    let mut next_send = source.next()?;
    loop {
        if next_send.is_none() {
            next_send = source.next()?;
        }
        let waits_until = source.waits_until();
        let is_over = next_send.is_none() && waits_until.is_none();
        let next_event = scene.next_event(is_over);
        if let Some(until) = waits_until
            && next_event.is_none_or(|event| event > until)
            && let Some(error) = source.time_out()
        {
            return Err(error);
        }
        if let Some(send) = next_send.take_if(|s| next_event.is_none_or(|t| s.release.at <= t)) {
            played.released += 1;
            played.last_release = send.release.at;
            let tester = scene.tester(send.bus, send.release.node)?;
            let r = &send.release;
            match scene.world.send(tester, r.at, &r.frame, r.tag) {
                Ok(()) => {}
                Err(SendError::Full) => played.not_sent += 1,
                Err(error) => return Err(Error::scene(error)),
            }
            continue;
        }
        let Some(now) = next_event else { break };
        if is_over && now > played.last_release.saturating_add(BUSY_TIMEOUT) {
            played.cut_off = true;
            break;
        }
        scene.world.run_until(now, &mut |bus, event| match *event {
            NodeEvent::Frame {
                start,
                end,
                node,
                tag,
                frame,
                primary,
                receivers,
                ..
            } => {
                if primary {
                    loads[bus.0].add(start, end + intermission[bus.0]);
                }
                let hears = |(b, n, fd): &&(BusIndex, bus::NodeId, bool)| {
                    let takes = *fd || frame.kind() != Kind::Fd;
                    *b == bus && takes && receivers.receives(*n)
                };
                heard += places.iter().filter(hears).count() as u64;
                seen.push(BusSighting::Frame {
                    bus,
                    node,
                    tag,
                    frame: *frame,
                    end,
                });
            }
            NodeEvent::Dropped {
                node, tag, frame, ..
            } => {
                seen.push(BusSighting::Dropped {
                    bus,
                    node,
                    tag,
                    frame: *frame,
                });
            }
            NodeEvent::Error { .. } | NodeEvent::State { .. } => {}
        });
        for sighting in seen.drain(..) {
            book(scene, &mut played, source, &sighting, outputs)?;
        }
        settle(scene, &mut played, &mut passed, now);
        progress(source.progress(now));
    }
    played.end = scene.world.now();
    played.heard = heard;
    played.waiting = scene.waiting_in_testers().map_err(Error::scene)?;
    for (bus, load) in scene.buses.iter().zip(loads) {
        let stats = scene
            .world
            .with_bus(bus.index, bus::Bus::stats)
            .map_err(Error::scene)?;
        played.loads.push((load, stats));
    }
    Ok(played)
}

/// Lets the gateway react to everything that has happened until `now`.
fn settle(
    scene: &mut DemoScene,
    played: &mut PlayedRun,
    passed: &mut Vec<PassedFrame>,
    now: Nanos,
) {
    loop {
        let before = Instant::now();
        let step = scene.engine.step(now);
        let took = before.elapsed();
        scene.step = step;
        scene.tape.take(passed);
        let each = (step.frames > 0).then(|| {
            let each = took.as_nanos() / step.frames as u128;
            Nanos::try_from(each).unwrap_or(Nanos::MAX)
        });
        played
            .processing
            .extend(each.iter().cycle().take(step.frames));
        played.recorder.step(scene, now, passed, each);
        if step.events {
            let warnings = &mut played.warnings;
            scene.engine.events(|event| warnings.push(warning(event)));
        }
        if !step.more {
            return;
        }
    }
}

/// Returns the warning to a user about an event of a port.
fn warning(event: PortEvent<'_>) -> String {
    match event {
        PortEvent::Failed { port, why } => {
            format!("port {port}: {why}: it is out of service; the others continue.")
        }
        other => format!("{other:?}"),
    }
}

/// Records an event that was seen on a bus.
fn book(
    scene: &DemoScene,
    played: &mut PlayedRun,
    source: &mut TesterSource,
    sighting: &BusSighting,
    outputs: &mut PlayOutputs<'_>,
) -> Result<(), Error> {
    match *sighting {
        BusSighting::Frame {
            bus,
            node,
            tag,
            ref frame,
            end,
        } => {
            let port = scene.port_of(bus, node);
            if let Some(buses) = &mut outputs.buses {
                buses.write(bus.0, end, frame, port.is_some())?;
            }
            let Some(port) = port else {
                played.on_the_bus += 1;
                return Ok(());
            };
            source.see(bus.0, frame, end);
            let rate = scene.buses[bus.0].rate;
            let duration = wire::length(frame.view()).map_or(0, |l| l.duration(rate, false));
            played.recorder.sent(port, tag, frame, end, duration);
            if let Some(out) = &mut outputs.outgoing {
                let interface = &scene.ports[usize::from(port)].name;
                let line = LogLine {
                    stamp: end,
                    interface,
                    frame: frame.view(),
                    direction: None,
                };
                writeln!(out, "{line}").map_err(Error::OutgoingLog)?;
            }
        }
        BusSighting::Dropped {
            bus,
            node,
            tag,
            ref frame,
        } => match scene.port_of(bus, node) {
            Some(port) => played.recorder.lost(port, tag, frame),
            None => played.not_sent += 1,
        },
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use config::SourceText as Text;
    use engine::{
        LayoutChange, NamedPort, NullTransmitter, PortChange, PortError, Receive, ReceivedFrame,
        RxCounters, RxReport,
    };
    use port::PortKinds;
    use std::sync::Arc;

    /// A receiving half that cannot go on.
    struct BrokenReceiver;

    impl Receive for BrokenReceiver {
        fn receive(
            &mut self,
            _: Nanos,
            _: usize,
            _: &mut dyn FnMut(ReceivedFrame<'_>),
        ) -> Result<RxReport, PortError> {
            Err(PortError {
                port: "body".to_owned(),
                what: "the cable is cut".to_owned(),
                source: None,
            })
        }

        fn deadline(&self) -> Option<Nanos> {
            None
        }

        fn counters(&self) -> RxCounters {
            RxCounters::default()
        }
    }

    #[test]
    fn a_port_that_fails_is_reported_once() {
        let text = "[ports.engine]\nkind = 'bus'\n[ports.body]\nkind = 'bus'\n\
                    [[routes]]\nfrom = 'engine'\nto = 'body'\n";
        let (config, _) =
            gateway::config::load(&Text::new("t", text), &PortKinds::standard()).unwrap();
        let mut scene = DemoScene::new(&config, 1).unwrap();
        let broken = NamedPort {
            name: "body".to_owned(),
            rx: Box::new(BrokenReceiver) as _,
            tx: Box::new(NullTransmitter) as _,
        };
        let ports = vec![
            PortChange::Keep("engine".to_owned()),
            PortChange::New(broken),
        ];
        let table = Arc::clone(&scene.table);
        let change =
            LayoutChange::new(scene.engine.layout(), ports, table, &config.routes).unwrap();
        scene
            .engine
            .apply(change)
            .map_err(|(error, _)| error)
            .unwrap();
        let mut source = TesterSource::sae(1, 50_000_000, 2).unwrap();
        let outputs = &mut PlayOutputs::default();
        let mut played = play(&mut scene, &mut source, outputs, &|_| {}).unwrap();
        let warned = "port body: the cable is cut: it is out of service; the others continue.";
        assert_eq!(played.warnings, [warned]);
        let summary = crate::DemoSummary::new(&scene, &config, &source, &mut played);
        assert_eq!(summary.warnings, [warned]);
        assert!(crate::page::notes(&summary).contains(&warned.to_owned()));
    }
}
