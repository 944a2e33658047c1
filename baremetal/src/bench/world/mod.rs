//! Buses, controllers and tester, and the events between them.

mod happened;
mod reactions;

use super::page::RegisterPage;
use super::task::{BenchStamp, BenchTask, DisturbedFrames};
use super::tester::BenchTester;
use alloc::vec::Vec;
use bus::{Bus, BusConfig, ErrorKind, FaultTime, FrameFault, NodeConfig, NodeId};
use controller::mapped::{BUFFERS, BusJoin, DeviceTrap, TX_PENDING};
use frame::Nanos;
use happened::{WorldEvent, note};

/// The error for a controller that does not exist.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct NoSeat;

/// The whole bench. Times are bus time, ns; they never go back.
pub struct BenchWorld {
    sides: Vec<BusSide>,
    seats: Vec<ControllerSeat>,
    tester: BenchTester,
    ideal: bool,
    disturbed: Option<DisturbedFrames>,
    now: Nanos,
    /// Events of a step, before the reactions to them.
    happened: Vec<WorldEvent>,
    /// Controllers whose line was raised since the last check, one bit each.
    raised: u32,
}

/// A bus, from the time at which the first controller joins.
struct BusSide {
    bus: Bus,
    rates: (u32, Option<u32>),
    tester: NodeId,
}

/// A seat for a controller.
struct ControllerSeat {
    bus: u8,
    page: &'static RegisterPage,
    node: Option<NodeId>,
    fd: bool,
    listen_only: bool,
    filters: Vec<(u32, u32)>,
    pending: u8,
    changes: u32,
    head: u32,
    overruns: u32,
    errors: u32,
}

/// The bus on which the tester sends, and the bus on which frames come out.
const INCOMING: u8 = 0;
const OUTGOING: u8 = 1;
/// Number of buses of the bench.
const BUSES: u8 = 8;
/// A step rarely has more events than this: no memory is allocated while frames pass.
const EVENTS: usize = 64;

impl BenchWorld {
    /// Creates buses without controllers, and a tester that has not started; returns `None` if the
    /// task contains something that is not a valid frame.
    #[must_use]
    pub fn new(task: &BenchTask) -> Option<Self> {
        Some(Self {
            sides: Vec::new(),
            seats: Vec::new(),
            tester: BenchTester::new(task)?,
            ideal: task.ideal,
            disturbed: task.disturbed,
            now: 0,
            happened: Vec::with_capacity(EVENTS),
            raised: 0,
        })
    }

    /// Adds a seat for a controller on a bus: returns its number, and its registers.
    ///
    /// # Errors
    /// [`NoSeat`]: there is no such bus, or it would be more than 32 controllers.
    pub fn seat(&mut self, bus: u8) -> Result<(usize, &'static RegisterPage), NoSeat> {
        if bus >= BUSES || self.seats.len() >= 32 {
            return Err(NoSeat);
        }
        let page = RegisterPage::forever();
        self.seats.push(ControllerSeat {
            bus,
            page,
            node: None,
            fd: false,
            listen_only: false,
            filters: Vec::new(),
            pending: 0,
            changes: 0,
            head: 0,
            overruns: 0,
            errors: 0,
        });
        Ok((self.seats.len() - 1, page))
    }

    fn side(&mut self, bus: u8, rates: (u32, Option<u32>)) -> Result<&mut BusSide, DeviceTrap> {
        while self.sides.len() <= usize::from(bus) {
            let (nominal, data) = rates;
            let config = data.map_or_else(
                || BusConfig::classic(nominal),
                |data| BusConfig::fd(nominal, data),
            );
            let mut made = Bus::new(config).map_err(|_| DeviceTrap::Invalid)?;
            let mut node = NodeConfig::new("");
            node.mailboxes = 1;
            node.queue = self.tester.frames() + 1;
            let tester = made.attach(node).map_err(|_| DeviceTrap::Invalid)?;
            made.run_until(self.now, |_| {});
            if let Some(DisturbedFrames { first, count }) = self.disturbed
                && self.sides.len() == usize::from(OUTGOING)
            {
                for start in first..first.saturating_add(count) {
                    made.inject(FaultTime::Start(start), FrameFault::new(ErrorKind::Bit));
                }
            }
            self.sides.push(BusSide {
                bus: made,
                rates,
                tester,
            });
        }
        let side = self
            .sides
            .get_mut(usize::from(bus))
            .ok_or(DeviceTrap::Invalid)?;
        // All controllers on a bus have the same bit rates.
        if side.rates == rates {
            Ok(side)
        } else {
            Err(DeviceTrap::Invalid)
        }
    }

    /// Connects a controller to its bus; its registers are reset.
    ///
    /// # Errors
    /// [`DeviceTrap::Invalid`]: the bus has other bit rates.
    pub fn join(&mut self, seat: usize, join: &BusJoin<'_>) -> Result<(), DeviceTrap> {
        let bus = self.seats.get(seat).ok_or(DeviceTrap::Invalid)?.bus;
        let rates = (join.bitrate, join.data_bitrate);
        let mut node = NodeConfig::new("");
        // Frames leave in the order of the doorbell's rings.
        node.mailboxes = 1;
        node.queue = BUFFERS - 1;
        node.listen_only = join.listen_only;
        node.one_shot = join.one_shot;
        node.fd = join.data_bitrate.is_some();
        let node = self
            .side(bus, rates)?
            .bus
            .attach(node)
            .map_err(|_| DeviceTrap::Other("its bus has no place for another node"))?;
        let seat = self.seats.get_mut(seat).ok_or(DeviceTrap::Invalid)?;
        if seat.node.is_some() {
            return Err(DeviceTrap::Other("it has joined already"));
        }
        seat.node = Some(node);
        seat.fd = join.data_bitrate.is_some();
        seat.listen_only = join.listen_only;
        seat.filters = join.filters.to_vec();
        seat.page.reset();
        Ok(())
    }

    /// Restarts a controller after bus-off.
    ///
    /// # Errors
    /// [`DeviceTrap::Down`]: it is not on a bus.
    pub fn recover(&mut self, seat: usize) -> Result<(), DeviceTrap> {
        let seat = self.seats.get(seat).ok_or(DeviceTrap::Invalid)?;
        let node = seat.node.ok_or(DeviceTrap::Down)?;
        let side = self.sides.get_mut(usize::from(seat.bus));
        side.ok_or(DeviceTrap::Down)?.bus.restart(node);
        Ok(())
    }

    /// Handles the doorbell, rung at this time: frames of these transmit buffers are ready, in the
    /// order of their numbers.
    ///
    /// # Errors
    /// [`DeviceTrap::Down`]: off the bus or bus-off; [`DeviceTrap::Invalid`]: not a frame that this
    /// controller can send.
    pub fn ring(&mut self, seat: usize, buffers: u32, at: Nanos) -> Result<(), DeviceTrap> {
        self.run(at);
        let now = self.now;
        let result = self.request(seat, buffers, now);
        // The frame may start at once.
        self.run(now);
        result
    }

    fn request(&mut self, number: usize, buffers: u32, now: Nanos) -> Result<(), DeviceTrap> {
        let seat = self.seats.get_mut(number).ok_or(DeviceTrap::Invalid)?;
        let node = seat.node.ok_or(DeviceTrap::Down)?;
        let side = self
            .sides
            .get_mut(usize::from(seat.bus))
            .ok_or(DeviceTrap::Down)?;
        let mut result = Ok(());
        for buffer in (0..32).filter(|b| buffers & 1 << b != 0) {
            if !RegisterPage::is_buffer(buffer) || seat.pending & 1 << buffer != 0 {
                result = Err(DeviceTrap::Invalid);
                continue;
            }
            let Some(frame) = seat.page.frame(buffer).filter(|_| !seat.listen_only) else {
                result = Err(DeviceTrap::Invalid);
                continue;
            };
            match side.bus.send(node, now, &frame, buffer as u64) {
                Ok(()) => {
                    seat.pending |= 1 << buffer;
                    seat.page.set_buffer(buffer, TX_PENDING, 0);
                }
                Err(bus::SendError::BusOff) => result = Err(DeviceTrap::Down),
                Err(_) => result = Err(DeviceTrap::Invalid),
            }
        }
        result
    }

    /// Starts the tester.
    pub fn start(&mut self, now: Nanos) {
        self.run(now);
        self.tester.start(self.now);
        self.play();
    }

    /// Returns the time of the next event, if no doorbell rings.
    #[must_use]
    pub fn next(&self) -> Option<Nanos> {
        let buses = self.sides.iter().filter_map(|side| side.bus.next());
        buses.chain(self.tester.deadline()).min()
    }

    /// Advances time until `until`.
    pub fn run(&mut self, until: Nanos) {
        while let Some(next) = self.next().filter(|&next| next <= until) {
            self.step(next.max(self.now), until);
        }
        if until > self.now {
            self.step(until, until);
        }
    }

    /// Advances time to the next event, and executes all reactions to it. `late` is the time at
    /// which the bench came to run, at which an ideal gateway's frames are ready.
    fn step(&mut self, to: Nanos, late: Nanos) {
        self.now = to;
        let (happened, seats) = (&mut self.happened, &self.seats);
        for (number, side) in (0..).zip(&mut self.sides) {
            side.bus
                .run_until(to, |event| note(event, number, seats, happened));
        }
        let mut happened = core::mem::take(&mut self.happened);
        for what in happened.drain(..) {
            self.react(&what, late);
        }
        self.happened = happened;
        self.play();
    }

    /// Sends the tester's frames that are due.
    fn play(&mut self) {
        while let Some(frame) = self.tester.send(self.now) {
            let side = self.sides.get_mut(usize::from(INCOMING));
            let sent = side.is_some_and(|side| {
                let node = side.tester;
                side.bus.send(node, self.now, &frame, 0).is_ok()
            });
            if !sent {
                self.tester.ended(self.now);
            }
        }
    }

    /// Returns the controllers whose line was raised since the last call, one bit each.
    pub const fn raised(&mut self) -> u32 {
        let raised = self.raised;
        self.raised = 0;
        raised
    }

    /// Returns whether the tester has finished.
    #[must_use]
    pub const fn is_done(&self) -> bool {
        self.tester.is_done()
    }

    /// Returns the stamps, and the number of stamps that were lost for lack of space.
    pub fn stamps(&self) -> (impl Iterator<Item = BenchStamp> + '_, u64) {
        (self.tester.stamps(), self.tester.lost())
    }
}
