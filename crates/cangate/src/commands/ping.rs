//! `cangate ping`.

mod words;

use crate::cli::ping::Ping;
use crate::opening::{self, DEVICES};
use crate::round_trips::{
    LiveCounts, PartyEnd, PartyRole, PingParty, PingPlan, PingSettings, StopHandle, bus_time, play,
};
use console::Failure;
use console::output;
use frame::wire::BitRate;
use frame::{CanId, flags};
use linux::chardev::CharControl;
use port::chardev::CharDevSettings;
use port::socketcan::{ReceiveBy, SocketCanSettings, TransmitBy};
use port::{Halves, PortOpener, PortSpec};
use probe::RunDescription;
use probe::traffic::MOST_FRAMES;
use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::iterator::Signals;
use std::io::Write as _;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// The exit status if frames were not answered in time.
const LOSS: u8 = 3;

/// The measurements, and the values for comparison.
struct PingOutcome {
    played: Vec<PartyEnd>,
    warnings: Vec<String>,
    /// The minimum time that each master's two frames are on the bus, ns, if it is known.
    bus: Option<u64>,
}

/// Runs masters and slaves until all are done, or until an end is requested.
pub(crate) fn run(args: &Ping, color: bool) -> Result<(), Failure> {
    check_own(args)?;
    let plans = plans(args)?;
    let ports = ports(args, color)?;
    if let Some(path) = &args.output.out {
        output::file(path)?;
    }
    let rate = rate(args, &ports)?;
    let bus = plans.first().and_then(|plan| bus_time(plan, rate));
    let parties = open(args, &plans, &ports)?;
    let settings = PingSettings {
        priority: (args.timing.priority > 0).then_some(args.timing.priority),
        keep: if args.output.out.is_some() {
            usize::try_from(args.timing.count).unwrap_or(usize::MAX)
        } else {
            0
        },
    };
    let (played, mut warnings) = played(args, parties, settings)?;
    let shorter = |one: &PartyEnd| one.trips.count() > 0 && Some(one.trips.min()) < bus;
    let bus = if played.iter().any(shorter) {
        warnings.push(
            "round trips are shorter than the two frames at this bit rate: frames take no time on \
             this bus, which is virtual or emulated"
                .to_owned(),
        );
        None
    } else {
        bus
    };
    let outcome = PingOutcome {
        played,
        warnings,
        bus,
    };
    if let Some(path) = &args.output.out {
        // If the time of frames on the bus is not known, the results treat it as zero.
        let rate = rate.filter(|_| outcome.bus.is_some());
        let results =
            crate::round_trips::results::build(&outcome.played, rate, description(args, &outcome));
        probe::results::write(path, &results).map_err(Failure::run)?;
    }
    let text = if args.output.json {
        format!("{:#}\n", words::json(args, &outcome))
    } else {
        words::text(args, &outcome)
    };
    std::io::stdout().write_all(text.as_bytes())?;
    if let Some(error) = outcome.played.iter().find_map(|one| one.error.as_ref()) {
        return Err(Failure::run(error));
    }
    losses(args, &outcome.played)
}

/// Checks whether all frames were sent and answered.
fn losses(args: &Ping, played: &[PartyEnd]) -> Result<(), Failure> {
    let lost: u64 = played.iter().map(|one| one.counts.lost).sum();
    let unsent: u64 = played.iter().map(|one| one.counts.unsent).sum();
    let frames = |n: u64| match n {
        1 => "1 frame was".to_owned(),
        n => format!("{n} frames were"),
    };
    let mut text = Vec::new();
    if unsent > 0 {
        let port = played.iter().find(|one| one.counts.unsent > 0);
        let name = port.map_or("the port", |one| one.name.as_str());
        text.push(format!(
            "{} not sent: {name} was down, or its queue was full because its bus has no other node (`ip -details link \
             show {name}` shows which; `ip link set {name} up`)",
            frames(unsent)
        ));
    }
    if lost > 0 {
        let mut lost = format!("{} not answered in time", frames(lost));
        // One slave answers the IDs of one master.
        let silent = |one: &&PartyEnd| one.part == PartyRole::Master && one.counts.answered == 0;
        let masters = args.frames.masters;
        if masters > 1 && args.ports.len() == 1 && played.iter().any(|one| silent(&one)) {
            lost.push_str(&format!(
                "; start the slave for this many masters: `--slave --masters {masters}`"
            ));
        }
        text.push(lost);
    }
    if text.is_empty() {
        return Ok(());
    }
    Err(ended(text.join("; ")))
}

fn ended(text: String) -> Failure {
    Failure::Ended { status: LOSS, text }
}

/// Returns the plan of each master.
fn plans(args: &Ping) -> Result<Vec<PingPlan>, Failure> {
    let frames = &args.frames;
    let after = |id: CanId, places: u32| {
        let number = id.number() + places;
        let next = if id.is_eff() {
            CanId::eff(number)
        } else {
            CanId::sff(number)
        };
        next.map_err(|error| {
            Failure::input(format!(
                "the IDs after {id} do not suffice: {error}; give a lower --id"
            ))
        })
    };
    let count = args.timing.count;
    if args.output.out.is_some() && !(1..=u64::from(MOST_FRAMES)).contains(&count) {
        return Err(Failure::Input(format!(
            "--out keeps every round trip: give --count 1 to {MOST_FRAMES}"
        )));
    }
    let mut plans = Vec::new();
    for master in 0..u32::from(frames.masters) {
        let id = after(frames.id, 2 * master)?;
        let answer = match frames.answer {
            Some(answer) => answer,
            None if args.own => id,
            None => after(frames.id, 2 * master + 1)?,
        };
        let plan = PingPlan {
            id,
            answer,
            own: args.own,
            len: frames.payload,
            fd: frames.fd.then_some(if frames.brs { flags::BRS } else { 0 }),
            period: args.timing.period * 1_000,
            count: (count > 0).then_some(count),
            timeout: args.timing.timeout * 1_000_000,
        };
        plan.check().map_err(Failure::input)?;
        plans.push(plan);
    }
    Ok(plans)
}

/// Returns the ports to open.
fn ports(args: &Ping, color: bool) -> Result<Vec<PortSpec>, Failure> {
    let Some(file) = &args.config else {
        let ways = &args.ways;
        return Ok(args
            .ports
            .iter()
            .map(|name| {
                if name.starts_with(DEVICES) {
                    return PortSpec::new(name, device(args, name));
                }
                let mut settings = SocketCanSettings::new(name);
                settings.receive = Some(ways.receive);
                settings.transmit = Some(ways.transmit);
                PortSpec::new(name, settings)
            })
            .collect());
    };
    opening::ports_of_file(file, &args.ports, color)
}

/// Returns the settings of a character device; it is started with the bit rate that is given.
fn device(args: &Ping, path: &str) -> CharDevSettings {
    CharDevSettings {
        device: path.to_owned(),
        control: args.timing.bitrate.map(|bitrate| CharControl {
            bitrate,
            data_bitrate: args.timing.data_bitrate,
            ..CharControl::default()
        }),
    }
}

/// Returns the bit rate of the bus, if frames take time on it and the rate is known.
fn rate(args: &Ping, ports: &[PortSpec]) -> Result<Option<BitRate>, Failure> {
    if let Some(nominal) = args.timing.bitrate {
        return BitRate::new(nominal, args.timing.data_bitrate)
            .map(Some)
            .map_err(Failure::input);
    }
    let interface = ports.first().and_then(PortSpec::interface);
    Ok(interface.and_then(|name| crate::round_trips::bit_rate(name, args.frames.brs)))
}

/// Opens a port for each master and each slave.
fn open(args: &Ping, plans: &[PingPlan], ports: &[PortSpec]) -> Result<Vec<PingParty>, Failure> {
    let mut opener = PortOpener::new(0, opening::unix_now());
    let mut parties = Vec::new();
    for (place, port) in ports.iter().enumerate() {
        let part = if args.slave || place > 0 {
            PartyRole::Slave
        } else {
            PartyRole::Master
        };
        for plan in plans {
            let halves = if args.own {
                own(args, port)?
            } else {
                port.open(&mut opener).map_err(Failure::run)?
            };
            parties.push(PingParty {
                name: port.name.clone(),
                part,
                plan: *plan,
                halves,
            });
        }
    }
    opening::start(&mut opener)?;
    Ok(parties)
}

/// Opens an interface whose own frames come back.
fn own(args: &Ping, port: &PortSpec) -> Result<Halves, Failure> {
    let ways = &args.ways;
    let config = SocketCanSettings {
        receive: Some(ways.receive),
        transmit: Some(ways.transmit),
        own: true,
        ..SocketCanSettings::new(&port.name)
    };
    port::socketcan::open(&port.name, &config).map_err(Failure::run)
}

/// Refuses a port that has no echo of its own frames.
fn check_own(args: &Ping) -> Result<(), Failure> {
    if !args.own {
        return Ok(());
    }
    let ring = matches!(args.ways.receive, ReceiveBy::Ring | ReceiveBy::RingBusy)
        || args.ways.transmit == TransmitBy::Ring;
    let why = match &args.ports[..] {
        [device] if device.starts_with(DEVICES) => {
            "a character device has no echo of what it sends: give a CAN interface"
        }
        [_] if ring => {
            "a ring does not see the echo of what is sent: --receive read --transmit write"
        }
        [_] => return Ok(()),
        _ => "there is no slave to answer: give one interface",
    };
    Err(Failure::Input(format!("--own: {why}")))
}

/// Runs the parties, with signal handling and a display alongside.
fn played(
    args: &Ping,
    parties: Vec<PingParty>,
    settings: PingSettings,
) -> Result<(Vec<PartyEnd>, Vec<String>), Failure> {
    let stop = StopHandle::new().map_err(Failure::run)?;
    let mut signals = Signals::new([SIGINT, SIGTERM])
        .map_err(|error| Failure::Run(format!("cannot listen to signals: {error}")))?;
    let handle = signals.handle();
    let live: Vec<LiveCounts> = parties.iter().map(|_| LiveCounts::default()).collect();
    let shown: Vec<(usize, PingPlan)> = parties
        .iter()
        .enumerate()
        .filter(|(_, party)| party.part == PartyRole::Master)
        .map(|(place, party)| (place, party.plan))
        .collect();
    let through = AtomicBool::new(false);
    Ok(std::thread::scope(|scope| {
        scope.spawn(|| {
            if signals.forever().next().is_some() {
                stop.end();
            }
        });
        scope.spawn(|| words::display(args, &shown, &live, &|| through.load(Ordering::Relaxed)));
        let done = play(parties, settings, &stop, &live);
        through.store(true, Ordering::Relaxed);
        handle.close();
        done
    }))
}

fn description(args: &Ping, outcome: &PingOutcome) -> RunDescription {
    let command: Vec<String> = std::env::args_os()
        .map(|word| word.to_string_lossy().into_owned())
        .collect();
    let mut more = vec![("ports".to_owned(), args.ports.join(", "))];
    if let Some(bus) = outcome.bus {
        let name = if args.own {
            crate::round_trips::results::FRAME
        } else {
            "time on the bus, ns"
        };
        more.push((name.to_owned(), bus.to_string()));
    }
    RunDescription {
        title: format!(
            "cangate ping: {} over {}",
            if args.own {
                "own frames"
            } else {
                "round trips"
            },
            args.ports.join(" and ")
        ),
        version: env!("CARGO_PKG_VERSION").to_owned(),
        command: command.join(" "),
        traffic: words::what(args),
        more,
        ..RunDescription::default()
    }
}

/// The interval at which a display is redrawn.
const DISPLAY: Duration = Duration::from_millis(200);
