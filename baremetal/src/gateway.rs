//! The gateway: ports from a plan, the engine between them, and its events and counters.

use crate::plan::{DriveMode, ImagePlan, PortPlan};
use alloc::boxed::Box;
use alloc::format;
use alloc::string::{String, ToString};
use alloc::sync::Arc;
use alloc::vec::Vec;
use controller::driven::{
    ControllerBackend, DrivenPort, DrivenReceiver, DrivenRules, DrivenTransmitter,
};
use controller::timing::usual_sample_point;
use controller::{BitTiming, StartMode, TimingLimits};
use engine::{Engine, NamedPort, PortEvent, StepResult};
use frame::Nanos;
use route::RoutingTable;

/// The parts of the gateway that depend on the machine.
pub trait TargetMachine {
    /// Returns the controller of port number `number`, not started.
    ///
    /// # Errors
    /// The reason why there is no such controller, in a sentence.
    fn controller(
        &mut self,
        number: u8,
        port: &PortPlan,
    ) -> Result<Box<dyn ControllerBackend>, String>;
}

/// The reason why a gateway cannot be opened.
#[derive(thiserror::Error, Debug)]
pub enum OpenError {
    /// A port cannot be opened.
    #[error("port {port}: {what}")]
    Port {
        /// The name of the port.
        port: String,
        /// The reason.
        what: String,
    },
    /// The routes do not fit the ports, or are not valid.
    #[error("the routes: {0}")]
    Routes(String),
}

/// A gateway that runs.
pub struct Gateway {
    engine: Engine<DrivenReceiver, DrivenTransmitter>,
    watched: Vec<Arc<DrivenPort>>,
    drives: Vec<DriveMode>,
}

impl Gateway {
    /// Starts the controllers of a plan.
    ///
    /// # Errors
    /// [`OpenError`]: the port that cannot be opened, and the reason.
    pub fn open(plan: &ImagePlan, machine: &mut dyn TargetMachine) -> Result<Self, OpenError> {
        let table = RoutingTable::compile(&plan.routes, plan.ports.len()).map_err(|errors| {
            let errors: Vec<_> = errors.iter().map(ToString::to_string).collect();
            OpenError::Routes(errors.join("; "))
        })?;
        let mut ports = Vec::new();
        let mut watched = Vec::new();
        for (number, port) in (0..).zip(&plan.ports) {
            let shared = open(number, port, machine).map_err(|what| OpenError::Port {
                port: port.name.clone(),
                what,
            })?;
            watched.push(Arc::clone(&shared));
            ports.push(NamedPort {
                name: port.name.clone(),
                rx: DrivenReceiver::new(Arc::clone(&shared)),
                tx: DrivenTransmitter::new(shared),
            });
        }
        let engine = Engine::new(ports, Arc::new(table), &plan.routes)
            .map_err(|error| OpenError::Routes(error.to_string()))?;
        let drives = plan.ports.iter().map(|port| port.drive).collect();
        Ok(Self {
            engine,
            watched,
            drives,
        })
    }

    /// Moves frames.
    #[inline]
    pub fn step(&mut self, now: Nanos) -> StepResult {
        self.engine.step(now)
    }

    /// Returns whether a step would certainly do nothing, unless its deadline has come.
    #[inline]
    #[must_use]
    pub fn is_quiet(&self) -> bool {
        self.watched.iter().all(|shared| shared.is_quiet())
    }

    /// Returns whether a controller visibly has something new.
    #[must_use]
    pub fn has_news(&self) -> bool {
        self.watched.iter().any(|shared| shared.has_news())
    }

    /// Returns whether the processor may sleep until a controller interrupts.
    #[must_use]
    pub fn sleeps(&self) -> bool {
        self.drives
            .iter()
            .all(|&drive| drive == DriveMode::Interrupt)
    }

    /// Returns the events of ports since the last call, in sentences.
    pub fn events(&mut self) -> Vec<String> {
        let mut all = Vec::new();
        self.engine.events(|event| {
            all.extend(match event {
                PortEvent::Failed { port, why } => {
                    Some(format!("port {port} is out of service: {why}"))
                }
                PortEvent::Link { port, now, .. } => Some(format!("port {port} is {now}")),
                _ => None,
            });
        });
        all
    }

    /// Returns all counters in the format of `cangate stats --json`, in one line.
    #[must_use]
    pub fn stats(&self) -> String {
        // The counters are plain numbers and names.
        serde_json::to_string(&self.engine.snapshot()).unwrap_or_default()
    }
}

fn timing(
    clock: u32,
    limits: &TimingLimits,
    rate: u32,
    point: Option<u32>,
) -> Result<BitTiming, String> {
    let point = point.unwrap_or(usual_sample_point(rate));
    BitTiming::compute(clock, limits, rate, point).map_err(|error| error.to_string())
}

/// Starts the controller of a port, and returns the port around it.
///
/// # Errors
/// The reason why it cannot be started, in a sentence.
pub fn open(
    number: u8,
    port: &PortPlan,
    machine: &mut dyn TargetMachine,
) -> Result<Arc<DrivenPort>, String> {
    let mut backend = machine.controller(number, port)?;
    let properties = backend.controller().properties().clone();
    let clock = properties.clock;
    let data = match (port.data_bitrate, &properties.data) {
        (None, _) => None,
        (Some(_), None) => {
            return Err(format!(
                "the {} cannot do FD: leave `data_bitrate` out",
                properties.name
            ));
        }
        (Some(rate), Some(limits)) => Some(timing(clock, limits, rate, port.data_sample_point)?),
    };
    let mode = StartMode {
        nominal: timing(clock, &properties.nominal, port.bitrate, port.sample_point)?,
        data,
        listen_only: port.listen_only,
        one_shot: port.one_shot,
        diagnose: port.bus_errors,
        filters: &[],
    };
    backend
        .controller()
        .start(&mode)
        .map_err(|error| error.to_string())?;
    let interrupts = port.drive == DriveMode::Interrupt;
    if interrupts {
        backend.controller().interrupts(true);
        backend.arm().map_err(|error| error.to_string())?;
    }
    let shared = Arc::new(DrivenPort::new(
        &port.name,
        DrivenRules {
            queue: port.queue as usize,
            listen_only: port.listen_only,
            fd: data.is_some(),
            restart: port.restart,
            interrupts,
        },
    ));
    shared.begin(backend);
    Ok(shared)
}
