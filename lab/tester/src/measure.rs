//! A whole measurement on three interfaces, from plan to outcome.

use crate::outcome::{BenchWords, TesterOutcome, assemble, clock};
use crate::plan::{PlanError, PlannedFrame};
use crate::play::{PlayedCounts, play};
use crate::realtime::{in_own_thread, prepare};
use crate::recorder::{BusTime, FateRecorder, LatencyMeasure};
use crate::setup::TestSetup;
use crate::sockets::{SetUpError, TesterInterfaces, TesterSockets};
use frame::wire::BitRate;
use probe::traffic::TrafficPattern;

/// The bit rates of the two buses, which determine how long frames take on them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BusTimes {
    /// The bit rates of the gateway's incoming bus; `None` where frames take no time.
    pub incoming: Option<BitRate>,
    /// The same for its outgoing bus: gives the duration of the outgoing frame, which is
    /// subtracted.
    pub outgoing: Option<BitRate>,
}

impl BusTimes {
    /// Virtual or emulated interfaces: frames take no time.
    pub const TIMELESS: Self = Self {
        incoming: None,
        outgoing: None,
    };

    fn words(self) -> String {
        let word = |rate: Option<BitRate>| rate.map_or("no bus time".to_owned(), |r| r.to_string());
        if self.incoming == self.outgoing {
            word(self.incoming)
        } else {
            format!("in {}, out {}", word(self.incoming), word(self.outgoing))
        }
    }
}

/// A measurement that could not begin.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The plan that was given is not valid.
    #[error(transparent)]
    Plan(#[from] PlanError),
    /// The interfaces are not in the state that the run needs.
    #[error(transparent)]
    SetUp(#[from] SetUpError),
    /// The bit-timed bus is not in the state that the run needs.
    #[error(transparent)]
    Bitcan(#[from] linux::bitcan::Error),
    /// The run is longer than the bench can hold.
    #[error("{0}")]
    Bench(String),
}

/// Sends, receives and matches on SocketCAN interfaces. A run that ends early (an interface
/// vanished) is an [`TesterOutcome`] with its failure in it.
///
/// # Errors
/// [`Error`] where the run cannot begin.
pub fn over_sockets(
    setup: &TestSetup,
    names: TesterInterfaces,
    buses: BusTimes,
) -> Result<TesterOutcome, Error> {
    in_own_thread(|| sent(setup, names, buses))
}

fn sent(
    setup: &TestSetup,
    names: TesterInterfaces,
    buses: BusTimes,
) -> Result<TesterOutcome, Error> {
    if !setup.plan.beside.is_empty() {
        return Err(Error::Bench(
            "frames on the receiving bus are sent on bit-timed buses only".to_owned(),
        ));
    }
    let planned = setup.plan.frames(buses.incoming)?;
    let words = words(setup, &names, buses);
    let mut sockets = TesterSockets::open(names)?;
    // After the sockets have their buffers, but before the recorder gets its memory, so that the
    // latter is locked as it is touched.
    let mut warnings = prepare(setup.priority);
    warnings.extend_from_slice(sockets.remarks());
    let bus = buses.outgoing.map_or(BusTime::None, BusTime::Rate);
    let failed = warm_up(setup, &mut sockets, &planned, bus);
    let mut recorder = FateRecorder::new(planned, setup.timeout, bus);
    let played = match failed {
        Some(failure) => PlayedCounts {
            failure: Some(failure),
            ..PlayedCounts::default()
        },
        None => play(
            &mut sockets,
            &mut recorder,
            &setup.plan.traffic,
            setup.patience(),
        ),
    };
    for (lost, side) in sockets
        .overruns()
        .into_iter()
        .zip(["reference", "receiver"])
    {
        if lost > 0 {
            warnings.push(format!(
                "the tester's own {side} socket lost {lost} frames because it was full: up to \
                 this number of the lost frames may not be the gateway's"
            ));
        }
    }
    Ok(assemble(setup, &words, &recorder, &played, warnings))
}

/// Sends the first frames once in advance; returns the reason if that fails.
fn warm_up(
    setup: &TestSetup,
    sockets: &mut TesterSockets,
    planned: &[PlannedFrame],
    bus: BusTime,
) -> Option<crate::RunFault> {
    if setup.warm_up == 0 {
        return None;
    }
    let frames: Vec<PlannedFrame> = planned
        .iter()
        .copied()
        .take(setup.warm_up as usize)
        .collect();
    let mut recorder = FateRecorder::new(frames, setup.timeout, bus);
    play(
        sockets,
        &mut recorder,
        &TrafficPattern::OneAtATime.into(),
        setup.patience(),
    )
    .failure
}

fn words(setup: &TestSetup, names: &TesterInterfaces, buses: BusTimes) -> BenchWords {
    let reference = match (&names.reference, setup.measure) {
        (_, LatencyMeasure::Sending) => format!("{} (time before sending)", names.send),
        (Some(reference), _) => reference.clone(),
        (None, _) => format!("{} (echo)", names.send),
    };
    let who = if names.hardware_stamps {
        "controller stamps"
    } else {
        "kernel stamps"
    };
    let stamp = match (names.hardware_stamps, buses.outgoing) {
        (true, _) => "end of frame, as the controllers stamp it",
        (false, Some(_)) => {
            "end of frame, plus the time to the kernel's software stamp in or shortly after the \
             receive interrupt, on both sides"
        }
        (false, None) => {
            "the kernel's software stamp in or shortly after the receive interrupt, on both \
             sides; the interfaces have no bus time, so that nothing is subtracted"
        }
    };
    let mut blind = vec![
        "the time that the tester's own receive interrupts add, which cancels out as far as both \
         sides add the same (cangate bench --self-check shows how far)",
    ];
    if buses.outgoing.is_some() {
        blind.push(
            "waiting for the outgoing bus while other nodes use it, which counts as the \
             gateway's; tolerance of the bit rates",
        );
    } else {
        blind.push("bus time and arbitration");
    }
    if names.reference.is_none() && setup.measure == LatencyMeasure::Gateway {
        blind.push(
            "the reference is the sender's own echo: a stamp at its transmit interrupt (real \
             controller) or at sending (virtual interface)",
        );
    }
    BenchWords {
        bench: "interfaces",
        time_base: format!("{} time ({who})", clock(setup.virtual_time)),
        stamp: stamp.to_owned(),
        blind_spots: blind.join("; "),
        bit_rates: buses.words(),
        ports: [reference, names.receive.clone()],
    }
}
